import asyncio
import threading

import pytest

from labelgrove.service import batching
from labelgrove.service.batching import Batcher, FullError
from virtual_time import run

GATE = 30  # seconds after which a thread was forgotten


def together(work, **options):
    return Batcher(work, **{"size": 4, "capacity": 100, "name": "test"} | options)


class Held:
    """Work that waits until it is let go, and tells what it did together."""

    def __init__(self):
        self.batches = []
        self.go = threading.Semaphore(0)

    def __call__(self, items):
        assert self.go.acquire(timeout=GATE)
        self.batches.append(list(items))
        return [item * 10 for item in items]


def test_what_comes_while_it_works_is_the_next_batch():
    held = Held()

    async def ask():
        queue = together(held)
        first = asyncio.ensure_future(queue.do(1))
        await asyncio.sleep(0.05)
        others = [asyncio.ensure_future(queue.do(item)) for item in range(2, 8)]
        await asyncio.sleep(0.05)
        assert queue.waiting == 6
        for _ in range(3):
            held.go.release()
        return await asyncio.gather(first, *others)

    assert asyncio.run(ask()) == [10, 20, 30, 40, 50, 60, 70]
    assert held.batches == [[1], [2, 3, 4, 5], [6, 7]]


def test_what_is_asked_in_one_turn_goes_together():
    batches = []

    def work(items):
        batches.append(list(items))
        return items

    async def ask():
        queue = together(work)
        return await asyncio.gather(*map(queue.do, range(3)))

    assert asyncio.run(ask()) == [0, 1, 2]
    assert batches == [[0, 1, 2]]


def test_weights_fill_a_batch_and_a_heavy_item_goes_alone():
    batches = []

    def work(items):
        batches.append(list(items))
        return items

    async def ask():
        queue = together(work)
        await asyncio.gather(*(queue.do(weight, weight) for weight in (3, 1, 1, 9, 1)))

    asyncio.run(ask())
    assert batches == [[3, 1], [1], [9], [1]]


def test_one_that_fails_does_not_spoil_the_others():
    def work(items):
        return [ValueError("odd") if item % 2 else item for item in items]

    async def ask():
        queue = together(work)
        return await asyncio.gather(*map(queue.do, range(3)), return_exceptions=True)

    even, odd, last = asyncio.run(ask())
    assert (even, last) == (0, 2)
    assert isinstance(odd, ValueError)


def test_work_that_fails_as_a_whole_is_told_to_all_and_the_next_goes_on():
    def work(items):
        if -1 in items:
            raise OSError("broken")
        return items

    async def ask():
        queue = together(work)
        failed = await asyncio.gather(queue.do(-1), queue.do(1), return_exceptions=True)
        return failed, await queue.do(2)

    failed, after = asyncio.run(ask())
    assert [str(error) for error in failed] == ["broken", "broken"]
    assert after == 2


def test_more_than_may_wait_is_refused_but_one_large_item_is_not():
    held = Held()

    async def ask():
        queue = together(held, capacity=5)
        large = asyncio.ensure_future(queue.do(1, 50))
        await asyncio.sleep(0.05)
        waits = asyncio.ensure_future(queue.do(2, 5))
        await asyncio.sleep(0)
        with pytest.raises(FullError):
            await queue.do(3, 1)
        held.go.release()
        held.go.release()
        assert await large == 10
        assert await waits == 20
        held.go.release()
        return await queue.do(4, 1)

    assert asyncio.run(ask()) == 40


def test_a_panic_is_told_and_the_queue_goes_on():
    class Panic(BaseException):
        pass

    def work(items):
        if -1 in items:
            raise Panic("in another language")
        return items

    async def ask():
        queue = together(work)
        failed = await asyncio.gather(queue.do(-1), return_exceptions=True)
        return failed, await queue.do(2)

    failed, after = asyncio.run(ask())
    assert "Panic: in another language" in str(failed[0])
    assert after == 2


def test_a_full_batch_waits_for_nobody():
    async def ask():
        queue = together(lambda items: items, wait=3600.0)
        return await asyncio.wait_for(asyncio.gather(*map(queue.do, range(4))), GATE)

    assert asyncio.run(ask()) == [0, 1, 2, 3]


def test_nobody_works_for_who_has_gone():
    held = Held()

    async def ask():
        queue = together(held)
        first = asyncio.ensure_future(queue.do(1))
        await asyncio.sleep(0.05)
        gone = asyncio.ensure_future(queue.do(2))
        stays = asyncio.ensure_future(queue.do(3))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        assert queue.waiting == 1
        held.go.release()
        held.go.release()
        answers = await asyncio.gather(first, stays)
        assert queue.waiting == 0
        return answers

    assert asyncio.run(ask()) == [10, 30]
    assert held.batches == [[1], [3]]


def test_quick_work_needs_no_thread_and_slow_work_has_one():
    threads = []

    def work(items):
        threads.append(threading.current_thread() is threading.main_thread())
        return items

    async def ask(at_once):
        queue = together(work)
        for item in range(50):
            await queue.do(item, at_once=at_once)

    asyncio.run(ask(at_once=False))
    assert not any(threads)
    threads.clear()
    asyncio.run(ask(at_once=True))
    assert threads[0] is False  # nobody knew yet
    assert threads[-1] is True


