"""Objects that the compiled module makes are those that the class itself would make."""

from __future__ import annotations

import ast
import copy
import dataclasses
import hashlib
import importlib.util
import json
import os
import pickle
import re
import runpy
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base import compiled
from deid.base.compiled import native, quick
from deid.detection.known import Known, KnownRecognizer
from deid.document import Document, Edit, Span
from deid.records.record import ChangeMark, Owners
from deid.records.xml_positions import XmlCodec


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Pair:
    left: object
    right: object = None
    note: object = dataclasses.field(default="", compare=False)


@quick
@dataclasses.dataclass(frozen=True, slots=True, order=True)
class QuickPair:
    left: object
    right: object = None
    note: object = dataclasses.field(default="", compare=False)


class Sub(Span):
    __slots__ = ()


def said(cls, values, named):
    """What an object is, or why there is none."""
    try:
        made = cls(*values, **named)
    except TypeError as error:
        return str(error).replace("QuickPair", "Pair")
    return dataclasses.astuple(made), hash(made), repr(made).replace("QuickPair", "Pair")


VALUES = st.lists(st.integers() | st.text(max_size=2), max_size=5)
NAMED = st.dictionaries(st.sampled_from(["left", "right", "note", "other"]), st.integers(), max_size=4)


@given(VALUES, NAMED)
def test_a_call_says_the_same(values, named):
    assert said(QuickPair, values, named) == said(Pair, values, named)


def test_a_span_is_an_ordinary_frozen_data_class():
    span = Span(3, 7, "DATE", source="rule:x", score=0.5)
    assert span == Span(3, 7, "DATE") == dataclasses.replace(span, score=None) != Span(3, 8, "DATE")
    assert hash(span) == hash(Span(3, 7, "DATE"))
    assert pickle.loads(pickle.dumps(span)).score == copy.copy(span).score == 0.5
    assert sorted([Span(4, 5, "A"), span]) == [span, Span(4, 5, "A")]
    assert (span.id, span.source, span.attributes) == ("", "rule:x", ())
    assert isinstance(Sub(1, 2, "X"), Sub)
    assert Sub(1, 2, "X", also=("Y",)).moved(1, 3) == Span(1, 3, "X") == span.moved(1, 3).named("X")
    assert (span.moved(3, 7) is span, span.scored(None).score, span.read_as(["Y", "DATE"]).also) == (True, None, ("Y",))
    assert Edit(1, 2, 3, 4, "X") == Edit(start=1, end=2, new_start=3, new_end=4, category="X")
    with pytest.raises(dataclasses.FrozenInstanceError):
        span.start = 4  # type: ignore[misc]


@pytest.mark.skipif(native is None, reason="the compiled module is not there")
def test_a_class_that_cannot_be_made_so_is_refused():
    @dataclasses.dataclass
    class Open:
        left: int

    with pytest.raises(TypeError, match="slots"):
        quick(Open)
    with pytest.raises(TypeError, match="slots"):
        native.quicken(Pair, ("left", "nothing"), {})
    with pytest.raises(TypeError, match="slots"):
        native.quicken(Sub, ("start",), {})


def test_a_document_may_leave_out_what_a_factory_makes():
    note = Document("n", "text", index=3)
    assert (note.spans, note.metadata, note.index) == ((), {}, 3)
    assert note.metadata is not Document("n", "text").metadata
    other = note.with_text("other")
    assert (other.id, other.text, other.index, other.metadata) == ("n", "other", 3, note.metadata)
    marked = note.with_spans([Span(0, 4, "DATE")])
    assert marked.with_text(marked.text) is marked
    assert marked.with_text("other").spans == ()


# ---- grammars compiled from their sources

ROOT = Path(__file__).resolve().parents[2]
GRAMMAR = runpy.run_path(str(ROOT / "setup.py"), run_name="read")["GRAMMAR"]


def sources() -> dict[str, Path]:
    return {name: ROOT.joinpath(*name.split(".")).with_suffix(".py") for name in GRAMMAR}


@pytest.mark.parametrize("name", GRAMMAR)
def test_no_compiled_module_holds_a_cached_property(name):
    """In a class that mypyc compiles it caches nothing, without a word."""
    tree = ast.parse(sources()[name].read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tree) if getattr(node, "attr", getattr(node, "id", "")) == "cached_property"]


def test_compiled_grammars_beside_an_edited_source_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    finders = len(sys.meta_path)
    file = tmp_path / "rules" / "names.py"
    file.parent.mkdir()
    file.write_text("EDITED = False\n", encoding="utf-8")
    stamp = {"deid.rules.names": hashlib.sha256(file.read_bytes()).hexdigest()}
    assert not compiled.compiled_grammar(tmp_path)  # nothing was compiled
    (tmp_path / "grammar.json").write_text(json.dumps(stamp), encoding="utf-8")
    monkeypatch.setattr(compiled, "PLAIN", frozenset())
    assert compiled.compiled_grammar(tmp_path)
    assert len(sys.meta_path) == finders
    file.write_text("EDITED = True\n", encoding="utf-8")
    (file.parent / f"names{EXTENSION_SUFFIXES[0]}").write_bytes(b"compiled before")
    with pytest.warns(RuntimeWarning, match="deid.rules.names changed"):
        assert not compiled.compiled_grammar(tmp_path)
    spec = sys.meta_path[0].find_spec("deid.rules.names", [str(file.parent)])
    assert spec.origin == str(file)
    assert sys.meta_path[0].find_spec("deid.rules.fields", [str(file.parent)]) is None


