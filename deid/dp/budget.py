"""The privacy budget: a ledger that cannot be overspent, also not by two processes at once or by a killed one.

A `Ledger` is one row of a database (`deid.base.store`): a total, what was spent, and whom it protects. Amounts are
integer nano-epsilons. A request is charged *before* any noise is drawn, in one transaction that checks and spends;
nothing is ever given back. Who is killed between the charge and the answer has paid for nothing: the same request is
not answered later, because what was drawn may have been seen.

A request has an id. The same id is charged once: when its answer was recorded, that answer is returned again (repeating
it tells nothing new); while there is none, it is refused; another question under the same id is refused too.

Composition. Charges add up (sequential composition, Dwork and Roth 2014, theorem 3.16). Questions about disjoint parts
of the table, split by the values of a column, cost the most expensive part only (parallel composition, McSherry 2009):
name the part in ``path``. Parts may be split again.

A file of SQLite holds every charge by itself (`deid.base.store.open_store`, ``whole``), so a copy of it has spent what
the original had. A ledger has an id, which releases carry beside the number of their charge: two releases with one id
and number come from two copies. Files are versioned; older ones are brought up to date when they are opened.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import sqlalchemy as sql

from deid.base.audit import login, now
from deid.base.errors import ConfigError, DeidError, StoreError, require
from deid.base.store import Store, made_whole, open_store
from deid.dp.accounts import Account, Charge, Part
from deid.dp.epsilon import NANO, show_nano, to_nano
from deid.dp.spent_here import charges_noted, check_charges, note_answer, note_charge
from deid.dp.unit import PrivacyUnit
from deid.dp.zcdp import check_delta, nano_rho_of_pure, rho_of

TABLES = sql.MetaData()
_BUDGET = sql.Table(
    "deid_budget",
    TABLES,
    sql.Column("name", sql.String(200), primary_key=True),
    sql.Column("total", sql.BigInteger, nullable=False),
    sql.Column("spent", sql.BigInteger, nullable=False),
    sql.Column("unit", sql.Text, nullable=False),
    sql.Column("relation", sql.String(20), nullable=False),
    sql.Column("max_rows", sql.Integer, nullable=False),
    sql.Column("note", sql.Text, nullable=False),
    sql.Column("created", sql.String(40), nullable=False),
    sql.CheckConstraint("spent >= 0 AND spent <= total", name="never_overspent"),
)
_PART = sql.Table(  # what each part and each partition has spent, by the path that leads to it
    "deid_budget_part",
    TABLES,
    sql.Column("budget", sql.String(200), primary_key=True),
    sql.Column("path", sql.String(64), primary_key=True),
    sql.Column("spent", sql.BigInteger, nullable=False),
)
_CHARGE = sql.Table(
    "deid_budget_charge",
    TABLES,
    sql.Column("budget", sql.String(200), primary_key=True),
    sql.Column("request", sql.String(200), primary_key=True),
    sql.Column("line", sql.BigInteger, nullable=False),
    sql.Column("asked", sql.BigInteger, nullable=False),
    sql.Column("charged", sql.BigInteger, nullable=False),
    sql.Column("path", sql.Text, nullable=False),
    sql.Column("purpose", sql.Text, nullable=False),
    sql.Column("question", sql.String(64), nullable=False),
    sql.Column("who", sql.Text, nullable=False),
    sql.Column("time", sql.String(40), nullable=False),
    sql.Column("answer", sql.Text),
    sql.UniqueConstraint("budget", "line"),
)
_FIRST_TABLES = tuple(TABLES.tables)  # of version 1
_LEDGER = sql.Table(
    "deid_ledger",
    TABLES,
    sql.Column("id", sql.String(32), primary_key=True),
    sql.Column("version", sql.Integer, nullable=False),
)
_PIN = sql.Table(  # what all requests of a budget must have in common, since the first that said it
    "deid_budget_pin",
    TABLES,
    sql.Column("budget", sql.String(200), primary_key=True),
    sql.Column("name", sql.String(40), primary_key=True),
    sql.Column("value", sql.Text, nullable=False),
)
_DELTAS = 10**30  # a delta is counted in whole parts of so many
_VERSION, _WITH_DELTA = 2, 3  # an older program would take rhos for epsilons


class BudgetExceeded(DeidError):
    """A request that costs more than what is left. Nothing was drawn, nothing was charged."""


class Ledger:
    """A budget in a database; made by `create` or `open`."""

    def __init__(self, store: Store, budget: str) -> None:
        self._store = store
        self._budget = budget
        self.id = _identify(store)
        """What tells this ledger from all others; 32 hexadecimal digits. A copy has the same."""

    @property
    def budget(self) -> str:
        """The budget's name."""
        return self._budget

    def __repr__(self) -> str:
        return f"Ledger({self._store.shown}, {self._budget})"

    @classmethod
    def create(
        cls,
        place: str | Path,
        epsilon: float,
        unit: PrivacyUnit,
        *,
        budget: str = "main",
        note: str = "",
        delta: float = 0.0,
        keys_delta: float = 0.0,
    ) -> Ledger:
        """Set up a budget.

        Parameters
        ----------
        place : str or Path
            SQLite file, or a URL ``postgresql://user@host/database``.
        epsilon : float
            The total that may ever be spent on one table.
        unit : PrivacyUnit
            Whom it protects; every request must be calibrated for this unit.
        budget : str
            Name, for databases that hold several.
        note : str
            Which table it is for.
        delta : float
            Above 0 for a budget that counts rhos (`deid.dp.zcdp`): all that is ever released is (epsilon, delta)-DP.
            Requests with a pure epsilon cost epsilon**2 / 2, those with Gaussian noise their rho.
        keys_delta : float
            What all values that are found by a threshold (`deid.dp.keys`) may add to delta; 0 allows none.

        Returns
        -------
        Ledger
            The ledger of the new budget.

        Raises
        ------
        ConfigError
            When there is a budget of this name already.
        """
        if not budget.strip() or len(budget) > 200:
            raise ConfigError("a budget needs a name of at most 200 characters", "for example: --budget main")
        row = {
            "name": budget,
            "total": to_nano(epsilon, up=False) if not delta else math.floor(rho_of(epsilon, delta) * NANO),
            "spent": 0,
            "unit": unit.name,
            "relation": unit.relation,
            "max_rows": unit.max_rows,
            "note": note,
            "created": now(),
        }
        with made_whole(place):
            store = open_store(place, TABLES, create=True, whole=True)
            with store.writing() as connection:
                if connection.execute(sql.select(_BUDGET.c.name).where(_BUDGET.c.name == budget)).first() is not None:
                    raise ConfigError(
                        "there is a budget of this name already; a budget is never set up twice",
                        "see it with: deid budget show; a budget for another table needs another file or --budget NAME",
                    )
                require(row["total"], "epsilon is too small for this delta", "give more epsilon")
                connection.execute(_BUDGET.insert(), row)
                if delta:
                    connection.execute(_PIN.insert(), {"budget": budget, "name": "delta", "value": repr(float(delta))})
                for name, value in (("keys delta", keys_delta), ("keys spent", 0.0)) if keys_delta else ():
                    kept = str(math.floor(Fraction(repr(check_delta(value))) * _DELTAS)) if value else "0"
                    connection.execute(_PIN.insert(), {"budget": budget, "name": name, "value": kept})
        ledger = cls(store, budget)
        if delta:
            with store.writing() as connection:
                connection.execute(_LEDGER.update(), {"version": _WITH_DELTA})
        return ledger

    @classmethod
    def open(cls, place: str | Path, *, budget: str = "main") -> Ledger:
        """Open a budget that was set up.

        Parameters
        ----------
        place : str or Path
            SQLite file, or a URL ``postgresql://user@host/database``.
        budget : str
            Name of the budget in it.

        Returns
        -------
        Ledger
            The ledger of this budget.

        Raises
        ------
        StoreError
            When there is no such database or budget.
        """
        first = sql.MetaData()
        for name in _FIRST_TABLES:
            TABLES.tables[name].to_metadata(first)
        ledger = cls(open_store(place, first, whole=True), budget)
        ledger.account()
        return ledger

    def close(self) -> None:
        """Close the database."""
        self._store.close()

    def others(self) -> list[str]:
        """Return the other budgets of the same database, which must be for other tables."""
        with self._store.reading() as connection:
            names = connection.execute(sql.select(_BUDGET.c.name).order_by(_BUDGET.c.name)).scalars()
            return [str(name) for name in names if name != self._budget]

    def person(self) -> str | None:
        """Return the column by which all requests enforce the unit's bound; None while none has."""
        with self._store.reading() as connection:
            return self._pinned(connection, "person")

    def _pinned(self, connection: sql.Connection, name: str) -> str | None:
        query = sql.select(_PIN.c.value).where(_PIN.c.budget == self._budget, _PIN.c.name == name)
        return connection.execute(query).scalar()

    def receipt(self, charge: Charge) -> dict[str, Any]:
        """Return what a release says of its charge."""
        return {"id": self.id, "budget": self._budget, "line": charge.line}

    def account(self) -> Account:
        """Return what was set up, and what was spent."""
        seen = charges_noted(self.id, self._budget)
        with self._store.reading() as connection:
            return self._account(connection, seen)

    def _account(self, connection: sql.Connection, seen: int = 0, *, lock: bool = False) -> Account:
        query = sql.select(_BUDGET).where(_BUDGET.c.name == self._budget)
        row = connection.execute(query.with_for_update() if lock else query).first()
        if row is None:
            raise StoreError("there is no such budget in this database", "run: deid budget init", self._store.shown)
        check_charges(self._charges(connection), seen, self._store.shown)
        unit = PrivacyUnit(row.unit, row.relation, row.max_rows)
        delta = float(self._pinned(connection, "delta") or 0.0)
        keys = [int(self._pinned(connection, name) or 0) / _DELTAS for name in ("keys delta", "keys spent")]
        return Account(row.name, row.total, row.spent, unit, row.note, row.created, delta, *keys)

    def _charges(self, connection: sql.Connection) -> int:
        lines = sql.select(sql.func.count()).where(_CHARGE.c.budget == self._budget)
        return int(connection.execute(lines).scalar_one())

    def charge(
        self,
        epsilon: float,
        request: str,
        *,
        unit: PrivacyUnit,
        purpose: str,
        question: Any = None,
        path: Sequence[Part] = (),
        person: str | None = None,
        rho: float | None = None,
        delta: float = 0.0,
        who: str | None = None,
    ) -> Charge:
        """Pay for a question before it is answered.

        Parameters
        ----------
        epsilon : float
            Its cost; rounded up to nano-epsilons.
        request : str
            Its id; at most 200 characters.
        unit : PrivacyUnit
            The unit that its noise is calibrated for; must be the budget's.
        purpose : str
            What is asked, for the history.
        question : JSON value, optional
            All that defines the question; a repetition under the same id must be about the same.
        path : sequence of (partition, part)
            The part of the table that is asked about, outermost first; empty for the whole table.
        person : str, optional
            The column by which the unit's bound is enforced. The first one that a budget sees is the only one that it
            takes: a person by one column is not one by another.
        rho : float, optional
            What Gaussian noise costs, for a budget with a delta; ``epsilon`` is then said, not charged.
        delta : float
            What values that are found by a threshold cost beside. Deltas add up, in every part of the table (Dwork and
            Roth 2014, theorem 3.16); with rhos it is the delta of approximate zCDP (Bun and Steinke 2016, section 8).
        who : str, optional
            Who asks; the account by default.

        Returns
        -------
        Charge
            With ``answer`` when the request was answered before: return that, and draw nothing.

        Raises
        ------
        BudgetExceeded
            When it costs more than what is left; nothing is charged, and cheaper requests can still be made.
        ConfigError
            When the id was used for another question, or was charged and never answered, or the unit or the column
            of the person differs.
        StoreError
            When the user saw more charges than there are (`deid.dp.spent_here`).
        """
        to_nano(epsilon)
        route = tuple((str(partition), str(part)) for partition, part in path)
        if not request.strip() or len(request) > 200:
            raise ConfigError("a request needs an id of at most 200 characters", "leave it out for a new one")
        seen = charges_noted(self.id, self._budget)
        with self._store.writing() as connection:
            account = self._account(connection, seen, lock=True)
            asked = _cost(account, epsilon, rho)
            fingerprint = _digest([asked, route, question])
            if unit != account.unit:
                raise ConfigError(
                    f"the question is calibrated for another unit than the budget's: {account.unit}",
                    "use the unit, relation and bound that the budget was set up with",
                )
            before = self._find(connection, request)
            if before is not None:
                return _replayed(before, fingerprint)
            self._pin_person(connection, account, person)
            rise = self._rise(connection, route, asked)
            if rise > account.remaining:
                of = "the budget's rho" if account.delta else "the budget"
                raise BudgetExceeded(
                    f"the request costs {show_nano(rise)} and {show_nano(account.remaining)} of {of} is left",
                    "ask with less epsilon; nothing was charged",
                )
            if delta:
                self._spend_delta(connection, delta)
            connection.execute(_BUDGET.update().where(_BUDGET.c.name == self._budget), {"spent": account.spent + rise})
            row = {
                "budget": self._budget,
                "request": request,
                "line": 1 + self._charges(connection),
                "asked": asked,
                "charged": rise,
                "path": json.dumps(route),
                "purpose": purpose,
                "question": fingerprint,
                "who": who or login(),
                "time": now(),
                "answer": None,
            }
            connection.execute(_CHARGE.insert(), row)
        charge = _charge(row)
        note_charge(self.id, self._budget, charge.line, request)
        return charge

    def _spend_delta(self, connection: sql.Connection, delta: float) -> None:
        total, spent = (int(self._pinned(connection, name) or 0) for name in ("keys delta", "keys spent"))
        if not total:
            raise ConfigError(
                "this budget allows no values that are found by a threshold",
                "declare the values, or set up a budget with deid budget init --keys-delta 1e-6",
            )
        asked = math.ceil(Fraction(repr(check_delta(delta))) * _DELTAS)
        if asked > total - spent:
            left = (total - spent) / _DELTAS
            raise BudgetExceeded(
                f"the request costs a delta of {delta:g} and {left:g} is left for finding values",
                "ask with less; nothing was charged",
            )
        pin = sql.and_(_PIN.c.budget == self._budget, _PIN.c.name == "keys spent")
        connection.execute(_PIN.update().where(pin), {"value": str(spent + asked)})

    def _pin_person(self, connection: sql.Connection, account: Account, person: str | None) -> None:
        """Refuse another column of the person than the first; the transaction undoes the pin of a request refused."""
        pinned = self._pinned(connection, "person")
        if pinned is None and person is not None:
            connection.execute(_PIN.insert(), {"budget": self._budget, "name": "person", "value": person})
        if pinned is not None and person != pinned and not (person is None and account.unit.name == "row"):
            raise ConfigError(
                f"this budget bounds the rows of a {account.unit.name} by another column, {pinned!r}",
                f"use --person {pinned}: who is one person by one column is not by another",
            )

    def _find(self, connection: sql.Connection, request: str) -> Any:
        query = sql.select(_CHARGE).where(_CHARGE.c.budget == self._budget, _CHARGE.c.request == request)
        return connection.execute(query).mappings().first()

    def _rise(self, connection: sql.Connection, route: tuple[Part, ...], asked: int) -> int:
        """Book ``asked`` on a part and all partitions above it; return by how much the whole table's cost rises."""
        rise = asked
        for depth in range(len(route), 0, -1):
            # a part adds up its own questions; a partition costs as much as its most expensive part
            part = self._spent(connection, route[:depth], "part")
            self._book(connection, route[:depth], "part", part + rise)
            most = self._spent(connection, route[:depth], "partition")
            rise = max(0, part + rise - most)
            if rise:
                self._book(connection, route[:depth], "partition", most + rise)
        return rise

    def _where(self, route: tuple[Part, ...], kind: str) -> sql.ColumnElement[bool]:
        return sql.and_(_PART.c.budget == self._budget, _PART.c.path == _part_key(route, kind))

    def _spent(self, connection: sql.Connection, route: tuple[Part, ...], kind: str) -> int:
        spent = connection.execute(sql.select(_PART.c.spent).where(self._where(route, kind))).scalar()
        return int(spent or 0)

    def _book(self, connection: sql.Connection, route: tuple[Part, ...], kind: str, spent: int) -> None:
        if not connection.execute(_PART.update().where(self._where(route, kind)), {"spent": spent}).rowcount:
            row = {"budget": self._budget, "path": _part_key(route, kind), "spent": spent}
            connection.execute(_PART.insert(), row)

    def answer(self, request: str, text: str) -> str:
        """Record what a charged request is answered with, before it is shown.

        Returns
        -------
        str
            The recorded answer: ``text``, or an earlier one, which is to be shown instead.

        Raises
        ------
        ConfigError
            When the request was never charged.
        """
        with self._store.writing() as connection:
            self._account(connection, lock=True)
            row = self._find(connection, request)
            require(row is not None, "this request was never charged", "charge it first")
            if row["answer"] is not None:
                return str(row["answer"])
            where = sql.and_(_CHARGE.c.budget == self._budget, _CHARGE.c.request == request)
            connection.execute(_CHARGE.update().where(where), {"answer": text})
        note_answer(request)
        return text

    def history(self) -> list[Charge]:
        """Return all charges, in order."""
        query = sql.select(_CHARGE).where(_CHARGE.c.budget == self._budget).order_by(_CHARGE.c.line)
        with self._store.reading() as connection:
            self._account(connection)
            return [_charge(row) for row in connection.execute(query).mappings()]


