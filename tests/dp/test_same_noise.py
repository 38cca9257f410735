"""Releases with seeded noise, plans, forecasts and refusals that the next version finds again (`pinned`).

What a seed draws is no promise to a user, but what is made of the draws is: levels, floors, intervals, costs.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pinned import Pinned, left_unsaid

from deid.base.errors import DeidError
from deid.dp import QuerySession, query_language
from deid.dp.aggregates import Drawing
from deid.dp.budget import Ledger
from deid.dp.cube import plan_cube, release_cube
from deid.dp.diffpart import balanced_taxonomy, diffpart
from deid.dp.domain import Dimension, declare
from deid.dp.domain_options import parse_condition, parse_flag, parse_slices
from deid.dp.dpcube import dpcube
from deid.dp.epsilon import from_nano, payable, show_nano, split_epsilon, to_nano
from deid.dp.forecast import (
    epsilon_for,
    fidelity_sections,
    forecast,
    forecast_levels,
    forecast_sections,
    query_sections,
    sequence_sections,
)
from deid.dp.intervals import check_level, discrete_half_width, half_width, standard_half_width
from deid.dp.keys import find_keys, plan_keys
from deid.dp.marginals import choose_cuboids, closure
from deid.dp.methods import METHODS
from deid.dp.moments import noisy_moments
from deid.dp.noise import SeededNoise, laplace_scale
from deid.dp.query_language import parse_query, parse_value
from deid.dp.release import read_release, write_release
from deid.dp.sequences import plan_sequences, release_sequences
from deid.dp.survival import survival
from deid.dp.synthetic import check_fidelity, dimensions_of, plan_fidelity, synthesize
from deid.dp.unit import PrivacyUnit, bounded_rows, rows_without_person
from deid.dp.zcdp import epsilon_of, rho_of, split_rho

DIMENSIONS = (
    declare("age", {"range": [0, 19]}),
    declare("sex", {"values": ["F", "M"]}),
    declare("dose", {"edges": [0, 5, 10, 20]}),
)
WIDE = (
    *DIMENSIONS,
    declare("day", {"dates": ["2020-01-01", "2020-12-31"], "by": "month"}),
    declare("flag", {"values": ["y", "n"]}),
)
LEVEL = declare("level", {"values": ["zero", "low", "high"]})
PERIODS = ["q1", "q2", "q3"]
FITTED = {"forest", "adaptive"}  # ten times as long as the others; and a fit of many rounds is not the same everywhere
UNITS = {"rows": PrivacyUnit(), "persons": PrivacyUnit("patient", max_rows=2)}
QUERIES = """COUNT(*)|COUNT(*) WHERE age < 9|COUNT(*) GROUP BY sex|COUNT(*) GROUP BY sex, dose|COUNT(PERSONS)|SUM(age)
|SUM(dose, 0, 8)|MEAN(age) WHERE sex = 'F'|MEAN(dose)|MEDIAN(age)|QUANTILE(age, 0.9)
|QUANTILE(dose, 0.25) GROUP BY sex|HISTOGRAM(dose)|TOP(2, age)|TOP(1, sex) WHERE age > 3
|SUM(age * 2, 0, 40) GROUP BY sex|COUNT(*) WHERE NOT (age BETWEEN 3 AND 7 OR sex IN ('M'))
|SUM(dose) PER PERSON SUM|MEAN(age) PER PERSON MAX|COUNT(*) WHERE dose IS NULL|HISTOGRAM(nothing)|MEAN(sex)
|TOP(0, age)|SUM(age, 9, 3)|COUNT|QUANTILE(age, 1.5)|COUNT(*) GROUP BY age, sex, dose|MIN(age)|COUNT(*) WHERE
|COUNT(*) WHERE age = 'x'|SUM(age) GROUP BY sex PER PERSON FIRST"""


@functools.cache
def frame(rows: int = 300) -> pd.DataFrame:
    """Visits; some cells lie outside of the domains, some persons are not known."""
    draw = np.random.default_rng(7)
    table = pd.DataFrame(
        {
            "age": np.clip(draw.normal(8, 4, rows).round(), -1, 21).astype(int).astype(str),
            "sex": draw.choice(["F", "M", "?"], rows, p=[0.5, 0.48, 0.02]),
            "dose": draw.random(rows).round(3) * 22,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(draw.integers(0, 370, rows), unit="D"),
            "flag": draw.choice(["y", "n", None], rows),
            "who": [None if n % 50 == 0 else f"p{n % 90}" for n in range(rows)],
        }
    )
    for period in PERIODS:
        table[period] = draw.choice(["zero", "low", "high", None], rows, p=[0.5, 0.3, 0.15, 0.05])
    return table


def cube(method: str, dimensions: tuple[Dimension, ...], epsilon: float, unit: str, **options: Any) -> Any:
    person = {"person": "who"} if unit == "persons" else {}
    slices = [["age"], ["age", "sex"], ["sex", "dose"]] if method == "marginals" else []
    return plan_cube(dimensions, epsilon, UNITS[unit], method=method, slices=slices, **person, **options)


def released(method: str, dimensions: tuple[Dimension, ...], epsilon: float, unit: str, **options: Any) -> object:
    made = release_cube(frame(), cube(method, dimensions, epsilon, unit, **options), ledger=None, noise=SeededNoise(3))
    frames = [made.slice(["sex"]), made.slice(["dose", "sex"]), made.to_frame()]
    return [made, frames, synthesize(made, seed=2), dimensions_of(made)]


def planned(method: str, epsilon: float, unit: str) -> object:
    plan = cube(method, DIMENSIONS, epsilon, unit)
    return [plan, forecast(plan), epsilon_for(plan, 10.0), forecast_sections(plan, 5.0)]


def sequences(method: str, epsilon: float, unit: str, **options: Any) -> object:
    person = {"person": "who"} if unit == "persons" else {}
    plan = plan_sequences(LEVEL, PERIODS, epsilon, UNITS[unit], method=method, **person, **options)
    made = release_sequences(frame(), plan, ledger=None, noise=SeededNoise(4))
    prefixes = [made.prefixes(length) for length in (1, 2, 3)]
    slopes = [made.slopes(3), made.prefix(["low"], 0.9), made.prefix(["zero", "zero"], predict=True)]
    return [made, prefixes, slopes, made.to_frame(), forecast_levels(plan), sequence_sections(plan), synthesize(made)]


def patterned(method: str, unit: str, length: int | None) -> object:
    """Return what a release says of patterns in sequences of some length, and of what is none."""
    person = {"person": "who"} if unit == "persons" else {}
    plan = plan_sequences(LEVEL, PERIODS, 3.0, UNITS[unit], method=method, ends=method == "tree", **person)
    made = release_sequences(frame(), plan, ledger=None, noise=SeededNoise(8))
    of = functools.partial
    asked = [of(made.then, *pair, within, length) for pair in PAIRS for within in (None, 0, 1, 2, 9)]
    asked += [of(made.ever, levels, length, 0.5) for levels in (["low"], ["low", "high"], [], ["none"])]
    asked += [of(made.prefix, prefix) for prefix in (["low"], ["low", "zero", "zero"], ["low"] * 4, [])]
    return [[tried(question) for question in asked], made.labels, tried(made.slopes, length or 2)]


PAIRS = (("low", "high"), ("zero", "zero"), ("high", "none"))


def lived(epsilon: float, **options: Any) -> object:
    """Return survival curves of a release over time, event and a column, or why there are none."""
    plan = plan_cube([WIDE[4], *DIMENSIONS[:2]], epsilon, UNITS["rows"], method="cells")
    made = release_cube(frame().head(120), plan, ledger=None, noise=SeededNoise(9))
    return tried(functools.partial(survival, made, options.pop("time", "age"), "flag", **options))


CURVES: tuple[dict[str, Any], ...] = (
    {"happened": "y"}, {"happened": "y,n"}, {"happened": "z"}, {"happened": ""}, {"happened": "y", "by": ["sex"]},
    {"happened": "n", "where": {"sex": "F"}}, {"happened": "y", "level": 0.5}, {"happened": "y", "sampling": False},
    {"happened": "y", "time": "sex"}, {"happened": "y", "by": ["age"]}, {"happened": "y", "where": {"age": "3"}},
    {"happened": "y", "by": ["sex"], "where": {"sex": "M"}}, {"happened": "y", "level": 2.0},
)  # fmt: skip


def viewed(epsilon: float, unit: str) -> object:
    """Return what a session answers that is asked by its methods, of parts and persons, and what is left."""
    person = {"person": "who"} if unit == "persons" else {}
    session = QuerySession(frame(), DIMENSIONS, None, noise=SeededNoise(5), unit=UNITS[unit], **person)
    table, of = session.table, functools.partial
    answers: list[object] = []
    nobody = table.where("age < 9 AND age > 9")
    for view in (table, table.where("age < 9"), nobody, *list(table.partition("sex").values())[:1]):
        asked = [
            of(view.count, epsilon), of(view.count_persons, epsilon), of(view.sum, "dose", epsilon),
            of(view.sum, "age", epsilon, low=0, high=5), of(view.mean, "age", epsilon),
            of(view.median, "dose", epsilon),
            of(view.quantile, "age", 0.9, epsilon), of(view.quantiles, "age", [0.1, 0.5], epsilon),
            of(view.variance, "age", epsilon), of(view.histogram, "sex", epsilon), of(view.top, "age", 2, epsilon),
            of(view.count, 0.0), of(view.sum, "sex", epsilon), of(view.histogram, "day", epsilon),
        ]  # fmt: skip
        answers += [tried(lambda one=one: one().to_frame()) for one in asked]
    answers += [tried(lambda how=how: table.by_person(how).count(epsilon).to_frame()) for how in ("first", "sum", "x")]
    answers += [tried(table.partition, "age"), tried(table.partition, "none"), tried(table.where, "age <")]
    return [*answers, tried(lambda: table.select("more", "age + 1", 0, 9).sum("more", epsilon).to_frame())]


def keyed(column: str, epsilon: float, delta: float, unit: str) -> object:
    """Return which values of a column are found, or why none are looked for."""
    person = {"person": "who"} if unit == "persons" else {}
    plan = plan_keys(column, epsilon, delta, UNITS[unit], **person)
    found = find_keys(frame(), plan, ledger=None, request="q", noise=SeededNoise(2))
    return [found, found.to_frame(), plan.threshold, plan.found_from, plan.question(), sorted(found.as_dict())]


def shared(method: str) -> object:
    """Return shares and counts of slices with conditions, or why there are none; also of a column called share."""
    plan = plan_cube([declare("share", {"values": ["F", "M"]}), *DIMENSIONS[::2]], 2.0, UNITS["rows"], method=method)
    made = release_cube(frame().rename(columns={"sex": "share"}), plan, ledger=None, noise=SeededNoise(6))
    of = functools.partial
    asked = [
        of(made.slice, dims, share=share, where=where, level=level, sampling=sampling)
        for dims, share in ((["dose"], "dose"), (["share"], None), (["share"], "share"), (["age"], "dose"), ([], None),
                            (["dose", "age"], "age"), (["none"], None), (["dose", "dose"], None))
        for where, level, sampling in ((None, None, True), ({"share": "F"}, 0.5, False), ({"age": "0..4"}, None, False),
                                       ({"age": "z"}, None, True))
    ]  # fmt: skip
    return [tried(question) for question in asked]


def answer(text: str, epsilon: float, unit: str) -> object:
    person = {"person": "who"} if unit == "persons" else {}
    session = QuerySession(frame(), DIMENSIONS, None, noise=SeededNoise(5), unit=UNITS[unit], **person)
    return [parse_query(f"SELECT {text}"), session.query(f"SELECT {text}", epsilon).to_frame()]


VALUES = ("age", "age + 2 * dose", "-(age - 3) / 2", '"a ""b""" - -1.5', "age age", "+", "(age", "3 * 'x'")
CONDITIONS = (
    "age < 3 AND NOT sex = 'F'",
    "age BETWEEN -1 AND 3.5 OR sex NOT IN ('F', 'M')",
    "dose IS NOT NULL AND (age <> 3 OR age >= 1e3)",
    "sex = 'it''s' OR NOT NOT age * 2 <= dose",
)
MORE = (
    "SELECT QUANTILES(dose, 0.1, 0.5 BETWEEN 0 AND 9) WITH INTERVAL WHERE age < 3 GROUP BY sex",
    "SELECT COUNT(*), MEAN(age BETWEEN 0 AND 9), COUNT(DISTINCT sex), SD(dose), VARIANCE(age) GROUP BY sex",
    "SELECT QUARTILES(age), COUNT(PERSONS) PER PERSON MAX",
)


