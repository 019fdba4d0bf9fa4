"""Settings as scikit-learn knows them, without importing it.

Importing scikit-learn takes longer than tagging ten thousand texts. Its ``clone``, pipelines and
searches ask an estimator for a few methods only; they are here.
"""

from __future__ import annotations

import inspect
from typing import Any, Self

from labelgrove.core.errors import UnknownNameError


class Configured:
    """Something whose constructor arguments are its settings, stored as they are given.

    Examples
    --------
    >>> class Beam(Configured):
    ...     def __init__(self, width=10):
    ...         self.width = width
    >>> Beam(3).get_params()
    {'width': 3}
    >>> Beam().set_params(width=5)
    Beam(width=5)
    """

    @classmethod
    def setting_names(cls) -> list[str]:
        """Return the names of the constructor's arguments."""
        parameters = inspect.signature(cls).parameters.values()
        return [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings; with ``deep`` also those of nested parts, as ``part__setting``."""
        found = self._own()
        if deep:
            for name, value in list(found.items()):
                if isinstance(value, Configured):
                    nested = value.get_params().items()
                    found.update({f"{name}__{inner}": each for inner, each in nested})
        return found

    def set_params(self, **params: Any) -> Self:
        """Change settings, also of nested parts as ``part__setting``."""
        known = self.get_params(deep=True)
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, inner, rest = key.partition("__")
            if key not in known:
                raise UnknownNameError(f"setting of {type(self).__name__}", key, known)
            if inner:
                nested.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, values in nested.items():
            getattr(self, name).set_params(**values)
        return self

    def fresh(self) -> Self:
        """Return a new object with the same settings that has learned nothing."""
        return type(self)(**{name: _fresh(value) for name, value in self._own().items()})

    def _own(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.setting_names()}

    def __repr__(self) -> str:
        parameters = inspect.signature(type(self)).parameters
        changed = {
            name: value
            for name, value in self._own().items()
            if value is not parameters[name].default and value != parameters[name].default
        }
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that this is neither its classifier nor its regressor."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))


def _fresh(value: Any) -> Any:
    if isinstance(value, Configured):
        return value.fresh()
    if isinstance(value, dict):
        return {key: _fresh(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_fresh(each) for each in value)
    return value
