"""A small language for questions: conditions and arithmetic over columns, and queries much like SQL.

::

    query      = SELECT aggregate {, aggregate} [WITH INTERVAL | WITH SAMPLING] [FROM name] [WHERE condition]
                 [PER PERSON [how]] [GROUP BY column {, column}]
    aggregate  = COUNT(*) | COUNT(PERSONS) | COUNT(DISTINCT column) | SUM(value [, low, high]) | MEAN(...)
               | VARIANCE(...) | SD(...) | MEDIAN(...) | QUARTILES(...) | QUANTILE(value, share [, low, high])
               | QUANTILES(value, (share, ...) [, low, high]) | HISTOGRAM(column) | TOP(number, column)
    how        = FIRST | LAST | MIN | MAX | SUM | MEAN
    condition  = condition OR condition | condition AND condition | NOT condition | (condition) | comparison
    comparison = value (= | != | <> | < | <= | > | >=) value | value [NOT] IN (literal, ...)
               | value [NOT] BETWEEN value AND value | value IS [NOT] NULL
    value      = number | 'text' | column | "column" | value (+ | - | * | /) value | -value | (value)

Key words are written in any case. The parser builds a tree of the classes below; nothing of it is ever executed as
code. Every error says at which character it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import NoReturn, TypeVar

from deid.base.errors import ConfigError

T = TypeVar("T")

_WRITTEN = (
    "COUNT", "SUM", "MEAN", "AVG", "VARIANCE", "SD", "MEDIAN", "QUARTILES", "QUANTILE", "QUANTILES", "HISTOGRAM", "TOP"
)  # fmt: skip
PERSON_VALUES = ("first", "last", "min", "max", "sum", "mean")
"""What a person's value of a column can be."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)|(?P<text>'(?:[^']|'')*')|(?P<quoted>"(?:[^"]|"")*")"""
    r"""|(?P<word>[^\W\d]\w*)|(?P<sign><=|>=|!=|<>|[-+*/(),=<>]))"""
)
_MAX_DEPTH = 50
_MAX_TERMS = 250


