"""Runs the examples of a page of the documentation, and tells where it says something else than happens.

A page is one session, from its first block to its last, in a folder of its own that has the checkout's ``corpora`` and
``scripts`` in it:

* A block whose first line begins with ``$`` is a terminal. The output below each command is compared; a line ``...``
  stands for any lines, ``...`` in a line for any text. A command with nothing below it must end well, and what it says
  is not compared.
* Blanks at the ends of lines and blank lines do not count. The user has a key already, unless the page shows how
  it is made.
* ``$ cat FILE`` makes the file from what the page shows, unless an earlier command names it or its folder; a block that
  begins ``# NAME.toml`` is that file. So inputs are made by the page.
* A picture of the page (``![...](x.svg)``) that a command wrote under its name is compared with what it wrote, but for
  ids and decimals.
* A block of ``python`` runs; what it prints is compared with its lines ``# Out: ``. Blocks share their names.

Comments above a block change this: ``<!-- output varies: why -->`` compares without digits (noise, times),
``<!-- not run: why -->`` leaves the block out, and ``<!-- before`` with commands behind it, up to ``-->``, does what
the page supposes done. Keys, ids and noise come from a fixed seed here, so surrogates are the same every time.

    python tests/pages.py docs/codes.md ...      # writes into the pages what the commands say now, but where ``...`` is
"""

from __future__ import annotations

import contextlib
import doctest
import gc
import io
import os
import random
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(
    r"(?P<marks>(?:^<!-- (?!before)[^\n]*-->\n)*)^```(?P<language>\w*)\n(?P<body>.*?)^```$"
    r"|^<!-- before\n(?P<before>.*?)^-->$",
    re.MULTILINE | re.DOTALL,
)
_VARYING = re.compile(r"\b[0-9a-f]{4,}\b|[-+]?\d[\d.,]*(?:e[-+]?\d+)?|True|False")


@dataclass
class Step:
    """One command of a terminal, or one block of Python."""

    source: str
    shown: str
    where: tuple[int, int] = (0, 0)
    """Where in the page ``shown`` stands."""
    python: bool = False
    compared: bool = True
    varies: bool = False


@dataclass
class Page:
    """What is to be run of a page."""

    path: Path
    steps: list[Step] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)


def read_page(path: Path) -> Page:
    """Return the steps of a page."""
    text, page = path.read_text(encoding="utf-8"), Page(path)
    page.pictures = re.findall(r"!\[[^\]]*\]\(([^()/\s]+\.svg)\)", text)
    for found in _BLOCK.finditer(text):
        if found["before"] is not None:
            page.steps += [Step(s.source, s.shown, compared=False) for s in _commands(found["before"], 0)]
            continue
        body, marks, varies = found["body"], found["marks"], "<!-- output varies" in found["marks"]
        if body.startswith("$ "):
            steps = list(_commands(body, found.start("body")))
        elif found["language"] == "python":
            shown = "".join(f"{line}\n" for line in re.findall(r"^# Out: (.*)$", body, re.MULTILINE))
            steps = [Step(body, shown, python=True, compared=bool(shown))]
        elif named := re.match(r"# (\S+\.toml)\b", body):
            steps = [Step(f"cat {named[1]}", body, compared=False)]
        else:
            continue
        if "<!-- not run: " in marks:
            page.not_run.append(f"{path.name}: {steps[0].source.splitlines()[0]}")
            continue
        page.steps += [Step(s.source, s.shown, s.where, s.python, s.compared, varies) for s in steps]
    return page


def _commands(body: str, at: int) -> Iterator[Step]:
    lines = body.splitlines(keepends=True)
    while lines:
        line = lines.pop(0)
        source, at = line.removeprefix("$ "), at + len(line)
        while source.endswith("\\\n") or ("<<'END'" in source and not source.endswith("\nEND\n")):
            line = lines.pop(0)
            source, at = source + line, at + len(line)
        shown = ""
        while lines and not lines[0].startswith("$ "):
            shown += lines.pop(0)
        yield Step(source, shown, (at, at + len(shown)), compared=bool(shown))
        at += len(shown)


