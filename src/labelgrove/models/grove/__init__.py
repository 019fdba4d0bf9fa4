"""Candidates of several models, judged by a learned ranker; `grove.py` is the model."""

from labelgrove.models.grove.grove import Grove

__all__ = ["Grove"]
