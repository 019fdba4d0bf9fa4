"""Files of the LSHTC challenges: features, and the texts of Wikipedia medium."""

import gzip
from pathlib import Path

import pytest

from labelgrove.core.errors import InputError
from labelgrove.corpus import Document, read_corpus


def complaint(path: Path, kind: str, **options) -> str:
    with pytest.raises(InputError) as raised:
        list(read_corpus(path, format=kind, **options))
    assert "\n" not in str(raised.value)
    return str(raised.value).replace(str(path), "FILE")


def test_features(tmp_path):
    path = tmp_path / "train.txt"
    content = "545, 32 8:1 18:2\n7 4:0.5\r\n\n3,3,9  1:1   2:1 \n0 5:1\n0, 4 5:1\n 6:1\n12\n"
    path.write_text(content, newline="")
    expected = [
        Document("8:1 18:2", ("545", "32")),
        Document("4:0.5", ("7",)),
        Document("1:1 2:1", ("3", "9")),
        Document("5:1"),
        Document("5:1", ("0", "4")),
        Document("6:1"),
        Document("", ("12",)),
    ]
    corpus = read_corpus(path, format="lshtc")
    assert corpus.featurizer == "given"
    assert list(corpus) == list(corpus) == expected
    packed = tmp_path / "train.txt.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    assert list(read_corpus(packed, format="lshtc")) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("545 32 8:1", 'labels must be numbers separated by commas, got "545 32"'),
        ("545, 8:1", 'labels must be numbers separated by commas, got "545,"'),
        ("3 10 100", 'labels must be numbers separated by commas, got "3 10 100"'),
        ("x, 3 8:1", 'labels must be numbers separated by commas, got "x,3"'),
        ("545 8:1 9", 'features must be number:value, got "9"'),
        ("545 8:one", 'features must be number:value, got "8:one"'),
        ("545 :1", 'features must be number:value, got ":1"'),
    ],
)
def test_bad_features(tmp_path, line, expected):
    path = tmp_path / "train.txt"
    path.write_text(f"{line}\n5 1:1\n")
    assert complaint(path, "lshtc") == f"FILE, line 1: {expected}"
    corpus = read_corpus(path, format="lshtc", on_bad="skip")
    assert list(corpus) == [Document("1:1", ("5",))]
    assert corpus.skipped == 1


def record(own: str, labels: str, text: str) -> str:
    # the names of the tags are ours: readers do not look at them
    return f"<d>\n<i>{own}</i>\n<l>{labels}</l>\n{text}\n</d>\n"


def test_texts(tmp_path):
    path = tmp_path / "train.txt"
    content = record("1", "545 32 545", "Wind > sun") + record("x 2", " 7 ", "<t>It blows.</t>")
    content += record("3", "0", "Sun") + record("4", "", "") + "\n"
    path.write_text(content)
    expected = [
        Document("Wind > sun", ("545", "32"), "1"),
        Document("It blows.", ("7",), "x 2"),
        Document("Sun", (), "3"),
        Document("", (), "4"),
    ]
    corpus = read_corpus(path, format="lshtc-text")
    assert corpus.featurizer is None
    assert list(corpus) == list(corpus) == expected
    path.write_bytes(content.replace("\n", "\r\n").encode())
    assert list(read_corpus(path, format="lshtc-text")) == expected
    unlabelled = read_corpus(path, format="lshtc-text", labelled=False)
    assert [document.labels for document in unlabelled] == [(), (), (), ()]


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ("<d>\n1\n<l>5</l>\nWind\n</d>\n", 'the second of the document\'s 5 lines .* got "1"'),
        ("<d>\n<i>1</i>\n5\nWind\n</d>\n", 'the third of the document\'s 5 lines .* got "5"'),
        (record("1", "5, 6", "Wind"), 'labels must be numbers separated by spaces, got "5,"'),
        (record("1", "energy", "Wind"), 'separated by spaces, got "energy"'),
        (record("1", "٣", "Wind"), 'separated by spaces, got "٣"'),
    ],
)
def test_bad_texts(tmp_path, bad, expected):
    path = tmp_path / "train.txt"
    path.write_text(record("0", "4", "Sun") + bad)
    with pytest.raises(InputError, match=f"train.txt, line 6: .*{expected}"):
        list(read_corpus(path, format="lshtc-text"))
    corpus = read_corpus(path, format="lshtc-text", on_bad="skip")
    assert list(corpus) == [Document("Sun", ("4",), "0")]
    assert corpus.skipped == 1


def test_texts_cut_short(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(record("1", "5", "Wind") + "<d>\n<i>2</i>\n")
    for on_bad in ("stop", "skip"):
        message = complaint(path, "lshtc-text", on_bad=on_bad)
        assert message.startswith("FILE, line 6: the last document has 2 lines instead of 5")
    path.write_text("")
    assert "is empty" in complaint(path, "lshtc-text")
    assert complaint(tmp_path / "none", "lshtc-text") == "there is no file FILE"
