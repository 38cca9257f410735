"""Releases with seeded noise, plans, forecasts and refusals that the next version finds again (`pinned`).

What a seed draws is no promise to a user, but what is made of the draws is: levels, floors, intervals, costs.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pinned import Pinned

from deid.dp import Session
from deid.dp.cube import plan_cube, release_cube
from deid.dp.diffpart import balanced_taxonomy, diffpart
from deid.dp.domain import Dimension, declare, parse_condition, parse_flag, parse_slices
from deid.dp.epsilon import payable, show_nano, split_epsilon, to_nano
from deid.dp.forecast import epsilon_for, forecast, forecast_levels, forecast_sections, sequence_sections
from deid.dp.intervals import discrete_half_width, half_width, standard_half_width
from deid.dp.marginals import choose_cuboids, closure
from deid.dp.methods import METHODS
from deid.dp.noise import SeededNoise, laplace_scale
from deid.dp.query_language import parse_query
from deid.dp.sequences import plan_sequences, release_sequences
from deid.dp.synthetic import dimensions_of, synthesize
from deid.dp.unit import PrivacyUnit, bounded_rows, rows_without_person

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


def answer(text: str, epsilon: float, unit: str) -> object:
    person = {"person": "who"} if unit == "persons" else {}
    session = Session(frame(), DIMENSIONS, None, noise=SeededNoise(5), unit=UNITS[unit], **person)
    return [parse_query(f"SELECT {text}"), session.query(f"SELECT {text}", epsilon).to_frame()]


def questions() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield every question with its name."""
    of = functools.partial
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


PINNED = Pinned(Path(__file__).with_name("same_noise.tsv"), dict(questions()))


@pytest.mark.parametrize("name", PINNED.questions)
def test_the_answer_is_that_of_yesterday(name: str) -> None:
    PINNED.check(name)


if __name__ == "__main__":
    PINNED.renew()
