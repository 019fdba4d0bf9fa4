"""Files, folders and tables in memory as a `Corpus`; splits and statistics of it."""

from labelgrove.core.types import Document
from labelgrove.corpus.base import Corpus
from labelgrove.corpus.corrected import Corrected, Feedback, read_feedback
from labelgrove.corpus.formats import FORMATS
from labelgrove.corpus.multi_hot import MatrixColumns
from labelgrove.corpus.reading import read_corpus
from labelgrove.corpus.remembered import read_like
from labelgrove.corpus.review import ReviewItem, Suggestion, read_review, write_review
from labelgrove.corpus.splits import iterative_stratification, split
from labelgrove.corpus.statistics import CurvePoint, Statistics, statistics

__all__ = [
    "FORMATS",
    "Corpus",
    "Corrected",
    "CurvePoint",
    "Document",
    "Feedback",
    "MatrixColumns",
    "ReviewItem",
    "Statistics",
    "Suggestion",
    "iterative_stratification",
    "read_corpus",
    "read_feedback",
    "read_like",
    "read_review",
    "split",
    "statistics",
    "write_review",
]
