"""A pytest plugin that holds all collected tests of a room and runs some of them in forked processes."""

from __future__ import annotations

import difflib
import functools
import gc
import importlib
import multiprocessing
import os
import resource
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import coverage
import pytest

__all__ = ["Runner", "forked", "moved_lines", "new_functions"]

_MEMORY = 8 << 30
_LOADING = 30
"""How much longer than others the first test of a process may take, which loads what the others find loaded."""
_answers: list[Callable[[Any], None]] = []
"""Ways to give a result before the work is done, the last that of this process."""


def forked(work: Callable[[], Any], seconds: float) -> Any:
    """Return what a forked process gives; None when it dies, or gives nothing in some seconds by the clock."""
    mine, its = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            _answers.append(its.send)
            its.send(work())
        finally:
            os._exit(0)
    its.close()
    try:
        return mine.recv() if mine.poll(seconds) else None
    except EOFError:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)


class Runner:
    """Runs tests in any order; ``serve`` gets the runner when all are collected."""

    def __init__(self, serve: Callable[[Runner], Any]) -> None:
        self.serve = serve
        self.items: dict[str, pytest.Item] = {}
        self.functions: list[FunctionType] = []
        """All that exist; looked for once, as the search makes every process copy the memory of its parent."""
        self.failed = self.skipped = False

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Stand in for pytest's own loop."""
        if session.testsfailed:
            raise session.Interrupted("what cannot be imported has failed")
        self.items = {item.nodeid: item for item in session.items}
        gc.unfreeze()  # of which tests/conftest.py spares the collector
        self.functions = [found for found in gc.get_objects() if type(found) is FunctionType]
        self.serve(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember how the test ended."""
        self.failed |= report.failed
        self.skipped |= report.skipped

    def one(self, item: pytest.Item, following: pytest.Item | None, seconds: float, late: Any) -> None:
        """Run one test; ``late`` handles the signal that comes after some CPU seconds."""
        signal.signal(signal.SIGPROF, late)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        signal.setitimer(signal.ITIMER_PROF, 0)

    def failing(self, turns: Sequence[tuple[str, float]]) -> str:
        """Run tests in an order, each for some CPU seconds at most; return the first that fails, or nothing."""
        items = [self.items[test] for test, _ in turns if test in self.items]
        limits = dict(turns)
        for item, following in zip(items, [*items[1:], None], strict=True):
            self.one(item, following, limits[item.nodeid], signal.SIG_DFL)
            if self.failed:
                return item.nodeid
        return "" if len(items) == len(turns) else "a test is gone"

    def tried(self, path: str, old: str, new: str, turns: Sequence[tuple[str, float]]) -> str:
        """Return the first test that fails when a module has a changed text, or nothing."""
        new_functions(path, old, new, self.functions)
        return self.failing(turns)

    def measured(self, cover: coverage.Coverage, root: Path, file: str, done: int, longest: float) -> dict[str, Any]:
        """Tell which tests of a file execute which lines, and how long each takes.

        What a fixture of a module or session does counts for every test that asks for it. A test that takes too long
        ends the process; what it has executed counts, and its time is said to be infinite.
        """
        items = [item for test, item in self.items.items() if test.partition("::")[0] == file][done:]
        took: dict[str, float] = {}
        failed: set[str] = set()
        skipped: set[str] = set()
        spawning: set[str] = set()
        fixtures: dict[str, list[str]] = {}
        now = [""]

        def switch(place: str) -> None:
            now[0] = place
            cover.switch_context(place)

        class Fixtures:
            @pytest.hookimpl(hookwrapper=True, tryfirst=True)
            def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
                before = now[0]
                if fixturedef.scope == "function":
                    yield
                    return
                left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
                switch(f"@{fixturedef.baseid}::{fixturedef.argname}")
                yield
                switch(before)
                signal.setitimer(signal.ITIMER_PROF, left)

        def heard(event: str, _: Any) -> None:
            if event in ("subprocess.Popen", "os.fork", "os.posix_spawn"):
                spawning.add(now[0])

        def late(_: int, frame: FrameType | None) -> None:
            if frame and frame.f_code.co_filename.startswith(str(Path(coverage.__file__).parent)):
                signal.setitimer(signal.ITIMER_PROF, 0.01)  # it holds its lock, which the result needs
                return
            took[item.nodeid] = float("inf")
            _answers[-1](result())
            os._exit(0)

        def result() -> dict[str, Any]:
            cover.stop()
            tests = [test for test in took if test not in skipped]
            users = defaultdict(list)
            for number, test in enumerate(tests):
                for place in (test, *fixtures[test]):
                    users[place].append(number)
            data = cover.get_data()
            return {
                "done": done + len(took),
                "all": done + len(items),
                "tests": tests,
                "seconds": [took[test] for test in tests],
                "failed": sorted(failed),
                "spawns": [n for n, test in enumerate(tests) if {test, *fixtures[test]} & spawning],
                "lines": {
                    str(Path(path).relative_to(root)): {
                        line: sorted({n for place in places for n in users.get(place, ())})
                        for line, places in data.contexts_by_lineno(path).items()
                        if any(places)
                    }
                    for path in data.measured_files()
                },
            }

        if not items:  # all of them are of those that are left out
            return result()
        items[0].config.pluginmanager.register(Fixtures())
        cover.start()
        sys.addaudithook(heard)
        for item, following in zip(items, [*items[1:], None], strict=True):
            self.failed = self.skipped = False
            names = getattr(item, "_fixtureinfo", None)
            shared = [d for ds in names.name2fixturedefs.values() for d in ds if d.scope != "function"] if names else []
            fixtures[item.nodeid] = [f"@{d.baseid}::{d.argname}" for d in shared]
            loaded = bool(took)
            took[item.nodeid] = 0
            switch(item.nodeid)
            begun = sum(os.times()[:4])
            self.one(item, following, longest if loaded else _LOADING * longest, late)
            took[item.nodeid] += sum(os.times()[:4]) - begun
            switch("")
            if self.skipped:
                skipped.add(item.nodeid)
            elif self.failed:
                failed.add(item.nodeid)
        return result()


def moved_lines(before: str, after: str) -> dict[int, range] | None:
    """Return for each line of a changed text the lines of the old one whose tests are taken to execute it.

    Of a new line these are the lines around the change: more tests than need be, but for those that come by now and did
    not before. None where more than a fifth has changed.
    """
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < 0.8:
        return None
    found = {}
    for kind, a, b, c, d in matcher.get_opcodes():
        for line in range(c, d):
            same = a + line - c + 1
            found[line + 1] = range(same, same + 1) if kind == "equal" else range(a, b + 2)
    return found


def new_functions(path: str, old: str, new: str, functions: Iterable[FunctionType]) -> None:
    """Give those functions that are of a module the code that a changed text has for them."""
    change: dict[tuple[str, int], CodeType] = {}

    def pair(before: CodeType, after: CodeType) -> None:
        inner = [[c for c in code.co_consts if isinstance(c, CodeType)] for code in (before, after)]
        for one, other in zip(*inner, strict=False):
            if one.co_qualname == other.co_qualname:
                change[one.co_qualname, one.co_firstlineno] = other
                pair(one, other)

    pair(compile(old, path, "exec"), compile(new, path, "exec"))
    for function in functions:
        if function.__code__.co_filename == path:
            code = change.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
            if code is not None:
                function.__code__ = code


def serve(pipe: Any, cover: coverage.Coverage, root: Path, options: Sequence[str]) -> None:
    """Collect tests and do what the other end of a pipe asks for, in a process that ends with it."""

    def work(runner: Runner) -> None:
        cover.stop()
        for late in ("sklearn.base", "matplotlib.figure", "scipy.stats"):
            importlib.import_module(late)  # so that it counts for no test; none of them has threads
        imported = {
            str(Path(path).relative_to(root)): cover.get_data().lines(path)
            for path in cover.get_data().measured_files()
        }
        modules = [
            n for n, m in list(sys.modules.items()) if not str(getattr(m, "__file__", root)).startswith(str(root))
        ]
        pipe.send((sorted(imported.items()), sorted(modules), list(runner.items)))
        asked: dict[str, Callable[..., Any]] = {
            "measure": functools.partial(runner.measured, cover, root),
            "try": runner.tried,
        }
        while True:
            what, arguments, seconds = pipe.recv()
            pipe.send(forked(functools.partial(asked[what], *arguments), seconds))

    cover.start()
    pytest.main([*options], plugins=[Runner(work)])