@dataclass(frozen=True, slots=True)
class Literal:
    """A number or a text."""

    value: float | str
    position: int


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two values and a sign."""

    sign: str
    left: Value
    right: Value
    position: int


Value = Literal | ColumnRef | Arithmetic


@dataclass(frozen=True, slots=True)
class Predicate:
    """Two values and a sign."""

    sign: str
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class InList:
    """A value among literals."""

    value: Value
    among: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """A value between two others, ends included."""

    value: Value
    low: Value
    high: Value


@dataclass(frozen=True, slots=True)
class Missing:
    """A value that is not there."""

    value: Value


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Both:
    """Two conditions; ``word`` is AND or OR."""

    word: str
    left: Condition
    right: Condition


Condition = Predicate | InList | Between | Missing | Not | Both


@dataclass(frozen=True, slots=True)
class Query:
    """A question."""

    aggregate: str
    """As written, AVG as MEAN; PERSONS for COUNT(PERSONS), DISTINCT COUNT(DISTINCT column), VALUES COUNT(value)."""
    value: Value | None = None
    number: float | None = None
    """The share of QUANTILE, how many of TOP."""
    low: float | None = None
    high: float | None = None
    where: Condition | None = None
    per_person: str | None = None
    group_by: tuple[ColumnRef, ...] = ()
    # a request's question is its repr, which requests of older versions must find again
    shares: tuple[float, ...] = field(default=(), repr=False)
    """Those of QUANTILES."""
    interval: bool = field(default=False, repr=False)
    """Whether quantiles have intervals, which take half of epsilon."""
    sampling: bool = field(default=False, repr=False)
    """Whether intervals cover, beside the noise, that the rows are a sample of others; quantiles then have some."""
    others: tuple[Query, ...] = field(default=(), repr=False)
    """Further aggregates of the same rows."""

    def label(self) -> str:
        """Return an aggregate and its value as they are written: ``MEAN(age)``."""
        if self.aggregate in ("COUNT", "PERSONS"):
            return "COUNT(*)" if self.aggregate == "COUNT" else "COUNT(PERSONS)"
        if self.aggregate == "DISTINCT":
            return f"COUNT(DISTINCT {_written(self.value)})"
        share = f", {self.number:g}" if self.aggregate == "QUANTILE" else ""
        return f"{'COUNT' if self.aggregate == 'VALUES' else self.aggregate}({_written(self.value)}{share})"

    def described(self) -> str:
        """Return all that is asked but the condition, in words that tell any two different questions apart."""
        own = [repr(replace(self, where=None))]
        own += [f"shares={self.shares}"] if self.shares else []
        own += ["sampling"] if self.sampling else ["interval"] if self.interval else []
        return " ".join([*own, *(f"and {other.described()}" for other in self.others)])


def drawn_together(asked: Sequence[Query]) -> list[tuple[int, ...]]:
    """Return which aggregates are drawn at once, by their places: those of the same value and bounds, if one is a mean
    or a variance, from whose draws the others follow (`deid.dp.moments`). A number of values has no bounds of its own.
    """
    groups: dict[object, list[int]] = {}
    for place, own in enumerate(asked):
        if own.aggregate in ("SUM", "MEAN", "VARIANCE", "SD"):
            groups.setdefault((_written(own.value), own.low, own.high), []).append(place)
    found = [places for places in groups.values() if any(asked[place].aggregate != "SUM" for place in places)]
    for place, own in enumerate(asked):
        if own.aggregate == "VALUES":
            alike = [places for places in found if _written(asked[places[0]].value) == _written(own.value)]
            if alike:
                alike[0].append(place)
    joined = {place for places in found for place in places}
    return sorted(
        [*(tuple(sorted(own)) for own in found), *((place,) for place in range(len(asked)) if place not in joined)]
    )


def _written(value: Value | None) -> str:
    if isinstance(value, ColumnRef):
        return value.name
    if isinstance(value, Literal):
        return f"{value.value:g}" if isinstance(value.value, float) else f"'{value.value}'"
    return "" if value is None else f"({_written(value.left)} {value.sign} {_written(value.right)})"


def columns_of(tree: object) -> frozenset[str]:
    """Return the names of all columns in a query, a condition or a value."""
    if isinstance(tree, ColumnRef):
        return frozenset({tree.name})
    inner: Iterable[object] = ()
    if isinstance(tree, tuple):
        inner = tree
    elif is_dataclass(tree):
        inner = (getattr(tree, field.name) for field in fields(tree))
    return frozenset().union(*map(columns_of, inner))


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        self.depth = self.terms = 0
        place = 0
        while text[place:].strip():
            match = _TOKEN.match(text, place)
            if match is None:
                at = place + len(text[place:]) - len(text[place:].lstrip())
                raise ConfigError(f"the query cannot be read at character {at + 1}", "texts stand in 'single quotes'")
            kind = str(match.lastgroup)
            self.tokens.append((kind, match[kind], match.start(kind)))
            place = match.end()
        self.tokens.append(("end", "", len(text)))
        self.place = 0

    @property
    def position(self) -> int:
        return self.tokens[self.place][2] + 1

    def fail(self, wanted: str) -> NoReturn:
        kind, token, _ = self.tokens[self.place]
        found = "the query ends too early," if kind == "end" else f"the query has {token!r}"
        raise ConfigError(f"{found} at character {self.position}", f"{wanted} belongs here; see docs/dp-queries.md")

    def peek(self, *words: str) -> bool:
        kind, token, _ = self.tokens[self.place]
        return kind in ("word", "sign") and token.upper() in words

    def take(self, *words: str) -> str | None:
        if not self.peek(*words):
            return None
        self.place += 1
        return self.tokens[self.place - 1][1].upper()

    def need(self, word: str) -> None:
        if self.take(word) is None:
            self.fail(word)

    def column(self) -> ColumnRef:
        kind, token, _ = self.tokens[self.place]
        at = self.position
        if kind == "quoted":
            token = token[1:-1].replace('""', '"')
        elif kind != "word":
            self.fail("a column")
        self.place += 1
        return ColumnRef(token, at)

    def number(self) -> float:
        sign = -1.0 if self.take("-") else 1.0
        if self.tokens[self.place][0] != "number":
            self.fail("a number")
        self.place += 1
        return sign * float(self.tokens[self.place - 1][1])

    def literal(self) -> Literal:
        kind, token, _ = self.tokens[self.place]
        at = self.position
        if kind == "text":
            self.place += 1
            return Literal(token[1:-1].replace("''", "'"), at)
        return Literal(self.number(), at)

    def factor(self) -> Value:
        at = self.position
        if self.take("-"):
            return Arithmetic("-", Literal(0.0, at), self.deeper(self.factor), at)
        if self.take("("):
            inner = self.deeper(self.value)
            self.need(")")
            return inner
        return self.literal() if self.tokens[self.place][0] in ("number", "text") else self.column()

    def deeper(self, parse: Callable[[], T]) -> T:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ConfigError(f"the query is nested too deeply at character {self.position}", "use fewer parentheses")
        try:
            return parse()
        finally:
            self.depth -= 1

    def chain(self, operand: Callable[[], Value], *signs: str) -> Value:
        left = operand()
        while self.peek(*signs):
            self.count_term()
            at = self.position
            sign = self.take(*signs) or ""
            left = Arithmetic(sign, left, operand(), at)
        return left

    def listed(self, parse: Callable[[], T]) -> list[T]:
        found = [parse()]
        while self.take(","):
            found.append(parse())
        return found

    def count_term(self) -> None:
        self.terms += 1
        if self.terms > _MAX_TERMS:
            what = f"the query has more than {_MAX_TERMS} terms, at character {self.position}"
            raise ConfigError(what, "values of one column are written as column IN ('A', 'B')")

    def product(self) -> Value:
        return self.chain(self.factor, "*", "/")

    def value(self) -> Value:
        return self.chain(self.product, "+", "-")

    def comparison(self) -> Condition:
        left = self.value()
        sign = self.take("=", "!=", "<>", "<", "<=", ">", ">=")
        if sign:
            return Predicate("!=" if sign == "<>" else sign, left, self.value())
        if self.take("IS"):
            negated = self.take("NOT")
            self.need("NULL")
            return Not(Missing(left)) if negated else Missing(left)
        negated = self.take("NOT")
        found: Condition
        if self.take("IN"):
            self.need("(")
            found = InList(left, tuple(self.listed(self.literal)))
            self.need(")")
        elif self.take("BETWEEN"):
            low = self.value()
            self.need("AND")
            found = Between(left, low, self.value())
        else:
            self.fail("a comparison such as = or IN")
        return Not(found) if negated else found

    def negated(self) -> Condition:
        if self.take("NOT"):
            return Not(self.deeper(self.negated))
        if self.peek("("):  # of a condition, or of a value
            start, terms = self.place, self.terms
            try:
                self.place += 1
                inner = self.condition()
                self.need(")")
                return inner
            except ConfigError as error:
                furthest, first = self.place, error
            self.place, self.terms = start, terms
            try:
                return self.comparison()
            except ConfigError:
                if furthest >= self.place:
                    raise first from None  # the reading that came further tells the mistake
                raise
        return self.comparison()

    def joined(self, word: str, operand: Callable[[], Condition]) -> Condition:
        left = operand()
        while self.take(word):
            self.count_term()
            left = Both(word, left, operand())
        return left

    def conjunction(self) -> Condition:
        return self.joined("AND", lambda: self.deeper(self.negated))

    def condition(self) -> Condition:
        return self.joined("OR", self.conjunction)

    def bounds(self) -> tuple[float | None, float | None]:
        if not self.take(","):
            return None, None
        low = self.number()
        self.need(",")
        return low, self.number()

    def shares(self) -> tuple[float, ...]:
        self.need(",")
        self.need("(")
        found = self.listed(self.number)
        self.need(")")
        return tuple(found)

    def aggregate(self) -> Query:
        name = self.take(*_WRITTEN)
        if name is None:
            self.fail(f"one of {', '.join(_WRITTEN)}")
        name = "MEAN" if name == "AVG" else name
        self.need("(")
        value: Value | None = None
        number = low = high = None
        shares: tuple[float, ...] = ()
        if name == "COUNT":
            if self.take("PERSONS"):
                name = "PERSONS"
            elif self.take("DISTINCT"):
                name, value = "DISTINCT", self.column()
            elif self.take("*") is None:
                if self.peek(")"):
                    self.fail("*, PERSONS, DISTINCT or a value")
                name, value = "VALUES", self.value()
        elif name == "TOP":
            number = self.number()
            self.need(",")
            value = self.column()
        elif name == "HISTOGRAM":
            value = self.column()
        else:
            value = self.value()
            if name == "QUANTILE":
                self.need(",")
                number = self.number()
            elif name == "QUANTILES":
                shares = self.shares()
            elif name == "QUARTILES":
                name, shares = "QUANTILES", (0.25, 0.5, 0.75)
            low, high = self.bounds()
        self.need(")")
        return Query(name, value, number, low, high, shares=shares)

    def query(self) -> Query:
        self.need("SELECT")
        asked = self.listed(self.aggregate)
        interval = sampling = False
        if self.take("WITH"):
            sampling = self.take("SAMPLING") is not None
            interval = True
            if not sampling:
                self.need("INTERVAL")
        if self.take("FROM"):  # there is one table
            self.column()
        where = self.condition() if self.take("WHERE") else None
        how = None
        if self.take("PER"):
            self.need("PERSON")
            how = (self.take(*(own.upper() for own in PERSON_VALUES)) or "first").lower()
        group: list[ColumnRef] = []
        if self.take("GROUP"):
            self.need("BY")
            group = self.listed(self.column)
        first, *others = (replace(own, interval=interval, sampling=sampling) for own in asked)
        return replace(first, where=where, per_person=how, group_by=tuple(group), others=tuple(others))

    def end(self, wanted: str) -> None:
        if self.tokens[self.place][0] != "end":
            self.fail(wanted)


def parse_query(text: str) -> Query:
    """Return the tree of a query.

    Raises
    ------
    ConfigError
        Says at which character, and what belongs there.
    """
    parser = _Parser(text)
    query = parser.query()
    parser.end("WITH INTERVAL or SAMPLING, WHERE, PER PERSON, GROUP BY or the end")
    return query


def parse_condition(text: str) -> Condition:
    """Return the parsed condition; errors as those of `parse_query`."""
    parser = _Parser(text)
    condition = parser.condition()
    parser.end("AND, OR or the end")
    return condition


def parse_value(text: str) -> Value:
    """Return the parsed arithmetic value; errors as those of `parse_query`."""
    parser = _Parser(text)
    value = parser.value()
    parser.end("a sign or the end")
    return value