def changed(parse: Callable[[str], object], text: str) -> object:
    """Return what is read of a text, and of it without or with twice each of its words and signs, or what is said."""
    parts = re.findall(r"\s*(?:'[^']*'|\"[^\"]*\"|[\w.]+|\S)", text)
    texts = [text, text.lower()]
    for n, part in enumerate(parts):
        texts += ["".join((*parts[:n], *own, *parts[n + 1 :])) for own in ((), (part, f" {part.strip()}"), (" ,",))]
    return [[tried(parse, own) for own in texts]]


def tried(question: Callable[..., object], *asked: object) -> object:
    """Return an answer with how it is written, or what is said instead."""
    try:
        found = question(*asked)
    except (DeidError, ValueError) as error:
        return str(error)
    said = [found, *getattr(found, "others", ())]
    return [said, [(one.label(), one.described()) for one in said if hasattr(one, "described")]]


DECLARED: tuple[dict[str, Any], ...] = (
    {"range": [0, 9]},
    {"range": [9, 0]},
    {"range": [3, 3]},
    {"range": [-5, 9], "width": 4},
    {"range": [0, 9], "width": 0},
    {"range": [0, 10**9]},
    {"range": [10**16, 10**16 + 5]},
    {"range": [0, 9], "outside": "clip"},
    {"range": ["a", 3]},
    {"edges": [1]},
    {"edges": []},
    {"edges": [1, 1]},
    {"edges": [1, 2.5]},
    {"edges": [2, 1]},
    {"edges": [0, float("inf")]},
    {"edges": [0, 1, 2], "outside": "clip"},
    {"values": []},
    {"values": ["a", "a"]},
    {"values": ["1", "1.0", "01", "x"]},
    {"values": ["a", "b", "c", "d", "e"]},
    {"values": ["a", "b", "c"]},
    {"values": "ab"},
    {"values": ["a"], "range": [0, 1]},
    {"dates": ["2019-11-30", "2020-02-01"], "by": "month"},
    {"dates": ["2019-11-30", "2020-02-01"], "by": "quarter"},
    {"dates": ["2019-11-30", "2020-02-01"]},
    {"dates": ["2020-02-01", "2019-11-30"]},
    {"dates": ["2020", "2021"]},
    {"dates": ["2019-11-30", "2020-02-01"], "by": "day"},
    {"from_data": True},
    {"from_data": True, "public_source": "x"},
    {"from_data": True, "public_source": "x", "values": ["a"]},
    {"what": 3},
    {},
)
CELLS = pd.Series(
    [
        "0",
        "1",
        "1.0",
        "01",
        " 2",
        "-5",
        "9",
        "9.5",
        "10",
        "x",
        "a",
        "c",
        "",
        None,
        "2019-12-31",
        "2020-01",
        "2020-02-29T05:06",
        "1e0",
        "nan",
        "inf",
        "2019-10-01",
        "2.5",
    ]
)


