import gzip
import json
import lzma
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.corpus import Document, read_corpus

GOOD = '{"text": "Wind", "labels": ["energy"]}\n'


def write(folder: Path, content: str | bytes, name: str = "docs.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path, **options) -> list[Document]:
    return list(read_corpus(path, **options))


def complaint(path: Path, **options) -> str:
    with pytest.raises(InputError) as raised:
        read(path, **options)
    message = str(raised.value)
    assert "\n" not in message
    assert message.encode()  # can be printed
    assert str(path) in message
    return message.replace(str(path), "FILE")


def test_reads_again_from_the_start(tmp_path):
    corpus = read_corpus(write(tmp_path, GOOD + '{"text": "Sun", "labels": [], "id": "b"}\n'))
    expected = [Document("Wind", ("energy",)), Document("Sun", (), "b")]
    assert list(corpus) == expected
    assert list(corpus) == expected
    texts = corpus.texts()
    assert list(texts) == list(texts) == ["Wind", "Sun"]
    assert list(corpus.labels()) == [("energy",), ()]
    assert corpus.featurizer is None
    assert corpus.name == str(tmp_path / "docs.jsonl")


def test_mark_line_ends_and_blank_lines(tmp_path):
    path = write(
        tmp_path, b"\xef\xbb\xbf" + GOOD.strip().encode() + b"\r\n\r\n  \n" + GOOD.encode()
    )
    assert read(path) == [Document("Wind", ("energy",))] * 2


def test_line_separators_inside_strings_are_text(tmp_path):
    text = "a\u2028b\u0085c"
    line = json.dumps({"text": text, "labels": []}, ensure_ascii=False)
    assert read(write(tmp_path, line)) == [Document(text)]


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.ndjson.xz", "a.json.zst", "A.JSONL.GZ"])
def test_compressed(tmp_path, name):
    compress = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}
    pack = compress[Path(name).suffix.lower()]
    path = write(tmp_path, pack(GOOD.encode()) + pack(GOOD.encode()), name)
    assert read(path) == [Document("Wind", ("energy",))] * 2


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_cut_short(tmp_path, suffix):
    compress = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstandard.compress}
    rows = "".join(json.dumps({"text": str(hash(i)), "labels": []}) + "\n" for i in range(30_000))
    whole = compress[suffix](rows.encode())
    path = write(tmp_path, whole[: len(whole) // 2], "a.jsonl" + suffix)
    for on_bad in ("stop", "skip"):
        message = complaint(path, on_bad=on_bad)
        assert message.startswith("FILE: the file ends in the middle: it was cut short")


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_not_compressed_at_all(tmp_path, suffix):
    message = complaint(write(tmp_path, GOOD * 9, "a.jsonl" + suffix))
    assert "cannot be decompressed" in message
    assert suffix in message


def test_fields_by_name(tmp_path):
    row = {"title": "Wind", "body": "It blows", "tags": ["a"], "nr": 7, "empty": None}
    path = write(tmp_path, json.dumps(row))
    assert read(path, text="title", labels="tags", id="nr") == [Document("Wind", ("a",), "7")]
    assert read(path, text=["title", "body"], labels="tags") == [Document("Wind\nIt blows", ("a",))]
    assert read(path, text=["empty", "body"], labels="tags", id=None) == [
        Document("\nIt blows", ("a",))
    ]


def test_labels_are_kept_once_in_order(tmp_path):
    path = write(tmp_path, '{"text": "", "labels": ["b", "a", "b", 3, "3", " x\\ty "]}')
    assert read(path) == [Document("", ("b", "a", "3", " x\ty "))]


def test_labels_in_a_string(tmp_path):
    path = write(tmp_path, '{"text": "Wind", "labels": "a; b;;a;"}')
    assert read(path, separator=";") == [Document("Wind", ("a", "b"))]
    message = complaint(path)
    assert message.startswith("FILE, line 1: labels must be a list such as ")
    assert "give the separator" in message


def test_labels_optional_for_tagging(tmp_path):
    path = write(tmp_path, '{"text": "a"}\n{"text": "b", "labels": null}\n' + GOOD)
    assert read(path, labelled=False) == [
        Document("a"),
        Document("b"),
        Document("Wind"),
    ]


def test_nul_and_half_pairs_in_a_text_are_replaced(tmp_path):
    path = write(tmp_path, '{"text": "a\\u0000b\\ud800c \\ud83d\\ude00", "labels": []}')
    assert read(path) == [Document("a b\ufffdc \U0001f600")]


def test_a_million_words(tmp_path):
    text = "word " * 1_000_000
    [document] = read(write(tmp_path, json.dumps({"text": text, "labels": ["a"]})))
    assert document.text == text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{text: 1}", "not JSON"),
        ('{"text": "a\0", "labels": []}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"text": "a", "labels": [' + "1" * 5000 + "]}", "not JSON"),
        ("[", "one JSON array"),
        ('["a"]', "each line must be an object"),
        ('{"txt": "a", "labels": []}', "no field 'text'; the fields are 'txt', 'labels'"),
        ('{"text": "a", "id": "1"}', "no field 'labels'; the fields are 'text', 'id'"),
        ("{}", "the fields are none"),
        ('{"text": null, "labels": []}', "the text must be a string, got null; write an empty"),
        ('{"text": ["a"], "labels": []}', 'the text must be a string, got ["a"]'),
        ('{"text": "a", "labels": null}', "labels are missing; write an empty list"),
        ('{"text": "a", "labels": {"b": 1}}', 'labels must be a list, got {"b": 1}'),
        ('{"text": "a", "labels": [null]}', "a label must be a string, got null"),
        ('{"text": "a", "labels": [["b"]]}', 'a label must be a string, got ["b"]'),
        ('{"text": "a", "labels": [1.5]}', "a label must be a string, got 1.5"),
        ('{"text": "a", "labels": [true]}', "a label must be a string, got true"),
        ('{"text": "a", "labels": [" "]}', "a label is empty"),
        ('{"text": "a", "labels": ["b\\u0000"]}', "holds a NUL character"),
        ('{"text": "a", "labels": ["b\\ud800"]}', "holds half a surrogate pair"),
        ('{"text": "a", "labels": [], "id": 1.5}', "an id must be"),
        ('{"text": "a", "labels": [], "id": "\\u0000"}', "holds a NUL character"),
        (b'{"text": "\xff", "labels": []}', "the byte 0xff in column 11 is not UTF-8"),
    ],
)
def test_bad_row(tmp_path, line, expected):
    raw = line if isinstance(line, bytes) else line.encode()
    path = write(tmp_path, GOOD.encode() + raw + b"\n" + GOOD.encode())
    message = complaint(path)
    assert message.startswith("FILE, line 2: ")
    assert expected in message
    assert len(message) < 300
    corpus = read_corpus(path, on_bad="skip")
    assert corpus.skipped == 0
    for _ in range(2):  # the count is that of one reading
        assert list(corpus) == [Document("Wind", ("energy",))] * 2
        assert corpus.skipped == 1


