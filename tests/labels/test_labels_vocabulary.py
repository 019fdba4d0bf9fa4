import gzip
import lzma
from pathlib import Path

import pytest

from labelgrove.core.errors import BadRowError, InputError, UnknownNameError
from labelgrove.labels import Concept, LabelSpace, Vocabulary, read_vocabulary

TABLE = "a\tAnimals\t\nd\tDogs\ta\np\tPoodles\td|c\tCurly.\tbarbone|caniche\nc\t\ta\n"

TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <http://example.org/> .
:scheme a skos:ConceptScheme ; skos:prefLabel "Everything"@en .
:animal a skos:Concept ; skos:prefLabel "Tier"@de, "animal"@en ; skos:narrower :cat .
:dog a skos:Concept ; skos:prefLabel "Hund"@de, "dog"@en-GB ; skos:altLabel "hound"@en, "Köter"@de ;
    skos:broader :animal ; skos:scopeNote "A note."@en ; skos:definition "Barks."@en .
:cat a skos:Concept ; skos:prefLabel "Katze"@de, "chat"@fr ; skos:scopeNote "Meows." .
:cow a skos:Concept ; skos:prefLabel "vache"@fr, "bovine" ; skos:broader :elsewhere .
"""

RDF_XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
         xmlns:skos="http://www.w3.org/2004/02/skos/core#">
  <skos:Concept rdf:about="http://example.org/b">
    <skos:prefLabel xml:lang="en">bee</skos:prefLabel>
    <skos:broader rdf:resource="http://example.org/a"/>
  </skos:Concept>
</rdf:RDF>
"""

TRIPLE = '<http://example.org/x> <http://www.w3.org/2004/02/skos/core#prefLabel> "ex"@en .\n'


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_table(tmp_path: Path) -> None:
    vocabulary = read_vocabulary(written(tmp_path / "labels.tsv", TABLE))
    assert vocabulary.concepts == {
        "a": Concept("Animals"),
        "d": Concept("Dogs", ("a",)),
        "p": Concept("Poodles", ("d", "c"), "Curly.", ("barbone", "caniche")),
        "c": Concept("c", ("a",)),
    }
    assert len(vocabulary) == 4


def test_table_variants_read_the_same(tmp_path: Path) -> None:
    plain = read_vocabulary(written(tmp_path / "1.tsv", TABLE))
    header = "ID\tname\tparents\tdescription\talternatives\n"
    windows = "\ufeff" + (header + "\n" + TABLE).replace("\n", "\r\n")
    (tmp_path / "2.tsv").write_bytes(windows.encode())
    (tmp_path / "3.tsv.gz").write_bytes(gzip.compress(TABLE.encode()))
    (tmp_path / "4.TSV.XZ").write_bytes(lzma.compress(TABLE.encode()))
    zstandard = pytest.importorskip("zstandard")
    (tmp_path / "5.tsv.zst").write_bytes(zstandard.compress(TABLE.encode()))
    for name in ("2.tsv", "3.tsv.gz", "4.TSV.XZ", "5.tsv.zst"):
        assert read_vocabulary(tmp_path / name) == plain


def test_a_header_may_order_the_columns(tmp_path: Path) -> None:
    path = written(tmp_path / "v.tsv", "id\tparents\tname\nd\ta\tDogs\na\t\tAnimals\n")
    assert read_vocabulary(path).concepts["d"] == Concept("Dogs", ("a",))
    data = written(tmp_path / "w.tsv", "id\tidentity\nx\tex\n")  # here it is a concept
    assert list(read_vocabulary(data).concepts) == ["id", "x"]


def test_angle_brackets_are_stripped(tmp_path: Path) -> None:
    text = "<http://x/1>\tone\t<http://x/2>\nhttp://x/2\ttwo\n"
    vocabulary = read_vocabulary(written(tmp_path / "v.tsv", text))
    assert vocabulary.concepts["http://x/1"].parents == ("http://x/2",)
    space = LabelSpace.from_labels([["<http://x/1>", "http://x/2"]], vocabulary)
    assert space.ids == ["<http://x/1>", "http://x/2"]
    assert space.names == ["one", "two"]
    assert list(space.parents) == [(1,), ()]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a\tA\nb\n", 2, "1 columns instead of 2 to 5"),
        ("a\tA\t\t\t\tmore\n", 1, "6 columns"),
        ("a\tA\n\n\nb\tB\na\tC\n", 5, "'a' stands in line 1 already"),
        ("a\tA\tb\n", 1, "unknown parent 'b'"),
        ("a\tA\n\tB\n", 2, "id is empty"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = written(tmp_path / "v.tsv", text)
    with pytest.raises(BadRowError, match=message) as caught:
        read_vocabulary(path)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"{path}, line {line}: ")


