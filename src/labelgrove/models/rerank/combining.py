"""How likely candidates are, after a language model has chosen some of them.

The log odds of a label are those of the first stage, moved by what it says that the language model
chose the label or not. How far is learned from held-out documents, so that a language model that
chooses badly is not believed; without such documents it is as if it named three of five true
labels, and one of fifty wrong ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.core.ranking import Ranking
from labelgrove.models.logistic import log_odds, logistic, sigmoid
from labelgrove.models.rerank.prompts import ChosenLabels

Floats = NDArray[np.float64]
Combine = Literal["weigh", "chosen-first"]
# of a constant, the first stage's log odds, being chosen, and 1 / place in the answer
UNLEARNED = np.array([np.log(0.4 / 0.98), 1.0, np.log(0.6 / 0.02) - np.log(0.4 / 0.98), 0.0])
UNLEARNED_ALONE = np.array([0.0, 1.0])  # of a constant and the log odds
LEAST_SLOPE = 0.01  # labels that are more likely for the first stage stay so


@dataclass(frozen=True, eq=False)
class Judgement:
    """Weights by which both stages make a probability.

    Parameters
    ----------
    both
        Of texts with an answer, shape (4,).
    alone
        Of texts without one, shape (2,).
    """

    both: Floats
    alone: Floats

    @classmethod
    def unlearned(cls) -> Judgement:
        """Return weights for where there are no documents to learn them from."""
        return cls(UNLEARNED.copy(), UNLEARNED_ALONE.copy())

    @classmethod
    def learned(
        cls, named: Ranking, answers: Sequence[ChosenLabels | None], Y: csr_array
    ) -> Judgement:
        """Return weights learned from documents that the first stage has not learned from.

        Parameters
        ----------
        named
            Candidates of n documents.
        answers
            What was chosen for each.
        Y
            True labels, shape (n, at least L).
        """
        true, there = named.hits(Y).astype(np.float64), named.labels >= 0
        table = _table(named, answers)
        answered = there & np.array([answer is not None for answer in answers])[:, None]
        both, alone = UNLEARNED.copy(), UNLEARNED_ALONE.copy()
        if answered.any():
            both = logistic(table[answered], true[answered], UNLEARNED)
        if there.any():
            alone = logistic(table[there][:, :2], true[there], UNLEARNED_ALONE)
        both[1], alone[1] = max(both[1], LEAST_SLOPE), max(alone[1], LEAST_SLOPE)
        return cls(both, alone)

    def scores_alone(self, ranking: Ranking) -> Ranking:
        """Return a ranking of the first stage, in its order, with probabilities."""
        odds = log_odds(ranking.scores).astype(np.float64)
        chances = sigmoid(self.alone[0] + self.alone[1] * odds)
        return ranking.with_scores(np.where(ranking.labels >= 0, chances, 0.0).astype(np.float32))

    def ranked(
        self, named: Ranking, answers: Sequence[ChosenLabels | None], how: Combine
    ) -> Ranking:
        """Return the candidates of n texts with their probabilities, best first.

        Parameters
        ----------
        named
            The candidates, in the order of the first stage.
        answers
            What was chosen for each text; None for no answer: the order stays.
        how
            ``weigh`` orders by probability; ``chosen-first`` puts chosen ones in front, in the
            order of the answer, and gives the greatest probabilities to the first.
        """
        table = _table(named, answers)
        chances = np.where(named.labels >= 0, sigmoid(table @ self.both), 0.0)
        silent = np.array([answer is None for answer in answers], bool)
        chances[silent] = self.scores_alone(named).scores[silent]
        order = np.argsort(-chances, axis=1, kind="stable")
        scores = np.take_along_axis(chances, order, axis=1)
        if how == "chosen-first":
            # 1 for what was not chosen, then nothing; least for the first of the answer
            keys = np.where(named.labels >= 0, 1.0 - table[:, :, 3], 2.0)
            order = np.argsort(keys, axis=1, kind="stable")
        labels = np.take_along_axis(named.labels, order, axis=1)
        return Ranking(labels, scores.astype(np.float32))


def _table(named: Ranking, answers: Sequence[ChosenLabels | None]) -> Floats:
    """Return what is known of each candidate, shape (n, C, 4)."""
    table = np.zeros((*named.labels.shape, 4))
    table[:, :, 0] = 1.0
    table[:, :, 1] = log_odds(named.scores)
    for row, answer in enumerate(answers):
        if answer is not None and answer.places:
            places = list(answer.places)
            table[row, places, 2] = 1.0
            table[row, places, 3] = 1.0 / np.arange(1, len(places) + 1)
    return table
