"""What the reader of expressions says of them, held against ``regex`` and against all texts that a small one reads."""

from __future__ import annotations

import itertools

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.rules.expressions import AFTER, BEYOND, MARKS, OTHER, WIDTH, WILD, ExpressionError, One, parse, whole

ODD = "\u017f\u212a\u0130\u0131"
UNSURE = "\x1c\x1d\x1e\x1f"
"""Blanks to some and none to others."""
CHARACTERS = [*map(chr, range(128)), *ODD, "é", "ß", "€", "\u2003", "٣"]
ITEMS = ["a", "k", "Z", "S", "_", "0", "7", "-", ".", "é", " ", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\n", r"\t",
         r"\r", r"\f", r"\v", r"\x41", r"\u0042", r"\U00000043", r"\\", r"\]", r"\-", r"\.", "a-f", "M-T", "0-5", "+-/",
         r"\x20-\x2f", r"\n-\r", "a-é", "Y-b", r"\p{L}", r"\p{Lu}", r"\p{Ll}", r"\p{N}", r"\p{Nd}", "ſ"]  # fmt: skip


def bit(character: str) -> int:
    return 1 << ord(character) if ord(character) < 128 else OTHER


def says_what_regex_reads(expression: str, ignore_case: bool) -> None:
    ((node,),) = parse(expression, ignore_case=ignore_case)
    assert isinstance(node.piece, One)
    assert node.longest == 1
    assert node.reads == node.piece.may
    read = regex.compile(expression, regex.IGNORECASE if ignore_case else 0)
    for character in CHARACTERS:
        matches = read.fullmatch(character) is not None
        if matches and not (ignore_case and character in ODD):  # those pass everywhere
            assert node.piece.may & bit(character), (expression, character)
        if node.piece.surely & bit(character):
            assert matches, (expression, character)
        ordinary = ord(character) < 128 and character not in UNSURE and (expression, character) != (".", "\n")
        if ordinary and not (node.piece.may & WILD and character in "kKsSiI"):
            assert bool(node.piece.may & bit(character)) is matches, (expression, character)
            assert bool(node.piece.surely & bit(character)) is matches, (expression, character)
    allowed = [character for character in map(chr, range(128)) if node.piece.may & bit(character)]
    for mark, within in zip(MARKS, node.marks, strict=True):
        only = not node.piece.may & (OTHER | WILD) and all(mark & bit(character) for character in allowed)
        assert within == only


@pytest.mark.parametrize("ignore_case", [False, True])
def test_single_characters_are_those_that_regex_reads(ignore_case: bool) -> None:
    for expression in (".", "a", "K", "é", "[^]a]", "[]a]", "[a-]", r"[^\n]", "[ab-]", *ITEMS):
        if len(expression) == 1 or expression[0] in "\\[":
            if "-" in expression[2:] and expression[0] == "\\":
                continue
            says_what_regex_reads(expression, ignore_case)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(ITEMS), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_sets_are_those_that_regex_reads(items: list[str], negated: bool, ignore_case: bool) -> None:
    items = [item for item in items if item != "-"] or ["a"]
    says_what_regex_reads(f"[{'^' if negated else ''}{''.join(items)}]", ignore_case)


