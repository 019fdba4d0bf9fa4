import pytest

from labelgrove import Tagger
from labelgrove.core.errors import InputError
from labelgrove.core.types import Document
from labelgrove.tagger.shortlist import Shortlists, candidate_prompt, candidate_schema

ROWS = [
    "id\tname\tparents\tdescription",
    "1\tMercury\tplanets\tnearest to the sun",
    "2\tMercury\tmetals\t",
    "planets\tplanets\t\t",
    "metals\tmetals\t\t",
]
TEXTS = ["orbit of the sun", "a liquid metal", "orbit and sun", "liquid in a lamp"] * 5


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    file = tmp_path_factory.mktemp("labels") / "labels.tsv"
    file.write_text("\n".join(ROWS) + "\n")
    labels = [["1"], ["2"]] * 10
    return Tagger("one-vs-rest", validation=0, threads=1).fit(TEXTS, labels, vocabulary=file)


def test_candidates_are_plain_data_told_apart(tagger):
    first, second = Shortlists(tagger, k=50).of("the orbit")
    assert first == {
        "label": "1",
        "name": "Mercury",
        "choice": "planets: Mercury",
        "details": "nearest to the sun",
        "score": first["score"],
    }
    assert type(first["score"]) is float
    assert second["choice"] == "metals: Mercury"
    assert second["details"] == "in metals"
    assert first["score"] > second["score"]
    assert len(Shortlists(tagger, k=1).of("the orbit")) == 1


def test_schema_and_prompt_by_name_and_by_id(tagger):
    found = Shortlists(tagger).of("the orbit")
    choices = ["planets: Mercury", "metals: Mercury"]
    assert candidate_schema(found)["properties"]["labels"]["items"]["enum"] == choices
    assert candidate_schema(found, "id")["properties"]["labels"]["items"]["enum"] == ["1", "2"]
    assert candidate_schema(found, unique=True)["properties"]["labels"]["uniqueItems"] is True
    told = candidate_prompt("the orbit", found, instruction="Choose.")
    assert "\n- planets: Mercury: nearest to the sun\n- metals: Mercury: in metals\n" in told
    told = candidate_prompt("the orbit", found, "id")
    assert "\n- 1: planets: Mercury: nearest to the sun\n" in told
    assert '{"labels": ["1"]}' in told


def test_documents_without_text_have_no_candidates(tagger):
    documents = [Document("the orbit", (), "a"), Document(" ", (), "b")]
    found = list(Shortlists(tagger).stream(documents))
    assert [(document.id, len(candidates)) for document, candidates in found] == [
        ("a", 2),
        ("b", 0),
    ]
    with pytest.raises(InputError, match="k must be"):
        Shortlists(tagger, k=0)
