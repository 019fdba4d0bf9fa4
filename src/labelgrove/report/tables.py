"""A table of text that renders as Markdown, LaTeX and HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass

from labelgrove.core.errors import InputError

MARK = "†"  # behind figures that may be behind the best by luck
PACKAGES = r"needs \usepackage{booktabs} and \usepackage{adjustbox}"
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~#])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "†": r"\dag{}",
    "±": r"$\pm$",
    "–": "--",
    "…": r"\ldots{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


@dataclass(frozen=True)
class Table:
    r"""Rows of cells that are text; every rendering escapes them.

    Parameters
    ----------
    columns
        What stands above each column.
    rows
        The cells of each row, as many as there are columns.
    title
        What stands above the table; empty for nothing.
    words
        So many columns align left, the others, which hold numbers, right.
    bold
        (row, column) of the cells to be in bold, both counted from 0.

    Examples
    --------
    >>> table = Table(["", "P@1"], [["a|b", "88.4"], ["c", "86.7"]], bold={(0, 1)})
    >>> print(table.markdown())
    |  | P@1 |
    |---|---:|
    | a\|b | **88.4** |
    | c | 86.7 |
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    words: int = 1
    bold: Set[tuple[int, int]] = frozenset()

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise InputError(
                    f"row {number} of the table has {len(row)} cells for {len(self.columns)} "
                    "columns; give one for each"
                )

    def markdown(self) -> str:
        """Return the table in GitHub's Markdown, the title as a line in bold above it."""
        rule = "|".join("---" if self._left(i) else "---:" for i in range(len(self.columns)))
        lines = [_pipes(map(in_markdown, self.columns)), f"|{rule}|"]
        lines += [_pipes(cells) for cells in self._cells(in_markdown, "**{}**")]
        title = [f"**{in_markdown(self.title)}**", ""] if self.title else []
        return "\n".join(title + lines)

    def latex(self, notes: Iterable[str] = ()) -> str:
        """Return the table as a LaTeX ``table``, with the packages booktabs and adjustbox.

        A table that is too wide for the page is made smaller.

        Parameters
        ----------
        notes
            Lines in small print below the table.
        """
        form = "".join("l" if self._left(i) else "r" for i in range(len(self.columns)))
        lines = [r"\begin{table}", r"\centering"]
        if self.title:
            lines.append(f"\\caption{{{_latex(self.title)}}}")
        lines.append(r"\begin{adjustbox}{max width=\linewidth}")
        lines += [f"\\begin{{tabular}}{{{form}}}", r"\toprule"]
        lines += [_ampersands(map(_latex, self.columns)), r"\midrule"]
        lines += [_ampersands(cells) for cells in self._cells(_latex, r"\textbf{{{}}}")]
        lines += [r"\bottomrule", r"\end{tabular}", r"\end{adjustbox}"]
        lines += [f"\\par\\smallskip{{\\footnotesize {_latex(note)}}}" for note in notes]
        return "\n".join([*lines, r"\end{table}"])

    def html(self) -> str:
        """Return the table as HTML, inside a box that scrolls where it is too wide.

        Cells of numbers have the class ``number``.
        """
        head = "".join(
            f'<th scope="col"{self._class(i)}>{_html(column)}</th>'
            for i, column in enumerate(self.columns)
        )
        body = "".join(
            "<tr>" + "".join(self._cell(i, cell) for i, cell in enumerate(cells)) + "</tr>\n"
            for cells in self._cells(_html, "<strong>{}</strong>")
        )
        caption = f"<caption>{_html(self.title)}</caption>\n" if self.title else ""
        return (
            f'<div class="table"><table>\n{caption}<thead><tr>{head}</tr></thead>\n'
            f"<tbody>\n{body}</tbody>\n</table></div>"
        )

    def has(self, sign: str) -> bool:
        """Tell whether a cell holds a sign."""
        return any(sign in cell for row in self.rows for cell in row)

    def _left(self, column: int) -> bool:
        return column < self.words

    def _class(self, column: int) -> str:
        return "" if self._left(column) else ' class="number"'

    def _cell(self, column: int, content: str) -> str:
        if column == 0 and self.words:
            return f'<th scope="row">{content}</th>'
        return f"<td{self._class(column)}>{content}</td>"

    def _cells(self, escape: Callable[[str], str], bold: str) -> list[list[str]]:
        """Return the escaped cells of each row, those to be in bold put into ``bold``."""
        return [
            [
                bold.format(escape(cell)) if (i, j) in self.bold and cell else escape(cell)
                for j, cell in enumerate(row)
            ]
            for i, row in enumerate(self.rows)
        ]


def latex_tables(head: Sequence[str], tables: Sequence[Table], notes: Sequence[str]) -> str:
    """Return tables to be put into a LaTeX document, with comments above and below.

    Parameters
    ----------
    head
        Comments above.
    tables
        The tables; one that has marks gets the note that explains them.
    notes
        Comments below. One that explains marks begins with them.
    """
    marks = [note for note in notes if note.startswith(MARK)]
    parts = [
        "\n".join(map(_comment, [*head, PACKAGES])),
        *(table.latex(marks if table.has(MARK) else ()) for table in tables),
        "\n".join(map(_comment, notes)),
    ]
    return "\n\n".join(parts) + "\n"


def _comment(text: str) -> str:
    return f"% {_line(text)}"


def _line(text: str) -> str:
    """Return a text without line ends, which no form of a table's cell can hold."""
    return " ".join(text.split())


def in_markdown(text: str) -> str:
    """Return a text in one line that Markdown shows as it is."""
    return _MARKDOWN.sub(r"\\\1", _line(text))


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in _line(text))


def _html(text: str) -> str:
    return html.escape(_line(text))


def _pipes(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _ampersands(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"
