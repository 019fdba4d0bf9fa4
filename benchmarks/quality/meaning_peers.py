"""omikuji, libpecos and fastText on the documents of a case, each in an environment of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Document
from labelgrove.evaluation import evaluate
from labelgrove.labels import LabelCollector, LabelSpace
from labelgrove.text import Tfidf

DRIVERS = Path(__file__).parents[1] / "speed" / "peers"
sys.path.append(str(DRIVERS))
from make_data import write  # noqa: E402

# libpecos asks for torch and transformers, which its linear models never import
INSTALL: dict[str, tuple[list[str], ...]] = {
    "omikuji": (["omikuji==0.5.2", "numpy", "scipy"],),
    "libpecos": (["--no-deps", "libpecos==1.2.8"], ["numpy<2", "scipy<1.14", "scikit-learn"]),
    "fasttext": (["fasttext-wheel==0.9.2", "numpy<2"],),
}


@dataclass(frozen=True)
class Peer:
    """A package with settings; fastText reads texts, the others tf-idf features."""

    package: str
    settings: dict[str, Any] = field(default_factory=dict)


PEERS = {
    "omikuji": Peer("omikuji"),
    "omikuji, as Bonsai": Peer(
        "omikuji", {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3}
    ),
    "libpecos": Peer("libpecos"),
    "fastText": Peer("fasttext"),
}


class Peers:
    """Installs and runs peers under a folder.

    Parameters
    ----------
    folder
        For environments, features and models.
    threads
        Threads of each.
    limit
        Seconds that a step may take.
    """

    def __init__(self, folder: Path, threads: int, limit: float) -> None:
        self.folder, self.threads, self.limit = folder, threads, limit

    def measure(
        self, name: str, train: Sequence[Document], test: Sequence[Document]
    ) -> dict[str, Any]:
        """Return scores and figures of a peer."""
        peer, work = PEERS[name], self.folder / "now"
        shutil.rmtree(work, ignore_errors=True)
        python = self._python(peer.package)
        space = _write(work, train, test, texts=peer.package == "fasttext")
        files = ["--data", work, "--model", work / "model", "--out", work / "figures.json"]
        driver = [python, DRIVERS / f"run_{peer.package}.py"]
        threads = ["--threads", self.threads]
        if peer.package == "fasttext":
            self._run([*driver, *files, *threads])
            found = json.loads((work / "figures.json").read_text(encoding="utf-8"))
        else:
            found = {}
            for step in ("train", "predict"):
                options = ["--settings", json.dumps(peer.settings), *threads]
                self._run([*driver, step, *files, *options])
                found |= json.loads((work / "figures.json").read_text(encoding="utf-8"))
        return {
            "train_s": found["train_s"],
            "cpu_s": found["cpu_s"],
            "ms_per_document": 1e3 * found["batch_s"] / len(test),
            "disk": found["disk"],
            "versions": found["versions"],
            "scores": _scores(space, np.load(work / "figures.npy"), test),
        }

    def _python(self, package: str) -> Path:
        """Return the interpreter of a package, which is installed if need be."""
        folder = self.folder / package
        if not (folder / "ready").exists():
            print(f"installing {package}", flush=True)
            self._run([sys.executable, "-m", "venv", "--clear", folder])
            for words in INSTALL[package]:
                self._run([folder / "bin" / "python", "-m", "pip", "install", *words])
            (folder / "ready").touch()
        return folder / "bin" / "python"

    def _run(self, command: list[object]) -> None:
        words = [str(word) for word in command]
        names = ("OMP", "OPENBLAS", "MKL", "RAYON")
        own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        env = own | {f"{name}_NUM_THREADS": str(self.threads) for name in names}
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=self.limit, env=env, check=False
        )
        if done.returncode:
            last = (done.stderr.strip() or "no output").splitlines()[-1]
            raise RuntimeError(f"{Path(words[1]).name} ended with {done.returncode}: {last}")


def _write(
    folder: Path, train: Sequence[Document], test: Sequence[Document], *, texts: bool
) -> LabelSpace:
    """Write features or texts, with labels as numbers of the space that is returned."""
    collector = LabelCollector()
    for each in train:
        collector.add(each.labels)
    space, Y = collector.finish()
    if not texts:
        tfidf = Tfidf()
        matrices = {
            "X_train": tfidf.fit_transform([each.text for each in train]),
            "Y_train": Y,
            "X_test": tfidf.transform([each.text for each in test]),
            "Y_test": space.encode([each.labels for each in test], unseen="append"),
        }
        write(folder, matrices, text=True)
        return space
    folder.mkdir(parents=True)
    with (folder / "fasttext_train.txt").open("w", encoding="utf-8") as file:
        for i, each in enumerate(train):
            marks = [f"__label__{label}" for label in Y.indices[Y.indptr[i] : Y.indptr[i + 1]]]
            print(*marks, _words(each.text), file=file)
    with (folder / "fasttext_test.txt").open("w", encoding="utf-8") as file:
        for each in test:
            print(_words(each.text), file=file)
    return space


def _words(text: str) -> str:
    """Return the words in lower case, without punctuation, as fastText's tutorial has them."""
    return " ".join(re.findall(r"\w+", text.lower()))


def _scores(space: LabelSpace, labels: np.ndarray, test: Sequence[Document]) -> dict[str, float]:
    """Return the metrics of the best labels (n, 5); only their order counts."""
    falling = np.broadcast_to(np.linspace(1, 0.5, labels.shape[1]), labels.shape)
    Y = space.encode([each.labels for each in test], unseen="append")
    chances = space.propensities(n_columns=Y.shape[1])
    ranking = Ranking(labels, np.where(labels >= 0, falling, 0))
    scores = evaluate(Y, ranking, propensities=chances)
    return {name: value for name, value in scores.items() if name[0] == "P" or name[:4] == "nDCG"}
