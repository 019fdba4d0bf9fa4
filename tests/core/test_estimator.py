import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.errors import DamagedError, InputError, NotFittedError
from labelgrove.core.types import FitContext
from labelgrove.models.most_frequent import MostFrequent
from stand_ins import Centroid, Recalling

X = csr_array(np.eye(3, dtype=np.float32))
Y = csr_array([[1, 0], [1, 1], [0, 0]])


def test_most_frequent_by_hand():
    ranking = MostFrequent().fit(X, Y).rank(X[:1], 5)
    assert ranking.labels.tolist() == [[0, 1]]
    assert ranking.scores[0] == pytest.approx([2 / 3, 1 / 3])


def test_score_is_ndcg_at_5_by_hand():
    # frequency order is label 0, then label 1
    # document 0 has {0}: 1; document 1 has both: 1; document 2 has none: 0
    assert MostFrequent().fit(X, Y).score(X, Y) == pytest.approx(2 / 3)


def test_y_is_made_binary():
    doubled = csr_array([[2, 0], [5, 1], [0, 0]])
    assert MostFrequent().fit(X, doubled).shares_ == pytest.approx([2 / 3, 1 / 3])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.eye(3), "sparse"),
        (csr_array(np.eye(2)), "X has 3 rows, Y has 2"),
        (csr_array((3, 0)), "nothing to learn"),
    ],
)
def test_wrong_labels_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        MostFrequent().fit(X, labels)


def test_an_unfitted_part_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError, match="has not learned yet"):
        MostFrequent().save(tmp_path / "m")


def test_a_part_reads_only_its_own_kind(tmp_path):
    MostFrequent().fit(X, Y).save(tmp_path / "m")
    with pytest.raises(InputError, match="does not hold a 'centroid'"):
        Centroid.load(tmp_path / "m")


def test_settings_a_class_lacks_are_told(tmp_path):
    class Older(Centroid):
        def __init__(self, *, seed=0, threads=None):
            self.seed = seed
            self.threads = threads

    Centroid().fit(X, Y).save(tmp_path / "m")
    with pytest.raises(DamagedError, match="settings that 'centroid' lacks"):
        Older.load(tmp_path / "m")


class KeepsItsStateElsewhere(Centroid):
    kept = None

    def state(self):
        return {} if self.kept is None else {"kept": self.kept}

    def set_state(self, state):
        self.kept = state["kept"]


def test_learned_is_what_has_learned_attributes_or_a_state_of_its_own():
    for model in (Centroid(), KeepsItsStateElsewhere()):
        model.__dict__.update(_hidden_=1, plain=2)
        with pytest.raises(NotFittedError, match="call fit first"):
            model.check_fitted()
    Centroid().fit(X, Y).check_fitted()
    model.set_state({"kept": 1})
    model.check_fitted()


def test_what_can_be_remembered():
    model = Recalling().fit(X, Y)
    wide = csr_array([[0, 0, 1], [0, 1, 0], [1, 0, 0]])
    assert model.remember(X, wide).n_labels_ == 3
    assert model.n_labels_ == 2
    with pytest.raises(InputError, match="Y has 1 columns, but 2 labels are known"):
        model.remember(X, Y[:, [0]])
    with pytest.raises(NotFittedError, match="call fit first"):
        Recalling().remember(X, Y)
    with pytest.raises(InputError, match=r"most-frequent keeps no documents, .* use knn"):
        MostFrequent().fit(X, Y).remember(X, Y)


def test_texts_that_begin_belong_to_the_rows():
    context = FitContext(documents=["one", "two"])
    with pytest.raises(InputError, match="X has 3 rows, the context tells how 2 texts begin"):
        Recalling().fit(X, Y, context=context)
    model = Recalling().fit(X, Y)
    with pytest.raises(InputError, match="how 2 texts begin"):
        model.remember(X, Y, context=context)
    assert model.remember(X[:2], Y[:2], context=context).documents_[-2:] == ["one", "two"]
