"""RCV1 as it is given out: topics and token files of LYRL2004, news items of NIST."""

import gzip
import os
import zipfile
from pathlib import Path

import pytest

from labelgrove.core.errors import InputError
from labelgrove.corpus import Document, read_corpus

QRELS = """E11 2286 1
ECAT 2286 1
C24 2287 1
E11 26150 1
GCAT 26151 1
E11 810596 1
GCAT 810596 1
GCAT 810596 1
"""
TRAIN = """.I 2286
.W
recov recov excit
bring mexic

.I 2287
.W

.I 26150
.W
uruguay
"""
TEST = {
    "pt0": ".I 26151\n.W\nsmall farm\n\n",
    "pt3": ".I 500000\n.W\nno topic\n\n.I 810596\n.W\nlast\n",
}
MEXICO = """<?xml version="1.0" encoding="iso-8859-1" ?>
<newsitem itemid="{number}" id="root" date="1996-08-20" xml:lang="en">
<title>MEXICO: Recovery excites M\xe9xico.</title>
<headline>Recovery excites
M\xe9xico.</headline>
<byline>A. Writer</byline>
<dateline>MEXICO CITY 1996-08-20</dateline>
<text>
<p>Emerging evidence, &quot;they&quot; said, &amp; so on.</p>
<p>It	is
growing <b>fast</b>.</p>
</text>
<copyright>(c) Reuters Limited 1996</copyright>
<metadata><codes class="bip:topics:1.0"><code code="E11"/></codes></metadata>
</newsitem>
"""
MEXICO_TEXT = (
    'Recovery excites México.\nEmerging evidence, "they" said, & so on.\nIt is growing fast.'
)


def item(number: int, text: str = "Wind") -> bytes:
    return f'<newsitem itemid="{number}"><text><p>{text}</p></text></newsitem>'.encode()


