"""Places that fit each other: state, city and ZIP code of one address, and what keeps only its form."""

from __future__ import annotations

import itertools
import re

import pytest

from deid.replacement.places import AddressSpan, PlaceMap
from deid.replacement.pools import cities, countries, states
from tests.replacement.making import make_choices

BY_CODE = {s.code: s for s in states()}
BY_NAME = {s.name: s for s in states()}


def replace(*pieces: tuple[str, str], scope: str = "patient:1", language: str = "en", gap: str = ", ") -> list[str]:
    """Replace the places of one document, whose parts stand ``gap`` apart."""
    text, places = "", []
    for category, piece in pieces:
        places.append(AddressSpan(len(text), len(text) + len(piece), category, piece))
        text += piece + gap
    found = PlaceMap(make_choices(scope, language), text, places)
    return [found.replace(place) for place in places]


@pytest.mark.parametrize("scope", [f"p{n}" for n in range(25)])
def test_city_state_and_zip_of_an_address_fit(scope: str) -> None:
    city, state, code = replace(("CITY", "Boston"), ("STATE", "MA"), ("ZIP", "02115"), scope=scope)
    assert state in BY_CODE
    assert state != "MA"
    assert city in cities()[f"US-{state}"]
    assert code[:3] in BY_CODE[state].zip3


def test_each_address_of_a_document_is_in_its_own_state() -> None:
    text = "Springfield, OH 45501 and later Columbus, GA; then Dayton, OH; born in Ohio"
    places = [
        AddressSpan(
            m.start(),
            m.end(),
            {"S": "CITY", "C": "CITY", "D": "CITY", "4": "ZIP"}.get(m.group()[0], "STATE"),
            m.group(),
        )
        for m in re.finditer(r"Springfield|OH|45501|Columbus|GA|Dayton|Ohio", text)
    ]
    for scope in range(8):
        found = PlaceMap(make_choices(f"p{scope}"), text, places)
        one, ohio, code, two, georgia, three, again, spelt = (found.replace(place) for place in places)
        assert {one, three} <= set(cities()[f"US-{ohio}"])
        assert code[:3] in BY_CODE[ohio].zip3
        assert two in cities()[f"US-{georgia}"]
        assert ohio == again == BY_NAME[spelt].code != georgia


def test_a_city_elsewhere_in_the_document_is_the_same_city() -> None:
    new = replace(("CITY", "Springfield"), ("STATE", "OH"), ("CITY", "Springfield"), gap=", ")
    assert new[0] == new[2]
    apart = replace(
        ("CITY", "Springfield"), ("STATE", "OH"), ("COUNTRY", "Canada"), ("CITY", "Springfield"), gap=" went to "
    )
    assert apart[0] == apart[3]


def test_states_are_exchanged_one_to_one_in_all_their_forms() -> None:
    fifty = states()[:50]
    codes = replace(*(("STATE", s.code) for s in fifty), gap=" and then ")
    names = replace(*(("STATE", s.name) for s in fifty), gap=" and then ")
    assert len(set(codes)) == 50
    assert not any(s.code == c for s, c in zip(fifty, codes, strict=True))
    assert [BY_NAME[n].code for n in names] == codes


@pytest.mark.parametrize(
    ("state", "pattern"),
    [("N.Y.", r"[A-Z]\.[A-Z]\."), ("Mass.", r"[A-Z][\w.]*\."), ("TEXAS", r"[A-Z ]+"), ("tx", r"[a-z]{2}")],
)
def test_forms_of_states_stay(state: str, pattern: str) -> None:
    assert re.fullmatch(pattern, replace(("STATE", state))[0])


def test_a_zip_code_alone_goes_with_its_state() -> None:
    state = replace(("STATE", "MA"))[0]
    code = replace(("ZIP", "02115-1234"))[0]
    assert code[:3] in BY_CODE[state].zip3
    assert re.fullmatch(r"\d{5}-\d{4}", code)
    assert not code.endswith("1234")


def test_cities_of_one_state_are_distinct() -> None:
    names = cities()["US-OH"][:40]
    new = replace(*(("CITY", name) for name in names), gap=" and then ")
    assert len(set(new)) == 40
    assert not set(new) & set(names[:0])


