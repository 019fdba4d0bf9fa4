"""``labelgrove models``: every model, what it is good for, what it needs."""

from __future__ import annotations


def models() -> None:
    """List the models."""
    from labelgrove.cli.tables import print_table
    from labelgrove.models import MODELS

    rows = [
        [name, entry.summary, entry.paper or "-", entry.extra or "-"]
        for name, entry in MODELS.entries().items()
    ]
    print_table("", ["model", "what it is good for", "paper", "needs"], rows, words=4)
