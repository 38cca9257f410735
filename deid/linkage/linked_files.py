"""What is read and written beside a linked table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from deid.base.errors import require
from deid.base.files import write_bytes
from deid.base.late import pd
from deid.base.options import option
from deid.linkage.linking import PERSON, Linked, LinkOptions
from deid.table.table_writing import write_table

if TYPE_CHECKING:
    from deid.linkage.decisions import Decided


@dataclass(frozen=True)
class LinkFiles:
    """What a linkage writes beside its table, and what somebody decided of rows before."""

    PANEL: ClassVar[str] = "Further files"
    save_model: Path | None = option(None, "Write the model that was learnt (JSON with a checksum; no cell of TABLE).")
    review: Path | None = option(None, "Write the pairs that a person should look at (CSV).")
    decided: Path | None = option(
        None,
        "That list with a column decision (same, different), or what deid annotate decisions wrote: rows that are of "
        "one person, or of two.",
        metavar="F",
    )
    report: Path | None = option(None, "Write a report as a web page: weights, threshold, a pair step by step.")
    studio: Path | None = option(None, "Write a web page of the persons, the least sure first, with their rows (PHI).")

    @property
    def new(self) -> tuple[Path | None, ...]:
        """The files that are written."""
        return self.review, self.save_model, self.report, self.studio

    def check(self, said: LinkOptions, master: str | None = None) -> None:
        """Refuse what exact rules do not have.

        Raises
        ------
        ConfigError
            When what a model learnt is to be written, or is to run on Spark (``master``), and there is none.
        """
        if said.method == "exact":
            hint = "leave out --save-model, --report and --studio, or say --method model"
            require(not (self.save_model or self.report or self.studio), "exact rules learn no model", hint)
            require(master is None, "exact rules need no Spark", "leave out --master, or say --method model")

    def settled(self, tables: Sequence[pd.DataFrame]) -> Decided | None:
        """Read what was decided of the rows of tables; see `deid.linkage.decisions.read_decisions` for errors."""
        from deid.linkage.decisions import read_decisions

        return None if self.decided is None else read_decisions(self.decided, tables, without=PERSON)

    def write(self, linked: Linked, rows: pd.DataFrame, report: Callable[[Path], None]) -> None:
        """Write what is asked for: ``rows`` are those of the table that was written, ``report`` writes the report."""
        from deid.linkage.studio import write_studio

        if self.review is not None:
            write_table(linked.review, self.review)
        if self.save_model is not None and linked.model is not None:
            write_bytes(self.save_model, linked.model.to_bytes(), private=False)
        if self.report is not None:
            report(self.report)
        if self.studio is not None:
            write_studio(self.studio, rows.drop(columns=PERSON), linked)
