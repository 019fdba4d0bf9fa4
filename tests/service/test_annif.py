"""Annif's REST API: what its clients send, over a socket, and what Annif answers to bad input.

The statuses are those of Annif 1.4.3, which `benchmarks/ecosystem/annif.py` was asked beside.
"""

import json
from urllib.parse import urlencode

import pytest

from asgi import in_process
from labelgrove import Tagger
from labelgrove.corpus import Corpus, Corrected, read_feedback
from services import LABELS, TEXTS, made, serving

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TEXT = "green apples in a car"
KEY = "a-key-of-more-than-sixteen-letters"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("annif")
    made(place / "quick", "most-frequent")
    return place


@pytest.fixture(scope="module")
def annif(place):
    with serving(place / "quick", "--feedback", place, "--language", "en") as found:
        yield found


def form(service, fields, project="quick", **options):
    body = fields if isinstance(fields, str) else urlencode(fields)
    headers = {**FORM, **options.pop("headers", {})}
    return service.ask(f"/v1/projects/{project}/suggest", body, headers=headers, **options)


def problem(got):
    """Return what a refusal says, in Annif's form."""
    assert got.headers["content-type"] == "application/problem+json"
    told = got.json
    assert list(told) == ["type", "title", "detail", "status"]
    assert (told["type"], told["status"]) == ("about:blank", got.status)
    return told["detail"]


def test_a_tagger_is_a_project_with_a_vocabulary(annif, place):
    told = annif.ask("/v1/").json
    assert set(told) == {"title", "version"}
    assert told["version"] == "1.4"
    one = annif.ask("/v1/projects/quick").json
    vocab = {"vocab_id": "quick", "languages": ["en"], "size": 6, "loaded": True}
    assert one == {
        **{"project_id": "quick", "name": "quick", "language": "en", "vocab_language": "en"},
        **{"backend": {"backend_id": "most-frequent"}, "vocab": vocab, "is_trained": True},
        "modification_time": json.loads((place / "quick/manifest.json").read_text())["created"],
    }
    assert annif.ask("/v1/projects").json == {"projects": [one]}
    assert annif.ask("/v1/vocabs").json == {"vocabs": [vocab]}


def test_suggestions_are_the_taggers_labels(annif, place):
    tags = Tagger.load(place / "quick").tag(TEXT, k=3)
    expected = [
        {
            "uri": tag.label,
            "label": tag.name,
            "notation": None,
            "score": float(f"{tag.score:.6g}"),
        }
        for tag in tags
    ]
    got = form(annif, {"text": TEXT, "limit": 3, "metadata_title": "x", "project": "y"})
    assert got.json == {"results": expected}
    least = expected[1]["score"]
    kept = [each for each in expected if each["score"] >= least]
    told = {"text": TEXT, "limit": "3", "threshold": str(least), "language": "en"}
    assert form(annif, told).json == {"results": kept}
    documents = [{"text": TEXT, "document_id": "a", "metadata": {"b": "c"}}, {"text": " "}]
    got = annif.ask("/v1/projects/quick/suggest-batch?limit=3&other=1", {"documents": documents})
    assert got.json == [
        {"results": expected, "document_id": "a"},
        {"results": [], "document_id": None},
    ]
    assert form(annif, {"text": TEXT, "limit": 0}).json == {"results": []}
    assert form(annif, "text=").json == {"results": []}


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"txt": "a"}, 400, "text: Field required"),
        ("", 400, "text: "),
        ({"text": "a", "limit": "x"}, 400, 'limit: it should be a whole number, got "x"'),
        ({"text": "a", "limit": "3.0"}, 400, "limit: "),
        ({"text": "a", "limit": ""}, 400, "limit: "),
        ({"text": "a", "limit": -1}, 400, "limit: "),
        ({"text": "a", "threshold": "high"}, 400, "threshold: "),
        ({"text": "a", "threshold": "nan"}, 400, "threshold: "),
        ({"text": "a", "threshold": 2}, 400, "threshold: "),
        ({"text": "a", "language": "zz"}, 400, 'language "zz" not supported by vocabulary'),
        ("text=%ff", 400, "the form is not UTF-8"),
        ({str(number): "a" for number in range(51)}, 400, "the form has more than 50 fields"),
    ],
)
def test_a_wrong_form_is_a_bad_request(annif, fields, status, said):
    got = form(annif, fields)
    assert got.status == status
    assert said in problem(got)
    assert got.json["title"] == "Bad Request"


