"""A site's own lists: always PHI, never PHI."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.detection.site_lists import Effect, SiteLists, Term, load_site_lists
from deid.document import Span


def lists(tmp_path: Path, deny: str = "", allow: str = "") -> SiteLists:
    files: dict[str, list[Path]] = {"deny": [], "allow": []}
    for name, text in (("deny", deny), ("allow", allow)):
        if text:
            files[name].append(tmp_path / f"{name}.txt")
            files[name][0].write_text(text, encoding="utf-8")
    return load_site_lists(**files)


def applied(site: SiteLists, text: str, *spans: tuple[str, str]) -> tuple[list[tuple[str, str]], Effect]:
    found = [Span(text.index(t), text.index(t) + len(t), c, source="rule:test", score=0.9) for t, c in spans]
    result, effect, _ = site.apply(text, sorted(found))
    return [(text[s.start : s.end], s.category) for s in result], effect


def test_deny_terms_match_in_any_case_and_over_a_line_end(tmp_path: Path) -> None:
    site = lists(tmp_path, "# our staff\n[DOCTOR]\nquorl binder\n[HOSPITAL]\nNorth\u2019s Lodge\nPillar Row\tSTREET\n")
    text = "Seen by QUORL\nBinder at north's lodge, 4 Pillar  Row. Quorl alone stays."
    assert applied(site, text) == (
        [("QUORL\nBinder", "DOCTOR"), ("north's lodge", "HOSPITAL"), ("Pillar  Row", "STREET")],
        Effect(denied=3),
    )


def test_deny_terms_are_whole_words_and_end_at_paragraphs(tmp_path: Path) -> None:
    site = lists(tmp_path, "rowan\npillar row")
    assert applied(site, "Rowanberry, unrowan, rowan2. pillar\n\nrow")[0] == []
    assert applied(site, "the Rowan-Pike family, Rowan's")[0] == [("Rowan", "OTHER"), ("Rowan", "OTHER")]


def test_quoted_deny_terms_match_as_written(tmp_path: Path) -> None:
    site = lists(tmp_path, '[DOCTOR]\n"May"\n')
    assert applied(site, "May may see MAY")[0] == [("May", "DOCTOR")]


def test_deny_and_what_was_found(tmp_path: Path) -> None:
    site = lists(tmp_path, "[HOSPITAL]\nRowan House\n")
    text = "at Rowan House today"
    assert applied(site, text, ("Rowan House", "HOSPITAL")) == ([("Rowan House", "HOSPITAL")], Effect())
    assert applied(site, text, ("Rowan House", "CITY")) == ([("Rowan House", "HOSPITAL")], Effect(recategorized=1))
    assert applied(site, text, ("Rowan", "CITY")) == ([("Rowan House", "HOSPITAL")], Effect(denied=1))
    # a larger span stays whole; an overlapping one is joined
    assert applied(site, text, ("Rowan House today", "CITY")) == ([("Rowan House today", "CITY")], Effect())
    assert applied(site, text, ("House today", "CITY")) == ([("Rowan House today", "HOSPITAL")], Effect(denied=1))


def test_the_sites_word_is_about_its_term_and_not_about_what_is_joined_to_it(tmp_path: Path) -> None:
    """What else was found there stays known of the joined span, so that no policy keeps it unseen."""
    site, text = lists(tmp_path, "[HOSPITAL]\nRowan House\n"), "at Rowan House today"
    whole = Span(3, 14, "CITY", source="rule:test", score=0.9)
    beside = Span(9, 20, "DATE", source="rule:test", score=0.9).read_as({"PHONE"})
    for found, also in (([whole], set()), ([beside], {"DATE", "PHONE"}), ([whole, beside], {"DATE", "PHONE"})):
        (span,) = site.apply(text, found)[0]
        assert (span.category, set(span.also), span.source, span.score) == ("HOSPITAL", also, "deny", 1.0)


PHRASES = list(product(["a", "ab", "aba", "ba"], ["CITY", "DOCTOR", ""]))


@pytest.mark.parametrize("first", PHRASES)
def test_of_terms_that_overlap_the_first_then_the_longest_that_has_a_category_gives_it(first: tuple[str, str]) -> None:
    """By hand: all places of both terms, in either order of the list; a term named twice has its first category."""
    for second, said in product(PHRASES, ("ab", "aba", "abba", "ababa", "b-a")):
        terms = (first, second)
        site = SiteLists(deny=tuple(Term(tuple(words), category) for words, category in terms))
        places = [
            (at, at + len(words), category) for words, category in terms for at in range(len(said))
            if said.startswith(words, at)
        ]  # fmt: skip
        covered = {at for begin, end, _ in places for at in range(begin, end)}
        joined = {at for begin, end, _ in places for at in range(begin, end - 1)}  # with what is behind
        expected = []
        for at in sorted(covered):
            if at - 1 not in joined:
                last = next(e for e in range(at, len(said)) if e not in joined)
                named = [(b, -e, n, c) for n, (b, e, c) in enumerate(places) if at <= b <= last and c]
                expected.append((at, last + 1, min(named)[3] if named else "OTHER"))
        found, _, _ = site.apply(" ".join(said), [])
        assert [(s.start // 2, (s.end + 1) // 2, s.category) for s in found] == expected


def test_allow_terms_take_out_what_they_cover_completely(tmp_path: Path) -> None:
    site = lists(tmp_path, allow="HOBS\nBrant score\n")
    text = "HOBS 40, Hobs Weir, HOBS Weir, Brant score 3"
    spans = [("HOBS", "PATIENT"), ("Hobs Weir", "PATIENT"), ("HOBS Weir", "DOCTOR"), ("Brant", "PATIENT")]
    assert applied(site, text, *spans) == (
        [("Hobs Weir", "PATIENT"), ("HOBS Weir", "DOCTOR")],
        Effect(allowed=2),
    )


def test_allow_uncovers_no_number_and_nothing_known(tmp_path: Path) -> None:
    site = lists(tmp_path, allow="HX-30\nHobs\nWard\n")
    text = "HX-30 and Hobs and Ward"
    assert applied(site, text, ("HX-30", "IDNUM")) == ([("HX-30", "IDNUM")], Effect(refused=1))
    assert applied(site, text, ("HX-30", "DEPARTMENT"))[0] == []
    known = Span(10, 14, "PATIENT", source="known:name", score=0.97)
    assert site.apply(text, [known])[:2] == ([known], Effect(refused=1))


def test_deny_wins_over_allow(tmp_path: Path) -> None:
    site = lists(tmp_path, "hobs\nweir", "Hobs\nWeir\nPike\n")
    assert site.both == 2
    assert lists(tmp_path, '"Hobs"\n"Weir"\npike', "HOBS\nWeir\nPIKE\n").both == 2  # what is quoted counts as written
    assert applied(site, "Hobs and Pike", ("Pike", "PATIENT")) == (
        [("Hobs", "OTHER")],
        Effect(denied=1, allowed=1, refused=1),
    )


@pytest.mark.parametrize(
    ("deny", "allow", "position", "what"),
    [
        ("Rowan\nx\n", "", "line 2", "two letters"),
        ("[STAFF]\nRowan\n", "", "line 1", "unknown category"),
        ("Rowan\tNURSE\n", "", "line 1", "unknown category"),
        ("# nothing\n\n", "", "", "no term"),
        ("[CITY]\n", "", "", "no term"),
        ("", "\n[CITY]\nRowan\n", "line 2", "category"),
        ("", "Rowan\n12345\n", "line 2", "more than 4 digits"),
        ("", "Rowan\na@b.org\n", "line 2", "@"),
        ("Row\x07an\n", "", "line 1", "control"),
    ],
)
def test_bad_lists_name_file_and_line_and_no_term(
    tmp_path: Path, deny: str, allow: str, position: str, what: str
) -> None:
    with pytest.raises(ConfigError, match=what) as error:
        lists(tmp_path, deny, allow)
    assert error.value.position == position
    assert error.value.where.endswith("deny.txt" if deny else "allow.txt")
    assert "Rowan" not in str(error.value)


def test_unreadable_lists(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_site_lists([tmp_path / "none"])
    (tmp_path / "latin").write_bytes("Rowan\nM\xfcller\n".encode("latin-1"))
    with pytest.raises(ConfigError, match="line 2"):
        load_site_lists(allow=[tmp_path / "latin"])


@given(st.text("Rowan Pike.,\n-", max_size=40), st.lists(st.tuples(st.integers(0, 39), st.integers(1, 9)), max_size=4))
def test_deny_leaves_nothing_uncovered_and_nothing_overlapping(text: str, places: list[tuple[int, int]]) -> None:
    spans: list[Span] = []
    for start, length in sorted(places):
        if start + length <= len(text) and (not spans or spans[-1].end <= start):
            spans.append(Span(start, start + length, "CITY", source="rule:x", score=0.9))
    result, _, _ = SiteLists(deny=(Term(("rowan",)),)).apply(text, spans)
    covered = {i for s in result for i in range(s.start, s.end)}
    assert covered >= {i for s in spans for i in range(s.start, s.end)}
    assert all(a.end <= b.start for a, b in pairwise(result))
