"""Labelled values: the compiled module passes over nothing that has a value."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.compiled import native
from deid.base.errors import DetectionError
from deid.reading.view import view_of
from deid.rules import fields
from deid.rules.fields import Field, HeadRule, LabelFinder, ListRule, PersonField
from deid.rules.rules import RuleRecognizer

needs_native = pytest.mark.skipif(native is None, reason="the compiled module is not there")

FINDERS = {language: RuleRecognizer.load(language).labels for language in ("en", "es")}
LABELS = sorted(label for finder in FINDERS.values() for rule in finder._rules for label in getattr(rule, "labels", ()))
PIECES = (
    *(
        " ",
        ": ",
        "\n",
        "\r\n",
        "\t",
        " # ",
        ". ",
        " is ",
        " no. ",
        " No ",
        "-",
        "/",
        "(",
        ")",
        "|",
        "\u2013",
        "n\u00ba",
    ),
    *(
        "123-45-6789",
        "01/02/1950",
        "1950",
        "A1234567",
        "555 123 4567",
        "room",
        "3B",
        "\u0130d",
        "\u00e9",
        "mg",
        "0",
        "9",
    ),
)
TEXTS = st.lists(st.sampled_from(LABELS) | st.sampled_from(PIECES) | st.text(max_size=3), max_size=16).map("".join)


@needs_native
@pytest.mark.parametrize("language", sorted(FINDERS))
@settings(max_examples=200)
@given(text=TEXTS)
def test_both_routes_find_the_same(language, text):
    finder, view = FINDERS[language], view_of(text)
    found = finder.find(view)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fields, "native", None)
        assert finder.find(view) == found


@needs_native
def test_labels_without_a_value_are_passed_over():
    finder = FINDERS["en"]
    numbers = [n for n, rule in enumerate(finder._rules) if isinstance(rule, Field) and rule.name == "id.mrn"]
    text = "MRN was not known at the time. MRN: 1234567"
    places = [3, text.rindex("MRN") + 3]
    assert finder._may_fit(text, numbers * 2, places) == b"\0\1"


@needs_native
@pytest.mark.parametrize("language", sorted(FINDERS))
def test_places_without_a_value_are_passed_over_whatever_was_asked_before(language):
    finder, text = FINDERS[language], "MRN: 4711-234567/2, Tel. (617) 555-0134, 3/4/2019 at 12 Quay Rd, Ann Orme, -.;"
    asked = [(rule, at) for rule in range(len(finder._rules)) for at in (0, 4, 10, 24, 41, 50, 65, len(text) - 4)]
    told = finder._may_fit(text, *map(list, zip(*asked, strict=True)))
    assert told == finder._may_fit(text, *map(list, zip(*asked[::-1], strict=True)))[::-1]
    assert told == b"".join(finder._may_fit(text, [rule], [at]) for rule, at in asked)
    assert 0.1 < told.count(1) / len(told) < 0.4
    # what stands behind a head begins with a blank, as the last place does
    always = sum(isinstance(rule, ListRule | PersonField | HeadRule) for rule in finder._rules)
    assert sum(told[7::8]) <= always + 2


@needs_native
def test_what_is_not_understood_and_lists_are_always_looked_at():
    odd = Field("odd", "IDNUM", ("code",), r"(?P<value>(x)(?(2)y|z))", 0.9)
    lists = ListRule("drug", "OTHER", ("clinical/drugs",), 0.9)
    finder = LabelFinder((odd,), (), (), (), ":? ?")
    assert [(s.start, s.end) for s in finder.find(view_of("code: xy, code: q")).spans] == [(6, 8)]
    assert LabelFinder((), (lists,), (), (), "")._may_fit("", [0], [0]) == b"\1"


@needs_native
def test_programs_and_places_that_are_not_there_are_refused():
    fits = FINDERS["en"]._made_fits()
    for programs, places in (([99], [0]), ([-1], [0]), ([0], [2]), ([0], [-1])):
        with pytest.raises(ValueError, match="not there"):
            fits.may("x", programs, places)
    with pytest.raises(ValueError, match="place a program"):
        fits.may("x", [0], [])
    with pytest.raises(ValueError, match="programs"):
        native.Fits(b"", b"", b"")
    with pytest.raises(ValueError, match="programs"):
        native.Fits(b"\0\0\0\0", b"\0\0\0\0\2\0\0\0", b"")


@pytest.mark.parametrize("guarded", [False, True])
def test_values_of_expressions_of_ones_own_are_timed(guarded, monkeypatch):
    monkeypatch.setattr(fields, "_SECONDS", 0.02)
    slow = Field("slow", "IDNUM", ("code",), r"(?:a|aa)+(?=!)", 0.9, guarded=guarded)
    text = "code: " + "a" * (200 if guarded else 12)
    finder = LabelFinder((slow,), (), (), (), ":? ?")
    if not guarded:
        assert finder.find(view_of(text)).spans == []
        return
    with pytest.raises(DetectionError, match="pattern slow did not finish"):
        finder.find(view_of(text))


def named(text: str, **kinds: object) -> list[str]:
    """Return what stands behind the words for a part of a town, with a name of capital letters."""
    head = HeadRule("kind", "CITY", ("organizations/sites_de",), r"[ ](?P<value>(?-i:\p{Lu})\p{L}+)", 0.8, **kinds)  # type: ignore[arg-type]
    spans = LabelFinder((), (), (), (), "", heads=(head,)).find(view_of(text), lambda name: name == "Termin").spans
    return [text[s.start : s.end] for s in spans]


def test_names_stand_behind_their_heads():
    assert named("im Ortsteil Quellau, und ortsteil Blorn") == ["Quellau", "Blorn"]
    assert named("im Ortsteil Quellau", part=True) == ["Ortsteil Quellau"]
    assert named("im ortsteil Quellau", capital=True) == []
    assert named("Filiale Termin, Filiale Quellau", unlisted=True) == ["Quellau"]
    assert named("Ortsteil\n\nQuellau") == []


def test_a_head_behind_a_slash_is_one_and_a_label_there_is_none():
    """A label behind a slash is a unit or a part of another: *mg/dL*."""
    assert named("Zweigstelle/Filiale Quellau") == ["Quellau"]
    code = Field("code", "IDNUM", ("filiale",), "[0-9]+", 0.9)
    finder = LabelFinder((code,), (), (), (), ":? ?")
    assert [s.start for s in finder.find(view_of("km/filiale 12, filiale 34")).spans] == [23]


def test_names_behind_heads_of_ones_own_are_timed(monkeypatch):
    monkeypatch.setattr(fields, "_SECONDS", 0.02)
    slow = HeadRule("slow", "CITY", ("organizations/sites_de",), r" (?:a|aa)+(?=!)", 0.9, guarded=True)
    finder = LabelFinder((), (), (), (), "", heads=(slow,))
    with pytest.raises(DetectionError, match="pattern slow did not finish"):
        finder.find(view_of("Filiale " + "a" * 200))


def test_ordinary_words_behind_a_head_are_no_name_where_it_says_so():
    rules = RuleRecognizer.load("de")

    def found(text: str) -> list[str]:
        return [text[s.start : s.end] for s in rules.find_in(text) if s.source == "rule:organization.of_place"]

    assert found("Bescheid vom Forstamt Quendorf liegt vor") == ["Forstamt Quendorf"]
    assert found("Schreiben ans Forstamt Tanne liegt vor") == []
    assert found("Bescheid vom Forstamt Halle liegt vor") == ["Forstamt Halle"]  # a town and a word


def _found(text, *rules, elided=()):
    heads, lists = [r for r in rules if isinstance(r, HeadRule)], [r for r in rules if isinstance(r, ListRule)]
    finder = LabelFinder((), lists, (), (), r"[ ]*:?[ ]*", heads=heads, elided=elided)
    return [text[s.start : s.end] for s in finder.find(view_of(text)).spans]


@pytest.mark.parametrize("apostrophe", ["'", "\u2019"])
def test_heads_and_items_are_found_behind_an_elided_article(apostrophe):
    kind = HeadRule("kind", "HOSPITAL", ("organizations/hospital_heads_fr",), r"(?-i:[ ]\p{Lu}\p{L}+)", 0.9, part=True)
    trade = ListRule("trade", "PROFESSION", ("professions/crafts_fr",), 0.9, small=True)
    text = f"à l{apostrophe}hôpital Brisebois, d{apostrophe}ostréiculteur"
    assert _found(text, kind, trade, elided="ld") == ["hôpital Brisebois", "ostréiculteur"]
    assert _found(text, kind, trade) == []


def test_an_item_that_begins_like_an_article_is_whole():
    firms = ListRule("firm", "ORGANIZATION", ("organizations/associations_fr",), 0.9)
    assert _found("chez l'oréal", firms, elided="ld") == ["l'oréal"]


def test_small_items_of_one_word_want_a_small_letter():
    trade = ListRule("trade", "PROFESSION", ("professions/crafts_fr",), 0.9, small=True)
    assert _found("Charpentier, charpentier, Chauffeur de bus", trade) == ["charpentier", "Chauffeur de bus"]
