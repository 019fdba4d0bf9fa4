"""Queues of taggers: parts of a request, who waits, what is counted."""

import asyncio
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from asgi import in_process
from labelgrove.core import storage
from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.service import taggers
from labelgrove.service.feedback import FeedbackFile
from labelgrove.service.problems import ProblemError
from labelgrove.service.settings import Limits
from labelgrove.service.taggers import LONG, SLOW, _parts, text_weight
from labelgrove.service.versions import Version
from services import LABELS, TEXTS, made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("served") / "quick"
    made(place, "most-frequent")
    return place


@pytest.mark.parametrize(
    ("length", "weight"), [(0, 1), (1_999, 1), (2_000, 1), (3_999, 1), (4_000, 2), (20_000, 10)]
)
def test_a_long_text_counts_for_several(length, weight):
    assert text_weight("a" * length) == weight


def test_texts_are_asked_for_in_parts_of_a_batch():
    long = "a" * 3 * LONG
    assert list(_parts(["a"] * 5, 2)) == [(["a"] * 2, 2), (["a"] * 2, 2), (["a"], 1)]
    assert list(_parts(["a", long, "b", "c"], 4)) == [(["a", long], 4), (["b", "c"], 2)]
    assert list(_parts([long, long], 2)) == [([long], 3), ([long], 3)]


def test_a_name_that_is_not_served(folder):
    with in_process(folder) as service:
        assert service.taggers.names == ["quick"]
        assert service.taggers.queue("") is service.taggers.queue("quick")
        with pytest.raises(UnknownNameError) as refused:
            service.taggers.queue("q" * 300)
        assert "q" * 100 in str(refused.value)
        assert "q" * 101 not in str(refused.value)


def test_slow_texts_and_explanations_have_their_own_queue(folder, monkeypatch):
    """So that a short text does not wait for them."""
    assert SLOW == 20_000
    with in_process(folder) as service:
        queue = service.taggers.queue("")
        used = []
        for name in ("_slow", "_batcher"):
            batcher = getattr(queue, name)

            async def do(*given, batcher=batcher, name=name, **options):
                used.append((name, given[1], options["at_once"]))
                return await type(batcher).do(batcher, *given, **options)

            monkeypatch.setattr(batcher, "do", do)
        for text in ("red", "r" * (SLOW - 1), "r" * SLOW):
            assert service.ask("/v1/tag", {"text": text}).status == 200
        assert service.ask("/v1/explain", {"text": "red", "label": "fruit"}).status == 200
        assert used == [
            ("_batcher", 1, True),
            ("_batcher", 9, True),
            ("_slow", 10, False),
            ("_slow", 1, False),
        ]
        used.clear()
        queue.served.concurrent = False
        assert service.ask("/v1/explain", {"text": "red", "label": "fruit"}).status == 200
        assert used == [("_batcher", 1, False)], "one thread asks a tagger that allows no two"


def test_who_finds_too_many_waiting_is_told_to_come_back(folder, tmp_path):
    limits = Limits(waiting=2)
    with in_process(folder, feedback=tmp_path, limits=limits, wait=0.2) as service:
        got = service.ask_all(*[("/v1/tag", {"text": "red"})] * 4)
        assert sorted(each.status for each in got) == [200, 200, 429, 429]
        refused = next(each for each in got if each.status == 429)
        assert refused.headers["retry-after"] == "1"
        assert refused.detail == "too many texts are waiting already: ask again"
        written = {"text": "red", "labels": ["fruit"]}
        got = service.ask_all(*[("/v1/feedback", written)] * 9)
        assert {each.status for each in got} == {200, 429}
        stored = sum(each.status == 200 for each in got)
        assert service.count("labelgrove_feedback_total") == stored
        (file,) = tmp_path.glob("*.jsonl")
        assert len(file.read_text().splitlines()) == stored


