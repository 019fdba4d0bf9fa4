"""Documents with what was given, missed and wrong, and the words behind the best label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from labelgrove.core.errors import LabelgroveError
from labelgrove.core.types import Document
from labelgrove.core.wording import several
from labelgrove.report.assessment import Assessment
from labelgrove.report.choosing import EACH, KINDS, ChosenDocument
from labelgrove.report.page import Section, paragraph, text
from labelgrove.report.reasons import heaviest, marked, parts_of_score, passage, shares_of, similar
from labelgrove.report.wording import named
from labelgrove.tagger import Reasons

CHARACTERS = 1200  # of a text that are shown
TAGS = 25  # labels of a kind that are shown


class Reason(NamedTuple):
    """Why a document got its best label: the label, and the words or why there are none."""

    label: int
    score: float
    words: Reasons | None
    silence: str = ""


def examples(assessment: Assessment) -> Section:
    """Return the chosen documents, each with its labels and an explanation."""
    shown = assessment.examples
    if not shown:
        why = "No test document has a label, so none is shown."
        return Section("Documents", paragraph(why, kind="note"))
    reasons = [_reason(assessment, chosen.row, document) for chosen, document in shown]
    silences = {each.silence for each in reasons if each and each.words is None}
    body = [paragraph(_how_chosen(assessment))]
    if all(each is None or each.words is None for each in reasons):
        body += [
            paragraph(f"The labels are not explained: {why}", kind="note")
            for why in sorted(silences)
        ]
    for (chosen, document), reason in zip(shown, reasons, strict=True):
        body.append(_article(assessment, chosen, document, reason))
    return Section("Documents", "\n".join(body))


def _how_chosen(assessment: Assessment) -> str:
    counts = [sum(chosen.kind == kind for chosen, _ in assessment.examples) for kind in KINDS]
    kinds = ", ".join(f"{count} {kind}" for count, kind in zip(counts, KINDS, strict=True))
    return (
        f"Examples: {kinds}. Of each kind there are at most {EACH}, evenly spread over the test "
        "set. Marked in the text are the words that spoke for the best label (green) or against it "
        "(red), the stronger the louder."
    )


def _reason(assessment: Assessment, row: int, document: Document) -> Reason | None:
    """Return why the document got its best label, or None if it got none at all."""
    best = next(assessment.scored.ranking.row(row), None)
    if best is None:
        return None
    try:
        words = assessment.tagger.explain(document.text, assessment.space.ids[best[0]])
    except LabelgroveError as error:
        return Reason(*best, None, str(error))
    return Reason(*best, words)


def _article(
    assessment: Assessment, chosen: ChosenDocument, document: Document, reason: Reason | None
) -> str:
    title = f"Document {chosen.row + 1:,}"
    if document.id is not None:
        title += f" ({named(document.id, 60)})"
    words = reason.words if reason and reason.words else Reasons([], ())
    parts = [
        "<article>",
        f"<h3>{text(title)}: {chosen.kind}</h3>",
        _text(document.text, words),
        _because(assessment, reason),
        _labels(assessment, chosen.row),
        paragraph(parts_of_score(words.parts), kind="quiet") if words.parts else "",
        similar(words.neighbours).html() if words.neighbours else "",
        "</article>",
    ]
    return "\n".join(part for part in parts if part)


def _text(whole: str, words: Reasons) -> str:
    """Return the loudest passage of a text with its words marked, and what was left out."""
    if not whole.strip():
        return paragraph("(an empty text)", kind="quiet")
    start, end = passage(whole, words, CHARACTERS)
    shares = shares_of(words, len(whole))
    before, behind = "…" if start else "", "…" if end < len(whole) else ""
    shown = [0.0] * len(before) + shares[start:end] + [0.0] * len(behind)
    text = marked(before + whole[start:end] + behind, shown)
    if (start, end) == (0, len(whole)):
        return text
    where = f"Characters {start + 1:,} to {end:,} of {len(whole):,}."
    return text + paragraph(where, kind="quiet")


def _because(assessment: Assessment, reason: Reason | None) -> str:
    if reason is None:
        return paragraph("The tagger ranks no label for this text.", kind="quiet")
    best = f"<b><bdi>{text(named(assessment.names[reason.label]))}</bdi></b> ({reason.score:.2f})"
    if reason.words is None:
        return f'<p class="quiet">Best label: {best}; not explained.</p>'
    if not reason.words:
        return f'<p class="quiet">Best label: {best}; no word spoke for it or against it.</p>'
    words = text(heaviest(reason.words, between=", "))
    return f'<p class="quiet">Best label: {best}. Loudest words: {words}.</p>'


def _labels(assessment: Assessment, row: int) -> str:
    """Return the labels of a document: right, wrong and missed, each kind on a line."""
    scored, names = assessment.scored, assessment.names
    ranked = list(scored.ranking.row(row))
    given, hits = (part[row, : len(ranked)] for part in (assessment.given, scored.hits))
    named_scores = [f"{named(names[label])} {score:.2f}" for label, score in ranked]
    right = [each for each, yes in zip(named_scores, given & hits, strict=True) if yes]
    wrong = [each for each, yes in zip(named_scores, given & ~hits, strict=True) if yes]
    hit_labels = {label for (label, _), yes in zip(ranked, given & hits, strict=True) if yes}
    ranked_at = {label: (place, score) for place, (label, score) in enumerate(ranked, 1)}
    true = scored.Y.indices[scored.Y.indptr[row] : scored.Y.indptr[row + 1]]
    missed = []
    for label in np.asarray(true).tolist():
        if label in hit_labels:
            continue
        where = "not among the ranked"
        if label in ranked_at:
            where = f"{ranked_at[label][1]:.2f}, place {ranked_at[label][0]}"
        elif label >= assessment.space.n_labels:
            where = "not in training"
        missed.append(f"{named(names[label])} ({where})")
    return (
        _tags("Right", "right", right)
        + _tags("Wrong", "wrong", wrong)
        + _tags("Missed", "missed", missed)
    )


def _tags(title: str, kind: str, labels: Sequence[str]) -> str:
    if not labels:
        return ""
    items = "".join(f"<li><bdi>{text(label)}</bdi></li>" for label in labels[:TAGS])
    if len(labels) > TAGS:
        items += f"<li>and {several(len(labels) - TAGS, 'more', 'more')}</li>"
    return f'<div class="labels"><b>{title}</b> <ul class="tags {kind}">{items}</ul></div>'