@pytest.mark.parametrize(
    ("query", "body", "said"),
    [
        ("", {"documents": [{"text": "a"}] * 33}, "documents: "),
        ("", {"documents": [{"txt": "a"}]}, "documents[0].text: "),
        ("", {"documents": [{"text": 3}]}, "documents[0].text: "),
        ("", {"documents": [{"text": "a", "document_id": None}]}, "documents[0].document_id: "),
        ("", {"documents": [{"text": "a", "metadata": {"b": 3}}]}, "documents[0].metadata.b: "),
        ("", {"docs": []}, "documents: "),
        ("", "{", "not JSON"),
        ("?limit=x", {"documents": []}, "limit: "),
        ("?threshold=x", {"documents": []}, "threshold: "),
        ("?language=zz", {"documents": [{"text": "a"}]}, 'language "zz"'),
    ],
)
def test_a_wrong_batch_is_a_bad_request(annif, query, body, said):
    got = annif.ask(f"/v1/projects/quick/suggest-batch{query}", body)
    assert got.status == 400
    assert said in problem(got)


def test_an_unknown_project_is_not_found(annif):
    batch, learn = ({"documents": [{"text": "a"}]}, [])
    for got in (
        form(annif, {"text": "a"}, "x"),
        annif.ask("/v1/projects/x"),
        annif.ask("/v1/projects/x/suggest-batch", batch),
        annif.ask("/v1/projects/x/learn", learn),
    ):
        assert got.status == 404
        assert problem(got) == "Project 'x' not found"
        assert got.json["title"] == "Project not found"


def test_a_body_of_another_kind_is_refused(annif):
    path = "/v1/projects/quick/suggest"
    assert annif.ask(path, {"text": "a"}).status == 415
    assert annif.ask(f"{path}-batch", "text=a", headers=FORM).status == 415
    assert form(annif, "text=a", headers={"Content-Encoding": "gzip"}).status == 415


@pytest.mark.parametrize(
    "headers",
    [
        *({"Origin": each} for each in ("http://example.org", "null")),
        *({"Sec-Fetch-Site": each} for each in ("cross-site", "same-site")),
    ],
)
def test_a_form_of_another_page_is_refused(annif, headers):
    got = form(annif, {"text": "a"}, headers=headers)
    assert (got.status, got.json["title"]) == (403, "Forbidden")
    assert problem(got) == "pages of other origins may not ask"


def test_a_form_of_an_own_page_is_taken(annif):
    own = {"Origin": annif.address, "Sec-Fetch-Site": "same-origin"}
    assert form(annif, {"text": "a"}, headers=own).status == 200


def test_learned_documents_are_feedback(annif, place):
    documents = [
        {"text": "a pie", "subjects": [{"uri": "cake"}, {"uri": "x:1", "label": "colour"}]},
        {"text": "a plane", "subjects": [{"uri": "http://example.org/plane", "label": "Planes"}]},
        {"text": "without subjects"},
        {"subjects": [{"uri": "cake"}]},
    ]
    got = annif.ask("/v1/projects/quick/learn", documents)
    assert (got.status, got.body) == (204, b"")
    assert got.headers["documents-passed-over"] == "2"
    said = "quick: documents to learn without a text or without subjects, passed over: 2"
    assert said in annif.log()
    one = annif.ask("/v1/projects/quick/learn", documents[:1])
    assert "documents-passed-over" not in one.headers
    kept = read_feedback(place / "quick.feedback.jsonl").documents
    assert {text: each.labels for text, each in kept.items()} == {
        "a pie": ("cake", "colour"),
        "a plane": ("http://example.org/plane",),
    }


def test_names_of_new_subjects_reach_the_tagger_that_learns_them(annif, place, tmp_path):
    plane, boat = "http://example.org/plane", "http://example.org/boat"
    subjects = [{"uri": plane, "label": " Air  planes "}, {"uri": boat}]
    documents = [{"text": "it flies and it swims", "subjects": subjects}]
    assert annif.ask("/v1/projects/quick/learn", documents).status == 204
    file = place / "quick.feedback.jsonl"
    assert json.loads(file.read_text().splitlines()[-1])["names"] == {plane: "Air planes"}
    said = read_feedback(file)
    assert said.names[plane] == "Air planes"
    corpus = Corrected(Corpus.from_lists(TEXTS, LABELS), said.documents)
    after = Tagger.load(place / "quick").retrain(corpus, names={**said.names, "cake": "Other"})
    named = dict(zip(after.labels_.ids, after.labels_.names, strict=True))
    assert (named[plane], named[boat]) == ("Air planes", boat)
    assert named["cake"] == "Cake <b>& more", "what the tagger knows stays"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"text": "a"}, "it should be a valid list"),
        ([{"text": "a", "subjects": [{"label": "cake"}]}], "[0].subjects[0].uri: "),
        ([{"text": 3, "subjects": []}], "[0].text: "),
        (
            [{"text": "kept?", "subjects": [{"uri": "cake"}, {"uri": " ", "label": "Pies"}]}],
            "[0].subjects[1].uri: it is empty, and the tagger has no label 'Pies'; nothing was",
        ),
        ([{}, {"text": "kept?", "subjects": [{"uri": ""}]}], "[1].subjects[0].uri: it is empty;"),
    ],
)
def test_what_cannot_be_learned_is_told(annif, place, body, said):
    got = annif.ask("/v1/projects/quick/learn", body)
    assert got.status == 400
    assert said in problem(got)
    file = place / "quick.feedback.jsonl"
    assert not file.exists() or "kept?" not in file.read_text()


