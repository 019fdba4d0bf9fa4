"""Messages in the words of a request: its fields, where the command line has options."""

from __future__ import annotations

from labelgrove.core.reader_words import as_arguments

# who asks a service cannot train: what the tagger lacks is told, and who can change that
WAYS_OUT = {
    "train it with --labels FILE, a table with a column of parents or a SKOS file": (
        "it has to be trained with a vocabulary that has parents"
    ),
    "train again with --validation 0.1 or --valid FILE (Tagger.calibrate)": (
        "it has to be trained with documents held out"
    ),
    "combine again with --valid FILE (Tagger.calibrate)": (
        "it has to be combined with documents held out"
    ),
    "train with --validation 0.2, or use Tagger.calibrate": "train it with more of them held out",
    "train again, or use Tagger.calibrate with": "it has to be trained or calibrated with",
    "choice of --hierarchy": "hierarchy",
}


def in_fields(message: str) -> str:
    """Return a message that names fields of a request, not options of a command.

    Examples
    --------
    >>> in_fields("what --hierarchy closed adds: give another --threshold")
    "what hierarchy='closed' adds: give another threshold"
    """
    for option, field in WAYS_OUT.items():
        message = message.replace(option, field)
    return as_arguments(message).replace("threshold=", "threshold")
