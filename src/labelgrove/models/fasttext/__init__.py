"""The mean of word vectors, and a linear output; `fasttext.py` is the model."""

from labelgrove.models.fasttext.fasttext import FastText

__all__ = ["FastText"]
