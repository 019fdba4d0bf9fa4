"""The models: a table of names, and one file a model.

Examples
--------
>>> from labelgrove import models
>>> models.create("most-frequent").name
'most-frequent'
"""

from labelgrove.models.registry import MODELS, create, names

__all__ = ["MODELS", "create", "names"]
