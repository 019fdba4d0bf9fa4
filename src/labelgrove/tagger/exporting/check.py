"""Whether an exported network ranks as its tagger does: asked by the program that is exported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import ExportError
from labelgrove.core.random import generator
from labelgrove.core.ranking import RANKING_DEPTH, Ranking
from labelgrove.core.wording import several
from labelgrove.tagger.state import FittedState

TOLERANCE = 1e-4  # by which scores may differ: both add float32 numbers, in other orders
LONGEST = 1000  # tokens of a made text
# what a tokenizer may read in its own way
ODD = (
    "",
    " .,;! \n\t",
    "[SEP] </s> <unk>",
    "Don't PANIC: naïve Ελλάς ΟΔΟΣ İstanbul Straße ﬁne",
    "東京 2024 ภาษาไทย नमस्ते 한국어 שלום مرحبا",
    "e\N{COMBINING ACUTE ACCENT}te\N{COMBINING ACUTE ACCENT} x² ½ snake_case 🙂 a-b/c",
)


class ExportCheck(NamedTuple):
    """How an exported network compares with its tagger.

    Parameters
    ----------
    texts
        Texts that both ranked.
    depth
        Labels of each text that were compared.
    difference
        The largest difference between two probabilities of a label.
    exchanged
        Texts in which labels with nearly equal scores have changed places.
    """

    texts: int
    depth: int
    difference: float
    exchanged: int

    def told(self) -> str:
        """Return the result in a line."""
        line = (
            f"checked with onnxruntime on {several(self.texts, 'text')}: the same ranking of "
            f"{several(self.depth, 'label')}, largest difference of a probability "
            f"{self.difference:.1e}"
        )
        if self.exchanged:
            line += (
                f"; in {several(self.exchanged, 'text')} labels with nearly equal scores change "
                "places"
            )
        return line


def check_export(learned: FittedState, exported: Any, texts: Sequence[str]) -> ExportCheck:
    """Compare an `ExportedTagger` with its tagger; raise an error if it ranks otherwise.

    Parameters
    ----------
    learned
        The tagger.
    exported
        What was exported, as a program without labelgrove uses it.
    texts
        Texts to rank.
    """
    depth = min(learned.labels.n_labels, RANKING_DEPTH)
    own = learned.model.rank(learned.features(texts), depth)
    scores, probabilities = exported.scores(texts)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    labels = np.where(own.labels < 0, order, own.labels)  # what has no score has no rank
    # of each label that the tagger ranks, and of each place of the ranking
    found = np.take_along_axis(scores, labels, 1)
    apart = np.abs(found - own.scores)
    placed = np.abs(np.take_along_axis(scores, order, 1) - own.scores)
    if max(apart.max(initial=0), placed.max(initial=0)) > TOLERANCE:
        _refuse(learned, own, found, np.maximum(apart, placed), texts)
    told = learned.calibration.apply(own.scores)
    chances = np.take_along_axis(probabilities, labels, 1)
    if np.abs(chances - learned.calibration.apply(found)).max(initial=0) > TOLERANCE:
        raise ExportError("the exported calibration gives other probabilities; please report it")
    return ExportCheck(
        len(texts),
        depth,
        float(np.abs(chances - told).max(initial=0)),
        int((order != labels).any(1).sum()),
    )


def _refuse(
    learned: FittedState,
    own: Ranking,
    found: NDArray[np.float32],
    apart: NDArray[np.float32],
    texts: Sequence[str],
) -> None:
    row, place = np.unravel_index(int(apart.argmax()), apart.shape)
    label = learned.labels.ids[int(own.labels[row, place])]
    raise ExportError(
        f"the exported network ranks otherwise than the tagger: {label!r} has the score "
        f"{found[row, place]:.4f} instead of {own.scores[row, place]:.4f} for the text "
        f"{texts[int(row)][:60]!r}; nothing is written; please report it"
    )


def made_texts(tokenizer: Any, tokens: int, n: int) -> list[str]:
    """Return n texts of random tokens, short and long ones, the first of them odd.

    Parameters
    ----------
    tokenizer
        A tokenizer of the library ``tokenizers``.
    tokens
        Tokens that are read of a text; some texts have more.
    n
        Number of texts.
    """
    random = generator(0, "texts to check an export")
    size, longest = tokenizer.get_vocab_size(), min(tokens + tokens // 2, LONGEST)
    lengths = np.exp(random.uniform(0, np.log(longest + 1), n)).astype(int)
    drawn = [random.integers(0, size, length).tolist() for length in lengths]
    made = [tokenizer.decode(ids, skip_special_tokens=False) for ids in drawn]
    return [*ODD, *made][:n] if n > 2 * len(ODD) else made
