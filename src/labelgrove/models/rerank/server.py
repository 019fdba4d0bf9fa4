"""A server that speaks as OpenAI's does: one question, answered within a limit of time."""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from labelgrove.core.errors import InputError

PATH = "/chat/completions"
KEY, OPENAI_KEY = "LABELGROVE_LLM_KEY", "OPENAI_API_KEY"
URL, OPENAI_URL = "LABELGROVE_LLM_URL", "OPENAI_BASE_URL"
OPENAI = "https://api.openai.com/v1"
AGAIN = {408, 409, 425, 429, 500, 502, 503, 504}  # answers after which it is worth asking again
TRIES = 4
FIRST_PAUSE = 0.5  # seconds before the second try; twice as long before each further one
MOST_BYTES = 4 * 2**20  # of an answer
SHOWN = 200  # characters of what a server says is wrong


class NoAnswerError(Exception):
    """A question without an answer; the message is a few words, such as "HTTP 500"."""

    def __init__(self, reason: str, told: str = "") -> None:
        super().__init__(f"{reason}: {told}" if told else reason)
        self.reason = reason


class Reply(NamedTuple):
    """What a server answered.

    Parameters
    ----------
    content
        The text.
    prompt_tokens, completion_tokens
        What it counted; 0 where it does not say.
    tries
        How often it was asked.
    seconds
        How long the last try took.
    """

    content: str
    prompt_tokens: int
    completion_tokens: int
    tries: int
    seconds: float


class Stop:
    """Ends questions that are being asked: pauses, and what waits for a socket."""

    def __init__(self) -> None:
        self._event, self._lock = threading.Event(), threading.Lock()
        self._sockets: set[socket.socket] = set()

    def set(self) -> None:
        """End all questions that this was given to."""
        with self._lock:
            self._event.set()
            for each in self._sockets:
                _shut(each)

    def is_set(self) -> bool:
        """Tell whether questions are to end."""
        return self._event.is_set()

    def pause(self, seconds: float) -> None:
        """Wait, unless questions are to end."""
        self._event.wait(seconds)

    @contextmanager
    def limiting(self, sock: socket.socket, seconds: float) -> Iterator[None]:
        """Shut a socket down after so many seconds, or once questions are to end.

        Each single wait of a socket has a limit of its own, but a server that sends a byte now
        and then needs one for all of them.
        """
        limit = threading.Timer(max(seconds, 0.0), _shut, [sock])
        limit.daemon = True
        with self._lock:
            self._sockets.add(sock)
            if self._event.is_set():
                _shut(sock)
        limit.start()
        try:
            yield
        finally:
            limit.cancel()
            with self._lock:
                self._sockets.discard(sock)


