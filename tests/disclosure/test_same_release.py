"""Releases, verdicts and measures that the next version finds again (`pinned`)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from pinned import Pinned, left_unsaid
from tables import SIX, random_table, six

from deid.base.errors import DeidError
from deid.base.keys import Key
from deid.disclosure import constraints
from deid.disclosure.assessment import PersonalGuard, Requirements, assess
from deid.disclosure.cells import is_general
from deid.disclosure.composition import composition_attack
from deid.disclosure.consistency import consistent_records, match_population
from deid.disclosure.expert_report import assumptions
from deid.disclosure.frontier import choose, map_releases
from deid.disclosure.guards import check_before_release, fates_of, look_alikes
from deid.disclosure.measured_risk import measure_risk
from deid.disclosure.methods import METHODS, MethodOptions
from deid.disclosure.perturbation import add_noise, microaggregate, randomize_small_domains, round_values, swap_values
from deid.disclosure.perturbing import PerturbOptions, perturb
from deid.disclosure.proposal import propose_schema
from deid.disclosure.queries import average_relative_error, query_precision, random_queries
from deid.disclosure.randomization import delta_growth, rho1_to_rho2, uniform_operator
from deid.disclosure.recoding_scheme import classify_recoding
from deid.disclosure.release import Release, anonymize
from deid.disclosure.risk import population_risk, sample_risk
from deid.disclosure.same_disease import recode_same_disease
from deid.disclosure.schema import format_schema
from deid.disclosure.scheme import apply_scheme, scheme_of
from deid.disclosure.uniqueness import fit_pitman, unique_share
from deid.disclosure.utility import classification_metric, information_loss
from deid.table.column_names import repeated_person
from deid.table.hierarchy import hierarchy_from_rows
from deid.table.microdata import Microdata

MODELS = {
    "k2": Requirements(k=2),
    "k5": Requirements(k=5),
    "k3 l2": Requirements(k=3, l=2),
    "k2 entropy": Requirements(k=2, entropy_l=1.8),
    "c": Requirements(k=2, l=2, c=2.0),
    "alpha": Requirements(k=3, alpha=0.6),
    "t": Requirements(t=0.35),
    "t ordered": Requirements(k=2, t=0.3, distance="ordered"),
    "beta": Requirements(beta=1.5),
    "all": Requirements(k=2, l=2, t=0.6, alpha=0.8, beta=3),
}
WEIGHED = {
    "window": Requirements(k=2, range_diversity=(0.1, 0.7)),
    "epsilon": Requirements(epsilon_m=(5, 2)),
    "hierarchical": Requirements(k=2, t=0.5, distance="hierarchical"),
}

ILLNESSES = hierarchy_from_rows(
    [("flu", "airways", "*"), ("cold", "airways", "*"), ("asthma", "airways", "*"), ("cancer", "growth", "*")],
    "disease",
)


def dated(rows: int, seed: int) -> Microdata:
    """Dates, decimals and words with missing cells, a numeric sensitive column, and columns with other roles."""
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 700, rows), unit="D")
    frame = pd.DataFrame(
        {
            "admitted": days.strftime("%Y-%m-%d"),
            "height": np.round(rng.normal(1.7, 0.1, rows), 2),
            "ward": rng.choice(["north", "south", "west", None], rows),
            "cost": rng.integers(1, 90, rows),
            "mrn": [f"M{n}" for n in range(rows)],
            "note": "seen",
            "kept": rng.choice(["x", "y"], rows),
        }
    )
    roles = dict.fromkeys(("admitted", "height", "ward"), "quasi-identifier")
    roles |= {"cost": "sensitive", "mrn": "identifier", "note": "free-text", "kept": "other"}
    return Microdata(frame, roles)


TABLES: dict[str, Callable[[], Microdata]] = {
    "six": six,
    "plain": lambda: random_table(40, 1),
    "gaps": lambda: random_table(50, 2, missing=0.1),
    "persons": lambda: random_table(60, 3, persons=25),
    "dates": lambda: dated(45, 4),
    "many": lambda: random_table(150, 5),
}


@functools.cache
def table(name: str) -> Microdata:
    return TABLES[name]()


@functools.cache
def release(name: str, model: str, method: str, suppression: float = 0.2) -> Release:
    return anonymize(table(name), (MODELS | WEIGHED)[model], method, MethodOptions(suppression))


def told(name: str, model: str, method: str, suppression: float = 0.2) -> object:
    made = release(name, model, method, suppression)
    return [made.published, made, made.as_dict(), made.lines(), made.sentences()]


def schemed(name: str, model: str, method: str) -> object:
    scheme = scheme_of(release(name, model, method))
    again = apply_scheme(scheme, table(name), MODELS[model], MethodOptions(suppression=0.5))
    return [scheme, again.published, classify_recoding(table(name), again.recoded, again.rows.tolist())]


def measured(name: str, method: str) -> Iterator[object]:
    made, original = release(name, "k2", method), table(name)
    public = made.published
    yield [sample_risk(public), sample_risk(public, threshold=0.5, population_size=2000)]
    yield population_risk(public, original)
    yield measure_risk(public, population=original, earlier=release(name, "k5", "mondrian").published, known=original)
    yield [consistent_records(public, original), match_population(public, original)]
    quiet = replace(public, ignore_suppressed=True)
    yield [information_loss(original, public, 2), assumptions(public, True), assumptions(quiet, False)]
    sensitive = next(iter(original.sensitive))
    yield classification_metric(public, sensitive, len(original))
    yield composition_attack(public, release(name, "k5", "local").published, sensitive)
    yield average_relative_error(original, public, random_queries(original, 60, seed=2))
    numeric = next(c for c in original.quasi_identifiers if original.kind(c) == "numeric")
    yield query_precision(original, public, numeric, queries=200)


def questions() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield every question with its name."""
    of = functools.partial
    every = itertools.product(*map(enumerate, (TABLES, MODELS, ["auto", *METHODS])))
    for (a, name), (b, model), (c, method) in every:
        # all pairs of a table, a model and a method, a third of all three
        if (a + b + c) % 3 == 0 and (name != "many" or (model in ("k5", "t") and method != "top-down")):
            yield f"release {name}, {model}, {method}", of(told, name, model, method)
    for model, method, suppression in itertools.product(WEIGHED, METHODS, (0.0, 1.0)):
        yield f"release dates, {model}, {method}, {suppression}", of(told, "dates", model, method, suppression)
    for name, method in itertools.product(TABLES, ("local", "optimal", "mondrian", "hybrid")):
        yield f"scheme {name}, {method}", of(schemed, name, "k2", method)
        yield f"measures {name}, {method}", lambda name=name, method=method: list(measured(name, method))
    asked = {**MODELS, "guard": Requirements(guard=PersonalGuard("disease", 0.5)), "kk": Requirements(kk=2),
             "map": Requirements(k_map=2), "presence": Requirements(presence=(0.1, 0.9))}  # fmt: skip
    for name, (model, wanted), how in itertools.product(TABLES, asked.items(), ("class", "ignore")):
        whole = of(table, name)
        yield (
            f"verdict {name}, {model}, {how}",
            lambda whole=whole, wanted=wanted, how=how: assess(
                replace(whole(), ignore_suppressed=how == "ignore"), wanted, population=whole(), originals=whole()
            ),
        )
    for name in TABLES:
        data = of(table, name)
        yield f"schema {name}", lambda data=data: format_schema(propose_schema(data()))
        yield f"person {name}", lambda data=data: [repeated_person(data()), fates_of(data()), look_alikes(data())]
        yield f"guards {name}", lambda data=data: check_before_release(data())
        yield (
            f"frontier {name}",
            lambda data=data: [
                points := map_releases(data(), ("local", "mondrian", "mdav"), (2, 4)),
                choose(points[0], least_utility=0.3, greatest_risk=0.4),
                choose(points[0], least_utility=0.6),
                choose(points[0], greatest_risk=0.3),
            ],
        )
    for seed, least in itertools.product(range(4), (2, 5)):
        patients = random_table(30, seed)
        yield (
            f"same disease {seed}, {least}",
            lambda patients=patients, seed=seed, least=least: recode_same_disease(
                patients, random_table(200, 50 + seed), least, prefixes=("place",) if seed % 2 else ()
            ),
        )
        yield (
            f"small domains {seed}, {least}",
            lambda patients=patients, seed=seed, least=least: randomize_small_domains(
                patients, "disease", 3.0, least, seed=seed
            ),
        )
    for seed in range(4):
        values = np.random.default_rng(seed).normal(50, 20, 40)
        points = values.reshape(20, 2)
        yield (
            f"values {seed}",
            lambda values=values, points=points, seed=seed: [
                round_values(values, 5), round_values(values, 2.5, random=True, seed=seed),
                add_noise(values, 0.2, seed=seed), swap_values(values, 0.3, seed=seed),
                swap_values(values, 1.0, window=0.1, seed=seed), [microaggregate(points, k) for k in (1, 3, 7, 20)],
            ],
        )  # fmt: skip
        sizes = np.random.default_rng(seed).geometric(0.2 + 0.2 * seed, 60)
        yield (
            f"uniques {seed}",
            lambda sizes=sizes: [fit_pitman(sizes), unique_share(sizes, 500), unique_share(sizes, 10**6)],
        )
        prior = np.random.default_rng(seed).dirichlet(np.ones(4))
        yield (
            f"operators {seed}",
            lambda prior=prior, seed=seed: [
                own := uniform_operator(4, 2.0 + 3 * seed), rho1_to_rho2(own, 0.1, 0.4),
                rho1_to_rho2(own, 0.3, 0.5, prior), delta_growth(own, prior, 1.5),
            ],
        )  # fmt: skip


