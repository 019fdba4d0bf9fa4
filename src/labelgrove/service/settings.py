"""How a service is set up: plain values, which reach worker processes as JSON."""

from __future__ import annotations

import json
import re
import socket
import stat
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from ipaddress import ip_address
from itertools import islice
from pathlib import Path
from textwrap import shorten
from typing import Any
from urllib.parse import urlsplit

from labelgrove.core import system
from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.corpus import read_corpus

LOOPBACK = ("localhost", "127.0.0.1", "::1")
SHORTEST_KEY = 16  # characters
EXAMPLES = 5  # texts that the page offers to try
EXAMPLE = 500  # characters of one
ANY_ORIGIN = "*"
DEFAULT_PORTS = {"http": 80, "https": 443}
# a host is written as browsers send it, in ASCII
ORIGIN = re.compile(r"(?P<site>(?P<scheme>https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\]))(:[0-9]{1,5})?")
HOST = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")  # as in BCP 47


@dataclass(frozen=True)
class Limits:
    """What a request may ask for; more is refused with a 4xx.

    Parameters
    ----------
    body
        Bytes of a request.
    bodies
        Bytes of all requests that a process holds at once.
    texts
        Texts of a request.
    length
        Characters of a text.
    seconds
        For reading a request, and again for answering it.
    waiting
        Texts that may wait for a tagger before further requests are told to come back.
    rate
        Requests of a client in a minute; None for any number. One with many or long texts counts
        for several.
    """

    body: int = 10_000_000
    bodies: int = 200_000_000
    texts: int = 1_000
    length: int = 1_000_000
    seconds: float = 60.0
    waiting: int = 10_000
    rate: int | None = None

    def __post_init__(self) -> None:
        for name in ("body", "bodies", "texts", "length", "seconds", "waiting"):
            if getattr(self, name) <= 0:
                raise InputError(f"the limit of {name} must be above 0, got {getattr(self, name)}")
        if self.rate is not None and self.rate < 1:
            raise InputError(f"rate must be at least 1 request a minute, got {self.rate}")


@dataclass(frozen=True)
class Settings:
    """What is served, to whom, and how.

    Parameters
    ----------
    taggers
        Name and folder of each saved tagger; the first is asked where a request names none.
    feedback
        The file that takes the feedback of each tagger, in the same order; None for none.
    limits
        What a request may ask for.
    keys
        API keys, one of which a request must bring; empty for none.
    metrics_keys
        Keys for the metrics alone, which then take no other; empty where API keys open them.
    metrics_port
        The metrics have this port of their own, 0 for any that is free; None for the service's.
    origins
        Origins of other pages that may ask; ``*`` for all.
    hosts
        Names by which the service may be called; empty for any, unless ``addresses``.
    addresses
        It may also be called by any address, as in ``http://192.0.2.1``.
    threads
        Threads of each worker; None for its share of the cores.
    workers
        Processes that answer.
    batch
        Texts that are tagged together at most.
    wait
        Seconds that a text waits for others, though its tagger is free.
    log
        ``"requests"``, ``"texts"`` (these too) or ``"nothing"`` but errors.
    shared
        A folder in which the processes keep what they share; empty for none.
    snapshots
        The place for snapshots of each tagger, in the same order; empty for none.
    copies
        The folder for copies of the taggers, which are served instead; empty for none.
    loading
        Seconds in which a new tagger must load and answer, in a process of its own.
    terminal
        Whether the service ends when the terminal is closed that it was started from.
    supervisor
        Process that started the workers, 0 for none: they end when it does.
    signed_by
        File of the public key that must have signed every tagger; None for no signature.
    examples
        Texts that the page offers to try.
    review
        The review file that the page shows; empty for none.
    languages
        The language of each tagger, in the same order, as Annif's clients are told; empty where
        the names of its labels tell.
    """

    taggers: tuple[tuple[str, str], ...]
    feedback: tuple[str | None, ...]
    limits: Limits = field(default_factory=Limits)
    keys: tuple[str, ...] = ()
    metrics_keys: tuple[str, ...] = ()
    metrics_port: int | None = None
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = LOOPBACK
    addresses: bool = False
    threads: int | None = None
    workers: int = 1
    batch: int = 64
    wait: float = 0.0
    log: str = "requests"
    shared: str = ""
    snapshots: tuple[str, ...] = ()
    copies: str = ""
    loading: float = 600.0
    terminal: bool = False
    supervisor: int = 0
    signed_by: str | None = None
    examples: tuple[str, ...] = ()
    review: str = ""
    languages: tuple[str, ...] = ()

    def snapshot_place(self, name: str) -> str:
        """Return the place for snapshots of a tagger; empty for none."""
        by_name = dict(zip((name for name, _ in self.taggers), self.snapshots, strict=False))
        return by_name.get(name, "")

    def to_json(self) -> str:
        """Return the settings for `from_json`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Return the settings that `to_json` wrote."""
        values = json.loads(text)
        limits = Limits(**values.pop("limits"))
        taggers = tuple((name, folder) for name, folder in values.pop("taggers"))
        plain: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
        }
        return cls(taggers=taggers, limits=limits, **plain)


