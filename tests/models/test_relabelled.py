"""A model whose labels were translated ranks, explains and remembers under the new ones."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove.core.errors import DamagedError
from labelgrove.core.storage import write_values
from labelgrove.labels.hierarchy import IntLists
from labelgrove.models.most_frequent import MostFrequent
from labelgrove.models.relabelled import TRANSLATION, Relabelled, read_model, relabelled
from stand_ins import Recalling

N = 200
X = csr_array(np.ones((3, 1), np.float32))


@pytest.fixture(scope="module")
def model():
    # label i has N - i of N documents
    Y = csr_array(np.tri(N, dtype=np.float32))
    return MostFrequent().fit(csr_array(np.ones((N, 1), np.float32)), Y)


def test_gone_merged_and_split_labels(model):
    # 0 is gone, 1 and 3 are one label, 2 has become two
    targets = IntLists.of([(), (0,), (1, 2), (0,), *((i - 1,) for i in range(4, N))])
    ranking = relabelled(model, targets, N - 1).rank(X, 4)
    old = model.rank(X, 5).scores
    assert ranking.labels[0].tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(ranking.scores[:, :3], old[:, [1, 2, 2]])
    np.testing.assert_array_equal(ranking.scores[:, 3], old[:, 4])


def test_rankings_are_as_long_as_asked_for_whatever_is_gone(model):
    # only the three least frequent labels are left, and one label takes up half of the others
    targets = IntLists.of([() if i % 2 else (3,) for i in range(N - 3)] + [(0,), (1,), (2,)])
    ranking = relabelled(model, targets, 4).rank(X, 4)
    assert ranking.labels.tolist() == [[3, 0, 1, 2]] * 3
    assert relabelled(model, targets, 4).rank(X, 99).k == 4  # no more than there are


def test_labels_that_stay_need_no_translation(model):
    same = IntLists.of([(i,) for i in range(N)])
    assert relabelled(model, same, N) is model
    turned = IntLists.of([(N - 1 - i,) for i in range(N)])
    there = relabelled(model, turned, N)
    assert there.rank(X, 1).labels[0, 0] == N - 1
    assert relabelled(there, turned, N) is model  # translated in one step, not in two


def test_it_stands_in_for_its_model(model):
    found = Relabelled(model, IntLists.of([(0,)] * N), 1)
    assert (found.name, found.get_params()) == (model.name, model.get_params())
    assert type(found.fresh()) is MostFrequent
    asking = SimpleNamespace(
        most_held_out=3, sends_to=lambda: ["http://x"], take_notes=lambda: ["asked"], name="asking"
    )
    there = Relabelled(asking, IntLists.of([(0,)]), 1)
    assert (there.most_held_out, there.sends_to(), there.take_notes()) == (
        3,
        ["http://x"],
        ["asked"],
    )
    found.set_params(threads=2)
    assert model.threads == 2


def test_a_split_label_learns_each_part_for_itself():
    X = csr_array(np.array([[1.0, 0, 0], [0, 1.0, 0]], np.float32))
    knn = Recalling().fit(X, csr_array(np.eye(2, dtype=np.float32)))
    found = Relabelled(knn, IntLists.of([(0, 1), (2,)]), 3)
    assert set(found.rank(X[:1], 2).labels[0].tolist()) == {0, 1}
    more = csr_array(np.array([[0, 0, 1.0]], np.float32))
    wiser = found.remember(more, csr_array(np.array([[0, 1, 0, 1]], np.float32)))
    ranked = dict(wiser.rank(more, 4).row(0))
    assert ranked[1] == ranked[3] > ranked.get(0, 0.0)  # the other part has not learned it
    assert wiser.model_.n_labels_ == 4  # two of before, a part, and a new label
    told = wiser.explain(more, 0, 1)
    assert told.neighbours[0].labels == (1, 3)
    merged = Relabelled(knn, IntLists.of([(0,), (0,)]), 1)
    once = merged.remember(more, csr_array(np.ones((1, 1), np.float32)))
    assert once.model_.n_labels_ == 2


def test_a_translation_that_does_not_fit_is_refused(model, tmp_path):
    Relabelled(model, IntLists.of([(0,)] * N), 1).write(tmp_path)
    found = read_model(tmp_path)
    assert type(found) is Relabelled
    assert found.rank(X, 1).labels[0, 0] == 0
    good = {"offsets": np.arange(N + 1), "targets": np.zeros(N, np.int32), "n_labels": 1}
    for bad in ({"offsets": np.arange(N)}, {"targets": np.ones(N, np.int32)}, {"n_labels": 2}):
        shutil.rmtree(tmp_path / TRANSLATION)
        write_values(tmp_path / TRANSLATION, good | bad)
        with pytest.raises(DamagedError):
            read_model(tmp_path)
    shutil.rmtree(tmp_path / TRANSLATION)
    assert type(read_model(tmp_path)) is MostFrequent
