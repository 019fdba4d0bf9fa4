"""What joins the processes of a group with the one that waits for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from labelgrove.cluster.failures import SentError, pack, unpack
from labelgrove.core.errors import ClusterError
from labelgrove.core.progress import Progress, Task

SECONDS = 0.5  # between two messages about progress
Message = tuple[Any, ...]


class HomeNews(NamedTuple):
    """What a group sent since it was last asked.

    Parameters
    ----------
    messages
        About progress.
    failed
        The error that ended it, if one did.
    begun
        Whether a process of it ever ran.
    """

    messages: list[Message]
    failed: SentError | None
    begun: bool


class HomeProcess:
    """Lives in a process of the cluster, on the machine of the one that waits.

    Parameters
    ----------
    max_retries
        How many times in a row processes may die without getting further.
    """

    def __init__(self, max_retries: int) -> None:
        self._max_retries = max_retries
        self._lock, self._calling = threading.Lock(), threading.Lock()
        self._messages: list[Message] = []
        self._failed: SentError | None = None
        self._stopped = False
        self._starts, self._furthest, self._reason = 0, -1, ""

    def begin(self, first: bool) -> bool:
        """Count the starts of the first process; tell whether there is anything to do."""
        with self._lock:
            again = first and self._starts > 0
            self._starts += first
            if self._failed is None and self._starts > self._max_retries + 1:
                reason = self._reason or "there may not be enough memory"
                died = f"processes died {self._starts - 1} times in a row"
                error = ClusterError(f"the training on the cluster failed: {died}: {reason}")
                self._failed = pack(error)
            goes_on = self._failed is None and not self._stopped
            if again and goes_on:
                why = f" ({self._reason})" if self._reason else ""
                words = f"a process died{why}; all begin again at the last checkpoint"
                self._messages.append(("say", words))
            return goes_on

    def call(self, function: Callable[..., Any], *arguments: Any) -> tuple[bool, Any]:
        """Call a function; return whether it succeeded, and its result or error.

        One at a time: what dead processes left to be written is whole before others read it. An
        error ends the group: a disk that is full stays so.
        """
        try:
            with self._calling:
                return True, function(*arguments)
        except Exception as error:
            sent = pack(error)
            self.fail(sent)
            return False, sent

    def tell(self, messages: list[Message]) -> bool:
        """Take messages; return whether the group should stop."""
        with self._lock:
            for kind, *facts in messages:
                if kind == "task" and facts[-1] > self._furthest:  # further than the last time
                    self._furthest, self._starts = facts[-1], 1
            self._messages += messages
            return self._stopped

    def fail(self, error: SentError) -> None:
        """End the group with an error, of which another try would be no better."""
        with self._lock:
            self._failed = self._failed or error

    def complain(self, reason: str) -> None:
        """Remember why a process ended that will be started again."""
        with self._lock:
            self._reason = reason

    def stop(self) -> None:
        """Let the group stop at its next step."""
        with self._lock:
            self._stopped = True

    def news(self) -> HomeNews:
        """Return what was sent since the last time."""
        with self._lock:
            messages, self._messages = self._messages, []
            return HomeNews(messages, self._failed, self._starts > 0)


class SentHome(Progress):
    """Home, as a process of the group sees it; its progress is shown there.

    Parameters
    ----------
    actor
        Ray's handle of the `HomeProcess`.
    """

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self._waiting: list[Message] = []
        self._sent, self._answer, self._stopped = 0.0, None, False

    @property
    def progress(self) -> Progress:
        """Itself."""
        return self

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on the machine of the process that waits."""
        import ray

        succeeded, value = ray.get(self._actor.call.remote(function, *arguments))
        if not succeeded:
            raise unpack(value)
        return value

    def is_stopped(self) -> bool:
        """Tell whether to stop, as far as is known here."""
        import ray

        if self._answer is not None and ray.wait([self._answer], timeout=0)[0]:
            self._stopped, self._answer = ray.get(self._answer), None
        if self._answer is None and time.monotonic() - self._sent >= SECONDS:
            self._sent = time.monotonic()
            self._answer = self._actor.tell.remote(self._waiting)
            self._waiting = []
        return self._stopped

    def flush(self) -> None:
        """Send what was not sent yet."""
        import ray

        ray.get(self._actor.tell.remote(self._waiting))
        self._waiting = []

    @contextmanager
    def task(
        self, title: str, total: int | None = None, unit: str = "documents", done: int = 0
    ) -> Iterator[Task]:
        """Open a task that is shown at home."""
        self._waiting.append(("task", title, total, unit, done))
        self.flush()
        yield SentTask(self)

    def advance(self, steps: int, facts: dict[str, float | str]) -> None:
        """Send how far the task is, with what is known beside."""
        self._waiting.append(("advance", steps, facts))

    def say(self, message: str) -> None:
        """Say a line at home."""
        self._waiting.append(("say", message))


class SentTask(Task):
    """A task whose steps are sent home.

    Parameters
    ----------
    home
        Takes them there.
    """

    def __init__(self, home: SentHome) -> None:
        self._home = home

    def advance(self, steps: int = 1, **facts: float | str) -> None:
        """Send steps and facts."""
        self._home.advance(steps, facts)


class ShownAtHome:
    """Shows the messages of a group: one bar, also when it begins again.

    Parameters
    ----------
    progress
        Where.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress, self._open = progress, ExitStack()
        self._task: Task | None = None
        self._done = 0

    def close(self) -> None:
        """End the bar."""
        self._open.close()

    def show(self, messages: list[Message]) -> None:
        """Show messages in their order."""
        for kind, *facts in messages:
            if kind == "say":
                self._progress.say(*facts)
            elif kind == "task":
                self._begin(*facts)
            elif self._task is not None:
                steps, more = facts
                self._done += steps
                self._task.advance(steps, **more)

    def _begin(self, title: str, total: int | None, unit: str, done: int) -> None:
        if self._task is None:
            opened = self._progress.task(title, total, unit, done)
            self._task = self._open.enter_context(opened)
        else:
            self._task.advance(done - self._done)
        self._done = done
