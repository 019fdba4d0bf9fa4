"""How long short commands take from call to exit, here and in an older source.

    python benchmarks/speed/commands.py [--older DIR] [--turns 5]

DIR is another checkout, such as `git worktree add DIR COMMIT` makes; the two are called in turn
with the same interpreter. All commands work on the data inside the package, and are called once
before it counts, so kernels are compiled and files are in memory. The median of the turns goes to
commands.md beside this file.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from machine import installed, machine

HERE = Path(__file__).parent
OWN = HERE.parents[1]
SAMPLE = Path("src", "labelgrove", "samples", "arxiv", "train.jsonl.gz")
TEXT = "A neural network that learns from graphs, with a bound on its error"
COMMANDS = {
    "labelgrove --help": ["--help"],
    "labelgrove train (3,000 abstracts)": ["train", "SAMPLE", "--out", "NEW", "-q"],
    "labelgrove train --model bonsai": [
        "train", "SAMPLE", "--model", "bonsai", "--out", "NEW", "-q",
    ],
    "labelgrove tag --text": ["tag", "TAGGER", "--text", TEXT],
    "labelgrove explain --text": ["explain", "TAGGER", "--text", TEXT, "-q"],
}  # fmt: skip


def seconds(source: Path, words: list[str], tagger: Path, folder: Path) -> float:
    """Call a command of a source tree and return how long it took."""
    places = {
        "SAMPLE": str(source / SAMPLE),
        "TAGGER": str(tagger),
        "NEW": str(folder / f"new-{source.name}"),
    }
    call = [sys.executable, "-m", "labelgrove", *(places.get(word, word) for word in words)]
    if "NEW" in words:
        call.append("--overwrite")
    environment = {**os.environ, "PYTHONPATH": str(source / "src"), "LABELGROVE_CACHE": "off"}
    began = time.perf_counter()
    subprocess.run(call, check=True, capture_output=True, env=environment, cwd=folder)
    return time.perf_counter() - began


def measure(sources: dict[str, Path], turns: int) -> dict[str, dict[str, float]]:
    """Return the median seconds of each command with each source."""
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for which, source in sources.items():
            made = ["train", "SAMPLE", "--out", "NEW", "-q"]
            seconds(source, made, folder, folder)
            (folder / f"new-{source.name}").rename(folder / which)
        for title, words in COMMANDS.items():
            spent: dict[str, list[float]] = {which: [] for which in sources}
            for turn in range(turns + 1):
                for which, source in sources.items():
                    taken = seconds(source, words, folder / which, folder)
                    if turn:
                        spent[which].append(taken)
            found[title] = {which: statistics.median(each) for which, each in spent.items()}
            print(title, found[title], flush=True)
    return found


def page(found: dict[str, dict[str, float]], turns: int, older: str | None) -> str:
    """Return the table in Markdown."""
    columns = ["here, s"] + (["older, s", "ratio"] if older else [])
    lines = [
        "# Short commands\n",
        f"{__doc__}\nMedian of {turns} turns."
        + (f" The older source is commit {older}." if older else "")
        + f"\n\nMachine: {machine(installed('numpy', 'scipy', 'numba', 'lightgbm', 'typer'))}\n",
        "| command | " + " | ".join(columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for title, row in found.items():
        cells = [f"{row['here']:.2f}"]
        if older:
            cells += [f"{row['older']:.2f}", f"{row['here'] / row['older']:.2f}"]
        lines.append(f"| `{title}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--older", type=Path)
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args()
    sources, commit = {"here": OWN}, None
    if asked.older is not None:
        sources["older"] = asked.older.resolve()
        call = ["git", "-C", str(asked.older), "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(call, check=True, capture_output=True, text=True).stdout.strip()
    found = measure(sources, asked.turns)
    HERE.joinpath("commands.md").write_text(page(found, asked.turns, commit), "utf-8")


if __name__ == "__main__":
    main()