@pytest.mark.parametrize(
    ("category", "text", "pattern"),
    [
        ("ZIP", "LS7 4QD", r"[A-Z]{2}\d \d[A-Z]{2}"),
        ("ZIP", "m1 1ae", r"[a-z]\d \d[a-z]{2}"),
        ("ZIP", "SW1A 1AA", r"[A-Z]{2}\d[A-Z] \d[A-Z]{2}"),
        ("CITY", "NYC", r"[A-Z]{3}"),
        ("STATE", "Ontario", r"[A-Z][A-Za-z ]+"),
        ("CITY", "Qwertyville", r"[A-Z].+"),
    ],
)
def test_what_no_gazetteer_knows_keeps_its_form(category: str, text: str, pattern: str) -> None:
    new = replace((category, text))[0]
    assert re.fullmatch(pattern, new)
    assert text.casefold() not in new.casefold()


def test_no_british_postcode_keeps_its_last_letters() -> None:
    """The half that tells the street; many of them, as one of four hundred is drawn again.

    Each with the letter behind it before it, or itself twice: what comes in its place must differ all the same.
    """
    letters = "ABDEFGHJLNPQRSTUWXYZ"
    for head, (one, other) in itertools.product(range(60), itertools.pairwise("Z" + letters)):
        for unit in (other + one, one + other, one + one):
            new = replace(("ZIP", f"LS{head // 10} {head % 10}{unit}"))[0]
            assert re.fullmatch(r"[A-Z]{2}\d \d[A-Z]{2}", new)
            assert new[-2:] != unit


@pytest.mark.parametrize("language", ["en", "es", "de"])
@pytest.mark.parametrize(
    ("category", "text"),
    [
        ("CITY", "Boston"), ("CITY", "Bilbao"), ("CITY", "Zorblat"), ("STATE", "Ohio"), ("STATE", "OH"),
        ("ZIP", "02115"), ("COUNTRY", "Syria"),
    ],
)  # fmt: skip
def test_a_place_whose_surrogate_does_not_do_gets_another(category: str, text: str, language: str) -> None:
    """As where it is an original elsewhere in the note."""
    place = AddressSpan(0, len(text), category, text)
    made = [PlaceMap(make_choices("p", language), text, [place]).replace(place, step) for step in (1, 2, 3)]
    assert len({*made, text}) == 4, made


def test_spanish_places() -> None:
    city, code, country = replace(("CITY", "Madrid"), ("ZIP", "28029"), ("COUNTRY", "España"), language="es")
    assert city in cities()["ES"]
    assert 1 <= int(code[:2]) <= 52
    assert code != "28029"
    assert country in next(group for group in countries() if "España" in group)


@pytest.mark.parametrize("code", ["00123", "60123", "99001"])
def test_a_spanish_code_of_no_province_is_replaced_all_the_same(code: str) -> None:
    new = replace(("ZIP", code), language="es")[0]
    assert re.fullmatch(r"\d{5}", new)
    assert new[:2] != code[:2]


@pytest.mark.parametrize("country", ["Canada", "USA", "England", "U.K.", "Peru", "CHINA", "Atlantis"])
def test_countries_of_a_kind(country: str) -> None:
    new = replace(("COUNTRY", country))[0]
    assert new.casefold() != country.casefold()
    assert new.isupper() == country.isupper()


@pytest.mark.parametrize("form", ["code", "name"])
def test_a_note_of_many_states_has_as_many_surrogates_and_none_of_them(form: str) -> None:
    named = [getattr(state, form) for state in states()[:24]]
    for scope in range(3):
        new = replace(*[("STATE", name) for name in named], scope=f"p{scope}", gap="; then ")
        assert len(set(new)) == len(named)
        assert {getattr(state, form) for state in states()} >= set(new)
        assert all(a != b for a, b in zip(named, new, strict=True))


def test_no_place_is_an_original_of_the_document() -> None:
    """A city named in the document is nobody's surrogate; directions and the like may be."""
    usual = replace(("CITY", "Boston"), ("STATE", "MA"))[0]
    choices = make_choices(originals=tuple(w.lower() for w in re.findall(r"\w{4,}", usual)))
    place = AddressSpan(0, 6, "CITY", "Boston")
    found = PlaceMap(choices, "Boston, MA", [place, AddressSpan(8, 10, "STATE", "MA")]).replace(place)
    assert found != usual
