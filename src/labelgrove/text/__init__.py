"""Texts to features: tf-idf, word and subword numbers, dense rows, given features; word vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labelgrove.core.estimator import Featurizer
from labelgrove.core.registry import Entry, Registry
from labelgrove.text.analysis import tokenize
from labelgrove.text.given import Given
from labelgrove.text.plain import PlainText
from labelgrove.text.pretrained import Specials, load_tokenizer, specials_of
from labelgrove.text.static import StaticEmbeddings
from labelgrove.text.subwords import Subwords
from labelgrove.text.tfidf import Tfidf
from labelgrove.text.vectors import WordVectors, read_vectors, vectors_for
from labelgrove.text.words import PAD, UNK, Words

FEATURIZERS: Registry[Featurizer] = Registry(
    "featurizer",
    {
        "tf-idf": Entry(
            "labelgrove.text.tfidf:Tfidf", "sparse rows of weighted words, n-grams or stems"
        ),
        "words": Entry("labelgrove.text.words:Words", "word numbers in reading order"),
        "subwords": Entry(
            "labelgrove.text.subwords:Subwords",
            "subword numbers of a pretrained tokenizer",
            extra="transformers",
        ),
        "given": Entry(
            "labelgrove.text.given:Given", "features that are in the file already, '12:0.5 77:1'"
        ),
        "plain": Entry(
            "labelgrove.text.plain:PlainText",
            "the text itself, for models that hand it on (rerank)",
        ),
        "static": Entry(
            "labelgrove.text.static:StaticEmbeddings",
            "dense rows, the mean of static vectors (model2vec)",
            extra="static",
        ),
        "encoder": Entry(
            "labelgrove.models.neural.readers.embeddings:EncoderEmbeddings",
            "dense rows of a pretrained sentence encoder",
            extra="transformers",
        ),
    },
    "labelgrove.featurizers",
)


def create(name: str, **settings: Any) -> Featurizer:
    """Return a new featurizer of that name with these settings."""
    return FEATURIZERS.create(name, **settings)


def names() -> list[str]:
    """Return the names of all featurizers."""
    return FEATURIZERS.names()


def read(folder: Path) -> Featurizer:
    """Read the featurizer that a part of a saved folder holds."""
    return FEATURIZERS.read(folder)


__all__ = [
    "FEATURIZERS",
    "PAD",
    "UNK",
    "Featurizer",
    "Given",
    "PlainText",
    "Specials",
    "StaticEmbeddings",
    "Subwords",
    "Tfidf",
    "WordVectors",
    "Words",
    "create",
    "load_tokenizer",
    "names",
    "read",
    "read_vectors",
    "specials_of",
    "tokenize",
    "vectors_for",
]
