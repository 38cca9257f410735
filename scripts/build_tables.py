#!/usr/bin/env python3
"""Make the tables, records and notes under corpora/ that experiments and pages of the documentation run on.

    python scripts/build_tables.py corpora
    python scripts/build_tables.py OUT --only codes trajectories --people 27639

Everything is drawn here with fixed seeds: nothing is copied, nobody is meant. Shapes follow what papers say of data that
are not public; the README of each folder says which, and what of the shape is ours.

* ``cube``: a cancer registry (the dissertation's SEER cube: 22,174 records, 673,920 cells).
* ``sequences``: 517 doctors by seven quarters and four levels, drawn with replacement to 10,000 rows (its section 5.3.4).
* ``census``: nine columns with hierarchies, domains of the sizes that the tutorial gives for Adult.
* ``codes``: 2,000 persons over 300 codes with visits and five diseases; 2,762 persons over 6,000 codes and 18 diseases in
  the shape of VNEC.
* ``trajectories``: codes with ages; 4,000 persons over 50 codes, and over 4 codes, in the shape of D50Pop, D4Pop, D4Smp.
* ``same-disease``: a population of three columns and 180 patients of it.
* ``genomes``: sequences of families, genotypes of cases, others and a reference, a register of disease codes.
* ``patients``: 600 patients, a row each, with a hierarchy of ZIP codes.
* ``admissions``: 2,000 stays, 40 columns of mixed kind beside the patient, written as registries write them, with domains.
* ``pathology``: 100 pathology reports with five kinds of PHI, as alike as the dissertation's; 48 for ``--quick`` runs.
* ``spanish``: 36 Spanish notes.
* ``gold``: 40 notes with gold spans, and a system's answers with errors of each kind, to try ``deid evaluate`` on.
"""

# ruff: noqa: E501, SIM905 (lists of words are easier to read and to change in one line)
from __future__ import annotations

import argparse
import csv
import datetime
import io
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from drawn_notes import FAMILY, GIVEN, Files, gold, pathology, spanish

