"""labelgrove: multi-label and extreme multi-label text classification.

Names are loaded when they are first used, so that ``import labelgrove`` is instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from labelgrove._version import __version__

if TYPE_CHECKING:
    from labelgrove.core.errors import LabelgroveError
    from labelgrove.core.ranking import Ranking
    from labelgrove.core.types import Document, Run, Tag
    from labelgrove.corpus import Corpus, read_corpus
    from labelgrove.labels import LabelSpace, LabelTree
    from labelgrove.tagger import Tagger
    from labelgrove.tuning import tune

_HOMES = {
    "Corpus": "corpus",
    "Document": "core.types",
    "LabelSpace": "labels",
    "LabelTree": "labels",
    "LabelgroveError": "core.errors",
    "Ranking": "core.ranking",
    "Run": "core.types",
    "Tag": "core.types",
    "Tagger": "tagger",
    "read_corpus": "corpus",
    "tune": "tuning",
}

__all__ = [
    "Corpus",
    "Document",
    "LabelSpace",
    "LabelTree",
    "LabelgroveError",
    "Ranking",
    "Run",
    "Tag",
    "Tagger",
    "__version__",
    "read_corpus",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'labelgrove' has no attribute {name!r}")
    return getattr(import_module(f"labelgrove.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
