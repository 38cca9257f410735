"""Puts random small faults into a room, one at a time, and tells which of them its tests do not catch."""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import importlib
import itertools
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from c_faults import Builder, c_faults
from python_faults import Fault, compiles, python_faults

# read before NumPy is
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import coverage
import pytest
from runner import Runner, forked, moved_lines, serve

ROOT = Path(__file__).resolve().parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True, slots=True)
class Room:
    """Where a room and its tests are."""

    code: tuple[str, ...]
    tests: tuple[str, ...]
    compiled: tuple[str, ...] = ()
    """C files that serve it; their tests are those that compare both routes, first."""
    comparing: tuple[str, ...] = ()
    plain: bool = False
    """Whether those are run by the plain routes, too, for what the others do not execute."""


ROOMS = {
    "detection": Room(
        ("deid/detection", "deid/rules"),
        ("tests/detection", "tests/rules", "tests/reading", "tests/contracts/test_every_recognizer.py",
         "tests/pipeline/test_language_of_notes.py", "tests/experiments/test_calibration.py"),
        ("fields", "find_again", "overlaps", "patterns", "phrases", "programs", "reading", "sieve", "view"),
        ("tests/detection/test_overlaps.py", "tests/detection/test_finding_again.py",
         "tests/reading/test_view.py", "tests/rules/test_fields.py", "tests/rules/test_sieve.py",
         "tests/detection/test_reader.py", "tests/reading/test_phrases.py"),
        plain=True,
    ),
    "labeling": Room(
        ("deid/labeling", "deid/features"),
        ("tests/labeling", "tests/features"),
        ("context", "features", "frozen", "labeller", "model", "text", "walk"),
        ("tests/labeling/test_kernels.py", "tests/labeling/test_native.py", "tests/labeling/test_frozen.py"),
        plain=True,
    ),
    "replacement": Room(
        ("deid/replacement",),
        ("tests/replacement", "tests/contracts/test_every_operator.py", "tests/cli/test_vault_command.py"),
        ("containment",),
        ("tests/replacement/test_containment.py",),
        plain=True,
    ),
    "pipeline": Room(
        ("deid/pipeline", "deid/joint"),
        ("tests/pipeline", "tests/joint", "tests/cli/test_verify_commands.py", "tests/cli/test_scrub_commands.py",
         "tests/cli/test_generalize_command.py", "tests/cli/test_doctor_language.py",
         "tests/cli/test_names_of_fields.py", "tests/extraction"),
    ),
    "disclosure": Room(
        ("deid/disclosure",),
        ("tests/disclosure", "tests/cli/test_anonymize_command.py", "tests/cli/test_table_commands.py",
         "tests/cli/test_places_of_tables.py", "tests/cli/test_table_options.py",
         "tests/contracts/test_every_release.py", "tests/contracts/test_hostile_frames.py",
         "tests/contracts/test_every_kind_of_table.py", "tests/contracts/test_order_of_rows.py"),
    ),
    "dp": Room(("deid/dp",), ("tests/dp", "tests/contracts/test_every_dp_method.py")),
}  # fmt: skip
_COPIED = ("deid", "tests")
_LINKED = ("corpora", "dictionaries", "models", "scripts", "docs", "pyproject.toml", "setup.py", "README.md",
           "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE")  # fmt: skip
_PYTEST = ("-p", "no:cacheprovider", "-p", "no:randomly", "-q", "--no-header", "-m",
           "pinned or not (slow or night)", "--basetemp=tmp")  # fmt: skip
_LONG = 4.0
"""CPU seconds that a test is said to take that was stopped."""
_PINNED = "/test_same_"
_MORE_OF_PINNED = 4
"""How often a file of pinned answers gets the time of another one."""


