"""Annif's documents and vocabularies become ours."""

import gzip
import json

import pytest

from command_line import called
from labelgrove.corpus import read_corpus
from labelgrove.labels import read_vocabulary

S, F, X = (f"http://example.org/{name}" for name in "sfx")
CSV = f"""uri,notation,label_fi,label_en
{S},42.1,Aurinkoenergia,Solar energy
<{F}>,,Suomi,Finland
{X},,,
"""
TABLE = f"<{S}>\tSolar energy\t42.1\n<{F}>\tFinland\n<{X}>\n"
TURTLE = f"""@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<{S}> a skos:Concept ; skos:prefLabel "Solar energy"@en, "Aurinkoenergia"@fi ; skos:broader <{X}> .
<{X}> a skos:Concept ; skos:prefLabel "Energy"@en ; skos:broader <{F}> .
<{F}> a skos:Concept ; skos:prefLabel "Finland"@en, "Suomi"@fi .
"""
SHORT = f"sun and wind\t<{S}> <{F}>\nlakes\t<{F}>\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("v.csv", CSV), ("v.tsv", TABLE), ("v.ttl", TURTLE), ("docs.tsv", SHORT)):
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def converted(*arguments):
    done = called("convert", *arguments, "--out", "out", "--json", "-", "--overwrite", "-q")
    return json.loads(done.stdout)


def rows(place, name="docs"):
    return [json.loads(line) for line in (place / f"out/{name}.jsonl").read_text().splitlines()]


def names(place):
    concepts = read_vocabulary(place / "out/labels.tsv").concepts
    return {uri: concept.name for uri, concept in concepts.items()}


@pytest.mark.parametrize(
    ("file", "options", "expected"),
    [
        ("v.csv", (), {S: "Solar energy", F: "Finland"}),
        ("v.csv", ("--language", "fi"), {S: "Aurinkoenergia", F: "Suomi"}),
        ("v.tsv", (), {S: "Solar energy", F: "Finland"}),
        ("v.ttl", (), {S: "Solar energy", F: "Finland", X: "Energy"}),
        ("v.ttl", ("--language", "fi"), {S: "Aurinkoenergia", F: "Suomi", X: "Energy"}),
    ],
)
def test_every_kind_of_vocabulary_is_read(place, file, options, expected):
    record = converted("docs.tsv", "--labels", file, *options)
    assert names(place) == expected
    assert record["labels"] == len(expected)
    assert record["documents"] == {"out/docs.jsonl": 2}
    assert [document.labels for document in read_corpus(place / "out/docs.jsonl")] == [(S, F), (F,)]


def test_deprecated_concepts_are_left_out(place):
    owl = "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    (place / "v.ttl").write_text(f"{owl}{TURTLE}<{F}> owl:deprecated true .\n", "utf-8")
    converted("docs.tsv", "--labels", "v.ttl")
    assert names(place) == {S: "Solar energy", X: "Energy"}
    assert read_vocabulary(place / "out/labels.tsv").concepts[X].parents == ()
    assert rows(place)[1]["labels"] == [F]


def test_a_folder_of_annifs_data_is_a_vocabulary(place):
    folder = place / "data/vocabs/small"
    folder.mkdir(parents=True)
    (folder / "subjects.dump.gz").write_bytes(b"pickled")
    done = called("convert", "docs.tsv", "--labels", str(folder), "--out", "out", check=2)
    assert "subjects.dump.gz is pickled, which is never read" in done.stderr
    (folder / "subjects.csv").write_text(CSV, "utf-8")
    converted("docs.tsv", "--labels", folder)
    assert names(place) == {S: "Solar energy", F: "Finland"}
    (folder / "subjects.ttl").write_text(TURTLE, "utf-8")
    converted("docs.tsv", "--labels", folder)
    assert X in names(place)


