"""Versions of taggers, in memory and shared between processes."""

import asyncio
import fcntl
from concurrent.futures import ThreadPoolExecutor

import pytest

from labelgrove.service.versions import LOCK, PROBATION, STATE, TRIAL, Tracked, Version, Versions
from processes import PATIENCE
from virtual_time import run

OLD, NEW, NEWER = Version("a", "1"), Version("b", "2"), Version("c", "3")


@pytest.fixture(params=["memory", "shared"])
def versions(request, tmp_path):
    now = [1000.0]
    found = Versions(tmp_path if request.param == "shared" else None, clock=lambda: now[0])
    found.now = now
    return found


def test_what_is_known_of_a_tagger(versions):
    assert versions.get("x") is None
    versions.begin("x", OLD)
    versions.begin("y", OLD)
    assert versions.get("x") == Tracked(OLD, None, 0.0, ())
    assert versions.publish("x", NEW, keep=True) is None
    assert versions.get("x") == Tracked(NEW, OLD, 1000.0, ())
    assert versions.get("y") == Tracked(OLD)
    assert versions.publish("x", NEWER, keep=True) == OLD, "nobody needs the first any more"
    assert versions.get("x").previous == NEW
    assert versions.publish("x", OLD, keep=False) == NEWER
    assert versions.get("x").previous is None


def test_a_version_without_another_before_it_stays(versions):
    versions.begin("x", OLD)
    versions.publish("x", NEW, keep=False)
    assert versions.take_back() == {}
    assert versions.settle() == {}
    versions.now[0] += PROBATION
    assert versions.settle() == {}
    assert versions.get("x").current == NEW


def test_one_tagger_comes_back_and_another_has_settled(versions):
    for name in ("x", "y"):
        versions.begin(name, OLD)
    versions.publish("x", NEW, keep=True)
    versions.now[0] += 30
    versions.publish("y", NEW, keep=True)
    versions.now[0] += 30
    assert PROBATION == 60, "the documentation speaks of a minute"
    assert versions.settle() == {"x": OLD}
    assert versions.take_back() == {"y": NEW}
    assert versions.get("y") == Tracked(OLD, refused=("2",))
    assert versions.get("x") == Tracked(NEW, None, 1000.0, ())


def test_what_was_given_up_is_remembered(versions):
    versions.begin("x", OLD)
    for version in (NEW, NEWER):
        versions.publish("x", version, keep=True)
        assert versions.take_back() == {"x": version}
    assert versions.get("x").refused == ("2", "3")


def test_one_process_tries_at_a_time(tmp_path):
    """Two objects stand for two processes: locks of files are of what was opened."""

    async def tried():
        order, first, second = [], Versions(tmp_path), Versions(tmp_path)

        async def other():
            async with second.one_trial():
                order.append("second")

        async with first.one_trial():
            waits = asyncio.ensure_future(other())
            await asyncio.sleep(0.15)
            order.append("first")
        await asyncio.wait_for(waits, 30)
        return order

    assert asyncio.run(tried()) == ["first", "second"]


def test_alone_a_trial_waits_for_nobody():
    async def tried():
        versions = Versions()
        async with versions.one_trial(), versions.one_trial():
            return True

    assert asyncio.run(asyncio.wait_for(tried(), 30))


def test_nothing_but_the_state_and_locks_is_left(tmp_path):
    versions = Versions(tmp_path)
    versions.begin("x", OLD)
    versions.publish("x", NEW, keep=True)
    assert {each.name for each in tmp_path.iterdir()} <= {STATE, LOCK, TRIAL}
    assert Versions(tmp_path).get("x").current == NEW


def test_nothing_is_written_while_nothing_has_settled(tmp_path):
    """The supervisor looks twice a second."""
    now = [0.0]
    versions = Versions(tmp_path, clock=lambda: now[0])
    versions.begin("x", OLD)
    for keep in (False, True):
        versions.publish("x", NEW, keep=keep)
        now[0] += PROBATION - 1
        before = (tmp_path / STATE).stat().st_ino
        assert versions.settle() == {}
        assert (tmp_path / STATE).stat().st_ino == before
        if not keep:
            now[0] += PROBATION
            assert versions.settle() == {}
            assert (tmp_path / STATE).stat().st_ino == before


def test_one_process_changes_versions_at_a_time(tmp_path):
    versions = Versions(tmp_path)
    versions.begin("x", OLD)
    with (tmp_path / LOCK).open("w") as file, ThreadPoolExecutor(1) as pool:
        fcntl.flock(file, fcntl.LOCK_EX)
        waits = pool.submit(versions.publish, "x", NEW, keep=False)
        with pytest.raises(TimeoutError):
            waits.result(0.1)
        assert versions.get("x").current == OLD
        fcntl.flock(file, fcntl.LOCK_UN)
        assert waits.result(PATIENCE) == OLD
    assert versions.get("x").current == NEW


def test_whether_another_process_has_tried_is_looked_at_often(tmp_path):
    async def tried():
        loop = asyncio.get_running_loop()
        with (tmp_path / TRIAL).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            loop.call_later(0.12, fcntl.flock, file, fcntl.LOCK_UN)
            began = loop.time()
            async with Versions(tmp_path).one_trial():
                return loop.time() - began

    assert run(tried()) == pytest.approx(0.15)
