"""The names that `import deid` offers."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from typing import Any

import pytest
from pages import PAGES, ROOT

import deid

PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
LISTED = set(re.findall(r"^\| `(deid\.[\w.]+)` \|", PAGE, re.MULTILINE))


def test_every_public_name_is_there_and_sorted() -> None:
    assert deid.__all__ == sorted(deid.__all__)
    for name in deid.__all__:
        assert getattr(deid, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = deid.nothing


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, deid; print('numpy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def named(name: str) -> Any:
    module, _, own = name.rpartition(".")
    return getattr(importlib.import_module(module), own)


def described(value: type) -> str | None:
    """Return the docstring in the source of a class: compiled classes have none."""
    source = (ROOT / value.__module__.replace(".", "/")).with_suffix(".py").read_text(encoding="utf-8")
    found = (n for n in ast.parse(source).body if isinstance(n, ast.ClassDef) and n.name == value.__name__)
    return ast.get_docstring(next(found))


@pytest.mark.parametrize("name", sorted(LISTED))
def test_every_name_of_the_interface_is_there_and_described(name: str) -> None:
    value = named(name)
    assert value.__doc__ or described(value)
    assert not value.__name__.startswith("_")


def test_a_class_name_has_one_meaning() -> None:
    homes: dict[str, list[str]] = {}
    for path in (ROOT / "deid").rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_what_pages_use_is_in_the_list_of_the_interface() -> None:
    assert {f"deid.{name}" for name in deid.__all__ if name != "__version__"} <= LISTED
    known = {named(name) for name in LISTED}
    for page in PAGES:
        for module, names in re.findall(r"^from (deid[\w.]*) import (.*)$", page.read_text("utf-8"), re.MULTILINE):
            assert [n for n in names.split(", ") if named(f"{module}.{n}") not in known] == [], f"{page.name}: {module}"
