import json
import pickle
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

import llm_server
from command_line import called
from labelgrove import Tagger, models
from labelgrove.core.errors import InputError
from labelgrove.core.progress import Silent
from labelgrove.core.ranking import Ranking
from labelgrove.core.types import Run
from labelgrove.models.contract import known_answer
from labelgrove.models.rerank import asking, server
from labelgrove.models.rerank.combining import Judgement
from labelgrove.models.rerank.prompts import ChosenLabels
from labelgrove.tagger.bulk import tag_files
from llm_server import LanguageModel

TEXTS, LABELS = known_answer(160)
# documents have names, and the vocabulary ids: what is asked about are the names
VOCABULARY = [
    {"id": f"label {n:02d}", "name": f"topic{n}a", "description": f"about {n}"} for n in range(12)
]


class Heard(Silent):
    def __init__(self):
        self.lines = []

    def say(self, message):
        self.lines.append(message)


@pytest.fixture
def language_model(monkeypatch):
    monkeypatch.setattr(server, "FIRST_PAUSE", 0.01)
    with LanguageModel() as model:
        yield model


def new(model, **settings):
    settings = {"candidates": 8, "timeout": 20.0, "threads": 1, **settings}
    return models.create("rerank", url=model.url, model="stand-in", **settings)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A tagger that was saved, where, what it said, and what its server was asked."""
    folder = tmp_path_factory.mktemp("trained")
    heard = Heard()
    with LanguageModel() as model:
        classifier = new(model, calibrate_on=12, cache=str(folder / "answers"))
        tagger = Tagger(classifier, validation=0.2, threads=1)
        tagger.fit(TEXTS, LABELS, vocabulary=vocabulary(folder), run=Run(progress=heard))
        asked = [llm_server.text_and_candidates(body) for body in model.bodies]
    tagger.save(folder / "tagger")
    return folder / "tagger", heard.lines, asked


def vocabulary(folder):
    file = folder / "labels.tsv"
    rows = ["id\tname\tdescription", *("\t".join(each.values()) for each in VOCABULARY)]
    file.write_text("\n".join(rows) + "\n")
    return file


def loaded(trained, monkeypatch, model, **settings):
    """Return the tagger, asking another server."""
    monkeypatch.setenv("LABELGROVE_LLM_URL", model.url)
    tagger = Tagger.load(trained[0])
    tagger.model_.set_params(**{"cache": str(trained[0].parent / "none"), **settings})
    return tagger


def test_tagging_into_a_folder_says_where_texts_go_and_what_it_cost(
    trained, language_model, monkeypatch, tmp_path
):
    monkeypatch.setenv("LABELGROVE_LLM_URL", language_model.url)
    monkeypatch.setenv("LABELGROVE_CACHE", "off")
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS[:3]))
    heard = Heard()
    tag_files(trained[0], [str(tmp_path / "texts.txt")], tmp_path / "out", progress=heard)
    assert f"the texts are sent to {language_model.url}" in heard.lines
    assert any(line.startswith("language model: 3 requests to") for line in heard.lines)


@pytest.mark.parametrize("command", ["tag", "explain"])
def test_commands_about_one_text_say_where_it_goes(trained, language_model, monkeypatch, command):
    monkeypatch.setenv("LABELGROVE_LLM_URL", language_model.url)
    monkeypatch.setenv("LABELGROVE_CACHE", "off")
    said = called(command, trained[0], "--text", TEXTS[0]).stderr
    assert f"the texts are sent to {language_model.url}" in said
    assert "language model: 1 request to" in said


def test_it_is_no_first_stage_and_bounds_what_a_consensus_asks():
    with pytest.raises(InputError, match="ask a language model about every training text"):
        models.create("xml-cnn", first="rerank")
    partners = models.create("consensus", partners=["bonsai", "rerank"])
    assert partners.most_held_out == models.create("rerank").calibrate_on
    assert models.create("consensus", partners=["bonsai", "knn"]).most_held_out is None


def test_training_sends_a_few_held_out_texts_and_no_other(trained):
    _, lines, asked = trained
    sent = {text for text, _ in asked} - {"A short text."}
    assert len(sent) == 12
    assert sent <= set(TEXTS)
    assert len(asked) == 13  # calibrating asked nothing twice
    assert any("12 held-out texts are sent to http://127.0.0.1" in line for line in lines)
    assert any("12 of the" in line for line in lines)
    (told,) = [line for line in lines if line.startswith("language model:")]
    assert "12 requests" in told
    assert "1,200 prompt and 120 completion tokens" in told


def test_a_question_holds_names_and_descriptions_and_no_key_is_saved(
    trained, language_model, monkeypatch
):
    monkeypatch.setenv("LABELGROVE_LLM_KEY", "a-secret")
    tagger = loaded(trained, monkeypatch, language_model)
    tagger.tag(TEXTS[0])
    (body,) = language_model.bodies
    assert body["model"] == "stand-in"
    assert body["temperature"] == 0
    text, names = llm_server.text_and_candidates(body)
    assert text == TEXTS[0]
    assert len(names) == 8
    assert set(names) <= {each["name"] for each in VOCABULARY}
    assert f"- {names[0]}: about " in body["messages"][0]["content"]
    assert language_model.keys == ["Bearer a-secret"]
    tagger.save(trained[0].parent / "again", overwrite=True)
    for file in (trained[0].parent / "again").rglob("*"):
        assert file.is_dir() or b"a-secret" not in file.read_bytes()


def test_what_it_chooses_is_ranked_first_and_probable(trained, language_model, monkeypatch):
    tagger = loaded(trained, monkeypatch, language_model)
    for text, labels in zip(TEXTS[:20], LABELS[:20], strict=True):
        tags = tagger.tag(text, k=12)
        assert {tag.label for tag in tags[: len(labels)]} == set(labels)
        scores = [tag.score for tag in tags]
        assert scores == sorted(scores, reverse=True)
        assert min(scores[: len(labels)]) > 0.5 > max(scores[len(labels) :])


def test_training_may_send_nothing(language_model):
    heard = Heard()
    tagger = Tagger(new(language_model, calibrate_on=0), validation=0.2)
    tagger.fit(TEXTS, LABELS, run=Run(progress=heard))
    assert len(language_model.bodies) == 1  # whether it answers at all
    assert "rerank may rank 0 held-out documents: nothing is calibrated" in heard.lines
    assert not tagger.learned_.tuned


def test_a_second_run_asks_nothing_also_in_another_process(trained, language_model, monkeypatch):
    cache = str(trained[0].parent / "kept")
    first = loaded(trained, monkeypatch, language_model, cache=cache).tag(TEXTS[:20])
    assert len(language_model.bodies) == 20
    assert language_model.most_together > 1
    again = loaded(trained, monkeypatch, language_model, cache=cache)
    assert again.tag(TEXTS[:20]) == first
    assert len(language_model.bodies) == 20
    (note,) = again.model_.take_notes()
    assert "0 requests" in note
    assert "20 answers known before" in note
    assert again.model_.take_notes() == []


@pytest.mark.parametrize(
    ("behave", "said"),
    [
        (llm_server.says("I cannot say."), "no JSON with labels"),
        (llm_server.fails(400, message="no such model"), "HTTP 400; HTTP 400: no such model"),
        (llm_server.fails(503), "HTTP 503"),
        (llm_server.cuts, "the connection broke"),
        (lambda request, body: time.sleep(1.5) or True, "no answer within 0.5 s"),
    ],
)
def test_without_an_answer_the_ranking_of_the_first_stage_stays(
    trained, language_model, monkeypatch, behave, said
):
    language_model.behave = behave
    tagger = loaded(trained, monkeypatch, language_model, timeout=0.5)
    ranking = tagger.rank(TEXTS[:3], k=12)
    learned = tagger.learned_
    first = learned.model.first_.rank(learned.features(TEXTS[:3]), 12)
    assert np.array_equal(ranking.labels, first.labels)
    assert (np.diff(ranking.scores, axis=1) <= 0).all()
    (note,) = tagger.model_.take_notes()
    assert f"3 texts keep the ranking of the first stage (3 {said}" in note


def test_a_server_that_is_gone_costs_little(trained, language_model, monkeypatch):
    monkeypatch.setattr(asking, "MOST_FAILURES", 2)
    language_model.behave = llm_server.fails(400)
    tagger = loaded(trained, monkeypatch, language_model, parallel=1)
    tagger.tag(TEXTS[:30])
    assert len(language_model.bodies) == 2
    (note,) = tagger.model_.take_notes()
    assert "30 texts keep" in note
    assert "28 not asked after failures in a row" in note
    monkeypatch.setattr(asking.time, "monotonic", lambda then=time.monotonic: then() + 100)
    language_model.behave = None
    tagger.tag(TEXTS[:30])
    assert len(language_model.bodies) == 32


def test_labels_that_it_makes_up_are_dropped_and_counted(trained, language_model, monkeypatch):
    language_model.choose = lambda body: [*llm_server.chosen(body), "topic99a", "wind"]
    tagger = loaded(trained, monkeypatch, language_model)
    known = {each["id"] for each in VOCABULARY}
    assert {tag.label for tag in tagger.tag(TEXTS[0], k=12)} <= known
    assert "2 labels that no candidate is called dropped" in tagger.model_.take_notes()[0]


def test_texts_without_words_are_not_sent(trained, language_model, monkeypatch):
    tagger = loaded(trained, monkeypatch, language_model)
    assert len(tagger.tag(["", "  \n"])) == 2
    assert not language_model.bodies


def test_options_and_formats_of_a_request(trained, language_model, monkeypatch):
    language_model.behave = llm_server.says('{"labels": []}')
    settings = {"answer_format": "json_object", "temperature": None, "max_tokens": None}
    more = {"options": {"seed": 3, "max_completion_tokens": 9}, "describe": False}
    tagger = loaded(trained, monkeypatch, language_model, **settings, **more)
    tagger.tag(TEXTS[0])
    (body,) = language_model.bodies
    assert body["response_format"] == {"type": "json_object"}
    assert body["seed"] == 3
    assert body["max_completion_tokens"] == 9
    assert not body.keys() & {"temperature", "max_tokens"}
    assert "about " not in body["messages"][0]["content"]
    tagger.model_.set_params(answer_format="text")
    tagger.tag(TEXTS[0])
    assert "response_format" not in language_model.bodies[1]


def test_words_are_those_of_the_first_stage(trained, language_model, monkeypatch):
    tagger = loaded(trained, monkeypatch, language_model)
    reasons = tagger.explain(TEXTS[0], LABELS[0][0])
    number = int(LABELS[0][0][-2:])
    assert max(reasons, key=lambda each: each.weight).text.startswith(f"topic{number}")


def test_a_consensus_says_what_its_partners_say(trained, language_model, monkeypatch):
    tagger = loaded(trained, monkeypatch, language_model)
    other = Tagger("one-vs-rest", validation=0, threads=1).fit(TEXTS, LABELS)
    both = Tagger.combine([tagger, other])
    assert {tag.label for tag in both.tag(TEXTS[0], k=len(LABELS[0]))} == set(LABELS[0])
    assert both.model_.sends_to() == [language_model.url]
    (note,) = both.model_.take_notes()
    assert "1 request " in note


def test_a_fitted_model_can_be_copied(trained, language_model, monkeypatch):
    tagger = loaded(trained, monkeypatch, language_model)
    before = tagger.tag(TEXTS[0])
    assert pickle.loads(pickle.dumps(tagger)).tag(TEXTS[0]) == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": ""}, "rerank needs url"),
        ({"model": ""}, "rerank needs model"),
        ({"url": "localhost"}, "url must be the address"),
        ({"first": "rerank"}, "is this model itself"),
        ({"options": {"messages": []}}, "options must be a table without"),
        ({"answer_format": "xml"}, "answer_format must be json_schema"),
    ],
)
def test_what_makes_no_sense_is_refused(language_model, settings, message):
    with pytest.raises(InputError, match=message):
        Tagger(new(language_model).set_params(**settings)).fit(TEXTS, LABELS)
    assert not language_model.bodies


def test_training_is_refused_while_the_server_does_not_answer(language_model):
    language_model.behave = llm_server.fails(404, message="no model stand-in")
    with pytest.raises(InputError, match="HTTP 404: no model stand-in"):
        Tagger(new(language_model)).fit(TEXTS, LABELS)
    language_model.behave = llm_server.says("yes!")
    with pytest.raises(InputError, match="no JSON with labels"):
        Tagger(new(language_model)).fit(TEXTS, LABELS)


NAMED = Ranking(
    np.array([[4, 2, 7], [1, 3, -1]], np.int32),
    np.array([[0.6, 0.4, 0.3], [0.5, 0.2, 0]], np.float32),
)


def test_chosen_labels_come_first_in_the_order_of_the_answer():
    judged = Judgement.unlearned()
    answers = [ChosenLabels((2, 1), 0), None]
    ranked = judged.ranked(NAMED, answers, "chosen-first")
    assert ranked.labels.tolist() == [[7, 2, 4], [1, 3, -1]]
    weighed = judged.ranked(NAMED, answers, "weigh")
    assert weighed.labels.tolist() == [[2, 7, 4], [1, 3, -1]]
    assert np.array_equal(weighed.scores, ranked.scores)
    # 0.4 is odds of 2 to 3, thirty times that once it was chosen: 20 to 1
    assert weighed.scores[0, 0] == pytest.approx(20 / 21, abs=1e-4)
    assert weighed.scores[1].tolist() == pytest.approx([0.5, 0.2, 0.0])


def test_a_language_model_that_chooses_at_random_is_not_believed():
    random = np.random.default_rng(0)
    scores = np.sort(random.uniform(0.05, 0.95, (300, 3)).astype(np.float32))[:, ::-1]
    named = Ranking(np.tile(np.arange(3, dtype=np.int32), (300, 1)), scores)
    Y = csr_array((random.random((300, 3)) < scores).astype(np.float32))
    answers = [ChosenLabels((int(random.integers(3)),), 0) for _ in range(300)]
    judged = Judgement.learned(named, answers, Y)
    assert abs(judged.both[2] + judged.both[3]) < 0.5  # it is 3.3 where nothing is known
    right = [ChosenLabels(tuple(np.flatnonzero(row).tolist()), 0) for row in Y.toarray()]
    believed = Judgement.learned(named, right, Y)
    assert believed.both[2] > judged.both[2] + 3
    found = believed.ranked(named, right, "weigh")
    assert (found.scores[found.hits(Y)] > 0.8).mean() > 0.95


def test_a_saved_folder_that_was_altered_is_refused(trained, tmp_path):
    tagger = Tagger.load(trained[0])
    model = tagger.model_
    model.write(tmp_path / "model")
    values = tmp_path / "model" / "values.json"
    told = json.loads(values.read_text())
    told["settings"][1]["url"] = "file:///etc/passwd"
    values.write_text(json.dumps(told))
    with pytest.raises(Exception, match="url must be"):
        type(model).read(tmp_path / "model")
