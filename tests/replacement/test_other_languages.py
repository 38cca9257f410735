"""Surrogates where German, French or Dutch is written keep the form that a reader expects there."""

from __future__ import annotations

import re

import pytest
from making import make_choices
from notes import composed

from deid.base.keys import Key
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document
from deid.pipeline import build_pipeline
from deid.pipeline.options import PipelineOptions
from deid.replacement.institutions import replace_by_template
from deid.replacement.policy import load_policy
from deid.replacement.pools import (
    countries,
    home_cities,
    home_countries,
    phrase_key,
    professions,
    professions_of,
    regions,
    states,
)
from deid.replacement.replacer import Replacer
from deid.replacement.scope import Scope

KEY = Key(bytes(32))
MONTHS = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
}


def replaced(language: str, *marked: tuple[str, str]) -> list[str]:
    """Return the surrogates of texts of some categories, which stand in one note."""
    document = Document("n", *composed(*(piece for one in marked for piece in ("x: ", one, ".\n"))))
    scrubbed = build_pipeline(KEY, PipelineOptions(language=language, gold=True))(document)
    return [scrubbed.document.text[edit.new_start : edit.new_end] for edit in scrubbed.edits]


@pytest.mark.parametrize("language", MONTHS)
@pytest.mark.parametrize("month", range(12))
def test_months_are_of_the_language_and_days_come_first(language: str, month: int) -> None:
    names = MONTHS[language].split()
    stop = "." if language == "de" else ""
    # both dates are of one day: what is a month in the words is one in the numbers
    worded, numeric = replaced(language, ("DATE", f"5{stop} {names[month]} 2021"), ("DATE", f"05.{month + 1:02d}.2021"))
    found = re.fullmatch(rf"(\d+){re.escape(stop)} (\S+) (\d{{4}})", worded)
    assert found is not None
    day, number, year = map(int, numeric.split("."))
    assert (day, names[number - 1], year) == (int(found[1]), found[2], int(found[3]))
    assert worded != f"5{stop} {names[month]} 2021"


@pytest.mark.parametrize(
    ("language", "phone", "kept"),
    [
        ("de", "0171 5523986", "0171 "),
        ("de", "+49 89 4521877", "+49 8"),
        ("fr", "06.71.55.23.98", "06.71."),
        ("nl", "06-71552398", "06-71"),
        ("fr", "418 555-0187, poste 4", ""),
        ("de", "08921 4411-0 Durchwahl 12", "0892"),
    ],
)
def test_telephone_numbers_keep_area_and_form(language: str, phone: str, kept: str) -> None:
    (new,) = replaced(language, ("PHONE", phone))
    assert new.startswith(kept)
    assert new != phone
    assert re.sub(r"\d", "0", new) == re.sub(r"\d", "0", phone)  # words stay, too


@pytest.mark.parametrize(
    ("language", "city", "country", "job"),
    [("de", "Neuwied", "Syrien", "Tischler"), ("fr", "Vierzon", "Syrie", "maçon"), ("nl", "Almelo", "Syrië", "kok")],
)
def test_towns_countries_and_occupations_are_of_the_language(language: str, city: str, country: str, job: str) -> None:
    new_city, new_country, new_job = replaced(language, ("CITY", city), ("COUNTRY", country), ("PROFESSION", job))
    assert new_city in home_cities()[language]
    assert new_country in countries()[home_countries()[language]]
    assert new_job.lower() in next(group for group in professions() if job.lower() in group)
    assert not {new_city, new_country, new_job} & {city, country, job}


@pytest.mark.parametrize("language", MONTHS)
@pytest.mark.parametrize("text", ["Tanzania", "Germany", "Quuxland", "Namibia"])
def test_a_country_that_its_lists_do_not_name_becomes_one_of_the_language(language: str, text: str) -> None:
    (new,) = replaced(language, ("COUNTRY", text))
    assert new in countries()[home_countries()[language]]


@pytest.mark.parametrize("language", MONTHS)
@pytest.mark.parametrize("text", ["chauffeur", "carpenter", "cocinero", "Koch", "zzyx"])
def test_an_occupation_of_another_language_becomes_one_of_the_language(language: str, text: str) -> None:
    (new,) = replaced(language, ("PROFESSION", text))
    assert new.lower() in {job for group in professions_of(language) for job in professions()[group]}


@pytest.mark.parametrize(
    ("language", "original"),
    [(language, name) for language in MONTHS for group in regions(language)[0] for name in group[::6]],
)
def test_a_region_becomes_another_one_of_its_country(language: str, original: str) -> None:
    """Not a state of the USA: *AR* and *NE* are cantons, too."""
    lists, index = regions(language)
    (new,) = replaced(language, ("STATE", original))
    assert new.casefold() in {name.casefold() for name in lists[index[phrase_key(original)][0]]}
    assert new != original


@pytest.mark.parametrize(("language", "first"), [("de", "Bayern"), ("fr", "Bretagne"), ("nl", "Drenthe")])
def test_a_region_that_nobody_knows_becomes_one_of_the_language_and_a_state_stays_a_state(
    language: str, first: str
) -> None:
    unknown, state = replaced(language, ("STATE", "Quuxland"), ("STATE", "Ohio"))
    assert unknown in next(group for group in regions(language)[0] if first in group)
    assert state in {each.name for each in states()}
    assert state != "Ohio"


