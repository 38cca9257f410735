"""Surrogates where German, French or Dutch is written keep the form that a reader expects there."""

from __future__ import annotations

import re

import pytest
from notes import composed

from deid.base.keys import Key
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document
from deid.pipeline import build_pipeline
from deid.pipeline.options import PipelineOptions
from deid.replacement.policy import load_policy
from deid.replacement.pools import countries, home_cities, home_countries, professions
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
    ],
)
def test_telephone_numbers_keep_area_and_form(language: str, phone: str, kept: str) -> None:
    (new,) = replaced(language, ("PHONE", phone))
    assert new.startswith(kept)
    assert new != phone
    assert re.sub(r"\d", "0", new) == re.sub(r"\d", "0", phone)


@pytest.mark.parametrize(
    ("language", "city", "country", "job"),
    [("de", "Neuwied", "Syrien", "Tischler"), ("fr", "Vierzon", "Syrie", "maçon"), ("nl", "Almelo", "Syrië", "kok")],
)
def test_towns_countries_and_occupations_are_of_the_language(language: str, city: str, country: str, job: str) -> None:
    new_city, new_country, new_job = replaced(language, ("CITY", city), ("COUNTRY", country), ("PROFESSION", job))
    assert new_city in home_cities()[language]
    assert new_country in countries()[home_countries()[language]]
    groups, index = professions()
    assert new_job.lower() in next(group for group in groups if job.lower() in group)
    assert not {new_city, new_country, new_job} & {city, country, job}
    assert index


@pytest.mark.parametrize(
    ("language", "category", "name", "form"),
    [
        ("de", "STREET", "Lindenstraße 14", r"(?!Linden)\w+straße \d+"),
        ("de", "HOSPITAL", "Klinikum Neuwied", r"Klinikum (?!Neuwied).+"),
        ("fr", "STREET", "12 rue Gambetta", r"\d+ rue (?!Gambetta).+"),
        ("fr", "HOSPITAL", "Centre Hospitalier de Vierzon", r"Centre Hospitalier de (?!Vierzon).+"),
        ("nl", "STREET", "Beukenlaan 8", r"(?!Beuken)\w+laan \d+"),
        ("nl", "HOSPITAL", "Beatrixziekenhuis", r"(?!Beatrix)\w+ziekenhuis"),
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
    "HOSPITAL": ("Beatrixziekenhuis", "Klinikum Neuwied"),
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
