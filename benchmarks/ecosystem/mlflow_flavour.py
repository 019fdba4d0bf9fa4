"""The MLflow flavour against MLflow itself.

    pip install '.[mlflow]' sqlalchemy alembic
    python benchmarks/ecosystem/mlflow_flavour.py

It trains a small tagger and writes ``mlflow_flavour.md`` beside this file: what came of logging,
registering and loading it with a store in SQLite and one in a folder, of ``mlflow models predict``
and of ``mlflow models serve``. Each answer is compared with that of the tagger.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import mlflow
import pandas as pd

from labelgrove import Tagger
from labelgrove.integrations import mlflow as flavour

TEXTS = ["red apples and green apples", "a red car", "green cars drive"] * 8
LABELS = [["fruit", "colour"], ["colour", "vehicle"], ["colour", "vehicle"]] * 8
ASKED = ["blue apples", "cars"]
PARAMS = {"top": 2, "threshold": "0.3"}
PATIENCE = 300  # seconds
PICKLES = (".pkl", ".pickle", ".joblib", ".pt")


def same(tagger: Tagger, answer: list[dict[str, Any]], top: int, threshold: float | None) -> bool:
    wanted = tagger.tag(ASKED, k=top, threshold=threshold)
    return all(
        row["labels"] == [tag.label for tag in tags]
        and all(
            abs(p - tag.score) < 1e-6 for p, tag in zip(row["probabilities"], tags, strict=True)
        )
        for row, tags in zip(answer, wanted, strict=True)
    )


def stores(tagger: Tagger, folder: Path) -> list[tuple[str, str]]:
    """Log, register and load by a store of each kind."""
    found = []
    for name, uri in (
        ("SQLite", f"sqlite:///{folder / 'store.db'}"),
        ("a folder", (folder / "mlruns").as_uri()),
    ):
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # newer versions ask for it
        mlflow.set_tracking_uri(uri)
        mlflow.set_registry_uri(uri)
        experiment = mlflow.create_experiment(
            f"tagging in {name}", artifact_location=(folder / f"artifacts {name}").as_uri()
        )
        with mlflow.start_run(experiment_id=experiment):
            info = flavour.log_model(tagger, name="tagger", registered_model_name="subjects")
        for kind, place in (("logged", info.model_uri), ("registered", "models:/subjects/1")):
            model = mlflow.pyfunc.load_model(place)
            answer = model.predict(pd.DataFrame({"text": ASKED}), params=PARAMS)
            agrees = same(tagger, answer.to_dict("records"), 2, 0.3)
            found.append((f"{name}: {kind} model", "as the tagger" if agrees else "OTHERWISE"))
        loaded = flavour.load_model("models:/subjects/1")
        agrees = loaded.tag(ASKED) == tagger.tag(ASKED)
        found.append((f"{name}: `load_model`", "as the tagger" if agrees else "OTHERWISE"))
    return found


def refusals(model: Any) -> list[tuple[str, str]]:
    """Ask what cannot be answered."""
    found = []
    for name, asked, params in (
        ("no column `text`", pd.DataFrame({"title": ["a"]}), {}),
        ("a missing text", pd.DataFrame({"text": ["a", None]}), {}),
        ("`top` of 0", pd.DataFrame({"text": ["a"]}), {"top": 0}),
        ("an unknown threshold", pd.DataFrame({"text": ["a"]}), {"threshold": "best"}),
    ):
        try:
            model.predict(asked, params=params)
            found.append((name, "ANSWERED"))
        except Exception as error:  # MLflow's and ours
            told = " ".join(str(error).split())
            found.append((name, f"{type(error).__name__}: {told[-160:]}"))
    return found


def by_command(tagger: Tagger, saved: Path, folder: Path) -> tuple[str, str]:
    asked = folder / "asked.json"
    split = pd.DataFrame({"text": ASKED}).to_dict("split")
    split.pop("index")
    asked.write_text(json.dumps({"dataframe_split": split, "params": PARAMS}))
    answer = folder / "answer.json"
    subprocess.run(
        [sys.executable, "-m", "mlflow", "models", "predict", "-m", str(saved), "-i", str(asked),
         "-o", str(answer), "--env-manager", "local"],
        check=True, timeout=PATIENCE,
    )  # fmt: skip
    agrees = same(tagger, json.loads(answer.read_text())["predictions"], 2, 0.3)
    return "`mlflow models predict`", "as the tagger" if agrees else "OTHERWISE"


def served(tagger: Tagger, saved: Path) -> list[tuple[str, str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "mlflow", "models", "serve", "-m", str(saved), "-p", str(port),
         "--env-manager", "local"],
        start_new_session=True,
    )  # fmt: skip
    try:
        began = time.monotonic()
        while not answers(port):
            if time.monotonic() - began > PATIENCE or process.poll() is not None:
                return [("`mlflow models serve`", "DID NOT START")]
            time.sleep(1)
        body = {"dataframe_split": {"columns": ["text"], "data": [[text] for text in ASKED]}}
        found = asked_by_http(port, {**body, "params": PARAMS})
        agrees = same(tagger, found["predictions"], 2, 0.3)
        plain = asked_by_http(port, {"dataframe_records": [{"text": text} for text in ASKED]})
        more = same(tagger, plain["predictions"], 5, None)
        return [
            ("`mlflow models serve`, with parameters", "as the tagger" if agrees else "OTHERWISE"),
            ("`mlflow models serve`, without", "as the tagger" if more else "OTHERWISE"),
        ]
    finally:
        with suppress(ProcessLookupError):  # it has ended by itself
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/ping", timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def asked_by_http(port: int, body: dict[str, Any]) -> Any:
    request = Request(
        f"http://127.0.0.1:{port}/invocations",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def main() -> None:
    # its server is a program of the same environment
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    tagger = Tagger("one-vs-rest").fit(TEXTS, LABELS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        saved = folder / "model"
        flavour.save_model(tagger, saved, example="blue apples")
        files = sorted(path for path in saved.rglob("*") if path.is_file())
        pickled = [path.name for path in files if path.suffix in PICKLES]
        rows = [("pickled files", ", ".join(pickled) or "none")]
        rows += stores(tagger, folder)
        rows.append(by_command(tagger, saved, folder))
        rows += served(tagger, saved)
        rows += refusals(mlflow.pyfunc.load_model(str(saved)))
        required = (saved / "requirements.txt").read_text().split()
    lines = [
        "# The MLflow flavour and MLflow",
        f"By `benchmarks/ecosystem/mlflow_flavour.py`, with mlflow-skinny=={mlflow.__version__}.",
        "",
        f"Recorded requirements: {', '.join(f'`{each}`' for each in required)}.",
        "",
        "| what | result |",
        "|---|---|",
        *(f"| {what} | {result.replace('|', '/')} |" for what, result in rows),
    ]
    Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