def declared(declaration: dict[str, Any]) -> object:
    """Return a domain, where cells of a table fall, and what conditions select of it."""
    own = declare("c", declaration)
    asked = ("1", "1,2", "0..1", "1..9", "a..c", "c..a", "z", "", "..", "2019", "2019-12", "2020-Q1..2020-Q1", "[0,1)")
    named = [tried(own.name_cells, [text]) for text in ("1", "1.0", "a", "d", "zz")]
    return [own, len(own), own.source, own.codes(CELLS), [tried(own.select, t) for t in asked], named]


def drawn(seed: int) -> object:
    """Return what seeded noise makes of numbers, of none, and of what would not protect."""
    noise = SeededNoise(seed)
    answers: list[object] = [noise.label, noise.private]
    for values in (np.zeros(0, np.int64), np.array([3, -2, 10**9]), np.array([[1, 2], [3, 4]])):
        answers += [noise.discrete_laplace(values, s, e) for s, e in ((1, 0.01), (2, 1.0), (1, 90.0))]
        answers += [noise.discrete_gaussian(values, s, r) for s, r in ((1, 1e-12), (1, 0.1), (3, 50.0))]
        answers += [noise.laplace(values, scale) for scale in (1e-3, 1.0, 1e6)]
    answers += [
        noise.choose(scores, 1, e) for scores in ([1, 2, 3], [0], [5, 5, -9]) for e in (0.1, 5.0) for _ in range(4)
    ]
    bad = ((0, 1.0), (1, 0.0), (1, -1.0), (1, float("nan")), (1, float("inf")), (-1, 1.0), (1, 1e-300), (1, 1e300))
    for how in (noise.discrete_laplace, noise.discrete_gaussian, noise.choose):
        answers += [tried(how, [1, 2], s, e) for s, e in bad]
    return [*answers, [tried(noise.laplace, [1.0], scale) for scale in (0, -1, float("nan"), float("inf"))]]


