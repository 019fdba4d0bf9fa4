import numpy as np
import pytest

from labelgrove.checking.spelling import spellings


def _found(ids, counts=None, language="en", **options):
    counts = np.ones(len(ids), np.int64) if counts is None else np.array(counts)
    return {
        ids[each.label]: (ids[each.other], each.reason)
        for each in spellings(ids, counts, language, **options)
    }


def test_the_spelling_of_most_documents_stays():
    ids = ["Solar energy", "solar energy", "solar-energy", "solar  energy", "SolarEnergy"]
    assert _found(ids, [3, 40, 2, 1, 5]) == {
        "Solar energy": ("solar energy", "case"),
        "solar-energy": ("solar energy", "punctuation"),
        "solar  energy": ("solar energy", "spaces"),
        "SolarEnergy": ("solar energy", "spaces"),
    }


@pytest.mark.parametrize(
    ("language", "singular", "plural"),
    [
        ("en", "library", "libraries"),
        ("en", "fuel cell", "Fuel Cells"),
        ("en", "box", "boxes"),
        ("fr", "bateau", "bateaux"),
        ("de", "Bibliothek", "Bibliotheken"),
        ("es", "ciudad", "ciudades"),
        ("it", "libro", "libri"),
        ("fi", "kirja", "kirjat"),
        (None, "car", "cars"),
    ],
)
def test_singular_and_plural_are_one_label(language, singular, plural):
    assert _found([singular, plural], [1, 2], language) == {singular: (plural, "number")}
    assert list(_found([singular, plural], [2, 1], language)) == [plural]


@pytest.mark.parametrize(
    ("language", "ids"),
    [
        ("en", ["Systems and Control", "Systems & Control"]),
        ("de", ["Recht und Politik", "Recht & Politik"]),
    ],
)
def test_an_ampersand_is_the_word_for_it(language, ids):
    assert _found(ids, [9, 1], language) == {ids[1]: (ids[0], "punctuation")}


@pytest.mark.parametrize(
    "ids",
    [
        ["Search and Rescue", "Search Rescue"],
        ["1.2", "12", "1 2"],
        ["A1", "A 1"],
        ["C", "C++", "C#"],
        ["glas", "glass"],
        ["viru", "virus"],
        ["us", "u"],
        ["cs.AI", "cs.IR"],
        ["new york", "york"],
        ["!", "?"],
    ],
)
def test_different_labels_stay_apart(ids):
    assert _found(ids) == {}


def test_two_that_are_meant_to_be_two_stay_apart():
    assert _found(["art", "arts"], apart=lambda one, other: True) == {}


def test_variants_of_variants_have_one_target():
    ids = ["car", "cars", "Car", "CARS"]
    found = _found(ids, [1, 9, 2, 3])
    assert {label: other for label, (other, _) in found.items()} == dict.fromkeys(
        ["car", "Car", "CARS"], "cars"
    )
