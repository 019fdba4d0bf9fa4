"""`Tagger`: texts in, label names out. It composes all other parts."""

from labelgrove.tagger.card import update_card
from labelgrove.tagger.explaining import (
    Evidence,
    Explained,
    LabelWord,
    LabelWords,
    Reasons,
    SimilarDocument,
    explained,
)
from labelgrove.tagger.exporting import ExportCheck
from labelgrove.tagger.migration import Migration
from labelgrove.tagger.records import evaluation_record, training_record
from labelgrove.tagger.scoring import Scores
from labelgrove.tagger.state import FittedState
from labelgrove.tagger.tagger import Tagger

__all__ = [
    "Evidence",
    "Explained",
    "ExportCheck",
    "FittedState",
    "LabelWord",
    "LabelWords",
    "Migration",
    "Reasons",
    "Scores",
    "SimilarDocument",
    "Tagger",
    "evaluation_record",
    "explained",
    "training_record",
    "update_card",
]
