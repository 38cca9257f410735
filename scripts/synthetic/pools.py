"""The pools that slots are filled from, and their split into a part for training and one for development."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent / "corpora" / "synthetic"
PARTS = ("train", "dev")
_DEV_SHARE = 51  # of 256


def fold(word: str) -> str:
    """Return the word without case and accents: the key by which pools are split."""
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def part_of(word: str) -> str:
    """Return ``train`` or ``dev``: each word belongs to one part in all pools."""
    digest = hashlib.sha256(("deid synthetic pools\x1f" + fold(word)).encode()).digest()
    return "dev" if digest[0] < _DEV_SHARE else "train"


@dataclass(frozen=True)
class Pools:
    """All pools of one part."""

    part: str
    surnames: tuple[str, ...]
    """Census surnames, most frequent first."""
    given: dict[str, tuple[str, ...]]
    """Census given names by sex, most frequent first."""
    origins: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...]
    """(male, female, family names) of each origin that has all three in this part."""
    ambiguous: dict[str, tuple[str, ...]]
    nicknames: tuple[str, ...]
    jobs: tuple[tuple[str, ...], ...]
    """A job's title and the names of its line of work."""
    institutions: dict[str, tuple[str, ...]]
    states: tuple[tuple[str, str], ...]
    us_cities: dict[str, tuple[str, ...]]
    """Cities by state abbreviation."""
    uk_cities: tuple[tuple[str, str], ...]
    """(town, county)."""
    world: tuple[tuple[str, str], ...]
    """(city, country)."""
    countries: tuple[str, ...]
    negatives: dict[str, tuple[str, ...]]


# vocabulary of institutions and streets that both parts need: kinds, not names
_SHARED = frozenset(
    [
        "ushospital",
        "ukhospital",
        "usclinic",
        "ukclinic",
        "usnursing",
        "uknursing",
        "usshop",
        "work",
        "school",
        "ukschool",
        "church",
        "club",
        "team",
        "rx",
        "fh",
        "law",
        "dme",
        "ems",
        "wardname",
        "usstreettype",
        "ukstreettype",
        "townlast",
        "uktown",
    ]
)


def lines(name: str) -> Iterable[str]:
    for line in (ROOT / "pools" / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line


_CLINICAL = {
    "anatomy": "anatomy",
    "condition": "conditions",
    "eponymphrase": "eponym_phrases",
    "organism": "organisms",
    "procedure": "procedures",
    "term": "terms",
}
"""Word lists of the product from which clinical language is taken, by kind of slot."""


_NOT_CLINICAL = {
    "procedures": re.compile(
        r"\b(?:air (?:attack|raid|reconnaissance)|ambus|amphibious|attack|banzai|barrage|battery|black operation|blitz"
        r"|bombard|bombing|broadside|burst|campaign|cannon|censor|charge|clandestine|combat|combined|counter|coup|cover"
        r"|crossfire|cutting out|dirty|diversion|drumfire|dry-gulching|espionage|exfiltration|expedition|exploratory"
        r"|fire|firing|foray|fratricide|fusillade|incursion|information|inroad|intelligence|interpenetration|invasion"
        r"|lying|man(?:eu|oeu)ver|maraud|military|mission|naval|offen[cs]e|offensive|onrush|onset|onslaught|overt"
        r"|peacekeeping|penetration|psychological operation|psyop|push back|raid|recc|reconn|re[ei]nforcement|riposte"
        r"|rollback|salvo|scouting|security|shelling|shufti|spying|strafe|strike|support|surprise|swoop|trap"
        r"|undercover|vivisection|volley)"
    ),
    "anatomy": re.compile(
        r"\b(?:antenna|arse|arsehole|cannon|cobblers|fetlock|fetter|flipper|fore-?wing|hind|hindquarters|hoof|kisser"
        r"|smiler|snout|tentacle|trap|trotter|tush|wing)\b"
    ),
}
"""What the word lists hold of war and of animals, for each follows whole branches of WordNet."""


def _clinical(name: str) -> tuple[str, ...]:
    """Return the entries of a clinical word list, without those of war and of animals."""
    lines = (ROOT.parent.parent / "dictionaries" / "clinical" / name / "items.txt").read_text(encoding="utf-8")
    no = _NOT_CLINICAL.get(name)
    return tuple(line for line in lines.splitlines() if line and line[0] != "#" and not (no and no.search(line)))


def _table(name: str) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for line in lines(name):
        kind, items = line.split("|", 1)
        table[kind] = [item.replace("\\;", ";") for item in re.split(r"(?<!\\);", items)]
    return table


@cache
def load(part: str) -> Pools:
    """Return the pools of ``train`` or ``dev``."""

    def mine(words: Iterable[str]) -> tuple[str, ...]:
        return tuple(word for word in words if part_of(word) == part)

    origins: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for line in lines("names_by_origin.txt"):
        origin, kind, names = line.split("|")
        origins[origin][kind] = mine(dict.fromkeys(n.replace("_", " ") for n in names.split()))
    ambiguous = {k: mine(names.split()) for k, names in (line.split("|") for line in lines("names_ambiguous.txt"))}
    institutions = {
        kind: tuple(items) if kind in _SHARED else mine(dict.fromkeys(items))
        for kind, items in _table("institutions.txt").items()
    }
    states = [(s[:-3], s[-2:]) for line in lines("states.txt") for s in line.split("|")]
    states = [(name, code) for name, code in states if part_of(name) == part]
    cities: dict[str, list[str]] = defaultdict(list)
    for line in lines("us_cities.txt"):
        city, code = line.split("\t")
        if part_of(city) == part:
            cities[code].append(city)
    jobs = (tuple(line.split(";")) for line in lines("professions.txt"))
    world = (tuple(line.split("\t")) for line in lines("world_cities.txt"))
    world_mine = tuple((a, b) for a, b in world if part_of(b) == part and part_of(a) == part)
    uk = (tuple(line.split("\t")) for line in lines("uk_cities.txt"))
    return Pools(
        part=part,
        surnames=mine(lines("surnames.txt")),
        given={sex: mine(lines(f"given_{sex.lower()}.txt")) for sex in "MF"},
        origins=tuple((o["M"], o["F"], o["S"]) for _, o in sorted(origins.items()) if o["M"] and o["F"] and o["S"]),
        ambiguous=ambiguous,
        nicknames=mine(" ".join(lines("nicknames.txt")).split()),
        jobs=tuple(job for job in jobs if part_of(job[0]) == part),
        institutions=institutions,
        states=tuple(s for s in states if cities.get(s[1])),
        us_cities={code: tuple(names) for code, names in cities.items()},
        uk_cities=tuple((a, b) for a, b in uk if part_of(a) == part),
        world=world_mine,
        countries=tuple(sorted({country for _, country in world_mine})),
        negatives={kind: tuple(items) for kind, items in _table("negatives.txt").items()}
        | {"dx": tuple(lines("diagnoses.txt"))}
        | {kind: _clinical(name) for kind, name in _CLINICAL.items()},
    )
