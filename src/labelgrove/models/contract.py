"""What every model promises, as checks that any classifier can be put through.

The tests run every check on every registered model. A package that adds models by entry point
runs them on its own::

    from labelgrove.models.contract import CHECKS, Case

    @pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
    def test_contract(check, tmp_path):
        check(Case(lambda folder: MyModel(**MyModel.example_settings(folder)), tmp_path))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from labelgrove.core.errors import InputError, NotFittedError
from labelgrove.core.estimator import Classifier
from labelgrove.core.features import Features, TokenSequences, Views
from labelgrove.core.progress import Silent, Task
from labelgrove.core.random import generator
from labelgrove.core.ranking import Ranking, ndcg
from labelgrove.core.types import FitContext, Run
from labelgrove.labels import LabelSpace
from labelgrove.text import FEATURIZERS

CHECKS: dict[str, Callable[[Case], None]] = {}
SAVED_SUFFIXES = {".json", ".npy", ".safetensors"}
N_LABELS = 12
INTERRUPTED_AT = 10  # steps; a network of 90 documents is then in its second epoch
NOISE = " ".join(f"noise{number}" for number in range(6))


def known_answer(n: int, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Return n texts whose words give away their labels, and those labels.

    Label i owns the words ``topic<i>a`` to ``topic<i>c``, and the first two are names of it in
    `Case.space`; a text has one to three labels, all the words of each, and a few words that mean
    nothing. Lower labels are more frequent.
    """
    random = generator(seed, "known answer")
    weights = 1.0 / np.arange(1, N_LABELS + 1)
    texts, labels = [], []
    for _ in range(n):
        size = int(random.integers(1, 4))
        chosen = random.choice(N_LABELS, size, replace=False, p=weights / weights.sum())
        words = [f"topic{label}{letter}" for label in chosen for letter in "abc"]
        words += [f"noise{number}" for number in random.integers(0, 30, 5)]
        random.shuffle(words)
        texts.append(" ".join(words))
        labels.append([f"label {label:02d}" for label in sorted(chosen)])
    return texts, labels


@dataclass
class Case:
    """A model to check, and what it is checked on.

    Parameters
    ----------
    make
        Returns a new, unfitted model; it may put files into the folder it is given.
    folder
        An empty folder.
    """

    make: Callable[[Path], Classifier]
    folder: Path

    @cached_property
    def corpus(self) -> tuple[list[str], list[list[str]]]:
        """Texts and labels of 400 documents to learn from and 100 to judge by."""
        return known_answer(500)

    @cached_property
    def space(self) -> LabelSpace:
        """The labels of the corpus, with names that stand in the texts."""
        return self.first_labels(N_LABELS)

    def first_labels(self, n: int) -> LabelSpace:
        """Return the space of the first n labels, the columns of Y in as wide a case."""
        space = LabelSpace.from_labels(self.corpus[1])
        return LabelSpace(
            space.ids[:n],
            space.counts[:n],
            space.n_documents,
            names=[f"topic{label}a" for label in range(n)],
            alternatives=[(f"topic{label}b",) for label in range(n)],
        )

    @cached_property
    def featurizers(self) -> dict[str, Any]:
        """A featurizer for each view of the model, fitted on the corpus."""
        made = {
            view: FEATURIZERS.create(spec.featurizer, **spec.settings)
            for view, spec in self.new().views().items()
        }
        return {view: part.fit(self.corpus[0]) for view, part in made.items()}

    def new(self) -> Classifier:
        """Return an unfitted model."""
        files = self.folder / "files"
        files.mkdir(exist_ok=True)
        return self.make(files)

    def features(self, texts: list[str]) -> Features:
        """Return the views of texts that the model asks for."""
        views = {view: part.transform(texts) for view, part in self.featurizers.items()}
        return next(iter(views.values())) if len(views) == 1 else Views(views)

    @cached_property
    def train(self) -> tuple[Features, csr_array]:
        """Features and labels to learn from."""
        return self.features(self.corpus[0][:400]), self.space.encode(self.corpus[1][:400])

    @cached_property
    def test(self) -> tuple[Features, csr_array]:
        """Features and labels to judge by."""
        return self.features(self.corpus[0][400:]), self.space.encode(self.corpus[1][400:])

    def fit(
        self,
        X: Features,
        Y: csr_array,
        model: Classifier | None = None,
        run: Run | None = None,
    ) -> Classifier:
        """Fit a model with all the context it can get."""
        context = FitContext(
            labels=self.first_labels(Y.shape[1]),
            featurizers=self.featurizers,
            validation=(X, Y),
            documents=[f"document {number}" for number in range(X.shape[0])],
            run=run or Run(folder=None),
        )
        return (model or self.new()).fit(X, Y, context=context)

    @cached_property
    def more(self) -> tuple[Features, csr_array, FitContext]:
        """Documents of a label that is in no other: six words together that were noise before."""
        random = generator(0, "more documents")
        texts = [f"{NOISE} noise{number}" for number in random.integers(0, 30, 20)]
        space, Y = self.space.with_more([["label new"]] * len(texts))
        context = FitContext(labels=space, featurizers=self.featurizers, documents=texts)
        return self.features(texts), Y, context

    @cached_property
    def fitted(self) -> Classifier:
        """A model fitted on `train`."""
        return self.fit(*self.train)


