"""Folders for what a program puts aside while it runs: private, and gone afterwards, also when it is killed."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

from deid.base.files import hold

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
        with suppress(OSError):  # a system that opens no folders
            held = os.open(self.name, os.O_RDONLY)
            self._release = weakref.finalize(self, os.close, held)
            hold(held)

    def cleanup(self) -> None:
        """Remove the folder, then let go of it."""
        super().cleanup()
        if hasattr(self, "_release"):
            self._release()


def _clear_leftovers() -> None:
    if not hasattr(os, "geteuid"):
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another user's, or gone
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                own = os.fstat(descriptor).st_uid == os.geteuid()
                if own and any(folder.iterdir()) and hold(descriptor):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)
