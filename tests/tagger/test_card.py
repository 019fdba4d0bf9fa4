"""Model cards of taggers: what they say, and that they are right."""

import json
import re

import huggingface_hub
import numpy as np
import pytest

from labelgrove import Tagger
from labelgrove.core import storage
from labelgrove.core.cards import generated, read_card
from labelgrove.core.errors import DamagedError, InputError
from labelgrove.core.json_files import write_json
from labelgrove.core.manifest import CARD, _own_checksum
from labelgrove.core.progress import Silent
from labelgrove.models.contract import known_answer
from labelgrove.tagger import update_card
from labelgrove.tagger.card import card_text, keeps_texts, local_paths, without_folders

TEXTS, LABELS = known_answer(600)


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    """One that learned from a file, with documents held out."""
    file = tmp_path_factory.mktemp("secret-place") / "my train|ing.jsonl"
    rows = zip(TEXTS[:500], LABELS[:500], strict=True)
    file.write_text("\n".join(json.dumps({"text": t, "labels": ls}) for t, ls in rows))
    return Tagger("one-vs-rest").fit(file)


@pytest.fixture
def saved(tagger, tmp_path):
    tagger.save(tmp_path / "my-tagger")
    return tmp_path / "my-tagger"


def front(folder):
    """Return what the hub's own library reads of a card."""
    return huggingface_hub.ModelCard.load(folder / CARD).data


class Heard(Silent):
    def __init__(self):
        self.lines = []

    def say(self, message):
        self.lines.append(message)


def test_the_hub_reads_its_head(saved, tagger):
    data = front(saved)
    assert data.library_name == "labelgrove"
    assert data.pipeline_tag == "text-classification"
    assert data.tags[-1] == "one-vs-rest"
    assert data.license is None
    scores = {each.metric_name: each.metric_value for each in data.eval_results}
    assert scores["nDCG@5"] == pytest.approx(tagger.scores_["nDCG@5"], abs=1e-4)
    assert scores["micro-F1"] == pytest.approx(tagger.scores_["micro-F1"], abs=1e-4)
    assert {each.dataset_name for each in data.eval_results} == {"held-out documents"}


def test_people_read_what_it_learned_and_how_good_it_is(saved, tagger):
    card = (saved / CARD).read_text()
    assert "- 500 documents of `my train/ing.jsonl`\n" in card
    held = len(tagger.learned_.held_out[0])
    assert f"| documents | {held} |\n" in card
    row = re.search(r"\| P@1 \| ([\d.]+) \(([\d.]+) to ([\d.]+)\) \|", card)
    value, low, high = map(float, row.groups())
    hits = tagger.learned_.held_out[0].top(1).hits(tagger.learned_.held_out[1])
    error = 196 * np.std(hits, ddof=1) / held**0.5
    assert value == pytest.approx(100 * hits.mean(), abs=0.06)
    assert (low, high) == pytest.approx((value - error, min(100, value + error)), abs=0.11)
    assert "## Licence\nNot stated.\n" in card
    assert "secret-place" not in card + (saved / "manifest.json").read_text(), "no folders"


def test_the_lines_of_its_use_are_right(saved, monkeypatch):
    monkeypatch.chdir(saved.parent)
    saved.rename("DIR")
    saved = saved.with_name("DIR")
    code = re.search(r"```python\n(.*?)```", (saved / CARD).read_text(), re.S)[1]
    names = {}
    assert 'labelgrove tag DIR --text "A text" -k 5\n' in (saved / CARD).read_text()
    exec(code, names)
    assert names["tagger"].labels_.n_labels == Tagger.load(saved).labels_.n_labels


def test_a_saved_tagger_that_is_saved_again_says_the_same(saved, tmp_path):
    again = Tagger.load(saved)
    again.save(tmp_path / "another")
    cards = [(folder / CARD).read_text() for folder in (saved, tmp_path / "another")]
    one, other = (card.partition("<!--")[0] for card in cards)
    assert one == other


def test_without_held_out_documents_there_are_no_scores(tmp_path):
    Tagger("knn", validation=0).fit(TEXTS[:20], LABELS[:20]).save(tmp_path / "x")
    card = (tmp_path / "x" / CARD).read_text()
    assert "None are known" in card
    assert "Probabilities may not be calibrated" in card
    assert "how the training documents begin" in card, "knn keeps that"
    assert front(tmp_path / "x").eval_results is None


def test_scores_on_a_test_file_are_added_and_replaced(saved, tagger):
    test = (TEXTS[500:], LABELS[500:])
    scores = tagger.evaluate(*test, intervals=True)
    assert set(scores.intervals) >= {"P@1", "nDCG@5", "micro-F1"}
    assert update_card(saved, test="/data/test.jsonl", scores=scores, license="cc-by-4.0")
    assert update_card(saved, test="test.jsonl", scores=scores)
    found = front(saved)
    assert found.license == "cc-by-4.0"
    on_test = [each for each in found.eval_results if each.dataset_name == "test.jsonl"]
    assert len({each.metric_type for each in on_test}) == len(on_test) > 5
    low, high = scores.intervals["nDCG@5"]
    cell = f"| {100 * scores['nDCG@5']:.1f} ({100 * low:.1f} to {100 * high:.1f}) |"
    assert cell in (saved / CARD).read_text()
    storage.read_manifest(saved)  # still whole


