"""scripts/mutate: faults are real changes of the code, and what is listed as equivalent is one of them."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "scripts" / "mutation"
sys.path.insert(0, str(FOLDER))

from c_faults import c_faults  # noqa: E402
from python_faults import compiles, python_faults  # noqa: E402
from runner import moved_lines, new_functions  # noqa: E402

SOURCE = '''"""Text 1 > 0."""

__all__ = ["f"]
LIMIT: int = 3


def f(a: int = 1, *, b: bool = True) -> int:
    """Return 1 + 1."""
    assert a > 0, "1 > 2"
    if a > LIMIT and not b:
        raise ValueError("more than 3 ä")
    for n in range(a):
        if "é" in str(n):
            continue
        a += 2
    return a * 2 - 1 if b else -a


def g(x: float) -> bool:
    return x > 0.5 + 1e-12
'''


def test_each_operator_number_condition_result_and_statement_of_python_is_changed(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(SOURCE)
    faults = [f for f in python_faults(tmp_path, "f.py") if compiles(f, SOURCE)]
    changed = {(f.before, f.after) for f in faults}
    assert {
        ("LIMIT: int = 3", "LIMIT: int = 4"),
        ("def f(a: int = 1, *, b: bool = True) -> int:", "def f(a: int = 1, *, b: bool = False) -> int:"),
        ("if a > LIMIT and not b:", "if a >= LIMIT and not b:"),
        ("if a > LIMIT and not b:", "if a > LIMIT or not b:"),
        ("if a > LIMIT and not b:", "if a > LIMIT:"),
        ("if a > LIMIT and not b:", "if not b:"),
        ('raise ValueError("more than 3 ä")', "pass"),
        ('if "é" in str(n):', 'if "é" not in str(n):'),
        ("continue", "break"),
        ("a += 2", "pass"),
        ("a += 2", "a -= 2"),
        ("return a * 2 - 1 if b else -a", "return None"),
        ("return a * 2 - 1 if b else -a", "return a * 2 + 1 if b else -a"),
        ("return a * 2 - 1 if b else -a", "return a * 2 - 1 if b else (a)"),
        ("return x > 0.5 + 1e-12", "return x > 0.4 + 1e-12"),
        ("return x > 0.5 + 1e-12", "return x > 0.5 - 1e-12"),
    } <= changed
    assert not any("e-13" in after for _, after in changed), "a margin for rounding"
    assert not any("assert" in before or "__all__" in before or '"""' in before for before, _ in changed)
    for fault in faults:
        assert fault.apply(SOURCE) != SOURCE


def test_c_is_changed_outside_of_comments_strings_and_memory(tmp_path: Path) -> None:
    text = """/* a < b */
#define LEAST 3
static int f(int a, int b)
{
    const char *word = "a < b"; // 1 + 1
    int *kept = malloc(4);
    if (!kept)
        return -1;
    if (a < b && b != 0)
        return a + 2;
    b -= 1;
    return 0.5 * b > 1;
}
"""
    (tmp_path / "f.c").write_text(text)
    changed = {(f.before, f.after) for f in c_faults(tmp_path, "f.c")}
    assert {
        ("if (a < b && b != 0)", "if (a <= b && b != 0)"),
        ("if (a < b && b != 0)", "if (a < b || b != 0)"),
        ("if (a < b && b != 0)", "if (!(a < b && b != 0))"),
        ("return a + 2;", "return a - 2;"),
        ("return a + 2;", "return 0;"),
        ("b -= 1;", ";"),
        ("return 0.5 * b > 1;", "return 0.4 * b > 1;"),
    } <= changed
    assert not any(
        "malloc" in before or "#" in before or "/*" in before or "return -1" in before for before, _ in changed
    )


def test_functions_of_a_loaded_module_get_the_code_of_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """class C:
    def f(self):
        return [x + 1 for x in (1, 2)]

def outer():
    def inner():
        return 3
    return inner

kept = outer()
"""
    path = tmp_path / "some_changed_module.py"
    path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    module = __import__("some_changed_module")
    one = module.C()
    changed = text.replace("x + 1", "x - 1").replace("return 3", "return 4")
    new_functions(str(path), text, changed, [module.C.f, module.outer, module.kept])
    assert one.f() == [0, 1]
    assert (module.kept(), module.outer()()) == (4, 4)


def test_what_is_known_of_lines_moves_with_them_and_new_ones_count_as_those_around_them() -> None:
    before = "".join(f"line {n}\n" for n in range(1, 21))
    after = before.replace("line 3\n", "").replace("line 10\n", "other\nmore\n").replace("line 20\n", "line 20\nlast\n")
    moved = moved_lines(before, after)
    assert moved is not None
    assert {new: list(old) for new, old in moved.items()} == {
        **{n: [n] for n in (1, 2)},
        **{n: [n + 1] for n in range(3, 9)},
        **{n: [9, 10, 11] for n in (9, 10)},
        **{n: [n] for n in range(11, 21)},
        21: [20, 21],
    }
    assert moved_lines(before, before[::-1]) is None


EQUIVALENT = tomllib.loads((FOLDER / "equivalent.toml").read_text(encoding="utf-8"))["fault"]


@pytest.mark.parametrize("listed", EQUIVALENT, ids=lambda listed: f"{listed['file']}: {listed['after']}")
def test_what_is_listed_as_equivalent_is_a_fault_with_a_reason(listed: dict[str, str]) -> None:
    assert len(listed["reason"]) > 20
    find = c_faults if listed["file"].endswith(".c") else python_faults
    faults = {(f.before, f.after) for f in find(ROOT, listed["file"])}
    if listed["before"] in {before for before, _ in faults}:  # else the code has gone on: scripts/mutate says so
        assert (listed["before"], listed["after"]) in faults
