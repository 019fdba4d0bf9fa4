"""``labelgrove models``: every model, what it is good for, what it needs, and its settings."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import typer

from labelgrove.cli import json_file
from labelgrove.cli.terminal import show


def models(
    name: Annotated[
        str | None, typer.Argument(help="a model, whose settings are listed", show_default=False)
    ] = None,
    json_to: json_file.Option = None,
) -> None:
    """List the models, or the settings of one."""
    from labelgrove.cli.tables import print_table
    from labelgrove.models import MODELS

    json_file.check(json_to)
    if json_to is not None:
        json_file.write(json_to, _record(name))
    if json_file.alone(json_to):
        return
    if name is not None:
        _settings(name)
        return
    rows = [
        [name, entry.summary, entry.paper or "-", entry.extra or "-"]
        for name, entry in MODELS.entries().items()
    ]
    print_table("", ["model", "what it is good for", "paper", "needs"], rows, words=4)
    show("\nlabelgrove models NAME lists the settings of one.")


def _settings(name: str) -> None:
    """Print what --set takes: defaults, where tune searches, the meaning and what is allowed."""
    from labelgrove.cli.tables import print_table
    from labelgrove.models import MODELS

    rows, entry = settings(name), MODELS.entries()[name]
    show(f"{name}: {entry.summary}" + (f" ({entry.paper})" if entry.paper else "") + "\n")
    table = [
        [row.setting, row.default, row.range, f"{row.meaning} Allowed: {row.allowed}."]
        for row in rows
    ]
    print_table("", ["--set", "default", "tune searches", ""], table, words=4)


class Row(NamedTuple):
    """A setting of a model; values are as --set takes them.

    Parameters
    ----------
    setting
        Its name.
    default
        Its value unless another is given.
    range
        Where ``labelgrove tune`` searches; empty where it does not.
    allowed
        What it may be.
    meaning
        What it does.
    """

    setting: str
    default: str
    range: str
    allowed: str
    meaning: str


def settings(name: str) -> list[Row]:
    """Return the settings of a model."""
    from labelgrove.core.ranges import as_text
    from labelgrove.models import MODELS

    model = MODELS.find(name)
    ranges = model.ranges()
    rows = []
    for setting, known in model.settings().items():
        searched = str(ranges.get(setting, ""))
        only = f" Only with encoder={' or '.join(known.only)}." if known.only else ""
        words = (known.words, f"{known.help or ''}{only}")
        rows.append(
            Row(
                setting,
                as_text(known.default),
                searched,
                *(w.replace("None", "null") for w in words),
            )
        )
    return rows


def _record(name: str | None) -> dict[str, Any]:
    """Return all models by name, or one with its settings; defaults are as --set takes them."""
    from labelgrove.models import MODELS

    if name is None:
        return {
            each: {"summary": entry.summary, "paper": entry.paper, "needs": entry.extra}
            for each, entry in MODELS.entries().items()
        }
    listed = [row._asdict() for row in settings(name)]
    return {"model": name, **_record(None)[name], "settings": listed}
