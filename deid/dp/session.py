"""A session: questions about a table, one by one, each paid for before it is answered.

After PINQ (McSherry 2009). A `Session` holds a table, a ledger, and declared columns; a `TableView` is a part of the
table or another shape of it. Views are made by `where` (a filter), `select` (a computed column), `partition` (disjoint
parts, which together cost as much as the most expensive one) and `by_person` (one row a person). Only aggregates
answer, and each charges the ledger first. An answer is recorded: the same request returns it again.

What one unit can change is kept with the view, in rows (`deid.dp.unit`). After `by_person` a person is one row, so the
noise shrinks. Inside a part it does not: a person may have rows in several parts, and would be one person in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deid.base.late import pd
from deid.dp.budget import Ledger
from deid.dp.domain import Dimension
from deid.dp.measuring import PERSON
from deid.dp.noise import Noise, OpenDPNoise, SeededNoise
from deid.dp.payment import check_payer, row_key
from deid.dp.plan import Terms, check_free
from deid.dp.query_answer import NUMBERS, QueryAnswer
from deid.dp.query_columns import QueryColumn
from deid.dp.query_language import parse_query
from deid.dp.unit import PrivacyUnit, bounded_rows
from deid.dp.view import CheckedQuery, QuerySource, TableView
from deid.table.cell_text import text_column


class QuerySession(QuerySource):
    """A table that can be asked.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    dimensions : sequence of Dimension
        The columns that may be asked, with their declared domains.
    ledger : Ledger or None
        What pays, and says whom it protects. May be None for test noise alone.
    person : str, optional
        Column of the person; needed unless the unit is a row, and for `TableView.by_person`. Rows beyond the bound, and
        rows without a person, are left out.
    noise : Noise, optional
        OpenDP's by default.
    unit : PrivacyUnit, optional
        Whom answers without a ledger protect; a row by default.
    **terms
        Level, bound, delta, and share of the epsilon of each answer that tells how many rows have a cell outside the
        declared domains of the columns that are asked: see `deid.dp.plan.Terms.checked`.

    Raises
    ------
    ConfigError
        When a column is missing, or nothing says whose a row is.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        dimensions: Sequence[Dimension],
        ledger: Ledger | None,
        *,
        person: str | None = None,
        noise: Noise | None = None,
        unit: PrivacyUnit | None = None,
        **terms: Any,
    ) -> None:
        noise = noise or OpenDPNoise()
        check_payer(ledger, noise)
        whom = ledger.account().unit if ledger is not None else (unit or PrivacyUnit())
        super().__init__(frame, ledger, noise, Terms.checked(whom, person=person, **terms))
        check_free([dimension.name for dimension in dimensions], NUMBERS, "a column", "an answer")
        kept = pd.DataFrame({own.name: own.read(frame) for own in dimensions}, index=frame.index)
        if person is not None:
            keep = bounded_rows(frame, person, whom.max_rows, row_key(ledger)).keep
            kept = kept.assign(**{PERSON: text_column(frame[person], key=True)})[keep]
        columns = {own.name: QueryColumn.of(own) for own in dimensions}
        self._all = TableView(self, kept, columns, whom.distance, (), (), person, kept, frozenset())

    @classmethod
    def rehearsal(
        cls, dimensions: Sequence[Dimension], unit: PrivacyUnit, *, person: str | None = None, **terms: Any
    ) -> QuerySession:
        """Return a session over a table without rows, with test noise: what can be checked and forecast without data.

        Arguments and errors as those of a session.
        """
        names = {*(name for own in dimensions for name in own.columns), *(() if person is None else (person,))}
        empty = pd.DataFrame({name: pd.Series([], dtype="string") for name in sorted(names)})
        return cls(empty, dimensions, None, person=person, noise=SeededNoise(0), unit=unit, **terms)

    @property
    def table(self) -> TableView:
        """The whole table."""
        return self._all

    @property
    def remaining(self) -> float:
        """What is left of the budget, as an epsilon."""
        if self.ledger is None:
            return float("inf")
        account = self.ledger.account()
        return account.epsilon(account.remaining)

    def query(self, text: str, epsilon: float, *, request: str | None = None) -> QueryAnswer:
        """Answer a query in the language of `deid.dp.query_language`.

        Parameters
        ----------
        text : str
            The query, such as ``SELECT MEAN(age, 0, 100) WHERE sex = 'F'``.
        epsilon : float
            Cost.
        request : str, optional
            Id in the ledger, made up by default; the same request with the same question returns its answer again.

        Returns
        -------
        QueryAnswer
            Numbers with their intervals.

        Raises
        ------
        ConfigError
            When it cannot be read, or asks for what is not declared; nothing was charged.
        BudgetExceeded
            When it costs too much; nothing was charged.
        """
        view, query = self._all.of_query(parse_query(text))
        return view.ask(query, epsilon, request)

    def check(self, text: str, epsilon: float) -> CheckedQuery:
        """Check a query as `query` does, and neither answer nor charge it; arguments and errors as there."""
        view, query = self._all.of_query(parse_query(text))
        return view.checked(query, epsilon)
