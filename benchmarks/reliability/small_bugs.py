"""Small bugs that can be put into Python source, each a change of one expression or statement."""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
SWAPPED_NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
TOLD = {"say", "print", "warn", "announce"}  # calls that only tell something to people


@dataclass(frozen=True)
class Bug:
    """A small bug: one place of a file, and what stands there instead.

    Parameters
    ----------
    file
        The file, relative to the package.
    line
        Where the bug begins, counted from 1.
    kind
        What was done.
    old, new
        The lines before and after, without their indentation.
    start, end
        Where the changed characters begin and end in the file.
    text
        What stands there instead.
    nth
        Number among the bugs of this file with the same lines.
    """

    file: str
    line: int
    kind: str
    old: str
    new: str
    start: int
    end: int
    text: str
    nth: int

    @property
    def name(self) -> str:
        """The same name as long as the changed lines stay as they are, wherever they stand."""
        told = "\0".join((self.file, self.kind, self.old, self.new, str(self.nth)))
        return hashlib.sha256(told.encode()).hexdigest()[:12]

    def put_into(self, source: str) -> str:
        """Return the source with the bug in it."""
        return source[: self.start] + self.text + source[self.end :]


def bugs_in(path: Path, file: str) -> list[Bug]:
    """Return all small bugs that can be put into a file, called ``file`` in what is told."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    bugs: list[Bug] = []
    seen: dict[tuple[str, str, str], int] = {}
    for kind, node, text in _changes(tree, None):
        start = starts[node.lineno - 1] + _characters(source, starts, node.lineno, node.col_offset)
        ends = node.end_lineno or node.lineno
        end = starts[ends - 1] + _characters(source, starts, ends, node.end_col_offset or 0)
        first, last = starts[node.lineno - 1], starts[ends]
        old = source[first:last].strip()
        new = (source[first:start] + text + source[end:last]).strip()
        nth = seen[kind, old, new] = seen.get((kind, old, new), -1) + 1
        bugs.append(Bug(file, node.lineno, kind, old, new, start, end, text, nth))
    return bugs


def _characters(source: str, starts: list[int], line: int, column: int) -> int:
    """Return a column in characters; the parser counts bytes."""
    text = source[starts[line - 1] : starts[line]]
    return len(text.encode()[:column].decode())


Change = tuple[str, ast.expr | ast.stmt, str]


def _changes(node: ast.AST, function: ast.AST | None) -> Iterator[Change]:
    """Yield kind, place and new text of each change below a node."""
    if isinstance(node, ast.stmt):
        yield from _of_statement(node, function)
    elif isinstance(node, ast.expr):
        yield from _of_expression(node)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        function = node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "op", "ops", "ctx"}:
            continue  # types, and options of compilers
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_wording(child):
                yield from _changes(child, function)


def _is_wording(node: ast.AST) -> bool:
    """Tell whether a node only says something to people: errors, log lines, texts, docstrings."""
    if isinstance(node, ast.Raise | ast.Assert):
        return False
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.Call):
        name = _called(node)
        return name in TOLD or name.endswith(("Error", "Warning"))
    if isinstance(node, ast.keyword):  # `zip(..., strict=True)` says that lengths are the same
        return node.arg == "strict"
    if isinstance(node, ast.If):  # imports for types only
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return False


def _called(node: ast.expr) -> str:
    """Return the last name of what is called, or nothing."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            return node.func.id
        if isinstance(node.func, ast.Attribute):
            return node.func.attr
    return ""


# --- statements -----------------------------------------------------------------------------------


def _of_statement(node: ast.stmt, function: ast.AST | None) -> Iterator[Change]:
    if _can_be_dropped(node):
        yield "statement dropped", node, "pass"
    if isinstance(node, ast.If | ast.While):
        yield "condition negated", node.test, f"not ({ast.unparse(node.test)})"
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
        changed = copy.deepcopy(node)
        changed.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        yield "+ and - swapped", node, ast.unparse(changed)
    ends_here = isinstance(node, ast.For | ast.AsyncFor | ast.With | ast.AsyncWith)
    if ends_here and function is not None and not _returns_a_value(function):
        yield "returned early", node, "return"


def _can_be_dropped(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        return isinstance(value, ast.Call) and not _is_wording(value)
    if isinstance(node, ast.Assign):
        return all(isinstance(each, ast.Attribute | ast.Subscript) for each in node.targets)
    return isinstance(node, ast.AugAssign | ast.Raise | ast.Continue | ast.Break | ast.Delete)


def _returns_a_value(function: ast.AST) -> bool:
    if isinstance(function, ast.Lambda):
        return True
    return any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(function))


# --- expressions ----------------------------------------------------------------------------------


def _of_expression(node: ast.expr) -> Iterator[Change]:
    changed = copy.deepcopy(node)
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            turned = copy.deepcopy(node)
            turned.ops[i] = TURNED[type(op)]()
            yield "comparison turned", node, ast.unparse(turned)
    elif isinstance(changed, ast.BinOp) and isinstance(changed.op, ast.Add | ast.Sub):
        changed.op = ast.Sub() if isinstance(changed.op, ast.Add) else ast.Add()
        yield "+ and - swapped", node, ast.unparse(changed)
    elif isinstance(changed, ast.BoolOp):
        changed.op = ast.Or() if isinstance(changed.op, ast.And) else ast.And()
        yield "and and or swapped", node, f"({ast.unparse(changed)})"
    elif isinstance(node, ast.IfExp):
        yield "condition negated", node.test, f"not ({ast.unparse(node.test)})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "condition negated", node, f"bool({ast.unparse(node.operand)})"
    elif isinstance(node, ast.Call) and _called(node) in SWAPPED_NAMES:
        name = _called(node)
        end = ast.unparse(node.func)[: -len(name)] + SWAPPED_NAMES[name]
        yield "min and max swapped", node.func, end
    elif isinstance(node, ast.Slice):
        for bound in (node.lower, node.upper):
            if bound is not None and not isinstance(bound, ast.Constant):
                yield "off by one", bound, f"({ast.unparse(bound)}) + 1"
    elif isinstance(node, ast.Call) and _called(node) == "range":
        last = node.args[min(1, len(node.args) - 1)]
        yield "off by one", last, f"({ast.unparse(last)}) - 1"
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node)


def _of_constant(node: ast.Constant) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield "constant changed", node, str(not value)
    elif isinstance(value, int):
        yield "constant changed", node, str(value + 1)
    elif isinstance(value, float):
        yield "constant changed", node, repr(2 * value if value else 1.0)
