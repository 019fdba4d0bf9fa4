"""What is known of a data set and of each form in which it is given out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

FORMS = {
    "lines": "texts, one a line, with their labels on the same line of another file",
    "matrix": "texts, one a line, with a scipy matrix of documents x labels",
    "features": "svmlight-like features behind a line with three numbers",
    "rcv1": "the folder of RCV1-v2, with topics and news items or token files",
    "lshtc": "five lines a document, as the challenge gave them out",
}


@dataclass(frozen=True)
class DataPart:
    """A part of a data set.

    Parameters
    ----------
    name
        ``train``, ``valid`` or ``test``.
    documents
        How many it has.
    texts
        Names that its file of texts or features may have.
    labels
        Names that its file of labels may have; none where labels stand beside the texts.
    """

    name: str
    documents: int
    texts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataVersion:
    """A form in which a data set is given out.

    Parameters
    ----------
    name
        What the command line calls it.
    form
        One of `FORMS`.
    url
        Where to get it.
    parts
        Its parts.
    labels
        Numbers of labels that are published for it: sources may differ.
    names
        The file with the name of each label, one a line, if there is one.
    checksums
        The sha256 of files, by name, as far as a public source tells them.
    """

    name: str
    form: str
    url: str
    parts: tuple[DataPart, ...]
    labels: tuple[int, ...]
    names: str | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)

    def wanted(self) -> str:
        """Return the files that it consists of, for a message."""
        if self.form == "rcv1":
            return "the folder of RCV1-v2"
        names = ["/".join(names) for part in self.parts for names in (part.texts, part.labels)]
        return ", ".join(name for name in [*names, self.names or ""] if name)


@dataclass(frozen=True)
class DataSet:
    """A data set of the papers.

    Parameters
    ----------
    name
        What the command line calls it.
    about
        What its texts and labels are.
    papers
        The models whose papers use it.
    licence
        What is known of its licence.
    versions
        The forms in which it is given out.
    """

    name: str
    about: str
    papers: tuple[str, ...]
    licence: str
    versions: tuple[DataVersion, ...]
