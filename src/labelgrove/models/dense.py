"""Which view of the text a setting such as ``static:FOLDER`` asks for."""

from __future__ import annotations

from labelgrove.core.configured import Configured
from labelgrove.core.errors import InputError
from labelgrove.core.types import ViewSpec

PREFIX = "static:"  # before static vectors of model2vec; without it, a sentence encoder


def dense_view(name: str) -> ViewSpec:
    """Return the view of a text as dense rows.

    Parameters
    ----------
    name
        ``"static:NAME"`` for static vectors of model2vec, or a sentence encoder; both a folder
        or a name on the Hugging Face hub.

    Examples
    --------
    >>> dense_view("static:potion").settings
    {'model': 'potion'}
    >>> dense_view("minilm").featurizer
    'encoder'
    """
    featurizer, model = "encoder", name
    if name.lower().startswith(PREFIX) and not name.startswith(PREFIX):
        raise InputError(f"dense={name!r}: write {PREFIX!r} in small letters")
    if name.startswith(PREFIX):
        featurizer, model = "static", name.removeprefix(PREFIX)
    if not model.strip():
        raise InputError(
            f"dense={name!r} names no model: give 'static:' with a folder or a name on the Hugging "
            "Face hub behind it, or the folder or name of a sentence encoder"
        )
    return ViewSpec(featurizer, {"model": model})


def check_dense_weight(model: Configured) -> None:
    """Raise an error for a weight of vectors where there are no vectors."""
    settings = model.get_params(deep=False)
    weight = settings["dense_weight"]
    if not settings["dense"] and weight and not model.settings()["dense_weight"].is_default(weight):
        raise InputError(
            f"dense_weight={weight} has no effect without vectors: give dense too, such as "
            f"dense={PREFIX}FOLDER, or leave it out"
        )