def searched(seed: int, persons: int, asked: Requirements, method: str) -> object:
    """Return a release of a table whose sensitive column has a tree, and the scheme of it for rows to come."""
    data, later = (random_table(70, seed + shift, missing=0.05, persons=persons) for shift in (0, 40))
    data, later = (replace(one, hierarchies={**one.hierarchies, "disease": ILLNESSES}) for one in (data, later))
    made = anonymize(data, asked, method, MethodOptions(0.1, seed=seed))
    answers: list[object] = [made.published, made.lines(), made.sentences(), 0 <= made.seconds < 60]
    answers.append([(finding.met, finding) for finding in made.findings])
    try:
        scheme = scheme_of(made)
        for options in (None, MethodOptions(suppression=0.0), MethodOptions(suppression=0.3)):
            again = apply_scheme(scheme, later, asked, options)
            answers.append([again.published, again.rows, classify_recoding(later, again.recoded, again.rows.tolist())])
    except DeidError as error:
        answers.append(str(error))
    return answers


SEARCHED = {
    "t equal": Requirements(k=2, t=0.3),
    "t hierarchical": Requirements(k=3, t=0.35, distance="hierarchical"),
    "l": Requirements(k=4, l=3),
    "recursive": Requirements(k=3, l=2, c=1.5),
    "beta": Requirements(k=2, beta=2.0),
}
WANTED: dict[str, dict[str, Any]] = {
    "swap": {"swap": ("place=0.4", "age=0.2"), "window": 0.3},
    "noise": {"noise": ("age=0.3",), "randomize": ("place=3,2",)},
    "round": {"round": ("age=5",), "swap": ("sex=1",)},
    "by chance": {"round": ("age=7",), "by_chance": True},
    "means": {"microaggregate": ("age",), "k": 4},
    "means of one": {"microaggregate": ("age",), "k": 1},
    "twice": {"round": ("age=5",), "swap": ("age=0.1",)},
    "nothing": {},
}
COLUMNS = (
    "mrn",
    "MRN",
    "patient_id",
    "patientId",
    "family_id",
    "group id",
    "household_no",
    "visit_no",
    "subject",
    "id",
    "person",
    "case number",
    "pat_no",
    "hospital_id",
    "ward",
    "study_id",
    "participant",
    "member_no",
    "account",
    "encounter_id",
)
TEXTS = (
    "[20-29]",
    "[20,29]",
    "20-29",
    "610**",
    "*",
    "",
    "61001",
    "{a,b}",
    "{a}",
    "[a]",
    "<=5",
    ">90",
    "a*b",
    "**",
    "[1-",
    "{",
    "2019",
    "2019-03",
    "[2019-01-01..2019-02-01]",
    "-5",
    "[-5--1]",
    "{a;b}",
    "a,b",
)