def main() -> int:
    """Read the command line, go through the rooms."""
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"of {', '.join(ROOMS)}; all of them")
    parser.add_argument("--one-room", action="store_true", help="only that which the seed chooses")
    parser.add_argument("--faults", type=int, default=100, help="in each room (100)")
    parser.add_argument("--seed", help="what chooses the faults (the hash of the commit)")
    parser.add_argument("--at-least", type=float, default=90, metavar="PERCENT", help="caught, for exit status 0 (90)")
    parser.add_argument("--seconds", type=float, default=10, help="CPU seconds of tests a fault, fastest first (10)")
    parser.add_argument("--longest", type=float, default=2, help="CPU seconds a test, else it comes last (2)")
    parser.add_argument("--more", type=float, default=30, help="CPU seconds of those left over, for what survives (30)")
    parser.add_argument("--survivors", type=Path, metavar="FILE", help="write them as JSON lines, too")
    parser.add_argument("--only", nargs="+", metavar="MODULE", help="faults of these modules, such as names evidence")
    parser.add_argument("--again", type=Path, metavar="FILE", help="try the survivors of an earlier run")
    options = parser.parse_args()
    if unknown := set(options.rooms) - ROOMS.keys():
        parser.error(f"no such room: {', '.join(sorted(unknown))}")
    options.seed = options.seed or _git("rev-parse", "HEAD")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that copies and workers go
    rooms = options.rooms or list(ROOMS)
    if options.one_room:
        rooms = [random.Random(options.seed).choice(rooms)]
    return 0 if min([_try_room(name, ROOMS[name], options) for name in rooms]) else 1


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _copy(place: Path) -> Path:
    """Copy what can be changed, link what is only read."""
    place.mkdir(parents=True)
    for name in _COPIED:
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns(".hypothesis"))
    for name in _LINKED:
        (place / name).symlink_to(ROOT / name)
    if (ROOT.parent / "shared").is_dir():
        (place.parent / "shared").symlink_to(ROOT.parent / "shared")
    return place


