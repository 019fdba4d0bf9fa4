"""A tagger that crashes, hangs or is cut short does not take the service down."""

import os
import shutil
import signal

import pytest

from command_line import called
from labelgrove.core import storage
from labelgrove.core.errors import DamagedError, SignatureError
from labelgrove.core.served_folders import PREFIX, left_folders, served_folder
from labelgrove.core.signing import new_keys, sign
from labelgrove.service.settings import Settings
from labelgrove.service.snapshots import places, take
from labelgrove.service.taggers import ServedTaggers
from labelgrove.service.versions import PROBATION, Version, Versions
from labelgrove.service.workers import CALM, Pauses
from processes import gone
from services import LABELS, TEXTS, eventually, made, serving, started_by, workers_of

RED = {"text": "red apples", "k": 10}


@pytest.fixture
def own(tmp_path):
    """The folder of a tagger that a test may change."""
    made(tmp_path / "own")
    return tmp_path / "own"


def replaced(folder, model):
    """Save a fragile tagger in the place of another one."""
    made(folder, model, TEXTS[:20], LABELS[:20], overwrite=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_tagger_that_crashes_is_tried_elsewhere_first(own, fragile, workers):
    with serving(own, "--no-feedback", "--workers", workers) as service:
        before = workers_of(service)
        replaced(own, fragile("load"))
        got = service.ask("/v1/reload", method="POST")
        assert got.status == 409
        assert "was ended by SIGSEGV" in got.json["errors"][0]["message"]
        service.process.send_signal(signal.SIGHUP)
        eventually(lambda: sum("goes on as it was" in each for each in service.told) >= 2)
        assert service.ask("/v1/tag", RED).status == 200
        assert service.process.poll() is None
        assert workers_of(service) == before


def test_a_tagger_that_never_loads_is_given_up(own, fragile):
    with serving(own, "--no-feedback", "--load-timeout", "5") as service:
        replaced(own, fragile("sleep"))
        got = service.ask("/v1/reload", method="POST")
        assert got.status == 409
        assert "--load-timeout" in got.json["errors"][0]["message"]
        assert service.ask("/v1/tag", RED).status == 200


def test_a_service_stops_though_a_tagger_is_being_tried(own, fragile):
    with serving(own, "--no-feedback") as service:
        replaced(own, fragile("sleep"))
        service.process.send_signal(signal.SIGHUP)
        eventually(lambda: trials(service))
        (trial,) = trials(service)
        assert service.stop() == 0
        assert gone(trial)


def trials(service):
    return started_by(service, b"trial")


def test_the_old_tagger_comes_back_when_a_worker_dies_soon_after_a_reload(own, fragile, tmp_path):
    flag = tmp_path / "flag"
    with serving(own, "--no-feedback", "--workers", "2") as service:
        replaced(own, fragile("flag", str(flag)))
        assert service.ask("/v1/reload", method="POST").json == {"reloaded": ["own"]}

        def models():
            return {service.ask("/v1/models").json["models"][0]["model"] for _ in range(20)}

        eventually(lambda: models() == {"fragile"})
        flag.touch()
        with pytest.raises(ConnectionError):
            service.ask("/v1/tag", RED)
        eventually(lambda: any("the old one comes back" in each for each in service.told))
        eventually(lambda: len(workers_of(service)) == 2 and models() == {"bonsai"})
        assert service.ask("/v1/tag", RED).status == 200
        got = service.ask("/v1/reload", method="POST")
        assert got.status == 409
        assert "save another one" in got.json["errors"][0]["message"]


def test_a_worker_is_replaced_though_its_folder_is_gone(own):
    with serving(own, "--no-feedback", "--workers", "2") as service:
        first = workers_of(service)
        shutil.rmtree(own)
        os.kill(first[0], signal.SIGKILL)
        eventually(lambda: len(set(workers_of(service)) - {first[0]}) == 2)
        assert service.ask("/v1/tag", RED).status == 200
    assert [each for each in own.parent.iterdir() if each.name.startswith(PREFIX)] == []


def test_workers_that_die_again_and_again_are_replaced_later_each_time():
    now = [1000.0]
    pauses = Pauses(clock=lambda: now[0])
    started = 0
    while now[0] < 1020:  # each dies at once
        pauses.after_an_end(alone=False)
        while not pauses.are_over():
            now[0] += 0.5
        started += 1
    assert started <= 6
    assert pauses.after_an_end(alone=True) <= 5
    now[0] += CALM
    assert pauses.after_an_end(alone=False) == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_served_copy_outlives_files_that_are_cut_short(own, tmp_path, workers):
    (tmp_path / "copies").mkdir()
    with serving(
        own, "--no-feedback", "--copy-to", tmp_path / "copies", "--workers", workers
    ) as service:
        for file in own.rglob("*.npy"):
            os.truncate(file, 0)
        for text, _ in zip(TEXTS, range(20), strict=False):
            assert service.ask("/v1/tag", {"text": text}).status == 200
        assert service.ask("/v1/explain", {"text": "red apples", "label": "fruit"}).status == 200
    assert list((tmp_path / "copies").iterdir()) == []


def test_snapshots_of_a_killed_service_are_removed_by_the_next(own):
    def hidden():
        return [each for each in own.parent.iterdir() if each.name.startswith(PREFIX)]

    with serving(own, "--no-feedback") as service:
        assert len(hidden()) == 1
        service.process.kill()
        service.process.wait()
    left = hidden()
    assert len(left) == 1
    with serving(own, "--no-feedback"):
        assert len(hidden()) == 1
        assert hidden() != left
    assert hidden() == []


def test_a_hidden_folder_of_somebody_else_stays(own):
    theirs = own.parent / f"{PREFIX}mine"
    (theirs / "notes").mkdir(parents=True)
    (theirs / "lock").touch()
    with served_folder(own.parent) as used:
        (used / "own-abc").mkdir()
        assert left_folders(own.parent) == [], "one is not ours, one is in use"
        shutil.copytree(used, left := own.parent / f"{PREFIX}left")
    assert not used.exists()
    assert left_folders(own.parent) == [left]
    (left / "notes.txt").touch()
    assert left_folders(own.parent) == [], "there is something else in it"
    (left / "notes.txt").unlink()
    assert f"left over: {left}" in called("doctor", own.parent, check=1).stdout
    called("doctor", own.parent, "--repair")
    assert not left.exists()
    assert (theirs / "notes").is_dir()


def test_without_a_snapshot_a_worker_checks_again_what_it_takes(own, tmp_path, caplog):
    """The folder's parent cannot be written to, so that there are no links to what is served."""
    new_keys(tmp_path / "key")
    sign(own, tmp_path / "key")
    before = storage.read_manifest(own)["checksum"]
    (tmp_path / "shared").mkdir()
    settings = Settings(
        *((("own", str(own)),), (None,)),
        shared=str(tmp_path / "shared"),
        snapshots=("",),
        signed_by=str(tmp_path / "key.pub"),
    )
    versions = Versions(tmp_path / "shared")
    versions.begin("own", Version(str(own), before))
    ServedTaggers(settings).close()
    made(own, "most-frequent", overwrite=True)
    with pytest.raises(SignatureError, match="is not signed"):
        ServedTaggers(settings)  # as a worker does that takes the place of another
    assert versions.get("own").current.checksum == before
    sign(own, tmp_path / "key")
    assert "was replaced" not in caplog.text
    taggers = ServedTaggers(settings)
    assert "own was replaced, and what was served is gone" in caplog.text
    assert taggers.queue("own").served.manifest["model"] == "most-frequent"
    assert versions.get("own").current.checksum == storage.read_manifest(own)["checksum"]
    taggers.close()


def test_a_snapshot_takes_nothing_from_outside_of_a_folder(own, monkeypatch):
    monkeypatch.setattr(
        "labelgrove.core.storage.read_manifest", lambda *_, **__: {"files": {"../x": {}}}
    )
    with places([str(own)], "") as (place,), pytest.raises(DamagedError, match="outside"):
        take(str(own), place, copy=False)


def test_a_version_comes_back_only_for_a_while(tmp_path):
    now = [0.0]
    versions = Versions(tmp_path, clock=lambda: now[0])
    old, new, newer = Version("a", "1"), Version("b", "2"), Version("c", "3")
    versions.begin("x", old)
    assert versions.publish("x", new, keep=True) is None
    assert Versions(tmp_path).get("x").current == new
    assert versions.take_back() == {"x": new}
    assert versions.get("x").current == old
    assert versions.get("x").refused == ("2",)
    assert versions.take_back() == {}
    versions.publish("x", newer, keep=True)
    now[0] += PROBATION
    assert versions.take_back() == {}
    assert versions.settle() == {"x": old}
    assert versions.settle() == {}
    assert versions.get("x").current == newer
