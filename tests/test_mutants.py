"""The program that puts small bugs into the source: which bugs it makes, and what it leaves."""

import ast
import sys
from pathlib import Path

import pytest

RELIABILITY = Path(__file__).parents[1] / "benchmarks" / "reliability"


@pytest.fixture
def programs(monkeypatch):
    monkeypatch.syspath_prepend(str(RELIABILITY))
    import mutants
    import small_bugs

    yield mutants, small_bugs
    for name in ("mutants", "small_bugs", "suite"):
        sys.modules.pop(name)


SOURCE = '''"""A docstring with 1 < 2."""
@njit(cache=True)
def clipped(x: Literal[3], least=0.5):
    """Return 1 or 2."""
    if x < 0 and not least:
        raise InputError(f"{x + 1} is below {0}")
    "ä"; total = x - 1
    print(1)
    total += min(x, 2)
    return total, zip(x, strict=True)
'''


def test_each_bug_changes_one_place(tmp_path, programs):
    (tmp_path / "clipped.py").write_text(SOURCE)
    bugs = programs[1].bugs_in(tmp_path / "clipped.py", "clipped.py")
    assert {(bug.line, bug.kind, bug.text) for bug in bugs} == {
        (3, "constant changed", "1.0"),
        (5, "condition negated", "not (x < 0 and (not least))"),
        (5, "and and or swapped", "(x < 0 or not least)"),
        (5, "comparison turned", "x <= 0"),
        (5, "constant changed", "1"),
        (5, "condition negated", "bool(least)"),
        (6, "statement dropped", "pass"),
        (7, "+ and - swapped", "x + 1"),
        (7, "constant changed", "2"),
        (9, "statement dropped", "pass"),
        (9, "+ and - swapped", "total -= min(x, 2)"),
        (9, "min and max swapped", "max"),
        (9, "constant changed", "3"),
    }
    whole = SOURCE.splitlines()
    for bug in bugs:
        changed = bug.put_into(SOURCE)
        ast.parse(changed)
        differing = [i for i, line in enumerate(changed.splitlines()) if line != whole[i]]
        assert differing == [bug.line - 1]
    assert len({bug.name for bug in bugs}) == len(bugs)


def test_the_table_names_files_and_tests_that_exist(programs):
    mutants, _ = programs
    for area, covered in mutants.AREAS.items():
        files = mutants._files(area)
        for pattern, tests in covered.items():
            assert any(mutants.fnmatch(file, pattern) for file in files), pattern
            for test in tests:
                place = test.removeprefix("--deselect=").partition("::")[0]
                assert (mutants.ROOT / place).exists(), test


def test_bugs_listed_as_equivalent_can_still_be_made(programs):
    """A line that was changed since needs its reason again, or none."""
    mutants, small_bugs = programs
    listed = set(mutants._equivalent())
    for file in {place[0] for place in listed}:
        listed -= set(map(mutants._place, small_bugs.bugs_in(mutants.PACKAGE / file, file)))
    assert not listed