def zipped(path: Path, numbers: list[int]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in numbers:
            archive.writestr(f"{number}newsML.xml", item(number, f"item {number}"))
        archive.writestr("newsitem.dtd", "<!ELEMENT newsitem ANY>")


@pytest.fixture
def tokens(tmp_path):
    (tmp_path / "rcv1-v2.topics.qrels").write_text(QRELS)
    (tmp_path / "lyrl2004_tokens_train.dat").write_text(TRAIN)
    for part, content in TEST.items():
        packed = gzip.compress(content.encode())
        (tmp_path / f"lyrl2004_tokens_test_{part}.dat.gz").write_bytes(packed)
    return tmp_path


@pytest.fixture
def items(tmp_path):
    """News items in folders and zip files of the days, below two disks."""
    (tmp_path / "rcv1-v2.topics.qrels.gz").write_bytes(gzip.compress(QRELS.encode()))
    day = tmp_path / "disk1" / "19960820"
    day.mkdir(parents=True)
    (day / "2286newsML.xml").write_bytes(MEXICO.format(number=2286).encode("latin-1"))
    utf8 = MEXICO.format(number=26150).replace("iso-8859-1", "utf-8")
    (day / "26150newsML.xml").write_bytes(utf8.encode())
    (day / "2287newsML.xml").write_bytes(b'<newsitem itemid="2287"><text/></newsitem>')
    (day / "2288newsML.xml").write_bytes(b"no XML, and no part of RCV1-v2 either")
    (tmp_path / "disk2").mkdir()
    zipped(tmp_path / "disk2" / "19970819.ZIP", [810596])
    zipped(tmp_path / "disk2" / "19960901.zip", [500000, 26151])
    return tmp_path


def read(path: Path, part: str, **options) -> list[Document]:
    corpus = read_corpus(path, format=f"rcv1-{part}", **options)
    found = list(corpus)
    assert list(corpus) == found, "it starts anew"
    return found


def complaint(path: Path, part: str = "train", **options) -> str:
    with pytest.raises(InputError) as raised:
        list(read_corpus(path, format=f"rcv1-{part}", **options))
    assert "\n" not in str(raised.value)
    return str(raised.value).replace(str(path), "PATH")


def test_token_files(tokens):
    train = [
        Document("recov recov excit bring mexic", ("E11", "ECAT"), "2286"),
        Document("", ("C24",), "2287"),
        Document("uruguay", ("E11",), "26150"),
    ]
    assert read(tokens, "train") == read(tokens / "lyrl2004_tokens_train.dat", "train") == train
    last = Document("last", ("E11", "GCAT"), "810596")
    assert read(tokens, "test") == [Document("small farm", ("GCAT",), "26151"), last]
    assert read(tokens / "lyrl2004_tokens_test_pt3.dat.gz", "test") == [last]
    corpus = read_corpus(tokens, format="rcv1-test")
    list(corpus)
    assert (corpus.left_out, corpus.skipped) == (1, 0)


def test_news_items(items):
    assert read(items, "train") == [
        Document(MEXICO_TEXT, ("E11", "ECAT"), "2286"),
        Document("", ("C24",), "2287"),
        Document(MEXICO_TEXT, ("E11",), "26150"),
    ]
    assert read(items, "test") == [
        Document("item 26151", ("GCAT",), "26151"),
        Document("item 810596", ("E11", "GCAT"), "810596"),
    ]
    corpus = read_corpus(items, format="rcv1-train")
    list(corpus)
    assert corpus.left_out == 1


def test_news_items_come_before_tokens(items):
    (items / "lyrl2004_tokens_train.dat").write_text(TRAIN)
    assert read(items, "train")[0].text == MEXICO_TEXT


def test_without_labels(tokens):
    (tokens / "rcv1-v2.topics.qrels").unlink()
    found = read(tokens, "test", labelled=False)
    assert [document.id for document in found] == ["26151", "500000", "810596"]
    assert all(document.labels == () for document in found)


def test_no_topics(tokens):
    (tokens / "rcv1-v2.topics.qrels").unlink()
    assert complaint(tokens).startswith("there are no topics in PATH: put rcv1-v2.topics.qrels")
    file = tokens / "lyrl2004_tokens_train.dat"
    assert f"there are no topics in {tokens}" in complaint(file)


@pytest.mark.parametrize(
    "line", ["E11 2286", "E11 2286 1 1", "E11 x 1", "E11 2286 0", "E11 -2286 1"]
)
def test_bad_topics(tokens, line):
    (tokens / "rcv1-v2.topics.qrels").write_text(f"C24 2287 1\n\n{line}\n")
    for on_bad in ("stop", "skip"):  # whose topic it would be is not known
        message = complaint(tokens, on_bad=on_bad)
        assert message.startswith("PATH/rcv1-v2.topics.qrels, line 3: a line must be a topic")
        assert f'got "{line}"' in message


def test_topics_of_another_collection(tokens):
    (tokens / "rcv1-v2.topics.qrels").write_text("E11 99999999999 1\n")
    assert "qrels, line 1: document 99999999999 is not one of RCV1" in complaint(tokens)


@pytest.mark.parametrize(
    ("content", "place", "expected"),
    [
        (".I\n.W\nwind\n\n" + TRAIN, 1, "must begin with a line such as '.I 2286', got \".I\""),
        (".I x\n.W\nwind\n\n" + TRAIN, 1, 'got ".I x"'),
        (".I 2289 1\n.W\nwind\n\n" + TRAIN, 1, 'got ".I 2289 1"'),
        ("\nwind\n\n" + TRAIN, 2, 'got "wind"'),
        (TRAIN + "\n.I 2286\n.W\nwind\n", 13, "document 2286 is there twice"),
    ],
)
def test_bad_token_files(tokens, content, place, expected):
    path = tokens / "lyrl2004_tokens_train.dat"
    path.write_text(content)
    message = complaint(tokens)
    assert message.startswith(f"PATH/lyrl2004_tokens_train.dat, line {place}: ")
    assert expected in message
    corpus = read_corpus(tokens, format="rcv1-train", on_bad="skip")
    assert [document.id for document in corpus] == ["2286", "2287", "26150"]
    assert corpus.skipped == 1


def test_a_skipped_row_is_not_missed(tokens):
    path = tokens / "lyrl2004_tokens_train.dat"
    path.write_text(TRAIN.replace(".I 2287", ".I 22 87"))
    assert 'got ".I 22 87"' in complaint(tokens)
    assert [document.id for document in read(tokens, "train", on_bad="skip")] == ["2286", "26150"]


def test_token_file_cut_short(tokens):
    path = tokens / "lyrl2004_tokens_train.dat"
    path.write_text(TRAIN.removesuffix(".W\nuruguay\n"))
    assert "line 9: the line after .I must be .W" in complaint(tokens)
    path.write_bytes(TRAIN.encode().replace(b"uruguay", b"\xff"))
    assert "0xff in column 1 is not UTF-8" in complaint(tokens)


BOMB = b"""<!DOCTYPE newsitem [<!ENTITY a "wind"><!ENTITY b "&a;&a;">]>
<newsitem itemid="2286"><text><p>&b;</p></text></newsitem>"""
FILE_READ = b"""<!DOCTYPE newsitem [<!ENTITY a SYSTEM "file:///etc/hostname">]>
<newsitem itemid="2286"><text><p>&a;</p></text></newsitem>"""


@pytest.mark.parametrize(
    ("content", "line", "expected"),
    [
        (b"<newsitem>\n<text></newsitem>", 2, "the XML cannot be read: mismatched tag"),
        (b"", 1, "the XML cannot be read: no element found"),
        (item(2286)[:-5], 1, "the XML cannot be read: unclosed token"),
        (b"<newsitem>\n\xff</newsitem>", 2, "the XML cannot be read: not well-formed"),
        (b'<?xml version="1.0" encoding="none"?>' + item(2286), None, "unknown encoding"),
        (b'<?xml version="1.0" encoding="big5"?>' + item(2286), None, "multi-byte encodings"),
        (b"<html/>", None, "is not a <newsitem>, but a <html>"),
        (item(2287), None, "is named 2286, but its itemid is 2287"),
        (BOMB, None, 'declares the entity "a"'),
        (FILE_READ, None, 'declares the entity "a"'),
    ],
)
def test_bad_news_items(items, content, line, expected):
    path = items / "disk1" / "19960820" / "2286newsML.xml"
    path.write_bytes(content)
    message = complaint(path.parents[2])
    place = "PATH/disk1/19960820/2286newsML.xml"
    assert message.startswith(place + (f", line {line}: " if line else ": "))
    assert expected in message
    corpus = read_corpus(items, format="rcv1-train", on_bad="skip")
    assert [document.id for document in corpus] == ["2287", "26150"]
    assert corpus.skipped == 1


def test_damaged_zip_files(items):
    path = items / "disk2" / "19970819.ZIP"
    content = path.read_bytes()
    at = content.index(b"newsML.xml") + 15
    path.write_bytes(content[:at] + b"\xff\xff\xff" + content[at + 3 :])
    message = complaint(items, "test")
    assert message.startswith("PATH/disk2/19970819.ZIP/810596newsML.xml: the file cannot be read")
    corpus = read_corpus(items, format="rcv1-test", on_bad="skip")
    assert [document.id for document in corpus] == ["26151"]
    assert corpus.skipped == 1
    path.write_bytes(content[:-30])
    for on_bad in ("stop", "skip"):  # a whole day is not a row
        message = complaint(items, "test", on_bad=on_bad)
        assert message.startswith("cannot read PATH/disk2/19970819.ZIP")


def test_unpacked_and_packed(items):
    (items / "disk2" / "19970819").mkdir()
    (items / "disk2" / "19970819" / "810596newsML.xml").write_bytes(item(810596))
    message = complaint(items, "test")
    assert "document 810596 is there twice; remove one, such as the .zip files" in message


def test_not_all_there(items):
    """Scores on a part of the test documents would look like scores on all."""
    (items / "disk2" / "19970819.ZIP").unlink()
    assert complaint(items, "test") == (
        "PATH is not complete: of the 2 documents for testing that rcv1-v2.topics.qrels names, "
        "1 are not there, the first is 810596"
    )


def test_nothing_there(tmp_path):
    assert complaint(tmp_path / "none") == "there is no file or folder PATH"
    (tmp_path / "rcv1-v2.topics.qrels").write_text(QRELS)
    expected = "PATH holds neither news items (such as 2286newsML.xml, or .zip files of them) nor"
    assert complaint(tmp_path).startswith(f"{expected} lyrl2004_tokens_train.dat;")
    assert complaint(tmp_path, "test").startswith(f"{expected} lyrl2004_tokens_test_pt0.dat to")
    path = tmp_path / "lyrl2004_tokens_train.dat"
    path.write_text(TRAIN)
    message = complaint(path, "test")
    assert message.startswith("PATH holds no document of RCV1-v2 for testing: none of the numbers")
    with pytest.raises(InputError, match="name a file in it, or the format of the folder: rcv1"):
        read_corpus(_empty(tmp_path))


def _empty(folder: Path) -> Path:
    inner = folder / "inner"
    inner.mkdir()
    return inner


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read(items):
    (items / "disk1").chmod(0)
    try:
        assert "cannot read PATH/disk1" in complaint(items)
    finally:
        (items / "disk1").chmod(0o700)


def test_a_news_item_that_unpacks_to_too_much(items):
    path = items / "disk2" / "19960901.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("26151newsML.xml", b" " * (1 << 26) + b" ")
    assert path.stat().st_size < 500_000
    message = complaint(items, "test")
    assert "26151newsML.xml: the news item has more than 67,108,864 bytes" in message
