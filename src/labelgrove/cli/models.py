"""``labelgrove models``: every model, what it is good for, what it needs, and its settings."""

from __future__ import annotations

from typing import Annotated

import typer


def models(
    name: Annotated[
        str | None, typer.Argument(help="a model, whose settings are listed", show_default=False)
    ] = None,
) -> None:
    """List the models, or the settings of one."""
    from labelgrove.cli.tables import print_table
    from labelgrove.models import MODELS

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
