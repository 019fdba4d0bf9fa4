import json

import pytest

from labelgrove import Tagger
from services import JSON

TEXT = "green apples in a car"


def plain(tags):
    """Return tags as they are sent: six digits of a score."""
    return [
        {"label": tag.label, "name": tag.name, "score": float(f"{tag.score:.6g}")} for tag in tags
    ]


@pytest.mark.parametrize("model", ["bonsai", "knn"])
@pytest.mark.parametrize("threshold", [None, 0.4, "auto", "macro", "per-label"])
def test_a_text_is_tagged_as_the_tagger_does(service, taggers, model, threshold):
    tagger = Tagger.load(taggers / model)
    got = service.ask("/v1/tag", {"text": TEXT, "k": 3, "threshold": threshold, "model": model})
    assert got.status == 200
    assert got.json["model"] == model
    expected = plain(tagger.tag(TEXT, k=3, threshold=threshold))
    assert got.json["results"] == [{"labels": expected}]


def test_texts_keep_their_order_across_batches(service, taggers):
    texts = [f"{word} number {i}" for i in range(75) for word in ("apples", "cars", "")]
    got = service.ask("/v1/tag", {"texts": texts, "k": 2})
    expected = [{"labels": plain(tags)} for tags in Tagger.load(taggers / "bonsai").tag(texts, k=2)]
    assert got.json["results"] == expected


def test_the_first_tagger_is_asked_where_none_is_named(service):
    assert service.ask("/v1/tag", {"text": TEXT}).json["model"] == "bonsai"
    got = service.ask("/v1/tag", {"text": TEXT, "model": "bonzai"})
    assert got.status == 404
    assert "did you mean 'bonsai'" in got.detail


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "give either text or texts"),
        ({"text": "a", "texts": ["b"]}, "give either text or texts"),
        ({"texts": []}, "texts: "),
        ({"texts": ["a", 3]}, "texts[1]: "),
        ({"text": None}, "text: "),
        ({"text": "a", "k": 0}, "k: "),
        ({"text": "a", "k": 1001}, "k: "),
        ({"text": "a", "k": "5"}, "k: "),
        ({"text": "a", "k": True}, "k: "),
        ({"text": "a", "threshold": 2}, "threshold: a threshold is a number from 0 to 1"),
        ({"text": "a", "threshold": "best"}, "threshold: "),
        ({"text": "a", "labels": 3}, "labels: there is no such field"),
        ([], "the body: "),
        (3, "the body: "),
    ],
)
def test_a_wrong_value_is_named_with_its_place(service, body, where):
    got = service.ask("/v1/tag", body)
    assert got.status == 422
    assert where in got.detail
    assert all(error["where"] and error["message"] for error in got.json["errors"])


def test_five_and_five_point_zero_are_the_same_number(service):
    assert service.ask("/v1/tag", '{"text": "a", "k": 5.0}').status == 200
    assert service.ask("/v1/tag", '{"text": "a", "k": 5.5}').status == 422


@pytest.mark.parametrize("label", ["fruit", "Fruit of trees"])
@pytest.mark.parametrize("model", ["bonsai", "knn"])
def test_a_label_is_explained_as_the_tagger_does(service, taggers, model, label):
    tagger = Tagger.load(taggers / model)
    got = service.ask("/v1/explain", {"text": TEXT, "label": label, "model": model})
    assert got.status == 200
    told = got.json
    assert (told["label"], told["name"]) == ("fruit", "Fruit of trees")
    reasons = tagger.explain(TEXT, "fruit")
    assert [(word["text"], word["weight"]) for word in told["words"]] == [
        (word.text, word.weight) for word in reasons
    ]
    assert [near["text"] for near in told["documents"]] == [
        near.text for near in reasons.neighbours
    ]
    assert told["score"] == {tag.label: tag.score for tag in tagger.tag(TEXT, 9)}["fruit"]


def test_places_of_words_count_characters_not_bytes(service):
    text = "\U0001f34e ünd apples"
    words = service.ask("/v1/explain", {"text": text, "label": "fruit"}).json["words"]
    (place,) = next(word["places"] for word in words if word["text"] == "apples")
    assert text[slice(*place)] == "apples"


def test_a_label_nothing_was_learned_of_is_not_explained(service):
    got = service.ask("/v1/explain", {"text": TEXT, "label": "shade"})
    assert got.status == 409
    assert "had no document in training" in got.detail
    assert service.ask("/v1/explain", {"text": TEXT, "label": "nothing"}).status == 404


