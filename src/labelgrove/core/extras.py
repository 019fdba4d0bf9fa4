"""Optional libraries, explained where they are missed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from labelgrove.core.errors import MissingExtraError


def need(module: str, extra: str, purpose: str) -> ModuleType:
    """Import ``module``, or say which extra brings it.

    Parameters
    ----------
    module
        What to import, such as ``"rdflib"``.
    extra
        The extra of labelgrove that installs it.
    purpose
        What it is needed for, to complete "... needs".

    Examples
    --------
    >>> need("json", "none", "reading JSON").dumps(1)
    '1'
    """
    try:
        return import_module(module)
    except ImportError as error:
        root = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != root:
            raise  # the library is there, but something inside it is broken
        raise MissingExtraError(
            f"{purpose} needs {root}, which is not installed: pip install 'labelgrove[{extra}]'"
        ) from error
