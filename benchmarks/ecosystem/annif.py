"""Annif's own clients against ``labelgrove serve``, and Annif itself beside it.

    python -m venv annif-env && annif-env/bin/pip install annif==1.4.3 annif-client==0.5.0
    python benchmarks/ecosystem/annif.py --annif annif-env

It serves a small tagger whose labels are URIs and writes ``annif.md`` beside this file:

- annif-client calls each of its methods;
- an Annif project with ``backend=http`` asks the service, as in ``annif suggest``;
- every answer is validated by Annif's own OpenAPI description;
- requests that are wrong go to Annif (its dummy backend) and to the service: the statuses.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from labelgrove import Tagger
from labelgrove.corpus import read_feedback
from labelgrove.labels import read_vocabulary

URI = "http://example.org/"
WORDS = {"energy": "wind and solar power", "health": "doctors heal people", "law": "courts judge"}
TEXT = "solar power for doctors"
PATIENCE = 300  # seconds
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
P = "/v1/projects/small"
FOUR = {"documents": [{"text": TEXT, "document_id": "4"}]}
REQUESTS: list[tuple[str, str, str, str | None, Any]] = [
    ("information", "GET", "/v1/", None, None),
    ("vocabularies", "GET", "/v1/vocabs", None, None),
    ("projects", "GET", "/v1/projects", None, None),
    ("a project", "GET", P, None, None),
    ("unknown project", "GET", "/v1/projects/x", None, None),
    ("suggest", "POST", f"{P}/suggest", FORM, {"text": TEXT}),
    ("a field of another name", "POST", f"{P}/suggest", FORM, {"text": TEXT, "other": "a"}),
    ("no text", "POST", f"{P}/suggest", FORM, {"txt": "a"}),
    ("an empty text", "POST", f"{P}/suggest", FORM, {"text": ""}),
    ("limit 0", "POST", f"{P}/suggest", FORM, {"text": TEXT, "limit": 0}),
    ("limit x", "POST", f"{P}/suggest", FORM, {"text": TEXT, "limit": "x"}),
    ("limit 3.0", "POST", f"{P}/suggest", FORM, {"text": TEXT, "limit": "3.0"}),
    ("limit -1", "POST", f"{P}/suggest", FORM, {"text": TEXT, "limit": -1}),
    ("threshold x", "POST", f"{P}/suggest", FORM, {"text": TEXT, "threshold": "x"}),
    ("threshold 2", "POST", f"{P}/suggest", FORM, {"text": TEXT, "threshold": 2}),
    ("threshold nan", "POST", f"{P}/suggest", FORM, {"text": TEXT, "threshold": "nan"}),
    ("language zz", "POST", f"{P}/suggest", FORM, {"text": TEXT, "language": "zz"}),
    ("suggest in an unknown project", "POST", "/v1/projects/x/suggest", FORM, {"text": TEXT}),
    ("suggest with JSON", "POST", f"{P}/suggest", JSON, {"text": TEXT}),
    ("batch", "POST", f"{P}/suggest-batch?limit=2&threshold=0.1", JSON, FOUR),
    ("33 documents", "POST", f"{P}/suggest-batch", JSON, {"documents": [{"text": "a"}] * 33}),
    ("no documents", "POST", f"{P}/suggest-batch", JSON, {"docs": []}),
    ("a document without text", "POST", f"{P}/suggest-batch", JSON, {"documents": [{}]}),
    ("batch, threshold x", "POST", f"{P}/suggest-batch?threshold=x", JSON, FOUR),
    ("batch, language zz", "POST", f"{P}/suggest-batch?language=zz", JSON, FOUR),
    ("learn without a URI", "POST", f"{P}/learn", JSON, [{"text": "a", "subjects": [{}]}]),
    ("learn an object", "POST", f"{P}/learn", JSON, {"text": "a"}),
    ("learn in an unknown project", "POST", "/v1/projects/x/learn", JSON, []),
    ("languages", "POST", "/v1/detect-language", JSON, {"text": TEXT, "languages": ["en", "fi"]}),
    ("no languages", "POST", "/v1/detect-language", JSON, {"text": TEXT, "languages": []}),
    ("language zz", "POST", "/v1/detect-language", JSON, {"text": TEXT, "languages": ["zz"]}),
]
CLIENT = """
import json, sys
from annif_client import AnnifClient

annif, text, uri = AnnifClient(sys.argv[1]), sys.argv[2], sys.argv[3]
told = {
    "api_info": annif.api_info,
    "projects": annif.projects,
    "get_project": annif.get_project("small"),
    "suggest": annif.suggest("small", text, limit=2, threshold=0.01),
    "suggest_batch": annif.suggest_batch("small", [{"text": text, "document_id": "1"}], limit=1),
    "detect_language": annif.detect_language(text, ["en", "fi", "sv"]),
    "learn": annif.learn("small", [{"text": "told", "subjects": [{"uri": uri}]}]).status_code,
}
try:
    annif.get_project("x")
