"""Dutch lists of kinds of institutions, of occupations, of streets: a name stands behind a kind, prose is none."""

from __future__ import annotations

import pytest

from deid.reading.view import view_of
from deid.rules.fields import HeadRule, LabelFinder
from deid.rules.rules import RuleRecognizer

RULES = RuleRecognizer.load("nl")


def found(text: str, *sources: str) -> list[tuple[str, str]]:
    """Return what the rules found, by some of them where they are named."""
    wanted = {f"rule:{source}" for source in sources}
    return [(text[s.start : s.end], s.category) for s in RULES.find_in(text) if not wanted or s.source in wanted]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Werkt bij bouwbedrijf Van Kessel als planner.", ("Van Kessel", "ORGANIZATION")),
        ("Zoon zit op kinderdagverblijf 't Wolkje.", ("'t Wolkje", "ORGANIZATION")),
        ('Eigenaar van café "het hoekje", rookt.', ("het hoekje", "ORGANIZATION")),
        ("Zong bij vereniging Ypelo Zingt.", ("Ypelo Zingt", "ORGANIZATION")),
        ("Was chauffeur bij Gebroeders Wessels.", ("Gebroeders Wessels", "ORGANIZATION")),
        ("Naar oogkliniek De Linde verwezen.", ("oogkliniek De Linde", "HOSPITAL")),
        ("Opgenomen in AZ Vesalius.", ("AZ Vesalius", "HOSPITAL")),
        ("Man, 54 jaar, betonvlechter, hoest.", ("betonvlechter", "PROFESSION")),
        ("Zij is oud-wethouder en woont alleen.", ("wethouder", "PROFESSION")),
        ("Woont aan de Zeven Heuvelen 18, alleen.", ("Zeven Heuvelen 18", "STREET")),
        ("Gevallen op het Vrijthof.", ("Vrijthof", "STREET")),
    ],
)
def test_what_stands_behind_a_kind_is_a_name(text: str, name: tuple[str, str]) -> None:
    assert name in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "De school belt, de apotheek levert en het ziekenhuis is vol.",
        "Ziekenhuis Opname was niet nodig.",
        "Vereniging Dagelijks bezoek.",
        "Naar rijschool Dr. is niet gegaan.",
        "DAGKLINIEK VERSLAVING",
        "Ex-roker, oud-leerling, de loods is leeg.",
    ],
)
def test_prose_behind_a_kind_is_no_name(text: str) -> None:
    assert not found(
        text,
        *("organization.behind_kind", "organization.behind_weak", "organization.headed", "hospital.headed"),
        *("profession.listed", "profession.former"),
    )


def behind(text: str, **kinds: bool) -> list[str]:
    """Return what stands behind kinds of organizations, with a name of capital letters."""
    head = HeadRule("kind", "CITY", ("organizations/kinds_nl",), r"[ ](?P<value>(?-i:\p{Lu})\p{L}+)", 0.8, **kinds)
    spans = LabelFinder((), (), (), (), "", heads=(head,)).find(view_of(text), lambda name: name == "Morgen").spans
    return [text[s.start : s.end] for s in spans]


def test_an_entry_says_what_is_a_part_of_the_name_and_what_counts() -> None:
    assert behind("naar rijschool Stuur, Rijschool Bocht") == ["Stuur", "Bocht"]
    assert behind("naar rijschool Stuur", part=True) == ["rijschool Stuur"]
    assert behind("naar rijschool Stuur, Rijschool Bocht", capital=True) == ["Bocht"]
    assert behind("naar rijschool Morgen, Rijschool Bocht", unlisted=True) == ["Bocht"]
    assert behind("naar rijschool\n\nStuur") == []