class _Route:
    """The tests of a room by one route: which of them execute which line, and a process that has them at hand."""

    def __init__(self, name: str, place: Path, plain: bool, longest: float) -> None:
        self.room, self.place, self.plain = ROOMS[name], place, plain
        self.files = self.room.comparing if plain else self.room.tests
        # compiled grammars would hide what is changed in their sources
        self.kernels = "numpy" if plain else "grammar"
        self.warm()
        self.pipe, its = multiprocessing.Pipe()
        self.process = os.fork()
        if self.process == 0:
            try:
                self.pipe.close()
                self.enter()
                code = [f"{place}/{folder}/*" for folder in self.room.code]
                cover = coverage.Coverage(data_file=None, config_file=False, include=code)
                serve(its, cover, place, [*_PYTEST, *self.files])
            finally:
                os._exit(1)
        its.close()
        try:
            self.learn(name, longest)
        except BaseException:
            self.close()
            raise

    def learn(self, name: str, longest: float) -> None:
        """Get to know the tests, and which of them execute which line."""
        try:
            imported, self.modules, collected = self.pipe.recv()
        except EOFError:
            raise SystemExit(f"mutate: the tests of {name} cannot be collected:\n{self.output()}") from None
        self.imported = {path: set(lines) for path, lines in imported}
        self.tests: list[str] = []
        self.seconds: list[float] = []
        self.spawning: set[int] = set()
        self.lines: dict[str, dict[int, set[int]]] = {}
        for file, known in self.known(longest, set(collected)):
            begin = len(self.tests)
            self.tests += known["tests"]
            failed = set(known["failed"])
            for test in sorted(failed):
                print(f"{file}: fails without a fault, left out: {test}", file=sys.stderr)
            self.seconds += [
                float("nan") if test in failed else min(took, _LONG)
                for test, took in zip(known["tests"], known["seconds"], strict=True)
            ]
            self.spawning |= {begin + n for n in known["spawns"]}
            for path, lines in known["lines"].items():
                for line, numbers in lines.items():
                    self.lines.setdefault(path, {}).setdefault(int(line), set()).update(begin + n for n in numbers)

    def known(self, longest: float, collected: set[str]) -> Iterable[tuple[str, dict[str, Any]]]:
        """Yield what is known about each file of tests; kept until it, data that names its tests, or much of a file
        that it executes changes.
        """
        folder = ROOT / "build" / "mutation"
        folder.mkdir(parents=True, exist_ok=True)
        route = hashlib.sha256(f"{longest} {self.kernels} {self.room.code} {_PYTEST}".encode())
        for top in self.files:
            for path in [ROOT / top] if (ROOT / top).is_file() else sorted((ROOT / top).rglob("test_*.py")):
                digest = route.copy()
                digest.update(path.read_bytes())
                file = str(path.relative_to(ROOT))
                kept = folder / f"{digest.hexdigest()[:32]}.json"
                known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else None
                told = [test for part in known["parts"] for test in part["tests"]] if known else ()
                if known is None or not (collected.issuperset(told) and self.follow(known, folder)):
                    self.warm()
                    parts: list[dict[str, Any]] = []
                    while not parts or parts[-1]["done"] < parts[-1]["all"]:  # a test that takes too long ends a part
                        done = parts[-1]["done"] if parts else 0
                        self.pipe.send(("measure", (file, done, longest), 1200))
                        part = self.pipe.recv()
                        if part is None:
                            raise SystemExit(f"mutate: {file} does not end well:\n{self.output()}")
                        parts.append(part)
                    executed = {p for part in parts for p, lines in part["lines"].items() if lines}
                    known = {"code": {p: _keep(self.place / p, folder) for p in executed}, "parts": parts}
                    kept.write_text(json.dumps(known), encoding="utf-8")
                    self.keep_warm()
                for part in known["parts"]:
                    yield file, part

    def follow(self, known: dict[str, Any], folder: Path) -> bool:
        """Move what is known to where the lines of changed files are now; False where that cannot be said."""
        for executed, before in known["code"].items():
            path, old = self.place / executed, folder / f"{before}.txt"
            if not path.is_file():
                return False
            if _digest(path) == before:
                continue
            moved = _moved(old, path) if old.exists() else None
            if moved is None:
                return False
            for part in known["parts"]:
                lines = part["lines"].get(executed, {})
                part["lines"][executed] = {
                    str(new): sorted({n for line in olds for n in lines.get(str(line), ())})
                    for new, olds in moved.items()
                }
        return True

    def enter(self) -> None:
        """Make this process one for tests in the copy."""
        folders = f"{self.place}:{self.place / 'scripts' / 'mutation'}"
        changes = {"PYTHONPATH": folders, "XDG_CACHE_HOME": str(self.place / "cache"),
                   "HYPOTHESIS_STORAGE_DIRECTORY": str(self.place / "hypothesis"),
                   "DEID_KERNELS": self.kernels}  # fmt: skip
        os.environ.update(changes)
        os.chdir(self.place)
        out = os.open(self.place / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(self.place))
        sys.argv = ["pytest"]

    def output(self) -> str:
        """Return the end of what pytest has written."""
        return (self.place / "output").read_text(encoding="utf-8", errors="replace")[-3000:]

    def turns(self, fault: Fault, text: str, seconds: float, more: float) -> list[list[tuple[str, float]]]:
        """Return the tests to run, in their order, and what each takes: those that execute the line come first.

        What these seconds leave of them comes in a second list, up to some more seconds.
        """
        everything = set(range(len(self.tests)))
        groups: list[set[int]]
        if fault.path.endswith(".c"):
            first = {n for n, t in enumerate(self.tests) if t.startswith(self.room.comparing)}
            groups = [first, everything - first]
        else:
            lines = self.lines.get(fault.path, {})
            covering = self.by(fault.path, range(fault.first, fault.last + 1))
            if self.at_import(fault):  # then those count that execute what names what the line defines
                covering |= self.by(fault.path, _users(text, fault))
            comers = {n for numbers in lines.values() for n in numbers}
            files = {self.tests[n].partition("::")[0] for n in covering or comers}
            beside = {n for n in everything if self.tests[n].partition("::")[0] in files}
            # what no test executes here may be executed by processes that tests of the file begin
            begun = comers & self.spawning
            groups = [covering, set(), beside, set()] if covering else [begun, comers, beside, self.spawning]
        turns: list[tuple[str, float]] = []
        left: list[tuple[str, float]] = []
        spent, longer = 0.0, 0.0
        seen: set[int] = set()
        for group in groups:
            for n in self.in_turn(group - seen):
                took = self.seconds[n]
                if spent + took <= seconds or not turns:
                    turns.append((self.tests[n], took))
                    spent += took
                elif group is groups[0] and longer + took <= more:
                    left.append((self.tests[n], took))
                    longer += took
            seen |= group
        return [turns, left]

    def in_turn(self, numbers: set[int]) -> list[int]:
        """Return tests in an order in which every file gets as much time as any other, its fastest tests first.

        Those that compare answers with kept ones get more: they come by everywhere, and each asks something else.
        """
        spent: dict[str, float] = {}
        begin: dict[int, float] = {}
        passing = [n for n in numbers if self.seconds[n] == self.seconds[n]]
        for n in sorted(passing, key=lambda n: self.seconds[n]):
            file = self.tests[n].partition("::")[0]
            spent[file] = begin[n] = spent.get(file, 0.0) + self.seconds[n] / (
                _MORE_OF_PINNED if _PINNED in file else 1
            )
        return sorted(begin, key=lambda n: begin[n])

    def by(self, path: str, lines: Iterable[int]) -> set[int]:
        """Return the tests that execute any of some lines."""
        return {n for line in lines for n in self.lines.get(path, {}).get(line, ())}

    def at_import(self, fault: Fault) -> bool:
        """Tell whether the line is executed before any test."""
        return not self.imported.get(fault.path, set()).isdisjoint(range(fault.first, fault.last + 1))

    def failing(self, fault: Fault, text: str, changed: str, seconds: float, more: float = 0) -> str:
        """Return the first test that fails with a fault that lies in the copy already, or nothing."""
        turns = [chosen for chosen in self.turns(fault, text, seconds, more) if chosen]
        return next(filter(None, (self.run(fault, text, changed, chosen) for chosen in turns)), "")

    def run(self, fault: Fault, text: str, changed: str, chosen: list[tuple[str, float]]) -> str:
        """Return the first of chosen tests that fails, or nothing."""
        turns = [(test, 10 + 5 * took if took < _LONG else 300) for test, took in chosen]
        limit = 60 + 5 * sum(longest for _, longest in turns)
        self.warm()
        shutil.rmtree(self.place / "tmp", ignore_errors=True)
        if not fault.path.endswith(".c") and not self.at_import(fault):
            self.pipe.send(("try", (str(self.place / fault.path), text, changed, turns), limit))
            return _told(self.pipe.recv())
        for module in self.modules:  # loaded once, as no fault is in them
            if not module.startswith(("coverage", "deid", "tests", "_pytest", "__")) and module not in sys.modules:
                with suppress(BaseException):
                    importlib.import_module(module)
        self.modules = []

        def attempt() -> str | None:
            self.enter()
            failing: list[str] = []
            # whole files, as names of tests may hold anything
            files = dict.fromkeys(test.partition("::")[0] for test, _ in turns)
            pytest.main([*_PYTEST, *files], plugins=[Runner(lambda runner: failing.append(runner.failing(turns)))])
            return failing[0] if failing else None

        return _told(forked(attempt, limit))

    def warm(self) -> None:
        """Begin with the tables that are kept, and no others."""
        shutil.rmtree(self.place / "cache", ignore_errors=True)
        if (self.place / "warm").is_dir():
            shutil.copytree(self.place / "warm", self.place / "cache", copy_function=os.link)

    def keep_warm(self) -> None:
        """Let every fault find the tables that tests without one have made, else each would make them anew."""
        for made in (self.place / "cache" / "deid").glob("*"):
            kept = self.place / "warm" / "deid" / made.name
            if not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                made.rename(kept)

    def close(self) -> None:
        """End the process."""
        self.pipe.close()
        os.kill(self.process, signal.SIGTERM)  # which takes along the process of a fault
        os.waitpid(self.process, 0)


