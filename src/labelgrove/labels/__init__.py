"""The label space: names, counts, hierarchy, co-occurrence, label vectors, clusters and trees."""

from labelgrove.labels.clustering import k_means, two_means
from labelgrove.labels.collecting import LabelCollector
from labelgrove.labels.names import LabelMatcher
from labelgrove.labels.pairs import conditional, cooccurrence
from labelgrove.labels.propensity import propensities
from labelgrove.labels.space import LabelSpace
from labelgrove.labels.tree import LabelTree
from labelgrove.labels.vectors import label_vectors
from labelgrove.labels.vocabulary import Concept, Vocabulary, read_vocabulary, vocabulary_of

__all__ = [
    "Concept",
    "LabelCollector",
    "LabelMatcher",
    "LabelSpace",
    "LabelTree",
    "Vocabulary",
    "conditional",
    "cooccurrence",
    "k_means",
    "label_vectors",
    "propensities",
    "read_vocabulary",
    "two_means",
    "vocabulary_of",
]