def figured() -> object:
    """Return how budgets are counted, between what is too little and what is too much."""
    texts = ("0", "-1", "1e-10", "1e-9", "0.1", "0.30000000000000004", "1", "1e3", "x", "", "inf", "nan", "1/3",
             str(Fraction(2**62, 10**9)), str(Fraction(2**62 + 1, 10**9)), "4611686018.5")  # fmt: skip
    of = functools.partial
    nano = [tried(of(to_nano, up=up), text) for text in texts for up in (True, False)]
    rhos = [tried(rho_of, e, d) for e in (1e-9, 1e-6, 0.1, 1.0, 30.0) for d in (1e-12, 1e-6, 0.1, 0, 1, -1)]
    back = [tried(epsilon_of, r, d) for r in (0, 1e-9, 0.1, 3.0) for d in (1e-6, 0.5, 0, 1)]
    weights = ([1], [1, 1, 1], [1, 0], [], [1, -1], [1e-12, 1], [float("nan"), 1])
    parts = [*(tried(split_epsilon, 1.0, w) for w in weights), split_rho(1.0, [1]), split_rho(0.3, [1, 2, 4])]
    return [
        nano,
        rhos,
        back,
        parts,
        [from_nano(n) for n in (1, 3, 10**9, 2**62)],
        [show_nano(n) for n in (1, 10**9 + 5)],
        [tried(check_level, level) for level in (0, 0.49, 0.5, 0.9999, 1, float("nan"))],
    ]


