"""`Tagger`: texts in, label names out. It composes all other parts."""

from labelgrove.tagger.learning import Learned
from labelgrove.tagger.tagger import Evidence, Reasons, Scores, SimilarDocument, Tagger

__all__ = ["Evidence", "Learned", "Reasons", "Scores", "SimilarDocument", "Tagger"]