def _told(failing: str | None) -> str:
    return "a process that ends early" if failing is None else failing


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _keep(path: Path, folder: Path) -> str:
    """Keep the text of a file, and return its digest."""
    digest = _digest(path)
    (folder / f"{digest}.txt").write_bytes(path.read_bytes())
    return digest


@functools.cache
def _moved(old: Path, new: Path) -> dict[int, range] | None:
    return moved_lines(old.read_text(encoding="utf-8"), new.read_text(encoding="utf-8"))


def _users(text: str, fault: Fault) -> set[int]:
    """Return the lines of functions that name what the lines of a fault define."""
    tree = ast.parse(text)
    defined = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= fault.last and (node.end_lineno or 0) >= fault.first
        for part in ast.walk(node)
        if (name := part.id if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) else
            part.name if isinstance(part, ast.FunctionDef) else None)
    }  # fmt: skip
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and (node.name in defined or any(isinstance(p, ast.Name) and p.id in defined for p in ast.walk(node))
             or any(isinstance(p, ast.Attribute) and p.attr in defined for p in ast.walk(node)))
        for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Result:
    fault: Fault
    by: str
    """The test that catches it; empty where none does."""
    seconds: float


def _attempt(
    fault: Fault, place: Path, routes: list[_Route], builder: Builder, seconds: float, more: float
) -> _Result | None:
    """Run the tests with a fault; None when it does not compile."""
    path = place / fault.path
    text = path.read_text(encoding="utf-8")
    times = path.stat()
    compiled = fault.path.endswith(".c")
    original = builder.target.with_suffix(".original")
    begun = time.monotonic()
    if not compiled and not compiles(fault, text):
        return None
    changed = fault.apply(text)
    path.write_text(changed, encoding="utf-8")
    try:
        if compiled:
            shutil.copy2(builder.target, original)
            if not builder.link(fault.path):
                return None
        # what the first route does not execute is tried by the other
        tried = [r for r in routes if compiled or r.by(fault.path, range(fault.first, fault.last + 1))][:1] or routes
        failing = (r.failing(fault, text, changed, seconds, more) for r in tried if not (compiled and r.plain))
        return _Result(fault, next(filter(None, failing), ""), time.monotonic() - begun)
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        if original.exists():
            original.replace(builder.target)