@pytest.mark.parametrize(
    "expression",
    [
        r"\p{Greek}", r"\pL", r"\p", r"\P{L}", "[[:alpha:]]", "[a[[b]", r"\A", r"\B", r"\Ka", r"\m", r"\M", r"\X",
        r"\R", r"\G", r"\0", r"\q", "a{}", "{2}", "*a", "+", "?a", "(a", "a)", "(?P=x)", "(?(1)a|b)", "(?s:a)", "(?#a)",
        "[a", "[", "a\\", r"[é-\x80]", r"[a-\d]", "(?i", "(?<=a", "(?>a", "(?:a|b",
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused_as_such(expression: str) -> None:
    with pytest.raises(ExpressionError):
        parse(expression, ignore_case=False)


ATOMS = {"a": {"a"}, "1": {"1"}, "[a:]": {"a", ":"}, "@": {"@"}, "(?:)": {""}}
Language = tuple[str, frozenset[str]]


def repeated(inner: Language, least: int, more: int, form: int) -> Language:
    most = least + more
    counts = {(0, 1): "?", (least, least): f"{{{least}}}"}.get((least, most), f"{{{least},{most}}}")
    if form and (least, most) == (0, most) and most > 1:
        counts = f"{{,{most}}}"
    texts = {"".join(own) for n in range(least, most + 1) for own in itertools.product(inner[1], repeat=n)}
    return f"(?:{inner[0]}){counts}", frozenset(texts)


def joined(parts: list[Language]) -> Language:
    texts = {"".join(own) for own in itertools.product(*(texts for _, texts in parts))}
    return "".join(own for own, _ in parts), frozenset(texts)


def either(parts: list[Language], form: str) -> Language:
    return f"({form}{'|'.join(own for own, _ in parts)})", frozenset().union(*(texts for _, texts in parts))


LANGUAGES = st.recursive(
    st.sampled_from(sorted(ATOMS)).map(lambda own: (own, frozenset(ATOMS[own]))),
    lambda inner: st.one_of(
        st.builds(repeated, inner, st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)),
        st.lists(inner, min_size=2, max_size=3).map(joined),
        st.builds(either, st.lists(inner, min_size=1, max_size=3), st.sampled_from(["", "?:", "?P<x>"])),
    ).filter(lambda own: len(own[1]) <= 60 and max(map(len, own[1])) < AFTER and own[0].count("P<x>") <= 1),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=150)
@given(LANGUAGES)
def test_an_expression_reads_at_each_place_what_its_texts_have_there(language: Language) -> None:
    expression, texts = language
    read = regex.compile(expression)
    assert all(read.fullmatch(text) for text in texts)
    node = whole(parse(expression, ignore_case=False))
    longest = max(map(len, texts))
    assert node.longest == longest
    for walk, turn in ((node.walk, 1), (node.turned, -1)):
        for start in (0, 3):
            sets = [0] * WIDTH
            ends = walk(1 << start, sets)
            expected = [0] * WIDTH
            for text in texts:
                for place, character in enumerate(text[::turn], start):
                    if place < AFTER:
                        expected[place] |= bit(character)
            assert sets == expected
            assert ends == sum({1 << min(start + len(text), AFTER) for text in texts})
    for mark, within in zip(MARKS, node.marks, strict=True):
        firsts = [next((n for n, c in enumerate(text, 1) if mark & bit(c)), 0) for text in texts]
        # never sooner than the last text has one; later where it is not followed text by text
        assert within == 0 or all(firsts)
        assert within == 0 or max(firsts) <= within <= longest


@pytest.mark.parametrize("expression", ["a*", "a+", "a{2,}", "(?:ab|c)*1", r"(a)\1", "a*?", "a++"])
def test_what_has_no_end_may_end_anywhere(expression: str) -> None:
    node = whole(parse(expression, ignore_case=False))
    assert node.longest > 1000
    sets = [0] * WIDTH
    least = {"a*": 0, "a*?": 0, "a{2,}": 2, "(?:ab|c)*1": 1}.get(expression, 1)
    ends = node.walk(1, sets)
    assert ends == 2 * BEYOND - (1 << least)
    assert all(sets[place] & bit("a") or "b" in expression for place in range(AFTER))


def test_case_is_that_of_the_group() -> None:
    for expression, texts in {
        "(?i:a)b": ["ab", "Ab"],
        "(?-i:a)b": ["ab"],
        "(?:(?i)a)b": ["ab", "Ab"],
        "(?i)ab": ["ab", "Ab", "aB", "AB"],
    }.items():
        for ignore_case in (False, True):
            node = whole(parse(expression, ignore_case=ignore_case))
            sets = [0] * WIDTH
            assert node.walk(1, sets) == 4
            read = regex.compile(expression, regex.IGNORECASE if ignore_case else 0)
            for place, (lower, upper) in enumerate(["aA", "bB"]):
                other = "ab".replace(lower, upper)
                assert bool(sets[place] & bit(upper)) is (read.fullmatch(other) is not None), (expression, ignore_case)
            assert all(read.fullmatch(text) for text in texts)
