"""Queues of taggers: parts of a request, who waits, what is counted."""

import pytest

from asgi import in_process
from labelgrove.core.errors import UnknownNameError
from labelgrove.service.settings import Limits
from labelgrove.service.taggers import LONG, SLOW, _parts, text_weight
from services import made


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
