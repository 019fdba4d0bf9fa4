import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from labelgrove import read_corpus
from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.types import Document

TEXTS = ["Wind", "Sun", "Sea"]
MATRIX = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1]])
NAMES = ["energy", "sun", "weather"]
EXPECTED = [
    Document("Wind", ("energy", "weather")),
    Document("Sun", ()),
    Document("Sea", ("sun", "weather")),
]


@pytest.mark.parametrize(
    "labels",
    [
        MATRIX,
        MATRIX.astype(bool),
        MATRIX.astype(float),
        np.asfortranarray(MATRIX.astype(np.uint8)),
        sp.csr_array(MATRIX),
        sp.csc_matrix(MATRIX.astype(bool)),
        sp.coo_array(MATRIX.astype(np.float32)),
        pd.DataFrame(MATRIX),
        pd.DataFrame(MATRIX).astype("Int64"),
        pd.DataFrame(MATRIX).astype({0: bool, 1: float}),
        pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(MATRIX)),
    ],
    ids=lambda labels: f"{type(labels).__name__}",
)
def test_a_matrix_gives_each_text_its_labels(labels):
    corpus = read_corpus((TEXTS, labels), label_names=NAMES)
    assert list(corpus) == list(corpus) == EXPECTED
    assert corpus.columns.names == tuple(NAMES)
    assert corpus.columns.dense == (not sp.issparse(labels))
    assert len(corpus) == 3


def test_what_columns_are_called_without_names():
    labels = pd.DataFrame(MATRIX, columns=NAMES)
    assert list(read_corpus((TEXTS, labels))) == EXPECTED
    plain = read_corpus((TEXTS, sp.csr_array(MATRIX)))
    assert [document.labels for document in plain] == [("0", "2"), (), ("1", "2")]
    assert read_corpus((TEXTS, MATRIX), label_names=np.array([7, 8, 9])).columns.names == (
        *("7", "8", "9"),
    )


def test_a_sparse_matrix_is_left_as_it_is():
    labels = sp.csr_array((np.array([1, 0, 1]), np.array([1, 0, 0]), np.array([0, 2, 3])))
    assert [d.labels for d in read_corpus((["a", "b"], labels))] == [("1",), ("0",)]
    assert labels.nnz == 3


def one(value):
    return np.where(np.arange(9).reshape(3, 3) == 5, value, MATRIX)


@pytest.mark.parametrize(
    ("labels", "names", "message"),
    [
        (
            one(2),
            NAMES,
            r"row 1 of the matrix has 2 for 'weather'; a label that a text has is 1 or",
        ),
        (one(0.5), NAMES, r"row 1 of the matrix has 0.5 for 'weather'"),
        (one(-1), NAMES, r"row 1 of the matrix has -1 for 'weather'"),
        (one(np.nan), NAMES, r"row 1 of the matrix has nan for 'weather'"),
        (sp.csr_array(one(3)), NAMES, r"row 1 of the matrix has 3 for 'weather'"),
        (MATRIX[:2], NAMES, "there are 3 texts, but the matrix of labels has 2 rows"),
        (MATRIX, NAMES[:2], "has 3 columns, and 2 labels are known for them: give label_names="),
        (MATRIX, ["a", "b", "a"], "two columns are called 'a'"),
        (MATRIX, ["a", "b", ""], r"label_names\[2\]: a label is empty"),
        (MATRIX, "abc", "label_names must be a list of names, got the text 'abc'"),
        (MATRIX.astype(str), NAMES, "got an array of <U21 of shape"),
        (pd.DataFrame(MATRIX).astype({1: str}), NAMES, "the column 1 holds .*, not zeros and ones"),
        (pd.DataFrame(one(pd.NA)).astype("Int64"), NAMES, "values of the column 2 are missing"),
        ([["a"], ["b"], ["c"]], NAMES, "label_names are for labels that come as a matrix"),
        (MATRIX.tolist(), None, r"labels\[0\] looks like a row of a matrix of zeros and ones"),
    ],
)
def test_what_is_no_matrix_of_labels(labels, names, message):
    with pytest.raises(InputError, match=message):
        list(read_corpus((TEXTS, labels), label_names=names))


def test_whole_numbers_are_still_labels():
    corpus = read_corpus((TEXTS, [[1, 0], [0], [1]]))
    assert [document.labels for document in corpus] == [("1", "0"), ("0",), ("1",)]


def test_a_frame_with_a_column_for_each_label():
    labels = pd.DataFrame(MATRIX.astype(bool), columns=NAMES)
    frame = pd.DataFrame({"id": ["x", "y", "z"], "text": TEXTS}).join(labels)
    corpus = read_corpus(frame)
    assert [d._replace(id=None) for d in corpus] == EXPECTED
    assert [document.id for document in corpus] == ["x", "y", "z"]
    assert corpus.columns.names == tuple(NAMES)
    chosen = read_corpus(frame.rename(columns={"text": "title"}), text="title", labels=NAMES[:2])
    assert [document.labels for document in chosen] == [("energy",), (), ("sun",)]
    texts = read_corpus(frame, labelled=False)
    assert [document.labels for document in texts] == [(), (), ()]


def test_frames_whose_columns_are_not_all_labels():
    frame = pd.DataFrame({"text": TEXTS, "energy": [1, 0, 0], "words": [10, 20, 30]})
    with pytest.raises(InputError, match="there is no field 'labels'"):
        read_corpus(frame)
    with pytest.raises(InputError, match="no column 'sun' for a label"):
        read_corpus(frame, labels=["energy", "sun"])
    with pytest.raises(InputError, match="row 0 of the matrix has 10 for 'words'"):
        read_corpus(frame, labels=["energy", "words"])
    assert [d.labels for d in read_corpus(frame, labels=["energy"])] == [("energy",), (), ()]


def test_bad_texts_are_skipped_with_their_labels():
    corpus = read_corpus((["Wind", None, "Sea"], MATRIX), label_names=NAMES, on_bad="skip")
    assert list(corpus) == [EXPECTED[0], EXPECTED[2]]
    assert corpus.skipped == 1
    with pytest.raises(BadRowError, match=r"texts\[1\]"):
        list(read_corpus((["Wind", None, "Sea"], MATRIX), label_names=NAMES))


def test_columns_of_labels_in_a_file_are_refused(tmp_path):
    with pytest.raises(InputError, match="labels in several columns are read from a data frame"):
        read_corpus(tmp_path / "train.csv", labels=["a", "b"])


def test_columns_of_one_name_are_told():
    frame = pd.DataFrame([["a", 1, 0], ["b", 0, 1]], columns=["text", "x", "x"])
    with pytest.raises(InputError, match="two columns are called 'x'"):
        read_corpus(frame)
    with pytest.raises(InputError, match="names no column"):
        read_corpus(frame, labels=[])
    frame = pd.DataFrame([["a", "u", "v"]], columns=["text", "note", "note"])
    with pytest.raises(InputError, match="no field 'labels'"):
        read_corpus(frame)