def _check(function: Callable[[Case], None]) -> Callable[[Case], None]:
    CHECKS[function.__name__] = function
    return function


@_check
def settings_are_kept(case: Case) -> None:
    """Constructor arguments are stored as given; seed and threads are among them."""
    model = case.new()
    assert {"seed", "threads"} <= {*model.setting_names()}, "every model takes seed and threads"
    for name, value in type(model).example_settings(case.folder / "files").items():
        assert _same(type(model)(**{name: value}).get_params()[name], value), (
            f"the constructor changed {name}"
        )


@_check
def ranges_are_searchable(case: Case) -> None:
    """Ranges name settings, hold defaults other than None, and both ends are accepted."""
    model = case.new()
    defaults = model.defaults()
    for name, found in model.searchable().items():
        assert name in defaults, f"there is a range for {name}, which is no setting"
        inside = defaults[name] is None or found.holds(defaults[name])
        assert inside, f"the default of {name} is not in {found}"
        for value in found.ends():
            try:
                model.fresh().set_params(**{name: value}).check_settings()
            except InputError as error:
                raise AssertionError(f"{name} cannot be {value!r}, an end of its range") from error


@_check
def clone_is_unfitted(case: Case) -> None:
    """A clone has the same settings and nothing learned; ranking with it is refused."""
    copy = case.fitted.fresh()
    assert copy.get_params().keys() == case.fitted.get_params().keys()
    for name, value in case.fitted.get_params(deep=False).items():
        assert _same(copy.get_params()[name], value), f"the clone has another {name}"
    try:
        copy.rank(case.test[0], 3)
    except NotFittedError:
        return
    raise AssertionError("an unfitted model must raise NotFittedError")


@_check
def fit_returns_self_and_keeps_its_input(case: Case) -> None:
    """Fit returns the model, changes none of its settings, and leaves X and Y alone."""
    Y = case.train[1].copy()
    X = case.features(case.corpus[0][: Y.shape[0]])
    model = case.new()
    before = model.get_params(deep=False)
    assert case.fit(X, Y, model) is model, "fit must return self"
    for name, value in before.items():
        assert _same(model.get_params()[name], value), f"fit changed the setting {name}"
    assert _same(X, case.train[0]), "fit changed X"
    assert _same(Y, case.train[1]), "fit changed Y"


@_check
def learns_a_known_answer(case: Case) -> None:
    """The words give the labels away: nDCG@5 of at least 0.9, for a dummy that of frequency."""
    X, Y = case.test
    reached = ndcg(case.fitted.rank(X, 5), Y, 5).mean()
    counts = np.bincount(case.train[1].indices, minlength=N_LABELS)
    frequent = Ranking.from_dense(np.tile(counts / 400.0, (Y.shape[0], 1)), 5)
    wanted = 0.9 if case.fitted.reads_text else ndcg(frequent, Y, 5).mean() - 1e-9
    assert reached >= wanted, f"nDCG@5 is {reached:.3f}, at least {wanted:.3f} is wanted"


@_check
def ranking_is_sound(case: Case) -> None:
    """Shape (n, k), int32 and float32, each label once, probabilities, best first, padded."""
    X, Y = case.test
    for k in (1, 3, N_LABELS):
        _sound(case.fitted.rank(X, k), Y.shape[0], k, N_LABELS)


@_check
def k_may_exceed_the_labels(case: Case) -> None:
    """More places than labels give all labels, not an error; k below 1 is refused."""
    ranking = case.fitted.rank(case.test[0], 10 * N_LABELS)
    assert ranking.k == N_LABELS, f"{ranking.k} places for {N_LABELS} labels"
    try:
        case.fitted.rank(case.test[0], 0)
    except InputError:
        return
    raise AssertionError("k = 0 must be refused")


@_check
def smaller_k_is_the_head_of_larger(case: Case) -> None:
    """The best label does not depend on how many are asked for."""
    X = case.test[0]
    one, three = case.fitted.rank(X, 1), case.fitted.rank(X, 3)
    assert np.array_equal(one.labels, three.labels[:, :1]), "k changes the best label"
    assert np.allclose(one.scores, three.scores[:, :1], atol=1e-5), "k changes scores"


