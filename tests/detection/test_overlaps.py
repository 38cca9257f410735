"""The compiled routes that tell which spans overlap equal the Python ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.compiled import native
from deid.detection import overlaps
from deid.detection.overlaps import corroborate, decide, known_over_dates, known_over_guesses
from deid.document import Span
from deid.phi import group

SCORES = st.none() | st.sampled_from([0.0, 0.25, 0.6, 0.85, 1.0]) | st.floats(0, 1)
SPANS = st.builds(
    lambda start, size, category, score: Span(start, start + size, category, source="x", score=score),
    st.integers(0, 60),
    st.integers(1, 12),
    st.sampled_from(["PATIENT", "DOCTOR", "DATE", "CITY", "own label"]),
    SCORES,
)
CANDIDATES = st.lists(st.tuples(st.integers(0, 3), SPANS), max_size=30)


@settings(max_examples=300)
@given(CANDIDATES)
def test_spans_raise_each_other_as_far_as_they_speak_for_each_other(candidates):
    ordered, scores = corroborate(candidates)
    assert ordered == sorted(candidates, key=lambda p: (p[1].start, p[1].end, p[0]))
    for (rank, span), score in zip(ordered, scores, strict=True):
        others = [
            (r, overlaps.score_of(s))
            for r, s in candidates
            if r != rank and s.overlaps(span) and group(s.category) == group(span.category)
        ]
        rest = 1.0 - overlaps.score_of(span)
        for number in {r for r, _ in others}:
            rest *= 1.0 - max(score for r, score in others if r == number)
        assert score == (pytest.approx(1 - rest, abs=1e-4) if others else span.score)


@settings(max_examples=300)
@given(st.lists(SPANS, max_size=30))
def test_what_was_accepted_stays_covered_once(spans):
    decided = decide(spans)
    covered = [i for s in decided for i in range(s.start, s.end)]
    assert sorted(covered) == sorted({i for s in spans for i in range(s.start, s.end)})
    assert [s.start for s in decided] == sorted(s.start for s in decided)


@pytest.mark.skipif(native is None, reason="the compiled module is not there")
@settings(max_examples=300)
@given(CANDIDATES)
def test_both_routes_agree(candidates):
    spans = [span for _, span in candidates]
    assert native.corroborate(candidates, group) == overlaps._corroborate(candidates, group)
    assert native.clusters(spans) == overlaps._clusters(spans)


FEW = st.builds(
    Span,
    st.integers(0, 1),
    st.integers(2, 3),
    st.sampled_from(["DATE", "CITY"]),
    st.sampled_from(["", "a"]),
    st.sampled_from(["loud", "louder", "low"]),
    SCORES,
    st.sampled_from([(), (("a", "b"),)]),
)


def everything(spans):
    return [(s.start, s.end, s.category, s.id, s.source, s.score, s.attributes) for s in spans]


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 2), FEW), max_size=20), st.randoms(use_true_random=False))
def test_spans_without_the_superfluous_decide_the_same(candidates, random):
    candidates, scores = corroborate(candidates)
    passed = bytearray(random.getrandbits(1) for _ in candidates)
    kept = overlaps._drop_redundant(candidates, scores, passed, len)
    if native is not None:
        assert everything(native.drop_redundant(candidates, scores, passed, len)) == everything(kept)
    all_of_them = [s.scored(c) for (_, s), c, out in zip(candidates, scores, passed, strict=True) if not out]
    assert everything(decide(kept)) == everything(decide(all_of_them))


@pytest.mark.skipif(native is None, reason="the compiled module is not there")
def test_errors_are_passed_on():
    span = Span(0, 2, "DATE")
    for wrong in (
        [span],
        [(0, "text")],
        [(-1, span)],
        [(0, Span("a", 2, "DATE"))],
        [(0, Span(0, 1, "X", score="a"))],
        ((0, span),),
    ):
        with pytest.raises((TypeError, AttributeError, ValueError)):
            native.corroborate(wrong, group)
        with pytest.raises((TypeError, AttributeError, ValueError)):
            native.drop_redundant(wrong, [None], b"\0", len)
    for scores, passed in (([], b"\0"), ([None], b""), (["a"], b"\0")):
        with pytest.raises((TypeError, ValueError)):
            native.drop_redundant([(0, span)], scores, passed, len)
    with pytest.raises(ZeroDivisionError):
        native.drop_redundant([(0, span), (1, span)], [0.5, 0.5], b"\0\0", lambda source: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        native.corroborate([(0, span), (1, Span(0, 2, "CITY"))], lambda category: 1 / 0)
    with pytest.raises(TypeError):
        native.clusters((span,))
    with pytest.raises(AttributeError):
        native.clusters([span, "text"])


@pytest.mark.parametrize("clusters", [overlaps._clusters, *([native.clusters] if native else [])])
def test_clusters_by_hand(clusters):
    def spans(*rows):
        return [Span(start, end, "PATIENT", score=score) for start, end, score in rows]

    assert clusters([]) == []
    assert clusters(spans((3, 5, 0.5))) == [(0, 1, 0)]
    assert clusters(spans((0, 4, 0.5), (4, 8, 0.5), (9, 12, 0.5))) == [(0, 1, 0), (1, 2, 1), (2, 3, 2)]
    assert clusters(spans((0, 8, 0.5), (2, 4, 0.5), (8, 9, 0.1))) == [(0, 2, 0), (2, 3, 2)]  # the longer of equals
    assert clusters(spans((2, 4, 0.5), (2, 4, 0.5))) == [(0, 2, 0)]  # the first of equals
    assert clusters(spans((0, 8, 0.5), (2, 4, 0.6))) == [(0, 2, -1)]  # the surer does not cover all
    assert clusters(spans((1, 5, 0.9), (3, 8, 0.5))) == [(0, 2, -1)]


def _at(text: str, part: str, category: str, source: str, score: float | None = None) -> Span:
    return Span(text.index(part), text.index(part) + len(part), category, source=source, score=score)


@pytest.mark.parametrize(
    ("text", "names", "dates", "expected"),
    [
        ("on 3/5. Jan Gray", ["Jan", "Gray"], ["Jan"], ["Jan"]),
        ("on 3/5. Jan, Gray", ["Jan", "Gray"], ["Jan"], ["Jan"]),
        ("on Jan Gray 5", ["Jan", "Gray"], ["Jan Gray 5"], ["Jan", "Gray"]),
        ("on Jan; Gray 5", ["Jan", "Gray"], ["Jan; Gray 5"], []),
        ("on Jan; Gray", ["Jan", "Gray"], ["Jan; Gray"], ["Jan", "Gray"]),
        ("on Jan 5", ["Jan"], ["Jan 5"], []),
        ("on Jan. then", ["Jan"], ["Jan."], ["Jan"]),
        ("with Jan on May 5", ["Jan"], ["May 5"], []),
        ("with Jan Gray", ["Jan", "Gray"], [], []),
        ("on Jan 5", [], ["Jan 5"], []),
    ],
)
def test_who_is_known_is_no_date_where_a_date_has_nothing_else(
    text: str, names: list[str], dates: list[str], expected: list[str]
) -> None:
    spans = [_at(text, name, "PATIENT", "known:name") for name in names]
    spans += [_at(text, date, "DATE", "rule:date", 0.9) for date in dates]
    spans += [_at(text, "on", "CITY", "rule:x", 0.9)] if "on" in text else []
    assert [text[s.start : s.end] for s in known_over_dates(text, spans)] == expected


@pytest.mark.parametrize(
    ("score", "others", "stands"),
    [
        (0.97, [("CITY", "model:en", None)], True),
        (0.97, [("CITY", "rule:place.city", 0.49)], True),
        (0.97, [("CITY", "rule:place.city", 0.5)], False),
        (0.97, [("CITY", "model:en", 0.9), ("STATE", "rule:place.state", 0.9)], False),
        (0.97, [("DOCTOR", "model:en", 0.9)], False),
        (0.97, [("DOCTOR", "model:en", 0.9), ("CITY", "model:en", 0.9)], True),
        (0.97, [], False),
        (0.96, [("CITY", "model:en", 0.9)], False),
        (0.96, [("CITY", "model:en", 0.9), ("PATIENT", "rule:name.word", 0.3)], True),
        (0.96, [("CITY", "model:en", 0.9), ("PATIENT", "rule:name.word", 0.29)], False),
        (0.96, [("CITY", "model:en", 0.9), ("PATIENT", "model:en", 0.9)], False),
        (0.96, [("PATIENT", "rule:name.word", 0.9)], False),
    ],
)
def test_who_is_known_is_nothing_else_where_others_guess(
    score: float, others: list[tuple[str, str, float | None]], stands: bool
) -> None:
    text = "call Hill now"
    name = _at(text, "Hill", "PATIENT", "known:name", score)
    spans = [name, *(_at(text, "Hill", *other) for other in others), _at(text, "now", "CITY", "model:en")]
    assert list(known_over_guesses(spans)) == ([name] if stands else [])
