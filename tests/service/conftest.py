import pytest

from labelgrove import Tagger
from labelgrove.labels import read_vocabulary
from services import serving

KINDS = {
    "red apples and green apples": ["fruit", "colour"],
    "a red car": ["colour", "vehicle"],
    "green cars drive": ["colour", "vehicle"],
    "apple pie and cake": ["fruit", "cake"],
}
TEXTS = [f"{text}, the {i}th" for i in range(25) for text in KINDS]
LABELS = list(KINDS.values()) * 25
NAMES = """id\tname\tparents
thing\tThing\t
fruit\tFruit of trees\tthing
vehicle\tVehicle\tthing
cake\tCake <b>& more\tfruit
colour\tColour\t
shade\tShade of colour\tcolour
"""


def made(folder, model="bonsai", texts=TEXTS, labels=LABELS, *, overwrite=False):
    """Save a small tagger with a hierarchy."""
    names = folder.parent / "labels.tsv"
    names.write_text(NAMES, "utf-8")
    tagger = Tagger(model).fit(texts, labels, vocabulary=read_vocabulary(names))
    tagger.save(folder, overwrite=overwrite)
    return tagger


@pytest.fixture(scope="session")
def taggers(tmp_path_factory):
    """Folders of two taggers, by model."""
    place = tmp_path_factory.mktemp("taggers")
    for model in ("bonsai", "knn"):
        made(place / model, model)
    return place


@pytest.fixture(scope="module")
def service(taggers, tmp_path_factory):
    """Both taggers, served."""
    feedback = tmp_path_factory.mktemp("feedback")
    with serving(
        taggers / "bonsai", taggers / "knn", "--feedback", feedback, "--timeout", "3"
    ) as found:
        found.feedback = feedback
        yield found
