import os
from pathlib import Path

import pytest

from fragile import Fragile
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a tagger that costs nothing."""
    place = tmp_path_factory.mktemp("served") / "quick"
    made(place, "most-frequent")
    return place


@pytest.fixture
def fragile(tmp_path_factory, monkeypatch):
    """Make `fragile.Fragile` known here and to processes that are started."""
    site = tmp_path_factory.mktemp("site")
    info = site / "fragile-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fragile\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[labelgrove.models]\nfragile = fragile:Fragile\n")
    monkeypatch.syspath_prepend(str(site))
    paths = [str(site), str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    return Fragile
