"""The page of ``labelgrove check``: files, and everything that was found."""

from __future__ import annotations

from pathlib import Path

from labelgrove.checking.check import Check
from labelgrove.checking.findings import CHECK, NOTE, SERIOUS, FileFinding
from labelgrove.core.wording import several
from labelgrove.report.circumstances import made_with
from labelgrove.report.page import Section, listed, page, paragraph, text
from labelgrove.report.tables import Table

TITLES = {
    SERIOUS: "To correct before training",
    CHECK: "Worth a look",
    NOTE: "Good to know",
}


def check_page(found: Check, command: str) -> str:
    """Return a whole page.

    Parameters
    ----------
    found
        What a check found.
    command
        The command line that asks for it.
    """
    sections = [Section("Files", _files(found))]
    for level, title in TITLES.items():
        findings = [each for each in found.findings if each.level == level]
        if findings:
            sections.append(Section(title, "\n".join(map(_finding, findings))))
    sections.append(Section("How this was made", made_with(command, {})))
    names = " and ".join(Path(each.name).name for each in found.files)
    n = len(found.findings)
    lead = f"{several(n, 'finding')}, the most important first." if n else "Nothing to correct."
    return page(f"Check of {names}", sections, lead=paragraph(lead))


def _files(found: Check) -> str:
    rows = [
        [
            Path(each.name).name,
            f"{each.documents:,}",
            f"{each.labels:,}",
            f"{each.labels_per_document:.1f}",
            f"{each.words[0]:,}",
            f"{each.words[1]:,}",
            ", ".join(f"{code} {share:.0%}" for code, share in each.languages.items()) or "–",
        ]
        for each in found.files
    ]
    columns = ["", "documents", "labels", "labels a document", "words, median", "words, most"]
    how = [f"{Path(e.name).name} was read as {', '.join(e.reading)}" for e in found.files]
    return Table([*columns, "languages"], rows).html() + listed(how, kind="note")


def _finding(finding: FileFinding) -> str:
    parts = [f"<h3>{text(finding.title)}</h3>"]
    if finding.examples:
        parts.append(listed(finding.examples))
    if finding.total > finding.shown:
        parts.append(_documents(finding))
    parts.append(paragraph(finding.advice))
    if finding.command:
        parts.append(f"<pre><code>{text(finding.command)}</code></pre>")
    return "\n".join(parts)


def _documents(finding: FileFinding) -> str:
    """Return the documents that a finding names as a table that can be opened."""
    first = finding.documents[0]
    names = [f"document of {each.file}" for each in first]
    if len({*names}) < len(names) or len(names) == 1:
        names = ["document", "like document"][: len(names)]
    columns = [column for name in names for column in (name, "id")]
    rows = [
        [cell for each in one for cell in (f"{each.document:,}", each.id or "–")]
        for one in finding.documents
    ]
    n, total = len(rows), several(finding.total, "pair" if len(first) > 1 else "document")
    title = f"All {total}" if n == finding.total else f"The first {n:,} of {total}"
    table = Table(columns, rows, words=len(columns)).html()
    return f"<details><summary>{text(title)}</summary>\n{table}</details>"
