"""``labelgrove evaluate --report``: all that a page tells of a tagger."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from labelgrove.core.progress import Progress, Silent
from labelgrove.core.wording import several
from labelgrove.report.assessment import Assessment
from labelgrove.report.circumstances import how_made, time_and_memory
from labelgrove.report.examples import examples
from labelgrove.report.frequency import frequent_and_rare, spread
from labelgrove.report.headline import by_k, headline, intervals
from labelgrove.report.labels import best_and_worst, confused
from labelgrove.report.page import Section, page, paragraph
from labelgrove.report.probabilities import calibration, threshold, what_is_given
from labelgrove.report.training import learning_curves


def evaluation_report(
    assessment: Assessment, folder: Path, command: str = "", progress: Progress | None = None
) -> str:
    """Return a page about what a tagger does with test documents.

    Parameters
    ----------
    assessment
        Its answers.
    folder
        Where the tagger is saved.
    command
        The command line that asks for the report.
    progress
        Where progress is shown.
    """
    spans = intervals(assessment)
    parts: list[Callable[[Assessment], Section | None]] = [
        partial(headline, spans=spans),
        partial(by_k, spans=spans),
        *(frequent_and_rare, spread, calibration, threshold, best_and_worst, confused, examples),
        learning_curves,
        partial(time_and_memory, folder=folder),
        partial(how_made, folder=folder, command=command),
    ]
    sections = []
    with (progress or Silent()).task("writing the report", len(parts), "parts") as shown:
        for part in parts:
            sections.append(part(assessment))
            shown.advance()
    lead = (
        f"The tagger {folder.resolve().name} on {several(len(assessment.scored), 'document')} of "
        f"{Path(assessment.test).name}."
    )
    return page(
        f"How good is {assessment.tagger.model_.name}?",
        [section for section in sections if section is not None],
        lead=paragraph(lead) + paragraph(what_is_given(assessment)),
    )