def moments(sampling: int, level: float) -> object:
    values = np.random.default_rng(2).gamma(2.0, 9.0, 300)
    how = Drawing(1.5, SeededNoise(3), 1, level, sampling=sampling)
    return noisy_moments(values, ["MEAN", "SUM", "VALUES", "VARIANCE", "SD"], 0.0, 60.0, how)


def steps(options: dict[str, Any]) -> object:
    """Return a plan of sequences, or why it is none."""
    return plan_sequences(LEVEL, options.pop("columns", PERIODS), 1.0, UNITS["rows"], **options)


STEPS: tuple[dict[str, Any], ...] = (
    *({"threshold": t} for t in (-0.1, 0, 999, 1000, float("nan"))),
    *(
        {"weights": w}
        for w in ({0: 1}, {1: 1}, {3: 2, 1: 1}, {4: 1}, {1: 0}, {1: 1e9}, {1: 9e8}, {1: -1}, {1: float("nan")}, {})
    ),
    *({"columns": c} for c in ([], ["q1"], ["q1", "q1"])),
    {"method": "forest"},
    {"ends": True},
    {"ends": True, "method": "markov"},
)


def read_back(change: str, value: object) -> object:
    """Return a release that was written and read again, or what is said of one whose metadata are other ones."""
    made = release_cube(frame(), cube("marginals", DIMENSIONS, 1.0, "rows"), ledger=None, noise=SeededNoise(3))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "r.csv")
        write_release(made, path)
        beside = Path(folder, "r.csv.json")
        said = json.loads(beside.read_text())
        if change in said and value is None:
            del said[change]
        elif change:
            said[change] = value
        beside.write_text(json.dumps(said))
        try:
            again = read_release(path)
            return [sorted(said), again.slice(["sex"]), again.to_frame(), dimensions_of(again)]
        except DeidError as error:
            return str(error).replace(folder, "")


def crowded(never: tuple[dict[str, str], ...], rows: int) -> object:
    """Return rows that are drawn where nearly all that a release shows can never be."""
    table = pd.DataFrame({"age": ["3"] * 400, "sex": ["F"] * 398 + ["M"] * 2, "dose": ["1"] * 400})
    made = release_cube(table, cube("cells", DIMENSIONS[1:], 50.0, "rows"), ledger=None, noise=SeededNoise(3))
    return tried(functools.partial(synthesize, made, rows=rows, seed=2, never=never))


def forged() -> Iterator[tuple[str, Callable[[], object]]]:
    for change in ("", "deid_cube", "domains", "model", "unit", "epsilon", "method", "noise", "level", "private"):
        for value in (None, "x", 0, []) if change else (None,):
            yield f"release {change} {value!r}", functools.partial(read_back, change, value)


