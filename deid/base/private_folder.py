"""Folders for what a program puts aside while it runs: private, and gone afterwards, also when it is killed."""

from __future__ import annotations

import tempfile
import weakref
from contextlib import ExitStack, suppress
from pathlib import Path

from deid.base.files import clear_folder, hold_folder

_PREFIX = "deid-values-"


class PrivateFolder(tempfile.TemporaryDirectory[str]):
    """A folder of mode 0700 in the folder of temporary files, which is removed with the value or behind the block.

    What is put there may hold PHI. The folder is held by a lock as long as it lives, in this process and in those that
    are forked from it; what nobody holds any more was left by a process that was killed, and goes when the next such
    folder is made. One in which nothing lies yet stays: it may have been made this moment, and be held in the next.

    Raises
    ------
    OSError
        When it cannot be made.
    """

    def __init__(self) -> None:
        _clear_leftovers()
        super().__init__(prefix=_PREFIX)
        stack = ExitStack()
        self._release = weakref.finalize(self, stack.close)
        hold_folder(Path(self.name), stack)

    def cleanup(self) -> None:
        """Remove the folder, then let go of it."""
        super().cleanup()
        self._release()


def _clear_leftovers() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another user's, or gone
            clear_folder(folder)
