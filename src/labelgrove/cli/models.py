"""``labelgrove models``: every model, what it is good for, what it needs, and its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from labelgrove.cli import json_file
from labelgrove.cli.terminal import show

if TYPE_CHECKING:
    from labelgrove.core.settings import Setting

OF_WORDS = ("tf-idf", "words")  # featurizers whose settings are worth a look


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
    head = ["--set", "default", "tune searches", ""]
    print_table("", head, [_cells(row) for row in rows], words=4)
    for view, own in text_settings(name).items():
        show(f"\nhow texts are read ({own.featurizer}):")
        table = [_cells(row._replace(setting=f"{view}.{row.setting}")) for row in own.settings]
        print_table("", head, table, words=4)
        if own.chosen:
            keys = ", ".join(f"{view}.{key}" for key in own.chosen)
            show(f"\nUnless you set them, held-out documents choose {keys}.")


def _cells(row: Row) -> list[str]:
    return [row.setting, row.default, row.range, f"{row.meaning} Allowed: {row.allowed}."]


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


class ViewSettings(NamedTuple):
    """The settings of a view of the text.

    Parameters
    ----------
    featurizer
        What makes the view.
    settings
        Its settings.
    chosen
        Names of those that a training chooses unless they are given.
    """

    featurizer: str
    settings: list[Row]
    chosen: list[str]


def settings(name: str) -> list[Row]:
    """Return the settings of a model."""
    from labelgrove.models import MODELS

    model = MODELS.find(name)
    return _rows(model.settings(), model.ranges())


def text_settings(name: str) -> dict[str, ViewSettings]:
    """Return the settings of a model's views of words; defaults are as the model asks for them."""
    from labelgrove.models import MODELS
    from labelgrove.tagger.text_trials import settings_left_open
    from labelgrove.text import FEATURIZERS

    found: dict[str, ViewSettings] = {}
    views = MODELS.create(name).views()
    chosen = settings_left_open(views)
    for view, spec in views.items():
        if spec.featurizer not in OF_WORDS:
            continue
        known = FEATURIZERS.find(spec.featurizer).settings()
        own = {
            key: replace(each, default=spec.settings.get(key, each.default))
            for key, each in known.items()
            if key != "threads"
        }
        found[view] = ViewSettings(spec.featurizer, _rows(own, {}), chosen.get(view, []))
    return found


def _rows(known_settings: Mapping[str, Setting], ranges: Mapping[str, Any]) -> list[Row]:
    from labelgrove.core.ranges import as_text

    rows = []
    for setting, known in known_settings.items():
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
    views = {
        view: {**own._asdict(), "settings": [row._asdict() for row in own.settings]}
        for view, own in text_settings(name).items()
    }
    return {"model": name, **_record(None)[name], "settings": listed, "views": views}