def _try_room(name: str, room: Room, options: argparse.Namespace) -> bool:
    begun = time.monotonic()
    listed = {(e["file"], e["before"], e["after"]) for e in _equivalent()}
    files = [str(path.relative_to(ROOT)) for top in room.code for path in sorted((ROOT / top).rglob("*.py"))]
    faults = [fault for file in files for fault in python_faults(ROOT, file)]
    faults += [fault for file in room.compiled for fault in c_faults(ROOT, f"deid/csrc/{file}.c")]
    known = {(f.path, f.before, f.after) for f in faults}
    for file, before, after in sorted(listed):
        if file in {f.path for f in faults} and (file, before, after) not in known:
            gone = f"{file}: {before} -> {after}"
            print(f"{name}: listed as equivalent, but no longer in the code: {gone}", file=sys.stderr)
    if options.only:
        faults = [fault for fault in faults if Path(fault.path).stem in options.only]
    if options.again:
        lines = [json.loads(line) for line in options.again.read_text(encoding="utf-8").splitlines()]
        again = {(line["path"], line["before"], line["after"]) for line in lines}
        faults = [f for f in faults if (f.path, f.before, f.after) in again]
    random.Random(f"{options.seed} {name}").shuffle(faults)
    results: list[_Result] = []
    equivalent = 0
    routes: list[_Route] = []
    work = Path(tempfile.mkdtemp(prefix="deid-mutate-"))
    try:
        place = _copy(work / "checkout")
        for kept in {Path.home() / ".cache", Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")}:
            if (kept / "deid").is_dir() and not (place / "warm").exists():
                with suppress(shutil.Error):  # what another process has removed meanwhile
                    shutil.copytree(kept / "deid", place / "warm" / "deid")
        for plain in (False, True) if room.plain else (False,):
            routes.append(_Route(name, place, plain, options.longest))
        builder = Builder(place, work / "objects")
        if any(fault.path.endswith(".c") for fault in faults):
            builder.link()
        for route, early in itertools.product(routes, (False, True)):
            whole = next((f for f in faults if f.path.endswith(".py") and route.at_import(f) is early), None)
            text = (place / whole.path).read_text(encoding="utf-8") if whole else ""
            if whole and (failing := route.failing(whole, text, text, options.seconds)):
                raise SystemExit(f"mutate: {whole.path}:{whole.first}: fails without a fault: {failing}")
            route.keep_warm()
        mapped = time.monotonic() - begun
        for fault in faults:
            if len(results) == options.faults:
                break
            if (fault.path, fault.before, fault.after) in listed:
                equivalent += 1
            elif result := _attempt(fault, place, routes, builder, options.seconds, options.more):
                results.append(result)
                if sys.stderr.isatty() or os.environ.get("MUTATE_VERBOSE"):
                    told = f"caught by {result.by}" if result.by else "SURVIVED"
                    told = f"{len(results)} {name} {told} {result.seconds:.1f} s"
                    print(f"{told} {fault.path}:{fault.first} {fault.before} -> {fault.after}", file=sys.stderr)
    finally:
        for route in routes:
            route.close()
        shutil.rmtree(work, ignore_errors=True)
    survivors = [r.fault for r in results if not r.by]
    for fault in sorted(survivors, key=lambda f: (f.path, f.first)):
        print(f"{name}: survived: {fault.path}:{fault.first} in {fault.where}")
        print(f"    - {fault.before}\n    + {fault.after}")
    if options.survivors:
        with options.survivors.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps({"room": name, "seed": options.seed, **asdict(f)}) + "\n" for f in survivors)
    caught = len(results) - len(survivors)
    share = 100 * caught / max(1, len(results))
    compiled = sum(r.fault.path.endswith(".c") for r in results)
    print(
        f"{name}: {caught} of {len(results)} faults caught ({share:.0f} %); {compiled} were in C, {equivalent} more "
        f"are listed as equivalent, {len(faults)} were possible; seed {options.seed[:12]}; {mapped:.0f} s for the map, "
        f"{time.monotonic() - begun - mapped:.0f} s for the faults",
        flush=True,
    )
    return share >= options.at_least


def _equivalent() -> list[dict[str, str]]:
    """Return the faults that change nothing that can be seen, each with its reason."""
    listed: list[dict[str, str]] = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("fault", [])
    assert all(e.keys() == {"file", "before", "after", "reason"} and e["reason"] for e in listed), EQUIVALENT.name
    return listed


if __name__ == "__main__":
    sys.exit(main())
