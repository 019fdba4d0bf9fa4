"""Candidates: which labels are judged, when a network learns and when it ranks."""
