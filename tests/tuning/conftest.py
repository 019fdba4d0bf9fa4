"""What the tests of searches share."""

import pytest

from labelgrove.models.contract import known_answer


@pytest.fixture(scope="session")
def corpus():
    """Texts with labels, enough to be judged by a part of them."""
    return known_answer(400)


@pytest.fixture
def planted(tmp_path_factory, monkeypatch):
    """Make the model known as an installed package would; return its folder."""
    site = tmp_path_factory.mktemp("site")
    info = site / "planted-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[labelgrove.models]\nplanted = tuning_stand_ins:Planted\n"
        "watching = tuning_stand_ins:Watching\n"
    )
    monkeypatch.syspath_prepend(str(site))
    return site
