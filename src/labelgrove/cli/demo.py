"""``labelgrove demo``: the main job, shown on data inside the package."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from labelgrove.cli import options
from labelgrove.cli.terminal import show

TEXTS = (
    "We train a neural network to translate sentences between languages for which hardly any "
    "parallel text exists, and compare it with phrase-based systems.",
    "A polynomial-time algorithm for colouring the vertices of planar graphs, with a lower bound "
    "on the number of queries.",
)


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the tagger.")] = Path(
        "labelgrove-demo"
    ),
    seed: options.Seed = 0,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Train, score and use a tagger on the arXiv abstracts that come with labelgrove."""
    from labelgrove.cli.tables import print_scores, print_table
    from labelgrove.core import storage
    from labelgrove.core.types import Run
    from labelgrove.corpus import read_corpus
    from labelgrove.tagger import Tagger

    storage.check_free(out, overwrite=True)
    sample = Path(__file__).parents[1] / "samples" / "arxiv"
    progress = options.open_progress(quiet)
    show("3,000 abstracts from arXiv with their categories; 1,000 others to score on.\n")
    tagger = Tagger(options.DEFAULT_MODEL, seed=seed, threads=threads)
    tagger.fit(
        read_corpus(sample / "train.jsonl.gz"),
        vocabulary=sample / "labels.tsv",
        run=Run(progress=progress),
    )
    scores = tagger.evaluate(read_corpus(sample / "test.jsonl.gz"), progress=progress)
    print_scores(f"{tagger.model_.name} on 1,000 abstracts it has not seen, %", scores)
    for text, tags in zip(TEXTS, tagger.tag(TEXTS, k=5), strict=True):
        rows = [[tag.label, tag.name, f"{tag.score:.2f}"] for tag in tags]
        show()
        print_table(f'"{text}"', ["label", "name", "probability"], rows, words=2)
        words = [
            evidence.text for evidence in tagger.explain(text, tags[0].label) if evidence.weight > 0
        ]
        show(f"What spoke for {tags[0].name}: {', '.join(words[:5])}")
    tagger.save(out, overwrite=True, progress=progress)
    program = _program()
    show(
        f"\nThe tagger is in {out}. A page to use it with, at http://127.0.0.1:8000:\n"
        f"  {program} serve {out}\n"
        "Next, with it or with your own file "
        "(CSV with the columns text and labels, or JSON lines):\n"
        f'  {program} tag {out} --text "your text"\n'
        f"  {program} stats your.csv\n"
        f"  {program} train your.csv --out my-tagger\n"
        f"  {program} evaluate my-tagger your-test.csv"
    )


def _program() -> str:
    """Return what a user types to call labelgrove: its path where the shell would not find it."""
    called = Path(sys.argv[0])
    if called.name == "labelgrove" and called.is_file() and not shutil.which("labelgrove"):
        return str(called)
    return "labelgrove"
