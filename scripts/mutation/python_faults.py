"""All single faults that can be put into a Python file: an operator, number, condition, result or statement changed.

Left out is what no behaviour hangs on: docstrings, type hints, texts of messages, ``assert``, declarations of the
public names, decorators, ``__repr__``, margins for rounding, widths of columns of text, sizes of pictures, where a
stage of work in step ends, and everything that kills processes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Fault", "python_faults"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One change of a file."""

    path: str
    """From the root of the checkout."""
    start: int
    end: int
    new: str
    """What stands instead of the characters from start to end."""
    first: int
    last: int
    """Lines, from 1, that tell whether a test comes by."""
    before: str
    after: str
    """The changed lines, without indentation."""
    where: str
    """The function, for reading."""

    def apply(self, text: str) -> str:
        """Return the text of the file with the fault in it."""
        return text[: self.start] + self.new + text[self.end :]


_COMPARISONS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"), ast.NotIn: (r"not\s+in", "in"), ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
}  # fmt: skip
_OPERATORS = {
    ast.Add: (r"\+", "-"), ast.Sub: ("-", "+"), ast.Mult: (r"\*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"), ast.Pow: (r"\*\*", "*"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"), ast.BitOr: (r"\|", "&"), ast.BitXor: (r"\^", "&"),
}  # fmt: skip
_MARGIN = 1e-8
"""Smaller numbers are margins for rounding: neither a fifth more or less of one is a fault, nor whether a comparison
that has one holds for equal numbers."""
_SILENT = {"__repr__", "__all__", "__slots__", "__version__"}
_SILENT_CALLS = re.compile(r"(^|\.)(warn|debug|info|warning|echo|TypeVar|NewType|kill|killpg|String|new_figure|pause)$")


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.lines = text.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.function: list[str] = []
        self.statement: ast.stmt | None = None
        self.found: list[Fault] = []

    def place(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)

    def add(self, start: int, end: int, new: str, node: ast.expr | ast.stmt) -> None:
        text = self.text[:start] + new + self.text[end:]
        first = self.text.rfind("\n", 0, start) + 1
        last = self.text.find("\n", end)
        before = self.text[first:last]
        after = text[first : last + len(text) - len(self.text)]
        if before.split() == after.split():
            return
        lines = node.lineno, node.end_lineno or node.lineno
        squeezed = " ".join(before.split()), " ".join(after.split())
        self.found.append(Fault(self.path, start, end, new, *lines, *squeezed, ".".join(self.function) or "module"))

    # ---- what is passed over

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            kept, self.statement = self.statement, node
            super().visit(node)
            self.statement = kept
        else:
            super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in _SILENT:
            return
        self.function.append(node.name)
        for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
            self.visit(default)
        self.body(node.body)
        self.function.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if any(isinstance(b, ast.Name) and b.id == "Protocol" for b in node.bases):
            return
        self.function.append(node.name)
        self.body(node.body)
        self.function.pop()

    def body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.visit(statement)

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_Raise(self, node: ast.Raise) -> None:
        self.add(*self.span(node), "pass", node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        names = {t.id for t in node.targets if isinstance(t, ast.Name)}
        if not names & _SILENT:
            self.visit(node.value)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        pass

    visit_ImportFrom = visit_Import  # noqa: N815

    def visit_Call(self, node: ast.Call) -> None:
        if not _SILENT_CALLS.search(ast.unparse(node.func)):
            self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in ("strict", "repr"):  # another way to say assert; tests/contracts tell what no repr shows
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    # ---- faults

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and not _SILENT_CALLS.search(ast.unparse(node.value.func)):
            self.add(*self.span(node), "pass", node)
        if not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.add(*self.span(node), "pass", node)
        self.swap(node.target, node.value, _OPERATORS.get(type(node.op)), node)
        self.visit(node.value)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            return
        start, end = self.span(node.value)
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            self.add(start, end, "''", node.value)
        elif not isinstance(node.value, ast.Constant):
            self.add(start, end, "None", node.value)
        self.visit(node.value)

    def visit_Continue(self, node: ast.Continue) -> None:
        self.add(*self.span(node), "break", node)

    def visit_Break(self, node: ast.Break) -> None:
        self.add(*self.span(node), "continue", node)

    def condition(self, test: ast.expr) -> None:
        start, end = self.span(test)
        if "TYPE_CHECKING" not in self.text[start:end]:
            for new in (f"not ({self.text[start:end]})", "True", "False"):
                self.add(start, end, new, test)

    def visit_If(self, node: ast.If | ast.While | ast.IfExp) -> None:
        self.condition(node.test)
        self.generic_visit(node)

    visit_While = visit_If  # noqa: N815
    visit_IfExp = visit_If  # noqa: N815

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self.condition(test)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            self.add(*self.span(node), f"({self.text[slice(*self.span(node.operand))]})", node)
        self.visit(node.operand)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.swap(left, right, (old, new), node)
        first, second = node.values[0], node.values[1]
        self.add(self.span(first)[0], self.span(second)[0], "", node)  # brackets may make nonsense: does not compile
        self.add(self.span(node.values[-2])[1], self.span(node.values[-1])[1], "", node)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        left = node.left
        within = any(isinstance(part, ast.Constant) and _is_margin(part.value) for part in ast.walk(node))
        for operator, right in zip(node.ops, node.comparators, strict=True):
            if not (within and isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE)):  # equal but for rounding
                self.swap(left, right, _COMPARISONS[type(operator)], node)
            left = right
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        sides = (node.left, node.right)
        if not any(isinstance(side, ast.Constant | ast.JoinedStr) and not _is_number(side) for side in sides):
            self.swap(node.left, node.right, _OPERATORS.get(type(node.op)), node)
        self.generic_visit(node)

    def swap(self, left: ast.expr, right: ast.expr, pair: tuple[str, str] | None, node: ast.expr | ast.stmt) -> None:
        if pair is None:
            return
        start, end = self.span(left)[1], self.span(right)[0]
        found = re.search(rf"(?<![#\w]){pair[0]}(?!\w)", self.text[start:end])
        if found:
            self.add(start + found.start(), start + found.end(), pair[1], node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.add(*self.span(node), str(not value), node)
        elif isinstance(value, int):
            self.add(*self.span(node), str(value + 1), node)
        elif isinstance(value, float) and not _is_margin(value):
            self.add(*self.span(node), repr(value * 0.8 if value else 0.1), node)


def _is_margin(value: object) -> bool:
    return isinstance(value, float) and 0 < value < _MARGIN


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float | complex)


def python_faults(root: Path, path: str) -> Iterator[Fault]:
    """Yield the faults of a file that still compile, in the order of the text."""
    text = (root / path).read_text(encoding="utf-8")
    finder = _Finder(path, text)
    finder.body(ast.parse(text).body)
    yield from finder.found


def compiles(fault: Fault, text: str) -> bool:
    """Tell whether the file with the fault is Python, and another program than before."""
    try:
        changed = ast.parse(fault.apply(text))
    except SyntaxError:
        return False
    return ast.dump(changed) != ast.dump(ast.parse(text))