def test_named_id_must_be_there(tmp_path):
    assert "no field 'nr'" in complaint(write(tmp_path, GOOD), id="nr")


def test_nothing_to_read(tmp_path):
    assert complaint(write(tmp_path, "")) == "FILE is empty: there is no document to read in it"
    assert "is empty" in complaint(write(tmp_path, "\n\n"))
    message = complaint(write(tmp_path, "x\ny\n"), on_bad="skip")
    assert message.startswith("FILE: all 2 rows are bad; the first: FILE, line 1: not JSON")


def test_utf16(tmp_path):
    assert read(write(tmp_path, GOOD.encode("utf-16"))) == read(write(tmp_path, GOOD))


def test_missing_file(tmp_path):
    assert complaint(tmp_path / "none.jsonl") == "there is no file FILE"


def test_wrong_calls(tmp_path):
    path = write(tmp_path, GOOD)
    with pytest.raises(UnknownNameError, match="did you mean 'jsonl'"):
        read_corpus(path, format="json")
    with pytest.raises(UnknownNameError, match="known: stop, skip"):
        read_corpus(path, on_bad="ignore")
    with pytest.raises(InputError, match="separator of labels is empty"):
        read_corpus(path, separator="")
    with pytest.raises(InputError, match="no field for the text"):
        read_corpus(path, text=[])
    with pytest.raises(InputError, match=r"suffix of .* is not known.*\.jsonl.*annif-folder"):
        read_corpus(write(tmp_path, GOOD, "docs.doc"))
    assert read(write(tmp_path, GOOD, "docs"), format="jsonl") == [Document("Wind", ("energy",))]


def test_repository_json(tmp_path):
    rows = [
        {"uid": "B1", "title": "Wind", "content": "It blows", "target_ind": [3, 1, 3]},
        {"uid": "B2", "title": "Sun", "content": "", "target_ind": []},
    ]
    path = write(tmp_path, "\n".join(map(json.dumps, rows)), "trn.json")
    assert read(path) == [Document("Wind\nIt blows", ("3", "1"), "B1"), Document("Sun\n", (), "B2")]
    short = write(tmp_path, '{"uid": "B", "title": "Wind", "target_ind": [0]}', "tst.json")
    assert read(short) == [Document("Wind", ("0",), "B")]


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
labels = st.lists(texts.filter(lambda label: label.strip()), unique=True)


@given(rows=st.lists(st.tuples(texts, labels), min_size=1), escape=st.booleans())
def test_round_trip(tmp_path_factory, rows, escape):
    path = tmp_path_factory.mktemp("jsonl") / "docs.jsonl"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for text, some in rows:
            print(json.dumps({"text": text, "labels": some}, ensure_ascii=escape), file=file)
    assert read(path) == [Document(text, tuple(some)) for text, some in rows]


NAMES = [
    "a.jsonl",
    "a.csv",
    "a.tsv",
    "a.txt",
    "a.svm",
    "a.parquet",
    "a.csv.gz",
    "a.txt.xz",
    "a.tsv.zst",
]


@pytest.mark.parametrize("name", NAMES)
@given(content=st.binary() | st.text(st.characters(codec="utf-8")).map(str.encode))
def test_any_bytes_are_read_or_refused(tmp_path_factory, name, content):
    path = write(tmp_path_factory.mktemp("bytes"), content, name)
    for on_bad in ("stop", "skip"):
        # anything but an InputError fails
        with suppress(InputError):
            read(path, on_bad=on_bad, labelled=False)