def test_bad_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read_vocabulary(tmp_path / "none.tsv")
    with pytest.raises(UnknownNameError, match=r"v\.json.*\.tsv"):
        read_vocabulary(written(tmp_path / "v.json", TABLE))
    with pytest.raises(InputError, match="is empty"):
        read_vocabulary(written(tmp_path / "v.tsv", "\n"))
    (tmp_path / "bytes.tsv").write_bytes(b"a\tA\nb\t\xff\n")
    with pytest.raises(BadRowError, match=r"line 2: this is not UTF-8"):
        read_vocabulary(tmp_path / "bytes.tsv")
    cut = gzip.compress(("".join(f"{i}\tname {i}\n" for i in range(9999))).encode())[:-2000]
    (tmp_path / "cut.tsv.gz").write_bytes(cut)
    with pytest.raises(InputError, match="cut short"):
        read_vocabulary(tmp_path / "cut.tsv.gz")
    circle = read_vocabulary(written(tmp_path / "circle.tsv", "a\tA\tb\nb\tB\ta\n"))
    with pytest.raises(InputError, match="circle: a > b > a"):
        LabelSpace.from_labels([["a"]], circle)


def test_a_vocabulary_for_another_corpus_is_refused(tmp_path: Path) -> None:
    vocabulary = read_vocabulary(written(tmp_path / "v.tsv", TABLE))
    with pytest.raises(InputError, match=r"'x', 'y', the vocabulary 'a', 'd', 'p', \.\.\.") as e:
        LabelSpace.from_labels([["x"], ["y"]], vocabulary)
    assert str(tmp_path) in str(e.value)
    assert len(LabelSpace.from_labels([], vocabulary)) == 4


def test_a_vocabulary_knows_its_parents() -> None:
    with pytest.raises(InputError, match="'a' has the unknown parent 'b'"):
        Vocabulary({"a": Concept("A", ("b",))})


def test_turtle(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    path = written(tmp_path / "v.ttl", TURTLE)
    base = "http://example.org/"
    assert read_vocabulary(path).concepts == {
        base + "animal": Concept("animal"),
        base + "cat": Concept("Katze", (base + "animal",), "Meows."),
        base + "cow": Concept("bovine", (base + "elsewhere",)),
        base + "dog": Concept("dog", (base + "animal",), "Barks.", ("hound",)),
        base + "elsewhere": Concept(base + "elsewhere"),
    }
    german = read_vocabulary(path, language="de").concepts
    assert german[base + "dog"].name == "Hund"
    assert german[base + "dog"].alternatives == ("Köter",)
    (tmp_path / "v.ttl.gz").write_bytes(gzip.compress(TURTLE.encode()))
    assert read_vocabulary(tmp_path / "v.ttl.gz") == read_vocabulary(path)


def test_rdf_xml_and_triples(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    for suffix in ("rdf", "xml"):
        found = read_vocabulary(written(tmp_path / f"v.{suffix}", RDF_XML)).concepts
        assert found["http://example.org/b"] == Concept("bee", ("http://example.org/a",))
    found = read_vocabulary(written(tmp_path / "v.nt", TRIPLE)).concepts
    assert found == {"http://example.org/x": Concept("ex")}


@pytest.mark.parametrize("suffix", ["ttl", "rdf", "nt"])
def test_broken_skos_is_named(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("rdflib")
    with pytest.raises(InputError, match=f"v.{suffix} is not valid") as caught:
        read_vocabulary(written(tmp_path / f"v.{suffix}", "<<< this is\n nothing"))
    assert "\n" not in str(caught.value)
    empty = "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'/>"
    path = written(tmp_path / f"e.{suffix}", empty if suffix == "rdf" else "")
    with pytest.raises(InputError, match="no SKOS concepts"):
        read_vocabulary(path)


def entity_bomb(depth: int) -> str:
    entities = '<!ENTITY a0 "lol">' + "".join(
        f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, depth)
    )
    return RDF_XML.replace("<rdf:RDF", f"<!DOCTYPE r [{entities}]><rdf:RDF", 1).replace(
        "bee", f"&a{depth - 1};"
    )


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ('<!ENTITY a "b"><!ENTITY c "&a;&a;">', "entity 'c' holds another one"),
        (f'<!ENTITY a "{"b" * 300}">', "entity 'a' has more than 256 characters"),
        ('<!ENTITY a SYSTEM "file:///etc/hostname">', "entity 'a' lies in another file"),
        ('<!ENTITY % a "b">', "entity 'a' is a parameter"),
        (f'<!ATTLIST p q CDATA "{"b" * 300}">', "default of 'q' in <p> has more than 256"),
    ],
)
def test_entities_that_stand_for_much_are_refused(
    tmp_path: Path, declared: str, message: str
) -> None:
    pytest.importorskip("rdflib")
    text = RDF_XML.replace("<rdf:RDF", f"<!DOCTYPE r [{declared}]><rdf:RDF", 1)
    path = written(tmp_path / "labels.rdf", text)
    with pytest.raises(InputError, match=message) as problem:
        read_vocabulary(path)
    assert "convert the file to Turtle" in str(problem.value)