def named(name: str) -> object:
    """Return what is proposed for a column of a name that repeats, or holds each value once."""
    answers = []
    for values in (["1", "2", "3", "4"] * 5, [str(n) for n in range(20)], ["a", None] * 10):
        frame = pd.DataFrame({name: values, "age": range(20), "sex": ["F", "M"] * 10})
        answers.append([repeated_person(Microdata(frame, {})), format_schema(propose_schema(Microdata(frame, {})))])
    return answers


def limits() -> object:
    """Return which levels of each model are none: one below, at and above its least, and no number."""
    levels = (-1, 0, 0.5, 1, 1.0000001, 2, float("nan"), float("inf"))
    makers: tuple[Callable[[Any], object], ...] = (
        constraints.KAnonymity,
        *(functools.partial(model, column="d") for model in (constraints.DistinctL, constraints.EntropyL)),
        *(
            functools.partial(constraints.BetaLikeness, column="d"),
            functools.partial(constraints.TCloseness, column="d"),
        ),
        *(lambda c: constraints.RecursiveL(c, 2, "d"), lambda least: constraints.RecursiveL(2.0, least, "d")),
        *(lambda a: constraints.AlphaK(a, "d"), lambda k: Requirements(k=k), lambda k: Requirements(k_map=k)),
        *(
            lambda p: Requirements(presence=(0.0, p)),
            lambda p: Requirements(presence=(p, 1.0)),
            lambda k: Requirements(kk=k),
        ),
    )
    found = []
    for make, level in itertools.product(makers, levels):
        try:
            found.append(str(make(level)))
        except (DeidError, TypeError, ValueError) as error:
            found.append(f"{type(error).__name__} {error}" if isinstance(error, DeidError) else type(error).__name__)
    return found