@dataclass(frozen=True)
class ChatServer:
    """Where questions are sent.

    Parameters
    ----------
    url
        Without the path of chats, such as ``http://localhost:8000/v1``.
    timeout
        Seconds for the answer to one question, with all tries and pauses.
    """

    url: str
    timeout: float

    @classmethod
    def of(cls, url: str, timeout: float) -> ChatServer:
        """Return the server of this url, or of that in the environment."""
        return cls(check_url(os.environ.get(URL, "").strip() or url), timeout)

    def ask(self, body: Mapping[str, Any], stop: Stop) -> Reply:
        """Return the answer to a question, or raise `NoAnswerError`.

        Parameters
        ----------
        body
            The request as JSON.
        stop
            Ends the question once it is set.
        """
        data, headers = json.dumps(body).encode(), self._headers()
        ends = time.monotonic() + self.timeout
        for tried in range(1, TRIES + 1):
            started = time.monotonic()
            pause = FIRST_PAUSE * 2 ** (tried - 1) * random.uniform(1.0, 1.5)
            try:
                status, told, answer = self._post(data, headers, ends, stop)
                if status == http.client.OK:
                    return _reply(answer, tried, time.monotonic() - started)
                problem = NoAnswerError(f"HTTP {status}", _said(status, answer))
                if status not in AGAIN:
                    raise problem
                pause = max(pause, _asked_pause(told.get("Retry-After") or ""))
            except TimeoutError:
                raise NoAnswerError(f"no answer within {self.timeout:g} s") from None
            except (ConnectionRefusedError, socket.gaierror) as error:
                raise NoAnswerError("cannot be reached", error.strerror or "") from None
            except (OSError, http.client.HTTPException) as error:
                problem = NoAnswerError("the connection broke", type(error).__name__)
            if tried == TRIES or stop.is_set() or time.monotonic() + pause >= ends:
                raise problem
            stop.pause(pause)
        raise AssertionError

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key := key_for(self.url):
            headers["Authorization"] = f"Bearer {key}"
        return headers

    def _post(
        self, data: bytes, headers: Mapping[str, str], ends: float, stop: Stop
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Send a request; return status, headers and body, or raise TimeoutError at the end."""
        parts = urlsplit(self.url)
        left = ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection = _connection(parts, left)
        try:
            connection.connect()
            with stop.limiting(connection.sock, ends - time.monotonic()):
                connection.request("POST", parts.path + PATH, data, dict(headers))
                response = connection.getresponse()
                answer = response.read(MOST_BYTES + 1)
            if time.monotonic() >= ends:  # the end may have come in the middle
                raise TimeoutError
            if len(answer) > MOST_BYTES:
                raise NoAnswerError("an answer without end")
            if response.length:  # bytes that were promised and did not come
                raise ConnectionResetError
            return response.status, response.headers, answer
        except (OSError, http.client.HTTPException, ValueError) as error:
            if time.monotonic() >= ends:
                raise TimeoutError from error
            if isinstance(error, ValueError):  # of a socket that was shut down meanwhile
                raise ConnectionResetError from error
            raise
        finally:
            connection.close()


def check_url(url: str) -> str:
    """Return the address of a server without the path of chats, or say what is wrong with it."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # raises an error where it is no number
    except ValueError:
        parts = SplitResult("", "", "", "", "")
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isascii():
        raise InputError(
            f"url must be the address of an OpenAI-compatible server, such as "
            f"http://localhost:8000/v1, got {url[:80]!r}"
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise InputError(
            f"url must hold no password, key or query ({parts.scheme}://{parts.hostname}/...): a "
            f"saved tagger keeps it; give a key by the environment variable {KEY}"
        )
    return url.rstrip("/").removesuffix(PATH)


def key_for(url: str) -> str:
    """Return the key for a server, or nothing.

    A saved tagger names the server that is asked, so the key for OpenAI goes to nobody else.
    """
    name = KEY
    if not os.environ.get(KEY, "").strip():
        known = {OPENAI, os.environ.get(OPENAI_URL, OPENAI).strip().rstrip("/")}
        if url not in known:
            return ""
        name = OPENAI_KEY
    key = os.environ.get(name, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"the key in {name} has letters that no key has: set it again")
    return key


def _connection(parts: SplitResult, seconds: float) -> http.client.HTTPConnection:
    assert parts.hostname is not None
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname, parts.port, timeout=seconds)


def _shut(sock: socket.socket) -> None:
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # TLS would want to say goodbye
    except OSError:
        return  # it is closed already


def _reply(answer: bytes, tried: int, seconds: float) -> Reply:
    try:
        told = json.loads(answer)
        content = told["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise NoAnswerError("no chat completion") from None
    usage = told.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    tokens = (_count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens")))
    return Reply(content if isinstance(content, str) else "", *tokens, tried, seconds)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _said(status: int, answer: bytes) -> str:
    """Return what a server says is wrong; what it says of a key may repeat it."""
    if status in (401, 403):
        return f"is the key in {KEY} right?"
    try:
        told = json.loads(answer)
        error = told.get("error", told)
        words = error.get("message", "") if isinstance(error, dict) else error
    except (ValueError, AttributeError, RecursionError):
        return ""
    return " ".join(str(words).split())[:SHOWN]


def _asked_pause(told: str) -> float:
    """Return the seconds that a server asks to wait: a number, or a date."""
    try:
        return max(float(told), 0.0)
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(told)
    except ValueError:
        return 0.0
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max((until - datetime.now(UTC)).total_seconds(), 0.0)
