"""Ages, occupations and other terms."""

from __future__ import annotations

import re

import pytest

from deid.replacement.people import replace_age, replace_other, replace_profession
from deid.replacement.pools import profession_index, professions
from tests.replacement.making import make_choices


def test_ages_to_89_and_decades_move_the_same_way_by_one_or_two_years() -> None:
    all_moves = set()
    for scope in range(30):
        keyed = make_choices(f"p{scope}").keyed
        moves = {int(replace_age(keyed, str(age))) - age for age in range(3, 88)}
        assert len(moves) == 1
        assert {replace_age(keyed, f"{decade}s") for decade in (20, 70)} == (
            {"30s", "80s"} if min(moves) > 0 else {"10s", "60s"}
        )
        all_moves |= moves
    assert all_moves == {-2, -1, 1, 2}


@pytest.mark.parametrize("age", [0, 1, 2, 88, 89])
def test_ages_at_the_limits_stay_within_them(age: int) -> None:
    for scope in range(30):
        new = int(replace_age(make_choices(f"p{scope}").keyed, str(age)))
        assert new != age
        assert 1 <= new <= 89


@pytest.mark.parametrize("age", [90, 91, 99, 104])
def test_ages_over_89_become_another_one_from_90_to_99(age: int) -> None:
    new = {int(replace_age(make_choices(f"p{scope}").keyed, str(age))) for scope in range(30)}
    assert age not in new
    assert new <= set(range(90, 100))


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("56-year-old", r"5\d-year-old"),
        ("fifty-six", r"fifty-\w+"),
        ("Cuarenta y dos años", r"Cuarenta(?: y \w+)? años"),
        ("60s", r"[57]0s"),
        ("40's", r"[35]0's"),
        ("90s", r"80s"),
        ("sixties", r"fifties|seventies"),
        ("3 1/2", r"\d \d/\d"),
        ("6 months", r"\d months"),
        ("elderly", r""),
    ],
)
def test_forms_of_ages(text: str, pattern: str) -> None:
    for scope in range(12):
        assert re.fullmatch(pattern, replace_age(make_choices(f"p{scope}").keyed, text))


def test_decades_become_a_neighbour_and_nobodys_the_nineties() -> None:
    for word in ("10s", "40s", "70s", "80s", "90s", "teens", "seventies"):
        new = {replace_age(make_choices(f"p{scope}").keyed, word) for scope in range(30)}
        ten = int(word[:-1]) if word[0].isdigit() else {"t": 10, "s": 70}[word[0]]
        expected = {"teens": {"twenties"}, "seventies": {"sixties", "eighties"}}.get(
            word, {f"{n}s" for n in (ten - 10, ten + 10) if 10 <= n <= 80 and (ten > 10 or n > ten)}
        )
        assert new == expected, word


def group_of(profession: str) -> tuple[str, ...]:
    groups, index = professions(), profession_index("en")
    return groups[index[profession][0]]


@pytest.mark.parametrize("text", ["plumber", "engineer", "bus driver", "accountant", "maestra"])
def test_an_occupation_becomes_a_similar_one_with_the_same_article(text: str) -> None:
    for scope in range(12):
        new = replace_profession(make_choices(f"p{scope}"), text)
        assert new != text
        assert new in group_of(text)
        if text != "maestra":
            assert (new[0] in "aeiou") == (text[0] in "aeiou")


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("Plumber", r"[A-Z].*"),
        ("PLUMBER", r"[^a-z]+"),
        ("plumbers", r".*s"),
        ("retired bus driver", r".+"),
        ("dragon tamer", r".+"),
    ],
)
def test_forms_of_occupations(text: str, pattern: str) -> None:
    new = replace_profession(make_choices(), text)
    assert re.fullmatch(pattern, new)
    assert text.casefold() not in new.casefold()


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("bus drivers", r".*(?<!man)(?<![^aeiou]y)s|.*men"),
        ("Postmen", r".*(?<!man)(?<![^aeiou]y)s|.*men"),
        ("maestras", r".*[aeo]s( de .*)?"),
        ("celadores", r".*([aeo]|[^aeiou]e)s( de .*)?"),
    ],
)
def test_several_of_an_occupation_become_several_of_another(text: str, form: str) -> None:
    singular = {name for group in professions() for name in group}
    for scope in range(40):
        new = replace_profession(make_choices(f"p{scope}"), text)
        assert re.fullmatch(form, new), new
        assert new.lower() not in singular


def test_occupations_of_a_document_are_distinct() -> None:
    group = group_of("plumber")
    choices = make_choices()
    assert len({replace_profession(choices, name) for name in group}) == len(group)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("varón", {"hombre", "masculino"}),
        ("H", {"V"}),
        ("Mujer", {"Femenino", "Femenina"}),
        ("tattoo of a rose", {"[OTHER]"}),
    ],
)
def test_terms(text: str, expected: set[str]) -> None:
    assert replace_other(make_choices(), "OTHER", text) in expected


def test_kin_stay_of_their_sex_and_codes_stay_codes() -> None:
    assert replace_other(make_choices(), "OTHER", "madre") in {
        "hermana",
        "tía",
        "abuela",
        "hija",
        "prima",
        "sobrina",
        "nieta",
    } | {
        "esposa",
        "cuñada",
        "suegra",
    }
    assert re.fullmatch(r"[a-z] \d\d-\d", replace_other(make_choices(), "OTHER", "x 12-3"))


def test_words_of_numbers_that_are_none_together_stay_beside_an_age() -> None:
    moved = replace_age(make_choices("p1").keyed, "56, six two")
    assert re.fullmatch(r"5[4578], six two", moved)
    assert replace_age(make_choices("p1").keyed, "six two") == ""
