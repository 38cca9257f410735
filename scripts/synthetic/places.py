"""Invented addresses, institutions and organizations, and real towns."""

from __future__ import annotations

from dataclasses import dataclass

from .draw import Draw
from .people import plain
from .pools import Pools


@dataclass(frozen=True)
class Address:
    """An address whose town lies in its state; the postal code is invented."""

    street: str
    city: str
    state: str
    state_name: str
    zip: str
    country: str


def _name_word(draw: Draw, pools: Pools) -> str:
    return draw.pick(pools.surnames[: len(pools.surnames) // 3])


def invented_town(draw: Draw, pools: Pools, uk: bool) -> str:
    """Return a town that no list has."""
    first = draw.pick(pools.institutions["townfirst"])
    return first + draw.pick(pools.institutions["uktown" if uk and draw.chance(0.6) else "townlast"])


def street(draw: Draw, pools: Pools, uk: bool, name_only: bool = False) -> str:
    """Return house number and street, in some cases with an apartment; or the street alone."""
    words = pools.institutions["streetword"]
    name = draw.weighted(((draw.pick(words), 60), (_name_word(draw, pools), 35), (draw.pick(pools.states)[0], 5)))
    kind = draw.pick(pools.institutions["ukstreettype" if uk else "usstreettype"])
    if name_only:
        return f"{name} {kind}"
    if uk:
        number = draw.weighted(
            (
                (draw.digits("%"), 30),
                (draw.digits("%#"), 50),
                (draw.digits("%#") + draw.pick("AaBb"), 6),
                ("Flat " + draw.digits("%") + ", " + draw.digits("%#"), 14),
            )
        )
        return f"{number} {name} {kind}"
    if draw.chance(0.05):
        return draw.digits(draw.pick(("P.O. Box ###", "PO Box %##", "P.O. Box %###", "RR % Box ##", "HC ## Box ##")))
    if draw.chance(0.08):
        name, kind = draw.digits(draw.pick(("%##th", "%#th", "Route ##", "County Road %##"))), kind
        if "th" not in name:
            kind = ""
    number = draw.digits(draw.pick(("%", "%#", "%##", "%##", "%###", "%###", "%####", "#%-##")))
    side = draw.weighted(
        (("", 80), (draw.pick("NSEW") + " ", 10), (draw.pick("NSEW") + ". ", 5), (draw.pick(("North ", "West ")), 5))
    )
    unit = draw.digits(
        draw.weighted((("", 78), (" Apt %#", 5), (", Apt. %@", 5), (" #%##", 4), (", Unit %#", 4), (" Apt %##", 4)))
    )
    return f"{number} {side}{name} {kind}".rstrip() + unit


def make_address(draw: Draw, pools: Pools, uk: bool) -> Address:
    """Draw an address."""
    if uk:
        city, county = draw.pick(pools.uk_cities)
        if draw.chance(0.2):
            city = invented_town(draw, pools, uk)
        code = draw.digits(draw.pick(("@@% %@@", "@@%# %@@", "@% %@@", "@%# %@@", "@@# #@@")))
        return Address(street(draw, pools, uk), city, county, county, code, "UK")
    state_name, state = draw.pick(pools.states)
    city = draw.pick(pools.us_cities[state]) if draw.chance(0.75) else invented_town(draw, pools, uk)
    code = draw.digits(draw.weighted((("#%###", 88), ("%####-####", 12))))
    country = draw.pick(("USA", "United States", "US", "U.S.A."))
    return Address(street(draw, pools, uk), city, state, state_name, code, country)


def _base_name(draw: Draw, pools: Pools, uk: bool) -> str:
    """Return what an institution is called after: a saint, a virtue, a landscape, a town or a person."""
    names = pools.institutions
    saint = draw.pick(("St. ", "St. ", "Saint ", "St ")) + draw.pick(names["saint"])
    town = draw.pick(pools.uk_cities)[0] if uk else draw.pick(pools.us_cities[draw.pick(pools.states)[1]])
    return draw.weighted(
        (
            (saint, 20),
            (draw.pick(names["virtue"]), 12),
            (draw.pick(names["place"]), 26),
            (town, 22),
            (_name_word(draw, pools), 16),
            (invented_town(draw, pools, uk), 8),
            (f"{_name_word(draw, pools)}-{_name_word(draw, pools)}", 2),
        )
    )


def institution(draw: Draw, pools: Pools, uk: bool, kind: str) -> tuple[str, str, str]:
    """Return (full name, short name, acronym) of a hospital, clinic or nursing home."""
    base = _base_name(draw, pools, uk)
    head = draw.pick(pools.institutions[("uk" if uk else "us") + kind])
    full = f"{base} {head}"
    if kind == "hospital" and draw.chance(0.08) and not uk:
        full = f"University of {draw.pick(pools.states)[0]} {head}"
        base = "University Hospital"
    if kind == "clinic" and draw.chance(0.12):
        full = f"{draw.pick(('The ', '', ''))}{base} {draw.pick(('at', 'of'))} {_base_name(draw, pools, uk)} {head}"
    letters = "".join(w[0] for w in full.replace("-", " ").replace("/", " ").split() if w[0].isalpha())
    acronym = letters.upper() if len(letters) >= 3 else base
    return full, base, acronym


_SPOKEN = frozenset(
    ("General", "Memorial", "Regional", "County", "Community", "University", "Methodist", "Baptist", "Children's")
)
"""Kinds of hospital that people call one by alone; "Hospital" or "Clinic" alone names none."""


def by_word(names: tuple[str, str, str], draw: Draw) -> str:
    """Return what people call an institution: one word of its name, a cut or a possessive of it."""
    full, base, _ = names
    first = base.split()[-1] if base.startswith(("St ", "St. ", "Saint ")) else base
    kinds = [word for word in full.split() if word in _SPOKEN]
    owner = first if first.endswith("s") else first + "'s"
    cut = f"{first[:4]}-{kinds[0][:4]}" if kinds else first
    return draw.weighted(((first, 40), (draw.pick(kinds or [first]), 25), (owner, 15), (f"{first} Gen", 10), (cut, 10)))


_BY_KIND = {"General": "the General", "Memorial": "Memorial", "Children's": "Children's", "County": "County"}


def nickname(full: str, short: str, draw: Draw) -> str:
    """Return what staff call a hospital: the General, Memorial, Luke's, Cedar, CR."""
    names = [called for word, called in _BY_KIND.items() if word in full.split()]
    words = short.split()
    if words[0] in ("St.", "St", "Saint"):
        names += [words[-1], f"St. {words[-1][0]}'s", f"Saint {words[-1]}"]
    elif len(words) > 1 and len(words[0]) > 3:
        names += [words[0], "".join(w[0].upper() for w in words) + "H"]
    return draw.pick(names or [short])


def veterans(draw: Draw, pools: Pools) -> str:
    """Return a hospital of the veterans' administration, which is called after its town."""
    town = draw.pick(pools.us_cities[draw.pick(pools.states)[1]])
    return draw.pick(
        (f"{town} VA", f"{town} VA", f"VA {town}", f"{town} VAMC", f"VAMC {town}", f"{town} VA Medical Center")
    )


def teaching(draw: Draw, pools: Pools) -> str:
    """Return a university's hospital as it is called in speech: the U, U of Ohio, UOMC."""
    state = draw.pick(pools.states)[0]
    letters = "".join(w[0] for w in state.split())
    return draw.pick(("the U", f"U of {state}", f"U of {letters}", f"U{letters}MC", f"{state} University Hospital"))


def highway(draw: Draw, uk: bool) -> str:
    """Return a road that has a number."""
    american = ("I-%#", "Route %#", "Rte %##", "US %#", "Highway %#", "Hwy %##", "County Road %#", "State Route %##")
    return draw.digits(draw.pick(("M%", "M%#", "A%#", "A%##", "B%###") if uk else american))


def organization(draw: Draw, pools: Pools, uk: bool, kind: str) -> str:
    """Return an employer, shop, school, church, club or team."""
    names = pools.institutions
    heads = {"shop": "usshop", "school": "ukschool" if uk else "school", "uni": "school"}.get(kind, kind)
    base = _base_name(draw, pools, uk) if kind != "shop" or draw.chance(0.5) else f"{_name_word(draw, pools)}'s"
    if kind in ("work", "shop") and draw.chance(0.4):
        base = _name_word(draw, pools)
    if kind == "uni":
        place = draw.pick(pools.states)[0] if not uk else draw.pick(pools.uk_cities)[0]
        return draw.pick(
            (f"University of {place}", f"{place} State", f"{_name_word(draw, pools)} College", f"{base} University")
        )
    if kind == "work" and draw.chance(0.15):
        return draw.pick((f"{base} & {_name_word(draw, pools)}", f"{_name_word(draw, pools)}co", f"{base}Tech"))
    return f"{base} {draw.pick(names[heads])}"


def ward(draw: Draw, pools: Pools, uk: bool) -> str:
    """Return a named ward."""
    names = pools.institutions
    if uk:
        return draw.weighted(
            (
                (f"Ward {draw.digits('%#')}", 25),
                (f"Ward {draw.digits('%')}{draw.pick('ABCD')}", 20),
                (f"{draw.pick(names['ukward'])} Ward", 40),
                (f"{draw.pick(names['ukward'])} Unit", 10),
                (f"Ward {draw.pick(names['ukward'])}", 5),
            )
        )
    side = draw.pick(names["wardname"])
    return draw.weighted(
        (
            (f"{draw.digits('%')} {side}", 35),
            (f"{draw.digits('%')}{side[0]}", 8),
            (f"{side} {draw.digits('%')}", 12),
            (f"{_name_word(draw, pools)} {draw.digits('%')}", 15),
            (f"{draw.pick(names['place'])} Unit", 10),
            (f"{_name_word(draw, pools)} Pavilion", 6),
            (f"{side}-{draw.digits('%')}", 6),
            (f"{draw.digits('%')}-{side[0]}", 8),
        )
    )


def host(name: str, draw: Draw, kind: str = "org") -> str:
    """Return an internet host for an institution's name."""
    words = [plain(w) for w in name.replace("-", " ").split()]
    core = draw.pick(
        ("".join(words[:2]), words[0] + "health", "".join(w[0] for w in words) + "med", "-".join(words[:2]))
    )
    ends = ("org", "org", "com", "net", "edu") if kind == "org" else ("nhs.uk", "co.uk", "org.uk")
    return f"{core[:22]}.{draw.pick(ends)}"


def private_host(draw: Draw, uk: bool) -> str:
    """Return the host of a private mail address."""
    hosts = (
        "gmail.com",
        "yahoo.com",
        "hotmail.com",
        "aol.com",
        "outlook.com",
        "icloud.com",
        "comcast.net",
        "verizon.net",
    )
    return (
        draw.pick((*hosts, "protonmail.com", "msn.com", "sbcglobal.net"))
        if not uk
        else draw.pick(
            ("gmail.com", "hotmail.co.uk", "btinternet.com", "yahoo.co.uk", "sky.com", "talktalk.net", "outlook.com")
        )
    )
