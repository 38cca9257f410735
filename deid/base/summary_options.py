"""What every command says of its run, and where."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from deid.base.errors import OutputError
from deid.base.files import check_folder
from deid.base.options import option

_BEGINNING = b'{\n  "command": "'
"""What summaries begin with."""


@dataclass(frozen=True)
class SummaryOptions:
    """What a command says of its run; every command has it."""

    PANEL: ClassVar[str] = "Summary"
    json: Path | None = option(None, "Write the summary, with all figures, as JSON to F (- is standard output).")
    quiet: bool = option(False, "Say nothing when all went well.", "--quiet", "-q")

    def __post_init__(self) -> None:
        if self.json is not None and str(self.json) != "-":  # before the work, whose account it is
            if self.json.is_dir():
                raise OutputError("the summary's file is a folder", "name a file, or -", str(self.json))
            check_folder(self.json)
            self.check()

    def check(self) -> None:
        """Refuse to put the summary into the place of a file that is none, such as the table that the command reads.

        Raises
        ------
        OutputError
            When there is one.
        """
        assert self.json is not None
        if self.json.is_file() and self.json.stat().st_size:
            try:
                with self.json.open("rb") as stream:
                    other = stream.read(len(_BEGINNING)) != _BEGINNING
            except OSError:
                other = True
            if other:
                raise OutputError("a file that is no summary is there", "name a new file", str(self.json))