def test_texts_and_batches_are_counted(folder):
    with in_process(folder, batch=4) as service:
        service.ask("/v1/tag", {"texts": ["a"] * 6})
        service.ask("/v1/explain", {"text": "a", "label": "fruit"})
        assert service.count('labelgrove_texts_total{model="quick"}') == 6
        assert service.count('labelgrove_batch_texts_sum{model="quick"}') == 6
        assert service.count('labelgrove_batch_texts_count{model="quick"}') == 2
        assert service.count('labelgrove_waiting_texts{model="quick"}') == 0


def test_threads_end_with_the_service(folder, tmp_path):
    with in_process(folder, feedback=tmp_path) as service:
        queue = service.taggers.queue("")
    for batcher in (queue._batcher, queue._slow, queue.feedback):
        with pytest.raises(RuntimeError, match="shutdown"):
            batcher._thread.submit(int)


def test_lines_left_aside_are_collected_at_the_start_and_at_the_end(folder, tmp_path):
    file = tmp_path / "quick.feedback.jsonl"
    (tmp_path / f"{file.name}.aside-4194305").write_text('{"text": "before"}\n')
    with in_process(folder, feedback=tmp_path):
        assert file.read_text() == '{"text": "before"}\n'
        (tmp_path / f"{file.name}.aside-4194306").write_text('{"text": "meanwhile"}\n')
    assert file.read_text() == '{"text": "before"}\n{"text": "meanwhile"}\n'


def test_one_slow_text_makes_its_part_of_a_request_slow(folder, monkeypatch):
    with in_process(folder) as service:
        queue = service.taggers.queue("")
        used = []

        async def do(asked, weight, *, at_once):
            used.append((asked.question.texts, weight, at_once))
            return b""

        monkeypatch.setattr(queue._slow, "do", do)
        texts = ["red", "r" * 20_000, "car"]
        assert service.ask("/v1/tag", {"texts": texts}).status == 200
    assert used == [(texts, 12, False)]


def recorded(monkeypatch, served, note):
    """Call ``note`` with each batch of questions before it is answered."""
    answer = served.answer

    def noted(questions):
        note(questions)
        return answer(questions)

    monkeypatch.setattr(served, "answer", noted)


def test_slow_questions_are_answered_one_by_one(folder, monkeypatch):
    sizes = []
    with in_process(folder) as service:
        served = service.taggers.queue("").served
        recorded(monkeypatch, served, lambda questions: sizes.append(len(questions)))
        asked = ("/v1/explain", {"text": "red", "label": "fruit"})
        assert [each.status for each in service.ask_all(asked, asked)] == [200, 200]
    assert sizes == [1, 1]


def test_what_waits_is_told_while_it_waits(folder, monkeypatch):
    waiting = []
    with in_process(folder, batch=1) as service:
        served = service.taggers.queue("").served
        name = 'labelgrove_waiting_texts{model="quick"}'
        recorded(monkeypatch, served, lambda _: waiting.append(service.count(name)))
        service.ask_all(*[("/v1/tag", {"text": "red"})] * 3)
    assert waiting == [2, 1, 0]


def test_a_thousand_lines_of_feedback_are_written_at_once(folder, tmp_path, monkeypatch):
    sizes = []
    append = FeedbackFile.append

    def noted(file, records):
        sizes.append(len(records))
        return append(file, records)

    monkeypatch.setattr(FeedbackFile, "append", noted)
    with in_process(folder, feedback=tmp_path) as service:
        queue = service.taggers.queue("")

        async def write():
            await asyncio.gather(*(queue.write({"text": "a"}) for _ in range(1_001)))

        service.runner.run(write())
    assert sizes == [1_000, 1]


# --- reloads, with a trial that takes no process --------------------------------------------------


@pytest.fixture
def own(folder, tmp_path):
    """A folder that a test may replace, and a place for snapshots of it."""
    shutil.copytree(folder, tmp_path / "own")
    for name in ("place", "shared"):
        (tmp_path / name).mkdir()
    return tmp_path / "own"


@pytest.fixture
def trials(monkeypatch):
    """The trials that were made; ``error`` lets them fail."""
    found = SimpleNamespace(made=[], error=None)

    async def try_out(name, folder, snapshot, settings):
        found.made.append((name, folder, snapshot))
        if found.error:
            raise found.error

    monkeypatch.setattr(taggers, "try_out", try_out)
    return found


