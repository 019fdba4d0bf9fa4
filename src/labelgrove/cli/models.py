"""``labelgrove models``: every model, what it is good for, what it needs, and its settings."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from labelgrove.cli import json_file


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
    print("\nlabelgrove models NAME lists the settings of one.")


def _settings(name: str) -> None:
    """Print what a model can be told by --set, its defaults, and where tune searches."""
    from labelgrove.cli.tables import print_table
    from labelgrove.models import MODELS

    rows, entry = settings(name), MODELS.entries()[name]
    print(f"{name}: {entry.summary}" + (f" ({entry.paper})" if entry.paper else "") + "\n")
    print_table("", ["--set", "default", "tune searches", ""], rows, words=4)


def settings(name: str) -> list[list[str]]:
    """Return the settings of a model: each with its default, where tune searches, its meaning."""
    from labelgrove.core.ranges import as_text
    from labelgrove.models import MODELS

    model = MODELS.find(name)
    meanings, defaults, ranges = model.meanings(), model.defaults(), model.ranges()
    if not defaults.get("encoder", "-"):
        defaults["encoder"] = getattr(model, "default_encoder", "")
    return [
        [setting, as_text(value), str(ranges.get(setting, "")), meanings[setting]]
        for setting, value in defaults.items()
    ]


def _record(name: str | None) -> dict[str, Any]:
    """Return all models by name, or one with its settings; defaults are as --set takes them."""
    from labelgrove.models import MODELS

    if name is None:
        return {
            each: {"summary": entry.summary, "paper": entry.paper, "needs": entry.extra}
            for each, entry in MODELS.entries().items()
        }
    keys = ("setting", "default", "range", "meaning")
    told = [dict(zip(keys, row, strict=True)) for row in settings(name)]
    return {"model": name, **_record(None)[name], "settings": told}
