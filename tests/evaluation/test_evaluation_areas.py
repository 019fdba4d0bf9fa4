"""Areas under curves against scikit-learn, whatever part of the labels a ranking names."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score, roc_auc_score

from labelgrove.core.ranking import Ranking
from labelgrove.evaluation import areas, areas_by_frequency


def made(n=60, n_labels=9, k=4, seed=0):
    """Rounded scores, so that some are equal; label 8 has no document, label 7 has all."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, n_labels)) < 0.3
    truth[:, 8], truth[:, 7] = False, True
    scores = np.round(np.clip(rng.random((n, n_labels)) * 0.6 + 0.4 * truth, 0.01, 1), 1)
    return csr_array(truth.astype(np.float32)), scores, Ranking.from_dense(scores, k)


@pytest.mark.parametrize("k", [1, 4, 9])
def test_areas(k):
    Y, scores, ranking = made(k=k)
    dense = ranking.to_csr(9).toarray()
    found = areas(Y, ranking)
    for label in range(7):
        true = Y.toarray()[:, label]
        assert found.auc[label] == pytest.approx(roc_auc_score(true, dense[:, label]))
        assert found.aupr[label] == pytest.approx(average_precision_score(true, dense[:, label]))
    assert np.isnan(found.auc[7:]).all()
    assert np.isnan(found.aupr[7:]).all()
    if k == 9:
        assert found.auc[0] == pytest.approx(roc_auc_score(Y.toarray()[:, 0], scores[:, 0]))


def test_groups_of_frequency():
    Y, _, ranking = made(n_labels=9)
    counts = [50, 30, 20, 20, 10, 10, 4]  # labels 7 and 8 have no training document
    groups = areas_by_frequency(Y, ranking, counts, n_groups=2, least=1)
    found = areas(Y, ranking)
    assert [group["labels"] for group in groups] == [2, 5]
    assert [group["occurrences"] for group in groups] == [80, 64]
    assert groups[1]["AUC"] == pytest.approx(found.auc[2:7].mean())
    assert groups[0]["AUPR"] == pytest.approx(found.aupr[:2].mean())
    (few,) = areas_by_frequency(Y, ranking, counts, n_groups=1, least=61)
    assert few["labels"] == 0
    assert np.isnan(few["AUC"])
