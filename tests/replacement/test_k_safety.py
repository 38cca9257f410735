"""K-safety: the worked example, and all methods against brute force."""

from __future__ import annotations

import itertools
from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.document import Document, apply_edits
from deid.replacement.k_safety import Knowledge, erase, is_k_safe, k_safe, violations

FOUR = Knowledge(
    {"e1": frozenset("ab"), "e2": frozenset("a"), "e3": frozenset("ab"), "e4": frozenset("b")}, frozenset({"e1"})
)
EXACT = ["levelwise", "best-first"]


def test_worked_example_is_safe_or_not() -> None:
    """{a, b} fits e3 alone; {a, z} fits e2 and e3, {b, z} fits e3 and e4."""
    assert violations("abz", FOUR, 2) == ["e1"]
    assert is_k_safe("az", FOUR, 2)
    assert is_k_safe("bz", FOUR, 2)
    assert is_k_safe("abz", FOUR, 1)


@pytest.mark.parametrize("method", [*EXACT, "greedy"])
def test_worked_example_keeps_two_terms_and_always_the_neutral_one(method: str) -> None:
    kept = k_safe("abz", FOUR, 2, method)
    assert len(kept) == 2
    assert "z" in kept


@pytest.mark.parametrize("method", EXACT)
def test_of_several_largest_sets_the_alphabetically_first_is_kept(method: str) -> None:
    assert k_safe("abz", FOUR, 2, method) == frozenset("az")


def test_greedy_removes_the_one_term_that_settles_an_entity_though_others_are_rarer() -> None:
    """Without x one other entity shares the rest, which is enough; without y or z still nobody does."""
    contexts = {"e1": frozenset("xyz"), "e2": frozenset("yz"), "e3": frozenset("x"), "e4": frozenset("x")}
    assert k_safe("xyz", Knowledge(contexts, frozenset({"e1"})), 1, "greedy") == frozenset("yz")


def by_definition(kept: frozenset[str], knowledge: Knowledge, k: int, whose: Collection[str] = ()) -> bool:
    """Every subset of the kept terms in a protected context lies in k other contexts: no shortcut."""
    for entity in whose or knowledge.protected:
        inside = sorted(kept & knowledge.contexts[entity])
        for size in range(len(inside) + 1):
            for subset in itertools.combinations(inside, size):
                others = sum(set(subset) <= c for e, c in knowledge.contexts.items() if e != entity)
                if others < k:
                    return False
    return True


@st.composite
def worlds(draw: st.DrawFn) -> tuple[frozenset[str], Knowledge, int]:
    contexts = draw(st.lists(st.frozensets(st.sampled_from("abcde")), min_size=3, max_size=7))
    names = {f"e{n}": c for n, c in enumerate(contexts)}
    protected = draw(st.frozensets(st.sampled_from(sorted(names))))
    return (
        draw(st.frozensets(st.sampled_from("abcdexy"))),
        Knowledge(names, protected),
        draw(st.integers(1, len(names) - 1)),
    )


@given(worlds())
def test_exact_methods_keep_as_much_as_brute_force(world: tuple[frozenset[str], Knowledge, int]) -> None:
    terms, knowledge, k = world
    subsets = [frozenset(s) for n in range(len(terms) + 1) for s in itertools.combinations(sorted(terms), n)]
    best = max(len(s) for s in subsets if by_definition(s, knowledge, k))
    found = [k_safe(terms, knowledge, k, method) for method in EXACT]
    assert found[0] == found[1]
    assert len(found[0]) == best
    assert by_definition(found[0], knowledge, k)


@given(worlds())
def test_greedy_is_safe_and_keeps_no_more_than_possible(world: tuple[frozenset[str], Knowledge, int]) -> None:
    terms, knowledge, k = world
    kept = k_safe(terms, knowledge, k, "greedy")
    assert by_definition(kept, knowledge, k)
    assert len(kept) <= len(k_safe(terms, knowledge, k))
    assert terms - knowledge.telling <= kept <= terms


@given(worlds(), st.integers(0, 8))
def test_terms_are_safe_by_definition_whatever_k(world: tuple[frozenset[str], Knowledge, int], k: int) -> None:
    """Also where so many others are asked for as there are entities, and of a text that says nothing of them."""
    terms, knowledge, _ = world
    for kept in (terms, frozenset("xy")):
        broken = [e for e in sorted(knowledge.protected) if not by_definition(kept, knowledge, k, {e})]
        assert violations(kept, knowledge, k) == broken
        assert is_k_safe(kept, knowledge, k) is (not broken)


@given(worlds())
def test_safety_is_anti_monotone(world: tuple[frozenset[str], Knowledge, int]) -> None:
    terms, knowledge, k = world
    if is_k_safe(terms, knowledge, k):
        assert all(is_k_safe(terms - {term}, knowledge, k) for term in terms)


DISEASES = Knowledge(
    {
        "tuberculosis": frozenset({"blood clot", "shortness of breath", "night sweats"}),
        "embolism": frozenset({"blood clot", "shortness of breath"}),
        "asthma": frozenset({"shortness of breath", "wheezing"}),
        "lymphoma": frozenset({"night sweats", "swelling"}),
        "heart failure": frozenset({"shortness of breath", "swelling", "breath"}),
    },
    frozenset({"tuberculosis"}),
)


def erased(text: str, k: int) -> str:
    document = Document("d", text)
    return apply_edits(document, erase(document, DISEASES, k))[0].text


def test_erase_leaves_a_document_that_points_at_nobody() -> None:
    """Shortness of breath alone fits three other diseases, with a blood clot one, with night sweats none."""
    text = "Night  sweats, Shortness of\nbreath and a blood clot. NIGHT SWEATS again; swelling."
    assert erased(text, 1) == "***, Shortness of\nbreath and a blood clot. *** again; swelling."
    assert erased(text, 2) == "***, Shortness of\nbreath and a ***. *** again; swelling."
    assert erased("Nothing known here.", 2) == "Nothing known here."


def test_erase_joins_terms_that_overlap() -> None:
    world = Knowledge({"e": frozenset({"a b", "b c"}), "f": frozenset(), "g": frozenset()}, frozenset({"e"}))
    document = Document("d", "x a b c y")
    assert apply_edits(document, erase(document, world, 2))[0].text == "x *** y"


def test_what_cannot_be_done_is_refused() -> None:
    with pytest.raises(ConfigError, match="4 entities"):
        k_safe("ab", FOUR, 4)
    with pytest.raises(ConfigError, match="smaller than 1"):
        k_safe("ab", FOUR, 0)
    with pytest.raises(ConfigError, match="unknown method"):
        k_safe("ab", FOUR, 1, "magic")
    with pytest.raises(ConfigError, match="no context"):
        Knowledge({"e1": frozenset("a")}, frozenset({"e9"}))
    many = Knowledge(
        {f"e{n}": frozenset({f"t{n}", f"t{n + 1}"}) for n in range(40)}, frozenset({f"e{n}" for n in range(40)})
    )
    for method in EXACT:
        with pytest.raises(ConfigError, match="states"):
            k_safe([f"t{n}" for n in range(41)], many, 1, method, limit=100)
    assert k_safe([f"t{n}" for n in range(41)], many, 1, "greedy")
