"""Surrogates of cities, states, ZIP codes and countries that fit each other.

States of the USA go through a keyed permutation without fixed point; a city of a state becomes a city of the state's
surrogate, a ZIP code gets a prefix of it. Which state a city or ZIP code belongs to is read from the address that it
stands in, else from another mention in the document, else from the gazetteer.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from deid.base.compiled import quick
from deid.replacement.choices import Choices
from deid.replacement.identifiers import scramble
from deid.replacement.names import match_case
from deid.replacement.pools import (
    FIFTY,
    State,
    cities,
    city_index,
    countries,
    country_index,
    home_cities,
    home_countries,
    phrase_key,
    regions,
    same_country,
    state_index,
    states,
    words,
)

ADDRESS: Final = frozenset({"STREET", "CITY", "STATE", "ZIP", "COUNTRY"})
STAYS: Final = "stays"
"""Source of a span that `at_home` lets stay, for those who replace what stands beside it."""
_SAME_ADDRESS: Final = re.compile(r"[\s,.;:|/()\-–•]{0,6}")
_CODE: Final = re.compile(r"(?<!\d)\d{4,5}(?!\d)")
"""The digits of a postal code, without the four more of a ZIP code behind them."""
_PART_OF_CITY: Final = re.compile(r"([^\W\d_][^\d]*?)(\s+(?:cedex\s+)?)(\d{1,2})", re.IGNORECASE)
"""A city, and the number of its district or delivery office."""
_ZIP: Final = re.compile(r"(?<!\d)(\d{5})(?:([- ]?)(\d{4}))?(?!\d)")
_POSTCODE: Final = re.compile(r"\s*[A-Za-z]{1,2}\d[A-Za-z\d]?\s*\d[A-Za-z]{2}\s*")
_AREAS_GB: Final = {
    1: "BEGLMNSW",
    2: "AB AL BA BB BD BH BL BN BR BS BT CA CB CF CH CM CO CR CT CV CW DA DD DE DG DH DL DN DT DY EH EN EX FK FY GL GU "
    "HA HD HG HP HR HS HU HX IG IP IV KA KT KW KY LA LD LE LL LN LS LU ME MK ML NE NG NN NP NR NW OL OX PA PE PH PL "
    "PO PR RG RH RM SA SE SG SK SL SM SN SO SP SR SS ST SW SY TA TD TF TN TQ TR TS TW UB WA WC WD WF WN WR WS WV YO ZE",
}
_UNIT_GB: Final = "ABDEFGHJLNPQRSTUWXYZ"  # letters of the second half of a postcode
_CITY_SIZE: Final = 4  # two ranks out of one band of sizes: a large city stays a large city


@quick
@dataclass(frozen=True, slots=True)
class AddressSpan:
    """A span of an address: where it is, its category, its text."""

    start: int
    end: int
    category: str
    text: str = field(repr=False)


@functools.cache
def _zip_index() -> dict[str, int]:
    return {prefix: i for i, state in enumerate(states()) for prefix in state.zip3}


def at_home(text: str, places: Iterable[AddressSpan], language: str) -> frozenset[int]:
    """Return where the United States stay: every name of them in a document with an address that lies there.

    A state's surrogate is a state of the same country, so that another country beside it would contradict it, and the
    state tells the country all the same.

    Parameters
    ----------
    text : str
        The document's text.
    places : iterable of AddressSpan
        What surrogates replace, in order.
    language : str

    Returns
    -------
    frozenset of int
        Where the names begin, none where no address is told to lie in the United States.
    """
    address = [p for p in places if p.category in ADDRESS]
    named = [p.start for p in address if p.category == "COUNTRY" and is_home(p.text)]
    if not named:
        return frozenset()
    local = language[:2] in home_cities() or language.startswith("es")
    there = any(_area_of_block(block, local) for block in _blocks(text, address))
    return frozenset(named if there else ())


def is_home(text: str) -> bool:
    """Tell whether a text is a name of the United States, whose states and cities have surrogates there."""
    return phrase_key(text) in same_country()["us"]


def _blocks(text: str, places: Iterable[AddressSpan]) -> Iterator[list[AddressSpan]]:
    """Yield the parts of each address."""
    block: list[AddressSpan] = []
    for place in places:
        if block and not _SAME_ADDRESS.fullmatch(text[block[-1].end : place.start]):
            yield block
            block = []
        block.append(place)
    if block:
        yield block


def _area_of_block(block: Sequence[AddressSpan], local: bool) -> str:
    """Return the state of the USA that an address lies in, empty when nothing tells.

    ``local``: postal codes are those of the language's own country.
    """
    area = next(filter(None, [_state_area(p.text) for p in block if p.category == "STATE"]), "")
    if area or local:
        return area
    zips = (_ZIP.search(p.text) for p in block if p.category == "ZIP")
    return next((f"US-{states()[_zip_index()[z[1][:3]]].code}" for z in zips if z and z[1][:3] in _zip_index()), "")


def _state_area(text: str) -> str:
    index = state_index().get(phrase_key(text))
    return "" if index is None else f"US-{states()[index].code}"


class PlaceMap:
    """The surrogate places of one document.

    Parameters
    ----------
    choices : Choices
        The document's choices.
    text : str
        The document's text.
    places : iterable of Place
        Its spans of the categories STREET, CITY, STATE, ZIP and COUNTRY, in order.
    """

    def __init__(self, choices: Choices, text: str, places: Iterable[AddressSpan]) -> None:
        self._choices = choices
        self._spanish = choices.language.startswith("es")
        self._home = home_cities().get(choices.language[:2], ())
        self._area: dict[int, str] = {}
        self._moved: dict[str, State] = {}
        self._city_area: dict[str, str] = {}
        self.known: dict[str, str] = {}
        """Key of a city, state, country or postal code of the document -> its surrogate, for longer names."""
        for block in _blocks(text, places):
            area = _area_of_block(block, self._spanish or bool(self._home))
            for place in block if area else ():
                self._area[place.start] = area
                if place.category == "CITY":
                    self._city_area.setdefault(phrase_key(place.text), area)

    def stay(self, country: str) -> None:
        """Let a country stay in longer names, such as an address in one field, as it does by itself (`at_home`)."""
        self.known.setdefault(phrase_key(country), country)

    def replace(self, place: AddressSpan, step: int = 1) -> str:
        """Return the surrogate of a city, state, ZIP code or country."""
        if place.category == "CITY" and self._home:
            part = _PART_OF_CITY.fullmatch(place.text)
            if part is not None:  # Niort Cedex 9, Wien 12
                city = self.replace(replace(place, text=part[1]), step)
                return f"{city}{part[2]}{scramble(self._choices.keyed, part[3], 'part of a city', step)}"
        if place.category == "ZIP" or (place.category == "CITY" and any(c.isdigit() for c in place.text)):
            new = self._zip(place, step)
            codes = _CODE.findall(place.text), _CODE.findall(new)
            if codes[0] and len(codes[0]) == len(codes[1]):
                self.known.setdefault(codes[0][0], codes[1][0])
            return new
        key = phrase_key(place.text)
        if not key:
            return scramble(self._choices.keyed, place.text, place.category, step)
        find = {"CITY": self._city, "STATE": self._state, "COUNTRY": self._country}[place.category]
        found = find(place, step)
        if found:
            self.known.setdefault(key, found)
        return match_case(found, place.text)

    # states

    def _state_of(self, area: str) -> State:
        """Return the surrogate of a state."""
        found = self._moved.get(area)
        if found is None:
            index = state_index()[area[3:].lower()]
            if index < FIFTY:
                index = self._choices.keyed.move("state", index, FIFTY)
            else:  # the district and the territories
                index = self._choices.keyed.number("state", area) % FIFTY
            found = self._moved[area] = states()[index]
        return found

    def _region(self, text: str, step: int) -> str:
        """Return the surrogate of a region of the language's own countries, or of one that nobody knows."""
        lists, index = regions(self._choices.language[:2])
        key = phrase_key(text)
        found = index.get(key)
        if found is not None:
            options = self._choices.others(f"region {found[0]}", found[1], lists[found[0]])
        elif _state_area(text):
            return ""
        else:
            options = self._choices.hashed("region", key, lists[0])
        return self._choices.claim("states", key, itertools.islice(options, step - 1, None))

    def _state(self, place: AddressSpan, step: int) -> str:
        region = self._region(place.text, step) if self._home else ""
        if region:
            return region
        area = _state_area(place.text)
        if not area:
            groups = ("regions_es", "provinces_canada", "regions_gb")
            found = words().find(phrase_key(place.text), groups)
            name = found[0] if found else "regions_es" if self._spanish else ""
            group = words().groups[name] if name else [s.name for s in states()[:FIFTY]]
            key = phrase_key(place.text)
            options = (
                self._choices.others(name, found[1], group) if found else self._choices.hashed("state", key, group)
            )
            return self._choices.claim("states", key, map(str.title, options))
        original = states()[state_index()[phrase_key(place.text)]]
        bare = place.text.strip().rstrip(".")
        stop = "." if place.text.strip().endswith(".") else ""
        full = phrase_key(bare) == phrase_key(original.name)
        letters = len(bare.replace(".", "").replace(" ", "")) == 2

        def written(state: State) -> str:
            if full:
                return state.name
            if letters:
                return (".".join(state.code) if "." in bare else state.code) + stop
            return state.traditional + stop

        def surrogates() -> Iterator[State]:
            yield self._state_of(area)
            for attempt in range(2, 40):
                yield states()[self._choices.keyed.number("state", area, str(attempt)) % FIFTY]

        candidates = map(written, itertools.islice(surrogates(), step - 1, None))
        return self._choices.claim("states", place.text.strip(), candidates, words=full and not letters)

    # cities

    def _area_of(self, place: AddressSpan) -> str:
        """Return the area that an original city lies in, empty when nothing tells."""
        key = phrase_key(place.text)
        area = self._area.get(place.start) or self._city_area.get(key)
        if area:
            return area
        found = city_index().get(key, [])
        if self._spanish:
            found = sorted(found, key=lambda pair: pair[1] != "ES")
        return found[0][1] if found else ""

    def _surrogate_area(self, area: str, key: str) -> str:
        if area.startswith("US-"):
            return f"US-{self._state_of(area).code}"
        if area:
            return area
        if self._spanish:
            return "ES"
        return f"US-{states()[self._choices.keyed.number('area', key) % FIFTY].code}"

    def _city(self, place: AddressSpan, step: int) -> str:
        key = phrase_key(place.text)
        if len(place.text) <= 4 and place.text.isupper() and key not in city_index():
            return self._choices.names.initials(place.text)  # NYC
        if self._home:
            at_home = self._choices.hashed("city", key, self._home, 200)
            return self._choices.claim("cities", key, itertools.islice(at_home, step - 1, None))
        area = self._area_of(place)
        target = self._surrogate_area(area, key)
        group = cities()[target]
        rank = next((r for r, a in city_index().get(key, ()) if a == area), None)

        def candidates() -> Iterator[str]:
            if rank is not None and rank < len(group):
                yield self._near(f"{area} {target}", rank, group, area == target)
            yield from self._choices.hashed(f"city {target}", key, group, 200)

        return self._choices.claim("cities", key, itertools.islice(candidates(), step - 1, None))

    def _near(self, what: str, rank: int, group: tuple[str, ...], same: bool) -> str:
        """Return a city of about the same rank, by a keyed permutation of the ranks between two limits."""
        low, high = 0, _CITY_SIZE
        while rank >= high:
            low, high = high, high * _CITY_SIZE
        high = min(high, len(group))
        move = self._choices.keyed.move if same else self._choices.keyed.permute
        return group[low + move(f"city {what} {low}", rank - low, high - low)]

    # ZIP codes

    def _zip(self, place: AddressSpan, step: int) -> str:
        text = place.text
        match = _ZIP.search(text)
        if _POSTCODE.fullmatch(text):
            return self._postcode(text, step)
        if match is None or self._home:
            return scramble(self._choices.keyed, text, "zip", step)
        if self._spanish:
            return text[: match.start()] + self._spanish_code(match.group(), step) + text[match.end() :]
        area = self._area.get(place.start, "")
        own = _zip_index().get(match[1][:3])
        if not area and own is not None:
            area = f"US-{states()[own].code}"
        code = self._surrogate_area(area, match[1])[3:]
        prefixes = states()[state_index()[code.lower()]].zip3

        def candidates() -> Iterator[str]:
            for attempt in range(step, step + 400):
                number = self._choices.keyed.number("zip", code, match[1], str(attempt))
                number, last = divmod(number, 100)
                yield f"{prefixes[number % len(prefixes)]}{last:02}"

        five = self._choices.claim("ZIP codes", match[1], candidates(), words=False)
        if not five:
            return ""
        four = scramble(self._choices.keyed, match[3], "zip4", step) if match[3] else ""
        return f"{text[: match.start()]}{five}{match[2] or ''}{four}{text[match.end() :]}"

    def _spanish_code(self, code: str, step: int) -> str:
        """Return another Spanish postal code: provinces go from 01 to 52."""
        province = int(code[:2])
        if not 1 <= province <= 52:
            return scramble(self._choices.keyed, code, "zip", step)
        moved = self._choices.keyed.move("province", province - 1, 52) + 1
        return f"{moved:02}{scramble(self._choices.keyed, code[2:], f'zip {moved}', step)}"

    def _postcode(self, text: str, step: int) -> str:
        """Return another British postcode of the same form."""
        places = [i for i, c in enumerate(text) if c.isalnum()]
        code = "".join(text[i] for i in places).upper()
        letters = 2 if code[1].isalpha() else 1
        areas = _AREAS_GB[letters].split() if letters == 2 else list(_AREAS_GB[1])
        area = areas[self._choices.keyed.number("postcode", code[:letters], str(step)) % len(areas)]
        inner = scramble(self._choices.keyed, code[letters:-2], f"postcode {letters}", step)
        number = self._choices.keyed.number("postcode", code, str(step))
        unit = _UNIT_GB[number % 20] + _UNIT_GB[number // 20 % 20]
        if unit == code[-2:]:
            unit = _UNIT_GB[(_UNIT_GB.find(unit[0]) + 1) % 20] + unit[1]
        chars = list(text)
        for i, char in zip(places, area + inner + unit, strict=True):
            chars[i] = char.lower() if text[i].islower() else char
        return "".join(chars)

    # countries

    def _country(self, place: AddressSpan, step: int) -> str:
        key = phrase_key(place.text)
        groups, homes = countries(), home_countries()
        own = homes.get(self._choices.language[:2])
        found = [
            (g, i) for g, i in country_index().get(key, ()) if g == own or (own is None and g not in homes.values())
        ]
        if self._spanish:
            found.reverse()
        options: Iterator[str]
        if found:
            # a name may stand in several groups; where the first has none that fits (of "United States" the others are
            # the same country, or share its first word), the next one follows
            options = itertools.chain.from_iterable(
                self._choices.others(f"country {g}", i, groups[g]) for g, i in found
            )
        else:
            group = groups[country_index()[self._unknown_country()][0][0]]
            options = self._choices.hashed("country", key, group)
        same = same_country().get(key, ())
        options = itertools.filterfalse(lambda option: phrase_key(option) in same, options)
        return self._choices.claim("countries", key, itertools.islice(options, step - 1, None))

    def _unknown_country(self) -> str:
        """Return the key of a country whose group a country on no list gets its surrogate from."""
        home = {"de": "frankreich", "fr": "maroc", "nl": "frankrijk"}
        return "francia" if self._spanish else home.get(self._choices.language[:2], "france")
