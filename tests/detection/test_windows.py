"""A long text is read in windows: what is found, and what memory that takes."""

from __future__ import annotations

import random
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid import Document, Pipeline, build_recognizer, load_policy, read
from deid.base.compiled import native
from deid.base.keys import Key
from deid.detection import Ensemble, RuleRecognizer
from deid.detection.packed import Packed, together
from deid.document import Span
from deid.pipeline import Settings
from deid.reading import passages
from deid.reading.dictionaries import load_dictionary
from deid.reading.lexicon import load_lexicon
from deid.reading.passages import other_reading

Patch = pytest.MonkeyPatch
CORPUS = Path(__file__).resolve().parents[2] / "corpora/synthetic/dev.jsonl"
NOTES = [d.text for d in read(CORPUS) if isinstance(d, Document)]
RULES = RuleRecognizer.load("en")
WHOLE = build_recognizer()
ORDINARY = [note for note in NOTES if other_reading(note, load_lexicon("en"))[0] == note]
"""Notes that are read once: of others it depends on all of a text whether the second reading counts."""
PLAIN = "The patient is well today and walks without help.\n"


def small(patch: Patch, size: int, margin: int) -> None:
    patch.setattr(passages, "WINDOW", size)
    patch.setattr(passages, "MARGIN", margin)


@given(
    st.lists(st.sampled_from([PLAIN, "\n", "a\tb\n", "MRN|Name|Unit\n", "word ", "x" * 30]), max_size=60),
    st.integers(20, 400),
    st.integers(0, 150),
)
def test_every_place_counts_in_one_window(pieces: list[str], size: int, margin: int) -> None:
    text = "".join(pieces)
    found = passages.windows(text, size, margin)
    kept = [part.kept[0] for part in found]
    assert [kept[0][0], kept[-1][1]] == [0, len(text)]
    assert all(a[1] == b[0] for a, b in pairwise(kept))
    assert all(0 < end - start <= size for start, end in kept) or not text
    for part in found:
        ((start, end),) = part.kept
        assert part.start <= start
        assert end <= part.end <= len(text)
        span = Span(start, end, "DATE")
        by = len(part.head) - part.start
        assert not text or part.back(span.moved(span.start + by, span.end + by)) == span
        assert part.of(text).endswith(text[part.start : part.end])


@settings(max_examples=8)
@given(st.lists(st.sampled_from(ORDINARY), min_size=2, max_size=6), st.integers(1500, 6000))
def test_windows_miss_nothing_that_is_found_in_the_whole(notes: list[str], size: int) -> None:
    document = Document("n", "\n\n".join(notes))
    weighing = WHOLE._ensemble
    assert weighing is not None
    plain = Ensemble(weighing.recognizers, weighing.language)  # learnt weights ask the whole note (docs/speed.md)
    covered = {i for span in plain.find(document) for i in range(span.start, span.end)}
    with pytest.MonkeyPatch.context() as patch:
        small(patch, size, 1500)
        spans = plain.find(document)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert covered <= {i for span in spans for i in range(span.start, span.end)}


@pytest.mark.parametrize("size", range(600, 680, 2))
def test_an_identifier_at_a_border_is_found_whole(monkeypatch: Patch, size: int) -> None:
    filler = "the patient is well today and walks without help, " * 12
    text = filler + "seen by Dr. Alice Q. Baker (MRN: 4711203) on March 3, 2019 in Boston, MA; " + filler
    ensemble = Ensemble((RULES,))
    document = Document("n", text)
    whole = ensemble.find(document)
    assert len(whole) >= 4
    small(monkeypatch, size, 300)
    assert len(passages.windows(text)) > 1
    assert ensemble.find(document) == whole


@pytest.mark.parametrize(
    "written",
    [
        "Voskavec",
        "VOSKAVCE",
        "Quillandra Voskavec",
        "Q. Voskavec",
        "Q Voskavec",
        "Voskavec, Q.",
        "Voskavec Q",
        "Quillandra",
    ],
)
def test_what_is_known_in_one_window_is_known_in_all(written: str, monkeypatch: Patch) -> None:
    head = "PCP: Quillandra Voskavec, MD\nMRN: 4711203\n"
    late = f"discussed with {written} again; see 4711203\n"
    document = Document("n", head + 80 * PLAIN + late + 80 * PLAIN)
    ensemble = Ensemble((RULES,))
    whole = ensemble.find(document)
    small(monkeypatch, 2000, 400)
    found = ensemble.find(document)
    assert found == whole
    told = {document.text[s.start : s.end]: s.category for s in found if s.start > len(head)}
    assert told == {written.rstrip("."): "DOCTOR", "4711203": "MEDICALRECORD"}


def test_columns_have_their_heads_in_every_window(monkeypatch: Patch) -> None:
    rows = [f"{5550100 + n}\tward {n % 7}\tGlenvar, Tamsin\n" for n in range(150)]
    document = Document("n", 9 * PLAIN + "MRN\tUnit\tPatient\n" + "".join(rows) + "\n\n" + 9 * PLAIN)
    small(monkeypatch, 1500, 200)
    found = Ensemble((RULES,)).find(document)
    assert sum(s.category == "MEDICALRECORD" for s in found) == 150


def test_an_explanation_of_a_long_text_tells_of_the_same_spans(monkeypatch: Patch) -> None:
    document = Document("n", "\n\n".join(NOTES[:3]))
    small(monkeypatch, 2000, 800)
    told = WHOLE.explain(document, [(0, 40)])
    assert [e.span for e in told.spans] == WHOLE.find(document)
    assert all(any(r.fate == "decides" for r in e.reasons) for e in told.spans)
    assert told.words


