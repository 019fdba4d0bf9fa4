"""Tf-idf: sparse rows of words or n-grams, weighted by how rare they are."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Featurizer
from labelgrove.core.settings import setting
from labelgrove.core.strings import PackedStrings
from labelgrove.core.types import Span
from labelgrove.text.analysis import SIZES, Analyzer, check_text, parse
from labelgrove.text.batches import RowBlock, batches, in_order, stack
from labelgrove.text.vocabulary import (
    COUNT_OR_SHARE,
    CountedBatch,
    Emphasis,
    GrowingVocabulary,
    TermCounts,
    as_documents,
    check_terms,
    count_terms,
    read_only,
    slots_for,
)


class Tfidf(Featurizer):
    """Texts to tf-idf rows; the same numbers as scikit-learn's on the same tokens.

    The weight of a term in a text is ``(1 + ln(count)) * (ln((1 + n) / (1 + df)) + 1)``, then
    the row is brought to length 1. ``first_line`` and ``fade_after`` let words count more at the
    beginning of a text. Words are runs of letters, digits, underscores and combining
    marks, folded to NFC and lower case. Chinese, Japanese, Thai and other scripts without spaces
    need no setting: a run of their characters gives its single characters and pairs of
    neighbours (longer ones if ``ngrams`` asks for them).

    Attributes
    ----------
    idf_
        Weight of each column, shape (D,), float32. Columns are ordered by document frequency,
        then by first appearance, whatever the number of threads.
    n_documents_
        Number of texts it has learned from.

    Examples
    --------
    >>> tfidf = Tfidf(ngrams=(1, 2))
    >>> X = tfidf.fit_transform(["solar power", "wind power", "solar panels"])
    >>> X.shape
    (3, 7)
    >>> tfidf.terms()[:4]
    ['solar', 'power', 'solar power', 'wind']
    >>> tfidf.spans("Power!")
    [Span(feature=1, start=0, end=5)]
    """

    name: ClassVar[str] = "tf-idf"

    analyzer: str = setting(
        "word",
        "What a term is made of: word; char:2-4 for n-grams of 2 to 4 characters inside words; "
        "snowball:de for the stems of a language, by ISO code or Snowball's name.",
    )
    ngrams: Sequence[int] = setting(
        (1, 1), "Least and greatest number of neighbouring words in a term.", rule=SIZES
    )
    min_df: float = setting(
        1,
        "Terms in fewer texts are left out. A whole number counts texts, a fraction is a share of "
        "them.",
        rule=COUNT_OR_SHARE,
    )
    max_df: float = setting(
        1.0,
        "Terms in more texts are left out. A whole number counts texts, a fraction is a share of "
        "them.",
        rule=COUNT_OR_SHARE,
    )
    max_features: int | None = setting(
        None, "Keep only the terms that occur most often; None for all.", least=1
    )
    sublinear: bool = setting(True, "Use 1 + ln(count) instead of the count.")
    first_line: int = setting(
        1,
        "How often a word counts each time it stands in the first line, such as a title; 1 as "
        "anywhere else. A text of one line has no first line.",
        least=1,
        most=100,
    )
    fade_after: float | None = setting(
        None,
        "Words that come late count less: the weight of a word that comes first after p others is "
        "divided by 1 + ln(1 + p / fade_after). None: all places count the same.",
        above=0,
    )
    norm: Literal["l2"] | None = setting(
        "l2", "Scale rows to length 1 (l2), or leave them as they are (None)."
    )
    lowercase: bool = setting(True, "Fold to lower case.")
    min_length: int = setting(
        2,
        "Shorter words are left out. Characters of scripts without spaces are kept.",
        least=1,
    )

    idf_: NDArray[np.float32]
    n_documents_: int
    keys_: NDArray[np.uint64]
    slots_: NDArray[np.int32]
    term_text_: NDArray[np.uint8]
    term_ends_: NDArray[np.int64]

    def check_settings(self) -> None:
        """Refuse also unknown analyzers, and n-grams of words with one of characters."""
        super().check_settings()
        self._analyzer()

    def fit(self, texts: Iterable[str], labels: object = None) -> Self:
        """Learn terms and their weights; ``texts`` is read once."""
        vocabulary = GrowingVocabulary()
        for batch in self._count(texts):
            vocabulary.add(batch)
        self._learn(vocabulary)
        return self

    def fit_transform(self, texts: Iterable[str], labels: object = None) -> csr_array:
        """Learn from texts and return their rows (n, D); ``texts`` is read once."""
        vocabulary = GrowingVocabulary()
        rows: deque[tuple[NDArray[np.int32], TermCounts]] = deque()
        for batch in self._count(texts):
            rows.append((vocabulary.add(batch), batch.rows.compact()))
        kept = self._learn(vocabulary)
        columns = np.full(vocabulary.size, -1, np.int32)
        columns[kept] = np.arange(len(kept), dtype=np.int32)
        raw = (rows.popleft() for _ in range(len(rows)))  # each is let go once it is weighed
        weights = (self.idf_, self._to_log(), self.norm is not None)

        def work(row: tuple[NDArray[np.int32], TermCounts]) -> RowBlock:
            from labelgrove.text import kernels

            return RowBlock(*kernels.weigh(*row[1], columns[row[0]], *weights))

        return stack(list(in_order(work, raw, self.threads)), len(kept))

    def transform(self, texts: Iterable[str]) -> csr_array:
        """Return the rows of texts, shape (n, D), float32; unknown terms have no column."""
        self.check_fitted()
        analyzer, sizes = self._analyzer()
        weights, emphasis = (self.idf_, self._to_log(), self.norm is not None), self._emphasis()

        def work(batch: list[str]) -> RowBlock:
            from labelgrove.text import kernels

            part: Any
            if analyzer.language is None and not emphasis:
                part = analyzer.run(
                    kernels.tfidf_rows,
                    batch,
                    analyzer.min_length,
                    analyzer.characters or (0, 0),
                    sizes,
                    self.slots_,
                    self.keys_,
                    *weights,
                )
            else:
                counted = count_terms(analyzer.tokens(batch), *sizes, emphasis)
                columns = kernels.look_up(counted.hashes, self.slots_, self.keys_)
                part = kernels.weigh(*counted.rows, columns, *weights)
            return RowBlock(*part)

        return stack(list(in_order(work, batches(texts), self.threads)), len(self.idf_))

    def spans(self, text: str) -> list[Span]:
        """Return the characters behind each known term, an n-gram from first to last word."""
        from labelgrove.text import kernels

        self.check_fitted()
        analyzer, sizes = self._analyzer()
        tokens = analyzer.tokens([check_text(text)])
        hashes, firsts, lasts, _ = kernels.ngrams(*tokens[3:], *sizes)
        ids = kernels.look_up(hashes, self.slots_, self.keys_)
        return analyzer.spans(text, ids, tokens.starts[firsts], tokens.ends[lasts])

    def terms(self, columns: Iterable[int] | None = None) -> list[str]:
        """Return the terms of all columns, or of some."""
        self.check_fitted()
        return PackedStrings(self.term_text_, self.term_ends_).decode(columns)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the terms as scikit-learn wants them, shape (D,)."""
        return np.array(self.terms(), dtype=object)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over a saved state; arrays stay where they are, on disk."""
        super().set_state(
            {k: read_only(v) if isinstance(v, np.ndarray) else v for k, v in state.items()}
        )

    def check_state(self) -> None:
        """Refuse terms or weights that do not fit each other."""
        n = check_terms(self.keys_, self.slots_, self.term_text_, self.term_ends_)
        checks.array("idf_", self.idf_, np.float32, (n,))
        checks.finite("idf_", self.idf_)
        checks.whole("n_documents_", self.n_documents_)

    def _analyzer(self) -> tuple[Analyzer, tuple[int, int]]:
        sizes = int(self.ngrams[0]), int(self.ngrams[1])
        analyzer = parse(self.analyzer, lowercase=self.lowercase, min_length=self.min_length)
        if analyzer.characters is not None and sizes != (1, 1):
            raise InputError(
                f"ngrams={self.ngrams!r} joins words; with analyzer={self.analyzer!r} the sizes "
                "are those in the analyzer's name, so leave ngrams at (1, 1)"
            )
        return analyzer, sizes

    def _emphasis(self) -> Emphasis:
        return Emphasis(int(self.first_line), float(self.fade_after or 0), bool(self.sublinear))

    def _to_log(self) -> bool:
        """Whether counts have still to be made sublinear; what has emphasis is so already."""
        return bool(self.sublinear) and not self._emphasis()

    def _count(self, texts: Iterable[str]) -> Iterable[CountedBatch]:
        self.check_settings()
        (analyzer, sizes), emphasis = self._analyzer(), self._emphasis()

        def work(batch: list[str]) -> CountedBatch:
            return count_terms(analyzer.tokens(batch), *sizes, emphasis)

        return in_order(work, batches(texts), self.threads)

    def _learn(self, vocabulary: GrowingVocabulary) -> NDArray[np.int64]:
        kept = self._kept(vocabulary)
        documents = vocabulary.documents[kept]
        n = vocabulary.n_documents
        strings = vocabulary.strings(kept)
        keys = vocabulary.keys(kept)
        self.set_state(
            {
                "idf_": (np.log((1 + n) / (1 + documents)) + 1).astype(np.float32),
                "n_documents_": n,
                "keys_": keys,
                "slots_": slots_for(keys),
                "term_text_": strings.utf8,
                "term_ends_": strings.ends,
            }
        )
        return kept

    def _kept(self, vocabulary: GrowingVocabulary) -> NDArray[np.int64]:
        n, documents = vocabulary.n_documents, vocabulary.documents
        if not n:
            raise InputError("there are no texts to learn from")
        if not vocabulary.size:
            raise InputError(
                f"no words were found in {n:,} texts with analyzer={self.analyzer!r} and "
                f"min_length={self.min_length}: are they in the field of the texts?"
            )
        low, high = as_documents(self.min_df, n), as_documents(self.max_df, n)
        kept = np.flatnonzero((documents >= low) & (documents <= high))
        if self.max_features is not None and len(kept) > self.max_features:
            often = np.argsort(-vocabulary.totals[kept], kind="stable")[: self.max_features]
            kept = kept[np.sort(often)]
        if not len(kept):
            raise InputError(
                f"none of the {vocabulary.size:,} terms is left with min_df={self.min_df}, "
                f"max_df={self.max_df}, max_features={self.max_features} on {n:,} texts"
            )
        return kept[np.argsort(-documents[kept], kind="stable")]