@_check
def rows_do_not_influence_each_other(case: Case) -> None:
    """A document is ranked alike alone and among others."""
    X = case.test[0]
    together = case.fitted.rank(X, 3)
    for i in (0, 7, 99):
        alone = case.fitted.rank(X[i : i + 1], 3)
        assert np.allclose(alone.scores[0], together.scores[i], atol=1e-4), f"row {i} differs"
        clear = np.diff(together.scores[i]) < -1e-4  # ties may fall either way
        assert np.array_equal(alone.labels[0][:2][clear], together.labels[i][:2][clear])


@_check
def same_seed_same_model(case: Case) -> None:
    """The same data, settings and seed give the same ranking, bit for bit."""
    X = case.test[0]
    again = case.fit(*case.train).rank(X, 5)
    first = case.fitted.rank(X, 5)
    assert np.array_equal(first.labels, again.labels), "labels differ between two equal fits"
    assert np.array_equal(first.scores, again.scores), "scores differ between two equal fits"


class _Interrupting(Silent):
    """Interrupts what is shown here as a crash would, at the n-th step."""

    def __init__(self, n: int) -> None:
        self.left = n

    @contextmanager
    def task(
        self, title: str, total: int | None = None, unit: str = "documents", done: int = 0
    ) -> Iterator[Task]:
        """Open a task that counts."""
        yield _InterruptingTask(self)


class _InterruptingTask(Task):
    def __init__(self, progress: _Interrupting) -> None:
        self._progress = progress

    def advance(self, steps: int = 1, **facts: float | str) -> None:
        self._progress.left -= 1
        if not self._progress.left:
            raise KeyboardInterrupt


@_check
def interrupted_training_goes_on(case: Case) -> None:
    """A training that was interrupted and resumed gives the model of one that was not."""
    X, Y = case.train
    folder, texts = case.folder / "interrupted", case.test[0]
    with suppress(KeyboardInterrupt):
        case.fit(X, Y, run=Run(folder, progress=_Interrupting(INTERRUPTED_AT)))
    resumed = case.fit(X, Y, run=Run(folder, resume=True)).rank(texts, 5)
    _alike(case.fitted.rank(texts, 5), resumed, "the resumed training differs")


@_check
def save_and_load_are_equal(case: Case) -> None:
    """A loaded model has the settings and ranks bit for bit alike; nothing is pickled."""
    folder = case.folder / "saved"
    case.fitted.save(folder)
    loaded = type(case.fitted).load(folder)
    for name, value in case.fitted.get_params(deep=False).items():
        assert _same(loaded.get_params()[name], value), f"the loaded model has another {name}"
    X = case.test[0]
    before, after = case.fitted.rank(X, 5), loaded.rank(X, 5)
    assert np.array_equal(before.labels, after.labels), "labels differ after loading"
    assert np.array_equal(before.scores, after.scores), "scores differ after loading"
    suffixes = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert suffixes <= SAVED_SUFFIXES, f"saved files of a kind that is not allowed: {suffixes}"


@_check
def odd_documents_are_ranked(case: Case) -> None:
    """An empty text, one of unknown words only, and no text at all are ranked soundly."""
    texts = ["", "words nobody ever saw", "!?"]
    _sound(case.fitted.rank(case.features(texts), 3), 3, 3, N_LABELS)
    nothing = case.fitted.rank(case.test[0][:0], 3)
    assert len(nothing) == 0, "no documents must give an empty ranking"


@_check
def odd_labels_are_learned(case: Case) -> None:
    """Documents without labels, a label without documents, and a single label all work."""
    X, Y = case.train
    keep = np.ones(Y.shape[1], bool)
    keep[5] = False
    holes = csr_array(Y.multiply(keep.astype(np.float32)[None, :]))
    holes.eliminate_zeros()
    _sound(case.fit(X, holes).rank(X[:5], 3), 5, 3, N_LABELS)
    single = csr_array(Y[:, [0]])
    _sound(case.fit(X, single).rank(X[:5], 3), 5, 1, 1)


@_check
def one_document_is_enough(case: Case) -> None:
    """A training set of one document does not crash."""
    X, Y = case.train
    _sound(case.fit(X[:1], Y[:1]).rank(X[:2], 3), 2, 3, N_LABELS)


