"""The examples of a page, run as a reader would: in their order, in one folder.

Blocks of Python, and blocks of sh that call labelgrove or curl, are run; a block of text right
behind one is what it prints. ``labelgrove serve`` serves until the page ends, on a port that is
free, which its other examples are given. A comment before a block may say otherwise:

- ``<!-- saved as train.csv, test.csv -->``: the reader saves the block under these names;
- ``<!-- not run: REASON -->``: this machine cannot do it.
- ``<!-- goes on from tutorial.md -->`` anywhere: the page begins with the files that one leaves.
"""

import contextlib
import io
import math
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from command_line import called
from services import serving

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(?:^<!-- ([^\n]*?) -->\n)?^```([^\n]*)\n(.*?)^```$\n?", re.M | re.S)
BEFORE = re.compile(r"^<!-- goes on from (\S+) -->$", re.M)
NUMBER = re.compile(r"-?\d[\d,]*\.\d+")
ADDRESS = "http://127.0.0.1:8000"  # where pages serve
FOLDER = "/home/me"  # what pages call the folder they are run in


@dataclass(frozen=True)
class Example:
    """A block that is run or saved, and what a page shows of its output."""

    line: int
    language: str
    code: str
    mark: str
    shown: str | None

    @property
    def reason(self):
        """Why it is not run, where a page says so."""
        return self.mark.removeprefix("not run: ") if self.mark.startswith("not run: ") else None

    @property
    def files(self):
        """The names under which a reader saves it."""
        saved = self.mark.removeprefix("saved as ")
        return saved.split(", ") if saved != self.mark else []

    @property
    def runs(self):
        return self.language == "python" or (
            self.language == "sh" and re.search(r"^(labelgrove|curl) ", self.code, re.M) is not None
        )


def pages():
    """Return the README and every page of the documentation, by their paths."""
    written = (ROOT / "docs").rglob("*.md")
    return ["README.md", *sorted(str(page.relative_to(ROOT)) for page in written)]


def examples(page):
    """Return the blocks of a page that matter to a reader who tries it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = list(BLOCK.finditer(text))
    behind = {each.start(): each for each in found}
    kept = []
    for each in found:
        mark, language, code = each[1] or "", each[2], each[3]
        after = behind.get(each.end())
        shown = after[3] if after and after[2] == "text" and not after[1] else None
        line = text.count("\n", 0, each.start()) + 1
        example = Example(line, language, code, mark, shown)
        if example.runs or example.files:
            kept.append(example)
    return kept


def goes_on_from(page):
    """Return the page whose files this one begins with, or None."""
    found = BEFORE.search((ROOT / page).read_text(encoding="utf-8"))
    return str(Path("docs") / found[1]) if found else None


def run(page, folder):
    """Run the examples of a page in the current folder, and compare what they print."""
    with contextlib.ExitStack() as services:
        _run(page, folder, services)


def _run(page, folder, services):
    names, address = {"__name__": page}, ADDRESS
    for example in examples(page):
        for name in example.files:
            Path(name).write_text(example.code, encoding="utf-8")
        if example.files or example.reason:
            continue
        place, code = f"{page}:{example.line}", example.code.replace(ADDRESS, address)
        if code.startswith("labelgrove serve "):
            (words,) = _lines(code)
            address = services.enter_context(serving(*words[2:])).address
            printed = f"serving at {address}"
        elif example.language == "python":
            printed = _python(code, names, place)
        else:
            printed = "".join(map(_command, _lines(code)))
        if example.shown is not None:
            said = printed.replace(str(folder), FOLDER).replace(address, ADDRESS)
            assert alike(said, example.shown), f"{place} printed\n{said}"


def alike(printed, shown):
    """Tell whether a page shows what was printed.

    A line of three dots stands for any lines, and spaces for any number of them. Numbers with a
    decimal point may differ by a fiftieth: processors round differently.
    """
    return _follow(printed.splitlines(), shown.splitlines())


def _follow(lines, wanted):
    if not wanted:
        return not lines
    if wanted[0].strip() == "...":
        return any(_follow(lines[start:], wanted[1:]) for start in range(len(lines) + 1))
    return bool(lines) and _same(lines[0], wanted[0]) and _follow(lines[1:], wanted[1:])


def _same(*pair):
    """Tell whether two lines have the same words, and numbers that are close."""
    one, other = (" ".join(line.split()) for line in pair)
    if NUMBER.split(one) != NUMBER.split(other):
        return False
    numbers = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(math.isclose(_number(a), _number(b), rel_tol=0.02, abs_tol=0.02) for a, b in numbers)


def _number(text):
    return float(text.replace(",", ""))


def _python(code, names, place):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, place, "exec"), names)
    return printed.getvalue()


def _lines(code):
    """Return the commands of a block as lists of words, without comments."""
    split = (shlex.split(line, comments=True) for line in code.replace("\\\n", " ").splitlines())
    return [words for words in split if words]


def _command(words):
    program, *arguments = words
    if program == "curl":
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert program == "labelgrove", f"only labelgrove and curl are run in such a block, got {words}"
    if ">" not in arguments:
        return called(*arguments).stdout
    end = arguments.index(">")
    Path(arguments[end + 1]).write_text(called(*arguments[:end]).stdout, encoding="utf-8")
    return ""
