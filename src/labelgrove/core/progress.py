"""Progress of long work: a bar on a terminal, plain lines in a pipe, silence in Python."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from typing import Any, TextIO, TypeAlias, TypeVar

from labelgrove.core.printable import printable

T = TypeVar("T")


class Task(ABC):
    """One piece of work that advances."""

    @abstractmethod
    def advance(self, steps: int = 1, **facts: float | str) -> None:
        """Count ``steps`` more as done; ``facts`` (such as ``loss=0.1``) are shown beside."""


class QualityNote(str):
    """A note that labels are worse than they could be, such as when a language model failed."""

    __slots__ = ()


class Progress(ABC):
    """Where progress goes."""

    @abstractmethod
    def task(
        self, title: str, total: int | None = None, unit: str = "documents", done: int = 0
    ) -> AbstractContextManager[Task]:
        """Open a task of ``total`` steps, or of an unknown number; ``done`` were done before."""

    @abstractmethod
    def say(self, message: str) -> None:
        """Show one line."""

    def warn(self, message: str) -> None:
        """Show one line about labels that are worse than they could be, also when quiet."""
        self.say(message)

    def note(self, note: str) -> None:
        """Show a note of a model, as a warning if it is a `QualityNote`."""
        (self.warn if isinstance(note, QualityNote) else self.say)(note)

    def track(
        self, items: Iterable[T], title: str, total: int | None = None, unit: str = "documents"
    ) -> Iterator[T]:
        """Iterate over ``items`` and count them."""
        if total is None and isinstance(items, Sized):
            total = len(items)
        with self.task(title, total, unit) as task:
            waiting = 0
            for item in items:
                yield item
                waiting += 1
                if waiting == 64:  # a bar is slower than a reader
                    task.advance(waiting)
                    waiting = 0
            task.advance(waiting)


ProgressLike: TypeAlias = Progress | bool | None  # what functions take as progress


class _SilentTask(Task):
    def advance(self, steps: int = 1, **facts: float | str) -> None:
        pass


class Silent(Progress):
    """Shows nothing."""

    @contextmanager
    def task(
        self, title: str, total: int | None = None, unit: str = "documents", done: int = 0
    ) -> Iterator[Task]:
        """Open a task that is not shown."""
        yield _SilentTask()

    def say(self, message: str) -> None:
        """Show nothing."""


class OnlyWarnings(Silent):
    """Shows nothing but warnings, on standard error: what ``--quiet`` leaves."""

    def warn(self, message: str) -> None:
        """Show one line."""
        if sys.stderr is not None:
            print(printable(message), file=sys.stderr)


def _counted(number: int, unit: str) -> str:
    """Return a number with its unit, a plural such as "documents" or "groups of labels"."""
    noun, space, rest = unit.partition(" ")
    return f"{number:,} {noun.removesuffix('s') if number == 1 else noun}{space}{rest}"


def _facts(facts: dict[str, float | str]) -> str:
    return "".join(
        f", {name} {value:.4g}" if isinstance(value, float) else f", {name} {value}"
        for name, value in facts.items()
    )


class _LinesTask(Task):
    def __init__(self, out: Lines, title: str, total: int | None, unit: str, done: int) -> None:
        self._out, self._title, self._total, self._unit = out, title, total, unit
        self._done = self._before = done
        self._facts: dict[str, float | str] = {}
        self._started = self._shown = time.monotonic()

    def advance(self, steps: int = 1, **facts: float | str) -> None:
        self._done += steps
        self._facts.update(facts)
        now = time.monotonic()
        if now - self._shown >= self._out.seconds:
            self._shown = now
            speed = (self._done - self._before) / max(now - self._started, 1e-9)
            of = ""
            if self._total:
                of = f" of {self._total:,} ({self._done / self._total:.0%})"
                if speed:
                    of += f", {max(self._total - self._done, 0) / speed:.0f} s left"
            rate = f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s"
            done = _counted(self._done, self._unit)
            self._out.say(f"{self._title}: {done}{of}, {rate}" + _facts(self._facts))

    def close(self) -> None:
        spent = time.monotonic() - self._started
        done = _counted(self._done - self._before, self._unit)
        self._out.say(f"{self._title}: {done} in {spent:.1f} s" + _facts(self._facts))


class Lines(Progress):
    """Plain lines, one every few seconds and one at the end of each task.

    Parameters
    ----------
    stream
        Where the lines go; standard error when None.
    seconds
        Least time between two lines of one task.
    """

    def __init__(self, stream: TextIO | None = None, seconds: float = 10.0) -> None:
        self._stream = stream
        self.seconds = seconds

    @contextmanager
    def task(
        self, title: str, total: int | None = None, unit: str = "documents", done: int = 0
    ) -> Iterator[Task]:
        """Open a task that prints lines."""
        task = _LinesTask(self, title, total, unit, done)
        yield task
        task.close()

    def say(self, message: str) -> None:
        """Print one line."""
        print(printable(message), file=self._stream or sys.stderr, flush=True)


class _BarTask(Task):
    def __init__(self, bars: Any, number: Any) -> None:
        self._bars, self._number = bars, number
        self._facts: dict[str, float | str] = {}

    def advance(self, steps: int = 1, **facts: float | str) -> None:
        self._facts.update(facts)
        self._bars.update(self._number, advance=steps, facts=_facts(self._facts))


class Bars(Progress):
    """Bars of rich on a terminal.

    Parameters
    ----------
    stream
        Where they go; standard error when None.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        from rich.console import Console

        self._console = Console(file=stream, stderr=stream is None)

    @contextmanager
    def task(
        self, title: str, total: int | None = None, unit: str = "documents", done: int = 0
    ) -> Iterator[Task]:
        """Open a task with a bar, speed and time left."""
        from rich import progress as rich_progress

        columns = (
            rich_progress.TextColumn("{task.description}", markup=False),
            rich_progress.BarColumn(),
            rich_progress.TextColumn("{task.completed:,} {task.fields[unit]}{task.fields[facts]}"),
            rich_progress.TimeElapsedColumn(),
            rich_progress.TextColumn("left"),
            rich_progress.TimeRemainingColumn(),
        )
        with rich_progress.Progress(*columns, console=self._console) as bars:
            number = bars.add_task(
                printable(title), total=total, unit=unit, facts="", completed=done
            )
            yield _BarTask(bars, number)
            if total is None:
                bars.update(number, total=bars.tasks[0].completed)

    def say(self, message: str) -> None:
        """Print one line above the bars."""
        self._console.print(printable(message), highlight=False, markup=False)


def as_progress(progress: ProgressLike) -> Progress:
    """Return where progress goes in Python: True shows it, False and None do not.

    It is shown as bars in a terminal and in a notebook that has ipywidgets, else as lines.
    """
    if isinstance(progress, Progress):
        return progress
    if not progress:
        return Silent()
    from rich.console import Console

    from labelgrove.core.compiling import announce

    shown = for_stream(sys.stderr)
    if Console().is_jupyter:
        shown = Bars() if find_spec("ipywidgets") else Lines(sys.stdout)
    announce(shown)
    return shown


def for_stream(stream: TextIO) -> Progress:
    """Return bars if ``stream`` is a terminal, lines otherwise."""
    return Bars(stream) if stream.isatty() else Lines(stream)
