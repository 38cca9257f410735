"""A telephone with the code of its country is found whatever stands around it; libphonenumber makes the numbers."""

from __future__ import annotations

import phonenumbers
import pytest
from phonenumbers import PhoneNumberFormat, PhoneNumberType

from deid import find

REGIONS = (
    *("US", "CA", "GB", "IE", "AU", "NZ", "ZA", "IN", "SG", "DE", "AT", "CH", "FR", "BE", "LU", "NL", "ES", "MX"),
    *("AR", "CL", "CO", "PE", "UY", "EC", "VE", "CR", "PL", "TR", "SY", "UA", "MA", "CN", "BR", "PT", "SR"),
)
SENTENCES = {
    "en": "Pharmacy {} confirmed.",
    "de": "Apotheke {} bestätigt.",
    "fr": "Pharmacie {} confirmée.",
    "nl": "Apotheek {} bevestigd.",
    "es": "Farmacia {} confirmada.",
}


def written(region: str) -> list[str]:
    """Return a number of a landline and one of a mobile as they are written abroad."""
    numbers = [
        phonenumbers.example_number_for_type(region, kind)
        for kind in (PhoneNumberType.FIXED_LINE, PhoneNumberType.MOBILE)
    ]
    forms = (PhoneNumberFormat.INTERNATIONAL, PhoneNumberFormat.E164)
    found = [phonenumbers.format_number(number, form) for number in numbers for form in forms]
    return [*found, *(number.replace("+", "00") for number in found)]


@pytest.mark.parametrize("language", SENTENCES)
def test_no_figure_of_a_telephone_abroad_stays(language: str) -> None:
    for number in (number for region in REGIONS for number in written(region)):
        text = SENTENCES[language].format(number)
        at = text.index(number)
        spans = [(span.start, span.end) for span in find(text, model="none", language=language)]
        assert any(start <= at and at + len(number) <= end for start, end in spans), text


@pytest.mark.parametrize(
    "text", ["Platelets 0012 130 45 300.", "Counts +120 +130 +140 +150.", "0012345678 is a lot.", "00 120 80 130 85"]
)
def test_figures_of_no_country_are_no_telephone(text: str) -> None:
    assert not any(span.source.endswith("phone.world") for span in find(text, model="none", language="en"))