History = list[tuple[str, str]]
"""Codes with ages, in their order."""


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], separator: str = ",") -> str:
    """Return CSV text."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
    if columns:
        writer.writerow(columns)
    writer.writerows(rows)
    return stream.getvalue()


def power(size: int, exponent: float = 0.9) -> np.ndarray:
    """Return shares that fall with the rank."""
    share = np.arange(1, size + 1) ** -exponent
    return np.asarray(share / share.sum())


# --- the cube ---


def cube(seed: int = 1, rows: int = 22_174) -> Files:
    """A registry of one cancer: more diagnoses every year, fewer deaths among recent ones, few rare codes."""
    rng = np.random.default_rng(seed)
    years = np.arange(36)
    year = rng.choice(36, rows, p=(w := 1 + years / 14) / w.sum())
    age = np.clip(np.round(rng.normal(61 + year / 18, 13.5)), 19, 104).astype(int)
    sex = (rng.random(rows) < 0.993).astype(int)
    behaviour = (rng.random(rows) < 0.97 - 0.006 * year).astype(int)
    lab = rng.choice(9, rows, p=[0.005, 0.94, 0.02, 0.01, 0.006, 0.006, 0.003, 0.005, 0.005])
    death = (rng.random(rows) < behaviour * 0.52 * np.exp(-year / 15) * (0.7 + age / 200)).astype(int)
    other = (1 - death) * (rng.random(rows) < np.clip((age - 30) / 75, 0, 1) * np.exp(-year / 14))
    names = ("sex", "age", "year", "behavior", "lab", "death", "other")
    order = np.stack([sex, age, year, behaviour, lab, death, other.astype(int)], axis=1)
    domains = "".join(
        f"[columns.{name}]\nrange = [0, {most}]\n\n" for name, most in zip(names, (1, 129, 35, 1, 8, 1, 1), strict=True)
    )
    return {"cube/cube.csv": table(names, order.tolist()), "cube/domains.toml": domains.rstrip() + "\n"}


# --- sequences ---


def sequences(seed: int = 2, doctors: int = 517, rows: int = 10_000) -> Files:
    """Doctors who prescribe more, as much or less every quarter, drawn with replacement."""
    rng = np.random.default_rng(seed)
    trend = rng.choice([-0.16, 0.02, 0.2], doctors, p=[0.2, 0.35, 0.45])
    start = rng.choice([0.2, 1.1, 2.2], doctors, p=[0.5, 0.35, 0.15])
    mean = start[:, None] + trend[:, None] * np.arange(7)
    levels = np.clip(np.round(mean + rng.normal(0, 0.28, (doctors, 7))), 0, 3).astype(int)
    chosen = rng.integers(0, doctors, rows)
    names = ("doctor", *(f"q{n}" for n in range(1, 8)))
    return {"sequences/sequences.csv": table(names, np.column_stack([chosen, levels[chosen]]).tolist())}


# --- the census ---

REGIONS = {
    "North America": "United-States Canada Mexico",
    "Caribbean": "Cuba Jamaica Haiti Trinidad Barbados",
    "Central America": "Guatemala Honduras Panama Nicaragua",
    "South America": "Peru Chile Brazil Argentina Colombia",
    "Western Europe": "France Germany Ireland Portugal Spain Italy",
    "Northern Europe": "Sweden Norway Denmark Finland",
    "Eastern Europe": "Poland Romania Hungary Serbia",
    "South Asia": "India Nepal Sri-Lanka",
    "East Asia": "Japan Korea Taiwan Mongolia",
    "Southeast Asia": "Vietnam Malaysia Indonesia",
}
SCHOOLING = {
    "Compulsory": "None Grade-1-4 Grade-5-6 Grade-7-8 Grade-9 Grade-10",
    "Secondary": "Grade-11 Grade-12 Secondary",
    "Vocational": "Some-College Vocational Technical",
    "Degree": "Bachelor Master Professional Doctorate",
}
JOBS = {
    "Office": "Clerk Manager Specialist Sales",
    "Manual": "Craft Machinist Labourer Farmer Driver",
    "Services": "Cleaner Guard Technician Household",
    "Forces": "Soldier",
}
EMPLOYERS = {"Government": "Federal State Local", "Own": "Self-small Self-company", "Others": "Private Unpaid"}
MARRIAGE = {
    "With": "Married Partnered Service-couple",
    "Without": "Single Divorced Separated Widowed",
}
ORIGINS = {"*": "First Second Third Fourth Fifth"}


def _leaves(groups: Mapping[str, str]) -> list[str]:
    return [leaf for leaves in groups.values() for leaf in leaves.split()]


def _levels(groups: Mapping[str, str]) -> str:
    rows = [
        [leaf, *([group] if group != "*" else []), "*"] for group, leaves in groups.items() for leaf in leaves.split()
    ]
    return table((), rows, ";")


def census(seed: int = 3, rows: int = 6_000) -> Files:
    """Adults with age, schooling, work and income that depend on one another, and a long tail of countries."""
    rng = np.random.default_rng(seed)
    schools, employers = _leaves(SCHOOLING), _leaves(EMPLOYERS)
    marriages, origins, countries = _leaves(MARRIAGE), _leaves(ORIGINS), _leaves(REGIONS)
    people = []
    for _ in range(rows):
        age = int(np.clip(np.round(17 + rng.gamma(2.6, 8.4)), 17, 90))
        sex = ("Female", "Male")[int(rng.random() < 0.67)]
        ability = rng.normal()
        school = int(np.clip(np.round(8.2 + 2.6 * ability + rng.normal(0, 1.1)), 0, 15))
        office = rng.random() < 1 / (1 + np.exp(-(school - 9) / 1.5))
        group = "Office" if office else str(rng.choice(list(JOBS), p=[0.18, 0.5, 0.315, 0.005]))
        job = str(rng.choice(JOBS[group].split()))
        employer = employers[int(rng.choice(7, p=[0.03, 0.04, 0.07, 0.08, 0.035, 0.74, 0.005]))]
        young = age < 27
        marriage = marriages[
            int(rng.choice(7, p=[0.12, 0.1, 0.0, 0.74, 0.02, 0.02, 0.0] if young else
                           [0.54, 0.05, 0.005, 0.175, 0.15, 0.04, 0.04]))
        ]  # fmt: skip
        origin = origins[int(rng.choice(5, p=[0.86, 0.09, 0.03, 0.01, 0.01]))]
        country = countries[0] if rng.random() < 0.9 else countries[1 + int(rng.choice(40, p=power(40)))]
        earns = rng.random() < 1 / (1 + np.exp(-(-5.2 + 0.28 * school + 0.03 * min(age, 55) + (marriage == "Married"))))
        people.append(
            (sex, age, origin, marriage, schools[school], country, employer, job, ("low", "high")[int(earns)])
        )
    names = ("sex", "age", "origin", "marriage", "schooling", "country", "employer", "job", "income")
    spans = (5, 10, 20, 40)
    ages = [[a, *(f"{a // s * s}-{a // s * s + s - 1}" for s in spans), "*"] for a in range(17, 91)]
    return {
        "census/census.csv": table(names, people),
        "census/hierarchies/age.csv": table((), ages, ";"),
        "census/hierarchies/sex.csv": "Female;*\nMale;*\n",
        "census/hierarchies/origin.csv": _levels(ORIGINS),
        "census/hierarchies/marriage.csv": _levels(MARRIAGE),
        "census/hierarchies/schooling.csv": _levels(SCHOOLING),
        "census/hierarchies/country.csv": _levels(REGIONS),
        "census/hierarchies/employer.csv": _levels(EMPLOYERS),
        "census/hierarchies/job.csv": _levels(JOBS),
        "census/schema.toml": "".join(
            f'[columns.{name}]\nrole = "quasi-identifier"\nhierarchy = "hierarchies/{name}.csv"\n\n'
            for name in names[:8]
        )
        + '[columns.income]\nrole = "sensitive"\n',
    }


# --- codes ---


def visits_of(persons: int, codes: int, mean: float, seed: int = 5) -> list[list[list[str]]]:
    """Draw the codes of each visit of each person.

    Codes have the form 100.0, ten to a category, categories in chapters of ten. A person has a condition, a category of
    popularity rank^-0.9 (ranks are drawn without regard to the hierarchy), Poisson(.5) further ones, each one of two
    companions that every condition has, and 1 + Poisson(mean - 1) draws of codes, each within one of the conditions, by
    rank^-0.9 again; they are spread over 1 + Poisson(1) visits at random.
    """
    rng = np.random.default_rng(seed)
    names = [f"{100 + i // 10}.{i % 10}" for i in range(codes)]
    kinds = codes // 10
    popularity, within = np.arange(1, kinds + 1) ** -0.9, np.arange(1, 11) ** -0.9
    rank = rng.permutation(kinds)
    companions = rng.integers(0, kinds, (kinds, 2))
    found = []
    for _ in range(persons):
        condition = rng.choice(kinds, p=popularity / popularity.sum())
        conditions = [condition, *companions[condition, rng.integers(0, 2, rng.poisson(0.5))]]
        drawn = 1 + rng.poisson(mean - 1)
        places = rng.choice(10, drawn, p=within / within.sum())
        chosen = {int(rank[c]) * 10 + int(i) for c, i in zip(rng.choice(conditions, drawn), places, strict=True)}
        held = [names[i] for i in sorted(chosen)]
        when = rng.integers(0, 1 + rng.poisson(1), len(held))
        found.append([[code for code, v in zip(held, when, strict=True) if v == visit] for visit in np.unique(when)])
    return found


def code_levels(codes: Iterable[str]) -> list[list[str]]:
    """Return categories and chapters above the codes."""
    return [[code, code[:-2], code[:-3] + "*", "*"] for code in codes]


def _cohort(persons: Sequence[Sequence[Sequence[str]]]) -> tuple[str, str]:
    rows, visit = [], 0
    for person, visits in enumerate(persons):
        for codes in visits:
            rows.append((person, visit, "; ".join(sorted(codes))))
            visit += 1
    occurring = sorted({code for visits in persons for codes in visits for code in codes}, key=float)
    return table(("person", "visit", "code"), rows), table((), code_levels(occurring), ";")


def codes(seed: int = 5) -> Files:
    """Two cohorts; the diseases of the large one are 18 categories of every frequency."""
    small, large = visits_of(2000, 300, 5, seed), visits_of(2762, 6000, 40, seed)
    counts: dict[str, int] = {}
    for visits in large:
        for category in {code[:-2] for held in visits for code in held}:
            counts[category] = counts.get(category, 0) + 1
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    studied = [ranked[place] for place in range(4, 4 + 18 * 6, 6)]
    files: Files = {}
    for name, cohort, diseases in (("cohort", small, range(100, 105)), ("large", large, sorted(studied))):
        files[f"codes/{name}.csv"], files[f"codes/{name}-hierarchy.csv"] = _cohort(cohort)
        files[f"codes/{name}-diseases.txt"] = "".join(f"disease {c}: {c}.*\n" for c in diseases)
    return files


# --- trajectories ---


def histories(people: int, seed: int = 11) -> list[History]:
    """Draw codes with ages: 1 to 40 pairs (about 5.9) over 50 codes in 10 groups, ages 0 to 101 (about 3 a person).

    Up to three chronic codes come back at most visits, other codes come between them; both are drawn by a power law.
    Visits are 0 to 2 years apart. More people begin with the same ones.
    """
    rng, share, found = np.random.default_rng(seed), power(50), []
    for _ in range(people):
        chronic = rng.choice(50, int(rng.integers(0, 4)), p=share, replace=False)
        start, ages = int(np.clip(rng.normal(52, 20), 0, 93)), [0]
        while rng.random() < 0.68 and len(ages) < 9:
            ages.append(ages[-1] + int(rng.random() < 0.8) + int(rng.random() < 0.2))
        history: History = []
        for age in ages:
            codes = [c for c in chronic if rng.random() < 0.85]
            codes += rng.choice(50, int(rng.poisson(0.55)), p=share).tolist()
            history += [(f"c{code}", str(min(101, start + age))) for code in sorted(codes)]
        found.append(history[:40] or [(f"c{rng.choice(50, p=share)}", str(start))])
    return found


def trajectory_levels() -> tuple[list[list[str]], list[list[str]]]:
    """Return the hierarchies of codes (two levels below the root) and ages (5, 10, 20, 40 years)."""
    steps = (5, 10, 20, 40)
    ages = [[str(a), *(f"[{a // s * s}-{a // s * s + s - 1}]" for s in steps), "any"] for a in range(102)]
    return [[f"c{i}", f"group {i // 5}", "any"] for i in range(50)], ages


def trajectories(seed: int = 11, people: int = 4_000) -> Files:
    """Histories over 50 codes; those of the four most frequent codes; every eighth person of the latter."""
    drawn, four = dict(enumerate(histories(people, seed))), {"c0", "c1", "c2", "c3"}
    few = {person: [pair for pair in history if pair[0] in four] for person, history in drawn.items()}
    few = {person: history for person, history in few.items() if history}
    codes, ages = trajectory_levels()
    some = {"d50": drawn, "d4": few, "d4-sample": dict(list(few.items())[::8])}
    files = {
        f"trajectories/{name}.csv": table(
            ("person", "code", "age"), [(p, *pair) for p, history in own.items() for pair in history]
        )
        for name, own in some.items()
    }
    return files | {"trajectories/codes.csv": table((), codes, ";"), "trajectories/ages.csv": table((), ages, ";")}


# --- one disease ---


def same_disease(seed: int = 7, people: int = 50_000, patients: int = 180) -> Files:
    """People of one state in 120 ZIP codes of six areas, and patients: 61 % women, 65 years on average."""
    rng = np.random.default_rng(seed)
    areas = rng.choice(6, 120, p=[0.3, 0.22, 0.18, 0.14, 0.1, 0.06])
    zips = sorted(
        {f"{311 + area}{number:02d}" for area, number in zip(areas, rng.permutation(100).tolist() * 2, strict=False)}
    )
    share = power(len(zips), 0.5)[rng.permutation(len(zips))]
    first = datetime.date(1925, 1, 1)
    born = (rng.beta(1.6, 1.3, people) * 28_000).astype(int)
    women = rng.random(people) < 0.52
    place = rng.choice(len(zips), people, p=share)
    rows = [
        ("F" if w else "M", (first + datetime.timedelta(days=int(day))).isoformat(), zips[z])
        for w, day, z in zip(women, born, place, strict=True)
    ]
    age = 2015 - np.array([int(row[1][:4]) for row in rows])
    weight = np.exp(-(((age - 65) / 11) ** 2) / 2) * np.where(women, 0.61 / 0.52, 0.39 / 0.48)
    chosen = sorted(rng.choice(people, patients, replace=False, p=weight / weight.sum()).tolist())
    names = ("sex", "birth", "zip")
    return {
        "same-disease/population.csv": table(names, rows),
        "same-disease/patients.csv": table(names, [rows[place] for place in chosen]),
    }


# --- genomes ---


def bases_of(count: int, sites: int, seed: int = 7) -> np.ndarray:
    """Draw sequences of numbers 0 to 3: copies of one ancestor in which sites mutate, half of them in families of five."""
    rng = np.random.default_rng(seed)
    rows = np.tile(rng.integers(0, 4, sites), (count, 1))
    for first in range(0, count, 5):
        family = rng.random(sites) < 0.05
        rows[first : first + 5, family] = rng.integers(0, 4, int(family.sum()))
    own = rng.random(rows.shape) < 0.025
    rows[own] = rng.integers(0, 4, int(own.sum()))
    return np.asarray(rows[rng.permutation(count)])


def genomes(seed: int = 7, persons: int = 40, sites: int = 1_000) -> Files:
    """Sequences; genotypes of cases, of others and of a reference; DNA records and a register of persons."""
    rng = np.random.default_rng(seed)
    fasta = "".join(
        f">s{n}\n{''.join('ACGT'[base] for base in row)}\n" for n, row in enumerate(bases_of(60, 300, seed))
    )
    frequency = rng.beta(1, 1, sites) * 0.8 + 0.1
    files = {"genomes/sequences.fasta": fasta}
    names = [f"rs{n}" for n in range(1, sites + 1)]
    for group in ("cases", "others", "reference"):
        dosage = (rng.random((persons, sites)) < frequency).astype(int) + (rng.random((persons, sites)) < frequency)
        calls = np.array(["0/0", "0/1", "1/1"])[dosage]
        files[f"genomes/{group}.csv"] = table(
            ("record", *names), [(f"{group}-{n}", *row) for n, row in enumerate(calls.tolist())]
        )
    genes = {"HTT": "333.4", "PAH": "270.1", "GALT": "271.1", "FXN": "334.0"}
    released, register = [], []
    for number in range(400):
        gene = str(rng.choice(list(genes), p=[0.3, 0.4, 0.1, 0.2]))
        row = ("FM"[int(rng.random() < 0.5)], int(rng.integers(20, 80)))
        register.append((f"person-{number}", *row, genes[gene]))
        if number % 8 == 0:
            released.append((gene, *row))
    return files | {
        "genomes/dna.csv": table(("gene", "sex", "age"), released),
        "genomes/register.csv": table(("name", "sex", "age", "code"), register),
    }


# --- patients ---

CITIES = {
    "Fairhaven": ("VT", "051"), "Stonebridge": ("VT", "052"), "Millbrook": ("NY", "120"), "Ashford": ("NY", "121"),
    "Riverton": ("NY", "128"), "Oakdale": ("MA", "012"), "Brightwater": ("MA", "013"), "Kingsfield": ("ME", "040"),
}  # fmt: skip
DIAGNOSES = {
    "I10": "hypertension", "E11.9": "type 2 diabetes", "J45.909": "asthma", "C50.911": "breast cancer",
    "F32.9": "depression", "M17.11": "arthrosis of the knee", "N18.3": "kidney disease", "I48.91": "atrial fibrillation",
}  # fmt: skip


def patients(seed: int = 13, rows: int = 600) -> Files:
    """Patients of one hospital: identifiers, who and where they are, diagnoses, smoking, whether they came back."""
    rng = random.Random(seed)
    people = []
    for number in range(rows):
        sex = rng.choice("FM")
        born = datetime.date(1930, 1, 1) + datetime.timedelta(days=int(rng.betavariate(2, 1.6) * 28_000))
        city = rng.choices(list(CITIES), weights=[8, 6, 5, 4, 3, 3, 2, 1])[0]
        state, area = CITIES[city]
        age = 2020 - born.year
        weights = [1 + age / 20, age / 25, 1.2, 1.6 * (sex == "F"), 1.5, age / 40, age / 60, age / 50]
        code = rng.choices(list(DIAGNOSES), weights=weights)[0]
        smoker = rng.random() < 0.22
        back = rng.random() < 0.06 + 0.002 * age + 0.1 * smoker + 0.08 * (code in ("N18.3", "I48.91"))
        admitted = datetime.date(2020, 1, 1) + datetime.timedelta(days=rng.randrange(366))
        name = f"{rng.choice(GIVEN[sex].split())} {rng.choice(FAMILY.split())}"
        people.append(
            (100_000 + number * 7, name, sex, born.isoformat(), age, f"{area}{rng.randrange(1, 8):02d}", city, state,
             admitted.isoformat(), code, DIAGNOSES[code], "yes" if smoker else "no", "yes" if back else "no")
        )  # fmt: skip
    names = "mrn name sex birth age zip city state admitted code diagnosis smoker readmitted".split()
    zips = sorted({row[5] for row in people})
    return {
        "patients/patients.csv": table(names, people),
        "patients/zip.csv": table((), [(z, z[:3] + "**", z[:2] + "***", "*") for z in zips], ";"),
    }


# --- admissions ---

WARDS = "Medicine Surgery Cardiology Oncology Neurology Orthopaedics Paediatrics Psychiatry".split()
CHAPTERS = {
    "I": "I10 I21.4 I25.10 I48.91 I50.9 I63.9".split(),
    "C": "C18.9 C34.90 C50.911 C61 C90.00".split(),
    "E": "E03.9 E11.9 E11.65 E78.5 E86.0".split(),
    "J": "J18.9 J44.1 J45.909 J96.01".split(),
    "K": "K35.80 K56.60 K80.20 K92.2".split(),
    "S": "S06.0X0A S52.501A S72.001A".split(),
    "F": "F10.20 F32.9 F41.1".split(),
    "N": "N17.9 N18.3 N39.0".split(),
}
COUNTIES = {
    "AL": "01001 01003 01015 01073".split(),
    "CA": "06001 06037 06059 06073 06085".split(),
    "CT": "09001 09003 09009".split(),
    "NY": "36005 36047 36061 36081 36103".split(),
    "TX": "48029 48113 48201 48439 48453".split(),
}


def admissions(seed: int = 29, rows: int = 2_000) -> Files:
    """Stays of a registry, 41 columns of mixed kind as registries write them, and the domains of all but the patient.

    A latent health and a latent wealth of the patient tie the columns together. Ages are top-coded (``90+``), codes have
    dots, counties leading zeros; what is missing is written as 9, as 99, as 999 or not at all.
    """
    rng = np.random.default_rng(seed)
    patient = rng.integers(0, max(int(rows * 0.7), 1), rows)
    people = int(patient.max()) + 1
    ill, rich = rng.normal(size=people)[patient], rng.normal(size=people)[patient]
    years = np.clip(rng.gamma(9, 6.5, people), 0, 104).astype(int)[patient]
    female = (rng.random(people) < 0.54)[patient]
    ill = ill + (years - 58) / 30

    def chance(log_odds: np.ndarray) -> np.ndarray:
        return rng.random(rows) < 1 / (1 + np.exp(-log_odds))

    def pick(values: Sequence[str], score: np.ndarray, spread: float = 1.0) -> np.ndarray:
        """Return values by the rank of a score that has noise; the first are those of low scores."""
        noisy = score + spread * rng.normal(size=rows)
        return np.array(values)[np.searchsorted(np.quantile(noisy, np.arange(1, len(values)) / len(values)), noisy)]

    def coded(values: np.ndarray, missing: str, share: float) -> np.ndarray:
        return np.where(rng.random(rows) < share, missing, values.astype(str))

    state = pick(list(COUNTIES), rich)
    county = np.array([rng.choice(COUNTIES[own]) for own in state])
    chapter = pick(["S", "J", "F", "K", "E", "N", "C", "I"], ill, 0.8)
    code = np.array(
        [
            CHAPTERS[own][int(rng.choice(len(CHAPTERS[own]), p=(w := power(len(CHAPTERS[own]))) / w.sum()))]
            for own in chapter
        ]
    )
    ward = np.where(
        rng.random(rows) < 0.3,
        rng.choice(WARDS, rows),
        np.array(
            [
                {"I": "Cardiology", "C": "Oncology", "S": "Orthopaedics", "K": "Surgery", "F": "Psychiatry"}.get(
                    own, "Medicine"
                )
                for own in chapter
            ]
        ),
    )
    days = np.clip(np.round(np.exp(1 + 0.45 * ill + 0.6 * rng.normal(size=rows))), 0, 60).astype(int)
    start = rng.integers(0, 5 * 365, rows)
    begin = [datetime.date(2018, 1, 1) + datetime.timedelta(days=int(own)) for own in start]
    end = [a + datetime.timedelta(days=int(b)) for a, b in zip(begin, days, strict=True)]
    diabetes, pressure = chance(ill - 1.5 + 2 * (chapter == "E")), chance(0.8 * ill - 0.2)
    cancer, intensive = chapter == "C", chance(1.2 * ill - 2.5)
    died, operated = (
        chance(1.4 * ill + 1.5 * intensive - 4.2),
        chance(1.5 * np.isin(ward, ["Surgery", "Orthopaedics"]) - 1),
    )
    yes = np.array(["0", "1"])
    missing, codes = '\nmissing = "unknown"', '\nmissing_codes = ["999"]'

    def measure(low: float, high: float, mean: np.ndarray, spread: float, digits: int) -> np.ndarray:
        return np.round(np.clip(mean + spread * rng.normal(size=rows), low, high), digits)

    columns: dict[str, tuple[np.ndarray, str]] = {
        "sex": (np.where(female, "2", "1"), 'values = ["1", "2"]'),
        "age": (np.where(years >= 90, "90+", years.astype(str)), f"values = {json.dumps([*map(str, range(90)), '90+'])}\nordered = true"),
        "race": (coded(pick(list("12345"), rich, 2), "9", 0.03), 'values = ["1", "2", "3", "4", "5", "9"]'),
        "hispanic": (np.where(chance(-0.4 * rich - 1.5), "1", "0"), 'values = ["0", "1"]'),
        "marital": (pick(["single", "married", "widowed", "divorced"], years / 20.0, 1.0), 'values = ["single", "married", "widowed", "divorced"]'),
        "education": (coded(pick(list("12345"), rich, 0.7), "9", 0.05), 'values = ["1", "2", "3", "4", "5", "9"]'),
        "language": (pick(["English", "Spanish", "Chinese", "other"], -rich, 3), 'values = ["English", "Spanish", "Chinese", "other"]'),
        "state": (state, f"values = {json.dumps(sorted(COUNTIES))}"),
        "county": (county, f"values = {json.dumps(sorted(own for group in COUNTIES.values() for own in group))}"),
        "rural": (yes[chance(-rich - 1).astype(int)], 'values = ["0", "1"]'),
        "insurance": (pick(["none", "Medicaid", "Medicare", "private"], rich + years / 60, 0.7), 'values = ["none", "Medicaid", "Medicare", "private"]'),
        "income": (pick(list("1234567"), rich, 0.5), 'values = ["1", "2", "3", "4", "5", "6", "7"]\nordered = true'),
        "employed": (yes[chance(rich + 1 - years / 40).astype(int)], 'values = ["0", "1"]'),
        "admitted": (np.array([own.isoformat() for own in begin]), 'dates = ["2018-01-01", "2022-12-31"]\nby = "quarter"'),
        "discharged": (np.array([own.isoformat() for own in end]), 'dates = ["2018-01-01", "2023-03-31"]\nby = "quarter"'),
        "ward": (ward, f"values = {json.dumps(WARDS)}"),
        "urgency": (pick(["elective", "urgent", "emergency"], ill, 1), 'values = ["elective", "urgent", "emergency"]'),
        "source": (pick(["home", "clinic", "transfer", "nursing home"], years / 30.0, 1.5), 'values = ["home", "clinic", "transfer", "nursing home"]'),
        "diagnosis": (code, f"values = {json.dumps(sorted(own for group in CHAPTERS.values() for own in group))}"),
        "stage": (np.where(cancer, coded(pick(list("1234"), ill, 1), "99", 0.1), ""), 'values = ["1", "2", "3", "4", "99"]\nmissing = "no cancer"'),
        "grade": (np.where(cancer, coded(pick(list("1234"), ill, 1), "9", 0.2), "8"), 'values = ["1", "2", "3", "4", "8", "9"]'),
        "smoker": (coded(yes[chance(0.3 * ill - rich - 1).astype(int)], "9", 0.08), 'values = ["0", "1", "9"]'),
        "alcohol": (coded(pick(list("0123"), -rich, 2), "9", 0.1), 'values = ["0", "1", "2", "3", "9"]'),
        "bmi": (coded(measure(13, 60, 26 + 2 * diabetes + 0.5 * ill, 4, 1), "", 0.06), "edges = [13, 18.5, 25, 30, 35, 60.5]" + missing),
        "systolic": (coded(measure(70, 230, 122 + 14 * pressure, 14, 0).astype(int), "999", 0.04), "range = [70, 230]\nwidth = 10" + missing + codes),
        "diastolic": (coded(measure(40, 140, 76 + 7 * pressure, 9, 0).astype(int), "999", 0.04), "range = [40, 140]\nwidth = 10" + missing + codes),
        "pulse": (measure(35, 190, 80 + 5 * ill, 13, 0).astype(int), "range = [35, 190]\nwidth = 10"),
        "temperature": (measure(33, 42, 36.8 + 0.7 * (chapter == "J"), 0.6, 1), "edges = [33, 36, 37, 37.5, 38, 39, 42.1]"),
        "glucose": (coded(measure(40, 600, 100 + 70 * diabetes, 25, 0).astype(int), "999", 0.05), "range = [40, 600]\nwidth = 20" + missing + codes),
        "creatinine": (coded(measure(0.3, 12, 1 + 0.5 * np.maximum(ill, 0) + 1.5 * (chapter == "N"), 0.4, 2), "", 0.05), "edges = [0.3, 0.7, 1, 1.3, 1.7, 2.5, 4, 12.1]" + missing),
        "haemoglobin": (measure(4, 19, 13.8 - 0.8 * female - 1.5 * cancer, 1.6, 1), "edges = [4, 8, 10, 11, 12, 13, 14, 15, 16, 19.1]"),
        "sodium": (measure(115, 160, 139 - 0.7 * ill, 4, 0).astype(int), "range = [115, 160]\nwidth = 5"),
        "diabetes": (yes[diabetes.astype(int)], 'values = ["0", "1"]'),
        "hypertension": (yes[pressure.astype(int)], 'values = ["0", "1"]'),
        "operated": (yes[operated.astype(int)], 'values = ["0", "1"]'),
        "intensive": (yes[intensive.astype(int)], 'values = ["0", "1"]'),
        "days": (days, "edges = [0, 1, 2, 3, 4, 6, 8, 11, 15, 22, 61]"),
        "weight": (measure(0.2, 5, 1 + 0.5 * np.abs(rich), 0.3, 2), "edges = [0.2, 0.6, 0.9, 1.2, 1.6, 2.2, 5.1]"),
        "readmitted": (yes[(~died & chance(0.6 * ill + 0.5 * diabetes - 1.8)).astype(int)], 'values = ["0", "1"]'),
        "died": (yes[died.astype(int)], 'values = ["0", "1"]'),
    }  # fmt: skip
    cells = zip((patient + 5_000_001).tolist(), *(own.tolist() for own, _ in columns.values()), strict=True)
    domains = "\n".join(f"[columns.{name}]\n{own}\n" for name, (_, own) in columns.items())
    return {
        "admissions/admissions.csv": table(("patient", *columns), cells),
        "admissions/domains.toml": domains,
    }


PARTS: dict[str, Callable[..., Files]] = {
    "cube": cube,
    "sequences": sequences,
    "census": census,
    "codes": codes,
    "trajectories": trajectories,
    "same-disease": same_disease,
    "genomes": genomes,
    "patients": patients,
    "admissions": admissions,
    "pathology": pathology,
    "spanish": spanish,
    "gold": gold,
}
NOTES = ("pathology", "spanish", "gold")
"""Parts that are notes and lie beside the tables."""


def main() -> None:
    """Write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="OUT")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--people", type=int, default=4_000, help="persons of the trajectories over 50 codes")
    asked = parser.parse_args()
    for part in asked.only:
        files = trajectories(people=asked.people) if part == "trajectories" else PARTS[part]()
        for name, text in files.items():
            path = asked.folder / name if part in NOTES else asked.folder / "tables" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
