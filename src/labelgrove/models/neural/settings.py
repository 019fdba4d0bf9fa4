"""The settings that every neural model has, and which of them go together."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from labelgrove.core.errors import InputError, UnknownNameError
from labelgrove.core.ranges import Range
from labelgrove.core.settings import setting
from labelgrove.models.dense import PREFIX
from labelgrove.models.first_stage import FirstStage
from labelgrove.models.neural.readers.settings import ReaderSettings
from labelgrove.models.neural.training.devices import open_fabric
from labelgrove.models.neural.training.settings import Training
from labelgrove.text.static_vectors import is_static

NO_FIRST, AUTO_FIRST = "none", "auto"
USUAL_FIRST = "bonsai"  # the first stage of first="auto"
SHORTLISTED = 64  # labels of the first stage that are judged
# below these a network alone stays far behind a linear model (benchmarks/LOG.md)
FEW_DOCUMENTS = 3000
FEW_OF_LABEL = 20  # on average
NOT_ENCODERS = ("", "word", "words", "static", PREFIX, "none")  # 'words' in another case, too
KINDS = {  # what `encoder` must be for a setting to have a use
    "words": "encoder='words'",
    "static": "encoder='static:FOLDER'",
    "transformer": "a pretrained transformer as encoder",
}


class NeuralSettings(Training, ReaderSettings):
    """How texts are read, which labels are judged, where these start, and how all is trained."""

    name: ClassVar[str]

    first: str = setting(
        NO_FIRST,
        "A first stage: the name of a model, such as bonsai. Only its best labels are judged, and "
        "its log odds are added to the network's, so that training starts as good as it is, and "
        "that start is kept unless held-out documents are ranked better later. none for no first "
        "stage; auto for bonsai where there are fewer than 3,000 documents, or fewer than 20 for "
        "a label on average, and none elsewhere.",
    )
    candidates: int | None = setting(
        None,
        "Labels judged for a text where not all are: the best of the first stage. None for 64.",
        least=1,
    )
    folds: int = setting(
        5,
        "Models of the first stage by which training documents are ranked, each by one that did "
        "not learn from it.",
        least=2,
    )
    cornet: int = setting(
        0,
        "Blocks behind the log odds of all labels, which learn how labels go together (CorNet); 0 "
        "for none. They need all labels: no first stage, label tree, clusters or drawn candidates.",
        least=0,
    )
    cornet_size: int = setting(
        1000, "Size of the layer between labels and labels in each such block.", least=1
    )
    prior: Literal["frequency", "none"] = setting(
        "none",
        "Where the log odds of labels begin: at their frequency in the training documents, or none "
        "for at random. With a first stage they begin with its log odds.",
    )

    @property
    def training(self) -> Training:
        """The settings of the loop."""
        return Training(**{name: getattr(self, name) for name in Training.setting_names()})

    @property
    def form(self) -> str:
        """The kind of reader: ``"words"``, ``"static"`` or ``"transformer"``."""
        if self.encoder == "words":
            return "words"
        return "static" if self.encoder.startswith(PREFIX) else "transformer"

    def check_settings(self) -> None:
        """Refuse values out of range, combinations that make no sense, a device that is missing."""
        super().check_settings()
        for name, known in self.settings().items():
            value = getattr(self, name)
            if (
                known.only is not None
                and self.form not in known.only
                and not known.is_default(value)
            ):
                kinds = " or ".join(KINDS[each] for each in known.only)
                raise InputError(
                    f"{name}={value!r} has no effect with encoder={self.encoder!r}: it needs "
                    f"{kinds}; leave it out"
                )
        if self.encoder != "words" and self.encoder.strip().casefold() in NOT_ENCODERS:
            raise InputError(
                "encoder must be 'words', a folder or a name on the Hugging Face hub, or "
                f"'{PREFIX}FOLDER', got {self.encoder!r}"
            )
        if is_static(self.encoder):
            raise InputError(
                f"{self.encoder} holds static vectors: write encoder='{PREFIX}{self.encoder}'"
            )
        if self.lora and self.frozen:
            raise InputError(
                f"lora={self.lora} and frozen={self.frozen}: low-rank updates leave all of the "
                "encoder as it is, so set one of them to 0"
            )
        if self._first_name == "rerank":
            raise InputError(
                "first='rerank' would ask a language model about every training text: let rerank "
                f"stand on this model instead (model rerank with first={self.name!r}), or combine "
                "the two"
            )
        if self.first != NO_FIRST and self._first_name == self.name:
            raise InputError(
                f"first={self.first!r} is this model itself: choose another, such as 'bonsai'"
            )
        if self.cornet and self.asks_for_first:
            raise InputError(
                f"cornet={self.cornet} needs the log odds of all labels, and first={self.first!r} "
                "names some: set first='none', or choose a model without these blocks (cornet=0)"
            )
        if self.first != NO_FIRST:
            try:
                self.new_first()
            except UnknownNameError as error:
                raise InputError(
                    f"first={self.first!r}: {error}; 'none' for no first stage"
                ) from error
        open_fabric(self.training)

    def searchable(self) -> dict[str, Range]:
        """Return the ranges of those settings that have a use with this ``encoder``."""
        return {
            name: each.search
            for name, each in self.settings().items()
            if each.search is not None and (each.only is None or self.form in each.only)
        }

    @classmethod
    def ranges(cls) -> dict[str, Range]:
        """Return which settings are worth searching with the default ``encoder``."""
        return cls().searchable()

    @property
    def _first_name(self) -> str:
        """The model of the first stage, where there is one."""
        return USUAL_FIRST if self.first == AUTO_FIRST else self.first

    @property
    def _n_shortlisted(self) -> int:
        """Labels of the first stage that are judged for a text."""
        return self.candidates or SHORTLISTED

    @property
    def asks_for_first(self) -> bool:
        """Whether a first stage was named, so that there is one whatever the data are."""
        return self.first not in (NO_FIRST, AUTO_FIRST)

    @property
    def may_have_first(self) -> bool:
        """Whether there is a first stage, or data may ask for one."""
        auto = self.first == AUTO_FIRST and self.allows_first and not self.cornet
        return self.asks_for_first or auto

    @property
    def allows_first(self) -> bool:
        """Whether a first stage may say which labels are judged."""
        return True

    def uses_first(self, counts: NDArray[np.int64], n_documents: int) -> bool:
        """Tell whether a first stage names the labels that are judged.

        Parameters
        ----------
        counts
            Documents of each label, shape (L,).
        n_documents
            Documents in all.
        """
        if self.first == AUTO_FIRST:
            return self.may_have_first and self._wants_first(counts, n_documents)
        return self.asks_for_first

    def _wants_first(self, counts: NDArray[np.int64], n_documents: int) -> bool:
        """Decide where ``first`` is auto."""
        return n_documents < FEW_DOCUMENTS or few_of_label(counts)

    @property
    def _needs_first(self) -> bool:
        """Whether the model cannot go without the first stage that it wants."""
        return self.asks_for_first

    def _why_first(self, counts: NDArray[np.int64], n_documents: int) -> str:
        """Say that and why there is a first stage where ``first`` is auto."""
        mean = counts.sum() / max(np.count_nonzero(counts), 1)
        return (
            f"{n_documents:,} documents, {mean:.1f} for a label on average, are few for "
            f"{self.name} alone: it judges the best labels of {USUAL_FIRST} (first=none for "
            f"{self.name} alone)"
        )

    def new_first(self) -> FirstStage:
        """Return the first stage, unfitted."""
        own = {"seed": self.seed, "threads": self.threads, "device": self.device}
        return FirstStage.named(self._first_name, own)


def few_of_label(counts: NDArray[np.int64]) -> bool:
    """Tell whether the labels that occur have few documents on average.

    Parameters
    ----------
    counts
        Documents of each label, shape (L,).

    Examples
    --------
    >>> few_of_label(np.array([30, 12, 0])), few_of_label(np.array([30, 2, 1]))
    (False, True)
    """
    return int(counts.sum()) < FEW_OF_LABEL * int(np.count_nonzero(counts))
