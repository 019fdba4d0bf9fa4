import os
import signal
import tempfile
from pathlib import Path

import hypothesis
import pytest

from browser import open_browser

# Tests run in as many processes as there are cores, so one must not take them all. Set before torch
# is imported, which reads it then; tests of threads ask for theirs.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Vectors of texts are kept for later trainings of a user, and tests must not find old ones.
os.environ.setdefault("LABELGROVE_CACHE", "off")

# A shell starts background commands with SIGINT ignored, and all their children inherit that, so
# Ctrl-C would do nothing in tests. Children do not inherit a handler: they start with the default.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# on a busy machine an example may take any time
hypothesis.settings.register_profile("labelgrove", deadline=None)
hypothesis.settings.load_profile("labelgrove")

# real data sets, a folder each; LABELGROVE_DATA names another place
SHARED = Path(os.environ.get("LABELGROVE_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture
def shared():
    """The folder of real data sets, where there is one beside the project."""
    if not SHARED.is_dir():
        pytest.skip("no real data sets here; LABELGROVE_DATA names their folder")
    return SHARED


@pytest.fixture(scope="module")
def browser():
    """A real browser for ``browser.viewed``; where there is none, its tests are skipped."""
    with open_browser() as found:
        yield found


@pytest.fixture
def stand_ins_installed(tmp_path_factory, monkeypatch):
    """Make the stand-ins known as an installed package would: by entry points."""
    models = ["centroid = stand_ins:Centroid", "demanding = stand_ins:Demanding"]
    installed(
        tmp_path_factory, monkeypatch, "stand-ins", *models, "recalling = stand_ins:Recalling"
    )


@pytest.fixture
def planted(tmp_path_factory, monkeypatch):
    """Make the models for searches known in the same way, also to other processes."""
    installed(tmp_path_factory, monkeypatch, "planted", "planted = tuning_stand_ins:Planted")


@pytest.fixture(scope="module")
def planted_for_all(tmp_path_factory):
    """Make them known to all tests of a file, and to a cluster that these share."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        installed(tmp_path_factory, monkeypatch, "planted", "planted = tuning_stand_ins:Planted")
        yield


def installed(tmp_path_factory, monkeypatch, name, *models):
    """Put a package on the path that has nothing but entry points."""
    site = tmp_path_factory.mktemp("site")
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(["[labelgrove.models]", *models, ""]))
    monkeypatch.syspath_prepend(str(site))


@pytest.fixture
def memory_folder():
    """A folder in memory, where there is such a thing: a disk takes long for many flushes."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)
