"""Invented persons: names of many origins and the forms in which notes write them."""

from __future__ import annotations

from dataclasses import dataclass

from .draw import Draw
from .pools import Pools, part_of

_ONSETS = [
    "B",
    "Br",
    "Ch",
    "D",
    "Dr",
    "F",
    "G",
    "Gr",
    "H",
    "J",
    "K",
    "Kl",
    "L",
    "M",
    "N",
    "P",
    "Pr",
    "R",
    "S",
    "Sh",
    "Sk",
    "St",
    "T",
    "Tr",
    "V",
    "W",
    "Y",
    "Z",
]
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "ei", "ou", "a", "e", "i", "o"]
_ENDS = [
    "n",
    "l",
    "r",
    "s",
    "m",
    "nd",
    "rk",
    "th",
    "ska",
    "vic",
    "ro",
    "na",
    "ley",
    "mont",
    "berg",
    "wala",
    "shi",
    "moto",
    "no",
    "bek",
    "ez",
    "dar",
    "vich",
    "enko",
    "ian",
]
WORLD = 34
"""Share of the names that come from lists by origin, of the sum of all weights."""
_SUFFIXES = ("Jr.", "Jr", "Sr.", "II", "III")


@dataclass(frozen=True)
class Person:
    """A person's name and sex."""

    given: str
    middle: str
    family: str
    suffix: str
    nick: str
    male: bool


def invented(draw: Draw, part: str) -> str:
    """Return a name that no list has: syllables, in the part that its hash says."""
    while True:
        middle = "".join(draw.pick(_VOWELS) + draw.pick("bdgklmnprstvz") for _ in range(draw.between(0, 1)))
        word = draw.pick(_ONSETS) + middle + draw.pick(_VOWELS) + draw.pick(_ENDS)
        if part_of(word) == part:
            return word


def _frequent(draw: Draw, names: tuple[str, ...]) -> str:
    """Draw from a list sorted by frequency: half of the time the head, else any of it."""
    head = len(names) if draw.chance(0.5) else max(1, len(names) // 20)
    return names[draw.below(head)]


def make_person(
    draw: Draw, pools: Pools, sex: str = "", family: str = "", uk: bool = False, world: int = WORLD
) -> Person:
    """Draw a person; ``family`` is taken over where given (relatives), ``world`` weighs names of many origins."""
    male = draw.chance(0.5) if sex not in ("M", "F") else sex == "M"
    code = "M" if male else "F"
    kind = draw.weighted((("census", 48), ("origin", world), ("ambiguous", 12), ("invented", 6)))
    given = _frequent(draw, pools.given[code])
    surname = _frequent(draw, pools.surnames)
    if kind == "origin":
        men, women, surnames = draw.pick(pools.origins)
        surname = draw.pick(surnames)
        if draw.chance(0.8):
            given = draw.pick(men if male else women)
    elif kind == "ambiguous":
        surname = draw.pick(pools.ambiguous["S"])
        if draw.chance(0.4):
            given = draw.pick(pools.ambiguous[code])
    elif kind == "invented":
        surname = invented(draw, pools.part)
        if draw.chance(0.3):
            given = invented(draw, pools.part)
    if draw.chance(0.05):  # double-barrelled
        surname = f"{surname.split()[-1]}-{_frequent(draw, pools.surnames)}"
    elif draw.chance(0.01) and not uk:
        surname = f"{surname.split()[-1]} {_frequent(draw, pools.surnames)}"
    middle = _frequent(draw, pools.given[code])
    suffix = draw.pick(_SUFFIXES) if male and draw.chance(0.03) and not uk else ""
    return Person(given, middle, family or surname, suffix, draw.pick(pools.nicknames), male)


def full_name(person: Person, draw: Draw) -> str:
    """Return the name in the order of speech, with or without a middle name."""
    middle = draw.weighted((("", 66), (person.middle[0] + ".", 18), (person.middle[0], 8), (person.middle, 8)))
    return " ".join(x for x in (person.given, middle, person.family, person.suffix) if x)


def list_name(person: Person, draw: Draw) -> str:
    """Return the name as registries sort it: family name first."""
    middle = draw.weighted((("", 55), (person.middle[0], 25), (person.middle[0] + ".", 10), (person.middle, 10)))
    tail = " ".join(x for x in (person.given, middle) if x)
    suffix = " " + person.suffix if person.suffix else ""
    return f"{person.family}{suffix}{draw.weighted(((', ', 85), (',', 15)))}{tail}"


def column_name(person: Person, draw: Draw, mark: str) -> str:
    """Return the name as columns hold it, without a blank behind the comma or without any comma: Smith,John Q."""
    tail = draw.weighted((("", 60), (" " + person.middle[0], 30), (" " + person.middle, 10)))
    return f"{person.family}{mark}{person.given}{tail}"


def initials(person: Person, draw: Draw) -> str:
    """Return the initials: JS, J.S., JMS."""
    first, last = person.given[0], person.family.replace("'", "")[0].upper()
    return draw.weighted(
        ((first + last, 60), (f"{first}.{last}.", 20), (first + person.middle[0] + last, 15), (f"{first}. {last}.", 5))
    )


def spelled(name: str, draw: Draw) -> str:
    """Return a name as a dictation spells it: T-R-A-N, T R A N."""
    return draw.pick(("-", "-", " ", ".")).join(c for c in name.upper() if c.isalpha())


def plain(name: str) -> str:
    """Return a name as a login or an address has it: ASCII letters only, lower case."""
    from .pools import fold

    folded = fold(name).translate(str.maketrans("łøđıßæ", "lodisa"))
    return "".join(c for c in folded if c.isascii() and c.isalnum()) or "x"


def login(person: Person, draw: Draw) -> str:
    """Return a user name: jsmith, smithj2, js4432, SMITHJO."""
    first, last = plain(person.given), plain(person.family)
    shape = draw.below(8)
    if shape == 0:
        return first[0] + last[:10]
    if shape == 1:
        return last[:7] + first[0] + draw.digits("%")
    if shape == 2:
        return first[0] + last[0] + draw.digits("####")
    if shape == 3:
        return (last[:5] + first[:2]).upper()
    if shape == 4:
        return f"{first}.{last}"[:18]
    if shape == 5:
        return first[0] + plain(person.middle)[0] + last[0] + draw.digits("##")
    if shape == 6:
        return draw.digits("@##") + last[:4]
    return f"{last[:6]}_{first[0]}"


def dictation(person: Person, other: Person, draw: Draw) -> str:
    """Return the initials of who dictated and who typed, or the typist's alone: JS/mk, MK:14, jds."""
    a = person.given[0] + person.family[0].upper()
    b = other.given[0] + other.family[0].upper()
    shape = draw.below(7)
    return (
        f"{a}/{b.lower()}",
        f"{a}:{b}",
        f"{a.lower()}/{b.lower()}",
        f"{a}/{draw.digits('##')}",
        f"{b.lower()}{draw.digits('%#')}",
        f"{a}/{b}/{draw.digits('###')}",
        f"{a}{person.middle[0]}/{b.lower()}",
    )[shape]


def email(person: Person, draw: Draw, host: str) -> str:
    """Return an address of the person at a host."""
    first, last = plain(person.given), plain(person.family)
    local = draw.pick(
        (
            f"{first}.{last}",
            f"{first[0]}{last}",
            f"{first}{draw.digits('##')}",
            f"{last}.{first[0]}",
            f"{first}_{last}",
            f"{last}{draw.digits('19##')}",
            f"{first[0]}.{last}{draw.digits('%')}",
        )
    )
    return f"{local}@{host}"
