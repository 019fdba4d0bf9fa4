"""Annif with its omikuji backend: its files, its training, and the ways to serve it.

Annif lives in a virtual environment of its own (``pip install 'annif[omikuji]'``, with NLTK's
data package punkt_tab in the environment's ``nltk_data/tokenizers``); this file drives it from
outside, by its commands.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

VOCABULARY = "labels"
CONFIGURATION = f"""\
[bonsai]
name=Omikuji Bonsai English
language=en
backend=omikuji
analyzer=snowball(english)
vocab={VOCABULARY}
cluster_balanced=False
cluster_k=100
max_depth=3

[parabel]
name=Omikuji Parabel English
language=en
backend=omikuji
analyzer=snowball(english)
vocab={VOCABULARY}
"""  # both as Annif's wiki gives them, page "Backend: Omikuji"
READY = "Application startup complete"  # a line for each worker


class Way(NamedTuple):
    """A way to serve Annif."""

    project: str
    command: tuple[str, ...]
    workers: int
    told: str


def _gunicorn(workers: int) -> tuple[str, ...]:
    # as its tutorial's page on production use gives it, with a number of workers
    return (
        *("gunicorn", "annif:create_app()", "--bind", "127.0.0.1:{port}", "--timeout", "600"),
        *("--worker-class", "uvicorn.workers.UvicornWorker", "--workers", str(workers)),
    )


_UVICORN = (
    *("uvicorn", "annif:create_app", "--factory", "--host", "127.0.0.1", "--port", "{port}"),
    *("--workers", "2", "--no-access-log"),
)
WAYS = (
    Way("bonsai", _gunicorn(2), 2, "gunicorn, 2 uvicorn workers"),
    Way("bonsai", _gunicorn(4), 4, "gunicorn, 4 uvicorn workers"),
    Way("bonsai", _UVICORN, 2, "uvicorn alone, 2 workers"),
    Way("parabel", _gunicorn(2), 2, "gunicorn, 2 uvicorn workers"),
)


def prepare(
    environment: Path, folder: Path, documents: Iterable[dict[str, Any]], log: Path
) -> dict[str, float]:
    """Write Annif's files, load the vocabulary and train both projects, once.

    Parameters
    ----------
    environment
        Annif's virtual environment.
    folder
        Where its configuration and data go.
    documents
        With text and labels.
    log
        Where its output goes.
    """
    done = folder / "done"
    if done.exists():
        return dict(json.loads(done.read_text()))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "projects.cfg").write_text(CONFIGURATION)
    labels: dict[str, None] = {}
    with (folder / "train.tsv").open("w", encoding="utf-8") as file:
        for document in documents:
            labels.update(dict.fromkeys(document["labels"]))
            subjects = " ".join(f"<{label}>" for label in document["labels"])
            print(" ".join(document["text"].split()), subjects, sep="\t", file=file)
    names = "".join(f"<{label}>\t{label}\n" for label in sorted(labels))
    (folder / "labels.tsv").write_text(names, encoding="utf-8")
    steps = [["load-vocab", VOCABULARY, "labels.tsv", "--language", "en"]]
    steps += [["train", project, "train.tsv"] for project in ("bonsai", "parabel")]
    with log.open("w") as file:
        for step in steps:
            words = [str(environment / "bin" / "annif"), *step]
            ended = subprocess.run(words, cwd=folder, stdout=file, stderr=subprocess.STDOUT)
            if ended.returncode:
                raise SystemExit(f"{' '.join(words)} ended with {ended.returncode}; see {log}")
    found = {
        project: float(sum(x.stat().st_size for x in trained.rglob("*") if x.is_file()))
        for project in ("bonsai", "parabel")
        if (trained := folder / "data" / "projects" / project)
    }
    done.write_text(json.dumps(found))
    return found


def command(environment: Path, way: Way, port: int) -> list[str]:
    """Return the words that start the server."""
    program, *rest = (word.format(port=port) for word in way.command)
    return [str(environment / "bin" / program), *rest]


def request(project: str, text: str, k: int) -> tuple[str, str, bytes]:
    """Return path, content type and body of a request."""
    body = urlencode({"text": text, "limit": k}).encode()
    return f"/v1/projects/{project}/suggest", "application/x-www-form-urlencoded", body


def labels(answer: Any) -> list[str]:
    """Return the labels of an answer, best first."""
    return [each["uri"] for each in answer["results"]]


def versions(environment: Path) -> dict[str, str]:
    """Return what is installed in the environment."""
    code = (
        "import json; from importlib.metadata import version as v; "
        "print(json.dumps({x: v(x) for x in ('annif', 'omikuji', 'gunicorn', 'uvicorn')}))"
    )
    words = [str(environment / "bin" / "python"), "-c", code]
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return dict(json.loads(subprocess.run(words, env=env, stdout=-1, check=True).stdout))