@_check
def explanations_point_at_the_text(case: Case) -> None:
    """Explain gives finite weights for features or positions that the row has, or refuses."""
    X, Y = case.test
    label = int(Y.indices[Y.indptr[3]])
    try:
        explanation = case.fitted.explain(X, 3, label)
    except InputError:
        return
    assert len(explanation.ids) == len(explanation.weights), "as many weights as ids"
    assert np.isfinite(explanation.weights).all(), "weights must be finite"
    view = X[explanation.view] if isinstance(X, Views) else X
    if isinstance(view, TokenSequences):
        allowed = np.arange(len(view.sequence(3)))
    elif isinstance(view, np.ndarray):
        allowed = np.arange(view.shape[1])
    else:
        allowed = view.indices[view.indptr[3] : view.indptr[4]]
    assert np.isin(explanation.ids, allowed).all(), "an explanation names what is not in the text"
    if case.fitted.reads_text:
        spoke = len(explanation.ids) or explanation.parts
        assert spoke, "nothing in the text spoke for a true label"


@_check
def more_documents_are_remembered_or_refused(case: Case) -> None:
    """A model that remembers finds a new label by its documents; the old model is as before."""
    X, Y, context = case.more
    fitted = case.fitted
    if not fitted.remembers:
        try:
            fitted.remember(X, Y, context=context)
        except InputError:
            return
        raise AssertionError("a model that does not remember must refuse to")
    before = fitted.rank(case.test[0], 5)
    model = fitted.remember(X, Y, context=context)
    _alike(before, fitted.rank(case.test[0], 5), "the old model has changed")
    assert fitted.n_labels_ == N_LABELS, "the old model has more labels"
    assert model.n_labels_ == N_LABELS + 1, "the new model has another number of labels"
    test, truth = case.test
    ranking = model.rank(test, 5)
    _sound(ranking, truth.shape[0], 5, N_LABELS + 1)
    reached = ndcg(ranking, truth, 5).mean()
    assert reached >= 0.9, f"nDCG@5 of the known labels is {reached:.3f}: have they other numbers?"
    like = case.features([NOISE])
    found = model.rank(like, 3)
    assert N_LABELS in found.labels[0], "the new label is not among the first three"
    again = model.remember(X, Y).rank(like, 3)  # without context, as fit
    _sound(again, 1, 3, N_LABELS + 1)
    _shown(model, like, context)
    folder = case.folder / "remembered"
    model.save(folder)
    _alike(found, type(model).load(folder).rank(like, 3), "the loaded model ranks otherwise")


def _shown(model: Classifier, X: Features, context: FitContext) -> None:
    """Check the documents that an explanation shows for a new label, if it shows any."""
    try:
        near = model.explain(X, 0, N_LABELS).neighbours
    except InputError:
        return
    similar = [each.similarity for each in near]
    assert similar == sorted(similar, reverse=True), "the most similar documents come first"
    assert all(value <= 1 + 1e-5 for value in similar), "a cosine is at most 1"
    for each in near:
        if N_LABELS in each.labels:
            assert each.text in (context.documents or ()), "a document begins otherwise"
        assert {*each.labels} <= {*range(N_LABELS + 1)}, "a document has an unknown label"


def _alike(one: Ranking, other: Ranking, message: str) -> None:
    assert np.array_equal(one.labels, other.labels), f"{message}: labels"
    assert np.array_equal(one.scores, other.scores), f"{message}: scores"


def _sound(ranking: Ranking, n: int, k: int, n_labels: int) -> None:
    labels, scores = ranking.labels, ranking.scores
    assert labels.shape == scores.shape == (n, k), f"shape {labels.shape} instead of {(n, k)}"
    assert labels.dtype == np.int32, f"labels are {labels.dtype}"
    assert scores.dtype == np.float32, f"scores are {scores.dtype}"
    assert np.isfinite(scores).all(), "scores must be finite"
    assert ((scores >= 0) & (scores <= 1)).all(), "scores must be probabilities"
    assert (np.diff(scores, axis=1) <= 0).all(), "scores must descend"
    assert ((labels >= -1) & (labels < n_labels)).all(), "labels out of range"
    padded = labels < 0
    assert (scores[padded] == 0).all(), "padding has score 0"
    assert (np.diff(padded.astype(int), axis=1) >= 0).all(), "padding comes last"
    for row in labels:
        kept = row[row >= 0]
        assert len(np.unique(kept)) == len(kept), "a label is ranked twice"


def _same(one: Any, other: Any) -> bool:
    """Compare settings or features by value; a list equals a tuple, as JSON knows only lists."""
    if isinstance(one, Views):
        return all(_same(one[name], other[name]) for name in one)
    if isinstance(one, TokenSequences):
        return np.array_equal(one.tokens, other.tokens) and np.array_equal(
            one.offsets, other.offsets
        )
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, csr_array):
        return bool(one.shape == other.shape and (one != other).nnz == 0)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