@pytest.mark.parametrize(
    ("language", "text", "form"),
    [
        ("fr", "Niort Cedex 9", r"(?!Niort)[^\d]+ Cedex \d"),
        ("fr", "Paris 14", r"(?!Paris)[^\d]+ \d\d"),
        ("de", "Wien 12", r"(?!Wien)[^\d]+ \d\d"),
        ("nl", "1012 Amsterdam", r"\d{4} [^\d]+"),
    ],
)
def test_a_town_with_a_number_stays_one(language: str, text: str, form: str) -> None:
    (new,) = replaced(language, ("CITY", text))
    assert re.fullmatch(form, new), new
    town = re.sub(r"(?i)\s+(?:cedex\s+)?\d+", "", new)
    assert town in home_cities()[language] or text[0].isdigit()


@pytest.mark.parametrize(
    ("language", "category", "name", "form"),
    [
        ("de", "STREET", "Lindenstraße 14", r"(?!Linden)\w+straße \d+"),
        ("de", "HOSPITAL", "Klinikum Neuwied", r"Klinikum (?!Neuwied).+"),
        ("fr", "STREET", "12 rue Gambetta", r"\d+ rue (?!Gambetta).+"),
        ("fr", "HOSPITAL", "Centre Hospitalier de Vierzon", r"Centre Hospitalier de (?!Vierzon).+"),
        ("nl", "STREET", "Beukenlaan 8", r"(?!Beuken)\w+laan \d+"),
        ("nl", "HOSPITAL", "Beatrixziekenhuis", r"(?!Beatrix)\w+ziekenhuis"),
        ("de", "HOSPITAL", "Zentrum für Psychiatrie Quorn", r"Zentrum für Psychiatrie (?!Quorn)\w+"),
        ("de", "ORGANIZATION", "Grundschule am Quorn", r"Grundschule am (?!Quorn)\w+"),
        ("de", "STREET", "Quornstr. 35, Hinterhaus, 3. OG", r"(?!Quorn)\w+str\. \d\d, Hinterhaus, \d\. OG"),
        ("fr", "STREET", "9, rés. Les Quorn, bât. C, appt 4", r"\d, rés\. Les (?!Quorn)\w+, bât\. C, appt \d"),
        ("fr", "ORGANIZATION", "boulangerie Quorn et fils", r"boulangerie (?!Quorn)\w+ et fils"),
        ("nl", "STREET", "Quornstraat 77 bus 3", r"(?!Quorn)\w+straat \d\d bus \d"),
        ("nl", "ORGANIZATION", "Bakkerij Quorn en zonen", r"Bakkerij (?!Quorn)\w+ en zonen"),
        ("es", "STREET", "Cra 23 # 41-18 apto 301", r"Cra \d\d # \d\d-\d\d apto \d+"),
        # a street of nothing but such words is exchanged all the same
        ("de", "STREET", "Große Str. 88", r"(?!Große)\w+ Str\. \d\d"),
        ("nl", "STREET", "Oude Markt 3a", r"(?!Oude)\w+ Markt \d\w"),
    ],
)
def test_what_is_named_stays_and_its_name_goes(language: str, category: str, name: str, form: str) -> None:
    (new,) = replaced(language, (category, name))
    assert re.fullmatch(form, new), new


@pytest.mark.parametrize("phone", ["06.44.17.72.50", "06 44 17 72 50", "06-44-17-72-50", "0644177250"])
def test_french_numbers_in_pairs_are_no_values(phone: str) -> None:
    text = f"Portable du chef : {phone}."
    spans = build_recognizer(RecognizerOptions(language="fr", model="none")).find(Document("n", text))
    assert [(text[s.start : s.end], s.category) for s in spans] == [(phone, "PHONE")]


OF_ALL = {
    "PATIENT": ("Karin Feldmann", "Hernández Ruiz, Lucía", "Jean Quux"),
    "DATE": ("5. März 2021", "5 mars 2021", "5 maart 2021", "5 de marzo de 2021", "03/04/2021", "April", "mai"),
    "PHONE": ("0171 5523986", "917 555 239", "617-555-0143"),
    "STREET": ("Lindenstraße 14", "12 Oak Street"),
    "ZIP": ("56564",),
    "CITY": ("Neuwied", "Lugo"),
    "COUNTRY": ("USA", "Syrien", "France", "Nederland", "Francia"),
    "HOSPITAL": (
        "Beatrixziekenhuis",
        "Klinikum Neuwied",
        "Augenklinik Quux",
        "Cliniques Quux",
        "Huisartsenpraktijk Quux",
    ),
    "ORGANIZATION": ("Bäckerei Quux", "Boulangerie Quux", "Bakkerij Quux"),
    "LOCATION-OTHER": ("Friedhof Quux", "Cimetière Quux", "Begraafplaats Quux", "Embalse Quux"),
    "PROFESSION": ("Tischler", "zzyx"),
    "USERNAME": ("kfeldmann",),
}


@pytest.mark.parametrize("language", ["en", "es", *MONTHS])
def test_the_language_of_a_region_is_that_language(language: str) -> None:
    """Its towns, months, postal codes and forms; a language that nothing is known of has those of English."""
    marked = [(category, text) for category, texts in OF_ALL.items() for text in texts]
    document = Document("n", *composed(*(piece for one in marked for piece in ("x: ", one, ".\n"))))
    replacer = Replacer(load_policy("surrogate"))

    def lines(language: str) -> list[str]:
        scope = Scope(KEY, "n", language=language)
        return replacer(document, document.spans, scope).document.text.splitlines()

    assert lines(f"{language}-xx") == lines(language)
    assert lines(language) != lines("nl" if language == "en" else "en")


@pytest.mark.parametrize(("text", "kept"), [("Auweg", False), ("Au-Weg", False), ("Linweg", True), ("Lin-Weg", True)])
def test_the_end_of_a_street_stays_behind_three_letters_or_more(text: str, kept: bool) -> None:
    for scope in range(5):
        new = replace_by_template(make_choices(f"p{scope}", language="de"), "STREET", text, {}, {})
        assert new.lower().endswith("weg") == kept