except ValueError as error:
    told["unknown project"] = str(error)
print(json.dumps(told))
"""
VALIDATE = """
import json, sys
from importlib.resources import files
import jsonschema, yaml

api = yaml.safe_load((files("annif") / "openapi/annif.yaml").read_text())

def plain(part):
    if isinstance(part, list):
        return [plain(each) for each in part]
    if not isinstance(part, dict):
        return part
    part = {name: plain(value) for name, value in part.items()}
    if part.pop("nullable", False):
        part["type"] = [part["type"], "null"] if "type" in part else ["object", "null"]
    if part.get("exclusiveMaximum") is True:
        part["exclusiveMaximum"] = part.pop("maximum")
    if "$ref" in part and "/schemas/" in part["$ref"]:
        return plain(api["components"]["schemas"][part["$ref"].rpartition("/")[2]])
    return part

def faults(template, method, status, kind, body):
    answers = {str(key): each for key, each in api["paths"][template][method]["responses"].items()}
    if status not in answers:
        return [f"{method} {template}: status {status} is not in Annif's description"]
    answer = answers[status]
    if "$ref" in answer:
        answer = api["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    content = answer["content"]
    if kind not in content:
        return [f"{method} {template} {status}: {kind} instead of {', '.join(content)}"]
    value = body if kind == "text/plain" else json.loads(body)
    found = jsonschema.Draft202012Validator(plain(content[kind]["schema"])).iter_errors(value)
    return [f"{method} {template} {status}: {error.message}" for error in found]

print(json.dumps([faults(*each) for each in json.load(sys.stdin)]))
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--annif", type=Path, required=True, help="environment with both")
    parser.add_argument("--client", type=Path, help="environment of annif-client; as --annif")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".md"))
    asked = parser.parse_args()
    annif = asked.annif.absolute()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        with serving(folder) as ours:
            client = run(
                [(asked.client or annif).absolute() / "bin/python", "-c", CLIENT],
                *(f"{ours}/v1/", TEXT, f"{URI}law"),
            )
            told = json.loads(client)
            feedback = read_feedback(folder / "small.feedback.jsonl").documents
            asks = through_annif(folder, annif, ours)
            rows = [ask(ours, *each[1:]) for each in REQUESTS]
        with annif_serving(folder, annif) as theirs:
            other = [ask(theirs, *each[1:]) for each in REQUESTS]
        faults = validated(annif, rows)
    learned = {text: document.labels for text, document in feedback.items()}
    places = {annif, (asked.client or annif).absolute()}
    page = report(places, told, learned, asks, rows, other, faults)
    asked.out.write_text(page, "utf-8")
    print(page)


