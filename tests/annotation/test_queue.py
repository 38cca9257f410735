"""The queue and the advice to stop: orders that a person can predict, templates, chance, and their edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.annotation.queue import annotation_queue, sketch, stop_advice
from deid.base.errors import ConfigError

TEMPLATE = "Name: {} MRN: {} Seen in the clinic for chest pain, no fever, lungs clear, follow up in {} weeks."
OTHERS = (
    "The pathology of the left breast shows a carcinoma of the ductal type with clear margins on all sides.",
    "Patient walks with a cane after a stroke; speech therapy goes on and her mood has become better since.",
    "Colonoscopy to the caecum without a polyp, preparation good, withdrawal time nine minutes, next in ten years.",
)


def names(count: int) -> list[str]:
    return [f"note-{i}" for i in range(count)]


@settings(max_examples=60)
@given(
    st.lists(st.floats(-1e6, 1e6), max_size=30),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(0, 40),
    st.integers(0, 3),
)
def test_every_note_has_one_place_and_the_same_call_the_same_order(scores, share, diversity, first, seed) -> None:
    told = {"random_share": share, "diversity": diversity, "first": first, "seed": seed}
    sketches = np.random.default_rng(seed).normal(size=(len(scores), 8)).astype(np.float32)
    order = annotation_queue(names(len(scores)), scores, sketches, **told)
    assert sorted(q.id for q in order) == sorted(names(len(scores)))
    assert order == annotation_queue(names(len(scores)), scores, sketches, **told)
    assert [q.score for q in order] == [scores[int(q.id[5:])] for q in order]
    assert sum(q.drawn for q in order) == int(len(scores) * share)


def test_without_chance_and_resemblance_the_least_sure_come_first_whatever_the_unit() -> None:
    scores = [3.0, -1.0, 7.0, 5.0]
    for moved in (scores, [s * 1000 - 5 for s in scores]):
        order = annotation_queue(names(4), moved, random_share=0)
        assert [q.id for q in order] == ["note-2", "note-3", "note-0", "note-1"]


def test_a_template_does_not_come_ten_times() -> None:
    texts = [TEMPLATE.format(f"Person{i}", 1000 + i, i) for i in range(10)] + list(OTHERS)
    scores = [100.0 - i for i in range(10)] + [3.0, 2.0, 1.0]
    sketches = np.stack([sketch(text) for text in texts])
    order = [q.id for q in annotation_queue(names(13), scores, sketches, random_share=0)]
    assert order[0] == "note-0"
    assert set(order[1:4]) == {"note-10", "note-11", "note-12"}
    alike = [q.id for q in annotation_queue(names(13), scores, sketches, random_share=0, diversity=0)]
    assert alike == names(13)
    # the template was annotated before: it comes last from the beginning
    known = annotation_queue(names(13), scores, sketches, annotated=sketches[:1], random_share=0)
    assert {q.id for q in known[:3]} == {"note-10", "note-11", "note-12"}


def test_behind_the_first_places_the_order_is_by_score_and_resemblance_to_these() -> None:
    scores = list(range(50))
    order = annotation_queue(names(50), scores, np.zeros((50, 4), np.float32), first=3, random_share=0)
    assert [q.id for q in order] == names(50)[::-1]


def test_notes_drawn_at_random_keep_their_order_when_scores_change_and_others_are_gone() -> None:
    def drawn(scores: list[float], gone: int = 0) -> list[str]:
        told = annotation_queue(names(40)[gone:], scores[gone:], random_share=1.0, seed=4)
        return [q.id for q in told]

    before = drawn([float(i) for i in range(40)])
    assert drawn([float(-i) for i in range(40)]) == before
    assert drawn([0.0] * 40, gone=5) == [name for name in before if name not in names(5)]
    assert before != drawn([0.0] * 40)[::-1]
    assert before != [q.id for q in annotation_queue(names(40), [0.0] * 40, random_share=1.0, seed=5)]


def test_every_tenth_place_is_drawn() -> None:
    order = annotation_queue(names(40), [0.0] * 40, random_share=0.1)
    assert [i for i, q in enumerate(order) if q.drawn] == [9, 19, 29, 39]


@pytest.mark.parametrize("what", [{"random_share": 1.5}, {"diversity": -0.1}])
def test_shares_out_of_range_are_refused(what: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        annotation_queue(["a"], [1.0], **what)


def test_similarity_of_sketches_is_the_share_of_common_runs_of_words() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{'abcdefghij'[i // 26 % 10]}{chr(97 + i % 26)}" for i in range(250)]
    for _ in range(20):
        first, second = (" ".join(rng.choice(words[:12], size=60)) for _ in range(2))
        runs = [set(zip(t.split(), t.split()[1:], t.split()[2:], strict=False)) for t in (first, second)]
        exact = len(runs[0] & runs[1]) / np.sqrt(len(runs[0]) * len(runs[1]))
        assert float(sketch(first) @ sketch(second)) == pytest.approx(exact, abs=0.15)
    assert float(sketch(OTHERS[0]) @ sketch(OTHERS[0])) == pytest.approx(1.0)
    assert float(sketch(TEMPLATE.format("A B", 1, 2)) @ sketch(TEMPLATE.format("A B", 77, 31))) == pytest.approx(1.0)
    assert not sketch("two words").any()
    assert sketch("a \ud800 b c d").any()


def test_the_advice_to_stop_needs_a_flat_curve_and_few_leaks() -> None:
    flat = [(20, 0.90), (40, 0.951), (80, 0.954), (160, 0.955), (320, 0.956)]
    steep = [(20, 0.5), (40, 0.6), (80, 0.7), (160, 0.8)]
    few, many = [0.05] * 50, [3.0] * 50
    assert stop_advice(flat, few).stop
    assert not stop_advice(steep, few).stop
    assert not stop_advice(flat, many).stop
    assert stop_advice(steep, few).gain == pytest.approx(0.1)
    told = stop_advice(flat, many)
    assert told.leaks == pytest.approx(3.0)
    assert "320 annotated notes" in told.reasons[0]
    assert "50 unread notes and the model's word alone" in told.reasons[1]


def test_nothing_known_is_no_reason_to_stop() -> None:
    told = stop_advice([(10, 0.9)])
    assert not told.stop
    assert (told.gain, told.leaks, told.bound) == (None, None, None)
    assert "1 points" in told.reasons[0]


def test_trainings_on_hardly_more_notes_are_noise_and_no_flat_curve() -> None:
    few = [0.01] * 30
    assert stop_advice([(100, 0.9)] * 6, few).gain is None
    assert stop_advice([(n, 0.9) for n in (0, 100, 101, 102, 103, 104)], few).gain is None
    # the last four are too near, so that older ones count as well
    near = [(40, 0.8), (60, 0.85), (100, 0.9), (101, 0.91), (102, 0.89), (103, 0.9)]
    told = stop_advice(near, few)
    assert told.gain == pytest.approx(np.polyfit(np.log2([n for n, _ in near[1:]]), [f for _, f in near[1:]], 1)[0])
    assert "last 5 points" in told.reasons[0]
    assert stop_advice(near[::-1], few) == told


def test_nothing_waits_once_all_is_annotated() -> None:
    assert annotation_queue([], [], np.array([]), annotated=np.ones((3, 4), np.float32)) == []


def test_a_tagger_that_is_too_sure_of_itself_is_corrected_by_gold() -> None:
    flat = [(20, 0.95), (40, 0.951), (80, 0.952), (160, 0.953)]
    boast = [(0.1, 1.0)] * 200
    told = stop_advice(flat, [0.1] * 50, boast)
    assert told.leaks == pytest.approx(0.1 * 201 / 21)
    assert not told.stop
    assert "200 notes with gold" in told.reasons[1]
    # five notes without a leak are no proof that there is none
    assert stop_advice(flat, [1.0] * 50, [(0.2, 0.0)] * 5).leaks == pytest.approx(0.5)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=30), st.integers(0, 5))
@settings(max_examples=30)
def test_the_bound_lies_above_what_is_expected_for_notes_that_differ(expected: list[float], gold: int) -> None:
    told = stop_advice([], expected, [(1.0, 1.0)] * gold)
    assert told.leaks is not None
    assert told.bound is not None
    assert told.bound >= told.leaks - 1e-9
