"""The page of ``labelgrove migrate``: what became of each label under a new vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from labelgrove.core.wording import several
from labelgrove.labels import LabelSpace
from labelgrove.report.circumstances import made_with
from labelgrove.report.page import Section, listed, page, paragraph
from labelgrove.report.tables import Table
from labelgrove.tagger import Migration

MOST = 2_000  # rows of a table; the JSON has all


def migration_page(
    migration: Migration, old: LabelSpace, new: LabelSpace, vocabulary: str, command: str
) -> str:
    """Return a whole page.

    Parameters
    ----------
    migration
        What became of the labels.
    old, new
        The labels before and after, for their names.
    vocabulary
        The file of the new version.
    command
        The command line that asks for it.
    """

    def before(label: str) -> str:
        return _named(old, label)

    def after(label: str) -> str:
        return _named(new, label)

    found: Mapping[str, tuple[Sequence[str], list[list[str]]]] = {
        "Removed": (["label"], [[before(label)] for label in migration.removed]),
        "Split": (
            ["label", "has become"],
            [
                [before(label), "; ".join(map(after, each))]
                for label, each in migration.split.items()
            ],
        ),
        "Merged": (
            ["label", "was before"],
            [
                [after(label), "; ".join(map(before, each))]
                for label, each in migration.merged.items()
            ],
        ),
        "Another id": (
            ["label", "has become"],
            [[before(label), after(new)] for label, new in migration.renumbered],
        ),
        "Renamed": (["id", "old name", "new name"], [list(each) for each in migration.renamed]),
        "Other parents": (["label"], [[after(label)] for label in migration.moved]),
        "New concepts": (["concept"], [[after(label)] for label in migration.new]),
    }
    counts = Table(["", "labels"], [row[:2] for row in migration.rows()]).html()
    warning = [migration.warning] if migration.warning else []
    sections = [Section("At a glance", counts + listed(warning, kind="note"))]
    sections += [_listed(title, *each) for title, each in found.items() if each[1]]
    sections.append(Section("How this was made", made_with(command, {})))
    lead = paragraph(f"{several(old.n_labels, 'label')} under {vocabulary}.")
    return page("What became of the labels", sections, lead=lead)


def _named(space: LabelSpace, label: str) -> str:
    """Return a label's name with its id."""
    name = space.names[space.index(label)]
    return label if name == label else f"{name} ({label})"


def _listed(title: str, columns: Sequence[str], rows: list[list[str]]) -> Section:
    body = Table(columns, rows[:MOST], words=len(columns)).html()
    if len(rows) > MOST:
        body += paragraph(f"The first {MOST:,} of {len(rows):,}; --json has all.", kind="quiet")
    return Section(title, body)
