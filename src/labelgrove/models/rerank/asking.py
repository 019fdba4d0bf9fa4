"""Many questions to a language model: several at once, each one once, and all that came of them."""

from __future__ import annotations

import statistics
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from labelgrove.core.wording import several
from labelgrove.models.rerank.answers import Answers, question_key
from labelgrove.models.rerank.prompts import ChosenLabels, read_answer
from labelgrove.models.rerank.server import ChatServer, NoAnswerError, Reply, Stop

MOST_FAILURES = 10  # in a row; then the server is left alone for a while
REST = 60.0  # seconds
RECENT = 4096  # answers in memory, for where none are kept on disk
NO_LABELS = "no JSON with labels"
NOT_ASKED = "not asked after failures in a row"


class Question(NamedTuple):
    """A request, and the names of the candidates that may be answered."""

    body: Mapping[str, Any]
    names: Sequence[str]


@dataclass
class Usage:
    """What asking came to.

    Parameters
    ----------
    requests
        Questions that were sent.
    again
        Further tries of them.
    kept
        Questions whose answer was on the disk, or that occurred twice.
    prompt_tokens, completion_tokens
        As the server counts them.
    unknown
        Labels that were answered and are no candidates.
    seconds
        Time of all asking.
    latencies
        Seconds of each answer.
    failures
        Questions without an answer, by reason.
    example
        What the server said of one of them.
    """

    requests: int = 0
    again: int = 0
    kept: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    unknown: int = 0
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)
    example: str = ""

    def line(self, url: str) -> str:
        """Return it in one line, or nothing where nothing was asked."""
        if not (self.requests or self.kept or self.failures):
            return ""
        told = [f"{several(self.requests, 'request')} to {url}"]
        if self.again:
            told.append(f"{self.again:,} of them asked again")
        told.append(f"{several(self.kept, 'answer')} known before")
        if self.latencies:
            told.append(
                f"{self.prompt_tokens:,} prompt and {self.completion_tokens:,} completion tokens"
            )
            median = statistics.median(self.latencies)
            told.append(f"{self.seconds:.1f} s, median answer {median:.2f} s")
        if self.unknown:
            told.append(f"{several(self.unknown, 'label')} that no candidate is called dropped")
        if lost := sum(self.failures.values()):
            reasons = ", ".join(f"{n:,} {reason}" for reason, n in self.failures.most_common())
            said = f"; {self.example}" if self.example not in {"", *self.failures} else ""
            texts = several(lost, "text keeps", "texts keep")
            told.append(f"{texts} the ranking of the first stage ({reasons}{said})")
        return "language model: " + "; ".join(told)


class Asker:
    """Asks a server, several questions at once; answers are kept on disk.

    After ten failures in a row the server is left alone for a minute, so that one that is down
    costs little time.

    Parameters
    ----------
    server
        Who is asked.
    answers
        Where answers are kept; None for nowhere.
    parallel
        Questions at once.
    """

    def __init__(self, server: ChatServer, answers: Answers | None, parallel: int) -> None:
        self.server, self.usage = server, Usage()
        self._answers, self._parallel = answers, parallel
        self._recent: dict[bytes, ChosenLabels] = {}
        self._failures, self._rests_until = 0, 0.0
        self._lock = threading.Lock()

    def take_usage(self) -> Usage:
        """Return what asking came to since this was called last."""
        with self._lock:
            usage, self.usage = self.usage, Usage()
        return usage

    def ask(self, questions: Sequence[Question]) -> list[ChosenLabels | None]:
        """Return what was chosen for each question; None where there is no answer."""
        started = time.monotonic()
        keys = [question_key(self.server.url, dict(each.body)) for each in questions]
        missing = dict(zip(keys, questions, strict=True))
        found = self._known(missing)
        missing = {key: each for key, each in missing.items() if key not in found}
        failed = self._ask_server(missing, found)
        with self._lock:
            self.usage.kept += len(keys) - len(missing)
            for key in keys:
                if key in found:
                    self.usage.unknown += found[key].unknown
                else:
                    self.usage.failures[failed.get(key, NOT_ASKED)] += 1
            self.usage.seconds += time.monotonic() - started
        return [found.get(key) for key in keys]

    def _known(self, asked: Mapping[bytes, Question]) -> dict[bytes, ChosenLabels]:
        """Return the answers that were given before."""
        with self._lock:
            found = {key: self._recent[key] for key in asked if key in self._recent}
        if self._answers is not None:
            for key, content in self._answers.find(k for k in asked if k not in found).items():
                if (chosen := read_answer(content, asked[key].names)) is not None:
                    found[key] = chosen
        return found

    def _ask_server(
        self, missing: Mapping[bytes, Question], found: dict[bytes, ChosenLabels]
    ) -> dict[bytes, str]:
        """Ask what is missing; answers go into ``found``. Return why there are none to others."""
        failed: dict[bytes, str] = {}
        stop = Stop()
        pool = ThreadPoolExecutor(self._parallel, thread_name_prefix="language-model")
        try:
            waiting: dict[Future[Reply], bytes] = {}
            left = iter(missing.items())
            while True:
                while len(waiting) < self._parallel and self._may_ask():
                    if (following := next(left, None)) is None:
                        break
                    key, question = following
                    waiting[pool.submit(self.server.ask, question.body, stop)] = key
                if not waiting:
                    return failed
                for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                    key = waiting.pop(done)
                    self._take(done, key, missing[key], found, failed)
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)

    def _take(
        self,
        done: Future[Reply],
        key: bytes,
        question: Question,
        found: dict[bytes, ChosenLabels],
        failed: dict[bytes, str],
    ) -> None:
        """Take over what one question came to."""
        try:
            reply = done.result()
        except NoAnswerError as error:
            failed[key] = error.reason
            with self._lock:
                self.usage.requests += 1
                self.usage.example = self.usage.example or str(error)
                self._failures += 1
                if self._failures >= MOST_FAILURES:
                    self._rests_until, self._failures = time.monotonic() + REST, 0
            return
        chosen = read_answer(reply.content, question.names)
        with self._lock:
            self._failures = 0
            usage = self.usage
            usage.requests += 1
            usage.again += reply.tries - 1
            usage.prompt_tokens += reply.prompt_tokens
            usage.completion_tokens += reply.completion_tokens
            usage.latencies.append(reply.seconds)
        if chosen is None:
            failed[key] = NO_LABELS
            return
        found[key] = chosen
        with self._lock:
            self._recent[key] = chosen
            if len(self._recent) > RECENT:
                del self._recent[next(iter(self._recent))]
        if self._answers is not None:
            self._answers.keep(key, reply.content)

    def _may_ask(self) -> bool:
        with self._lock:
            return time.monotonic() >= self._rests_until