def replaced(folder, n=3):
    made(folder, "most-frequent", TEXTS[:n], LABELS[:n], overwrite=True)
    return storage.read_manifest(folder)["checksum"]


def serving(own, **settings):
    """Serve a folder as workers do that share what they know."""
    given = {"snapshots": (str(own.parent / "place"),), "shared": str(own.parent / "shared")}
    return in_process(own, **given | settings)


def reload(service):
    return service.runner.run(service.taggers.reload())


def documents(service):
    return service.taggers.queue("").served.manifest["documents"]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_tagger_before_is_kept_where_workers_may_go_back_to_it(own, trials, caplog, workers):
    with (
        caplog.at_level("INFO", "labelgrove.service"),
        serving(own, workers=workers) as service,
    ):
        place = own.parent / "place"
        for number in range(3):
            checksum = replaced(own, number + 3)
            assert reload(service) == ["own"]
            assert documents(service) == number + 3
            tracked = service.taggers._versions.get("own")
            assert tracked.current.checksum == checksum
            assert Path(tracked.current.folder).parent == place
            assert (tracked.previous is not None) == (workers > 1)
            kept = 1 if workers == 1 else min(number + 1, 2)
            assert len(list(place.iterdir())) == kept, "what nobody needs is gone"
        assert service.count('labelgrove_reloads_total{outcome="done"}') == 3
    assert [each[:2] for each in trials.made] == [("own", str(own))] * 3
    assert "own was loaded anew" in caplog.text
    assert "nothing was saved anew" not in caplog.text


def test_without_a_snapshot_there_is_nothing_to_go_back_to(own, trials):
    with serving(own, workers=2, snapshots=("",)) as service:
        replaced(own)
        assert reload(service) == ["own"]
        assert service.taggers._versions.get("own").previous is None


def test_a_snapshot_that_fails_its_trial_is_removed(own, trials):
    trials.error = InputError("it is bad")
    with serving(own) as service:
        replaced(own)
        with pytest.raises(ProblemError) as refused:
            reload(service)
        assert refused.value.status == 409
        assert refused.value.errors == [("own", "it is bad")]
        assert list((own.parent / "place").iterdir()) == []
        assert documents(service) == 100


def test_what_another_worker_has_tried_is_not_tried_again(own, trials, monkeypatch):
    with serving(own, workers=2) as one, serving(own, workers=2) as other:
        replaced(own)
        assert reload(one) == ["own"]
        replaced(own, 4)  # not what was tried
        assert reload(other) == ["own"]
        assert (documents(one), documents(other)) == (3, 3)
        assert len(trials.made) == 1


def test_a_tagger_after_which_a_worker_ended_is_not_taken_again(own, trials):
    with serving(own, workers=2) as service:
        checksum = replaced(own)
        versions = service.taggers._versions
        versions.publish("own", Version("gone", checksum), keep=True)
        assert versions.take_back()
        with pytest.raises(ProblemError) as refused:
            reload(service)
        assert "save another one, or restart the service" in refused.value.errors[0][1]
        assert trials.made == []


def test_a_worker_that_finds_another_tagger_tells_the_others(own, monkeypatch, caplog):
    """It was replaced while no snapshot of it was kept."""
    told = []
    monkeypatch.setattr(taggers.os, "kill", lambda *given: told.append(given))
    with serving(own, snapshots=("",)):
        pass
    with serving(own, snapshots=("",), supervisor=4_194_305):
        assert told == []
    checksum = replaced(own)
    with serving(own, snapshots=("",), supervisor=4_194_305) as service:
        tracked = service.taggers._versions.get("own")
    assert (tracked.current, tracked.previous) == (Version(str(own), checksum), None)
    assert told == [(4_194_305, signal.SIGHUP)]
    assert "own was replaced, and what was served is gone" in caplog.text
    replaced(own, 4)
    with serving(own, snapshots=("",)):
        assert len(told) == 1, "alone there is nobody to tell"
