"""What a comparison found, of either kind, ready to be shown and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from labelgrove.core.wording import several
from labelgrove.report import comparison_tables, record_tables
from labelgrove.report.circumstances import made_with
from labelgrove.report.comparison import Comparison
from labelgrove.report.comparison_page import comparison_sections, record_sections
from labelgrove.report.page import Section, listed, page, paragraph
from labelgrove.report.records import OverSetsComparison
from labelgrove.report.tables import Table, in_markdown, latex_tables


@dataclass(frozen=True)
class Findings:
    """A comparison as tables, notes, plain values and a page.

    Parameters
    ----------
    title, lead
        What was compared, in a line each.
    verdict
        Who is better, in a sentence.
    tables
        The most important first.
    notes
        What a reader should know.
    record
        All of it as plain values, for JSON.
    draw
        Returns the parts of a page; called only for a page, since figures need an extra.
    """

    title: str
    lead: str
    verdict: str
    tables: Sequence[Table]
    notes: Sequence[str]
    record: Mapping[str, Any]
    draw: Callable[[], Sequence[Section]]

    def markdown(self) -> str:
        """Return the tables and notes as a Markdown file."""
        notes = "\n".join(f"- {in_markdown(note)}" for note in self.notes)
        parts = [
            f"# {in_markdown(self.title)}",
            f"{in_markdown(self.verdict)}.",
            *(table.markdown() for table in self.tables),
            notes,
        ]
        return "\n\n".join(parts) + "\n"

    def latex(self) -> str:
        """Return the tables as LaTeX, to be put into a document, and the notes as comments."""
        return latex_tables((self.title, self.verdict), self.tables, self.notes)

    def page(self, command: str) -> str:
        """Return a page; ``command`` is the command line that asks for it."""
        sections = [
            *self.draw(),
            Section("Notes", listed(self.notes)),
            Section("How this was made", made_with(command, {})),
        ]
        lead = paragraph(self.lead) + paragraph(f"{self.verdict}.")
        return page(self.title, sections, lead=lead)


def findings(comparison: Comparison | OverSetsComparison) -> Findings:
    """Return a comparison in a form that can be shown and written."""
    if isinstance(comparison, Comparison):
        return Findings(
            f"{several(len(comparison.names), 'tagger')} on {Path(comparison.test).name}",
            f"{', '.join(comparison.names)} on {several(comparison.documents, 'document')}.",
            comparison.verdict.sentence,
            comparison_tables.tables(comparison),
            comparison_tables.notes(comparison),
            comparison_tables.record(comparison),
            partial(comparison_sections, comparison),
        )
    systems, sets = (
        several(len(comparison.systems), "system"),
        several(len(comparison.sets), "data set"),
    )
    return Findings(
        f"{systems} on {sets}",
        f"{', '.join(comparison.systems)} on {', '.join(comparison.sets)}.",
        record_tables.verdict(comparison),
        record_tables.tables(comparison),
        record_tables.notes(comparison),
        record_tables.record(comparison),
        partial(record_sections, comparison),
    )
