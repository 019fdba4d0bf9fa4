"""Tagging many files: each input becomes one part of a folder; killed, it goes on."""

from labelgrove.tagger.bulk.folder import PartResult
from labelgrove.tagger.bulk.inputs import InputFile, find_inputs
from labelgrove.tagger.bulk.parts import PartTask, numbered, tag_part
from labelgrove.tagger.bulk.run import Outcome, SavedTagger, TagParts, one_by_one, tag_files

__all__ = [
    "InputFile",
    "Outcome",
    "PartResult",
    "PartTask",
    "SavedTagger",
    "TagParts",
    "find_inputs",
    "numbered",
    "one_by_one",
    "tag_files",
    "tag_part",
]