def _pattern(shown: str) -> str:
    """Return the expression for what is shown, where ``...`` is anything."""
    made = []
    for line in shown.splitlines(keepends=True):
        if line.strip() == "...":
            made.append(r"(?:.*\n)*")
        else:
            made.append(r".*".join(re.escape(part) for part in line.split("...")))
    return "".join(made)


def agrees(shown: str, said: str, *, varies: bool = False) -> bool:
    """Tell whether what a page shows is what a command said."""
    shown, said = (
        "".join(f"{line.rstrip()}\n" for line in text.splitlines() if line.strip()) for text in (shown, said)
    )
    if varies:
        shown, said = (re.sub(r"[ \t]+", " ", _VARYING.sub("0", text)) for text in (shown, said))
    return re.fullmatch(_pattern(shown), said) is not None


class Session:
    """A user's terminal and Python, inside this process."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.home, self.work = folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        for name in ("corpora", "scripts"):
            (self.work / name).symlink_to(ROOT / name)
        if not any("created a new key in /home/me" in step.shown for step in page.steps):
            (self.home / ".config/deid").mkdir(parents=True)
            for name, digits in (("key", "42"), ("signing-key", "24")):
                (self.home / ".config/deid" / name).write_text(32 * digits)
                (self.home / ".config/deid" / name).chmod(0o600)
        self.names: dict[str, object] = {"__name__": "page"}
        self.named: set[str] = set()
        self.private = any("epsilon" in step.source for step in page.steps)

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Be in the session's folder, with its home and its random numbers."""
        drawn = random.Random(20)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("DEID_KEY", "XDG_"))}
        changed = {"HOME": str(self.home), "COLUMNS": "120", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
        changed["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        for variable, place in (("XDG_CACHE_HOME", ".cache"), ("MPLCONFIGDIR", ".cache/matplotlib")):
            environment[variable] = os.environ.get(variable) or str(Path.home() / place)
        with (
            contextlib.chdir(self.work),
            mock.patch.dict(os.environ, environment | changed, clear=True),
            mock.patch.object(secrets, "token_bytes", lambda n=32: drawn.randbytes(n)),
            mock.patch.object(secrets, "token_hex", lambda n=32: drawn.randbytes(n).hex()),
            self._same_noise(),
        ):
            yield

    def _same_noise(self) -> contextlib.AbstractContextManager[object]:
        """Let noise that protects come from a seed, for pages that buy any: whether it hides a count must not vary."""
        if not self.private:
            return contextlib.nullcontext()
        from deid.dp.noise import OpenDPNoise, SeededNoise

        seeded = SeededNoise(20)
        answers = {
            verb: getattr(seeded, verb) for verb in ("discrete_laplace", "discrete_gaussian", "laplace", "choose")
        }
        return mock.patch.multiple(OpenDPNoise, **{v: staticmethod(own) for v, own in answers.items()})

    def run(self, step: Step) -> str:
        """Do one step, and return what it says as the page would show it."""
        if step.python:
            said = self._python(step.source, self.names)
        elif (file := self._input(step)) is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(step.shown.replace("<TAB>", "\t"), encoding="utf-8")
            said = step.shown
        else:
            said, status = self._line(step.source.rstrip("\n").replace("\\\n", " "))
            if status and not step.shown:
                raise AssertionError(f"{step.source}ended with {status}:\n{said}")
        return said.replace(str(self.home), "/home/me")

    def _input(self, step: Step) -> Path | None:
        """Return the file that the page makes by showing it."""
        words = step.source.split()
        if words[0] != "cat" or len(words) != 2 or "*" in words[1]:
            return None
        made = {words[1], words[1].split("/")[0]} & self.named
        return None if made or Path(words[1]).exists() else Path(words[1])

    def _line(self, line: str) -> tuple[str, int]:
        said, status, data = b"", 0, b""
        if line.startswith("cd "):
            folder, _, line = line.removeprefix("cd ").partition("; ")
            os.chdir(folder)
        if line.startswith("python - <<'END'"):
            return self._python(line.split("\n", 1)[1].removesuffix("END"), {"__name__": "__main__"}), 0
        parts = [part.strip() for part in re.split(r"""\|(?=(?:[^"']|"[^"]*"|'[^']*')*$)""", line)]
        for part in parts:
            words = shlex.split(part)
            if words[0] == "deid" and words[1] != "filter":  # which writes to the file descriptor itself
                self.named |= {name for word in words for name in (word, word.split("/")[0])}
                data, errors, status, both = call(words[1:], data)
                if len(parts) == 1:
                    return both.decode(), status
            else:
                done = subprocess.run(["bash", "-c", part], input=data, capture_output=True, check=False)
                data, errors, status = done.stdout, done.stderr, done.returncode
            said += errors
        return (said + data).decode(), status

    def _python(self, source: str, names: dict[str, object]) -> str:
        printed = io.StringIO()
        if ">>> " in source:
            test = doctest.DocTestParser().get_doctest(source, {}, "page", None, None)
            assert doctest.DocTestRunner().run(test, out=printed.write).failed == 0, printed.getvalue()
            return ""
        with contextlib.redirect_stdout(printed):
            exec(compile(source, "page", "exec"), names)
        return printed.getvalue()


def call(arguments: list[str], data: bytes = b"") -> tuple[bytes, bytes, int, bytes]:
    """Run ``deid`` inside this process; return standard output and error, the status, and both streams as they came."""
    from deid.cli.main import main

    out, err, both = io.BytesIO(), io.BytesIO(), io.BytesIO()

    class Tee(io.BytesIO):
        def __init__(self, own: io.BytesIO) -> None:
            super().__init__()
            self.own = own

        def write(self, given: object) -> int:
            both.write(given)  # type: ignore[arg-type]
            return self.own.write(given)  # type: ignore[arg-type]

    streams = {
        "stdin": io.TextIOWrapper(io.BytesIO(data)),
        "stdout": io.TextIOWrapper(Tee(out), encoding="utf-8", write_through=True),
        "stderr": io.TextIOWrapper(Tee(err), encoding="utf-8", write_through=True),
        "argv": ["deid", *arguments],
    }
    collecting, status = gc.get_threshold(), 0
    try:
        with mock.patch.multiple(sys, **streams):
            main()
    except SystemExit as ended:
        status = int(ended.code or 0)
    finally:
        gc.set_threshold(*collecting)
    return out.getvalue(), err.getvalue(), status, both.getvalue()


def differences(page: Page, folder: Path) -> list[tuple[Step, str]]:
    """Run a page; return the steps where it shows something else than is said, with what is said."""
    wrong, session = [], Session(page, folder)
    with session.opened():
        for step in page.steps:
            said = session.run(step)
            if step.compared and not agrees(step.shown, said, varies=step.varies):
                wrong.append((step, said))
    for name in page.pictures:
        kept, drawn = page.path.with_name(name), session.work / name
        if drawn.exists() and not (kept.exists() and same_picture(kept.read_text("utf-8"), drawn.read_text("utf-8"))):
            wrong.append((Step(f"{name}\n", "the picture of the page\n"), "another picture\n"))
    return wrong


def same_picture(one: str, other: str) -> bool:
    """Tell whether two SVG files draw the same, but for the ids of parts, which are hashes, and for decimals."""
    whole = [
        re.sub(r"\d+\.\d+", lambda m: f"{float(m[0]):.0f}", re.sub(r"\b[mpC][0-9a-f]{10}\w*|C\d+_\d+_\w+", "", svg))
        for svg in (one, other)
    ]
    return whole[0] == whole[1]


def _write(path: Path) -> None:
    """Write into a page what its commands say, and beside it the pictures that they draw."""
    folder, page = Path(tempfile.mkdtemp()), read_page(path)
    try:
        wrong = [(step, said) for step, said in differences(page, folder) if step.where != (0, 0) or step.python]
        for name in page.pictures:
            if (folder / "work" / name).exists():
                shutil.copyfile(folder / "work" / name, path.with_name(name))
    finally:
        shutil.rmtree(folder)
    text = path.read_text(encoding="utf-8")
    for step, said in reversed(wrong):
        print(f"{path.name}: {step.source}{said}")
        if not step.python and "..." not in step.shown:
            said = "".join(f"{line.rstrip()}\n" for line in said.rstrip().splitlines())
            text = text[: step.where[0]] + said + text[step.where[1] :]
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        _write(Path(argument))
