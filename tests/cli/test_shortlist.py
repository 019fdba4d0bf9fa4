import json

import pytest

from command_line import called
from labelgrove import Tagger
from labelgrove.models.contract import known_answer
from llm_server import LanguageModel, fails


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    texts, labels = known_answer(60)
    folder = tmp_path_factory.mktemp("tagger") / "quick"
    Tagger("one-vs-rest", validation=0, threads=1).fit(texts, labels).save(folder)
    return str(folder)


def test_a_single_text_gives_the_schema_or_the_prompt_as_it_is(folder):
    schema = json.loads(
        called("shortlist", folder, "--text", "topic3a", "-k", "4", "--as", "schema").stdout
    )
    names = schema["properties"]["labels"]["items"]["enum"]
    assert len(names) == 4
    told = called("shortlist", folder, "--text", "topic3a", "-k", "4", "--as", "prompt").stdout
    assert "\nText:\ntopic3a\n" in told
    assert all(f"\n- {name}\n" in told for name in names)


def test_a_file_gives_a_line_for_each_text(folder, tmp_path):
    file = tmp_path / "docs.jsonl"
    rows = [{"id": "a", "text": "topic1a topic1b"}, {"id": "b", "text": ""}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = called("shortlist", folder, str(file), "-k", "3")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["id"] for line in lines] == ["a", "b"]
    assert [len(line["candidates"]) for line in lines] == [3, 0]
    assert lines[0]["candidates"][0]["label"] == "label 01"
    assert "document b has no text" in done.stderr
    form = called("shortlist", folder, str(file), "-k", "3", "--as", "schema", "--unique").stdout
    first = json.loads(form.splitlines()[0])
    assert first["schema"]["properties"]["labels"]["uniqueItems"] is True


def test_wrong_calls(folder):
    assert "either a file" in called("shortlist", folder, check=2).stderr
    done = called("shortlist", folder, "--text", "x", "--unique", check=2)
    assert "--as schema" in done.stderr


def test_train_and_tag_say_where_texts_go(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts, labels = known_answer(60)
    rows = [{"text": t, "labels": each} for t, each in zip(texts, labels, strict=True)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with LanguageModel() as model:
        own = [f"url={model.url}", "model=stand-in", "cache=answers", "candidates=5"]
        options = [word for each in own for word in ("--set", each)]
        done = called("train", "train.jsonl", "--model", "rerank", *options, "--validation", "0.3",
                      "--out", "reranked")  # fmt: skip
        assert f"sent to {model.url}" in done.stderr
        done = called("tag", "reranked", "train.jsonl")
        assert f"the texts are sent to {model.url}" in done.stderr
        assert "language model: " in done.stderr
        assert "60 answers known before" not in done.stderr
        done = called("tag", "reranked", "--text", texts[0])
        assert f"the texts are sent to {model.url}" in done.stderr
        again = called("tag", "reranked", "train.jsonl")
        assert "0 requests" in again.stderr
        assert "60 answers known before" in again.stderr
        # quiet hides what went well, and not that the labels are worse than they could be
        assert called("tag", "reranked", "train.jsonl", "-q").stderr == ""
        model.behave = fails(400)
        lost = "keep the ranking of the first stage"
        (tmp_path / "new.jsonl").write_text('{"text": "a new text"}\n{"text": "another text"}\n')
        done = called("tag", "reranked", "new.jsonl", "-q")
        assert f"2 texts {lost}" in done.stderr
        for command in (("tag", "reranked"), ("shortlist", "reranked")):
            for quiet in ((), ("-q",)):
                done = called(*command, "--text", f"a text of {command[0]}{quiet}", *quiet)
                assert done.stderr.count(lost.replace("keep", "keeps")) == 1, (command, quiet)


def test_a_text_without_words_has_no_schema_and_no_prompt(folder, tmp_path):
    for form in ("schema", "prompt"):
        done = called("shortlist", folder, "--text", " ", "--as", form, check=2)
        assert done.stdout == ""
        assert "the text is empty, so no labels can be chosen from" in done.stderr
        assert f"give --text a text for a {form}" in done.stderr
    file = tmp_path / "texts.jsonl"
    file.write_text('{"text": "", "id": "a"}\n{"text": "red apples", "id": "b"}\n')
    done = called("shortlist", folder, str(file), "--as", "schema")
    empty, filled = map(json.loads, done.stdout.splitlines())
    assert empty == {"id": "a", "schema": None}
    assert filled["schema"]["properties"]["labels"]["items"]["enum"]
    assert "document a has no text, so no candidates" in done.stderr
