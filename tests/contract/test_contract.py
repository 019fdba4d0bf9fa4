"""Every registered model passes every check, and every check fails for a model that breaks it."""

from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from contract_cases import FEW, Few, settings_of_the_tests
from labelgrove import models
from labelgrove.core.errors import DamagedError, InputError
from labelgrove.core.features import TokenSequences
from labelgrove.core.ranges import Real, Whole
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Explanation
from labelgrove.models.contract import CHECKS, Case
from stand_ins import Centroid, Demanding, Recalling


def registered(name):
    settings = cache(models.MODELS.find(name).example_settings)  # some save an encoder
    own = settings_of_the_tests(name)
    return lambda folder: models.create(name, **deepcopy(settings(folder)), **own)


@pytest.fixture(scope="module", params=models.names())
def cases(request, tmp_path_factory):
    """Two for all checks of a model, which is then fitted once."""
    make = registered(request.param)
    return {kind: kind(make, tmp_path_factory.mktemp(request.param)) for kind in (Case, Few)}


@pytest.mark.parametrize("check", CHECKS)
def test_every_model_keeps_the_contract(cases, check):
    CHECKS[check](cases[Few if check in FEW else Case])


def test_few_documents_have_every_label(tmp_path):
    _, Y = Few(lambda folder: Centroid(), tmp_path).train
    assert Y.shape == (90, 12)
    assert Y.sum(axis=0).min() >= 1


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("model", [Centroid, Demanding, Recalling])
def test_stand_ins_keep_the_contract(model, check, tmp_path):
    CHECKS[check](Case(lambda folder: model(), tmp_path))


class NoSeed(Centroid):
    def __init__(self, power=1.0):
        super().__init__(power)


class ChangesSettings(Centroid):
    def __init__(self, power=1.0, *, seed=0, threads=None):
        super().__init__(2 * power, seed=seed, threads=threads)

    @classmethod
    def example_settings(cls, folder):
        return {"power": 1.0}


class GoesOnElsewhere(Centroid):
    """Takes what was interrupted for finished."""

    def _fit(self, X, Y, context):
        with context.run.progress.task("learning", 20) as shown:
            for _ in range(20):
                shown.advance()
        if context.run.resume:
            Y = Y[:, ::-1]
        super()._fit(X, Y, context)


class SearchesNoSetting(Centroid):
    @classmethod
    def ranges(cls):
        return {"force": Real(0.5, 2.0)}


class SearchesBeyondTheDefault(Centroid):
    @classmethod
    def ranges(cls):
        return {"power": Real(2.0, 4.0)}


class SearchesWhatIsRefused(Centroid):
    @classmethod
    def ranges(cls):
        return {"seed": Whole(-1, 5)}


class RanksUnfitted(Centroid):
    def check_fitted(self):
        pass

    def rank(self, X, k=10):
        return Ranking.empty(X.shape[0], k)


class ReturnsNothing(Centroid):
    def fit(self, X, Y, *, context=None):
        super().fit(X, Y, context=context)


class ChangesItsSettings(Centroid):
    def _fit(self, X, Y, context):
        super()._fit(X, Y, context)
        self.power = 3.0


class ChangesX(Centroid):
    def _fit(self, X, Y, context):
        X.data[:] = 1
        super()._fit(X, Y, context)


class ChangesY(Centroid):
    def fit(self, X, Y, *, context=None):
        super().fit(X, Y, context=context)
        Y.data[:] = 0
        return self


class LearnsNothing(Centroid):
    def _rank(self, X, k):
        return Ranking.from_dense(np.tile(np.linspace(0, 1, self.n_labels_), (X.shape[0], 1)), k)


class ScoresAboveOne(Centroid):
    def _rank(self, X, k):
        ranking = super()._rank(X, k)
        return Ranking(ranking.labels, ranking.scores * 3)


class NotSorted(Centroid):
    def _rank(self, X, k):
        ranking = super()._rank(X, k)
        return Ranking(ranking.labels[:, ::-1], ranking.scores[:, ::-1])


class NotFinite(Centroid):
    def _rank(self, X, k):
        ranking = super()._rank(X, k)
        return Ranking(ranking.labels, np.full_like(ranking.scores, np.nan))


class RanksTwice(Centroid):
    def _rank(self, X, k):
        ranking = super()._rank(X, k)
        return Ranking(np.repeat(ranking.labels[:, :1], k, axis=1), ranking.scores)


