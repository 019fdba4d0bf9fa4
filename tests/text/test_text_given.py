import numpy as np
import pytest
from sklearn.base import clone

from labelgrove.core.errors import InputError, NotFittedError
from labelgrove.text import FEATURIZERS, Given

TEXTS = ["3:0.5 0:1e-1", "", " 1:-2\t1:+.5 \n"]
DENSE = [[0.1, 0, 0, 0.5], [0, 0, 0, 0], [0, -1.5, 0, 0]]


def test_worked_example():
    given = Given()
    X = given.fit_transform(iter(TEXTS))
    np.testing.assert_allclose(X.toarray(), DENSE, rtol=1e-6)
    assert X.dtype == np.float32
    assert X.indices.tolist() == [0, 3, 1]
    np.testing.assert_allclose(given.transform(TEXTS).toarray(), DENSE, rtol=1e-6)


def test_width():
    assert Given().fit(TEXTS).n_features_ == 4
    assert Given(n_features=10).fit(TEXTS).n_features_ == 10
    with pytest.raises(InputError, match=r"text 1: index 3 is beyond n_features=3 \(indexes count"):
        Given(n_features=3).fit(TEXTS)
    with pytest.raises(
        InputError,
        match="n_features must be a whole number from 1 to 2,147,483,647, or None, got 0",
    ):
        Given(n_features=0).fit(TEXTS)


def test_features_never_seen_in_training_are_dropped():
    given = Given().fit(["0:1 2:1"])
    assert given.transform(["7:1 1:2 99999999999999999999:1"]).toarray().tolist() == [[0, 2, 0]]


@pytest.mark.parametrize(
    "pair",
    [
        "x",
        "1",
        "1:",
        ":1",
        "1:x",
        "1:2:3",
        "-1:2",
        "1:2,5",
        "1:nan",
        "1:1e99",
        "1:1e",
        "1:.",
        "٣:1",
    ],
)
def test_what_is_not_a_pair(pair):
    texts = ["0:1", f"0:1 {pair} 2:1"]
    given = Given().fit(["0:1"])
    for call in (Given().fit, Given().fit_transform, given.transform):
        with pytest.raises(InputError, match=r"^text 2: .* is not a pair of column and value") as e:
            call(texts)
        assert repr(pair) in str(e.value)
    with pytest.raises(InputError, match="is not a pair"):
        given.spans(texts[1])


def test_the_number_of_a_bad_text_counts_over_batches():
    good = "1:0.25 " * 40_000
    with pytest.raises(InputError, match=r"^text 9: 'oops'"):
        Given(threads=2).fit([good] * 8 + ["oops"])


def test_nothing_to_learn():
    with pytest.raises(InputError, match="no texts to learn from"):
        Given().fit([])
    with pytest.raises(InputError, match="the 2 texts hold no pairs"):
        Given().fit(["", " "])
    with pytest.raises(NotFittedError):
        Given().transform(["1:1"])


def test_spans():
    given = Given().fit(["0:1 2:1"])
    text = " 2:1.5  9:1 0:2"
    assert [(f, text[a:b]) for f, a, b in given.spans(text)] == [(2, "2:1.5"), (0, "0:2")]


def test_saved_loaded_cloned(tmp_path):
    given = Given(n_features=6).fit(TEXTS)
    given.save(tmp_path / "given")
    for loaded in (Given.load(tmp_path / "given"), FEATURIZERS.read(tmp_path / "given")):
        assert loaded.transform(TEXTS).shape == (3, 6)
    assert clone(given).get_params() == {"n_features": 6, "threads": None}


@pytest.mark.parametrize("fit", [Given.fit, Given.fit_transform])
def test_an_index_far_beyond_what_there_is_is_refused(fit):
    with pytest.raises(InputError, match="the greatest index is 1,999,999,999, but the 1 texts"):
        fit(Given(), ["1999999999:1"])
    assert Given(n_features=2_000_000_000).fit(["1999999999:1"]).n_features_ == 2_000_000_000