def wide() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield questions about rows of persons, schemes, perturbed columns, names and limits."""
    of = functools.partial
    for (a, (model, asked)), (b, method), persons in itertools.product(
        enumerate(SEARCHED.items()), enumerate(METHODS), (0, 30)
    ):
        if (a + b) % 2 == bool(persons):
            yield f"searched {model}, {method}, {persons}", of(searched, a, persons, asked, method)
    for k, seed in itertools.product((10, 11, 15, 24, 25, 30), (0, 1)):
        yield (
            f"groups of {k}, {seed}",
            lambda k=k, seed=seed: [
                anonymize(random_table(160, seed), Requirements(k=k), "local", MethodOptions(0.1)).published
            ],
        )
    for name, wanted in WANTED.items():
        data = random_table(60, 11, missing=0.0 if "means" in name else 0.05)
        yield (
            f"perturbed {name}",
            lambda data=data, wanted=wanted: perturb(data, PerturbOptions(**wanted), Key(b"k" * 32)),
        )
    for name in COLUMNS:
        yield f"named {name}", of(named, name)
    yield "limits", limits
    yield "general", lambda: [[text, is_general(text)] for text in TEXTS]
    apart = [Microdata(SIX.assign(age=age), six().roles) for age in (list("aabbcc"), list("ddeeff"))]
    yield "composed", lambda: [composition_attack(apart[0], other, "disease") for other in apart]


PINNED = Pinned(__file__, {**dict(questions()), **dict(wide()), **dict(left_unsaid("deid.disclosure"))})
test_the_answer_is_that_of_yesterday = PINNED.test(__name__)