def labels(service, **query):
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    got = service.ask(f"/v1/labels?{asked}")
    assert got.status == 200, got.body
    return [label["label"] for label in got.json["labels"]], got.json["more"]


def test_labels_are_found_by_the_beginning_of_a_word(service):
    assert labels(service, q="colo") == (["colour", "shade"], False)  # the frequent one first
    assert labels(service, q="TREE") == (["fruit"], False)
    assert labels(service, q="ruit") == ([], False)
    assert labels(service, q="thing") == (["thing"], False)
    assert labels(service, q="cak") == (["cake"], False)
    assert labels(service, q="shade") == (["shade"], False)
    assert labels(service, q="%20") == ([], False)
    assert labels(service, q="colo", limit=1) == (["colour"], True)
    assert labels(service, q="colo", limit=1, offset=1) == (["shade"], False)


def test_the_hierarchy_is_gone_through_level_by_level(service):
    assert labels(service) == (["colour", "thing"], False)
    assert labels(service, parent="thing") == (["fruit", "vehicle"], False)
    assert labels(service, parent="cake") == ([], False)
    assert labels(service, parent="thing", limit=1) == (["fruit"], True)
    (entry,) = service.ask("/v1/labels?id=cake").json["labels"]
    assert entry == {
        "label": "cake",
        "name": "Cake <b>& more",
        "description": "",
        "documents": 25,
        "learned": True,
        "path": [{"label": "thing", "name": "Thing"}, {"label": "fruit", "name": "Fruit of trees"}],
        "children": 0,
    }
    (entry,) = service.ask("/v1/labels?id=shade").json["labels"]
    assert (entry["learned"], entry["documents"]) == (False, 0)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("limit=0", 422),
        ("limit=x", 422),
        ("offset=-1", 422),
        ("unknown=1", 422),
        ("q=a&parent=b", 409),
        ("parent=nothing", 404),
        ("id=nothing", 404),
        ("model=nothing", 404),
    ],
)
def test_a_wrong_query_is_refused(service, query, status):
    got = service.ask(f"/v1/labels?{query}")
    assert got.status == status
    assert got.detail


def test_a_model_card_tells_data_scores_and_settings(service, taggers):
    got = service.ask("/v1/models").json
    assert [card["name"] for card in got["models"]] == ["bonsai", "knn"]
    card, tagger = got["models"][0], Tagger.load(taggers / "bonsai")
    assert card["labels"] == 4
    assert card["documents"] == 100
    assert card["hierarchy"] is True
    assert card["feedback"] is True
    assert card["scores"] == tagger.scores_
    assert card["settings"]["beam"] == tagger.model_.beam
    assert card["features"]["text"]["name"] == "tf-idf"
    assert card["thresholds"] == dict(tagger.thresholds_)
    assert got["limits"] == {"body": 10**7, "texts": 1000, "length": 10**6, "seconds": 3}
    assert str(taggers) not in json.dumps(got)


def test_feedback_is_on_the_disk_when_it_is_acknowledged(service):
    file = service.feedback / "bonsai.feedback.jsonl"
    before = file.read_text("utf-8").splitlines() if file.exists() else []
    got = service.ask(
        "/v1/feedback",
        {"text": "tärte", "labels": ["Vehicle", "fruit", "fruit"], "rejected": ["cake"], "id": "7"},
    )
    assert got.json == {
        "model": "bonsai",
        "labels": ["vehicle", "fruit"],
        "new": [],
        "stored": True,
    }
    (line,) = file.read_text("utf-8").splitlines()[len(before) :]
    kept = json.loads(line)
    assert kept.pop("time").endswith("+00:00")
    assert kept == {
        "text": "tärte",
        "labels": ["vehicle", "fruit"],
        "rejected": ["cake"],
        "id": "7",
        "model": "bonsai",
    }


def test_spaces_around_a_label_make_no_new_one(service):
    asked = {"text": "a pear", "labels": [" fruit ", "Fruit  of trees"], "allow_new": True}
    assert service.ask("/v1/feedback", asked).json == {
        "model": "bonsai",
        "labels": ["fruit"],
        "new": [],
        "stored": True,
    }
    assert service.ask("/v1/feedback", {**asked, "allow_new": False}).status == 200


