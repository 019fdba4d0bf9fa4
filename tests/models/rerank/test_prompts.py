import json

import pytest

from labelgrove.models.rerank.prompts import ChosenLabels, NamedLabel, prompt, read_answer, schema

NAMES = ["solar energy", "agriculture", "Mercury", "mercury"]


@pytest.mark.parametrize(
    ("content", "places", "unknown"),
    [
        ('{"labels": ["agriculture", "solar energy"]}', (1, 0), 0),
        ('```json\n{"labels": ["agriculture"]}\n```', (1,), 0),
        ('["agriculture"]', (1,), 0),
        ('<think>{"labels": ["agriculture"]}</think> {"labels": []}', (), 0),
        (
            'Here [you see]: {"labels": ["Solar  Energy"]}',
            (0,),
            0,
        ),  # no JSON in front is in the way
        ('{"labels": ["Mercury"]}', (2,), 0),
        ('{"labels": ["MERCURY"]}', (), 1),  # one of two, and nobody knows which
        ('{"labels": ["wind", 5, null, "agriculture", "agriculture"]}', (1,), 3),
    ],
)
def test_answers_are_read_and_only_candidates_count(content, places, unknown):
    assert read_answer(content, NAMES) == ChosenLabels(places, unknown)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "agriculture",
        '{"labels": "agriculture"}',
        '{"label": []}',
        '{"labels": ["agr',
        "[" * 9999,
    ],
)
def test_what_is_no_list_of_labels_is_no_answer(content):
    assert read_answer(content, NAMES) is None


def test_a_schema_allows_the_candidates_only():
    made = schema(NAMES)
    labels = made["properties"]["labels"]
    assert labels["items"]["enum"] == NAMES
    assert labels["maxItems"] == 4
    assert "uniqueItems" not in labels  # OpenAI's strict mode refuses it
    assert made["required"] == ["labels"]
    assert made["additionalProperties"] is False
    assert schema(NAMES, unique=True)["properties"]["labels"]["uniqueItems"] is True


def test_a_prompt_shows_text_candidates_and_the_form_of_the_answer():
    told = prompt(
        " A text.\n", [NamedLabel('the "best"', "of all"), NamedLabel("other")], "Choose."
    )
    assert told.startswith("Choose. ")
    assert "\n\nText:\nA text.\n\n" in told
    assert '\n- the "best": of all\n- other\n' in told
    assert json.dumps({"labels": ['the "best"']}) in told
