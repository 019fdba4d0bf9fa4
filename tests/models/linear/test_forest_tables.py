"""Altered arrays of a forest are refused: a kernel would read and write beyond them."""

import numpy as np
import pytest

from labelgrove import models
from labelgrove.core.errors import DamagedError
from labelgrove.labels import LabelSpace
from labelgrove.models.contract import known_answer
from labelgrove.text import Tfidf


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    texts, labels = known_answer(150)
    space = LabelSpace.from_labels(labels)
    model = models.create("bonsai", branching=3, max_leaf=3, trees=2, threads=1)
    model.fit(Tfidf().fit_transform(texts), space.encode(labels))
    folder = tmp_path_factory.mktemp("forest") / "m"
    model.save(folder)
    return folder


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


CHANGES = [
    ("child_ptr", put(1, 10**9)),
    ("child_ptr", put(0, -1)),
    ("child", put(0, 10**6)),
    ("child", put(-1, -5)),
    ("child", put(0, 2)),  # a node twice, another never
    ("bias", lambda array: array[:-1]),
    ("bias", put(0, np.nan)),
    ("chunk_ptr", put(-1, 10**6)),
    ("chunk_child", put(0, 200)),
    ("chunk_rows", put(1, 10**12)),
    ("chunk_entries", put(1, -(10**12))),
    ("chunk_scale", put(0, np.inf)),
    ("row_feature", put(0, 2**31 - 1)),
    ("row_ptr", put(1, 2**32 - 1)),
    ("row_ptr", put(0, 3)),
    ("entry_label", put(0, 255)),
    ("entry_value", lambda array: array.astype(np.int32)),
    ("depths", put(0, 2**31 - 1)),
    ("depths", put(0, 0)),
    ("roots", put(0, 10**6)),
    ("roots", lambda array: array[:0]),
]


@pytest.mark.parametrize(
    ("name", "change"), CHANGES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(CHANGES)]
)
def test_an_altered_array_is_refused(saved, tmp_path, name, change):
    for path in saved.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    array = np.load(tmp_path / f"{name}.npy")
    np.save(tmp_path / f"{name}.npy", change(array))
    part = models.MODELS.find("bonsai")
    with pytest.raises(DamagedError, match="save the model again"):
        part.read(tmp_path)


def test_what_is_as_it_was_saved_is_read(saved):
    model = models.MODELS.find("bonsai").load(saved)
    assert len(model.forest_.roots) == 2
    assert model.forest_.depths.max() > 1
