"""The feedback of a tagger's users: where it is kept, and what a tagger learns from it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelgrove.core.progress import Progress
from labelgrove.corpus import Corpus, Feedback
from labelgrove.corpus.corrected import Changes, changes, held_out
from labelgrove.labels import LabelMatcher
from labelgrove.tagger.state import FittedState
from labelgrove.text.copies import text_hash

SUFFIX = ".feedback.jsonl"
HELD_OUT = 0.2  # of the feedback, where there are no other documents to judge by
FEWEST = 20  # held-out documents; fewer are learned too, since they would tell next to nothing


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


@dataclass(frozen=True)
class FeedbackPlan:
    """What is learned from feedback, and what is held out of it.

    Parameters
    ----------
    said
        The feedback.
    changes
        What it changes in the documents that are learned with it.
    held_out
        The texts that are not learned, since both taggers are judged by them.
    leaked
        How many of the test documents have a text that was judged.
    new
        How many texts are in neither the training documents nor the tagger; 0 with test
        documents, where nobody asks.
    """

    said: Feedback
    changes: Changes
    held_out: frozenset[str]
    leaked: int
    new: int = 0

    @property
    def added(self) -> int:
        """Number of documents that the training documents do not have."""
        return len(self.said.documents) - len(self.changes.known) - len(self.held_out)

    @property
    def bare(self) -> int:
        """Number of documents whose labels were all wrong, among those that are learned."""
        learned = (d for text, d in self.said.documents.items() if text not in self.held_out)
        return sum(not document.labels for document in learned)

    @property
    def judged(self) -> Corpus | None:
        """The held-out documents, or None where there are none."""
        kept = [d for text, d in self.said.documents.items() if text in self.held_out]
        if not kept:
            return None
        return Corpus.from_lists([each.text for each in kept], [each.labels for each in kept])

    def record(self, files: Sequence[Path]) -> dict[str, Any]:
        """Return it as plain values, for JSON; ``files`` hold the feedback."""
        return {
            "files": [*map(str, files)],
            "lines": self.said.lines,
            "torn": [*self.said.torn],
            "documents": len(self.said.documents),
            "corrected": self.changes.corrected,
            "confirmed": self.changes.confirmed,
            "added": self.added,
            "without_labels": self.bare,
            "held_out": len(self.held_out),
            "in_test": self.leaked,
        }


def plan_feedback(
    said: Feedback,
    corpus: Corpus,
    learned: FittedState,
    test: Corpus | None,
    progress: Progress,
) -> FeedbackPlan:
    """Read what there is once, and decide by what the taggers before and after are judged.

    Without test documents that is a fifth of the feedback, of texts that neither the training
    documents nor the tagger have; nothing if that is less than 20 documents.

    Parameters
    ----------
    said
        The feedback.
    corpus
        The documents that are learned with it.
    learned
        The tagger before.
    test
        Documents to judge by, where there are some.
    progress
        Where progress is shown.
    """
    documents = progress.track(corpus, "comparing with the feedback")
    changed = changes(documents, said.documents, LabelMatcher.of_space(learned.labels))
    if test is not None:
        leaked = sum(document.text in said.documents for document in test)
        return FeedbackPlan(said, changed, frozenset(), leaked)
    new = [text for text in said.documents if text not in changed.known]
    known = learned.are_learned([text_hash(text) for text in new])
    if known is not None:
        new = [text for text, seen in zip(new, known.tolist(), strict=True) if not seen]
    held = held_out(new, HELD_OUT)
    return FeedbackPlan(said, changed, held if len(held) >= FEWEST else frozenset(), 0, len(new))
