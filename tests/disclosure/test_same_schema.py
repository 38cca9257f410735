"""Schemas, proposals, verdicts and reports that the next version gives again (`pinned`)."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pinned import Pinned
from tables import REGIONS, random_table

from deid.base.errors import DeidError
from deid.base.keys import Key
from deid.disclosure.anonymizers import Anonymizer
from deid.disclosure.assessment import Requirements
from deid.disclosure.closeness import t_closeness
from deid.disclosure.consistency import delta_presence
from deid.disclosure.guards import check_published, told_of
from deid.disclosure.measured_risk import measure_risk
from deid.disclosure.methods import METHODS, MethodOptions
from deid.disclosure.perturbation import add_noise, microaggregate, round_values, swap_values
from deid.disclosure.privacy import (
    alpha_k_anonymity,
    beta_likeness,
    distinct_l_diversity,
    entropy_l_diversity,
    epsilon_m_anonymity,
    k_anonymity,
    personalised_privacy,
    range_diversity,
    recursive_l_diversity,
)
from deid.disclosure.proposal import propose_schema
from deid.disclosure.randomization import rho1_to_rho2, uniform_operator
from deid.disclosure.release import anonymize
from deid.disclosure.risk import sample_risk
from deid.disclosure.schema import Column, Schema, apply_schema, format_schema, read_schema
from deid.table.column_names import repeated_person
from deid.table.microdata import Microdata

VALUES: dict[str, Callable[[int, np.random.Generator], object]] = {
    "number": lambda n, rng: 1000 + n,
    "small": lambda n, rng: int(rng.integers(0, 4)),
    "two": lambda n, rng: int(rng.integers(0, 2)),
    "tenths": lambda n, rng: round(float(rng.normal()), 1),
    "word": lambda n, rng: str(rng.choice(["a", "b", "c"])),
    "name": lambda n, rng: f"Ann {'abcdefghij'[n % 10]}{'klmnopqrst'[n // 10]}",
    "mail": lambda n, rng: f"p{n}@x.org" if n else "none",
    "ssn": lambda n, rng: f"{n + 100}-10-{n + 1000}",
    "phone": lambda n, rng: f"(617) 555-{n + 1000}" if n > 3 else "x",
    "zip": lambda n, rng: f"0213{n % 7}",
    "icd10": lambda n, rng: f"E11.{n % 9}",
    "icd9": lambda n, rng: f"{250 + n % 3}.0" if n % 2 else "V58",
    "long": lambda n, rng: f"{n} " + "word " * 30,
    "day": lambda n, rng: f"2019-0{1 + n % 9}-11",
    "mixed": lambda n, rng: "12a" if n == 5 else str(n % 6),
    "gap": lambda n, rng: None if n % 3 else "x",
    "empty": lambda n, rng: None,
    "one": lambda n, rng: "same",
}
NAMES = (
    "mrn",
    "patientId",
    "first_name",
    "zip",
    "age",
    "diagnosis_code",
    "dx",
    "income",
    "Visit Day",
    "x",
    "doctor",
    "city",
)


def column(kind: str, count: int = 40) -> list[object]:
    rng = np.random.default_rng(len(kind))
    return [VALUES[kind](n, rng) for n in range(count)]


def proposed(kind: str) -> object:
    """Return what is proposed for a column, under names of all kinds, and which columns seem to tell persons."""
    answers: list[object] = []
    for name in NAMES:
        frame = pd.DataFrame({name: column(kind), "other": column("small")})
        roles: tuple[dict[str, str], ...] = ({}, {name: "identifier"}, {name: "sensitive"})
        answers += [
            format_schema(propose_schema(Microdata(frame, {}))),
            *(repeated_person(Microdata(frame, r)) for r in roles),
        ]
    return answers


SCHEMAS = (
    "",
    'person = "mrn"\n[columns.age]\nrole = "quasi-identifier"\nkind = "numeric"\nhierarchy = { kind = "automatic" }\n',
    '[columns.zip]\nrole = "quasi-identifier"\nhierarchy = {kind = "prefixes"}\n[columns.word]\nrole = "sensitive"\n',
    '[columns.day]\nrole = "quasi-identifier"\nhierarchy = {kind = "dates"}\n',
    '[columns.word]\nrole = "quasi-identifier"\nhierarchy = "tree.csv"\n',
    '[columns.word]\nrole = "quasi-identifier"\nhierarchy = "none.csv"\n',
    '[columns.word]\nrole = "quasi-identifier"\nhierarchy = {kind = "ages"}\n',
    '[columns.word]\nrole = "quasi-identifier"\nhierarchy = {kind = "prefixes", width = 3}\n',
    "[columns.word]\nhierarchy = 3\n",
    '[columns.word]\nrole = "nobody"\n',
    '[columns.word]\nkind = "words"\n',
    '[columns.word]\nsort = "words"\n',
    '[columns.nothing]\nrole = "sensitive"\n',
    "columns = 3\n",
    "persons = 3\n",
    "person = 3\n",
    "each_row_a_person = 1\n",
    "each_row_a_person = true\npersons_as_given = true\n[columns.word]\nrole = 'identifier'\n",
    '[columns.name]\nrole = "identifier"\n[columns."a\\"b"]\nrole = "dropped"\n',
    "columns = [\n",
)


def said(text: str) -> object:
    """Read a schema, apply it to a table and to a published one, and join it with another."""
    frame = pd.DataFrame(
        {
            name: column(kind)
            for name, kind in (("age", "small"), ("zip", "zip"), ("word", "word"), ("day", "day"), ("mrn", "number"))
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tree.csv").write_text("a;x;*\nb;x;*\nc;y;*\n")
        Path(folder, "s.toml").write_text(text)
        answers: list[object] = []
        try:
            schema = read_schema(Path(folder, "s.toml"))
            other = Schema({"word": Column("other", "nominal"), "age": Column("sensitive", reason="so")}, "word", True)
            answers += [[vars(s), s.columns] for s in (schema.over(other), other.over(schema))]
            answers.append(format_schema(schema))
            for published in (False, True):
                data = apply_schema(frame, schema, published=published)
                kinds = [data.kind(name) for name in frame]
                trees = {name: [tree.chain(leaf) for leaf in tree.leaves()] for name, tree in data.hierarchies.items()}
                answers += [data.roles, data.person, data.each_row_a_person, data.persons_as_given, kinds, trees]
        except DeidError as error:
            answers.append(f"{type(error).__name__} {error.where} {error.position}")
        return str(answers).replace(folder, "")


def crowd(seed: int) -> Microdata:
    """Return classes of persons with several rows, gaps, suppressed rows, and sensitive columns of all kinds."""
    rng = np.random.default_rng(seed)
    frame = random_table(60, seed, missing=0.05 * (seed % 3)).frame.drop(columns="age")
    frame["cost"] = rng.integers(1, 12, 60).astype(float) if seed % 2 else rng.integers(1, 5, 60)
    frame["home"] = rng.choice(REGIONS.leaves(), 60)
    frame["who"] = rng.integers(0, 40, 60)
    roles = {"sex": "quasi-identifier", "place": "quasi-identifier"}
    frame.loc[rng.random(60) < 0.1, ["sex", "place"]] = "*"
    roles |= dict.fromkeys(("disease", "cost", "home"), "sensitive")
    return Microdata(frame, roles, {"home": REGIONS}, "who" if seed % 2 else None, each_row_a_person=not seed % 2)


def judged(seed: int, suppressed: str) -> object:
    """Return every verdict on a table, with bounds that some classes do not reach."""
    data = dataclasses.replace(crowd(seed), ignore_suppressed=suppressed == "ignore")
    asked: list[Callable[[], object]] = [lambda: k_anonymity(data, 3)]
    for name in data.sensitive:
        one = functools.partial
        asked += [
            one(distinct_l_diversity, data, name, 3), one(entropy_l_diversity, data, name, 2.5),
            one(recursive_l_diversity, data, name, 1.5, 2), one(recursive_l_diversity, data, name, 3, 3),
            one(alpha_k_anonymity, data, name, 0.5, 3), one(alpha_k_anonymity, data, name, 0.4, 2, ["flu", "Lyon"]),
            one(beta_likeness, data, name, 1.2), one(beta_likeness, data, name, 0.5, enhanced=True),
            one(epsilon_m_anonymity, data, name, 1, 2), one(epsilon_m_anonymity, data, name, 0.3, 3, relative=True),
            one(range_diversity, data, name, 2, 0.6),
            one(personalised_privacy, data, name, [("Europe", "Asia", "Lyon", None)[n % 4] for n in range(60)], 0.4),
            *(one(t_closeness, data, name, 0.3, distance=d) for d in ("equal", "ordered", "hierarchical")),
        ]  # fmt: skip
    answers: list[object] = []
    for question in asked:
        try:
            answers.append(question())
        except DeidError as error:
            answers.append(f"{type(error).__name__} {error.where} {error.position}")
    return answers


KEY = Key(b"k" * 32)


def fitted(method: str, seed: int) -> object:
    """Fit an anonymizer, recode other rows by it, and tell the risks as a report does."""
    options: dict[str, Any] = {"k": 3, "method": method, "suppression": 0.3, "seed": seed, "rounds": seed or None}
    made = Anonymizer(
        **options,
        **({"l": 2} if seed else {}),
        target="disease" if seed == 2 and method in ("mondrian", "relaxed") else None,
    )
    first = made.fit_transform(random_table(40, seed))
    answers: list[object] = [first.published, first.aligned(), made.scheme_]
    again = made.transform(random_table(50, 10 + seed))
    known = random_table(40, seed) if seed else None
    risk = measure_risk(
        dataclasses.replace(again.published, ignore_suppressed=bool(seed % 2)),
        population=random_table(90, 20) if seed else None,
        population_size=900, earlier=first.published,
        known=known, threshold=0.3,
    )  # fmt: skip
    signed = risk.signed(
        KEY, digests={"table": "00"}, stated=["so"], policy={"name": "x"} if seed else None, version="1"
    )
    return [*answers, again.published, risk.rows(), risk.as_dict(), signed.decode()]


def cut(method: str, options: Mapping[str, Any], target: str | None) -> object:
    made = anonymize(random_table(70, 6), Requirements(k=4), method, MethodOptions(**options), target=target)
    return [made.published, made.as_dict()]


def guarded(names: bool, given: bool, manifest: Mapping[str, Any] | None) -> object:
    """Return what is said of persons who may be others of a published table."""
    frame = crowd(3).frame.assign(mrn=[n // 2 for n in range(60)])
    if names:
        frame = frame.assign(
            given=["Ann", "Anne"] * 30, family=[f"Vance{'abcdefghijklmnopqrstuvwxyzABCD'[n // 2]}" for n in range(60)]
        )
    roles = {"sex": "quasi-identifier", "disease": "sensitive"}
    answers = []
    for person, linked in itertools.product((None, "mrn"), (False, True)):
        data = Microdata(frame, roles, person=person, persons_as_given=given, linked=linked)
        answers.append(told_of(data))
        try:
            answers += check_published(data, manifest)
        except DeidError as error:
            answers.append(type(error).__name__)
    return answers


NUMBERS = (-1, -1e-9, 0, 1e-9, 0.5, 1, 1 + 1e-9, 2, 3, 70, float("nan"), float("inf"))
TABLE, POINTS = crowd(2), np.arange(20.0).reshape(10, 2)
ASKED: dict[str, Callable[[Any], object]] = {
    **{f"asked {name}": lambda v, name=name: anonymize(random_table(20, 1), Requirements(**{"k": 2, name: v})).asked
       for name in ("k", "l", "entropy_l", "alpha", "t", "beta")},
    "asked c": lambda v: anonymize(random_table(20, 1), Requirements(k=2, l=2, c=v)).asked,
    "suppression": lambda v: MethodOptions(suppression=v),
    "rounds": lambda v: MethodOptions(rounds=v),
    "k": lambda v: k_anonymity(TABLE, v).ok,
    "l": lambda v: distinct_l_diversity(TABLE, "disease", v).ok,
    "entropy": lambda v: entropy_l_diversity(TABLE, "disease", v).ok,
    "c": lambda v: recursive_l_diversity(TABLE, "disease", v, 2).ok,
    "alpha": lambda v: alpha_k_anonymity(TABLE, "disease", v, 2).ok,
    "beta": lambda v: beta_likeness(TABLE, "disease", v).ok,
    "t": lambda v: t_closeness(TABLE, "disease", v).ok,
    "epsilon": lambda v: epsilon_m_anonymity(TABLE, "cost", v, 2).ok,
    "m": lambda v: epsilon_m_anonymity(TABLE, "cost", 1, v).ok,
    "window": lambda v: range_diversity(TABLE, "cost", v, 0.5).ok,
    "share": lambda v: range_diversity(TABLE, "cost", 1, v).ok,
    "breach": lambda v: personalised_privacy(TABLE, "home", ["Asia"] * 60, v).ok,
    "round": lambda v: round_values(POINTS[:, 0], v).tolist(),
    "noise": lambda v: add_noise(POINTS[:, 0], v, seed=1).tolist(),
    "swapped": lambda v: swap_values(POINTS[:, 0], v, seed=1).tolist(),
    "ranks": lambda v: swap_values(POINTS[:, 0], 0.5, window=v, seed=1).tolist(),
    "groups": lambda v: microaggregate(POINTS, v),
    "presence": lambda v: delta_presence(random_table(60, 1), random_table(60, 1), v, 1.0).ok,
    "gamma": lambda v: uniform_operator(4, v).tolist(),
    "rho": lambda v: rho1_to_rho2(uniform_operator(4, 3.0), v, 0.7),
    "threshold": lambda v: sample_risk(TABLE, threshold=v).as_dict(),
}  # fmt: skip


def bounded(name: str) -> object:
    """Return what comes of numbers on both sides of the bounds of what can be asked."""
    answers: list[object] = []
    for value in NUMBERS:
        try:
            answers.append(ASKED[name](int(value) if value in (-1, 0, 1, 2, 3, 70) else value))
        except (DeidError, TypeError, ValueError) as error:
            answers.append(type(error).__name__)
    return answers


one = functools.partial
QUESTIONS: dict[str, Callable[[], object]] = {f"proposed {kind}": one(proposed, kind) for kind in VALUES}
QUESTIONS |= {f"bounds of {name}": one(bounded, name) for name in ASKED}
QUESTIONS |= {f"said {n}": one(said, text) for n, text in enumerate(SCHEMAS)}
QUESTIONS |= {f"judged {n} {how}": one(judged, n, how) for n in range(8) for how in ("class", "ignore")}
QUESTIONS |= {f"fitted {m} {n}": one(fitted, m, n) for m in ("auto", *METHODS) for n in range(3)}
QUESTIONS |= {
    f"cut {method} {n} {target}": one(cut, method, options, target)
    for method in ("mondrian", "relaxed", "local", "optimal")
    for n, options in enumerate(({"hierarchical": False}, {"rounds": 0}, {"rounds": 9, "seed": 3, "suppression": 1.0}))
    for target in ((None, "disease") if method in ("mondrian", "relaxed") else (None,))
}
QUESTIONS |= {
    f"guarded {names} {given} {n}": one(guarded, names, given, manifest)
    for names, given in itertools.product((False, True), repeat=2)
    for n, manifest in enumerate((None, {"persons_linked": True}, {"look_alikes": 3}))
}
PINNED = Pinned(__file__, QUESTIONS)
test_the_answer_is_the_same = PINNED.test(__name__)
