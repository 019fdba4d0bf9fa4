import gzip
import lzma

import numpy as np
import pytest
import zstandard

from labelgrove.core.errors import InputError
from labelgrove.text import PAD, UNK, Words, read_vectors, vectors_for

GLOVE = "the 0.1 -0.2 3\nsun 1 2 3e-1\nmoon 4 5 6\n"
WORD2VEC = "3 3\nthe 0.1 -0.2 3 \nsun 1 2 3e-1 \nmoon 4 5 6 \n"


@pytest.mark.parametrize("text", [GLOVE, WORD2VEC, GLOVE.replace("\n", "\r\n")])
@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
def test_forms(tmp_path, text, suffix):
    data = text.encode()
    packers = {
        "": bytes,
        ".gz": gzip.compress,
        ".xz": lzma.compress,
        ".zst": zstandard.ZstdCompressor().compress,
    }
    path = tmp_path / f"vectors.txt{suffix}"
    path.write_bytes(packers[suffix](data))
    words, vectors = read_vectors(path)
    assert words == ["the", "sun", "moon"]
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, [[0.1, -0.2, 3], [1, 2, 0.3], [4, 5, 6]], rtol=1e-6)
    words, vectors = read_vectors(str(path), iter(["moon", "stars", "the"]))
    assert words == ["the", "moon"]
    assert vectors.shape == (2, 3)
    words, vectors = read_vectors(path, [])
    assert words == []
    assert vectors.shape == (0, 3)


def write(tmp_path, text):
    path = tmp_path / "v.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 2\nb 1\n", r"v\.txt, line 2: this line has 1 numbers instead of 2"),
        ("a 1 2\nb 1 2 3\n", r"v\.txt, line 2: this line has 3 numbers instead of 2"),
        ("2 3\na 1 2 3\nb 1\n", r"v\.txt, line 3: this line has 1 numbers instead of 3"),
        ("a 1 2\nb 1 x\n", r"v\.txt, line 2: the vector of 'b': could not convert"),
        ("a 1 2\nb 1 nan\n", r"the vector of 'b' holds a number that is not finite"),
        ("word\n", r"v\.txt is no file of word vectors: line 1 does not end in a number"),
        ('{"text": "a b"}\n', r"v\.txt is no file of word vectors: line 1 does not end"),
        ("7\n", r"v\.txt, line 1: this line has 0 numbers instead of one or more"),
        ("3 2\na 1 2\n", r"v\.txt ends after 1 of 3 vectors: it was cut short"),
        ("", r"v\.txt holds no word vectors"),
    ],
)
def test_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as error:
        read_vectors(write(tmp_path, text))
    assert "\n" not in str(error.value)


def test_files_that_are_missing_folders_or_damaged(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read_vectors(tmp_path / "none.txt")
    with pytest.raises(InputError, match="is not a file"):
        read_vectors(tmp_path)
    packed = lzma.compress(GLOVE.encode() * 100)
    (tmp_path / "cut.xz").write_bytes(packed[:-20])
    (tmp_path / "bad.gz").write_bytes(b"not gzip")
    for name in ("cut.xz", "bad.gz"):
        with pytest.raises(InputError, match=r"cut short|cannot be decompressed"):
            read_vectors(tmp_path / name)


def test_words_with_spaces_odd_bytes_and_repeats(tmp_path):
    path = write(tmp_path, b"a 1 2\n. . 3 4\nat x@y.z 5 6\na 7 8\n\xff 9 9\nb\xc2\xa0c 1 1\n")
    words, vectors = read_vectors(path)
    assert words == ["a", ". .", "at x@y.z", "�", "b\xa0c"]
    assert vectors[:3].tolist() == [[1, 2], [3, 4], [5, 6]]


def test_vectors_for_a_vocabulary(tmp_path):
    words = Words().fit(["the Sun", "the star"])
    path = write(tmp_path, GLOVE)
    matrix, share = vectors_for(words, path, seed=3)
    vocabulary = words.vocabulary
    assert matrix.shape == (5, 3)
    assert matrix.dtype == np.float32
    assert share == pytest.approx(2 / 3)
    assert not matrix[PAD].any()
    np.testing.assert_allclose(matrix[vocabulary.index("sun")], [1, 2, 0.3], rtol=1e-6)
    for i in (UNK, vocabulary.index("star")):
        assert matrix[i].any()
        assert (np.abs(matrix[i]) <= 1).all()
    np.testing.assert_array_equal(matrix, vectors_for(words, path, seed=3).matrix)
    assert (matrix[UNK] != vectors_for(words, path, seed=4).matrix[UNK]).any()


def test_real_glove(shared):
    words, vectors = read_vectors(
        shared / "glove" / "glove-100d.txt.xz", ["the", "energy", "notaword"]
    )
    assert words == ["the", "energy"]
    assert vectors.shape == (2, 100)
