"""Finds the names of labels in the text, also of labels that no training document has.

The idea of lexical matching is that of Maui (Medelyan, "Human-competitive automatic topic
indexing", PhD thesis, University of Waikato 2009).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features, TokenSequences
from labelgrove.core.random import generator
from labelgrove.core.ranges import Whole
from labelgrove.core.ranking import Ranking, true_pairs
from labelgrove.core.settings import setting
from labelgrove.core.types import Explanation, FitContext, ViewSpec
from labelgrove.labels import LabelSpace
from labelgrove.models.logistic import logistic, sigmoid
from labelgrove.models.phrases import Phrases
from labelgrove.text import UNK, Words

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]

BATCH_TOKENS = 1 << 20
SAMPLE_TOKENS = 1 << 21  # what the weights of a mention are learned from at most
DOUBT = 3.0  # an occurrence of unknown outcome weighs as much as so many known ones
MOST_SHARED = 100  # a name of more labels tells next to nothing, and takes long to say so
ENOUGH = 20  # documents of which one should have the name of a label
# Weights of the evidence as far as documents do not tell, about what large corpora teach: the
# share itself, a constant, log of documents with the name, whether no document has the label, logs
# of words in the name, of labels that share it, of occurrences, of the place of the first.
UNLEARNED = (1.0, 0.0, 0.0, 0.0, 0.6, -0.5, 0.6, -0.4)
STEM = 4  # letters that an ending leaves at least
_LETTER = re.compile(r"[^\W\d_]")
QUALIFIER = re.compile(r"\s*(?:\([^()]*\)|<[^<>]*>|\[[^\[\]]*\])\s*$")


class Mentions(NamedTuple):
    """Which names stand in which documents, a row for each document and pair of name and label.

    Parameters
    ----------
    documents, pairs
        Sorted by document, then pair, and so by label; shapes (m,).
    counts
        Occurrences of all names of the pair's label, shape (m,).
    firsts
        Place of the first of them, shape (m,).
    """

    documents: Ints
    pairs: Ints
    counts: Ints
    firsts: Ints


@dataclass(frozen=True)
class Record:
    """What the training documents tell of P pairs of name and label; each array of shape (P,).

    Parameters
    ----------
    found
        Documents in which the name stands.
    right
        Those of them that have the label.
    labelled
        Documents that have the label.
    lengths
        Words of the name.
    shared
        Labels that have the name.
    fresh
        The share to expect of a name never seen, a number.
    """

    found: Floats
    right: Floats
    labelled: Floats
    lengths: Floats
    shared: Floats
    fresh: float

    def shares(self) -> Floats:
        """Return the share of documents with the name that have the label, a guess if few."""
        return (self.right + DOUBT * self.fresh) / (self.found + DOUBT)

    def evidence(self) -> Floats:
        """Return what speaks for each pair, shape (P, 6); the share as log-odds comes first."""
        shares = self.shares()
        columns = [
            np.log(shares / (1.0 - shares)),
            np.ones(len(shares)),
            np.log1p(self.found),
            self.labelled == 0,
            np.log(self.lengths),
            np.log(self.shared),
        ]
        return np.stack(columns, axis=1)

    def left_out(self, pairs: Ints, true: Floats) -> Floats:
        """Return the evidence that all other documents give for mentions, shape (m, 6).

        Parameters
        ----------
        pairs
            The pair of each mention, shape (m,).
        true
            Whether the mention's document has the label, shape (m,).
        """
        others = Record(
            self.found[pairs] - 1,
            self.right[pairs] - true,
            self.labelled[pairs] - true,
            self.lengths[pairs],
            self.shared[pairs],
            self.fresh,
        )
        return others.evidence()


class LabelMatch(Classifier):
    """Ranks the labels whose names, or other names, stand in the text.

    A name is a run of words, found whatever common endings its words have; a name inside a longer
    one that is found does not count, nor does a name that more than a hundred labels share. A
    qualifier such as that of "Mercury (planet)" may be missing in the text. How
    telling a name is comes from the training documents: the share of those with the name that
    have the label too, drawn towards that of rare names. Together with the number of
    occurrences, the place of the first, the number of words, the labels that share the name, the
    documents that have it, and whether any document has the label, it makes a probability by
    logistic regression; each training document is judged as if it had been left out, which
    also tells how far to trust a name that training has not seen.

    `labelgrove.Tagger` makes every concept of its vocabulary a label for this model. A label
    without a name is looked for by its id.

    Attributes
    ----------
    same_
        The word that stands for each word and its forms, shape (D,), int32.
    edges_, phrase_at_
        The names, as of `labelgrove.models.phrases.Phrases`.
    name_offsets_, name_pairs_
        The pairs of name i are ``name_pairs_[name_offsets_[i]:name_offsets_[i + 1]]``.
    pair_labels_, pair_shares_, pair_scores_
        Label of each pair, ascending; how telling it is; and its score without count and place;
        shapes (P,).
    repeat_, place_
        Weights of the logarithms of count and place.

    Examples
    --------
    >>> from labelgrove import Tagger
    >>> texts = ["The cat sleeps", "Two dogs and a cat", "A dog barks", "Nothing"]
    >>> tagger = Tagger("label-match", validation=0)
    >>> tagger = tagger.fit(texts, [["cat"], ["cat", "dog"], ["dog"], ["fish"]])
    >>> [tag.label for tag in tagger.tag("Fish for my cat", k=5)]
    ['cat', 'fish']
    """

    name: ClassVar[str] = "label-match"
    ranks_by_name: ClassVar[bool] = True
    uses_workers: ClassVar[bool] = False

    endings: int = setting(
        10,
        "Number of word endings to ignore. The most frequent endings of one or two letters are "
        "learned from the words themselves, in any language; 0 for none. If the language is known, "
        "analyzer=snowball:en of the text does more.",
        least=0,
        search=Whole(0, 40),
    )
    seed: int = setting(0, "Seed of the sample that is drawn from large training sets.")

    same_: NDArray[np.int32]
    edges_: NDArray[np.int64]
    phrase_at_: NDArray[np.int32]
    name_offsets_: NDArray[np.int64]
    name_pairs_: NDArray[np.int64]
    pair_labels_: NDArray[np.int32]
    pair_shares_: NDArray[np.float32]
    pair_scores_: NDArray[np.float32]
    repeat_: float
    place_: float

    def views(self) -> dict[str, ViewSpec]:
        """Return the one view: words in reading order, as good as all of them."""
        settings = {"length": 10_000, "max_words": 5_000_000}
        return {"text": ViewSpec("words", settings, reads_names=True)}

    # --- learning -----------------------------------------------------------------------------

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        X, words, labels = _tokens(X), context.featurizers.get("text"), context.labels
        if labels is None or len(labels) < Y.shape[1] or not isinstance(words, Words):
            raise InputError(
                "label-match finds labels by their names: fit it through Tagger, or give a "
                "FitContext with the labels and the fitted Words featurizer of the view 'text'"
            )
        self.same_ = same_words(words.vocabulary, self.endings)
        lengths = self._learn_names(labels, Y.shape[1], words)
        record = self._record(X, Y, lengths)
        names = labels.names[: Y.shape[1]]
        nothing = not record.found.any()
        if nothing and X.shape[0] >= ENOUGH:
            shown = ", ".join(map(repr, names[:3]))
            raise InputError(
                f"no label's name, such as {shown}, stands in any of the {X.shape[0]:,} training "
                "texts, and label-match finds labels by their names: give names in the texts' "
                "language by a vocabulary (--labels)"
            )
        if nothing and not any(map(_LETTER.search, names)):
            raise InputError(
                f"labels have no names, only numbers such as {names[0]!r}, which no text "
                "mentions: give names by a vocabulary (--labels)"
            )
        sample = self._sample(X)
        mentions = self._mentions(X[sample])
        wanted = self.pair_labels_[mentions.pairs]
        true = true_pairs(Y[sample], mentions.documents, wanted).astype(np.float64)
        rows = np.concatenate([record.left_out(mentions.pairs, true), _by_place(mentions)], axis=1)
        weights = logistic(rows, true, np.array(UNLEARNED))
        self.pair_scores_ = (record.evidence() @ weights[:-2]).astype(np.float32)
        self.pair_shares_ = record.shares().astype(np.float32)
        self.repeat_, self.place_ = float(weights[-2]), float(weights[-1])

    def _learn_names(self, labels: LabelSpace, n_labels: int, words: Words) -> Floats:
        """Number the names and pairs; return the number of words of each pair's name."""
        names, owners = [], []
        for label in range(n_labels):
            own = [labels.names[label], *labels.alternatives[label]]
            own = list(dict.fromkeys([*own, *(QUALIFIER.sub("", name) for name in own)]))
            names += own
            owners += [label] * len(own)
        texts = words.transform(names)
        known = np.minimum.reduceat(texts.tokens, texts.offsets[:-1]) > UNK
        owner, texts = np.array(owners, np.int64)[known], texts[known]
        texts = TokenSequences(self.same_[texts.tokens], texts.offsets, texts.n_terms)
        phrases, numbers = Phrases.of(texts)
        n_names = int(numbers.max(initial=-1)) + 1
        one = np.unique(owner * max(n_names, 1) + numbers, return_index=True)[1]
        one = one[np.bincount(numbers[one], minlength=n_names)[numbers[one]] <= MOST_SHARED]
        self.edges_, self.phrase_at_ = phrases.edges, phrases.phrase_at
        self.pair_labels_ = owner[one].astype(np.int32)
        self.name_pairs_ = np.argsort(numbers[one], kind="stable")
        counts = np.bincount(numbers[one], minlength=n_names)
        self.name_offsets_ = np.concatenate([[0], np.cumsum(counts)])
        return texts.lengths[one].astype(np.float64)

    def _record(self, X: TokenSequences, Y: csr_array, lengths: Floats) -> Record:
        """Count in how many documents the names stand, and how many of those have the label."""
        n_pairs = len(self.pair_labels_)
        found, right = np.zeros(n_pairs), np.zeros(n_pairs)
        for start, stop in _batches(X.offsets):
            mentions = self._mentions(X, start, stop)
            pairs = mentions.pairs
            true = true_pairs(Y[start:stop], mentions.documents, self.pair_labels_[pairs])
            found += np.bincount(pairs, minlength=n_pairs)
            right += np.bincount(pairs, true, n_pairs)
        labelled = np.bincount(Y.indices, minlength=Y.shape[1])[self.pair_labels_]
        many = np.diff(self.name_offsets_)
        shared = np.empty(n_pairs)
        shared[self.name_pairs_] = np.repeat(many, many)
        once = found == 1  # without its one document such a name would never have been seen
        fresh = float((right[once].sum() + 1.0) / (once.sum() + 10.0))
        return Record(found, right, labelled.astype(np.float64), lengths, shared, fresh)

    def _sample(self, X: TokenSequences) -> NDArray[np.int64]:
        """Return documents with at most so many tokens together, at least one, in order."""
        order = generator(self.seed, "label-match sample").permutation(len(X))
        kept = np.cumsum(X.lengths[order]) <= SAMPLE_TOKENS
        return np.sort(order[: max(int(kept.sum()), 1)])

    # --- ranking ------------------------------------------------------------------------------

    def _rank(self, X: Features, k: int) -> Ranking:
        X = self._known(X)
        rankings = [Ranking.empty(0, k)]
        for start, stop in _batches(X.offsets):
            mentions = self._mentions(X, start, stop)
            first = _firsts(mentions.documents, self.pair_labels_[mentions.pairs])
            if not len(first):
                rankings.append(Ranking.empty(stop - start, k))
                continue
            # of several names of a label the most telling one counts
            scores = np.maximum.reduceat(self.pair_scores_[mentions.pairs], first).astype(float)
            mentions = Mentions(*(column[first] for column in mentions))
            scores += _by_place(mentions) @ np.array([self.repeat_, self.place_])
            labels = self.pair_labels_[mentions.pairs]
            probabilities = sigmoid(scores).astype(np.float32)
            rankings.append(
                Ranking.from_pairs(mentions.documents, labels, probabilities, stop - start, k)
            )
        return Ranking.concatenate(rankings)

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return the places of the label's names and how telling each name is."""
        tokens = self.same_[self._known(X).sequence(i)]
        found = Phrases(self.edges_, self.phrase_at_).find(tokens, np.array([0, len(tokens)]))
        occurrence, pairs = self._pairs(found.phrases)
        own = self.pair_labels_[pairs] == label
        occurrence, pairs = occurrence[own], pairs[own]
        lengths = found.lengths[occurrence]
        places = np.repeat(found.starts[occurrence], lengths) + _within(lengths)
        weights = np.repeat(self.pair_shares_[pairs], lengths)
        places, where = np.unique(places, return_inverse=True)  # names may share a word
        heaviest = np.zeros(len(places), np.float32)
        np.maximum.at(heaviest, where, weights)
        return Explanation(places, heaviest)

    def check_state(self) -> None:
        """Refuse names and pairs of name and label that lead nowhere."""
        super().check_state()
        n_pairs = len(checks.array("pair_labels_", self.pair_labels_, np.int32, (None,)))
        for name in ("pair_shares_", "pair_scores_"):
            checks.array(name, getattr(self, name), np.float32, (n_pairs,))
        checks.array("name_pairs_", self.name_pairs_, np.int64, (n_pairs,))
        checks.offsets("name_offsets_", self.name_offsets_, n_pairs)
        checks.array("same_", self.same_, np.int32, (None,))
        checks.array("edges_", self.edges_, np.int64, (None,))
        checks.array("phrase_at_", self.phrase_at_, np.int32, (len(self.edges_) + 1,))
        checks.below("pair_labels_", self.pair_labels_, self.n_labels_)
        checks.below("name_pairs_", self.name_pairs_, n_pairs)
        checks.below("same_", self.same_, len(self.same_))
        checks.below("phrase_at_", self.phrase_at_, len(self.name_offsets_) - 1, least=-1)
        checks.number("repeat_", self.repeat_)
        checks.number("place_", self.place_)

    # --- finding ------------------------------------------------------------------------------

    def _known(self, X: Features) -> TokenSequences:
        """Return X if it is of the featurizer that the model learned with."""
        X = _tokens(X)
        if X.n_terms != len(self.same_):
            raise InputError(
                f"X has {X.n_terms:,} words, but label-match learned with {len(self.same_):,}: use "
                "the featurizer it was trained with"
            )
        return X

    def _mentions(self, X: TokenSequences, start: int = 0, stop: int | None = None) -> Mentions:
        """Return the names in documents ``start:stop``, which are numbered from 0 here."""
        offsets = X.offsets[start : len(X) + 1 if stop is None else stop + 1]
        tokens = self.same_[X.tokens[offsets[0] : offsets[-1]]]
        offsets = offsets - offsets[0]
        found = Phrases(self.edges_, self.phrase_at_).find(tokens, offsets)
        documents = np.searchsorted(offsets, found.starts, side="right") - 1
        places = found.starts - offsets[documents]
        occurrence, pairs = self._pairs(found.phrases)
        order = np.lexsort((places[occurrence], pairs, documents[occurrence]))
        occurrence, pairs = occurrence[order], pairs[order]
        documents, places = documents[occurrence], places[occurrence]
        of_label = _firsts(documents, self.pair_labels_[pairs])
        of_pair = _firsts(documents, pairs)
        if not len(of_pair):
            return Mentions(documents, pairs, places, places)
        # a pair's row tells count and first place of its label, whose other names count as well
        group = np.searchsorted(of_label, of_pair, side="right") - 1
        counts = np.diff(np.append(of_label, len(pairs)))[group]
        firsts = np.minimum.reduceat(places, of_label)[group]
        return Mentions(documents[of_pair], pairs[of_pair], counts, firsts)

    def _pairs(self, names: Ints) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the pairs of names, and for each pair the position of its name."""
        begins = self.name_offsets_[names]
        many = self.name_offsets_[names + 1] - begins
        position = np.repeat(np.arange(len(names)), many)
        return position, self.name_pairs_[begins[position] + _within(many)]


def same_words(vocabulary: Sequence[str], endings: int) -> NDArray[np.int32]:
    """Return for each word the number of the word that it is taken for, shape (D,).

    Words are taken as one if they differ by one of the ``endings`` endings of one or two letters
    that most often make a word of another.

    Examples
    --------
    >>> same_words(["cable", "cables", "graph", "graphs", "grapher", "1000", "10005"], 1).tolist()
    [0, 0, 2, 2, 4, 5, 6]
    """
    numbers = {word: number for number, word in enumerate(vocabulary)}

    def shorter(word: str) -> Iterator[str]:
        if word.isalpha():
            yield from (word[:-n] for n in (1, 2) if len(word) >= STEM + n and word[:-n] in numbers)

    counts = Counter(word[len(stem) :] for word in vocabulary for stem in shorter(word))
    common = {ending for ending, _ in sorted(counts.items(), key=lambda c: (-c[1], c[0]))[:endings]}
    same = np.arange(len(vocabulary), dtype=np.int32)
    for word in sorted((word for word in vocabulary if len(word) > STEM), key=len):
        stem = next((stem for stem in shorter(word) if word[len(stem) :] in common), None)
        if stem is not None:
            same[numbers[word]] = same[numbers[stem]]  # a shorter word has found its own already
    return same


def _tokens(X: Features) -> TokenSequences:
    if not isinstance(X, TokenSequences):
        raise InputError(
            "label-match reads words in their order: use the features 'words', not "
            f"{type(X).__name__}"
        )
    return X


def _by_place(mentions: Mentions) -> Floats:
    """Return what a mention tells by count and place, shape (m, 2)."""
    return np.stack([np.log(mentions.counts), np.log1p(mentions.firsts)], axis=1)


def _firsts(documents: Ints, others: Ints) -> NDArray[np.int64]:
    """Return where a new document or a new one of the others begins; both are sorted."""
    new = (np.diff(documents) != 0) | (np.diff(others) != 0)
    return np.flatnonzero(np.append(True, new)[: len(documents)])


def _within(lengths: Ints) -> NDArray[np.int64]:
    """Return 0 to length - 1 for each length, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - np.repeat(ends - lengths, lengths)


def _batches(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ranges of whole documents with about a million tokens each."""
    start, n = 0, len(offsets) - 1
    while start < n:
        stop = int(np.searchsorted(offsets, offsets[start] + BATCH_TOKENS, side="right")) - 1
        stop = min(max(stop, start + 1), n)
        yield start, stop
        start = stop
