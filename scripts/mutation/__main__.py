"""Puts random small faults into a room, one at a time, and tells which of them its tests do not catch."""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from c_faults import Builder, c_faults
from python_faults import Fault, compiles, python_faults

ROOT = Path(__file__).resolve().parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True, slots=True)
class Room:
    """Where a room and its tests are."""

    tests: tuple[str, ...]
    compiled: tuple[str, ...] = ()
    """C files that serve it; their tests are those that compare both routes, first."""
    comparing: tuple[str, ...] = ()
    plain: bool = False
    """Whether the tests are run by the plain routes, too."""


ROOMS = {
    "detection": Room(
        ("tests/detection", "tests/rules", "tests/reading"),
        ("again", "fits", "overlaps", "phrases", "programs", "reading", "sieve", "view", "words"),
        ("tests/detection/test_overlaps.py", "tests/detection/test_finding_again.py",
         "tests/reading/test_view.py", "tests/rules/test_fields.py", "tests/rules/test_sieve.py",
         "tests/detection/test_reader.py", "tests/reading/test_phrases.py"),
        plain=True,
    ),
    "replacement": Room(
        ("tests/replacement",),
        ("finding", "keyed"),
        ("tests/replacement/test_containment.py", "tests/replacement/test_draws.py"),
        plain=True,
    ),
    "pipeline": Room(
        ("tests/pipeline", "tests/joint", "tests/cli/test_verify_commands.py", "tests/cli/test_scrub_commands.py")
    ),
    "disclosure": Room(("tests/disclosure", "tests/cli/test_anonymize_command.py", "tests/cli/test_table_commands.py")),
    "dp": Room(("tests/dp",)),
}  # fmt: skip
_COPIED = ("deid", "tests")
_LINKED = ("corpora", "dictionaries", "models", "scripts", "docs", "pyproject.toml", "README.md", "CHANGELOG.md",
           "CONTRIBUTING.md", "LICENSE")  # fmt: skip
_MEMORY = 8 << 30


def main() -> int:
    """Read the command line, go through the rooms."""
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=f"of {', '.join(ROOMS)}; all of them")
    parser.add_argument("--one-room", action="store_true", help="only that which the seed chooses")
    parser.add_argument("--faults", type=int, default=100, help="in each room (100)")
    parser.add_argument("--seed", help="what chooses the faults (the hash of the commit)")
    parser.add_argument("--at-least", type=float, default=90, metavar="PERCENT", help="caught, for exit status 0 (90)")
    parser.add_argument("--seconds", type=float, default=15, help="CPU seconds of tests a fault, fastest first (15)")
    parser.add_argument("--only", metavar="TEXT", help="only files whose path has the text")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="faults that are tried at a time (1)")
    parser.add_argument("--survivors", type=Path, metavar="FILE", help="write them as JSON lines, too")
    options = parser.parse_args()
    if unknown := set(options.rooms) - ROOMS.keys():
        parser.error(f"no such room: {', '.join(sorted(unknown))}")
    seed = options.seed or _git("rev-parse", "HEAD")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that copies and workers go
    rooms = options.rooms or list(ROOMS)
    if options.one_room:
        rooms = [random.Random(seed).choice(rooms)]
    enough = True
    for name in rooms:
        enough &= _try_room(name, ROOMS[name], seed, options)
    return 0 if enough else 1


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


# ---- a copy of the checkout


def _copy(place: Path) -> Path:
    """Copy what can be changed, link what is only read."""
    place.mkdir(parents=True)
    for name in _COPIED:
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns(".hypothesis"))
    for name in _LINKED:
        (place / name).symlink_to(ROOT / name)
    if (ROOT.parent / "shared").is_dir() and not (place.parent / "shared").exists():
        (place.parent / "shared").symlink_to(ROOT.parent / "shared")
    return place


