"""Exported networks in an environment that has numpy, onnxruntime and tokenizers only.

    python -m venv onnx-env && onnx-env/bin/pip install numpy onnxruntime tokenizers
    python benchmarks/ecosystem/onnx_export.py --consumer onnx-env --folder taggers

It trains a small tagger of each kind that can be exported (those in ``--folder`` are kept),
exports it, tags texts with the exported program in the other environment, and writes
``onnx_export.md`` beside this file: the largest difference of a probability, whether the best five
labels are the same, seconds of the export, and those of tagging 200 texts by both.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from labelgrove import Tagger
from labelgrove.models import MODELS
from labelgrove.models.contract import known_answer

NAMES = ("xml-cnn", "kim-cnn", "xml-rnn", "attentionxml", "lsan", "leam", "cornet", "ml-reasoner",
         "transformer", "aplc-xlnet")  # fmt: skip
K = 5
PROGRAM = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from tagging import ExportedTagger

texts, tagger = json.load(sys.stdin), ExportedTagger(sys.argv[1])
tagger.tag(texts[:1])
began = time.perf_counter()
tags = tagger.tag(texts, k=5)
seconds = time.perf_counter() - began
beside = [name for name in ("torch", "labelgrove", "transformers") if name in sys.modules]
print(json.dumps({"tags": tags, "seconds": seconds, "beside": beside}))
"""


def texts() -> list[str]:
    odd = ["", "nothing that is known", "TOPIC1a, topic2b: 東京 ½ naïve", "topic3a " * 700]
    return [*known_answer(196, seed=5)[0], *odd]


def tagger_of(name: str, folder: Path) -> Tagger:
    if not (folder / name).exists():
        model = MODELS.find(name)
        settings = model.example_settings(folder)
        Tagger(model(**settings)).fit(*known_answer(400)).save(folder / name)
    return Tagger.load(folder / name)


def row_of(name: str, folder: Path, consumer: Path) -> str:
    tagger, out, asked = tagger_of(name, folder), folder / f"{name}-onnx", texts()
    shutil.rmtree(out, ignore_errors=True)
    began = time.perf_counter()
    tagger.export_onnx(out)
    exporting = time.perf_counter() - began
    done = subprocess.run(
        [consumer / "bin" / "python", "-I", "-c", PROGRAM, str(out)],
        input=json.dumps(asked), capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    tagger.tag(asked[:1])
    began = time.perf_counter()
    wanted = tagger.tag(asked, k=K)
    own = time.perf_counter() - began
    scores = [{tag.label: tag.score for tag in tags} for tags in tagger.tag(asked, k=100)]
    apart = max(
        abs(tag["score"] - known[tag["label"]])
        for tags, known in zip(found["tags"], scores, strict=True)
        for tag in tags
    )
    same = sum(
        [tag.label for tag in tags] == [tag["label"] for tag in theirs]
        for tags, theirs in zip(wanted, found["tags"], strict=True)
    )
    size = sum(path.stat().st_size for path in out.glob("network.onnx*"))
    beside = ", ".join(found["beside"]) or "none"
    return (
        f"| {name} | {apart:.1e} | {same} of {len(asked)} | {size / 1e6:.2f} MB | "
        f"{exporting:.1f} | {own:.2f} | {found['seconds']:.2f} | {beside} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--consumer", type=Path, required=True, help="environment without ours")
    parser.add_argument("--folder", type=Path, required=True, help="where taggers are kept")
    parser.add_argument("names", nargs="*", default=NAMES)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(
        [given.consumer / "bin" / "python", "-m", "pip", "freeze"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    rows = []
    for name in given.names:
        rows.append(row_of(name, given.folder, given.consumer))
        sys.stdout.write(rows[-1] + "\n")
        sys.stdout.flush()
    lines = [
        "# Exported networks without labelgrove",
        "By `benchmarks/ecosystem/onnx_export.py`: small taggers of 12 labels, 200 texts, the best "
        f"five labels. The other environment has {', '.join(listed)}. Seconds are of a busy "
        "machine of two cores, once, in threads as each chooses.",
        "",
        "| model | largest difference of a probability | texts with the same five labels | size | "
        "export, s | tagger, s | onnxruntime, s | of torch, transformers, labelgrove |",
        "|---|---|---|---|---|---|---|---|",
        *rows,
    ]
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
