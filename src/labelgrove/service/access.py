"""Who may ask, and how often: names of the service, origins of pages, API keys, rates."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from ipaddress import ip_address, ip_network
from pathlib import Path

from starlette.types import Scope

from labelgrove.service.bodies import FOREIGN, NOTES
from labelgrove.service.problems import ProblemError
from labelgrove.service.rates import Rates
from labelgrove.service.settings import ANY_ORIGIN, Settings

HEALTH, METRICS = "/healthz", "/metrics"
OPEN = frozenset({"/", HEALTH, "/openapi.json", "/docs"})  # without a key; so is /static
FREE = frozenset({"/", HEALTH, METRICS, "/docs"})  # not counted; neither is /static
SPEND = "spend"  # the note by which a costly request counts for more than one
UNNAMED = "unnamed"  # the note on a probe that calls the service by a name that it has not
NEAR_IPV6 = 64  # bits that a client's addresses have in common


class Access:
    """Refuses requests of those who may not ask.

    Parameters
    ----------
    settings
        Who may ask, and how often.
    """

    def __init__(self, settings: Settings) -> None:
        self._keys = digests(settings.keys)
        self._metrics_keys = digests(settings.metrics_keys)
        self._hosts = frozenset(host.lower() for host in settings.hosts)
        self._addresses = settings.addresses
        self._origins = frozenset(settings.origins)
        rate = settings.limits.rate
        shared = Path(settings.shared) if settings.shared else None
        self._rates = None if rate is None else Rates(rate, shared)

    def allows_origin(self, scope: Scope) -> bool:
        """Tell whether a request comes from a page of an origin that may ask."""
        origin = dict(scope["headers"]).get(b"origin", b"").decode("latin-1")
        return bool(origin) and (ANY_ORIGIN in self._origins or origin in self._origins)

    def check(self, scope: Scope) -> None:
        """Raise an error if a request is not allowed."""
        headers = dict(scope["headers"])
        path = scope["path"]
        host = self._check_host(scope, headers)
        self._check_origin(scope, headers, host)
        static = path.startswith("/static/")
        counts = self._rates is not None and not (static or path in FREE)
        client = _client(scope["client"][0] if scope.get("client") else "")
        if keys := self._wanted(path, static):
            try:
                client = keyed(headers.get(b"authorization", b""), keys)
            except ProblemError:
                if self._rates is not None:  # whoever tries keys is counted too
                    self._count(client)
                raise
        if counts:
            self._count(client)
            assert self._rates is not None
            scope[NOTES][SPEND] = partial(self._rates.spend, client)

    def _check_host(self, scope: Scope, headers: Mapping[bytes, bytes]) -> str:
        """Return the name by which a request calls the service.

        A probe may use any: a kubelet sends the address of its pod, and a proxy that speaks
        HTTP/1.0 may send none. It is told that the service answers, and nothing else.
        """
        host = headers.get(b"host", b"").decode("latin-1").lower()
        given = sum(name == b"host" for name, _ in scope["headers"])
        probe = scope["path"] == HEALTH
        if given != 1 and not (probe and not given and scope["http_version"] == "1.0"):
            raise ProblemError(400, "a request has one Host header")
        if not self._is_ours(_name(host)):
            if not probe:
                raise ProblemError(
                    400,
                    f"this service is not called {host[:100]!r}; --allow-host gives it another "
                    "name",
                )
            scope[NOTES][UNNAMED] = True
        return host

    def _check_origin(self, scope: Scope, headers: Mapping[bytes, bytes], host: str) -> None:
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if not origin or origin.partition("://")[2] == host:
            return
        if not self.allows_origin(scope):
            raise ProblemError(403, "pages of other origins may not ask")
        scope[NOTES][FOREIGN] = True

    def _wanted(self, path: str, static: bool) -> Sequence[bytes]:
        """Return the keys one of which a request must bring; none if it needs none."""
        if path == METRICS and self._metrics_keys:
            return self._metrics_keys
        return () if static or path in OPEN else self._keys

    def _is_ours(self, name: str) -> bool:
        """Tell whether a request that calls this service so is meant for it."""
        if name in self._hosts or not (self._hosts or self._addresses):
            return True
        return self._addresses and _is_address(name)

    def _count(self, client: str) -> None:
        """Refuse who asks too often."""
        assert self._rates is not None
        wait = self._rates.wait(client)
        if wait > 0:
            seconds = math.ceil(wait)
            raise ProblemError(
                429,
                f"too many requests: ask again in {seconds} s",
                headers={"Retry-After": str(seconds)},
            )


def digests(keys: Sequence[str]) -> list[bytes]:
    """Return what is kept of keys, to compare others with."""
    return [hashlib.sha256(key.encode()).digest() for key in keys]


def keyed(given: bytes, keys: Sequence[bytes]) -> str:
    """Return a name for the key of a request, comparing it with all keys in constant time."""
    scheme, _, key = given.partition(b" ")
    digest = hashlib.sha256(key.strip()).digest()
    known_key = False
    for known in keys:
        known_key |= hmac.compare_digest(known, digest)
    if scheme.lower() != b"bearer" or not known_key:
        said = "this API key is not known" if key else "this service wants an API key"
        raise ProblemError(
            401,
            f"{said}: send the header 'Authorization: Bearer KEY'",
            headers={"WWW-Authenticate": "Bearer"},
        )
    return digest.hex()


@lru_cache(1_000)
def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


@lru_cache(1_000)
def _client(address: str) -> str:
    """Return whom an address stands for: whoever has one of version 6 has many near it.

    Examples
    --------
    >>> _client("127.0.0.1"), _client("2001:db8::1:2")
    ('127.0.0.1', '2001:db8::/64')
    """
    if ":" not in address:
        return address
    return str(ip_network(f"{address.partition('%')[0]}/{NEAR_IPV6}", strict=False))


def _name(host: str) -> str:
    """Return the host of a Host header without its port.

    Examples
    --------
    >>> _name("localhost:8000"), _name("[::1]:8000")
    ('localhost', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