def _environment(place: Path, plain: bool) -> dict[str, str]:
    changes = {"PYTHONPATH": f"{place}:{place / 'scripts' / 'mutation'}", "XDG_CACHE_HOME": str(place / "cache"),
               "HYPOTHESIS_STORAGE_DIRECTORY": str(place / "hypothesis"), "DEID_KERNELS": "numpy" if plain else "",
               "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # fmt: skip
    return {**os.environ, **changes}


_PYTEST = ["-p", "no:cacheprovider", "-p", "no:randomly", "-q", "--no-header", "-m", "not slow"]


# ---- which test executes which line


def _map(room: str, plain: bool, place: Path) -> dict[str, Any]:
    """Return the map of a room's tests; kept until a file of the room or of its tests changes."""
    digest = hashlib.sha256(f"{room} {plain}".encode())
    for top in (f"deid/{room}", *ROOMS[room].tests, "scripts/mutation/map_of_tests.py"):
        for path in sorted([ROOT / top] if (ROOT / top).is_file() else (ROOT / top).rglob("*.py")):
            digest.update(path.read_bytes())
    kept = ROOT / "build" / "mutation" / f"{room}{'-plain' * plain}-{digest.hexdigest()[:16]}.json"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        named = {"MUTATION_MAP": str(place / "map.json"), "MUTATION_FOLDER": f"deid/{room}"}
        environment = _environment(place, plain) | named
        command = [sys.executable, "-m", "pytest", "-p", "map_of_tests", *_PYTEST, f"--basetemp={place / 'tmp'}"]
        command += ROOMS[room].tests
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1) or not (place / "map.json").exists():
            raise SystemExit(f"mutate: the tests of {room} do not run\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        for old in kept.parent.glob(f"{room}{'-plain' * plain}-????????????????.json"):
            old.unlink()
        shutil.move(place / "map.json", kept)
    result: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    for test in result["failed"]:
        print(f"{room}: fails without a fault, left out: {test}", file=sys.stderr)
    return result


def _turns(fault: Fault, known: dict[str, Any], room: Room, seconds: float) -> list[str]:
    """Return the tests to run, in their order: those that execute the line, then their neighbours."""
    tests, took = known["tests"], known["seconds"]
    failed = set(known["failed"])
    if fault.path.endswith(".c"):
        first = {n for n, t in enumerate(tests) if t.startswith(room.comparing)}
        groups: list[Iterable[int]] = [first, set(range(len(tests))) - first]
    else:
        lines = known["lines"].get(fault.path, {})
        covering = {n for line in range(fault.first, fault.last + 1) for n in lines.get(str(line), ())}
        comers = covering or {n for numbers in lines.values() for n in numbers}
        files = Counter(tests[n].partition("::")[0] for n in comers)
        beside = {n for n, t in enumerate(tests) if t.partition("::")[0] in files} - comers
        spawning = set(known["spawns"]) - comers - beside
        groups = [comers, beside] if covering else [comers, beside, spawning]
    turns, spent = [], 0.0
    for group in groups:
        for n in sorted(group, key=lambda n: took[n]):
            if tests[n] not in failed and (spent + took[n] <= seconds or not turns):
                turns.append(tests[n])
                spent += took[n]
    return turns


# ---- one fault


@dataclass(frozen=True, slots=True)
class _Result:
    fault: Fault
    caught: bool
    how: str
    seconds: float


class _Tester:
    """Tries faults in a copy of the checkout of its own; what tests import from elsewhere is loaded once."""

    def __init__(
        self, room: Room, place: Path, maps: dict[bool, dict[str, Any]], seconds: float, objects: Path
    ) -> None:
        self.room, self.place, self.maps, self.seconds = room, place, maps, seconds
        self.builder = Builder(place, objects)
        self.cache = place / "cache"
        self.warm = place / "warm"
        if self.cache.is_dir():
            self.cache.rename(self.warm)

    def attempt(self, fault: Fault) -> _Result | None:
        """Run the tests with a fault; None when it does not compile."""
        path = self.place / fault.path
        text = path.read_text(encoding="utf-8")
        times = path.stat()
        module = self.builder.target
        begun = sum(os.times()[:4])
        if fault.path.endswith(".py") and not compiles(fault, text):
            return None
        path.write_text(fault.apply(text), encoding="utf-8")
        original = module.with_suffix(".original")
        try:
            if fault.path.endswith(".c"):
                shutil.copy2(module, original)
                if not self.builder.link(fault.path):
                    return None
            how = "survived"
            seen: set[str] = set()
            for plain, known in self.maps.items():
                if plain and fault.path.endswith(".c"):
                    continue
                turns = _turns(fault, known, self.room, self.seconds)
                if plain:
                    covered = self.maps[False]["lines"].get(fault.path, {})
                    turns = [t for t in turns if t not in seen or not covered]
                seen |= set(turns)
                if turns:
                    how = self._run(turns, known, plain)
                if how != "survived":
                    break
            return _Result(fault, how != "survived", how, sum(os.times()[:4]) - begun)
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            if original.exists():
                original.replace(module)

    def _run(self, turns: list[str], known: dict[str, Any], plain: bool) -> str:
        took = dict(zip(known["tests"], known["seconds"], strict=True))
        limit = 30 + 4 * sum(took[t] for t in turns)
        shutil.rmtree(self.cache, ignore_errors=True)
        if self.warm.is_dir():
            shutil.copytree(self.warm, self.cache)
        child = os.fork()
        if child == 0:
            self._test(turns, plain, int(limit))
        end = time.monotonic() + 4 * limit
        try:
            while True:
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    break
                if time.monotonic() > end:
                    return "hangs"
                time.sleep(0.02)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(child, 0)
            shutil.rmtree(self.place / "tmp", ignore_errors=True)
        if os.WIFSIGNALED(status):
            return f"killed by signal {os.WTERMSIG(status)}"
        return "survived" if os.WEXITSTATUS(status) == 0 else "caught"

    def _test(self, turns: list[str], plain: bool, limit: int) -> None:
        """Run tests and leave, in a process of its own."""
        code = 3
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            os.environ.update(_environment(self.place, plain))
            os.chdir(self.place)
            out = os.open(self.place / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(out, 1)
            os.dup2(out, 2)
            sys.dont_write_bytecode = True
            sys.path[:0] = [str(self.place)]
            sys.argv = ["pytest"]
            import once
            import pytest

            once.order.update({test: number for number, test in enumerate(turns)})
            # whole files, and the plugin keeps what has a turn: names of tests may hold anything
            files = list(dict.fromkeys(t.partition("::")[0] for t in turns))
            code = int(pytest.main(["-x", "-p", "once", *_PYTEST, f"--basetemp={self.place / 'tmp'}", *files]))
        finally:
            os._exit(code)


# ---- a room


def _try_room(name: str, room: Room, seed: str, options: argparse.Namespace) -> bool:
    begun = time.monotonic()
    listed = {(e["file"], e["before"], e["after"]) for e in _equivalent()}
    files = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "deid" / name).rglob("*.py"))]
    faults = [fault for file in files for fault in python_faults(ROOT, file)]
    faults += [fault for file in room.compiled for fault in c_faults(ROOT, f"deid/csrc/{file}.c")]
    known = {(f.path, f.before, f.after) for f in faults}
    for file, before, after in sorted(listed):
        if file in {f.path for f in faults} and (file, before, after) not in known:
            gone = f"{file}: {before} -> {after}"
            print(f"{name}: listed as equivalent, but no longer in the code: {gone}", file=sys.stderr)
    if options.only:
        faults = [f for f in faults if options.only in f.path]
    random.Random(f"{seed} {name}").shuffle(faults)
    work = Path(tempfile.mkdtemp(prefix="deid-mutate-"))
    try:
        place = _copy(work / "0" / "checkout")
        maps = {plain: _map(name, plain, place) for plain in ((False, True) if room.plain else (False,))}
        objects = work / "objects"
        if room.compiled:
            Builder(place, objects).link()
        places = [place]
        for number in range(1, options.jobs):
            places.append(_copy(work / str(number) / "checkout"))
            if (place / "cache").is_dir():
                shutil.copytree(place / "cache", places[-1] / "cache")
        results, equivalent = _go(name, room, faults, listed, places, maps, objects, options)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    survivors = [r for r in results if not r.caught]
    for result in sorted(survivors, key=lambda r: (r.fault.path, r.fault.first)):
        fault = result.fault
        print(f"{name}: survived: {fault.path}:{fault.first} in {fault.where}")
        print(f"    - {fault.before}\n    + {fault.after}")
    if options.survivors:
        with options.survivors.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps({"room": name, "seed": seed, **asdict(r.fault)}) + "\n" for r in survivors)
    caught = len(results) - len(survivors)
    share = 100 * caught / max(1, len(results))
    compiled = sum(r.fault.path.endswith(".c") for r in results)
    print(
        f"{name}: {caught} of {len(results)} faults caught ({share:.0f} %); {compiled} were in C, {equivalent} more "
        f"are listed as equivalent, {len(faults)} were possible; seed {seed[:12]}; "
        f"{sum(r.seconds for r in results):.0f} CPU s, {time.monotonic() - begun:.0f} s",
        flush=True,
    )
    return share >= options.at_least


