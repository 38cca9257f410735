"""The official measures of i2b2-2014 and MEDDOCAN, on hand-worked examples and against plain implementations."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from deid.base.errors import ConfigError
from deid.document import Document, Span
from deid.evaluation.cases import Case
from deid.evaluation.official import (
    Sentences,
    count_sentences,
    merge_adjacent,
    read_sentences,
    score_binary,
    score_end_tolerant,
    score_merged,
    score_span_tokens,
    sentences_of,
    subset,
)
from deid.evaluation.scores import Score


def _counts(score: Score) -> tuple[int, int, int, int]:
    return score.found, score.gold, score.right, score.system


def _triple(score: Score) -> tuple[int, int, int]:
    """True positives, false positives, false negatives."""
    return score.right, score.system - score.right, score.gold - score.found


TEXT = "Seen by Ann Lee's team, 12-34 x"


@pytest.mark.parametrize(
    ("system", "right"),
    [
        ((8, 17, "DOCTOR"), 1),  # Ann Lee's: two characters more
        ((8, 13, "DOCTOR"), 1),  # two fewer
        ((8, 18, "DOCTOR"), 0),  # three more
        ((7, 15, "DOCTOR"), 0),  # another start
        ((8, 15, "PATIENT"), 0),  # another category
    ],
)
def test_relaxed_forgives_two_characters_at_the_end(case_of, system, right) -> None:
    cases = case_of(TEXT, [(8, 15, "DOCTOR")], [system])
    assert _counts(score_end_tolerant(cases.cases, cases.categories).micro()) == (right, 1, right, 1)


def _one_place(draw: list[tuple[int, str]]) -> tuple[Span, ...]:
    return tuple(Span(0, end, category) for end, category in sorted(set(draw)))


@given(*[st.lists(st.tuples(st.integers(1, 9), st.sampled_from("AB")), max_size=6)] * 2)
def test_relaxed_matches_as_many_spans_as_any_assignment(gold, system) -> None:
    """Nested spans of one start are matched one to one, and no other matching gives more."""
    case = Case(Document("x", "0123456789"), _one_place(gold), _one_place(system), ())
    fits = np.array(
        [[g.category == s.category and abs(g.end - s.end) <= 2 for s in case.system] for g in case.gold], dtype=int
    ).reshape(len(case.gold), len(case.system))
    best = int(fits[linear_sum_assignment(-fits)].sum())
    score = score_end_tolerant([case], ["A", "B"]).micro()
    assert _counts(score) == (best, len(case.gold), best, len(case.system))


def test_token_measure_cuts_spans_at_punctuation(case_of) -> None:
    """``12-34`` found as ``34 x``: 34 is right, 12 missed, x spurious."""
    cases = case_of(TEXT, [(24, 29, "IDNUM"), (8, 15, "DOCTOR")], [(27, 31, "IDNUM"), (8, 15, "PATIENT")])
    table = score_span_tokens(cases.cases, cases.categories)
    assert _triple(table.by_label()["IDNUM"]) == (1, 1, 1)
    assert _triple(table.by_label()["DOCTOR"]) == (0, 0, 2)
    assert _triple(table.by_label()["PATIENT"]) == (0, 2, 0)


def test_a_span_without_letters_is_one_token_as_in_the_official_scorer(case_of) -> None:
    cases = case_of("a -- b", [(2, 4, "IDNUM")], [(2, 4, "IDNUM")])
    assert _triple(score_span_tokens(cases.cases, cases.categories).micro()) == (1, 0, 0)


def test_binary_ignores_the_category_and_knows_both_hipaa_readings(case_of) -> None:
    """URL counts in our reading only, DOCTOR in neither; the subset is taken on each side by its own labels."""
    gold = [(0, 4, "URL"), (8, 15, "DOCTOR"), (24, 29, "PHONE")]
    system = [(0, 4, "EMAIL"), (8, 15, "PATIENT"), (24, 29, "PHONE")]
    spans = score_binary(case_of(TEXT, gold, system).cases, tokens=False).by_label()
    assert _triple(spans["all"]) == (3, 0, 0)
    assert _triple(spans["hipaa"]) == (2, 1, 0)
    assert _triple(spans["hipaa-official"]) == (1, 2, 0)
    tokens = score_binary(case_of(TEXT, gold, system).cases, tokens=True).by_label()
    assert _triple(tokens["all"]) == (5, 0, 0)
    assert _triple(tokens["hipaa"]) == (3, 2, 0)


def test_subsets_are_chosen_by_canonical_category() -> None:
    labels = ["FECHAS", "URL_WEB", "SEXO_SUJETO_ASISTENCIA", "PAIS", "AGE"]
    assert subset(labels, "all") == set(labels)
    assert subset(labels, "hipaa") == {"FECHAS", "URL_WEB", "AGE"}
    assert subset(labels, "hipaa-official") == {"FECHAS", "AGE"}


STREET = "Vive en C/ Sol 3, 28001 Madrid. Tel. 91"
#         0       8         18    24   30


def test_merging_joins_over_punctuation_and_spaces_only() -> None:
    assert merge_adjacent(STREET, [(24, 30), (8, 16), (18, 23), (37, 39)]) == {(8, 30), (37, 39)}
    assert merge_adjacent(STREET, []) == set()


def test_merged_spans_of_both_sides_meet(case_of) -> None:
    """Three gold spans, the system has them as one: after joining both are ``C/ Sol 3, 28001 Madrid``."""
    gold = [(8, 16, "CALLE"), (18, 23, "TERRITORIO"), (24, 30, "TERRITORIO")]
    assert _triple(score_merged(case_of(STREET, gold, [(8, 30, "CALLE")]).cases).micro()) == (1, 0, 0)


def test_merged_counts_strict_matches_besides_the_joined_one(case_of) -> None:
    """The sets before and after joining are united: two equal spans and their join are three right places."""
    spans = [(18, 23, "TERRITORIO"), (24, 30, "TERRITORIO")]
    assert _triple(score_merged(case_of(STREET, spans, spans).cases).micro()) == (3, 0, 0)


def test_merged_errors_inside_a_right_span_are_forgiven(case_of) -> None:
    """The street is split by the system; a spurious ``Tel`` and a missed number stay errors."""
    gold = [(8, 16, "CALLE"), (18, 23, "TERRITORIO"), (37, 39, "NUMERO_TELEFONO")]
    system = [(8, 14, "CALLE"), (15, 16, "CALLE"), (18, 23, "TERRITORIO"), (32, 35, "HOSPITAL")]
    assert _triple(score_merged(case_of(STREET, gold, system).cases).micro()) == (2, 1, 1)


@st.composite
def _apart(draw: st.DrawFn, length: int) -> tuple[Span, ...]:
    """Spans of one side that neither overlap nor nest."""
    cuts = sorted(draw(st.sets(st.integers(0, length), max_size=8)))
    pairs = list(itertools.pairwise(cuts))
    return tuple(Span(*pair, "A") for pair in pairs if draw(st.booleans()))


@given(st.text("ab ,", min_size=12, max_size=12), _apart(12), _apart(12))
def test_merged_equals_a_plain_reading_of_the_definition(text, gold, system) -> None:
    def joined(spans: tuple[Span, ...]) -> set[tuple[int, int]]:
        covered = {offset for span in spans for offset in range(span.start, span.end)}
        filled = set(covered)
        for a, b in itertools.combinations(sorted(covered), 2):
            if not any(c.isalnum() for i, c in enumerate(text[a + 1 : b], a + 1) if i not in covered):
                filled |= set(range(a, b))
        edges = [i for i in range(13) if (i in filled) != (i - 1 in filled)]
        return set(zip(edges[::2], edges[1::2], strict=True))

    def bare(spans: tuple[Span, ...]) -> set[tuple[int, int]]:
        return {(span.start, span.end) for span in spans}

    right = (bare(gold) & bare(system)) | (joined(gold) & joined(system))
    errors = [
        sum(not any(a <= start and end <= b for a, b in right) for start, end in side - other)
        for side, other in ((bare(system), bare(gold)), (bare(gold), bare(system)))
    ]
    case = Case(Document("x", text), gold, system, system)
    assert _triple(score_merged([case]).micro()) == (len(right), *errors)


def test_leak_score_is_false_negatives_per_sentence() -> None:
    assert Sentences(40, "file").leak(Score(8, 10, 8, 9)) == pytest.approx(0.05)
    assert Sentences(0, "file").leak(Score(0, 1, 0, 0)) == 0.0


def test_own_sentence_split() -> None:
    assert count_sentences("Fever. No cough! Why? 3 days.\nNext line\n\n- - -\n") == 5
    assert count_sentences("about 3.5 mg of x. then lower case") == 1
    assert count_sentences("") == 0


def test_sentences_come_from_the_file_by_id_or_its_last_part(tmp_path: Path) -> None:
    path = tmp_path / "sentences.tsv"
    path.write_text("id\tpart\tsentences\na\tdev\t4\nb\tdev\t6\n")
    counts = read_sentences(path)
    cases = [Case(Document(name, "Text."), (), (), ()) for name in ("a", "gold/b")]
    assert sentences_of(cases, counts) == Sentences(10, "file")
    assert sentences_of(cases) == Sentences(2, "own split")
    with pytest.raises(ConfigError, match="lacks 1 of 3"):
        sentences_of([*cases, Case(Document("c", "x"), (), (), ())], counts)


@pytest.mark.parametrize("line", ["a", "a\tdev\tmany", "b\tdev\t3", "a\tdev\t-1"])
def test_a_bad_line_of_the_sentences_file_is_named_by_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "sentences.tsv"
    path.write_text(f"id\tpart\tsentences\nb\tdev\t6\n{line}\n")
    with pytest.raises(ConfigError, match="line 3"):
        read_sentences(path)
