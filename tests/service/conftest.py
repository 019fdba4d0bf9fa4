import pytest

from services import made, serving


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