def test_items_may_wait_up_to_the_capacity():
    held = Held()

    async def ask():
        queue = together(held, capacity=5)
        asked = [asyncio.ensure_future(queue.do(1))]
        await asyncio.sleep(0.05)
        asked += [asyncio.ensure_future(queue.do(2, 2)), asyncio.ensure_future(queue.do(3, 3))]
        await asyncio.sleep(0)
        assert queue.waiting == 5
        with pytest.raises(FullError):
            await queue.do(4)
        for _ in range(3):
            held.go.release()
        return await asyncio.gather(*asked)

    assert asyncio.run(ask()) == [10, 20, 30]


def test_who_stops_waiting_leaves_nothing_behind():
    """Neither before the work begins nor while it is done."""
    held = Held()

    async def ask():
        queue = together(held)
        early = asyncio.ensure_future(queue.do(1))
        await asyncio.sleep(0)
        early.cancel()
        queue._begin()  # in the same turn of the loop
        await asyncio.wait([early])
        assert early.cancelled()
        assert queue.waiting == 0
        late, other = (asyncio.ensure_future(queue.do(item)) for item in (2, 3))
        await asyncio.sleep(0.05)
        late.cancel()
        await asyncio.wait([late])
        assert late.cancelled()
        held.go.release()
        assert await asyncio.wait_for(other, GATE) == 30
        held.go.release()
        return await asyncio.wait_for(queue.do(4), GATE)

    assert asyncio.run(ask()) == 40
    assert held.batches == [[2, 3], [4]]


def test_an_item_waits_so_long_for_others_and_no_longer():
    async def ask():
        loop = asyncio.get_running_loop()
        began, ends = loop.time(), []
        queue = together(lambda items: items, wait=5.0)

        async def asked(item):
            await queue.do(item)
            ends.append(round(loop.time() - began, 3))

        await asyncio.gather(asked(1), asked(2))
        await asyncio.gather(*map(asked, range(9)))
        return ends

    assert run(ask()) == [5.0] * 11, "a full batch begins at once, and so does what is left"


def test_a_batch_that_was_full_early_is_not_begun_again_later():
    held = Held()

    async def ask():
        queue = together(held, wait=0.2)
        asked = [asyncio.ensure_future(queue.do(item)) for item in range(5)]
        await asyncio.sleep(0.4)
        assert queue.waiting == 1
        asked += [asyncio.ensure_future(queue.do(item)) for item in (5, 6, 7)]
        await asyncio.sleep(0.05)
        assert queue.waiting == 4, "they are the next batch, though the thread is busy"
        for _ in range(2):
            held.go.release()
        await asyncio.gather(*asked)

    asyncio.run(ask())
    assert held.batches == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_a_queue_closes_without_waiting_for_its_thread():
    held = Held()

    async def ask():
        queue = together(held)
        asked = asyncio.ensure_future(queue.do(1))
        await asyncio.sleep(0.05)
        queue.close()
        held.go.release()
        return await asked

    assert asyncio.run(ask()) == 10


class Timed:
    """Work of known seconds by item; tells which was done where it was asked for."""

    def __init__(self, seconds=0.0):
        self.now, self.seconds, self.inline = 100.0, seconds, []

    def perf_counter(self):
        return self.now

    def __call__(self, items):
        self.now += self.seconds * len(items)
        self.inline.append(threading.current_thread() is threading.main_thread())
        return items


@pytest.mark.parametrize(
    ("seconds", "asked", "inline"),
    [
        (0.0, [(1, True)] * 3, [False, True, True]),
        (0.0, [(1, True)] * 2 + [(2, True)] * 3, [False, True, False, False, True]),
        (0.0, [(1, False)] * 3 + [(1, True)] * 2, [False] * 4 + [True]),
        (0.0, [(1, None)] * 3, [False] * 3),
        (0.003, [(1, True)] * 3, [False] * 3),
    ],
)
def test_work_is_done_at_once_where_two_milliseconds_are_expected(
    monkeypatch, seconds, asked, inline
):
    """The expectation begins there, and each batch moves it by a fifth."""
    timed = Timed(seconds)
    monkeypatch.setattr(batching, "time", timed)

    async def ask():
        queue = together(timed)
        for weight, at_once in asked:
            given = {} if at_once is None else {"at_once": at_once}
            await queue.do(0, weight, **given)

    asyncio.run(ask())
    assert timed.inline == inline


def test_one_item_that_may_take_long_takes_its_batch_to_the_thread():
    timed = Timed()

    async def ask():
        queue = together(timed)
        for _ in range(20):
            await queue.do(0, at_once=True)
        timed.inline.clear()
        await asyncio.gather(queue.do(0, at_once=True), queue.do(0, at_once=False))

    asyncio.run(ask())
    assert timed.inline == [False]
