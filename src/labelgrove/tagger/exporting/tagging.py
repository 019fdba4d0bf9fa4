"""Tags texts with an exported tagger; needs numpy, onnxruntime and tokenizers, and no labelgrove.

As a program it prints a line of JSON for each text::

    python tagging.py "a text" "another text"
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
BATCH = 8  # texts, or windows of texts, at once: with many labels each takes much memory


class ExportedTagger:
    """A tagger that was exported as ONNX.

    Parameters
    ----------
    folder
        The folder with ``export.json``.
    providers
        Where onnxruntime computes, such as ``["CUDAExecutionProvider"]``; None for the CPU.
    """

    def __init__(self, folder: str | Path, providers: Sequence[str] | None = None) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        folder = Path(folder)
        self.about: dict[str, Any] = json.loads((folder / "export.json").read_text("utf-8"))
        self.labels: list[dict[str, Any]] = json.loads((folder / "labels.json").read_text("utf-8"))
        self.tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
        self.session = onnxruntime.InferenceSession(
            str(folder / "network.onnx"), providers=providers or ["CPUExecutionProvider"]
        )

    def tag(
        self, texts: Sequence[str], k: int = 5, threshold: float | str | None = None
    ) -> list[list[dict[str, Any]]]:
        """Return the best labels of each text.

        Parameters
        ----------
        texts
            Texts, in a list.
        k
            At most so many labels of each.
        threshold
            Only labels at least so probable: a number, or ``"auto"``, ``"macro"`` or
            ``"per-label"``, as the tagger has them. None for no limit.
        """
        least, found = self._least(threshold), []
        for start in range(0, len(texts), BATCH):
            scores, probabilities = self.scores(texts[start : start + BATCH])
            ranked = np.where(probabilities >= least, scores, -1.0)
            for own, chances in zip(ranked, probabilities, strict=True):
                best = [i for i in np.argsort(-own, kind="stable")[:k] if own[i] >= 0]
                found.append(
                    [
                        {
                            "label": self.labels[i]["label"],
                            "name": self.labels[i]["name"],
                            "score": float(chances[i]),
                        }
                        for i in best
                    ]
                )
        return found

    def scores(self, texts: Sequence[str]) -> tuple[Array, Array]:
        """Return what ranks all labels of n texts, and their probabilities, both (n, L)."""
        windows = [(i, ids) for i, text in enumerate(texts) for ids in self.windows(text)]
        windows.sort(key=lambda window: len(window[1]))
        scores = np.zeros((len(texts), len(self.labels)), np.float32)
        probabilities = np.zeros_like(scores)
        for start in range(0, len(windows), BATCH):
            owners = [i for i, _ in windows[start : start + BATCH]]
            given = self._padded([ids for _, ids in windows[start : start + BATCH]])
            own, chances = self.session.run(["scores", "probabilities"], given)
            # of several windows of a text the best one counts, for each label
            np.maximum.at(scores, owners, own)
            np.maximum.at(probabilities, owners, chances)
        return scores, probabilities

    def windows(self, text: str) -> list[list[int]]:
        """Return the token numbers of a text, in as many windows as the network reads."""
        reads = self.about["reads"]
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids[: reads["tokens"]]
        size, most = reads["window"], reads["windows"]
        number = min(max(-(-len(ids) // size), 1), most)
        return [ids[i * size : (i + 1) * size] for i in range(number)]

    def _padded(self, windows: list[list[int]]) -> dict[str, Array]:
        width = max(1, *(len(ids) for ids in windows))
        tokens = np.full((len(windows), width), self.about["reads"]["pad"], np.int64)
        for row, ids in zip(tokens, windows, strict=True):
            row[: len(ids)] = ids
        return {"tokens": tokens, "lengths": np.array([len(ids) for ids in windows], np.int64)}

    def _least(self, threshold: float | str | None) -> Any:
        if threshold is None:
            return np.float32(0.0)
        if threshold == "per-label":
            if "threshold" not in self.labels[0]:
                raise ValueError("this tagger has no thresholds of single labels")
            return np.array([label["threshold"] for label in self.labels], np.float32)
        if isinstance(threshold, str):
            if threshold not in ("auto", "macro"):
                raise ValueError(
                    f"threshold must be a number, auto, macro or per-label, got {threshold!r}"
                )
            return np.float32(self.about["thresholds"][threshold])
        return np.float32(threshold)


if __name__ == "__main__":
    tagger = ExportedTagger(Path(__file__).parent)
    for text, tags in zip(sys.argv[1:], tagger.tag(sys.argv[1:]), strict=True):
        sys.stdout.write(json.dumps({"text": text, "labels": tags}) + "\n")
