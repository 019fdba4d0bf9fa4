"""Which documents to label next: a batch from which a tagger should learn most."""

from labelgrove.tagger.choosing.choose import (
    STRATEGIES,
    NextBatch,
    NextDocument,
    choose_documents,
    strategy_for,
)
from labelgrove.tagger.choosing.queue import as_review_items, as_table, write_workbook

__all__ = [
    "STRATEGIES",
    "NextBatch",
    "NextDocument",
    "as_review_items",
    "as_table",
    "choose_documents",
    "strategy_for",
    "write_workbook",
]