@pytest.mark.parametrize("package", sorted({name.rpartition(".")[0] for name in GRAMMAR}))
def test_sources_are_compared_before_any_compiled_module_is_imported(package):
    told = f"import sys, {package}; print('deid.base.compiled' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", told], text=True) == "True\n"


def test_loops_in_c_beside_an_edited_source_are_refused(tmp_path):
    assert not compiled.stale(tmp_path)  # an installed package has no sources of C
    source = tmp_path / "csrc" / "native.c"
    source.parent.mkdir()
    source.write_bytes(b"int one;")
    stamp = {"deid._native": hashlib.sha256(source.read_bytes()).hexdigest()}
    (tmp_path / "grammar.json").write_text(json.dumps(stamp), encoding="utf-8")
    assert not compiled.stale(tmp_path)
    source.write_bytes(b"int two;")
    assert compiled.stale(tmp_path)


@pytest.mark.skipif(compiled.GRAMMAR != "native", reason="the grammars were not compiled")
def test_the_loops_in_c_that_run_are_of_the_sources_beside_them():
    sources = sorted((ROOT / "deid" / "csrc").glob("*.[ch]"))
    told = json.loads((Path(compiled.__file__).parents[1] / "grammar.json").read_bytes())
    assert told["deid._native"] == hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()


@pytest.mark.parametrize("stamp", [None, b"", b"{", b"\xff"], ids=["none", "empty", "torn", "no text"])
def test_compiled_grammars_of_unknown_sources_are_refused(stamp, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    for module in ("rules/names", "detection/alone"):
        (tmp_path / module).parent.mkdir()
        (tmp_path / f"{module}.py").write_text("", encoding="utf-8")
        (tmp_path / f"{module}{EXTENSION_SUFFIXES[0]}").write_bytes(b"of whatever")
    (tmp_path / f"_native{EXTENSION_SUFFIXES[0]}").write_bytes(b"has a plain route, no source")
    if stamp is not None:
        (tmp_path / "grammar.json").write_bytes(stamp)
    with pytest.warns(RuntimeWarning, match=r"no grammar\.json .* deid\.detection\.alone, deid\.rules\.names"):
        assert not compiled.compiled_grammar(tmp_path)
    for folder, module in (("rules", "names"), ("detection", "alone")):
        spec = sys.meta_path[0].find_spec(f"deid.{folder}.{module}", [str(tmp_path / folder)])
        assert spec.origin == str(tmp_path / folder / f"{module}.py")


@pytest.mark.skipif(compiled.GRAMMAR != "native", reason="the grammars were not compiled")
@pytest.mark.parametrize(("routes", "suffixes"), [("", EXTENSION_SUFFIXES), ("grammar", [".py"]), ("numpy", [".py"])])
def test_the_grammars_that_run_are_those_that_were_asked_for(routes, suffixes):
    code = f"import importlib\nfor n in {GRAMMAR}: print(importlib.import_module(n).__file__)"
    environment = {**os.environ, "DEID_KERNELS": routes, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert len(done.stdout.split()) == len(GRAMMAR)
    assert all(line.endswith(tuple(suffixes)) for line in done.stdout.split())


def test_each_route_can_be_chosen_and_no_other():
    used = {
        name
        for file in (ROOT / "deid").rglob("*.py")
        for name in re.findall(r'native_for\("(\w+)"\)', file.read_text(encoding="utf-8"))
    }
    assert {*used, "grammar"} == set(compiled.ROUTES)
    code = "from deid.reading import view, lexicon\nprint(view.native is None, lexicon.native is None)"
    environment = {**os.environ, "DEID_KERNELS": " view ", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    built = importlib.util.find_spec("deid._native") is not None
    assert done.stdout.split() == ["True", str(not built)]
    wrong = {**environment, "DEID_KERNELS": "views"}
    done = subprocess.run([sys.executable, "-c", code], env=wrong, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "no such route" in done.stderr


@pytest.mark.skipif(
    native is None or not sys.platform.startswith("linux") or "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="a matter of glibc and the compiled loops",
)
def test_work_on_tables_keeps_the_pages_of_its_arrays() -> None:
    program = """
import resource
import numpy as np
from deid.base.compiled import keep_arrays, return_arrays

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        held = np.ones(500_000)
        small = bytearray(100)
        del held, small
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

return_arrays()
faults()
returned = faults()
keep_arrays()
faults()
print(returned, faults())
"""
    returned, kept = map(
        int, subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout.split()
    )
    assert returned > 50 * 500
    assert 10 * kept < returned


@pytest.mark.parametrize(
    "value",
    [
        XmlCodec("utf-8"),
        ChangeMark(1, 2, 3, "x"),
        Owners(("a", None), {"b": "c"}),
        KnownRecognizer({"n": (Known("PATIENT", "Dale Orme"),)}, id_of=str),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_travels_to_other_processes_can_be_read_there(value: object) -> None:
    """Frozen classes of compiled modules are filled in after they are made, which they refuse."""
    assert pickle.loads(pickle.dumps(value)) == value
