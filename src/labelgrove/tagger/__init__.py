"""`Tagger`: texts in, label names out. It composes all other parts."""

from labelgrove.tagger.explaining import Evidence, Reasons, SimilarDocument
from labelgrove.tagger.learning import Learned
from labelgrove.tagger.records import evaluation_record, training_record
from labelgrove.tagger.scoring import Scores
from labelgrove.tagger.tagger import Tagger

__all__ = [
    "Evidence",
    "Learned",
    "Reasons",
    "Scores",
    "SimilarDocument",
    "Tagger",
    "evaluation_record",
    "training_record",
]
