"""A language model behind an OpenAI-compatible server chooses among a first stage's labels."""

from labelgrove.models.rerank.rerank import Rerank

__all__ = ["Rerank"]