@pytest.mark.parametrize(
    ("include", "exclude", "kept"),
    [
        (None, f"<{F}>\n", {S, X}),
        (f"# only\n{S}\n", None, {S}),
        (S, "*", {S}),
        (F, f"{F}\n{X}", {S, F}),
    ],
)
def test_lists_say_which_subjects_are_kept(place, include, exclude, kept):
    options = ()
    for name, text in (("include", include), ("exclude", exclude)):
        if text is not None:
            (place / name).write_text(text, "utf-8")
            options = (*options, f"--{name}", name)
    record = converted("docs.tsv", "--labels", "v.ttl", *options)
    assert set(names(place)) == kept
    assert [set(row["labels"]) for row in rows(place)] == [{S, F} & kept, {F} & kept]
    assert record["left_out"] == (0 if F in kept else 2)
    assert record["without"] == (0 if F in kept else 1)
    # what lay below a subject that is left out lies below the next one above it
    above = read_vocabulary(place / "out/labels.tsv").concepts[S].parents if S in kept else ()
    assert above == ((X,) if X in kept else (F,) if F in kept else ())


def test_json_documents_with_ids_and_metadata(place):
    documents = [
        {
            "document_id": "a",
            "text": "sun",
            "subjects": [{"uri": S, "label": "?"}, {"label": "Finland"}],
        },
        {"metadata": {"title": "Lakes", "abstract": "of Finland"}, "subjects": []},
    ]
    lines = "".join(json.dumps(each) + "\n" for each in documents)
    (place / "docs.jsonl").write_text(lines, "utf-8")
    record = converted("docs.jsonl", "--labels", "v.csv")
    assert rows(place) == [
        {"text": "sun", "labels": [S, F], "id": "a"},
        {"text": "Lakes\nof Finland", "labels": []},
    ]
    assert record["without"] == 1
    folder = place / "folder"
    folder.mkdir()
    (folder / "one.json").write_text(json.dumps(documents[1], indent=2), "utf-8")
    (folder / "two.txt").write_text("sun", "utf-8")
    (folder / "two.key").write_text("Solar energy\n", "utf-8")
    converted("folder", "--labels", "v.csv")
    assert rows(place, "folder") == [
        {"text": "sun", "labels": [S], "id": "two"},
        {"text": "Lakes\nof Finland", "labels": [], "id": "one"},
    ]


def test_csv_documents(place):
    table = f'document_id,title,text,subject_uris\n7,A,"sun,\nwind",<{S}> {F}\n8,B,lakes,\n'
    with gzip.open(place / "docs.csv.gz", "wt", encoding="utf-8") as file:
        file.write(table)
    converted("docs.csv.gz")
    assert rows(place) == [
        {"text": "sun,\nwind", "labels": [S, F], "id": "7"},
        {"text": "lakes", "labels": [], "id": "8"},
    ]
    assert not (place / "out/labels.tsv").exists()


def test_marc_headings_become_concepts(place):
    folder = place / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("sun", "utf-8")
    headings = ["650 _7 $a Solar energy $z Finland $y 1990s. $2 yso", f"$a Other $0 {X}"]
    (folder / "a.key").write_text("\n".join([*headings, "$a Law -- history", "$5 notes"]), "utf-8")
    record = converted("docs", "--labels", "v.ttl")
    assert rows(place)[0]["labels"] == [S, F, X, "Law -- history", "$5 notes"]
    assert (record["headings"], record["unmatched"]) == (3, ["1990s"])
    assert record["unknown"] == ["Law -- history", "$5 notes"]


@pytest.mark.parametrize(
    ("name", "text", "options", "said"),
    [
        ("v2.csv", "uri,name\na,b\n", ("--labels", "v2.csv"), "no columns uri and label_en"),
        ("v2.csv", f"{CSV}{S},,a,b\n", ("--labels", "v2.csv"), "v2.csv, line 5"),
        ("v.csv", CSV, ("--labels", "v.csv", "--language", "sv"), "no names in 'sv'"),
        ("none", "# nothing\n", ("--exclude", "none"), "none lists no subjects"),
        ("all", "*\n", ("--labels", "v.csv", "--exclude", "all"), "no subject of v.csv is kept"),
        ("docs.tsv", SHORT, ("--language", "fi"), "--labels"),
        ("docs.jsonl", '{"subjects": [3], "text": "a"}\n', (), "a subject has a uri or a label"),
        ("docs.jsonl", '{"subjects": 3, "text": "a"}\n', (), "subjects must be a list"),
    ],
)
def test_what_cannot_be_converted_is_told(place, name, text, options, said):
    (place / name).write_text(text, "utf-8")
    source = name if name.endswith("jsonl") else "docs.tsv"
    done = called("convert", source, "--out", "out", *options, check=2)
    assert said in done.stderr
    assert not (place / "out/docs.jsonl").exists()