TREE = {"North": {"Idaho": ["F", "G"], "Utah": ["M"]}, "South": {"Ohio": ["?"]}}
PLACES = declare("sex", {"tree": TREE, "within": ["region", "state"]})


def inside(method: str, epsilon: float, **options: Any) -> object:
    """Return what a release says of a column whose cells lie in outer levels, and how good it will be."""
    plan = plan_cube([PLACES, DIMENSIONS[2]], epsilon, UNITS["rows"], method=method, **options)
    made = release_cube(frame(), plan, ledger=None, noise=SeededNoise(3))
    asked = [
        functools.partial(made.slice, dims, where=where)
        for dims in (["region"], ["state", "dose"], ["sex"], [])
        for where in (None, {"state": "Utah"}, {"region": "North", "dose": "0..4"}, {"state": "none"})
    ]
    told = [made.to_frame(), synthesize(made, seed=2), dimensions_of(made), forecast(plan), epsilon_for(plan, 5.0)]
    return [[tried(question) for question in asked], told, plan.question()]


def gaussian(method: str, epsilon: float) -> object:
    """Return what is released with Gaussian noise, and what was told of it before."""
    options: dict[str, Any] = {"delta": 1e-6, "nonnegative": False}
    plan = cube(method, DIMENSIONS, epsilon, "persons", **options)
    told = [forecast(plan), epsilon_for(plan, 10.0), forecast_sections(plan, 5.0), plan.question(), plan.measuring]
    return [told, released(method, DIMENSIONS, epsilon, "persons", **options)]


SAMPLED = (
    "COUNT(*)", "SUM(age)", "MEAN(dose)", "MEDIAN(age)", "QUARTILES(dose)", "SD(age)", "VARIANCE(dose)",
    "HISTOGRAM(dose)", "COUNT(DISTINCT age)", "COUNT(*), MEAN(age) GROUP BY sex", "MEAN(age) PER PERSON MAX",
)  # fmt: skip


def told_of(text: str, delta: float, unit: str) -> object:
    """Return an answer whose interval covers sampling, with its cost."""
    person = {"person": "who"} if unit == "persons" else {}
    terms: dict[str, Any] = {"unit": UNITS[unit], "delta": delta, "report_share": 0.1, "level": 0.8, **person}
    session = QuerySession(frame(), DIMENSIONS, None, noise=SeededNoise(5), **terms)
    found = session.query(re.sub(r"( PER| GROUP|$)", r" WITH SAMPLING\1", f"SELECT {text}", count=1), 2.0, request="r")
    return [found.to_frame(), found.as_dict(), session.remaining]


def rehearsed(text: str, delta: float) -> object:
    """Return what is told of a question, as rows and as a table."""
    session = QuerySession.rehearsal(DIMENSIONS, UNITS["persons"], person="who", delta=delta)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deid.dp.forecast._REHEARSALS", 5)
        return query_sections(session.check(f"SELECT {text}", 2.0))


def compared(delta: float, slices: list[list[str]]) -> object:
    """Return how far made rows are from a table, and what was told of that before."""
    plan = plan_fidelity(DIMENSIONS, slices, 2.0, UNITS["rows"], delta=delta)
    made = frame().assign(sex="F", age="3")
    found = check_fidelity(frame(), made, DIMENSIONS, slices, 2.0, ledger=None, unit=UNITS["rows"],
                           noise=SeededNoise(4), delta=delta)  # fmt: skip
    return [fidelity_sections(plan), plan.cells(slices[0]), found]


