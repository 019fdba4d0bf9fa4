"""Which view of the text a setting such as ``static:FOLDER`` asks for."""

from __future__ import annotations

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
    >>> dense_view("static:potion")
    ViewSpec(featurizer='static', settings={'model': 'potion'})
    >>> dense_view("minilm").featurizer
    'encoder'
    """
    if name.startswith(PREFIX):
        return ViewSpec("static", {"model": name.removeprefix(PREFIX)})
    return ViewSpec("encoder", {"model": name})
