"""A model inside another: its views of the text, its part of the context, its labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError
from labelgrove.core.features import Features, Views
from labelgrove.core.types import FitContext


def own_views(X: Features, views: Mapping[str, str]) -> Features:
    """Return what a member reads.

    Parameters
    ----------
    X
        What the model around it reads.
    views
        For each of the member's own views the name that the view has outside.
    """
    if not isinstance(X, Views):
        return X
    if missing := [name for name in views.values() if name not in X]:
        raise InputError(
            f"X has the views {', '.join(X)}, and {missing[0]!r} is missing: give all that views() "
            "of the model names"
        )
    own = {view: X[name] for view, name in views.items()}
    return next(iter(own.values())) if len(own) == 1 else Views(own)


def own_context(
    context: FitContext,
    views: Mapping[str, str],
    step: str,
    rows: NDArray[np.integer] | None = None,
) -> FitContext:
    """Return what a member may know, with a run folder of its own below that of the model.

    Parameters
    ----------
    context
        Of the model around it.
    views
        For each of the member's own views the name that the view has outside.
    step
        Name of its run folder.
    rows
        The documents that it learns from, where those are not all, shape (m,).
    """
    validation, documents = context.validation, context.documents
    if rows is not None and documents is not None:
        documents = [documents[row] for row in rows.tolist()]
    if validation is not None:
        validation = (own_views(validation[0], views), validation[1])
    return replace(
        context,
        featurizers={
            view: context.featurizers[name]
            for view, name in views.items()
            if name in context.featurizers
        },
        validation=validation,
        documents=documents,
        run=replace(
            context.run,
            folder=context.run.folder and context.run.folder / step,
            report=None,  # what a member has learned says little of the whole
        ),
    )
