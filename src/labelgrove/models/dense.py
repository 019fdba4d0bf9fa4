"""Dense vectors of whole texts, asked for by one setting."""

from __future__ import annotations

from labelgrove.core.errors import InputError
from labelgrove.core.types import ViewSpec

STATIC = "static:"


def dense_view(name: str) -> ViewSpec:
    """Return the view of the text that has these vectors.

    Parameters
    ----------
    name
        ``"static:NAME"`` for static vectors of model2vec, otherwise the name of a sentence
        encoder. Names are folders or names on the Hugging Face hub.

    Examples
    --------
    >>> dense_view("static:minishlab/potion-base-8M").featurizer
    'static'
    >>> dense_view("sentence-transformers/all-MiniLM-L6-v2").featurizer
    'encoder'
    """
    featurizer, model = "encoder", name
    if name.startswith(STATIC):
        featurizer, model = "static", name.removeprefix(STATIC)
    if not model.strip():
        raise InputError(
            f"dense={name!r} names no model: give 'static:' with a folder or a name on the Hugging "
            "Face hub behind it, or the folder or name of a sentence encoder"
        )
    return ViewSpec(featurizer, {"model": model})
