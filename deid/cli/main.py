"""The command `deid`: turns errors into messages and exit codes."""

from __future__ import annotations

import errno
import gc
import os
import sys
from typing import Annotated, Any

import typer

from deid import __version__
from deid.base.compiled import BACKEND, return_arrays
from deid.base.errors import DeidError, raised_at
from deid.base.files import FULL, os_reason
from deid.cli.commands import Commands
from deid.cli.common import EXIT_USAGE

app = typer.Typer(
    name="deid",
    help="De-identify clinical reports: train, tag, scrub, verify, evaluate.",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"deid {__version__} ({'compiled' if BACKEND == 'native' else 'NumPy'} loops)")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """De-identify clinical reports: train, tag, scrub, verify, evaluate."""


_OBJECTS = 50_000
"""New objects after which Python looks for garbage: models and word lists are many objects that all stay."""

_REFUSED = dict.fromkeys(FULL, ("cannot write", "free some space, then run again")) | dict.fromkeys(
    (errno.ENAMETOOLONG, errno.ELOOP), ("a path cannot be used", "name a shorter one")
)
_REFUSED[errno.EBADF] = "standard output is closed", "let it go to a file, or to /dev/null"
"""What the system says of what a user asked for, where no place in the program expects it -> what, and what to do."""

# typer carries its own copy of click in some versions and imports it in others; this is the class that it raises
_ClickException: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def _is_closed_pipe(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _closed_pipe() -> int:
    """Let what is still buffered go nowhere; return the status of a program that SIGPIPE ended."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + 13


def _open_streams() -> None:
    """Open the standard streams that whoever started the process has closed.

    Else the first file that is opened has the number of such a stream, and gets what is meant for it. What is written
    to standard output fails then, as it would have; messages go nowhere.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def _leave_no_core() -> None:
    """Let no crash of this process, or of one that it starts, write a file of its memory: notes stand there as text."""
    try:
        import resource
    except ImportError:  # no POSIX system
        return
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


def _internal(error: BaseException) -> int:
    """Say where a bug is, never what, because messages can quote a document; return the status that it ends with."""
    sys.stderr.write(f"internal error: {raised_at(error)} (its message is withheld, it could quote a document)\n")
    return 70


def main() -> None:
    """Run the command line; exit 0 done, 1 something failed, 2 cannot be done as asked, 130 interrupted, 141 when
    nobody reads standard output any more.
    """
    _open_streams()
    gc.set_threshold(_OBJECTS)
    return_arrays()
    _leave_no_core()
    try:
        status = app(standalone_mode=False)
        sys.stdout.flush()  # else the interpreter finds at its very end that nobody reads, and has a status of its own
    except SystemExit as error:  # typer ends a command that writes to a closed pipe with 1, before it gets here
        status = _closed_pipe() if _is_closed_pipe(error.__context__) else error.code
    except DeidError as error:
        sys.stderr.write(f"error: {error}\n")
        status = EXIT_USAGE
    except typer.Abort as error:
        status = 130
        if isinstance(error.__cause__, EOFError):  # nobody is asked anything here: it is an error of its own
            status = _internal(error.__cause__)
    except _ClickException as error:
        error.show()
        status = EXIT_USAGE
    except BrokenPipeError:
        status = _closed_pipe()
    except KeyboardInterrupt:
        status = 130
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _REFUSED:
            what, hint = _REFUSED[error.errno]
            sys.stderr.write(f"error: {what} ({os_reason(error)}). Hint: {hint}\n")
            status = EXIT_USAGE
            if error.errno == errno.EBADF:
                _closed_pipe()
        else:
            status = _internal(error)
    sys.exit(status if isinstance(status, int) else 0)