def _cost(account: Account, epsilon: float, rho: float | None) -> int:
    """Return what a request costs in the budget's nanos, rounded up."""
    if not account.delta:
        require(
            rho is None, "this budget counts pure epsilon, which Gaussian noise has none of",
            "leave out --gaussian, or set up a budget with deid budget init --delta",
        )  # fmt: skip
        return to_nano(epsilon)
    if rho is None:
        return nano_rho_of_pure(epsilon)
    require(math.isfinite(rho) and rho > 0, "the cost must be a positive number", "for example: --epsilon 0.5")
    return max(math.ceil(Fraction(rho) * NANO), 1)


def _replayed(row: Any, fingerprint: str) -> Charge:
    if row["question"] != fingerprint:
        raise ConfigError("this request id was used for another question", "use a new id for each question")
    if row["answer"] is None:
        raise ConfigError(
            "this request was charged and has no recorded answer: it is being worked on, or was interrupted",
            "what was drawn may have been seen, so it is not drawn again; ask under a new id, which costs again",
        )
    return _charge(row)


def _charge(row: Any) -> Charge:
    fields = ("request", "line", "asked", "charged", "purpose", "who", "time", "answer")
    path = tuple((partition, part) for partition, part in json.loads(row["path"]))
    return Charge(path=path, **{name: row[name] for name in fields})


def _identify(store: Store) -> str:
    """Return a database's id, and bring one of an older version up to date.

    Raises
    ------
    StoreError
        When it was made by a newer version.
    """
    with store.reading() as connection:
        known = sql.inspect(connection).has_table(_LEDGER.name)
        row = connection.execute(sql.select(_LEDGER)).first() if known else None
    if row is None:
        with store.writing() as connection:
            connection.execute(sql.select(_BUDGET.c.name).with_for_update()).all()  # others wait, then find it done
            TABLES.create_all(connection)
            row = connection.execute(sql.select(_LEDGER)).first()
            if row is None:
                connection.execute(_LEDGER.insert(), {"id": secrets.token_hex(16), "version": _VERSION})
                row = connection.execute(sql.select(_LEDGER)).one()
    if row.version > _WITH_DELTA:
        raise StoreError("the ledger was made by a newer version", "update this program", store.shown)
    return str(row.id)


def _part_key(route: tuple[Part, ...], kind: str) -> str:
    """Return the key of a part, or of the partition that it belongs to: paths can be longer than a column."""
    return _digest([*route[:-1], route[-1] if kind == "part" else route[-1][0]])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
