"""Names: parts, short forms, and which names of a document are one person's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deid.reading.identity
from deid.reading.identity import canonical_given, link, name_key, name_words, parse_name, same_person


def roles(text: str, **options: int) -> list[tuple[str, str]]:
    return [(text[p.start : p.end], p.role) for p in parse_name(text, **options).parts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("John Smith", [("John", "given"), ("Smith", "family")]),
        ("John Quincy Smith", [("John", "given"), ("Quincy", "middle"), ("Smith", "family")]),
        ("J. Smith", [("J", "initial"), ("Smith", "family")]),
        ("J.R. Ewing", [("J", "initial"), ("R", "initial"), ("Ewing", "family")]),
        ("JM Smith", [("JM", "initial"), ("Smith", "family")]),
        ("Smith, John Q.", [("Smith", "family"), ("John", "given"), ("Q", "initial")]),
        ("SMITH^JOHN^QUINCY", [("SMITH", "family"), ("JOHN", "given"), ("QUINCY", "middle")]),
        ("LE^ANNA", [("LE", "family"), ("ANNA", "given")]),
        ("Mr Smith", [("Mr", "title"), ("Smith", "family")]),
        ("Smith, John, MD", [("Smith", "family"), ("John", "given"), ("MD", "credential")]),
        ("John Smith RN", [("John", "given"), ("Smith", "family"), ("RN", "credential")]),
        ("J Smith MD PhD", [("J", "initial"), ("Smith", "family"), ("MD", "credential"), ("PhD", "credential")]),
        ("RN Ann Lee", [("RN", "title"), ("Ann", "given"), ("Lee", "family")]),
        ("RN Lee", [("RN", "initial"), ("Lee", "family")]),
        ("Ann Lee FNP-C", [("Ann", "given"), ("Lee", "family"), ("FNP", "credential"), ("C", "credential")]),
        ("Smith, Ann, M.D.", [("Smith", "family"), ("Ann", "given"), ("M", "credential"), ("D", "credential")]),
        ("Smith, M.A.", [("Smith", "family"), ("M", "initial"), ("A", "initial")]),
        ("Thi Anh DO", [("Thi", "given"), ("Anh", "family"), ("DO", "initial")]),
        ("SMITH,ANN RN", [("SMITH", "family"), ("ANN", "given"), ("RN", "credential")]),
        ("LEE ANN MA", [("LEE", "given"), ("ANN", "middle"), ("MA", "family")]),
        (
            "Prof. Dr. med. Eva Roth",
            [("Prof", "title"), ("Dr", "title"), ("med", "title"), ("Eva", "given"), ("Roth", "family")],
        ),
        ("John Smith, Jr.", [("John", "given"), ("Smith", "family"), ("Jr", "suffix")]),
        ("Smith's", [("Smith", "name")]),
        ("O’Neil", [("O’Neil", "name")]),
        ("Johnny", [("Johnny", "name")]),
        ("JS", [("JS", "initial")]),
        ("LEE", [("LEE", "name")]),
        ('Dorothy "Dot" Reeves', [("Dorothy", "given"), ("Dot", "nickname"), ("Reeves", "family")]),
        ("Ludwig van Beethoven", [("Ludwig", "given"), ("van", "particle"), ("Beethoven", "family")]),
        ("De La Cruz, Juan", [("De", "particle"), ("La", "particle"), ("Cruz", "family"), ("Juan", "given")]),
        ("Anne-Marie Smith-Jones", [("Anne", "given"), ("Marie", "given"), ("Smith", "family"), ("Jones", "family")]),
        ("", []),
        ("42 -", []),
    ],
)
def test_parts(text: str, expected: list[tuple[str, str]]) -> None:
    assert roles(text) == expected


_PIECES = (
    st.sampled_from(["John", "SMITH", "Lee", "LEE", "li", "A", "B.", "JM", "Smith's", '"Al"', "aB", "McD", "Zúñiga"])
    | st.sampled_from(["Jr", "II", "MD", "RN", "PhD", "facp", "de", "Dr.", "Fr", "Sister"])
    | st.sampled_from([" ", ", ", ",", "-", "^", "12"])
)


@given(st.lists(_PIECES, max_size=6).map("".join))
def test_frequent_forms_are_parsed_like_all_others(text: str) -> None:
    parsed = parse_name(text)
    assert parsed.full == tuple((parsed.keys(role) or ("",))[0] for role in ("given", "family"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deid.reading.identity, "_plain_name", lambda text: None)
        assert parse_name(text) == parsed


@given(st.text(st.characters(max_codepoint=127)))
def test_words_of_ascii_texts_are_found_like_those_of_others(text: str) -> None:
    assert name_words(f"{text} é")[:-1] == name_words(text)


def test_two_family_names() -> None:
    assert roles("María García López", family_names=2)[1:] == [("García", "family"), ("López", "family")]


def test_initials_in_the_order_given_first() -> None:
    assert {parse_name(t).initials for t in ("John Q. Smith", "Smith, John Q.", "SMITH^JOHN^Q", "J.Q. Smith")} == {
        "jqs"
    }


@given(st.text(max_size=40))
def test_parts_are_disjoint_words_of_the_text(text: str) -> None:
    """Every text parses; parts lie in order, and what lies between them has no letter with a key."""
    read = 0
    for part in parse_name(text).parts:
        assert read <= part.start < part.end <= len(text)
        assert part.key
        read = part.end


@pytest.mark.parametrize(
    ("a", "b"), [("O’Néill", "oneill"), ("MÜLLER", "Müller"), ("Łukasz", "lukasz"), ("GROß", "gross")]
)
def test_keys_of_equal_names_are_equal(a: str, b: str) -> None:
    assert name_key(a) == name_key(b)


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("johnny", "john"),
        ("bob", "robert"),
        ("bill", "william"),
        ("peggy", "margaret"),
        ("pepe", "jose"),
        ("smith", "smith"),
    ],
)
def test_short_forms(short: str, full: str) -> None:
    assert canonical_given(short) == full


def test_the_document_decides_an_ambiguous_short_form() -> None:
    assert canonical_given("alex", {"alexandra"}) == "alexandra" != canonical_given("alex")


def test_forms_of_one_person_are_linked() -> None:
    names = [
        "John Smith",
        "Jane Doe",
        "Mr Smith",
        "JOHN",
        "Johnny",
        "Smith, John Q.",
        "J. Smith",
        "JS",
        "Jane",
        "JD",
        "Doe's",
    ]
    assert link([parse_name(n) for n in names]) == [0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1]


def test_persons_who_share_a_family_name_stay_apart() -> None:
    names = ["John Smith", "Mary Smith", "M. Smith", "Johnny", "Robert Jones"]
    assert link([parse_name(n) for n in names]) == [0, 1, 1, 0, 2]


NAMES = st.sampled_from(
    [
        "John Smith",
        "Smith, John",
        "J. Smith",
        "Smith",
        "John",
        "Johnny",
        "JS",
        "Mary Jones",
        "M.J.",
        "Jones",
        "Bob",
        "Robert Jones",
    ]
)


@given(NAMES, NAMES)
def test_sameness_is_symmetric(a: str, b: str) -> None:
    assert same_person(parse_name(a), parse_name(b)) == same_person(parse_name(b), parse_name(a))
