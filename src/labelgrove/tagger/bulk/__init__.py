"""Tagging files: many into a folder, a part for each, or one into a file with its columns."""

from labelgrove.tagger.bulk.folder import PartResult
from labelgrove.tagger.bulk.inputs import InputFile, find_inputs
from labelgrove.tagger.bulk.one_file import TaggedFile, check_target, tag_file
from labelgrove.tagger.bulk.parts import PartTask, numbered, tag_part
from labelgrove.tagger.bulk.run import Outcome, SavedTagger, TagParts, one_by_one, tag_files

__all__ = [
    "InputFile",
    "Outcome",
    "PartResult",
    "PartTask",
    "SavedTagger",
    "TagParts",
    "TaggedFile",
    "check_target",
    "find_inputs",
    "numbered",
    "one_by_one",
    "tag_file",
    "tag_files",
    "tag_part",
]
