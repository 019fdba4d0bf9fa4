"""The most accurate tagger of few or many documents that a CPU trains in minutes.

Several models name candidates, and a ranker that is learned from out-of-fold candidates judges
them: stacked generalization (Wolpert, Neural Networks 5, 1992) for extreme multi-label
classification, with LightGBM (Ke et al., NeurIPS 2017).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core import checks
from labelgrove.core.errors import InputError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking, ndcg
from labelgrove.core.settings import Rule, setting
from labelgrove.core.types import Explanation, FitContext, ViewSpec
from labelgrove.labels import LabelSpace
from labelgrove.labels.hierarchy import IntLists
from labelgrove.models.dense import check_dense_weight, dense_view
from labelgrove.models.grove.choosing import choose_makers, fixed_score
from labelgrove.models.grove.evidence import (
    OF_LABEL,
    OF_MAKER,
    CandidateEvidence,
    LabelFacts,
    gather,
)
from labelgrove.models.grove.folds import FEW, Fold, FoldRankings, fold_rows, rank_folds
from labelgrove.models.grove.makers import FIRST, KINDS, Maker
from labelgrove.models.grove.ranker import Ranker
from labelgrove.models.shares import copies_of, different

BATCH = 1024  # texts whose candidates are judged at once
SURE = 0.99  # probability at most where nothing was judged by held-out documents
FEWEST = 4  # different documents with labels from which makers are compared
CHECKED = 500  # documents by which a learned ranker is checked
UNSEEN = 0.2  # share of labels without a document from which names are kept for them
MANY = 1_000_000  # candidates from which the ranker learns at most, to bound its memory
ITSELF = "the label itself"  # the part of a score that no maker tells


class Grove(Classifier):
    """Candidates of several models, judged by a learned ranker.

    The makers of candidates are a label tree of linear classifiers, neighbours by words and by
    meaning, and names of labels found in the text by words and by meaning; those by meaning need
    ``dense`` vectors. The ranker sees for each candidate what every maker says of it, how
    frequent the label is, how long its name is, and how likely other labels with the same parent
    are. It learns from training documents that the makers did not learn from, and the same
    documents decide which makers are kept. If the tree alone is as good, the tree is used alone.

    A label that no document has can win by its name.

    Attributes
    ----------
    makers_
        The makers that are kept, fitted on all documents; the tree comes first.
    ranker_
        The learned ranker; None if the tree is used alone.
    held_out_
        nDCG@5 of the ``grove``, of the ``tree`` alone, and of the makers with ``fixed weights``, on
        documents that none of them learned from.
    facts_
        What is known of the labels.
    later_
        Labels that got their first documents after the training, by `remember`, shape (m,).

    Examples
    --------
    >>> from labelgrove import Tagger
    >>> each = ["cats purr", "dogs bark", "a cat and a dog", "the dog sleeps"]
    >>> texts = [f"{text} on day {day}" for day in range(5) for text in each]
    >>> labels = [["cat"], ["dog"], ["cat", "dog"], ["dog"]] * 5
    >>> tagger = Tagger("grove", validation=0).fit(texts, labels)
    >>> tagger.tag("my cat purrs", k=1)[0].label
    'cat'
    """

    name: ClassVar[str] = "grove"
    ranks_by_name: ClassVar[bool] = True

    dense: str = setting(
        "",
        "Vectors of whole texts and label names, for the makers that read meaning: 'static:NAME' "
        "for static vectors of model2vec, or the NAME of a sentence encoder; NAME is a folder or a "
        "name on the Hugging Face hub. Empty for none.",
    )
    dense_weight: float = setting(
        0.5,
        "Length of these vectors beside those of tf-idf in the label tree, whose length is 1.",
        above=0,
        most=100,
    )
    makers: Sequence[str] = setting(
        tuple(KINDS),
        "Makers of candidates to consider. Held-out documents decide which of them are kept; those "
        "by meaning are left out without dense vectors.",
        rule=Rule(
            lambda kinds: (
                isinstance(kinds, list | tuple)
                and FIRST in kinds
                and all(kind in KINDS for kind in kinds)
            ),
            f"a list of {', '.join(KINDS)}, of which {FIRST} must be one",
        ),
    )

    keep: Sequence[str] = setting(
        (),
        "Makers that are kept whatever held-out documents say. With neighbours among them, "
        "documents can be added later without training.",
        rule=Rule(
            lambda kinds: isinstance(kinds, list | tuple) and all(kind in KINDS for kind in kinds),
            f"a list of {', '.join(KINDS)}",
        ),
    )

    makers_: list[Maker]
    ranker_: Ranker | None
    held_out_: dict[str, float]
    facts_: LabelFacts
    later_: NDArray[np.int64]

    _model: Grove | None = None  # whose makers and ranker are kept

    # --- what it needs ------------------------------------------------------------------------

    def _new(self) -> list[Maker]:
        """Return the makers to consider, unfitted."""
        settings: dict[str, Any] = {"seed": self.seed, "threads": self.threads}
        if self.dense:
            settings["dense_weight"] = self.dense_weight
        wanted = [kind for kind in KINDS if kind in self.makers]
        wanted = [kind for kind in wanted if self.dense or not KINDS[kind].needs_dense]
        return [Maker.new(kind, self.dense, settings) for kind in wanted]

    def views(self) -> dict[str, ViewSpec]:
        """Return the views of its makers; a fitted grove needs those of the kept ones only."""
        makers = getattr(self, "makers_", None) or self._new()
        views: dict[str, ViewSpec] = {}
        for maker in makers:
            for view, spec in maker.model.views().items():
                views.setdefault(maker.views[view], spec)
        return views | ({"dense": dense_view(self.dense)} if "dense" in views else {})

    def check_settings(self) -> None:
        """Refuse also to keep makers that are not considered."""
        super().check_settings()
        check_dense_weight(self)
        considered = [maker.kind for maker in self._new()]
        blind = [kind for kind in self.makers if kind not in considered]
        if blind and set(self.makers) != set(KINDS):
            raise InputError(f"makers has {blind[0]!r}, which needs vectors: give dense too")
        if missing := [kind for kind in self.keep if kind not in considered]:
            needs = missing[0] in self.makers
            why = "needs vectors: give dense" if needs else "is not among makers: add it there"
            raise InputError(f"keep has {missing[0]!r}, which {why}, or leave it out")

    def check_needs(self) -> None:
        """Refuse what a maker cannot have."""
        for maker in self._new():
            maker.model.check_needs()

    # --- learning -----------------------------------------------------------------------------

    def _fit(self, X: Features, Y: csr_array, context: FitContext) -> None:
        self.facts_, self.ranker_, self.held_out_ = _facts(Y, context.labels), None, {}
        self.later_ = np.empty(0, np.int64)
        makers, kinds = self._new(), [FIRST]
        if self._model is not None:  # what fewer documents have taught, they need not teach again
            kinds = [maker.kind for maker in self._model.makers_]
            self.ranker_, self.held_out_ = self._model.ranker_, self._model.held_out_
        else:
            copies = copies_of(X)
            if (n_different := different(Y, copies)) < FEWEST:
                self._fit_unjudged(makers, X, Y, context, n_different)
                return
            if len(makers) > 1:
                parts = fold_rows(Y, copies, self.seed)
                kinds = self._learn_to_rank(makers, X, Y, context, parts)
        self.makers_ = [
            maker.fit(X, Y, context, maker.kind) for maker in makers if maker.kind in kinds
        ]
        if self.ranker_ is not None and self._model is None:
            self._check_ranker(X, Y, context)

    def _check_ranker(self, X: Features, Y: csr_array, context: FitContext) -> None:
        """Give up a ranker that is worse where makers know the documents than where they do not.

        It has learned from few texts what does not hold of others, such as that whatever the tree
        names is wrong. What held-out documents rank better takes its place: fixed weights, or the
        tree alone.
        """
        rows = generator(self.seed, "checking the ranker").permutation(Y.shape[0])[:CHECKED]
        reached = float(ndcg(self._rank(X[rows], 5), Y[rows], 5).mean())
        if reached >= self.held_out_["grove"] or self.keep:
            return
        tree, fixed = self.held_out_["tree"], self.held_out_["fixed weights"]
        if fixed > tree:
            instead = "fixed weights take its place"
            self.ranker_ = Ranker.unlearned(self._evidence(X[:0]).columns)
        else:
            instead = f"the {FIRST} is used alone"
            self.ranker_, self.makers_ = None, self.makers_[:1]
        context.run.progress.say(
            f"the ranker does not hold: nDCG@5 {reached:.1%} on training documents, less than on "
            f"held-out ones; {instead} (held-out nDCG@5 {max(fixed, tree):.1%})"
        )
        self.held_out_ |= {"grove": max(fixed, tree)}

    def refit(self, X: Features, Y: csr_array, *, context: FitContext | None = None) -> Self:
        """Return a grove of the same makers and with the same ranker that learns from these."""
        found = self.fresh()
        if self.held_out_:
            found._model = self
        found.fit(X, Y, context=context)
        found._model = None
        return found

    def _fit_unjudged(
        self, makers: list[Maker], X: Features, Y: csr_array, context: FitContext, n_different: int
    ) -> None:
        """Fit all makers that can learn from next to nothing, with a ranker that did not learn."""
        if not Y.nnz:
            makers = [maker for maker in makers if maker.model.ranks_by_name]
        self.makers_ = []
        for maker in makers:
            try:
                self.makers_.append(maker.fit(X, Y, context, maker.kind))
            except InputError as error:
                context.run.progress.say(f"without {maker.kind}: {error}")
        if not self.makers_:
            raise InputError(
                f"{Y.shape[0]:,} documents and no names of labels that could be found in texts: "
                "there is nothing to learn from. Give documents with labels, or names by --labels"
            )
        kinds = ", ".join(maker.kind for maker in self.makers_)
        context.run.progress.say(
            f"{n_different:,} different documents with labels are too few to learn "
            f"how to rank: this tagger rests on {kinds}, with fixed weights"
        )
        if len(self.makers_) > 1:
            self.ranker_ = Ranker.unlearned(self._evidence(X[:0]).columns)

    def _learn_to_rank(
        self,
        makers: list[Maker],
        X: Features,
        Y: csr_array,
        context: FitContext,
        parts: list[Fold],
    ) -> list[str]:
        """Choose makers and learn the ranker; return the kinds of makers to keep."""
        about = repr(self.get_params(deep=False) | {"threads": None})
        folds = rank_folds(makers, X, Y, parts, context, about)
        own = Y[folds.rows]
        keep = list(self.keep)
        unseen = int((self.facts_.counts == 0).sum())
        if Y.shape[0] < FEW and unseen > UNSEEN * Y.shape[1]:
            # few documents cannot tell what names do for labels that none of them has
            by_name = [maker.kind for maker in makers if maker.model.ranks_by_name]
            keep += [kind for kind in by_name if kind in folds.rankings]
        kinds, score, alone = choose_makers(folds, own, self.facts_, self.seed, keep)
        self.held_out_ = {"grove": score, "tree": alone}
        tried = [maker.kind for maker in makers]
        context.run.progress.say(_told(kinds, tried, score, alone))
        if score < alone and len(keep) > len(self.keep):
            context.run.progress.say(
                f"names are kept all the same: {unseen:,} labels have no document to judge them by"
            )
        if kinds != [FIRST] or score > alone:
            self.ranker_ = self._learn_ranker(folds.of(kinds), own)
            fixed = fixed_score(folds.of(kinds), own, self.facts_, self.seed)
            self.held_out_["fixed weights"] = fixed
        return kinds

    def _learn_ranker(self, folds: FoldRankings, Y: csr_array) -> Ranker:
        """Learn from the candidates of documents with labels Y (m, L)."""
        each = sum(ranking.k for ranking in folds.rankings.values())
        order = generator(self.seed, "documents of the ranker").permutation(len(folds.rows))
        chosen = order < max(MANY // max(each, 1), 1)
        few = folds.of_documents(chosen, max(kind.depth for kind in KINDS.values()))
        evidence = gather(few.rankings, self.facts_._replace(counts=folds.counts), few.fold)
        truth = Y[np.flatnonzero(chosen)]
        true = evidence.truth(truth)
        ranker = Ranker.learn(evidence, true, self.seed)
        return ranker.boosted(evidence, true, truth, self.seed)

    # --- ranking ------------------------------------------------------------------------------

    def _rank(self, X: Features, k: int) -> Ranking:
        self._use_threads()
        if self.ranker_ is None:
            return self.makers_[0].rank(X, k)
        if X.shape[0] <= BATCH:  # slices take as long as the ranker does for one text
            return self._judged(X, k, self.ranker_)
        starts = range(0, X.shape[0], BATCH)
        parts = [self._judged(X[first : first + BATCH], k, self.ranker_) for first in starts]
        return Ranking.concatenate(parts)

    def _judged(self, X: Features, k: int, ranker: Ranker) -> Ranking:
        evidence = self._evidence(X)
        chances = ranker.chances(evidence)
        if len(self.later_):
            later = np.isin(evidence.labels, self.later_)
            chances[later] = np.maximum(chances[later], self._votes(evidence[later]))
        found = evidence.ranking(chances, X.shape[0], k)
        if ranker.is_learned:
            return found
        # a ranker that did not learn puts labels in order; how probable they are makers tell
        surest = np.minimum(evidence.surest([maker.kind for maker in self.makers_]), SURE)
        return found.with_scores(evidence.ranking(surest, X.shape[0], k).scores)

    def _votes(self, evidence: CandidateEvidence) -> NDArray[np.float64]:
        """Return how probable candidates are by the neighbours alone, shape (m,).

        The ranker knows nothing of labels that got their first documents after the training: no
        other maker names them, which speaks against any other label.
        """
        return evidence.surest([maker.kind for maker in self.makers_ if maker.model.remembers])

    def _evidence(self, X: Features) -> CandidateEvidence:
        return gather({maker.kind: maker.rank(X) for maker in self.makers_}, self.facts_)

    def _use_threads(self) -> None:
        for maker in self.makers_:
            maker.model.threads = self.threads

    def _explain(self, X: Features, i: int, label: int) -> Explanation:
        """Return which makers spoke, and the words of the one with the most to say.

        A maker's weight is what its columns add to the log odds of the label, counted from the
        mean of all candidates.
        """
        row = X[np.array([i])]
        order = np.arange(len(self.makers_))
        parts: tuple[tuple[str, float], ...] = ()
        if self.ranker_ is not None:
            evidence = self._evidence(row)
            here = np.flatnonzero(evidence.labels == label)
            if len(here):
                shares = self.ranker_.shares(evidence)[here[0]]
                parts = _by_maker(shares, evidence.columns, self.makers_)
                order = np.argsort([-weight for _, weight in parts[: len(self.makers_)]])
        told = [self._told_by(self.makers_[number], row, label) for number in order]
        said = next((each for each in told if each is not None and len(each.ids)), None)
        if said is None:
            none = np.empty(0, np.int64), np.empty(0, np.float32)
            return Explanation(*none, next(iter(self.views())), parts=parts)
        near = next((each.neighbours for each in told if each and each.neighbours), ())
        return replace(said, neighbours=near, parts=parts or said.parts)

    def _explain_label(self, label: int) -> Explanation:
        """Return what the first maker says that has weights of words for the label."""
        for maker in self.makers_:
            try:
                told = maker.explain_label(label)
            except InputError:  # it has none
                continue
            if told is not None:
                return told
        raise InputError(
            "no model of this grove has weights of words for this label: explain a text"
        )

    def _told_by(self, maker: Maker, row: Features, label: int) -> Explanation | None:
        try:
            return maker.explain(row, 0, label)
        except InputError:  # it knows nothing that can be shown
            return None

    # --- more documents -----------------------------------------------------------------------

    @property
    def remembers(self) -> bool:  # type: ignore[override]
        """True if a maker remembers documents."""
        makers = getattr(self, "makers_", None) or self._new()
        return any(maker.model.remembers for maker in makers)

    def remembered(self) -> Iterable[str]:
        """Return how the documents begin that its makers remember."""
        makers = [maker for maker in self.makers_ if maker.model.remembers]
        return chain.from_iterable(maker.model.remembered() for maker in makers[:1])

    def check_remembers(self) -> None:
        """Refuse to remember where no maker does."""
        if not self.remembers:
            kept = ", ".join(maker.kind for maker in self.makers_)
            raise InputError(
                f"this grove rests on {kept} and keeps no documents, so none can be added without "
                "training: train it again with the new documents, and with --set "
                "'keep=[\"neighbours\"]' to add others later"
            )

    def _remember(self, X: Features, Y: csr_array, context: FitContext) -> Self:
        found = self.fresh()
        found.makers_ = [
            maker.remember(X, Y, context) if maker.model.remembers else maker
            for maker in self.makers_
        ]
        found.ranker_, found.held_out_ = self.ranker_, self.held_out_
        given = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
        known = np.flatnonzero(self.facts_.counts)
        found.later_ = np.union1d(self.later_, np.setdiff1d(given, known)).astype(np.int64)
        new, old = _facts(Y, context.labels), self.facts_
        counts = new.counts.copy()
        counts[: len(old.counts)] += old.counts
        words = np.concatenate([old.words, new.words[len(old.words) :]])
        parents = new.parents if context.labels is not None else _padded(old.parents, len(counts))
        found.facts_ = LabelFacts(counts, words, parents)
        return found

    # --- saving -------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return ranker and facts; makers have folders of their own."""
        state = super().state()
        for name in ("makers_", "ranker_", "facts_"):
            state.pop(name, None)
        if not hasattr(self, "makers_"):
            return state
        ranker = {} if self.ranker_ is None else self.ranker_.state()
        facts = self.facts_
        return {
            **state,
            "n_makers": len(self.makers_),
            **{f"ranker.{name}": value for name, value in ranker.items()},
            "facts.counts": facts.counts,
            "facts.words": facts.words,
            "facts.parents.offsets": facts.parents.offsets,
            "facts.parents.indices": facts.parents.indices,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `state` returned."""
        ranker = {k.removeprefix("ranker."): v for k, v in state.items() if k[:7] == "ranker."}
        self.ranker_ = Ranker.from_state(ranker) if ranker else None
        parents = IntLists(state["facts.parents.offsets"], state["facts.parents.indices"])
        self.facts_ = LabelFacts(state["facts.counts"], state["facts.words"], parents)
        self._n_makers = int(state["n_makers"])
        super().set_state({k: v for k, v in state.items() if "." not in k and k != "n_makers"})

    def write(self, folder: Path) -> None:
        """Write settings and state, and the makers below."""
        super().write(folder)
        for number, maker in enumerate(self.makers_):
            maker.write(folder / f"maker{number + 1}")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what `write` wrote."""
        found = super().read(folder)
        numbers = range(1, found._n_makers + 1)
        found.makers_ = [Maker.read(folder / f"maker{number}") for number in numbers]
        with checks.reading(folder):
            found._check_makers()
        return found

    def check_state(self) -> None:
        """Refuse facts of other labels, and a ranker that does not hold together."""
        super().check_state()
        checks.whole("n_makers", self._n_makers, least=1, most=len(KINDS))
        facts, n = self.facts_, self.n_labels_
        for name in ("counts", "words"):
            checks.array(f"facts.{name}", getattr(facts, name), np.int64, (n,))
            checks.below(f"facts.{name}", getattr(facts, name), 2**53)
        parents = facts.parents
        if len(parents) < n:
            raise ValueError(f"facts.parents has {len(parents):,} labels instead of {n:,}")
        checks.offsets("facts.parents.offsets", parents.offsets, len(parents.indices))
        checks.below("facts.parents.indices", parents.indices, 2**31)
        checks.array("later_", self.later_, np.int64, (None,))
        if self.ranker_ is not None:
            self.ranker_.check()

    def _check_makers(self) -> None:
        """Refuse makers of other labels, and a ranker of other makers."""
        for maker in self.makers_:
            assert maker.labels is not None
            checks.below(f"labels of {maker.kind}", maker.labels, self.n_labels_)
        kinds = [maker.kind for maker in self.makers_]
        columns = (*(f"{kind} {what}" for kind in kinds for what in OF_MAKER), *OF_LABEL)
        if self.ranker_ is not None and tuple(self.ranker_.columns) != columns:
            raise ValueError(f"the ranker is not for {', '.join(kinds)}")


def _facts(Y: csr_array, labels: LabelSpace | None) -> LabelFacts:
    """Return what is known of the columns of Y."""
    n = int(Y.shape[1])
    counts = np.bincount(Y.indices, minlength=n)
    if labels is None:
        return LabelFacts(counts, np.ones(n, np.int64), IntLists.of([()] * n))
    words = np.array([len(name.split()) for name in labels.names[:n]], np.int64)
    return LabelFacts(counts, words, labels.parents)


def _padded(parents: IntLists, n: int) -> IntLists:
    """Return the parents of n labels, of which the last have none."""
    more = np.full(max(n + 1 - len(parents.offsets), 0), parents.offsets[-1])
    return IntLists(np.concatenate([parents.offsets, more]), parents.indices)


def _told(kept: Sequence[str], tried: Sequence[str], score: float, alone: float) -> str:
    """Return in one line what was decided."""
    if list(kept) == [FIRST] and score <= alone:
        return f"no maker adds to the {FIRST}, which is used alone: held-out nDCG@5 {alone:.1%}"
    dropped = [kind for kind in tried if kind not in kept]
    without = f"; without {', '.join(dropped)}" if dropped else ""
    return (
        f"candidates of {', '.join(kept)}{without}: held-out nDCG@5 {score:.1%}, "
        f"{FIRST} alone {alone:.1%}"
    )


def _by_maker(
    shares: NDArray[np.float64], columns: Sequence[str], makers: Sequence[Maker]
) -> tuple[tuple[str, float], ...]:
    """Return what each maker, and what is known of the label itself, add to its log odds."""
    sums = dict.fromkeys([*(maker.kind for maker in makers), ITSELF], 0.0)
    for share, column in zip(shares.tolist(), columns, strict=True):
        sums[ITSELF if column in OF_LABEL else column.rpartition(" ")[0]] += share
    return tuple(sums.items())