def test_nothing_is_replaced_unless_asked(place):
    converted("docs.tsv")
    done = called("convert", "docs.tsv", "--out", "out", check=2)
    assert "--overwrite" in done.stderr


def test_a_file_of_another_form_is_read_by_the_options_of_all_commands(place):
    (place / "docs.csv").write_text(f"titel;sachen\nSonne;<{S}>\n", "utf-8")
    done = called("convert", "docs.csv", "--out", "out", check=2)
    (line,) = done.stderr.splitlines()
    assert "there is no field 'text'; the fields are 'titel', 'sachen'" in line
    assert line.endswith("It is no CSV of Annif's, whose columns are text and subject_uris")
    named = ("--text-field", "titel", "--labels-field", "sachen")
    assert all(option in called("convert", "--help").stdout for option in named[::2])
    converted("docs.csv", *named)
    assert rows(place) == [{"text": "Sonne", "labels": [S]}]


def test_a_csv_with_one_of_annifs_columns_is_told_which_it_has(place):
    (place / "docs.csv").write_text("title,subject_uris\na,b\n", "utf-8")
    done = called("convert", "docs.csv", "--out", "out", check=2)
    assert "which a CSV of Annif has; its columns are 'title', 'subject_uris'" in done.stderr


@pytest.mark.parametrize("labels", [("--labels", "v.csv"), ()])
def test_uris_of_the_lists_that_nobody_knows_are_told(place, labels):
    (place / "gone").write_text(f"{F}\nhttp://example.org/gone\n", "utf-8")
    (place / "kept").write_text(f"{S}\nhttp://example.org/also-gone\n", "utf-8")
    lists = ("--exclude", "gone", "--include", "kept")
    done = called("convert", "docs.tsv", "--out", "out", *lists, *labels)
    of = "the vocabulary does not have" if labels else "no document has"
    said = f"URIs of --include and --exclude that {of}: 2 ('http://example.org/also-gone', "
    assert f"{said}'http://example.org/gone')" in done.stdout
    record = converted("docs.tsv", *lists, *labels)
    assert record["unlisted"] == ["http://example.org/also-gone", "http://example.org/gone"]
    (place / "gone").write_text("*\n", "utf-8")
    (place / "kept").write_text(f"{S}\n", "utf-8")
    assert converted("docs.tsv", *lists, *labels)["unlisted"] == []


def test_files_of_labels_without_a_text_are_told(place):
    folder = place / "docs"
    folder.mkdir()
    for name, text in (("a.txt", "sun"), ("a.key", "x"), ("b.key", "y"), ("c.tsv", f"<{S}>\tz")):
        (folder / name).write_text(text, "utf-8")
    done = called("convert", "docs", "--out", "out")
    said = "docs: 2 files of labels have no text beside them, and are passed over: b.key, c.tsv"
    assert said in done.stdout
    assert len(rows(place)) == 1
    (folder / "a.key").unlink()
    done = called("convert", "docs", "--out", "out", "--overwrite", check=2)
    assert "a.txt: there is neither a.tsv nor a.key beside it" in done.stderr


def test_a_heading_without_a_name_is_told_and_left_out(place):
    lines = [{"text": "sun", "subjects": [{"label": "650 _7 $a $2 yso"}, {"uri": S}]}]
    (place / "docs.jsonl").write_text(json.dumps(lines[0]) + "\n", "utf-8")
    done = called("convert", "docs.jsonl", "--out", "out")
    assert "MARC headings without a name, left out: 1 ('650 _7 $a $2 yso')" in done.stdout
    assert rows(place) == [{"text": "sun", "labels": [S]}]