class PaddedWrong(Centroid):
    def _rank(self, X, k):
        ranking = super()._rank(X, k)
        labels = ranking.labels.copy()
        labels[:, 0] = -1
        return Ranking(labels, ranking.scores)


class UnknownLabels(Centroid):
    def _rank(self, X, k):
        ranking = super()._rank(X, k)
        return Ranking(ranking.labels + 1, ranking.scores)


class TooNarrow(Centroid):
    def _rank(self, X, k):
        return super()._rank(X, k).top(max(1, k - 1))


class WidensToK(Centroid):
    def rank(self, X, k=10):
        return super().rank(X, k).pad(k)


class TakesKZero(Centroid):
    def rank(self, X, k=10):
        return super().rank(X, max(k, 1))


class BestDependsOnK(Centroid):
    def _rank(self, X, k):
        ranking = super()._rank(X, k)
        return Ranking((ranking.labels + (k == 1)) % self.n_labels_, ranking.scores)


class ScoresDependOnK(Centroid):
    def _rank(self, X, k):
        ranking = super()._rank(X, k)
        return Ranking(ranking.labels, ranking.scores / k)


class LooksAtTheOthers(Centroid):
    def _rank(self, X, k):
        ranking = super()._rank(X, k)
        return Ranking(ranking.labels, ranking.scores * (1 - 1 / (1 + X.shape[0])))


class NotSeeded(Centroid):
    calls = 0

    def _fit(self, X, Y, context):
        super()._fit(X, Y, context)
        type(self).calls += 1
        self.weights_ = self.weights_ * np.float32(1 - 0.01 * self.calls)


class ForgetsState(Centroid):
    def state(self):
        return {name: value for name, value in super().state().items() if name != "weights_"}

    def set_state(self, state):
        super().set_state(state)
        self.weights_ = Centroid().fit(np.eye(1), np.eye(1)).weights_


class SavesLess(Centroid):
    def state(self):
        state = super().state()
        if "weights_" in state:
            state["weights_"] = state["weights_"].astype(np.float16).astype(np.float32)
        return state


class ForgetsSettings(Centroid):
    @classmethod
    def read(cls, folder):
        part = super().read(folder)
        part.seed = 99
        return part


class Pickles(Centroid):
    def write(self, folder):
        super().write(folder)
        (folder / "weights.pkl").write_bytes(b"")


class FailsOnEmptyText(Centroid):
    def _rank(self, X, k):
        if (np.diff(X.indptr) == 0).any():
            raise ValueError("empty row")
        return super()._rank(X, k)


class FailsOnNoText(Centroid):
    def _rank(self, X, k):
        return super()._rank(X[: max(X.shape[0], 1)] if X.shape[0] else X[[0]], k)


class FailsOnBareLabel(Centroid):
    def _fit(self, X, Y, context):
        if (np.bincount(Y.indices, minlength=Y.shape[1]) == 0).any():
            raise ValueError("a label without documents")
        super()._fit(X, Y, context)


class FailsOnOneLabel(Centroid):
    def _fit(self, X, Y, context):
        if Y.shape[1] == 1:
            raise ValueError("one label")
        super()._fit(X, Y, context)


class FailsOnOneDocument(Centroid):
    def _fit(self, X, Y, context):
        if Y.shape[0] == 1:
            raise ValueError("one document")
        super()._fit(X, Y, context)


class ExplainsOtherWords(Centroid):
    def _explain(self, X, i, label):
        return Explanation(np.arange(X.shape[1]), np.ones(X.shape[1]))


class ExplainsNothing(Centroid):
    def _explain(self, X, i, label):
        return Explanation(np.empty(0, int), np.empty(0))


class ExplainsUnevenly(Centroid):
    def _explain(self, X, i, label):
        explanation = super()._explain(X, i, label)
        return Explanation(explanation.ids, explanation.weights[:-1])


class ExplainsWithNan(Centroid):
    def _explain(self, X, i, label):
        explanation = super()._explain(X, i, label)
        return Explanation(explanation.ids, explanation.weights * np.nan)


class ExplainsBeyondTheText(Demanding):
    def _explain(self, X, i, label):
        assert isinstance(X["words"], TokenSequences)
        return Explanation(np.arange(1000), np.ones(1000), "words")


class PretendsToRemember(Centroid):
    def remember(self, X, Y, *, context=None):
        return self