@pytest.mark.parametrize("encoding", ["UTF-NaN8", "shift_jis"])
def test_xml_in_an_unknown_encoding_is_refused(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "labels.rdf"
    path.write_text(f'<?xml version="1.0" encoding="{encoding}"?>\n<a/>')
    with pytest.raises(InputError, match=r"labels\.rdf cannot be read as XML .*UTF-8"):
        read_vocabulary(path)


def test_an_entity_bomb_takes_no_time(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    path = written(tmp_path / "labels.rdf", entity_bomb(12))
    assert path.stat().st_size < 1_200
    with pytest.raises(InputError, match="entity 'a1' holds another one"):
        read_vocabulary(path)


def test_entities_that_abbreviate_are_read(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    text = RDF_XML.replace(
        "<rdf:RDF", '<!DOCTYPE r [<!ENTITY e "http://example.org/">]><rdf:RDF', 1
    )
    text = text.replace('"http://example.org/b"', '"&e;b"')
    vocabulary = read_vocabulary(written(tmp_path / "labels.rdf", text))
    assert vocabulary.concepts["http://example.org/b"].name == "bee"


RELATIVE = {
    "ttl": "@prefix s: <http://www.w3.org/2004/02/skos/core#> .\n<#bee> a s:Concept ; s:prefLabel "
    '"bee" ; s:broader <insects/all> .\n',
    "rdf": RDF_XML.replace("http://example.org/b", "#bee").replace(
        "http://example.org/a", "insects/all"
    ),
}


@pytest.mark.parametrize("suffix", ["ttl", "rdf"])
def test_relative_addresses_do_not_depend_on_the_current_folder(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rdflib")
    path = written(tmp_path / f"labels.{suffix}", RELATIVE[suffix])
    here = read_vocabulary(path)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert read_vocabulary(path) == here
    assert here.concepts == {
        "#bee": Concept("bee", ("insects/all",)),
        "insects/all": Concept("insects/all"),
    }


def test_a_base_in_the_file_counts(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    text = "@base <http://example.org/> .\n" + RELATIVE["ttl"]
    vocabulary = read_vocabulary(written(tmp_path / "labels.ttl", text))
    assert sorted(vocabulary.concepts) == [
        "http://example.org/#bee",
        "http://example.org/insects/all",
    ]


def test_a_file_that_is_a_concept_itself_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    text = "<> a <http://www.w3.org/2004/02/skos/core#Concept> .\n"
    with pytest.raises(InputError, match="says of itself"):
        read_vocabulary(written(tmp_path / "labels.ttl", text))


@pytest.mark.parametrize("suffix", [".ttl", ".rdf"])
def test_a_thesaurus_with_a_very_long_line_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr("labelgrove.core.files.LINE", 100)
    path = tmp_path / f"bomb{suffix}.gz"
    path.write_bytes(gzip.compress(b"<" * 101))
    with pytest.raises(BadRowError, match="break the file into shorter lines") as raised:
        read_vocabulary(path)
    assert "document" not in str(raised.value)


def test_a_table_of_labels_with_a_very_long_line_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labelgrove.core.files.LINE", 100)
    with pytest.raises(BadRowError, match="write each label on a line of its own"):
        read_vocabulary(written(tmp_path / "labels.tsv", "a" * 101))
