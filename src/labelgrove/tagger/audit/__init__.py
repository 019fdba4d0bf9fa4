"""Labels that are probably wrong or missing in a corpus, found by what models say out of fold."""

from labelgrove.tagger.audit.run import (
    AuditOptions,
    AuditOutcome,
    estimate_models,
    find_suggestions,
)
from labelgrove.tagger.audit.suspicions import Suspicion, Suspicions

__all__ = [
    "AuditOptions",
    "AuditOutcome",
    "Suspicion",
    "Suspicions",
    "estimate_models",
    "find_suggestions",
]