def _go(
    name: str, room: Room, faults: list[Fault], listed: set[tuple[str, str, str]], places: list[Path],
    maps: dict[bool, dict[str, Any]], objects: Path, options: argparse.Namespace,
) -> tuple[list[_Result], int]:  # fmt: skip
    """Try the first faults that compile and are not listed; return the results and how many were listed."""
    context = multiprocessing.get_context("fork")
    tasks: Any = context.Queue()
    answers: Any = context.Queue()

    def work(place: Path) -> None:
        sys.path[:0] = [str(Path(__file__).parent)]
        for module in maps[False]["modules"]:
            if not module.startswith(("coverage", "map_of_tests", "deid", "tests", "__", "_pytest.fix")):
                with suppress(BaseException):
                    importlib.import_module(module)
        tester = _Tester(room, place, maps, options.seconds, objects)
        for number in iter(tasks.get, None):
            answers.put((number, tester.attempt(faults[number])))

    workers = [context.Process(target=functools.partial(work, place)) for place in places]
    for worker in workers:
        worker.start()
    results: list[_Result] = []
    equivalent = given = waiting = 0
    pending = iter(range(len(faults)))
    try:
        while True:
            while waiting < len(workers) and len(results) + waiting < options.faults:
                number = next(pending, None)
                if number is None:
                    break
                fault = faults[number]
                if (fault.path, fault.before, fault.after) in listed:
                    equivalent += 1
                    continue
                tasks.put(number)
                waiting += 1
                given += 1
            if not waiting:
                return results, equivalent
            _, result = answers.get()
            waiting -= 1
            if result is not None:
                results.append(result)
                if sys.stderr.isatty() or os.environ.get("MUTATE_VERBOSE"):
                    fault = result.fault
                    print(
                        f"{len(results)}/{options.faults} {name} {result.how} {result.seconds:.1f} s "
                        f"{fault.path}:{fault.first} {fault.before} -> {fault.after}",
                        file=sys.stderr,
                        flush=True,
                    )
    finally:
        for _ in workers:
            tasks.put(None)
        for worker in workers:
            worker.join(1)
            worker.terminate()


def _equivalent() -> list[dict[str, str]]:
    """Return the faults that change nothing that can be seen, each with its reason."""
    listed: list[dict[str, str]] = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("fault", [])
    assert all(e.keys() == {"file", "before", "after", "reason"} and e["reason"] for e in listed), EQUIVALENT.name
    return listed


if __name__ == "__main__":
    sys.exit(main())
