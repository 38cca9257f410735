"""What a user says of a release or an answer: what pays, whom it protects, and where it goes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from deid.base.errors import ConfigError
from deid.base.late import pd
from deid.base.options import option, store_of
from deid.base.plots import check_plot
from deid.table.options import TableOptions

if TYPE_CHECKING:
    from deid.dp.budget import Ledger
    from deid.dp.noise import Noise
    from deid.dp.unit import PrivacyUnit

VARIABLE = "DEID_LEDGER"
_PAYING, _PROTECTED, _DRAFT = "What pays", "Whom it protects", "Before spending"


@dataclass(frozen=True)
class PayingOptions:
    """What a release or an answer costs, and what pays."""

    epsilon: float = option(..., "Cost of the release or answer.", metavar="E")
    ledger: str | None = option(
        None, f"What pays (deid budget init); else the variable {VARIABLE}.", metavar="LEDGER", read=store_of,
        variable=VARIABLE,
    )  # fmt: skip
    budget: str = option("main", "Budget, where a ledger holds several.", panel=_PAYING)
    request: str | None = option(
        None, "Id of the request: the same one is never charged twice.", metavar="ID", panel=_PAYING
    )
    not_private_seed: int | None = option(
        None, "Use repeatable test noise. PROTECTS NOBODY; what comes out says so.", panel=_PAYING, minimum=0
    )

    def open(self) -> Ledger | None:
        """Open the ledger, if there is one."""
        from deid.dp.budget import Ledger

        place = self.ledger or os.environ.get(VARIABLE)
        return Ledger.open(place, budget=self.budget) if place else None

    @property
    def noise(self) -> Noise:
        """What draws the noise."""
        from deid.dp.noise import OpenDPNoise, SeededNoise

        return OpenDPNoise() if self.not_private_seed is None else SeededNoise(self.not_private_seed)


@dataclass(frozen=True)
class GaussianPayingOptions(PayingOptions):
    """What pays, where noise may be Gaussian."""

    gaussian: bool = option(
        False, "Draw Gaussian noise: less for many numbers. Needs a budget with a delta.", panel=_PAYING
    )

    @property
    def delta(self) -> float:
        """The delta of the ledger, where noise is Gaussian; else 0.

        Raises
        ------
        ConfigError
            When noise is Gaussian, and the budget has none.
        """
        ledger = self.open() if self.gaussian else None
        found = ledger.account().delta if ledger is not None else 0.0
        if self.gaussian and not found:
            raise ConfigError("Gaussian noise needs a budget with a delta", "run: deid budget init --delta 1e-6")
        return found


@dataclass(frozen=True)
class PlotOptions:
    """A plot beside the numbers."""

    plot: Path | None = option(None, "Write the plot (.svg or .png).")

    def __post_init__(self) -> None:
        """Refuse a plot that cannot be written, before anything is charged."""
        check_plot(self.plot)


@dataclass(frozen=True)
class JoinedTableOptions(TableOptions):
    """The table that a release or an answer is about, and a second one of the same persons."""

    join: str | None = option(
        None, "A second table of the same persons: what it says of a person is joined to each row, by --person.",
        metavar="TABLE",
    )  # fmt: skip

    def joining(self, person: str | None) -> Callable[[pd.DataFrame], pd.DataFrame]:
        """Return what joins the second table to rows; they stay as they are where there is none.

        Raises
        ------
        ConfigError
            When there is one, and no column says whose the rows are.
        """
        from deid.dp.join import joining

        if self.join is None:
            return lambda frame: frame
        if person is None:
            raise ConfigError("tables are joined by the person", "name the column: --person COLUMN")
        return joining(replace(self, sql=None).read(self.join), person)

    def protected(self, ledger: Ledger | None) -> PrivacyUnit:
        """Return whom a ledger protects, a row where there is none; refuse to join for rows."""
        from deid.dp.unit import PrivacyUnit

        unit = ledger.account().unit if ledger is not None else PrivacyUnit()
        if self.join is not None and unit.name == "row":
            raise ConfigError(
                "a row of a joined table stands behind many rows, and the budget protects single ones",
                "run: deid budget init --unit patient",
            )
        return unit


@dataclass(frozen=True)
class UnitOptions:
    """Whose rows are protected, and what is told beside the numbers; fields are arguments of plans and sessions."""

    PANEL: ClassVar[str] = _PROTECTED
    person: str | None = option(None, "Whose row it is; rows beyond the budget's bound are left out.", metavar="COLUMN")
    assert_bound: bool = option(
        False, "Instead of --person: vouch that no unit has more rows than the budget says. The release tells so."
    )
    level: float = option(0.95, "Level of the intervals.", metavar="P")

    def read(self, source: JoinedTableOptions, tell: Callable[[str], object]) -> pd.DataFrame:
        """Read the table, and ``tell`` the user, nobody else, how many rows do not say whose they are, and that ids of
        persons are written in several ways.
        """
        (frame,) = self._told([source.read()], tell)
        return source.joining(self.person)(frame)

    def read_batches(
        self, source: JoinedTableOptions, tell: Callable[[str], object], columns: Sequence[str] = ()
    ) -> Iterator[pd.DataFrame]:
        """Read some columns of the table, all by default, in batches; ``tell`` the same at the end."""
        return map(source.joining(self.person), self._told(source.read_batches(columns), tell))

    def _told(self, batches: Iterable[pd.DataFrame], tell: Callable[[str], object]) -> Iterator[pd.DataFrame]:
        from deid.dp.unit import rows_without_person
        from deid.table.cell_text import text_column
        from deid.table.column_names import split_ids

        missing = split = 0
        for frame in batches:
            if self.person is not None:
                missing += rows_without_person(frame, self.person)
                split = max(split, split_ids(text_column(frame[self.person], key=True).cat.categories))
            yield frame
        if split:
            tell(
                f"{split} ids in {self.person} or more are written in several ways, which differ in leading zeros or "
                "case alone: who has two ways is protected as two persons, each with the bound of one. Write each id "
                "in one way"
            )
        if missing:
            tell(
                f"{missing} rows have no {self.person} and are left out: nothing says whose they are. This number is "
                "exact, so keep it in the house"
            )


@dataclass(frozen=True)
class ToldUnitOptions(UnitOptions):
    """Whose rows are protected, where what is left out is told with noise."""

    report_share: float | None = option(
        None, "Share of epsilon for telling what was left out (.02).", metavar="P", panel=_PROTECTED
    )


@dataclass(frozen=True)
class DraftOptions:
    """That it is only tried."""

    dry_run: bool = option(False, "Forecast error and noise without reading the table or charging.", panel=_DRAFT)


@dataclass(frozen=True)
class PaidReleaseOptions(DraftOptions):
    """Where a release goes, or that it is only tried."""

    output: Path | None = option(None, "Release: .parquet, .csv or .json.", "--output", "-o")
