"""Recipes: settings from a file and from options, and a file of settings for others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from labelgrove.core.errors import InputError

OF_TEXT = ("dense", "dense_weight")  # also written text.dense, text.dense_weight


def settings_of(
    recipe: Mapping[str, Any], given: Iterable[str]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the settings of a model and of its views: ``--set`` wins over a recipe.

    Parameters
    ----------
    recipe
        As `read_recipe` returns it.
    given
        KEY=VALUE of the model, or VIEW.KEY=VALUE. ``text.dense`` and ``text.dense_weight`` are
        settings of the model too: these vectors are a view of their own beside the words.
    """
    from labelgrove.core.ranges import parse_value

    of_model = dict(recipe.get("settings", {}))
    of_views = {view: dict(values) for view, values in recipe.get("features", {}).items()}
    seen: dict[str, Any] = {}  # under one name or the other
    for setting in given:
        key, text = parted(setting, "--set takes KEY=VALUE")
        view, dot, name = key.rpartition(".")
        value = parse_value(text)
        if name in OF_TEXT and view in ("", "text") and seen.setdefault(name, value) != value:
            raise InputError(
                f"--set gives {name} (also written text.{name}) as {seen[name]} and as {value}: "
                "give it once"
            )
        (of_views.setdefault(view, {}) if dot else of_model)[name] = value
        if name in seen and not dot:  # wins over a recipe, under whatever name that has it
            of_views.get("text", {}).pop(name, None)
    of_text = of_views.get("text", {})
    of_model |= {name: of_text.pop(name) for name in OF_TEXT if name in of_text}
    return of_model, {view: values for view, values in of_views.items() if values}


def parted(setting: str, usage: str) -> tuple[str, str]:
    """Return what stands before and behind the = of an option."""
    key, equals, text = setting.partition("=")
    if not equals or not key:
        raise InputError(f"{usage}, got {setting!r}")
    return key, text


def _find_recipe(name: str) -> Path:
    """Return the file of that name, or the recipe in the package."""
    folder = Path(__file__).parents[1] / "recipes"
    path, known = Path(name), sorted(folder.glob("*/*.toml"))
    if path.suffix == ".toml" or path.exists():
        return path
    names = {f"{each.parent.name}/{each.stem}": each for each in known}
    if name not in names:
        raise InputError(f"no recipe {name!r}; give a .toml file, or one of {', '.join(names)}")
    return names[name]


def read_recipe(name: str | None) -> dict[str, Any]:
    """Return a recipe, checked; an empty one without a name."""
    import tomllib

    if name is None:
        return {}
    path = _find_recipe(name)
    try:
        recipe = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the recipe {path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is not a TOML file: {error}") from error
    kinds: dict[str, Any] = {
        "model": str,
        "validation": (int, float),
        "settings": dict,
        "features": dict,
        "about": dict,
    }
    for key, value in recipe.items():
        if key not in kinds:
            raise InputError(f"{path}: unknown key {key!r}; known: {', '.join(kinds)}")
        if not isinstance(value, kinds[key]):
            raise InputError(f"{path}: {key} cannot be {value!r}")
    for view, values in recipe.get("features", {}).items():
        if not isinstance(values, dict):
            raise InputError(f"{path}: features.{view} must be a table of settings, got {values!r}")
    return recipe


def write_recipe(recipe: Mapping[str, Any]) -> str:
    """Return a recipe as TOML that `read_recipe` reads.

    Examples
    --------
    >>> print(write_recipe({"model": "bonsai", "settings": {"cost": 0.5}}), end="")
    model = "bonsai"
    <BLANKLINE>
    [settings]
    cost = 0.5
    """
    lines = [f"{key} = {_toml(value)}" for key, value in recipe.items() if not _is_table(value)]
    tables = {key: value for key, value in recipe.items() if _is_table(value)}
    tables |= {f"features.{view}": own for view, own in tables.pop("features", {}).items()}
    for name, values in tables.items():
        lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _toml(value: Any) -> str:
    """Return a value of JSON as TOML writes it; both write words, numbers and lists alike."""
    import json

    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{_toml(key)} = {_toml(each)}" for key, each in value.items()) + " }"
        )
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    # TOML knows no pairs of escapes for one character, and allows no bare DEL
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