def read_examples(file: Path) -> tuple[str, ...]:
    """Return the first texts of a file, cut to a length that is read at a glance."""
    corpus = read_corpus(file, labelled=False)
    texts = (" ".join(text.split()) for text in corpus.texts())
    return tuple(
        islice((shorten(text, EXAMPLE, placeholder=" …") for text in texts if text), EXAMPLES)
    )


def name_taggers(given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return name and folder of taggers given as ``DIR`` or ``NAME=DIR``.

    Examples
    --------
    >>> name_taggers(["models/first", "second=models/other"])
    (('first', 'models/first'), ('second', 'models/other'))
    """
    folders_by_name: dict[str, str] = {}
    for each in given:
        name, named, folder = each.partition("=")
        if not named or Path(each).exists():
            name, folder = Path(each).resolve().name, each
        if not name or not folder:
            raise InputError(f"a tagger is given as DIR or NAME=DIR, got {each!r}")
        if name in folders_by_name:
            raise InputError(
                f"two taggers would be called {name!r}: {folders_by_name[name]} and {folder}; "
                f"give one another name, as in other={folder}"
            )
        folders_by_name[name] = folder
    return tuple(folders_by_name.items())


def languages_of(taggers: Sequence[tuple[str, str]], given: Sequence[str]) -> tuple[str, ...]:
    """Return the language of each tagger, given as ``CODE`` for all or ``NAME=CODE`` for one.

    Examples
    --------
    >>> languages_of([("a", "models/a"), ("b", "models/b")], ["en", "b=fi"])
    ('en', 'fi')
    """
    names = [name for name, _ in taggers]
    every, by_name = "", {}
    for each in given:
        name, named, code = each.rpartition("=")
        if not LANGUAGE.fullmatch(code):
            raise InputError(
                f"--language {each!r}: {code!r} is no code of a language such as en or pt-BR"
            )
        if not named:
            every = code
        elif name in names:
            by_name[name] = code
        else:
            raise UnknownNameError("tagger in --language", name, names)
    return tuple(by_name.get(name, every) for name in names)


def origins_of(given: Sequence[str]) -> tuple[str, ...]:
    """Return origins as browsers send them: no default port, nothing in upper case.

    Examples
    --------
    >>> origins_of(["https://Tags.example.org:443", "http://localhost:3000"])
    ('https://tags.example.org', 'http://localhost:3000')
    """
    return tuple(dict.fromkeys(each if each == ANY_ORIGIN else _origin(each) for each in given))


def _origin(given: str) -> str:
    parts = ORIGIN.fullmatch(given.lower())
    try:
        if parts is None or not urlsplit(given).hostname:
            raise ValueError
        port = urlsplit(given).port
    except ValueError:
        raise InputError(
            f"--allow-origin {given!r} is no origin: write scheme, host and perhaps a port, as in "
            "https://tags.example.org or http://localhost:3000, without a path (* for every page)"
        ) from None
    usual = DEFAULT_PORTS[parts["scheme"]]
    return parts["site"] + (f":{port}" if port not in (None, usual) else "")


def hosts_of(given: Sequence[str]) -> tuple[str, ...]:
    """Return names by which a service is called, as they are compared with Host headers.

    Examples
    --------
    >>> hosts_of(["Tags.example.org", "[::1]"])
    ('tags.example.org', '::1')
    """
    return tuple(dict.fromkeys(_host(each) for each in given))


def _host(given: str) -> str:
    if HOST.fullmatch(given):
        return given.lower()
    try:
        return str(ip_address(given.removeprefix("[").removesuffix("]")))
    except ValueError:
        raise InputError(
            f"--allow-host {given!r} is no name of a machine: write it without scheme, port and "
            "path, as in tags.example.org, and once for each name"
        ) from None


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches an address.

    Examples
    --------
    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host in LOOPBACK:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def own_names(near: bool) -> tuple[str, ...]:
    """Return how others may call this machine, unless only itself reaches the service."""
    return () if near else tuple({socket.gethostname().lower(), socket.getfqdn().lower()})


def _check_private(file: Path) -> None:
    """Raise an error if others than the owner and the group may read a file, or may write it."""
    mode = file.stat().st_mode
    if not system.HERE.has_modes or not stat.S_ISREG(mode):
        return
    if mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        raise InputError(
            f"{file} may be read or written by others (mode {stat.S_IMODE(mode):o}), so its keys "
            f"are no secret: chmod 600 {file}, and make new keys if others had access"
        )


def read_keys(file: Path) -> tuple[str, ...]:
    """Return the API keys of a file: one a line; empty lines and those with ``#`` do not count."""
    try:
        _check_private(file)
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the keys in {file} cannot be read: {error}") from error
    keys = []
    for number, line in enumerate(lines, 1):
        key = line.strip()
        if not key or key.startswith("#"):
            continue
        if len(key) < SHORTEST_KEY or not key.isascii() or len(key.split()) > 1:
            raise InputError(
                f"{file}, line {number}: a key has at least {SHORTEST_KEY} ASCII characters and no "
                "space; 'openssl rand -hex 24' makes one"
            )
        keys.append(key)
    if not keys:
        raise InputError(f"{file} holds no key; 'openssl rand -hex 24' makes one")
    return tuple(dict.fromkeys(keys))
