"""Exporting: a tagger's network as ONNX, for programs that have no labelgrove."""

from labelgrove.tagger.exporting.check import ExportCheck

__all__ = ["ExportCheck"]
