import gzip
import os
from pathlib import Path

import pytest

from labelgrove.core.errors import InputError
from labelgrove.corpus import Document, read_corpus

E = "http://example.org/"


def complaint(path: Path, **options) -> str:
    with pytest.raises(InputError) as raised:
        list(read_corpus(path, **options))
    assert "\n" not in str(raised.value)
    return str(raised.value).replace(str(path), "PATH")


def test_short_texts(tmp_path):
    path = tmp_path / "titles.tsv"
    content = f'\ufeff"Wind" & sun\t<{E}a> <{E}b> <{E}a>\tmore\r\n\nNothing\t\n'
    path.write_bytes(content.encode())
    expected = [Document('"Wind" & sun', (E + "a", E + "b")), Document("Nothing")]
    assert list(read_corpus(path)) == expected
    packed = tmp_path / "titles.tsv.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    assert list(read_corpus(packed)) == expected


def test_told_apart_by_the_first_line(tmp_path):
    path = tmp_path / "titles.tsv"
    path.write_text(f"text\tlabels\nWind\t<{E}a>\n")
    assert list(read_corpus(path)) == [Document("Wind", (f"<{E}a>",))]
    path.write_text(f"Nothing\t\nWind\t{E}a <{E}b>\n")
    assert "no field 'text'" in complaint(path)
    assert list(read_corpus(path, format="annif")) == [
        Document("Nothing"),
        Document("Wind", (E + "a", E + "b")),
    ]


def test_short_texts_bad_rows(tmp_path):
    path = tmp_path / "titles.tsv"
    path.write_bytes(f"Wind\t<{E}a>\nSun\nM\0oon\t<{E}b>\n".encode() + b"\xff\t<x>\n")
    assert complaint(path).startswith("PATH, line 2: there is no tab")
    corpus = read_corpus(path, on_bad="skip")
    assert [document.text for document in corpus] == ["Wind", "M oon"]
    assert corpus.skipped == 2
    assert complaint(path, labelled=False).startswith("PATH, line 4: the byte 0x")


def folder_of(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def test_folder(tmp_path):
    folder_of(
        tmp_path,
        {
            "b.txt": "Sun\nshines",
            "b.key": "energy\r\n\n weather \nenergy\n",
            "a.txt": "\ufeffWind",
            "a.tsv": f"<{E}a>\tname\n<{E}b>\tname\textra\n{E}c\n",
            "a.key": "not read\n",
            "c.txt": "",
            "c.key": "",
            "notes.md": "no document",
        },
    )
    assert list(read_corpus(tmp_path)) == [
        Document("Wind", (E + "a", E + "b", E + "c"), "a"),
        Document("Sun\nshines", ("energy", "weather"), "b"),
        Document("", (), "c"),
    ]


def test_folder_bad_rows(tmp_path):
    folder_of(
        tmp_path,
        {
            "a.txt": "no labels",
            "b.txt": b"one\ntwo \xff",
            "b.key": "x",
            "c.txt": "bad label",
            "c.key": b"x\n\xff\n",
            "d.txt": "good",
            "d.key": "x",
        },
    )
    assert complaint(tmp_path).startswith(f"PATH/{'a.txt'}: there is neither a.tsv nor a.key")
    corpus = read_corpus(tmp_path, on_bad="skip")
    assert list(corpus) == [Document("good", ("x",), "d")]
    assert corpus.skipped == 3
    (tmp_path / "a.key").touch()
    assert complaint(tmp_path).startswith("PATH/b.txt, line 2: the text is not UTF-8")
    (tmp_path / "b.txt").unlink()
    assert complaint(tmp_path).startswith("PATH/c.key, line 2: the byte 0xff in column 1")


def test_folder_for_tagging(tmp_path):
    folder_of(tmp_path, {"a.txt": "Wind", "b.txt": "Sun", "b.key": "x"})
    assert list(read_corpus(tmp_path, labelled=False)) == [
        Document("Wind", (), "a"),
        Document("Sun", ("x",), "b"),
    ]


def test_folder_of_something_else(tmp_path):
    assert "is a folder without .txt and .key files" in complaint(tmp_path)
    assert "is empty" in complaint(tmp_path, format="annif-folder")
    assert complaint(tmp_path / "none", format="annif-folder") == "there is no folder PATH"


@pytest.mark.parametrize("name", ["b.txt", "a.tsv", "a.key"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_folder_with_what_never_ends(tmp_path, name, kind):
    folder = folder_of(tmp_path, {"a.txt": "x", "c.txt": "z", "c.key": "label"})
    if name == "b.txt":
        (folder / "a.key").write_text("label")
    if kind == "pipe":
        os.mkfifo(folder / name)  # reading it would wait for a writer
    else:
        (folder / name).symlink_to("/dev/zero")
    assert f"{name}: this is not a regular file" in complaint(folder)
    assert "c" in [document.id for document in read_corpus(folder, on_bad="skip")]