def make(folder: Path) -> None:
    """Train a small tagger, and write its labels as an Annif vocabulary."""
    lines = "".join(f"<{URI}{name}>\t{name.title()}\n" for name in WORDS)
    (folder / "vocab.tsv").write_text(lines, "utf-8")
    texts = [f"{text}, part {i}" for i in range(20) for text in WORDS.values()]
    labels = [[URI + name] for _ in range(20) for name in WORDS]
    tagger = Tagger("bonsai")
    tagger.fit(texts, labels, vocabulary=read_vocabulary(folder / "vocab.tsv"))
    tagger.save(folder / "small")


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Yield the address of ``labelgrove serve``."""
    command = [sys.executable, "-m", "labelgrove", "serve", str(folder / "small"), "--quiet"]
    command += ["--port", "0", "--language", "en", "--timeout", str(PATIENCE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().removeprefix("serving at ").strip()
        finally:
            process.terminate()


def through_annif(folder: Path, annif: Path, address: str) -> dict[str, str]:
    """Return what an Annif project with the backend http says of a text, and of itself."""
    lines = ["name=Ours", "language=en", "backend=http", "vocab=small", "limit=3"]
    endpoint = f"endpoint={address}{P}/suggest"
    both = ["[both]", "name=Both", "language=en", "backend=ensemble", "vocab=small"]
    config = ["[ours]", *lines, endpoint, *both, "sources=ours:1", ""]
    (folder / "projects.cfg").write_text("\n".join(config), "utf-8")
    documents = "".join(f"{text}\t<{URI}{name}>\n" for name, text in WORDS.items())
    (folder / "documents.tsv").write_text(documents, "utf-8")
    command = annif / "bin/annif"
    load = [command, "load-vocab", "small", "--language", "en", "vocab.tsv"]
    run(load, cwd=folder)
    scored = run([command, "eval", "ours", "documents.tsv"], cwd=folder).splitlines()
    return {
        "annif suggest ours": run([command, "suggest", "ours"], cwd=folder, stdin=TEXT),
        "annif show-project ours": run([command, "show-project", "ours"], cwd=folder),
        "annif suggest both (ensemble)": run([command, "suggest", "both"], cwd=folder, stdin=TEXT),
        "annif eval ours": "\n".join(
            line for line in scored if line.startswith(("NDCG@5", "F1@5", "Documents"))
        ),
    }


@contextmanager
def annif_serving(folder: Path, annif: Path) -> Iterator[str]:
    """Yield the address of Annif with a project of its dummy backend."""
    lines = ["[small]", "name=Small", "language=en", "backend=dummy", "vocab=small", ""]
    (folder / "projects.cfg").write_text("\n".join(lines), "utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [annif / "bin/uvicorn", "--factory", "annif:create_app", "--port", str(port)]
    with subprocess.Popen(
        [str(each) for each in command],
        cwd=folder,
        env={**os.environ, "ANNIF_CONFIG": "annif.default_config.ProductionConfig"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            ends = time.monotonic() + PATIENCE
            while True:
                try:
                    ask(address, "GET", "/v1/", None, None)
                    break
                except URLError:
                    if time.monotonic() > ends:
                        raise
                    time.sleep(0.5)
            yield address
        finally:
            process.terminate()


def ask(address: str, method: str, path: str, kind: str | None, body: Any) -> tuple[Any, ...]:
    """Return method, path, status, media type and body of an answer."""
    data = None
    if kind is not None:
        data = (urlencode(body) if kind == FORM else json.dumps(body)).encode()
    request = Request(address + path, data, {"Content-Type": kind} if kind else {}, method=method)
    try:
        answer = urlopen(request, timeout=PATIENCE)
    except HTTPError as error:
        answer = error
    with answer:
        media = answer.headers.get("Content-Type", "").partition(";")[0]
        return method, path, answer.status, media, answer.read().decode()


def validated(annif: Path, rows: list[tuple[Any, ...]]) -> list[list[str]]:
    """Return what Annif's OpenAPI description finds wrong with each answer."""
    asked = []
    for method, path, status, media, body in rows:
        bare = path.partition("?")[0].removeprefix("/v1")
        parts = bare.split("/")
        if parts[1] == "projects" and len(parts) > 2:
            parts[2] = "{project_id}"
        asked.append(["/".join(parts), method.lower(), str(status), media, body])
    return json.loads(run([annif / "bin/python", "-c", VALIDATE], stdin=json.dumps(asked)))


def run(command: list[Any], *more: str, cwd: Path | None = None, stdin: str = "") -> str:
    """Return what a command prints."""
    done = subprocess.run(
        [*map(str, command), *more],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    if done.returncode:
        raise SystemExit(f"{command[0]}: {done.stderr}")
    return done.stdout


def report(
    places: set[Path],
    told: dict[str, Any],
    learned: dict[str, Any],
    asks: dict[str, str],
    rows: list[tuple[Any, ...]],
    other: list[tuple[Any, ...]],
    faults: list[list[str]],
) -> str:
    """Return the page."""
    freezes = [run([place / "bin/pip", "list", "--format", "freeze"]) for place in places]
    installed = "".join(freezes).splitlines()
    versions = sorted({line for line in installed if line.startswith("annif")})
    lines = [
        "# Annif's clients and labelgrove serve",
        f"By `benchmarks/ecosystem/annif.py`, with {', '.join(versions)}.",
        "",
        "## annif-client",
        "Each method against `labelgrove serve`, and what it returned:",
        "",
        *(f"- `{name}`: `{json.dumps(value)}`" for name, value in told.items()),
        "",
        f"The feedback file then held: `{json.dumps(learned)}`.",
        "",
        "## Annif with backend=http",
        *(f"`{name}`:\n```text\n{said.rstrip()}\n```" for name, said in asks.items()),
        "",
        "## Statuses, Annif's beside ours",
        "Both got the same requests; Annif had its dummy backend.",
        "",
        "| request | Annif | labelgrove | same |",
        "|---|---|---|---|",
    ]
    for (name, *_), ours, theirs in zip(REQUESTS, rows, other, strict=True):
        same = "yes" if ours[2:4] == theirs[2:4] else "no"
        lines.append(f"| {name} | {theirs[2]} {theirs[3]} | {ours[2]} {ours[3]} | {same} |")
    found = [fault for each in faults for fault in each]
    lines += ["", "## Annif's OpenAPI description", f"{len(rows)} answers of ours were validated."]
    lines += [f"- {fault}" for fault in found] or ["Nothing was wrong."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
