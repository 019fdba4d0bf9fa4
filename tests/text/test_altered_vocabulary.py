"""An altered vocabulary is refused: looking for a word would never end, or leave its table."""

import numpy as np
import pytest

from labelgrove.core.errors import DamagedError
from labelgrove.text import Tfidf, Words

TEXTS = ["the sun shines", "the wind and the sun"]


@pytest.mark.parametrize("part", [Tfidf, Words])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("slots_", lambda slots: np.zeros_like(slots)),  # no empty slot: the search never ends
        ("slots_", lambda slots: slots[:-1]),
        ("slots_", lambda slots: np.where(slots < 0, slots, 10**6).astype(np.int32)),
        ("slots_", lambda slots: slots.astype(np.int64)),
        ("keys_", lambda keys: keys[:-1]),
        ("keys_", lambda keys: keys.astype(np.float64)),
        ("term_ends_", lambda ends: ends[::-1].copy()),
        ("term_text_", lambda text: text[:-3]),
    ],
)
def test_an_altered_table_of_terms_is_refused(tmp_path, part, name, change):
    part().fit(TEXTS).save(tmp_path / "part")
    path = tmp_path / "part" / f"{name}.npy"
    np.save(path, change(np.load(path)))
    with pytest.raises(DamagedError, match="save the model again"):
        part.read(tmp_path / "part")


def test_weights_that_are_not_one_for_each_term_are_refused(tmp_path):
    Tfidf().fit(TEXTS).save(tmp_path / "part")
    np.save(tmp_path / "part" / "idf_.npy", np.ones(3, np.float32))
    with pytest.raises(DamagedError, match=r"idf_ is float32 of shape \(3,\)"):
        Tfidf.read(tmp_path / "part")
