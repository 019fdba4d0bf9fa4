"""``labelgrove evaluate --report``: all that a page tells of a tagger."""

from __future__ import annotations

from pathlib import Path

from labelgrove.report.assessment import Assessment
from labelgrove.report.circumstances import how_made, time_and_memory
from labelgrove.report.examples import examples
from labelgrove.report.frequency import frequent_and_rare, spread
from labelgrove.report.headline import by_k, headline
from labelgrove.report.labels import best_and_worst, confused
from labelgrove.report.page import page, paragraph
from labelgrove.report.probabilities import calibration, threshold
from labelgrove.report.training import learning_curves
from labelgrove.report.wording import several


def evaluation_report(assessment: Assessment, folder: Path, command: str = "") -> str:
    """Return a page about what a tagger does with test documents.

    Parameters
    ----------
    assessment
        Its answers.
    folder
        Where the tagger is saved.
    command
        The command line that asks for the report.
    """
    sections = [
        headline(assessment),
        by_k(assessment),
        frequent_and_rare(assessment),
        spread(assessment),
        calibration(assessment),
        threshold(assessment),
        best_and_worst(assessment),
        confused(assessment),
        examples(assessment),
        learning_curves(assessment),
        time_and_memory(assessment, folder),
        how_made(assessment, folder, command),
    ]
    name = assessment.tagger.model_.name
    lead = (
        f"The tagger {folder.name} on {several(len(assessment.judged), 'document')} of "
        f"{Path(assessment.test).name}."
    )
    return page(f"How good is {name}?", [each for each in sections if each], lead=paragraph(lead))
