"""The mean of a text's word vectors and a linear output, learned together, as in fastText.

Joulin, Grave, Bojanowski and Mikolov, "Bag of tricks for efficient text classification", EACL 2017;
n-grams of characters after Bojanowski, Grave, Joulin and Mikolov, "Enriching word vectors with
subword information", TACL 2017.

What differs from the papers and their program, and why:

- One against all begins with the frequency of labels (``prior``), where the program begins with a
  probability of one half for every label and spends its first epochs on unlearning that.
- A document moves the mean of its words by at most 2, or 8 where one label was drawn, at the first
  rate, and by less as the rate falls: with thousands of labels one against all diverges at rates
  that it needs with few.
- In one against all, a label that a document lacks learns from it only while its probability is at
  least ``quiet``: better rankings of hundreds of labels, and most labels cost one product instead
  of three.
- One thread trains. The program's threads write to the same vectors without locks, and give
  another model each time; here the same seed gives the same model.
- Log odds above 4 grow by their logarithm, since probabilities of 1 would tie.
- N-grams with an unknown word are left out. N-grams of characters have numbers of their own
  instead of buckets, and are read from new words too.
- ``epochs`` follows the number of documents; the program's 5 are far too few below 100,000.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features, Views
from labelgrove.core.random import generator
from labelgrove.core.ranges import Real, Whole
from labelgrove.core.ranking import Ranking
from labelgrove.core.settings import Rule, setting
from labelgrove.core.types import Explanation, FitContext, ViewSpec
from labelgrove.models.fasttext import kernels
from labelgrove.models.fasttext.outputs import (
    Hierarchical,
    LabelledRows,
    OneVsAll,
    OutputLayer,
    TrainingPace,
    new_output,
    saved_output,
)
from labelgrove.models.fasttext.rows import InputRows
from labelgrove.text.vocabulary import read_only

PAIRS = 10**10  # documents x labels from which on each label against the rest takes too long
STEPS_OF_ROOT = 1200  # epochs times the root of the number of documents
FEWEST, MOST = 5, 100  # epochs
WORK = 10**9  # multiplications between two looks at Ctrl-C and the progress
CHARACTERS_PER_WORD = 12  # n-grams of characters that are read of a text, for each word
NGRAMS = re.compile(r"[1-9]\d?-[1-9]\d?")


class FastText(Classifier):
    """The mean of the vectors of words and n-grams, and a linear output: trains in seconds.

    Attributes
    ----------
    inputs_
        Vectors of words, of buckets of n-grams, of n-grams of characters, shape (rows, d).
    outputs_
        Weights of the labels, shape (L, d), or of the turns of a tree, (L - 1, d).
    loss_
        The loss that ``auto`` chose.
    epochs_
        Epochs that it was trained for.

    Examples
    --------
    >>> from labelgrove.core.features import TokenSequences
    >>> X = TokenSequences(np.array([2, 3, 4, 5] * 25), np.arange(0, 101, 2), n_terms=6)
    >>> Y = csr_array(np.tile(np.eye(2, dtype=np.float32), (25, 1)))
    >>> FastText().fit(X, Y).rank(X[:2], k=1).labels.ravel().tolist()
    [0, 1]
    """

    name: ClassVar[str] = "fasttext"
    uses_workers: ClassVar[bool] = False

    loss: Literal["auto", "one-vs-all", "softmax", "hierarchical"] = setting(
        "auto",
        "one-vs-all trains each label against the rest; softmax one label of a document, drawn at "
        "random, against all others; hierarchical the turns of a Huffman tree on the way to such "
        "a label, the fastest by far with many labels, and less accurate. auto is one-vs-all up "
        "to 10 billion pairs of a document and a label, and hierarchical above.",
    )
    dimension: int = setting(
        100, "Size of the vectors.", least=1, most=10_000, search=Whole(50, 300, log=True)
    )
    ngrams: int = setting(
        1,
        "Longest run of words that has a vector of its own; 1 for words alone.",
        least=1,
        most=10,
        search=Whole(1, 3),
    )
    buckets: int = setting(
        200_000,
        "Vectors that all runs of words share, by a hash.",
        least=1,
        most=100_000_000,
    )
    characters: str = setting(
        "",
        "Runs of characters inside words that have vectors too, such as 3-6; empty for none. "
        "They help with misspelled and inflected words, and take several times as long.",
        rule=Rule(
            lambda text: text == "" or (isinstance(text, str) and _lengths(text) is not None),
            "two lengths such as '3-6', or an empty string",
        ),
    )
    epochs: int | None = setting(
        None,
        "Passes over the training documents. None for 1200 / the root of their number, from 5 to "
        "100: 38 for a thousand, 6 for 40,000.",
        least=1,
        most=100_000,
    )
    learning_rate: float = setting(
        2.0,
        "Learning rate of the first step; it falls to zero in equal steps.",
        above=0,
        most=1000,
        search=Real(0.5, 4.0, log=True),
    )
    prior: Literal["frequency", "none"] = setting(
        "frequency",
        "What one-vs-all begins with: the frequency of each label, or one half for all, as the "
        "program does.",
    )
    quiet: float = setting(
        0.1,
        "One-vs-all: a label that a document lacks learns from it only while its probability is at "
        "least this; 0 for always, as in the program.",
        least=0,
        below=1,
        search=Real(0.0, 0.3),
    )
    length: int = setting(1000, "Words read from the start of a text.", least=1)

    inputs_: NDArray[np.float32]
    loss_: str
    epochs_: int
    rows_: dict[str, int]
    _output: OutputLayer

    def views(self) -> dict[str, ViewSpec]:
        """Return words, and n-grams of characters if they are asked for."""
        found = {"text": ViewSpec("words", {"length": self.length})}
        if self.characters:
            length = self.length * CHARACTERS_PER_WORD
            settings = {"analyzer": f"char:{self.characters}", "length": length}
            found["characters"] = ViewSpec("words", settings)
        return found

    # --- learning -----------------------------------------------------------------------------

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        rows = _rows(X, self.ngrams, self.buckets)
        loss = self._chosen_loss(Y)
        random = generator(self.seed, "fasttext")
        inputs = random.random((rows.total, self.dimension), np.float32)
        inputs = (inputs * 2 - 1) / np.float32(self.dimension)
        output = new_output(loss, Y, self.dimension, self.prior, self.quiet)
        Y.sort_indices()
        texts = LabelledRows(
            *rows.of_texts(X), Y.indptr.astype(np.int64), Y.indices.astype(np.int32)
        )
        epochs = self.epochs or epochs_for(X.shape[0])
        self._train(inputs, output, texts, epochs, random, context)
        self.loss_, self.epochs_, self.rows_ = loss, epochs, rows.as_dict()
        self.inputs_ = read_only(inputs)
        self._take(output)

    def _chosen_loss(self, Y: csr_array) -> str:
        if self.loss != "auto":
            return self.loss
        return Hierarchical.name if Y.shape[0] * Y.shape[1] > PAIRS else OneVsAll.name

    def _train(
        self,
        inputs: NDArray[np.float32],
        output: OutputLayer,
        texts: LabelledRows,
        epochs: int,
        random: np.random.Generator,
        context: FitContext,
    ) -> None:
        n = len(texts.ptr) - 1
        total, done = epochs * n, 0
        state = np.uint64(random.integers(1, 2**63))
        each = _chunk(output, texts)
        with context.run.progress.task("training", total) as shown:
            for epoch in range(epochs):
                order = random.permutation(n)
                for first in range(0, n, each):
                    part = order[first : first + each]
                    pace = TrainingPace(self.learning_rate, done, total)
                    state = output.learn(part, texts, inputs, pace, state)
                    done += len(part)
                    shown.advance(len(part), epoch=f"{epoch + 1}")

    def _take(self, output: OutputLayer) -> None:
        self._output = output
        self.outputs_ = output.weights = read_only(output.weights)
        for name, value in output.extras().items():
            setattr(self, name, value)

    # --- ranking ------------------------------------------------------------------------------

    def _rank(self, X: Features, k: int) -> Ranking:
        return self._output.rank(self._means(X), k)

    def _means(self, X: Features) -> NDArray[np.float32]:
        found: NDArray[np.float32] = kernels.means(*self._rows.of_texts(X), self.inputs_)
        return found

    @property
    def _rows(self) -> InputRows:
        return InputRows(**self.rows_)

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return what each word adds to the label's log odds; a run of words divides its part.

        For softmax and hierarchical it is the first-order change of the log of the probability.
        """
        row = X[np.array([i])]
        ids, _ = self._rows.of_texts(row)
        direction = self._output.direction(self._means(row)[0], label)
        parts = self.inputs_[ids] @ direction / max(len(ids), 1)
        words = (row["text"] if isinstance(row, Views) else row).tokens
        weights, known = np.zeros(len(words)), words >= kernels.SPECIAL
        origins = self._rows.origins(words)
        for (first, last), part in zip(origins, parts[: len(origins)], strict=True):
            weights[first:last] += part / (last - first)
        others = float(parts[len(origins) :].sum())
        return Explanation(
            np.flatnonzero(known),
            weights[known].astype(np.float32),
            parts=(("characters", others),) if self.characters else (),
        )

    @classmethod
    def example_settings(cls, folder: Path) -> dict[str, Any]:
        """Return settings small enough to learn in seconds."""
        return {"dimension": 16, "ngrams": 2, "buckets": 500, "epochs": 20}

    # --- saving -------------------------------------------------------------------------------

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over a saved state, whose output layer is checked here."""
        super().set_state(state)
        self._output = saved_output(self.loss_, self.n_labels_, state)

    def check_state(self) -> None:
        """Refuse vectors that do not belong together."""
        super().check_state()
        checks.whole("epochs_", self.epochs_, least=1)
        rows = InputRows.checked(self.rows_)
        size = self._output.weights.shape[1]
        checks.array("inputs_", self.inputs_, np.float32, (rows.total, size))


def epochs_for(n_documents: int) -> int:
    """Return how often documents are read.

    Examples
    --------
    >>> [epochs_for(n) for n in (100, 1_000, 4_000, 40_000, 1_000_000)]
    [100, 38, 19, 6, 5]
    """
    return int(min(max(round(STEPS_OF_ROOT / n_documents**0.5), FEWEST), MOST))


def _rows(X: Features, ngrams: int, buckets: int) -> InputRows:
    try:
        return InputRows.of(X, ngrams, buckets)
    except ValueError as error:
        raise InputError(f"{error}: train through Tagger, or use the featurizer words") from error


def _chunk(output: OutputLayer, texts: LabelledRows) -> int:
    """Return how many documents are learned between two looks at Ctrl-C."""
    per_text = 2 * len(texts.ids) / max(len(texts.ptr) - 1, 1)
    per_text += 2 * (64 if isinstance(output, Hierarchical) else output.n_labels)
    texts_of_work = int(WORK / (per_text * max(output.weights.shape[1], 1)))
    return max(texts_of_work // kernels.TOGETHER, 1) * kernels.TOGETHER


def _lengths(text: str) -> tuple[int, int] | None:
    """Return the two lengths of ``3-6``, or None if there are none in this order."""
    if not NGRAMS.fullmatch(text):
        return None
    least, most = map(int, text.split("-"))
    return (least, most) if least <= most else None