SPANS = st.lists(
    st.tuples(st.integers(0, 200), st.integers(1, 9), st.sampled_from("AB"), st.none() | st.just(0.5)), max_size=40
).map(lambda places: [Span(s, s + n, category, source="r", score=score) for s, n, category, score in places])


@given(SPANS, st.integers(1, 5), st.text(alphabet="a ,", min_size=220, max_size=220))
def test_packed_spans_come_back_in_portions_that_do_not_touch(spans: list[Span], chunk: int, text: str) -> None:
    packed = Packed()
    packed.extend(spans)
    assert [(s, s.source, s.score) for s in packed] == [(s, s.source, s.score) for s in spans]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deid.detection.packed._CHUNK", chunk)
        portions = list(together(text, packed, packed))
    assert [s for near, _ in portions for s in near] == sorted(spans, key=lambda s: s.start)
    assert all(near == others for near, others in portions)
    for (before, _), (after, _) in pairwise(portions):
        end, start = max(s.end for s in before), min(s.start for s in after)
        assert end < start
        assert "a" in text[end:start]


@pytest.mark.parametrize("gap", ["\t", "\n", " \t", "|\n"])
def test_cells_of_a_table_are_settled_in_portions(monkeypatch: Patch, gap: str) -> None:
    monkeypatch.setattr("deid.detection.packed._CHUNK", 7)
    text = gap.join(["Orme"] * 50)
    packed = Packed()
    packed.extend(Span(at, at + 4, "PATIENT") for at in range(0, len(text), 4 + len(gap)))
    assert [len(near) for near, _ in together(text, packed, packed)] == [7] * 7 + [1]
    one = Packed()
    one.extend(Span(at, at + 4, "PATIENT") for at in range(0, 500, 5))
    assert [len(near) for near, _ in together(" ".join(["Orme"] * 100), one, one)] == [100]


def test_windows_of_a_text_that_is_all_table_are_a_quarter() -> None:
    row, line = "Orme\tDale\t48291735\t2024-03-14\tBoston\n", "The patient is well\ttoday and walks without any help.\n"
    for text, parts in ((row * 8_000, 6), (line * 5_800, 2)):
        found = passages.windows(text)
        assert len(found) == parts
        assert found[0].kept[0][1] > (40_000 if parts > 2 else 150_000)
    assert len(passages.windows(row * 4_000)) == 1


@pytest.mark.skipif(native is None, reason="the compiled module is not there")
def test_what_a_long_note_takes_beside_one_window_is_less_than_thirty_times_its_size(monkeypatch: Patch) -> None:
    pipeline = Pipeline(WHOLE, load_policy("surrogate"), Key(bytes(32)))
    small(monkeypatch, 5_000, 500)
    text = "\n\n".join(NOTES)[:150_000]
    pipeline(Document("first", text))  # what is remembered of words is, for all texts
    tracemalloc.start()
    try:
        pipeline(Document("long", text))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30 * len(text)


@pytest.mark.slow
@pytest.mark.skipif(native is None, reason="the compiled module is not there")
def test_a_long_note_full_of_people_grows_by_less_than_thirty_times_what_is_added(monkeypatch: Patch) -> None:
    """No two notes in it name the same people, so that nothing is remembered; finding, and replacing."""
    gold = [d for d in read(CORPUS) if isinstance(d, Document)][::2]
    given = Pipeline(None, load_policy("surrogate"), Key(bytes(32)), Settings(gold=True))
    text = "\n\n".join(scrubbed.document.text for scrubbed in map(given, gold))[:150_000]
    pipeline = Pipeline(WHOLE, load_policy("surrogate"), Key(bytes(32)))
    small(monkeypatch, 20_000, 1_000)
    pipeline(Document("first", text))
    assert max(grown_by(pipeline, text)) < 30


@pytest.mark.slow
@pytest.mark.skipif(native is None, reason="the compiled module is not there")
def test_a_long_note_that_is_all_table_grows_by_less_than_a_hundred_times_what_is_added(monkeypatch: Patch) -> None:
    """A cell of nine characters is a span found, an edit, and a span written: the three take 80."""
    draw = random.Random(3)
    lists = ("names/female_unambig", "names/last_unambig")
    given, family = (sorted(filter(str.isalpha, load_dictionary(name).words)) for name in lists)
    rows = ["family,given,born,MRN,phone,city"]
    while sum(map(len, rows)) < 48_000:
        names = f"{draw.choice(family).title()},{draw.choice(given).title()}"
        day = f"{draw.randint(1, 12):02}/{draw.randint(1, 28):02}/{draw.randint(1930, 2015)}"
        phone = f"{draw.randint(200, 999)}-555-{draw.randint(1000, 9999)}"
        rows.append(f"{names},{day},{draw.randint(10**6, 10**7)},{phone},{draw.choice(['Boston', 'Denver', 'Austin'])}")
    text = "\n".join(rows)
    pipeline = Pipeline(WHOLE, load_policy("surrogate"), Key(bytes(32)))
    small(monkeypatch, 20_000, 500)
    pipeline(Document("first", text))
    assert max(grown_by(pipeline, text)) < 100


def grown_by(pipeline: Pipeline, text: str) -> tuple[float, float]:
    """Return how many bytes a byte more of a text takes: to find in it, and to replace as well."""
    peaks: list[list[int]] = []
    for size in (len(text) // 3, len(text)):
        document = Document("long", text[:size])
        tracemalloc.start()
        try:
            spans = WHOLE.find(document)
            finding = tracemalloc.get_traced_memory()[1]
            tracemalloc.reset_peak()
            pipeline.replace(document, spans)
            peaks.append([finding, tracemalloc.get_traced_memory()[1]])
        finally:
            tracemalloc.stop()
    finding, replacing = ((much - few) / (len(text) - len(text) // 3) for few, much in zip(*peaks, strict=True))
    return finding, replacing
