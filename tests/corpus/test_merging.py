import pytest

from labelgrove import Tagger, read_corpus
from labelgrove.core.errors import BadRowError, InputError
from labelgrove.corpus import read_like
from labelgrove.corpus.merging import as_cell, read_merges


@pytest.fixture
def files(tmp_path):
    (tmp_path / "merges.tsv").write_text(
        "from\tto\tdocuments\n# reviewed\nEnergy\tenergy\t3\n\nenergies\tEnergy\t1\nsun\tsun\n"
    )
    (tmp_path / "docs.csv").write_text(
        "text,labels\nwind,Energy;energies\nrain,weather\nsun,energy;sun\n"
    )
    return tmp_path


def test_chains_end_in_one_label_and_a_documents_labels_stay_distinct(files):
    assert read_merges(files / "merges.tsv") == {"Energy": "energy", "energies": "energy"}
    corpus = read_corpus(files / "docs.csv", merge=files / "merges.tsv")
    assert [*corpus.labels()] == [("energy",), ("weather",), ("energy", "sun")]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("a\tb\nb\ta\n", "in a circle"),
        ("a\tb\na\tc\n", r"line 2.*replaced by \"b\" above"),
        ("a b\n", "line 1.*a tab"),
        ("a\t \n", "a label is empty"),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path, rows, problem):
    (tmp_path / "m.tsv").write_text(rows)
    with pytest.raises(BadRowError, match=problem):
        read_merges(tmp_path / "m.tsv")


def test_a_tagger_remembers_merges_and_applies_them_to_later_files(files, tmp_path):
    corpus = read_corpus(files / "docs.csv", merge=files / "merges.tsv")
    Tagger("most-frequent", validation=0).fit(corpus).save(tmp_path / "t")
    tagger = Tagger.load(tmp_path / "t")
    (files / "merges.tsv").unlink()
    assert tagger.labels_.ids == ["energy", "sun", "weather"]
    later = read_like(files / "docs.csv", tagger.learned_.reading, {})
    assert [*later.labels()] == [*corpus.labels()]


def test_lists_and_files_of_features_are_not_merged(tmp_path):
    with pytest.raises(InputError, match="lists of labels"):
        read_corpus((["a"], [["b"]]), merge={"b": "c"})
    (tmp_path / "a.svm").write_text("1 2 3\n0 1:1\n")
    with pytest.raises(InputError, match="svmlight"):
        read_corpus(tmp_path / "a.svm", merge={"0": "1"})


def test_labels_with_marks_of_the_file_are_read_as_they_are_written(tmp_path):
    labels = ["#Python", " padded ", "a\tb", 'the "A" team', '"', "'", "plain"]
    lines = [f"{as_cell(label)}\tto {i}\n" for i, label in enumerate(labels)]
    (tmp_path / "m.tsv").write_text("# comment\n#\t\t\n" + "".join(lines))
    assert read_merges(tmp_path / "m.tsv") == {label: f"to {i}" for i, label in enumerate(labels)}


def test_blanks_around_a_label_do_not_count_and_quotes_of_spreadsheets_go(tmp_path):
    (tmp_path / "m.tsv").write_text('Energy \t energy\t7\n"a, b"\t "a; ""b"""\nx "y"\tz\n')
    merges = read_merges(tmp_path / "m.tsv")
    assert merges == {"Energy": "energy", "a, b": 'a; "b"', 'x "y"': "z"}
