"""An event loop whose clock jumps to the next timer: hours pass in an instant, and exactly."""

import asyncio

FOREVER = 10  # seconds after which nothing more is to be expected


class VirtualLoop(asyncio.SelectorEventLoop):
    """Waits for no timer. What threads do takes no time, so tests with threads are not for it."""

    def __init__(self):
        super().__init__()
        self._now = 1000.0
        select = self._selector.select

        def jump(timeout=None):
            if timeout is None:
                events = select(FOREVER)
                assert events, "everything waits, and no timer is left"
                return events
            self._now += max(0.0, timeout)
            return select(0)

        self._selector.select = jump

    def time(self):
        return self._now


def run(main):
    """Run a coroutine to its end, as `asyncio.run` does."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
