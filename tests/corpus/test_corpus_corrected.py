"""A corpus with the feedback of readers, and the file that feedback comes from."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove.core.errors import BadRowError, InputError
from labelgrove.core.random import text_fraction
from labelgrove.corpus import Corpus, Corrected, Document, read_corpus, read_feedback
from labelgrove.corpus.corrected import changes, held_out


def line(text, labels, **more):
    """Return a line as the service writes it."""
    row = {"text": text, "labels": labels, "rejected": ["bad"], "model": "my-tagger"}
    return json.dumps(row | {"time": "2026-11-16T23:59:00+00:00"} | more) + "\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my-tagger.feedback.jsonl"
    path.write_text(line("sun", ["star"]) + line("coal", ["fuel"], id="7") + line("fog", []))
    return path


@pytest.fixture
def corpus(tmp_path):
    rows = [("wind", ["air"], 1), ("sun", ["air"], 2), ("sun", ["air", "star"], 3)]
    path = tmp_path / "train.jsonl"
    path.write_text(
        "".join(json.dumps(dict(zip(("text", "labels", "id"), row, strict=True))) + "\n"
                for row in rows)
    )  # fmt: skip
    return read_corpus(path)


def test_what_was_judged_replaces_labels_and_the_rest_is_added(corpus, file):
    corrected = Corrected(corpus, read_feedback(file).documents)
    wanted = [
        Document("wind", ("air",), "1"),
        Document("sun", ("star",), "2"),
        Document("sun", ("star",), "3"),
        Document("coal", ("fuel",), "7"),
        Document("fog", (), None),
    ]
    assert list(corrected) == wanted
    assert list(corrected) == wanted, "it can be read again"


def test_texts_can_be_left_out_of_both(corpus, file):
    corrected = Corrected(corpus, read_feedback(file).documents, {"sun", "coal"})
    assert list(corrected.texts()) == ["wind", "fog"]


def test_the_corpus_is_streamed(corpus, file):
    stream = iter(Corrected(corpus, read_feedback(file).documents))
    assert next(stream).text == "wind"
    assert corpus.position == 1


def test_kind_and_skipped_rows_are_those_of_the_corpus(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_text('{"text": "a", "labels": ["x"]}\nnonsense\n')
    corrected = Corrected(read_corpus(path, on_bad="skip"), {"b": Document("b")})
    assert len(list(corrected)) == 2
    assert corrected.skipped == 1
    assert corrected.featurizer is None
    assert str(path) in corrected.name
    features = tmp_path / "train.svm"
    features.write_text("1 3 2\n0 1:0.5\n")
    assert Corrected(read_corpus(features), {}).featurizer == "given"


def test_the_last_word_on_a_text_counts(tmp_path):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text(line("sun", ["air"]) + line("fog", ["air"]) + line("sun", ["star"]))
    second.write_text(line("fog", ["water"]))
    found = read_feedback([first, second])
    assert {text: document.labels for text, document in found.documents.items()} == {
        "sun": ("star",),
        "fog": ("water",),
    }
    assert found.lines == 4
    assert read_feedback([second, first]).documents["fog"].labels == ("air",)


@pytest.mark.parametrize("length", range(1, len(line("Öl", ["fuel"]).encode()) - 1))
def test_a_line_that_was_cut_off_is_left_out(file, length):
    with file.open("ab") as end:
        end.write(line("Öl", ["fuel"]).encode()[:length])
    found = read_feedback(file)
    assert found.documents.keys() == {"sun", "coal", "fog"}
    assert found.torn == (str(file),)
    assert found.lines == 3


def test_a_last_line_that_lacks_only_its_end_counts(file):
    with file.open("a") as end:
        end.write(line("oil", ["fuel"]).rstrip("\n"))
    found = read_feedback(file)
    assert found.documents["oil"].labels == ("fuel",)
    assert found.torn == ()


def test_a_cut_line_of_a_compressed_file_is_left_out(tmp_path):
    path = tmp_path / "old.feedback.jsonl.gz"
    path.write_bytes(gzip.compress((line("sun", ["star"]) + '{"text": "co').encode()))
    assert read_feedback(path).torn == (str(path),)


@pytest.mark.parametrize("bad", ['{"text": "co\n', '{"text": "coal"}\n', "[1]\n", "\0\0\n"])
def test_any_other_bad_line_is_an_error(file, bad):
    whole = file.read_text()
    file.write_text(whole + bad)
    with pytest.raises(BadRowError, match="line 4: "):
        read_feedback(file)
    file.write_text(bad + whole)
    with pytest.raises(BadRowError, match="line 1: "):
        read_feedback(file)


def test_no_feedback_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"no feedback in .*no\.jsonl: 'labelgrove serve' writes"):
        read_feedback(tmp_path / "no.jsonl")
    empty = tmp_path / "empty.jsonl"
    for content in ("", '{"text": "a'):
        empty.write_text(content)
        with pytest.raises(InputError, match="is empty"):
            read_feedback(empty)


def test_lines_that_were_written_aside_are_read(file):
    """A service whose file another process held wrote them, and was killed."""
    before = read_feedback(file)
    aside = file.with_name(f"{file.name}.aside-4194305")
    aside.write_text('{"text": "hail", "labels": ["air"]}\n{"text": "ha')
    file.with_name(f"{file.name}.aside-4194306").write_text("")
    after = read_feedback(file)
    assert after.documents == {**before.documents, "hail": Document("hail", ("air",))}
    assert after.lines == before.lines + 1
    file.write_text("")
    assert list(read_feedback(file).documents) == ["hail"]
    aside.write_text("no JSON\n" + aside.read_text())
    with pytest.raises(BadRowError, match=r"aside-4194305, line 1: "):
        read_feedback(file)


def test_changes_are_counted(corpus, file):
    found = changes(corpus, read_feedback(file).documents)
    assert found == (3, 2, 0, frozenset({"sun"}))
    said = {"sun": Document("sun", ("star", "air"))}
    assert changes(corpus, said)[:3] == (3, 1, 1), "the order of labels does not matter"


def test_a_share_is_held_out_and_a_text_keeps_its_side():
    texts = [f"text {i}" for i in range(5000)]
    held = held_out(texts, 0.2)
    assert 900 < len(held) < 1100
    assert held_out(reversed(texts[:100]), 0.2) == held & set(texts[:100])
    assert held_out(texts, 0.3) > held
    # of those that are left, a tagger must be able to hold some out by its own hash
    calibrating = [text for text in texts if text not in held and text_fraction(text) < 0.1]
    assert 330 < len(calibrating) < 470


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sets(st.sampled_from("xyz")))),
    st.lists(st.tuples(st.sampled_from("abcde"), st.sets(st.sampled_from("xyz")))),
)
def test_every_text_comes_once_more_only_if_it_was_there(rows, said):
    feedback = {text: Document(text, tuple(sorted(labels))) for text, labels in said}
    texts, labels = [text for text, _ in rows], [sorted(labels) for _, labels in rows]
    corpus = Corpus.from_lists(texts, labels)
    if not rows:
        return
    found = list(Corrected(corpus, feedback))
    assert [each.text for each in found[: len(rows)]] == texts
    assert sorted(each.text for each in found[len(rows) :]) == sorted(feedback.keys() - {*texts})
    assert all(each.labels == feedback[each.text].labels for each in found if each.text in feedback)
    counted = changes(corpus, feedback)
    assert counted.corrected + counted.confirmed == sum(text in feedback for text in texts)


def test_a_table_that_was_filled_in_is_feedback(tmp_path):
    filled, later = tmp_path / "batch.csv", tmp_path / "said.jsonl"
    filled.write_text("id,text,labels,proposed\n1,Wind,energy; sky,sea\n2,Sun,,star\n3,Sea,sea,\n")
    later.write_text('{"text": "Sea", "labels": ["water"]}\n')
    said = read_feedback([filled, later])
    assert {text: each.labels for text, each in said.documents.items()} == {
        "Wind": ("energy", "sky"),
        "Sea": ("water",),
    }
    assert (said.lines, said.torn) == (3, ())
    filled.write_text("id,text,labels\n1,Wind,\n")
    with pytest.raises(InputError, match=r"no row of .*batch\.csv has labels"):
        read_feedback(filled)
