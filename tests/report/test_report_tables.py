"""A table in Markdown, LaTeX and HTML, whatever its cells hold."""

from html.parser import HTMLParser

import pytest

from labelgrove.core.errors import InputError
from labelgrove.report.tables import Table, latex_tables

NASTY = "a|b_c & <i>50%</i> $x^2$ \\d {e} #1 ~\n*"


def test_markdown_aligns_and_escapes():
    table = Table(["model", "P@1"], [[NASTY, "1.5"], ["b", "2.5"]], "One_two", bold={(1, 1)})
    assert table.markdown().splitlines() == [
        r"**One\_two**",
        "",
        "| model | P@1 |",
        "|---|---:|",
        r"| a\|b\_c & \<i\>50%\</i\> $x^2$ \\d \{e\} \#1 \~ \* | 1.5 |",
        "| b | **2.5** |",
    ]


def test_marks_are_explained_below_the_tables_that_have_them():
    plain, marked = Table(["", "P@1"], [["a", "1"]]), Table(["", "P@1"], [["b", "1†"]])
    written = latex_tables(["one", "two"], [plain, marked], ["† is 5% luck", "no mark†"])
    head, first, second, notes = written.split("\n\n")
    assert head.splitlines()[:2] == ["% one", "% two"]
    assert "luck" not in first
    assert r"\par\smallskip{\footnotesize \dag{} is 5\% luck}" in second.splitlines()
    assert "no mark" not in second
    assert notes == "% † is 5% luck\n% no mark†\n"


def test_latex_escapes_every_sign_with_a_meaning():
    written = Table(["", "R"], [[NASTY, "1.5"]], "50%", bold={(0, 1)}).latex()
    assert written.splitlines() == [
        r"\begin{table}",
        r"\centering",
        r"\caption{50\%}",
        r"\begin{adjustbox}{max width=\linewidth}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r" & R \\",
        r"\midrule",
        r"a\textbar{}b\_c \& \textless{}i\textgreater{}50\%\textless{}/i\textgreater{} "
        r"\$x\textasciicircum{}2\$ \textbackslash{}d \{e\} \#1 \textasciitilde{} * "
        r"& \textbf{1.5} \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{adjustbox}",
        r"\end{table}",
    ]


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag in ("td", "th"):
            self.found.append([tag, dict(attrs).get("class"), ""])

    def handle_data(self, data):
        if self.found and data.strip():
            self.found[-1][2] += data


def test_html_shows_the_cells_as_they_are():
    table = Table(["model", "notes", "P@1"], [[NASTY, "n", "1.5"]], words=2, bold={(0, 2)})
    cells = Cells()
    cells.feed(table.html())
    assert cells.found == [
        ["th", None, "model"],
        ["th", None, "notes"],
        ["th", "number", "P@1"],
        ["th", None, NASTY.replace("\n", " ")],
        ["td", None, "n"],
        ["td", "number", "1.5"],
    ]
    assert "i" not in cells.tags
    assert "caption" not in cells.tags
    assert cells.tags.count("strong") == 1
    assert "<caption>a &amp; b</caption>" in Table(["x"], [], "a & b").html()


def test_a_row_of_the_wrong_length_is_refused():
    with pytest.raises(InputError, match="row 1 of the table has 1 cells for 2 columns"):
        Table(["a", "b"], [["1", "2"], ["3"]])
