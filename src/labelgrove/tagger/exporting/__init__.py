"""Exporting: a tagger's network as ONNX, for programs that have no labelgrove."""

from labelgrove.tagger.exporting.check import ExportCheck
from labelgrove.tagger.exporting.export import check_target, export_onnx

__all__ = ["ExportCheck", "check_target", "export_onnx"]