def test_every_refusal_on_annifs_routes_has_its_form(annif, place):
    for path, method, allowed in (
        ("/v1/", "POST", "GET"),
        ("/v1/projects", "DELETE", "GET"),
        ("/v1/projects/quick/suggest", "GET", "POST"),
        ("/v1/projects/quick/learn", "PUT", "POST"),
        ("/v1/detect-language", "GET", "POST"),
    ):
        got = annif.ask(path, method=method)
        assert (got.status, got.headers["allow"]) == (405, allowed)
        assert problem(got) == f"{method} does not work here, {allowed} does"
        assert got.json["title"] == "Method Not Allowed"
    got = annif.ask("/v1/projects/quick/nothing")
    assert got.status == 404
    assert "there is nothing at /v1/projects/quick/nothing" in problem(got)
    for path in ("/v1/vocabs", "/v1/projects/quick"):
        got = annif.ask(path, headers={"Origin": "http://example.org"})
        assert (got.status, problem(got)) == (403, "pages of other origins may not ask")
    with in_process(place / "quick", keys=(KEY,)) as service:
        got = service.ask("/v1/projects")
        assert (got.status, got.headers["www-authenticate"]) == (401, "Bearer")
        assert "wants an API key" in problem(got)
        assert "type" not in service.ask("/v1/models").json, "ours has another"


def test_learning_that_is_not_allowed_is_forbidden(place):
    with in_process(place / "quick") as service:
        got = service.ask("/v1/projects/quick/learn", '[{"text": "a", "subjects": []}]')
        assert got.status == 403
        assert "not configured to allow learning" in problem(got)
        # the names of labels are too few to tell: a language is guessed, and nothing fails
        assert service.ask("/v1/projects/quick").json["language"]


def test_languages_are_detected(annif):
    text = "Suomen kansalliskirjasto on Suomen vanhin kirjasto"
    got = annif.ask("/v1/detect-language", {"text": text, "languages": ["en", "fi"]})
    results = got.json["results"]
    assert results[0]["language"] == "fi"
    assert {each["language"] for each in results} == {"en", "fi", None}
    assert sum(each["score"] for each in results) == pytest.approx(1)
    nothing = annif.ask("/v1/detect-language", {"text": "", "languages": ["en"]}).json["results"]
    assert nothing == [{"language": None, "score": 1.0}, {"language": "en", "score": 0.0}]
    for languages, said in (
        ([], "languages: "),
        (["en"] * 6, "languages: "),
        (["e"], "languages[0]: "),
        (["zz"], "unsupported candidate languages"),
    ):
        got = annif.ask("/v1/detect-language", {"text": "a", "languages": languages})
        assert got.status == 400
        assert said in problem(got)


def test_limits_keys_and_rates_hold(place):
    from labelgrove.service.settings import Limits

    limits = Limits(length=10, texts=2, body=2_000, rate=6)
    with in_process(place / "quick", keys=(KEY,), limits=limits) as service:
        assert form(service, {"text": "a"}).status == 401
        keyed = {"Authorization": f"Bearer {KEY}"}
        long = form(service, {"text": "a" * 11}, headers=keyed)
        large = form(service, {"text": "a" * 2_001}, headers=keyed)
        batch = {"documents": [{"text": "a"}] * 3}
        many = service.ask("/v1/projects/quick/suggest-batch", batch, headers=keyed)
        for got in (long, large, many):
            assert (got.status, got.headers["content-type"]) == (413, "text/plain; charset=utf-8")
        assert b"--max-length" in long.body
        one = {"documents": [{"text": "a" * 11}]}
        told = service.ask("/v1/projects/quick/suggest-batch", one, headers=keyed)
        assert told.body.startswith(b"documents[0].text has 11 characters")
        assert b"--max-body" in large.body
        assert b"--max-texts" in many.body
        while (got := form(service, {"text": "a"}, headers=keyed)).status == 200:
            pass
        assert got.status == 429
        route = 'route="/v1/projects/{project_id}/suggest"'
        assert service.count(f'labelgrove_requests_total{{{route},status="413"}}') == 2
