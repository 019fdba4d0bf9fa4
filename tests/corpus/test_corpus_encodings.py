import csv
import gzip
import lzma

import pytest

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.corpus import Document, read_corpus
from labelgrove.corpus.encodings import HEAD, find_encoding

FINNISH = [
    ("Tuulivoimaloiden määrä kasvaa, päästöt vähenevät", "energia;ympäristö"),
    ("Yöjunat kulkevat Hämeenlinnaan", "liikenne"),
    ("Älä jätä pyörää kadulle", "liikenne;pyöräily"),
]
DOCUMENTS = [Document(text, tuple(labels.split(";"))) for text, labels in FINNISH]
CZECH = "text\tlabels\nPříliš žluťoučký kůň úpěl ďábelské ódy\tzvířata\nČeské řeky\tzemě\n"


def table(path, encoding, delimiter=",", packed=None):
    with path.open("w", encoding=encoding, newline="") as file:
        rows = csv.writer(file, delimiter=delimiter)
        rows.writerow(["text", "labels"])
        rows.writerows(FINNISH)
    if packed is not None:
        path.write_bytes(packed(path.read_bytes()))
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "windows-1252"],
)
def test_tables_of_any_encoding(tmp_path, encoding, delimiter):
    corpus = read_corpus(table(tmp_path / "docs.csv", encoding, delimiter))
    assert list(corpus) == DOCUMENTS
    assert list(corpus) == DOCUMENTS
    assert bool(corpus.notes) == (not encoding.startswith("utf-8"))


@pytest.mark.parametrize(("suffix", "packed"), [("gz", gzip.compress), ("xz", lzma.compress)])
@pytest.mark.parametrize("encoding", ["utf-16", "windows-1252"])
def test_packed_tables(tmp_path, suffix, packed, encoding):
    path = table(tmp_path / f"docs.tsv.{suffix}", encoding, "\t", packed)
    assert list(read_corpus(path)) == DOCUMENTS


def test_unicode_text_of_excel(tmp_path):
    corpus = read_corpus(table(tmp_path / "docs.txt", "utf-16", "\t"))
    assert list(corpus) == DOCUMENTS
    assert corpus.notes == ("it is UTF-16-LE, by its byte order mark",)
    other = table(tmp_path / "other.txt", "utf-8", "\t")  # known by the name of its column
    assert list(read_corpus(other)) == DOCUMENTS


def test_what_was_found_is_told(tmp_path):
    corpus = read_corpus(table(tmp_path / "docs.csv", "windows-1252"))
    (note,) = corpus.notes
    assert note.startswith("it is not UTF-8; read as Windows-1252, by its letters")
    assert "encoding= names another" in note
    assert corpus.reading == {"encoding": "windows-1252"}


def test_an_encoding_by_name(tmp_path):
    path = tmp_path / "docs.tsv"
    path.write_bytes(CZECH.encode("cp1250"))
    for options in ({}, {"encoding": "auto"}, {"encoding": "windows-1250"}, {"encoding": "CP1250"}):
        first, _ = read_corpus(path, **options)
        assert first == Document("Příliš žluťoučký kůň úpěl ďábelské ódy", ("zvířata",))
    assert read_corpus(path, encoding="cp1250").notes == ()
    first, _ = read_corpus(path, encoding="latin-1")
    assert first.labels == ("zvíøata",)


@pytest.mark.parametrize("encoding", ["utf-16", "cp500", "utf-7"])
def test_encodings_that_are_not_like_ascii(tmp_path, encoding):
    path = table(tmp_path / "docs.csv", encoding)
    assert list(read_corpus(path, encoding=encoding)) == DOCUMENTS


@pytest.mark.parametrize("name", ["klingon", "rot13", "hex", "", "a b"])
def test_an_unknown_encoding(tmp_path, name):
    path = table(tmp_path / "docs.csv", "utf-8")
    with pytest.raises(InputError, match="unknown encoding"):
        read_corpus(path, encoding=name)


def test_a_few_accents_are_of_latin_letters(tmp_path):
    path = tmp_path / "docs.csv"
    rows = [f"w{i} w{i * 7} päätös tuulivoimä yö,l{i}" for i in range(500)]
    path.write_bytes("\n".join(["text,labels", *rows]).encode("cp1252"))
    assert find_encoding(path).name == "windows-1252"


def test_what_is_expected_is_tried_first(tmp_path):
    path = tmp_path / "docs.tsv"
    path.write_bytes("text\tlabels\nDeň\ta\n".encode("cp1250"))
    found = find_encoding(path, expected="windows-1250")
    assert found.name == "windows-1250"
    assert "as the documents of the training were" in found.note
    path.write_text("text\tlabels\nDeň\ta\n", encoding="utf-8")
    assert find_encoding(path, expected="windows-1250") == ("utf-8", "")


def test_a_damaged_row_does_not_make_another_encoding(tmp_path):
    path = tmp_path / "docs.csv"
    path.write_bytes("text,labels\nYö,a\nÄlä,b\n".encode() + b"caf\xe9,c\n")
    with pytest.raises(BadRowError) as raised:
        list(read_corpus(path))
    problem = str(raised.value).removeprefix(str(path))
    assert problem.startswith(", line 4: the byte 0xe9 in column 4 is not UTF-8; name the encoding")
    assert "encoding='auto'" in problem
    assert len(list(read_corpus(path, on_bad="skip"))) == 2


def test_a_byte_that_the_encoding_has_not(tmp_path):
    path = tmp_path / "docs.csv"
    path.write_bytes(b"text,labels\nM\xe4\xe4r\xe4\x81,a\nY\xf6,b\n")
    corpus = read_corpus(path, encoding="windows-1252", on_bad="skip")
    assert list(corpus) == [Document("Yö", ("b",))]
    with pytest.raises(BadRowError, match="line 2: the byte 0x81 in column 6 is not windows-1252"):
        list(read_corpus(path, encoding="windows-1252"))


def test_utf16_that_is_cut_short(tmp_path):
    path = table(tmp_path / "docs.csv", "utf-16")
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(BadRowError, match=r"line 5: .* is not utf-16-le \(truncated data\)"):
        list(read_corpus(path))


def test_letters_that_come_late(tmp_path):
    path = tmp_path / "docs.csv"
    plain = b"a plain text,a\n" * (HEAD // 10)
    path.write_bytes(b"text,labels\n" + plain + "Älä jätä pyörää,b\n".encode("cp1252"))
    with pytest.raises(BadRowError, match="0xc4 in column 1 is not UTF-8"):
        list(read_corpus(path))
    *_, last = read_corpus(path, encoding="auto")
    assert last == Document("Älä jätä pyörää", ("b",))


def test_json_lines_are_utf8_unless_asked(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_bytes('{"text": "Yö", "labels": ["ä"]}\n'.encode("cp1252"))
    with pytest.raises(BadRowError, match="the byte 0xf6 in column 12 is not UTF-8"):
        list(read_corpus(path))
    assert list(read_corpus(path, encoding="auto")) == [Document("Yö", ("ä",))]
    path.write_bytes('{"text": "Yö", "labels": ["ä"]}\n'.encode("utf-16"))
    assert list(read_corpus(path)) == [Document("Yö", ("ä",))]


def test_forms_of_which_the_encoding_is_known(tmp_path):
    path = tmp_path / "docs.parquet"
    path.touch()
    with pytest.raises(InputError, match="of the form parquet, of which the encoding is known"):
        read_corpus(path, encoding="windows-1252")
