import gzip
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, save_npz

from labelgrove.core.errors import InputError
from labelgrove.corpus import Document, read_corpus


def complaint(path: Path, **options) -> str:
    with pytest.raises(InputError) as raised:
        list(read_corpus(path, **options))
    assert "\n" not in str(raised.value)
    return str(raised.value).replace(str(path), "FILE")


def test_features(tmp_path):
    path = tmp_path / "train.txt"
    content = "5 100 9\n0,8,0 4:0.5 99:1e-3\n 3:2 7:-.5\r\n1\n3:1\n\n\n"
    path.write_text(content, newline="")
    corpus = read_corpus(path)
    assert corpus.featurizer == "given"
    expected = [
        Document("4:0.5 99:1e-3", ("0", "8")),
        Document("3:2 7:-.5"),
        Document("", ("1",)),
        Document("3:1"),
        Document(""),
    ]
    assert list(corpus) == list(corpus) == expected
    packed = tmp_path / "data.svm.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    assert list(read_corpus(packed)) == expected
    assert corpus.where(lambda document: True).featurizer == "given"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("9 3:1", "label 9 is not below the 9 labels"),
        ("1,x 3:1", 'labels must be numbers separated by commas, got "1,x"'),
        ("1 100:1", "feature 100 is not below the 100 of the header"),
        ("1 3:1 5", 'features must be number:value, got "5"'),
        ("1 3:1:2 5:1", 'features must be number:value, got "3:1:2"'),
        ("1 3:-", 'features must be number:value, got "3:-"'),
        ("1 ٣:1", 'features must be number:value, got "٣:1"'),
        ("1 3:nan", 'features must be number:value, got "3:nan"'),
    ],
)
def test_bad_features(tmp_path, line, expected):
    path = tmp_path / "train.txt"
    path.write_text(f"2 100 9\n{line}\n0 1:1\n")
    message = complaint(path)
    assert message.startswith("FILE, line 2: ")
    assert expected in message
    corpus = read_corpus(path, on_bad="skip")
    assert list(corpus) == [Document("1:1", ("0",))]
    assert corpus.skipped == 1


def test_header_of_features(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("3 100 9\n0 1:1\n")
    assert complaint(path).startswith("FILE, line 2: the file has 1 documents, but its header says")
    path.write_text("1 100 9\n0 1:1\n0 1:1\n")
    assert "has 2 documents, but its header says 1" in complaint(path)
    path.write_text("1 100\n0 1:1\n")
    assert complaint(path, format="svmlight").startswith("FILE, line 1: the first line must hold")
    path.write_text("")
    assert "is empty" in complaint(path, format="svmlight")


Y = csr_array([[0, 1, 1], [0, 0, 0], [1, 0, 0]])


@pytest.mark.parametrize(
    ("texts", "matrix"),
    [
        ("X.trn.txt", "Y.trn.npz"),
        ("trn.raw.txt", "Y.trn.npz"),
        ("train_raw_texts.txt", "Y.trn.npz"),
        ("train.raw.txt.gz", "trn_Y.npz"),
        ("docs.txt", "Y.npz"),
    ],
)
def test_raw_texts(tmp_path, texts, matrix):
    content = b"Wind blows\r\n\nSun\n"
    path = tmp_path / texts
    path.write_bytes(gzip.compress(content) if texts.endswith(".gz") else content)
    save_npz(tmp_path / matrix, Y)
    if matrix != "Y.npz":
        save_npz(tmp_path / "Y.tst.npz", Y[:1])
    save_npz(tmp_path / "X.trn.npz", Y[:1])
    corpus = read_corpus(path)
    expected = [Document("Wind blows", ("1", "2")), Document(""), Document("Sun", ("0",))]
    assert list(corpus) == list(corpus) == expected


def test_zeros_and_duplicates_in_the_matrix(tmp_path):
    (tmp_path / "trn.txt").write_text("Wind\n")
    ones = coo_array((np.array([1, 1, 0]), (np.zeros(3, int), np.array([2, 2, 1]))), shape=(1, 3))
    save_npz(tmp_path / "Y.trn.npz", ones)
    assert list(read_corpus(tmp_path / "trn.txt")) == [Document("Wind", ("2",))]


def test_named_matrix_and_none(tmp_path):
    path = tmp_path / "docs.txt"
    path.write_bytes(b"Wind\n\xff\nSun\n")
    assert "there is no Y.npz or labels.txt beside it" in complaint(path)
    save_npz(tmp_path / "labels.npz", Y)
    corpus = read_corpus(path, matrix=tmp_path / "labels.npz", on_bad="skip")
    # rows stay aligned with the lines that are left
    assert list(corpus) == [Document("Wind", ("1", "2")), Document("Sun", ("0",))]
    assert corpus.skipped == 1
    unlabelled = read_corpus(path, labelled=False, on_bad="skip")
    assert list(unlabelled) == [Document("Wind"), Document("Sun")]


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        ("train_raw_texts.txt", "train_labels.txt"),
        ("test_texts.txt", "test_labels.txt"),
        ("valid.raw.txt", "dev-labels.txt"),
        ("texts.txt", "labels.txt"),
    ],
)
def test_lines_of_labels(tmp_path, texts, labels):
    """As the data of AttentionXML are distributed: texts and labels in two files, line by line."""
    (tmp_path / texts).write_text("Solar panels\n\nLoans\n")
    (tmp_path / labels).write_text("energy 12\n\n12 12 finance\n")
    if texts != "texts.txt":
        (tmp_path / "other_labels.txt").write_text("no part of the data in its name\n")
    found = [(each.text, each.labels) for each in read_corpus(tmp_path / texts)]
    assert found == [("Solar panels", ("energy", "12")), ("", ()), ("Loans", ("12", "finance"))]
    (tmp_path / labels).write_text("energy 12\n\n")
    assert "the file has more lines than" in complaint(tmp_path / texts)
    (tmp_path / labels).write_bytes(b"energy\n\xff\n12\n")
    assert f"{tmp_path / labels}, line 2" in complaint(tmp_path / texts)


def test_wrong_matrix(tmp_path):
    path = tmp_path / "trn.txt"
    path.write_text("a\nb\n")
    save_npz(tmp_path / "Y.trn.npz", Y)
    assert "the file has fewer lines than" in complaint(path)
    save_npz(tmp_path / "Y.trn.npz", Y[:1])
    assert "FILE, line 2: the file has more lines than" in complaint(path)
    (tmp_path / "Y.trn.npz").write_bytes(b"PK\x03\x04 no zip")
    assert "as a sparse matrix of scipy" in complaint(path)
    (tmp_path / "Y.train.npz").write_bytes(b"")
    assert "several files of labels beside it (Y.train.npz, Y.trn.npz)" in complaint(path)
    with pytest.raises(InputError, match="name a file in it"):
        read_corpus(tmp_path)


def test_a_matrix_whose_indices_point_nowhere(tmp_path):
    (tmp_path / "X.trn.txt").write_text("Wind\nSun\n")
    Y = csr_array(np.array([[0, 1], [1, 0]]))
    Y.indices[0] = 10**6
    save_npz(tmp_path / "Y.trn.npz", Y)
    message = complaint(tmp_path / "X.trn.txt")
    assert "cannot read" in message
    assert "indices" in message
