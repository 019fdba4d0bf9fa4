"""What a report was made with: time and memory, training, settings, versions, the command."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from labelgrove._version import __version__
from labelgrove.core import storage
from labelgrove.core.wording import several
from labelgrove.report.assessment import Assessment
from labelgrove.report.memory import peak_memory
from labelgrove.report.page import Section, beside, paragraph, text
from labelgrove.report.tables import Table
from labelgrove.report.wording import duration, percent, size

LIBRARIES = (
    "numpy",
    "scipy",
    "numba",
    "matplotlib",
    "optuna",
    "torch",
    "transformers",
    "faiss-cpu",
)
COMPARED = ("P", "R", "nDCG", "PSP", "micro-F1", "macro-F1", "samples-F1")
VALUE = 200  # characters of a setting that are shown
COMMAND = 4000  # characters of the command


def time_and_memory(assessment: Assessment, folder: Path) -> Section:
    """Return what tagging took, and the scores on held-out documents beside those of the test."""
    n, seconds = len(assessment.scored), assessment.scores.seconds
    peak = peak_memory()
    facts = {
        "Tagging": f"{duration(seconds)} for {several(n, 'document')}, reading included",
        "Speed": f"{n / max(seconds, 1e-9):,.0f} documents a second",
        "Peak memory": f"{size(peak)}, of the whole process" if peak else "not known here",
        "Size on disk": size(storage.size(folder)),
        "Trained on": several(assessment.space.n_documents, "document")
        + " with "
        + several(assessment.space.n_labels, "label"),
    }
    return Section("Time and memory", _facts(facts) + _held_out(assessment))


def _held_out(assessment: Assessment) -> str:
    held, test = assessment.tagger.scores_, assessment.scores
    rows = [
        [name, percent(held[name]), percent(value), f"{100 * (value - held[name]):+.1f}"]
        for name, value in test.items()
        if name in held and name.partition("@")[0] in COMPARED
    ]
    if not rows:
        return paragraph("No documents were held out in training to compare with.", kind="quiet")
    table = Table(
        ["%", "held out", "test", "difference"],
        rows,
        title="Held out of training, and test",
    )
    return table.html() + paragraph(
        "The threshold was tuned on the held-out documents, so precision, recall and F1 there are "
        "slightly optimistic.",
        kind="quiet",
    )


def how_made(assessment: Assessment, folder: Path, command: str) -> Section:
    """Return the command, the date, versions and the settings of model and features."""
    facts = {}
    written = storage.read_manifest(folder, verify=False).get("labelgrove")
    if written and written != __version__:
        facts["Tagger written by"] = f"labelgrove {written}"
    tables = [_settings(f"Model {assessment.tagger.model_.name}", assessment.tagger.model_)]
    for view, part in assessment.tagger.learned_.featurizers.items():
        tables.append(_settings(f"Features {view!r}: {part.name}", part))
    body = [made_with(command, facts), "<h3>Settings</h3>", beside(tables)]
    return Section("How this was made", "\n".join(body))


def made_with(command: str, more: Mapping[str, str]) -> str:
    """Return the command, the date, versions and more facts as HTML."""
    if len(command) > COMMAND:
        command = command[:COMMAND] + " …"
    facts = {"Date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", "labelgrove": __version__}
    facts |= {"Python": platform.python_version(), "System": platform.platform()} | _versions()
    shown = f'<pre class="wrapped">{text(command)}</pre>\n' if command else ""
    return shown + _facts(facts | dict(more))


def _settings(title: str, part: Any) -> str:
    rows = [[name, _value(value)] for name, value in part.get_params(deep=False).items()]
    return Table(["setting", "value"], rows, title=title, words=2).html()


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= VALUE else text[: VALUE - 1] + "…"


def _versions() -> dict[str, str]:
    """Return the versions of the libraries that are at work."""
    versions = {}
    for library in LIBRARIES:
        if library.partition("-")[0] in sys.modules:
            try:
                versions[library] = version(library)
            except PackageNotFoundError:  # there, but not installed as a package
                continue
    return versions


def _facts(facts: Mapping[str, str]) -> str:
    rows = "\n".join(f"<dt>{text(key)}</dt><dd>{text(value)}</dd>" for key, value in facts.items())
    return f'<dl class="facts">\n{rows}\n</dl>'