def spent(delta: float, keys: float, unit: str) -> object:
    """Return what a ledger says of itself and of its charges."""
    parts: tuple[tuple[float, dict[str, Any]], ...] = (
        (0.25, {}), (0.125, {"path": [("ward", "a")]}), (0.125, {"path": [("ward", "b")]}),
        (0.25, {"path": [("ward", "b")]}), (0.25, {"path": [("ward", "b"), ("sex", "F")]}), (0.5, {}), (0.125, {}),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(Path(folder, "l.db"), 1.0, UNITS[unit], delta=delta, keys_delta=keys)
        said: list[object] = []
        for number, (epsilon, where) in enumerate(parts):
            own = epsilon / 8 if delta else epsilon
            ask = functools.partial(ledger.charge, own, f"q{number}", unit=UNITS[unit], purpose="p", **where)
            said.append(tried(lambda ask=ask: ask().charged))
        account = ledger.account()
        said += [account.lines(), account.as_dict(), account.left()]
        ledger.answer("q0", "told")
        cost = "rho" if delta else "epsilon"
        lines = [{**line.as_dict(cost), "time": "", "who": ""} for line in ledger.history()]
        again = replace(Ledger.open(Path(folder, "l.db")).account(), created="")
        ledger.close()
    return [said, lines, again]


GAIN: tuple[dict[str, Any], ...] = (
    {}, {"mode": "paper"}, {"gain": "weighted"}, {"gain": "uniformity"}, {"gain": "printed", "threshold": 0.2},
    {"mode": "paper", "gain": "sse", "threshold": 2.0}, {"cell_share": 0.25, "distance": 2},
)  # fmt: skip


def boxed(options: dict[str, Any]) -> object:
    counts = np.random.default_rng(5).poisson(np.outer([9, 1, 1, 30], [0.1, 3, 1])).astype(np.int64)
    return dpcube(counts, 3.0, SeededNoise(2), **options)


def questions() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield every question with its name."""
    of = functools.partial
    for text in QUERIES.replace("\n", "").split("|"):
        yield f"changed {text}", of(changed, parse_query, f"SELECT {text}")
    for parse, asked in ((parse_query, MORE), (query_language.parse_condition, CONDITIONS), (parse_value, VALUES)):
        for text in asked:
            yield f"changed {text}", of(changed, parse, text)
    for n, declaration in enumerate(DECLARED):
        yield f"declared {n}", of(tried, of(declared, declaration))
    for seed in range(4):
        yield f"drawn {seed}", of(drawn, seed)
    for n, options in enumerate(STEPS):
        yield f"steps {n}", of(tried, of(steps, dict(options)))
    yield "figured", figured
    for sampling, level in itertools.product((0, 1, 3), (0.3, 0.95)):
        yield f"moments {sampling}, {level}", of(moments, sampling, level)
    for never in ((), ({"sex": "F"},), ({"sex": "M"},), ({"sex": "F"}, {"sex": "M"}), ({"age": "3"},), ({"sex": "x"},)):
        yield f"never {never}", of(crowded, never, 40)
    yield "never of none", of(crowded, ({"sex": "F"},), 0)
    yield from forged()
    for method, epsilon in itertools.product(("topdown", "cells", "even"), (0.2, 5.0)):
        yield f"inside {method}, {epsilon}", of(inside, method, epsilon)
    for method, shares in itertools.product(("topdown", "cells"), ({"region": 1.0, "sex": 4.0}, {"none": 1.0})):
        yield f"inside {method}, {shares}", of(tried, of(inside, method, 2.0, level_shares=shares, delta=1e-6))
    for method, epsilon in itertools.product(("marginals", "cells", "topdown", "privtree"), (0.5, 5.0)):
        yield f"gaussian {method}, {epsilon}", of(tried, of(gaussian, method, epsilon))
    for method, epsilon in itertools.product(("tree", "markov"), (0.5, 5.0)):
        yield f"gaussian {method}, {epsilon}", of(sequences, method, epsilon, "persons", delta=1e-6)
    for text, delta, unit in itertools.product(SAMPLED, (0.0, 1e-6), UNITS):
        yield f"sampled {text}, {delta}, {unit}", of(tried, of(told_of, text, delta, unit))
    for text, delta in itertools.product((*SAMPLED, "TOP(1, sex)"), (0.0, 1e-6)):
        yield f"rehearsed {text}, {delta}", of(tried, of(rehearsed, text, delta))
    for delta, slices in itertools.product((0.0, 1e-6), ([["sex"]], [["age", "sex"], ["dose"]], [[]], [["none"]])):
        yield f"compared {delta}, {slices}", of(tried, of(compared, delta, slices))
    for delta, keys, unit in ((0, 0, "rows"), (0, 1e-4, "persons"), (1e-6, 1e-4, "rows")):
        yield f"spent {delta}, {keys}, {unit}", of(spent, delta, keys, unit)
    for n, options in enumerate(GAIN):
        yield f"boxed {n}", of(tried, of(boxed, options))
    for method, epsilon, unit in itertools.product([*METHODS, "auto"], (0.1, 5.0), UNITS):
        if method not in FITTED:
            yield f"cube {method}, {epsilon}, {unit}", of(released, method, DIMENSIONS, epsilon, unit)
        yield f"plan {method}, {epsilon}, {unit}", of(planned, method, epsilon, unit)
    for method in (*METHODS, "none"):
        if method not in FITTED:
            yield f"wide {method}", of(released, method, WIDE, 2.0, "rows", nonnegative=False)
        if method == "adaptive":
            continue
        yield f"report {method}", of(released, method, DIMENSIONS[:2], 1.0, "rows", report_share=0.2, level=0.8)
    for method, epsilon, unit in itertools.product(("tree", "markov", "tree-paper", "none"), (0.1, 2.0, 40.0), UNITS):
        yield f"sequences {method}, {epsilon}, {unit}", of(sequences, method, epsilon, unit)
    for method, unit, length in itertools.product(("tree", "markov", "tree-paper"), UNITS, (None, 1, 2, 3, 4, 0)):
        yield f"patterns {method}, {unit}, {length}", of(patterned, method, unit, length)
    for method in ("cells", "marginals", "privtree", "topdown"):
        yield f"shares {method}", of(tried, of(shared, method))
    for epsilon, unit in itertools.product((0.2, 4.0), UNITS):
        yield f"viewed {epsilon}, {unit}", of(viewed, epsilon, unit)
    for (n, options), epsilon in itertools.product(enumerate(CURVES), (1.0, 50.0)):
        yield f"curve {n}, {epsilon}", lambda options=options, epsilon=epsilon: lived(epsilon, **dict(options))
    for column, epsilon, delta, unit in itertools.product(("sex", "age", "none"), (0.5, 8.0), (1e-6, 0.01, 0), UNITS):
        yield f"keys {column}, {epsilon}, {delta}, {unit}", of(tried, of(keyed, column, epsilon, delta, unit))
    texts = QUERIES.replace("\n", "").split("|")
    for text, epsilon, unit in itertools.product(texts, (0.1, 5.0), UNITS):
        yield f"query {text}, {epsilon}, {unit}", of(answer, text, epsilon, unit)
    for count, order in itertools.product((1, 2, 3), (1, -1)):
        visits = frame()[::order]
        yield (
            f"persons {count}, {order}",
            lambda visits=visits, count=count: [
                bounded_rows(visits, "who", count),
                rows_without_person(visits, "who"),
            ],
        )
    for epsilon in (0.01, 0.3, 1.0, 7.0):
        yield (
            f"figures {epsilon}",
            lambda epsilon=epsilon: [
                to_nano(epsilon), payable(epsilon), show_nano(to_nano(epsilon)), split_epsilon(epsilon, [1, 2, 4]),
                [laplace_scale(s, epsilon) for s in (1, 2, 10)], standard_half_width(3, 0.9),
                [discrete_half_width(s, epsilon, n, 0.95) for s in (1, 3) for n in (1, 2, 40)],
                half_width([1.0, 9.0], [1, 100], 0.95),
            ],
        )  # fmt: skip
    yield "cuboids", lambda: [choose_cuboids([(0,), (0, 1), (1, 2)], (20, 2, 3)), closure([(0, 1), (1, 2)])]
    for text in (
        "age=1..4",
        "age=1-4",
        "age=0,5,10",
        "sex=F,M",
        '"a=b"=x,y',
        "day=2020-01-01..2020-02-01",
        "age",
        "=3",
    ):
        yield f"domain {text}", lambda text=text: [parse_flag(text), declare(*parse_flag(text))]
    for text in ("a,b", "a,b=2", "a=0", '"a,b",c', "", "a,a", "a=x"):
        yield f"slices {text}", lambda text=text: parse_slices([text, "c"])
        yield f"condition {text}", lambda text=text: parse_condition(text)
    baskets = [frozenset((f"i{n % 5}", f"i{n % 3}")) for n in range(60)]
    for epsilon in (0.5, 5.0):
        yield (
            f"baskets {epsilon}",
            lambda epsilon=epsilon: diffpart(
                baskets, balanced_taxonomy([f"i{n}" for n in range(6)], 2), epsilon, SeededNoise(6)
            ),
        )


PINNED = Pinned(__file__, {**dict(questions()), **dict(left_unsaid("deid.dp"))})
test_the_answer_is_that_of_yesterday = PINNED.test(__name__)
