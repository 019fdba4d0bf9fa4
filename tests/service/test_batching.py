import asyncio
import threading

import pytest

from labelgrove.service.batching import Batcher, FullError

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
        return await asyncio.gather(first, stays)

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