def test_a_new_label_is_taken_only_where_it_is_meant(service):
    asked = {"text": "a pear", "labels": ["fruit", "pear tree"], "model": "knn"}
    refused = service.ask("/v1/feedback", asked)
    assert refused.status == 404
    assert "'pear tree'" in refused.detail
    assert "allow_new" in refused.detail
    got = service.ask("/v1/feedback", {**asked, "allow_new": True})
    assert got.json["new"] == ["pear tree"]
    (line,) = (service.feedback / "knn.feedback.jsonl").read_text().splitlines()
    assert json.loads(line)["labels"] == ["fruit", "pear tree"]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"labels": ["fruit"], "rejected": ["fruit"]}, 409),
        ({"labels": "fruit"}, 422),
        ({"labels": [""]}, 422),
        ({"labels": [" \n"], "allow_new": True}, 422),
        ({"labels": ["a\0b"], "allow_new": True}, 422),
        ({"id": "x\0y"}, 422),
        ({"text": ""}, 422),
        ({"model": "nothing"}, 404),
    ],
)
def test_wrong_feedback_is_not_written(service, change, status):
    file = service.feedback / "bonsai.feedback.jsonl"
    before = file.read_bytes() if file.exists() else None
    got = service.ask("/v1/feedback", {"text": "a", "labels": ["fruit"], **change})
    assert got.status == status, got.body
    assert (file.read_bytes() if file.exists() else None) == before


def test_what_is_counted(service):
    def count(line):
        found = service.ask("/metrics").body.decode()
        return sum(float(each.split()[-1]) for each in found.splitlines() if each.startswith(line))

    texts, refused = 'labelgrove_texts_total{model="bonsai"}', 'route="/v1/tag",status="422"'
    refused = f"labelgrove_requests_total{{{refused}}}"
    before = count(texts), count(refused)
    service.ask("/v1/tag", {"texts": ["a", "b", "c"]})
    service.ask("/v1/tag", {})
    assert (count(texts), count(refused)) == (before[0] + 3, before[1] + 1)
    service.ask("/made/up/by/a/stranger")
    assert "stranger" not in service.ask("/metrics").body.decode()


def test_every_answer_carries_the_headers_that_protect_browsers(service):
    for path in ("/", "/v1/models", "/nothing", "/v1/tag", "/static/none.js"):
        headers = service.ask(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"
        assert "cache-control" in headers
        assert "server" not in headers


def test_what_watches_a_service_needs_no_body(service):
    for path in ("/", "/healthz"):
        got = service.ask(path, method="HEAD")
        assert (got.status, got.body) == (200, b"")


def test_what_is_not_there_is_told(service):
    assert "/openapi.json" in service.ask("/v2/tag").detail
    got = service.ask("/v1/tag", method="DELETE")
    assert got.status == 405
    assert got.headers["allow"] == "POST"
    assert "DELETE does not work here, POST does" in got.detail


def test_the_log_has_no_text(service):
    service.ask("/v1/tag", {"text": "a very private matter"})
    service.ask("/v1/labels?q=another_private_matter")
    service.ask("/v1/explain", {"text": "a very private matter", "label": "fruit"})
    service.ask("/v1/feedback", {"text": "a very private matter", "labels": ["private"]})
    service.ask("/v1/tag", {"texts": ["a very private matter", 3]})
    told = service.log()
    assert "POST /v1/tag 200" in told
    assert "POST /v1/feedback 404" in told
    assert "private" not in told


def test_only_json_is_read(service):
    for sent in ("text/plain", "application/x-www-form-urlencoded", ""):
        got = service.ask("/v1/tag", '{"text": "a"}', headers={"Content-Type": sent})
        assert got.status == 415
        assert "application/json" in got.detail
    charset = {"Content-Type": "application/json; charset=utf-8"}
    assert service.ask("/v1/tag", '{"text": "a"}', headers=charset).status == 200


def test_openapi_names_every_way_and_every_answer(service):
    schema = service.ask("/openapi.json").json
    assert set(schema["paths"]) == {
        "/v1/tag",
        "/v1/explain",
        "/v1/labels",
        "/v1/models",
        "/v1/feedback",
        "/v1/reload",
        "/v1/review",
        "/healthz",
        "/metrics",
        "/v1/",
        "/v1/vocabs",
        "/v1/projects",
        "/v1/projects/{project_id}",
        "/v1/projects/{project_id}/suggest",
        "/v1/projects/{project_id}/suggest-batch",
        "/v1/projects/{project_id}/learn",
        "/v1/detect-language",
    }
    tag = schema["paths"]["/v1/tag"]["post"]
    assert {"200", "400", "404", "408", "413", "415", "422", "429"} <= set(tag["responses"])
    assert "application/json" in tag["requestBody"]["content"]
    assert JSON["Content-Type"] in tag["responses"]["200"]["content"]
