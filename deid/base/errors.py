"""The exception tree.

::

    DeidError
    ├── InputError                a document or a file that cannot be read as what it claims to be
    │   ├── EncodingError         bytes that are not text in the stated encoding
    │   ├── FormatError           truncated, malformed or forbidden structure
    │   │   ├── RecordTooLong         (streaming) a record that exceeds the limit
    │   │   ├── RecordTruncated       (streaming) a last record that is shorter than its length says
    │   │   └── RecordEmpty           (streaming) a message with nothing in it
    │   ├── OffsetError           a span outside its text, or one that disagrees with its text
    │   ├── LabelError            a label outside the label set
    │   └── DuplicateError        two documents with one id
    ├── OutputError               something that cannot be written as asked
    │   ├── TakenError            something that came to the place of a new file meanwhile
    │   └── ReceiverRefused           (streaming) a message that its receiver did not accept
    ├── ConfigError               options, policies, patterns, keys: what the user configured
    │   ├── ExpressionError           (rules) a pattern that the compiler of expressions does not understand
    │   └── SearchLimit               (replacement) an exact search that would need more states than allowed
    ├── ModelError                a model folder that is missing, foreign, tampered with or too old
    ├── DetectionError            a recognizer that could not finish a document
    │   ├── RecordTimeout             (streaming) a record that took longer than the limit
    │   ├── WorkerDied                (streaming) a record that its worker process did not survive
    │   ├── WorkerLost                a request that its worker process did not survive
    │   └── Busy                      a request that would have to wait behind too many
    ├── Conflict                      (annotation) a change to what has changed meanwhile
    ├── StoreError                a database that cannot be opened, read or written, or whose content was altered
    ├── BudgetExceeded                (dp) a request that costs more than what is left
    └── AlreadyReleased               (dp) a request that was answered before: the recorded answer stands

Every message names where (file or document, position), what is wrong, and ends with a hint what to do. It never
contains text of a document, and names documents by `deid.base.safe_names.safe_name`: file names, ids, offsets in
characters, line numbers, categories and counts may appear, patients' words may not. When another exception is the
cause, raise ``from None``: messages of the standard library quote the offending value.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

E = TypeVar("E", bound=BaseException)
P = ParamSpec("P")
R = TypeVar("R")
MALFORMED = (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, ArithmeticError, RecursionError)
"""What reading a file raises that cannot be read, or holds something else than it should."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def one_line(text: str) -> str:
    r"""Return a text as it can be printed in a line: line ends and control characters, of a file's name say, escaped.

    >>> one_line("a\nb")
    'a\\nb'
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


class DeidError(Exception):
    """Base of all errors that `deid` raises on purpose.

    Parameters
    ----------
    what : str
        What is wrong, without any text of a document.
    hint : str
        What the user can do about it.
    where : str
        Safe name of the file or document, empty when none is concerned.
    position : str
        Position in it, such as ``"line 7"`` or ``"offset 120"``.
    """

    def __init__(self, what: str, hint: str = "", where: str = "", position: str = "") -> None:
        super().__init__(what, hint, where, position)
        self.what = what
        self.hint = hint
        self.where = where
        self.position = position

    def __str__(self) -> str:
        head = ", ".join(part for part in (self.where, self.position) if part)
        body = f"{head}: {self.what}" if head else self.what
        return one_line(f"{body}. Hint: {self.hint}" if self.hint else body)

    def at(self, where: str) -> DeidError:
        """Return the same error with ``where`` filled in, unless it is already known."""
        if self.where:
            return self
        found = copy.copy(self)
        found.where = where
        found.args = (self.what, self.hint, where, self.position)
        return found

    def __reduce__(self) -> tuple[object, ...]:
        # an error of a worker process is one here, too, whatever its own class takes
        return _made_again, (type(self), self.args, self.__dict__)


def _made_again(kind: type[DeidError], told: tuple[str, ...], state: dict[str, object]) -> DeidError:
    error = kind.__new__(kind)
    error.args = told
    error.__dict__.update(state)
    return error


class InputError(DeidError):
    """A document or a file that cannot be read as what it claims to be."""


class EncodingError(InputError):
    """Bytes that are not text in the stated encoding."""


class FormatError(InputError):
    """Truncated, malformed or forbidden structure."""


class OffsetError(InputError):
    """A span outside its text, or one that disagrees with its text."""


class LabelError(InputError):
    """A label outside the label set."""


class DuplicateError(InputError):
    """Two documents with one id."""


class OutputError(DeidError):
    """Something that cannot be written as asked."""


def method_fault(what: str) -> OutputError:
    """Return the error of a release that its verifier rejects, so that nothing is released."""
    return OutputError(what, "this is a fault of the method: please report it; nothing was released")


class TakenError(OutputError):
    """Something is at the place of a new file, perhaps since a moment ago."""


class ConfigError(DeidError):
    """Options, policies, patterns or keys that cannot be used."""


def require(
    holds: object, what: str, hint: str, where: str = "", position: str = "", *, kind: type[DeidError] = ConfigError
) -> None:
    """Refuse what a user said, or by ``kind`` what a file holds, where a condition does not hold.

    Raises
    ------
    ConfigError
        Or an error of another kind.
    """
    if not holds:
        raise kind(what, hint, where, position)


class Told(Generic[E]):
    """A block whose errors of some kinds are raised as others; see `told_as` and `told_of`."""

    def __init__(self, turn: Callable[[E], Exception], *kinds: type[E]) -> None:
        self._turn, self._kinds = turn, kinds

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Raise the other error, if need be."""
        if isinstance(error, self._kinds):
            raise self._turn(error) from None


def told_as(error: Exception, *kinds: type[BaseException]) -> Told[BaseException]:
    """Raise an error of ours in place of one of other kinds: what these say can quote a document.

    Parameters
    ----------
    error
        What is raised instead.
    kinds
        Kinds of exceptions; others pass.
    """
    return Told(lambda _: error, *kinds)


def told_of(where: str, kind: type[DeidError] = DeidError) -> Told[DeidError]:
    """Raise errors of a kind with the file or document that they are about, unless they say it."""
    return Told(lambda error: error.at(where), kind)


def or_error(turn: Callable[P, R]) -> Callable[P, R | DeidError]:
    """Return what returns an error where a function raises it: one bad record of a file stops no others."""

    def turned(*args: P.args, **kwargs: P.kwargs) -> R | DeidError:
        try:
            return turn(*args, **kwargs)
        except DeidError as error:
            return error

    return turned


class ModelError(DeidError):
    """A model folder that is missing, foreign, tampered with or made by another version."""


class DetectionError(DeidError):
    """A recognizer that could not finish a document."""


class StoreError(DeidError):
    """A database that cannot be opened, read or written, or whose content was altered."""


def raised_at(error: BaseException) -> str:
    """Return what is told of an unknown error: its kind, file and line. Its message could quote a document."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "unknown place"
    return f"{type(error).__name__} at {place}"
