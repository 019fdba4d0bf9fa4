"""Where the feedback of a tagger's users is kept."""

from __future__ import annotations

import os
from pathlib import Path

SUFFIX = ".feedback.jsonl"


def feedback_file(folder: str | os.PathLike[str]) -> Path:
    """Return where feedback on a saved tagger is kept: beside its folder, by its name.

    However a folder is written, and also through a link to it, the file is the same.

    Examples
    --------
    >>> feedback_file("taggers/./my-tagger/").name
    'my-tagger.feedback.jsonl'
    """
    place = Path(folder).resolve()
    return place.parent / f"{place.name}{SUFFIX}"
