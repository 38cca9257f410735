"""All single faults that can be put into a C file, and the building of one file of the compiled module.

A C text is read as tokens, without comments, strings and lines of the preprocessor. Lines that keep memory, count
references or pass an error on are left out: they are the part that ``scripts/sanitize`` looks after.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path

from python_faults import Fault

__all__ = ["Builder", "c_faults"]

_HIDDEN = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*', re.DOTALL | re.MULTILINE
)
_PLUMBING = re.compile(
    r"NULL|malloc|calloc|realloc|free\(|grow\(|memset|memcpy|memmove|Py_\w*REF|PyErr|Py_Visit|Py_Clear|Py_Return|"
    r"PyType_|PyArg_|PyBuffer_|PyModule_|PyMem|PyObject_GC|METH_|sizeof|static_assert|enum \{|Py_NewRef|Py_MIN|failed|"
    r"wanted|wants\(|< 0\b|return -1|goto |\.tp_|"
    r"^\s*(static|typedef|struct|case|PyObject|Py_ssize_t \w+;|int \w+;)[^=?&|<>]*$"
)
_TOKENS = [
    (re.compile(r"<=|>=|==|!=|(?<![-<>=])<(?![<=])|(?<![->=])>(?![>=])"),
     {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}),
    (re.compile(r"&&|\|\|"), {"&&": "||", "||": "&&"}),
    (re.compile(r"(?<=[\w)\]] )[-+](?= [\w(])"), {"+": "-", "-": "+"}),
    (re.compile(r"(?<=[\w)\]] )[|&](?= [\w(])"), {"|": "&", "&": "|"}),
    (re.compile(r"\|=|&=(?!=)"), {"|=": "&=", "&=": "|="}),
]  # fmt: skip
_NUMBER = re.compile(r"(?<![\w.])(\d+\.\d+|\d+)(?![\w.])")
_WHOLE = re.compile(r"^[ \t]*([^\s{}][^{};]*;)[ \t]*$", re.M)
_IF = re.compile(r"\b(?:if|while) \((.*)\)(?: \{)?$", re.M)
_RETURN = re.compile(r"\breturn ([^;]+);")


def c_faults(root: Path, path: str) -> Iterator[Fault]:
    """Yield the faults of a C file, in no order."""
    text = (root / path).read_text(encoding="utf-8")
    bare = _HIDDEN.sub(lambda found: re.sub(r"[^\n]", "\0", found.group()), text)
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    function, depth = "file", 0
    for number, start in enumerate(starts, 1):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line, shown = bare[start:end], text[start:end]
        if depth == 0:
            name = re.match(r"(?:static |int |const |inline )*[\w ]*?\**(\w+)\(", shown)
            function = name[1] if name else function
        inside = depth > 0
        depth += line.count("{") - line.count("}")
        if not inside or _PLUMBING.search(line.replace("\0", "x")) or function.startswith("py_new"):
            continue
        for at, stop, new in _changes(line):
            if new is not None and shown[at:stop] != new:
                after = shown[:at] + new + shown[stop:]
                yield Fault(path, start + at, start + stop, new, number, number, shown.strip(), after.strip(), function)


def _changes(line: str) -> Iterator[tuple[int, int, str | None]]:
    for expression, new in _TOKENS:
        for found in expression.finditer(line):
            yield found.start(), found.end(), new.get(found.group())
    for found in _NUMBER.finditer(line):
        value = found.group()
        yield found.start(), found.end(), repr(round(float(value) * 0.8, 6)) if "." in value else str(int(value) + 1)
    for found in _IF.finditer(line):
        if "=" not in re.sub(r"[=!<>]=", "", found[1]) and found[1].count("(") == found[1].count(")"):
            yield found.start(1), found.end(1), f"!({found[1]})"
    for found in _RETURN.finditer(line):
        if found[1] not in ("0", "1"):
            yield found.start(1), found.end(1), "0"
    for found in _WHOLE.finditer(line):
        does = re.search(r"[^=!<>]=[^=]|\+\+|--|^\w+\(", found[1])
        if does and not re.match(r"(const|int|Py_\w+|u?int\d+_t|for|return|double|char|if|else)\b", found[1]):
            yield found.start(1), found.end(1), ";"


class Builder:
    """Builds the compiled module of a copy of the checkout anew when one file has changed."""

    def __init__(self, root: Path, objects: Path) -> None:
        self.root, self.objects = root, objects
        declared = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        modules = declared["tool"]["setuptools"]["ext-modules"]
        self.sources = next(m["sources"] for m in modules if m["name"] == "deid._native")
        self.target = root / "deid" / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
        stamp = root / "deid" / "grammar.json"
        if stamp.exists():  # with the digest of the sources every changed one would be refused
            built = json.loads(stamp.read_text(encoding="utf-8"))
            built.pop("deid._native", None)
            stamp.write_text(json.dumps(built), encoding="utf-8")

    def compile(self, source: Path, target: Path) -> bool:
        """Compile one file; tell whether the compiler took it."""
        options = ["-c", "-O1", "-w", "-fPIC", "-ffp-contract=off", "-DNDEBUG", "-DDEID_NO_CLONES"]
        folders = ["-I", sysconfig.get_path("include"), "-I", str(self.root / "deid" / "csrc")]
        command = [os.environ.get("CC", "gcc"), *options, *folders, "-o", str(target), str(source)]
        return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def objects_of(self) -> dict[str, Path]:
        """Return the object file of each source, compiled where it is not there yet."""
        places = {source: self.objects / (Path(source).stem + ".o") for source in self.sources}
        self.objects.mkdir(exist_ok=True)
        for source, place in places.items():
            if not place.exists() and not self.compile(self.root / source, place):
                raise SystemExit(f"mutate: {source} does not compile")
        return places

    def link(self, changed: str | None = None) -> bool:
        """Link the module, with one source compiled anew; False when the compiler does not take that."""
        places = self.objects_of()
        if changed is not None:
            own = self.root / "changed.o"
            if not self.compile(self.root / changed, own):
                return False
            places[changed] = own
        module = self.root / "linked.so"
        command = [os.environ.get("CC", "gcc"), "-shared", "-o", str(module), *map(str, places.values()), "-lm"]
        if subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode:
            return False
        module.replace(self.target)
        return True
