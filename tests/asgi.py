"""The service's app in this process: asked by any client, under any name."""

import asyncio
import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from labelgrove.service.app import create_app
from labelgrove.service.settings import Settings
from labelgrove.service.taggers import ServedTaggers
from services import JSON, Answer


async def answered(
    app, path, body=None, *, method=None, headers=(), client="127.0.0.1", host="localhost"
):
    """Return the answer of an ASGI app; a body that is no string or bytes becomes JSON.

    A body that is a list is sent chunk by chunk; after None in it nothing more comes.
    """
    sent = dict(headers)
    if body is not None and not isinstance(body, str | bytes | list):
        body = json.dumps(body)
    if body is not None:
        sent = {**JSON, **sent}
    chunks = body if isinstance(body, list) else [body or b""]
    chunks = [each.encode() if isinstance(each, str) else each for each in chunks]
    bare, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method or ("GET" if body is None else "POST"),
        "scheme": "http",
        "path": bare,
        "raw_path": bare.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [
            *([(b"host", host.encode("latin-1"))] if host is not None else []),
            *((name.lower().encode(), value.encode("latin-1")) for name, value in sent.items()),
        ],
        "client": (client, 50_000) if client else None,
        "server": ("127.0.0.1", 8000),
    }
    left = list(chunks)

    async def receive():
        if not left:
            await asyncio.sleep(3600)
        chunk = left.pop(0)
        if chunk is None:
            await asyncio.sleep(3600)
        return {"type": "http.request", "body": chunk, "more_body": bool(left)}

    messages: list[dict[str, Any]] = []

    async def send(message):
        messages.append(message)

    await app(scope, receive, send)
    start, *rest = messages
    names = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
    return Answer(start["status"], names, b"".join(each.get("body", b"") for each in rest))


@dataclass
class InProcess:
    """An app and the loop that it runs in."""

    taggers: ServedTaggers
    app: Any = None
    runner: asyncio.Runner = field(default_factory=asyncio.Runner)

    def ask(self, path, body=None, **options):
        """Make one request."""
        return self.runner.run(answered(self.app, path, body, **options))

    def ask_all(self, *requests):
        """Make several requests at once, each a tuple of path and body."""

        async def together():
            return await asyncio.gather(*(answered(self.app, *each) for each in requests))

        return self.runner.run(together())

    def count(self, beginning):
        """Return the sum of the metrics whose lines begin so."""
        lines = self.taggers.metrics.text().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(beginning))


@contextmanager
def in_process(*folders, feedback=None, **settings):
    """Serve taggers, named like their folders, without a server."""
    taggers = ServedTaggers(
        Settings(
            taggers=tuple((folder.name, str(folder)) for folder in folders),
            feedback=tuple(
                str(feedback / f"{folder.name}.feedback.jsonl") if feedback else None
                for folder in folders
            ),
            **settings,
        )
    )
    service = InProcess(taggers, create_app(taggers))
    with service.runner:
        try:
            yield service
        finally:
            taggers.close()
            # FastAPI remembers the functions of an app, which know its taggers and their open files
            taggers._queues.clear()