class ChangesWhenItRemembers(Recalling):
    def _remember(self, X, Y, context):
        found = super()._remember(X, Y, context)
        self.X_ = self.X_ * np.float32(0.5)
        return found


class ReturnsItself(Recalling):
    def _remember(self, X, Y, context):
        vars(self).update(vars(super()._remember(X, Y, context)))
        return self


class IgnoresNewLabels(Recalling):
    def _remember(self, X, Y, context):
        found = super()._remember(X, Y, context)
        found.Y_ = self.Y_[:, :12].copy()
        found.Y_.resize(found.X_.shape[0], Y.shape[1])
        return found


class MovesKnownLabels(Recalling):
    def _remember(self, X, Y, context):
        found = super()._remember(X, Y, context)
        found.Y_ = found.Y_[:, [*range(11, -1, -1), 12]]
        return found


class NeedsContextToRemember(Recalling):
    def _remember(self, X, Y, context):
        if context.labels is None:
            raise ValueError("no labels")
        return super()._remember(X, Y, context)


class MixesUpItsTexts(Recalling):
    def _remember(self, X, Y, context):
        found = super()._remember(X, Y, context)
        found.documents_ = found.documents_[::-1]
        return found


class ShowsTheLeastSimilarFirst(Recalling):
    def _explain(self, X, i, label):
        told = super()._explain(X, i, label)
        return replace(told, neighbours=told.neighbours[::-1])


class SavesNoNewDocuments(Recalling):
    def state(self):
        state = super().state()
        if "X_" in state:
            state["X_"], state["Y_"] = state["X_"][:400], state["Y_"][:400]
        return state


BROKEN = {
    "settings_are_kept": [NoSeed, ChangesSettings],
    "ranges_are_searchable": [
        SearchesNoSetting,
        SearchesBeyondTheDefault,
        SearchesWhatIsRefused,
    ],
    "clone_is_unfitted": [RanksUnfitted],
    "fit_returns_self_and_keeps_its_input": [
        ReturnsNothing,
        ChangesItsSettings,
        ChangesX,
        ChangesY,
    ],
    "learns_a_known_answer": [LearnsNothing],
    "ranking_is_sound": [
        ScoresAboveOne,
        NotSorted,
        NotFinite,
        RanksTwice,
        PaddedWrong,
        UnknownLabels,
        TooNarrow,
    ],
    "k_may_exceed_the_labels": [WidensToK, TakesKZero],
    "smaller_k_is_the_head_of_larger": [BestDependsOnK, ScoresDependOnK],
    "rows_do_not_influence_each_other": [LooksAtTheOthers],
    "same_seed_same_model": [NotSeeded],
    "interrupted_training_goes_on": [GoesOnElsewhere],
    "save_and_load_are_equal": [ForgetsState, SavesLess, ForgetsSettings, Pickles],
    "odd_documents_are_ranked": [FailsOnEmptyText, FailsOnNoText],
    "odd_labels_are_learned": [FailsOnBareLabel, FailsOnOneLabel],
    "one_document_is_enough": [FailsOnOneDocument],
    "explanations_point_at_the_text": [
        ExplainsOtherWords,
        ExplainsNothing,
        ExplainsUnevenly,
        ExplainsWithNan,
        ExplainsBeyondTheText,
    ],
    "more_documents_are_remembered_or_refused": [
        PretendsToRemember,
        ChangesWhenItRemembers,
        ReturnsItself,
        IgnoresNewLabels,
        MovesKnownLabels,
        NeedsContextToRemember,
        MixesUpItsTexts,
        ShowsTheLeastSimilarFirst,
        SavesNoNewDocuments,
    ],
}


def test_every_check_has_a_model_that_breaks_it():
    assert BROKEN.keys() == CHECKS.keys()


@pytest.mark.parametrize(
    ("check", "model"), [(check, model) for check, found in BROKEN.items() for model in found]
)
def test_a_broken_model_fails_its_check(check, model, tmp_path):
    with pytest.raises((AssertionError, ValueError, AttributeError, IndexError, DamagedError)):
        CHECKS[check](Case(lambda folder: model(), tmp_path))


def test_a_model_may_refuse_to_explain(tmp_path):
    class Mute(Centroid):
        def _explain(self, X, i, label):
            raise InputError("cannot")

    CHECKS["explanations_point_at_the_text"](Case(lambda folder: Mute(), tmp_path))
