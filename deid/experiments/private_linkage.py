"""What keyed filters of two sites find, and what they give away: every hardening, its matches and the attack on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deid.base.errors import ConfigError
from deid.base.keys import Key
from deid.base.late import pd
from deid.base.reports import Section
from deid.experiments.asking import FilterRuns
from deid.experiments.filter_attack import attack_filters
from deid.experiments.mentions import Rates, make_mentions
from deid.experiments.outcome import Form, Outcome
from deid.linkage.encodings import Encoding, encode, match

REGISTER = Rates(
    mentions=2, moved=0.05, married=0.02, nickname=0.02, initial=0.01, first_typo=0.02, last_typo=0.02,
    no_birth_date=0.01, wrong_birth_date=0.03, no_sex=0.01, no_record_number=0, no_phone=0.2, no_zip=0.05, no_city=0.05,
    no_street=0.1,
)  # fmt: skip
"""Registers tell more of a person than notes, and with fewer slips."""
HARDENINGS: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "fold": {"fold": 1},
    "balance": {"balance": True},
    "fold, balance": {"fold": 1, "balance": True},
    "salt": {"salt": "birth_date"},
    "salt, fold, balance": {"salt": "birth_date", "fold": 1, "balance": True},
}
FIELDS: Mapping[str, Mapping[str, Any]] = {
    "last": {"text": (("last", 10),)},
    "first, last": {"text": (("first", 10), ("last", 10))},
    "all": {"text": (("first", 10), ("last", 10), ("zip", 5)), "date": (("birth_date", 12),)},
}
"""What is encoded; names alone are attacked, since dates make nearly every filter the only one of its kind."""


def two_sites(persons: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tables of two sites: all persons at one, those with a second record at the other."""
    mentions = make_mentions(round(persons * REGISTER.mentions), REGISTER, seed)
    visit = mentions.groupby("person").cumcount()
    first, second = (mentions[visit == n].drop(columns="mention").reset_index(drop=True) for n in (0, 1))
    return first, second


def private_linkage_outcome(asked: FilterRuns) -> Outcome:
    """Encode two sites with every hardening, match them at thresholds, and attack the filters of names.

    Raises
    ------
    ConfigError
        When there is no such hardening, or a number is out of range.
    """
    persons, thresholds, seed, runs = asked.persons, asked.thresholds, asked.seed, asked.runs
    if unknown := set(asked.harden) - HARDENINGS.keys():
        raise ConfigError(f"no hardening is called {min(unknown)!r}", f"known: {'; '.join(HARDENINGS)}")
    if persons < 50 or runs < 1 or not all(0 < threshold <= 1 for threshold in thresholds):
        raise ConfigError("at least 50 persons, 1 run, and thresholds above 0 to 1", "for example: --persons 5000")
    matched, attacked = [], []
    for run in range(seed, seed + runs):
        key = Key(f"experiment {run}".encode().ljust(32))
        a, b = two_sites(persons, run)
        public = two_sites(persons, run + 1_000_003)[0]
        both = len(set(a["person"]) & set(b["person"]))
        for hardening in asked.harden or HARDENINGS:
            for fields, columns in FIELDS.items():
                how = Encoding(**columns, **HARDENINGS[hardening])
                filters = encode(a, how, key)
                if fields != "all":
                    names = [name for name, _ in how.text]
                    told, true = (list(side[names].itertuples(index=False, name=None)) for side in (public, a))
                    found = attack_filters(filters, told, true)
                    attacked.append({
                        "hardening": hardening, "fields": fields, "seed": run, "records": len(a),
                        "filters": found.filters, "reidentified": found.reidentified, "by_chance": found.by_chance,
                    })  # fmt: skip
                    continue
                one, two, scores = match(filters, encode(b, how, key), min(thresholds), one_to_one=True)
                right = a["person"].to_numpy()[one] == b["person"].to_numpy()[two]
                for threshold in thresholds:
                    kept = scores >= threshold
                    hits = int(right[kept].sum())
                    matched.append({
                        "hardening": hardening, "threshold": threshold, "seed": run, "pairs": int(kept.sum()),
                        "precision": hits / kept.sum() if kept.any() else 1.0, "recall": hits / max(1, both),
                    })  # fmt: skip
    rows = pd.concat(
        [pd.DataFrame(matched).assign(part="match"), pd.DataFrame(attacked).assign(part="attack")], ignore_index=True
    )
    return FILTERS.outcome(rows, settings={"persons": persons, "runs": runs, "seed": seed})


def _sections(rows: pd.DataFrame, _: Mapping[str, Any]) -> list[Section]:
    def table(part: str, keys: list[str], figures: list[str]) -> list[tuple[Any, ...]]:
        means = rows[rows["part"] == part].groupby(keys, sort=False)[figures].mean()
        return [(*key, *row) for key, row in zip(means.index, means.to_numpy(), strict=True)]

    attacked = ["records", "filters", "reidentified", "by_chance"]
    matches = Section(
        "Matches of two sites, all fields",
        ("hardening", "threshold", "pairs", "precision", "recall"),
        [
            (h, f"{t:g}", f"{n:.0f}", f"{p:.4f}", f"{r:.4f}")
            for h, t, n, p, r in table("match", ["hardening", "threshold"], ["pairs", "precision", "recall"])
        ],
        "One to one. Recall: of the persons that both sites have.",
    )
    attacks = Section(
        "The attack without the key, names alone",
        ("hardening", "fields", "records", "filters", "re-identified", "by chance"),
        [
            (h, f, f"{n:.0f}", f"{k:.0f}", f"{r:.2%}", f"{c:.2%}")
            for h, f, n, k, r, c in table("attack", ["hardening", "fields"], attacked)
        ],
        "Re-identified: records whose name is guessed rightly from the 200 most frequent filters and a public list.",
    )
    return [matches, attacks]


FILTERS = Form("Private linkage", _sections)