def test_scores_without_texts_that_were_learned(saved, tagger):
    scores = tagger.evaluate(TEXTS[450:], LABELS[450:], intervals=True)
    assert scores.learned_texts >= 50
    update_card(saved, test="mixed", scores=scores)
    (told,) = read_card(saved).told["tests"]
    assert told["documents"] == 150 - scores.learned_texts
    assert told["scores"]["P@1"] == scores.without_learned_texts["P@1"]
    assert told["intervals"] == {}
    update_card(saved, test="mixed", scores=tagger.evaluate(TEXTS[:100], LABELS[:100]))
    assert (
        "Of mixed, 100 texts were learned: its scores are too high." in (saved / CARD).read_text()
    )


def test_tests_belong_to_the_tagger_that_was_tested(saved, tagger):
    update_card(saved, test="old", scores=tagger.evaluate(TEXTS[500:], LABELS[500:]), license="mit")
    Tagger("most-frequent").fit(TEXTS, LABELS).save(saved, overwrite=True)
    assert "| old |" not in (saved / CARD).read_text()
    assert front(saved).license == "mit", "the licence is still that of the folder"


def test_a_new_tagger_is_not_on_the_hub_yet(saved, tagger):
    manifest = storage.read_manifest(saved)
    told = {"repository": "me/x", "of": manifest["checksum"], "license": "mit"}
    (saved / CARD).write_text(card_text(manifest, told))
    assert "labelgrove pull me/x" in (saved / CARD).read_text()
    Tagger("most-frequent").fit(TEXTS, LABELS).save(saved, overwrite=True)
    assert "labelgrove pull" not in (saved / CARD).read_text()


def test_a_card_that_lies_harms_no_save(saved, tagger):
    told = {"license": 5, "languages": 7, "repository": {}, "of": 1, "tests": "x"}
    (saved / CARD).write_text(generated("x", told))
    tagger.save(saved, overwrite=True)
    assert {*read_card(saved).told} == {"of"}


def test_an_edited_card_stays(saved, tagger):
    (saved / CARD).write_text("# Mine\n")
    assert not update_card(saved, license="mit")
    heard = Heard()
    tagger.save(saved, overwrite=True, progress=heard)
    assert (saved / CARD).read_text() == "# Mine\n"
    assert "README.md was edited by hand, so it stays as it is" in heard.lines[-1]


def test_a_tagger_of_an_older_version_gets_a_card(saved):
    manifest = json.loads((saved / "manifest.json").read_text())
    for name in ("facts", "held_out"):
        del manifest[name]
    manifest.pop("checksum")
    write_json(saved / "manifest.json", manifest | {"checksum": _own_checksum(manifest)})
    (saved / CARD).unlink()
    assert Tagger.load(saved).learned_.source == ""
    assert update_card(saved, languages=["en"])
    assert "| documents | not known |" in (saved / CARD).read_text()
    assert front(saved).language == ["en"]


def test_a_manifest_that_lies_is_an_error_in_one_line(saved):
    manifest = json.loads((saved / "manifest.json").read_text()) | {"scores": 7}
    manifest.pop("checksum")
    write_json(saved / "manifest.json", manifest | {"checksum": _own_checksum(manifest)})
    with pytest.raises(DamagedError, match="my-tagger"):
        update_card(saved)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"license": "MIT License"}, "'MIT License' is no licence"),
        ({"languages": ["english"]}, "'english' is no code of a language"),
    ],
)
def test_what_the_hub_would_not_know_is_refused(saved, told, message):
    with pytest.raises(InputError, match=message):
        update_card(saved, **told)


def test_no_path_and_no_markup_gets_into_a_card(saved):
    manifest = storage.read_manifest(saved)
    manifest["settings"] = {"vectors": "/home/me/glove.txt", "first": "static:~/x/y", "t": "```"}
    manifest["facts"]["source"] = "a\n# b <script> \x1b[31m `|.csv"
    card = card_text(manifest, {})
    assert "/home" not in card
    assert '"vectors": "glove.txt", "first": "static:y"' in card
    assert card.count("```") == 6
    assert "documents of `a # b (script> \\x1b[31m '/.csv`" in card
    assert local_paths(manifest) == ["/home/me/glove.txt", "static:~/x/y"]
    assert not keeps_texts(manifest)


def test_it_names_the_extras_that_its_tagger_needs(saved):
    manifest = storage.read_manifest(saved)
    assert "pip install labelgrove\n" in card_text(manifest, {})
    manifest["model"] = "xml-cnn"
    card = card_text(manifest, {"repository": "me/x", "of": manifest["checksum"]})
    assert "pip install 'labelgrove[neural,hub]'\n" in card


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C:\\Users\\me\\labels.tsv", "labels.tsv"),
        ("./here/x", "x"),
        ("~me/x", "x"),
        ("sentence-transformers/all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
        ("https://example.org/v1/x", "https://example.org/v1/x"),
        ("snowball:de", "snowball:de"),
    ],
)
def test_paths_lose_their_folders(text, expected):
    assert without_folders(text) == expected
