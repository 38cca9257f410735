"""Joining recognizers: evidence, vetoes, conflicts, consistency."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.detection import Ensemble, RuleRecognizer
from deid.document import Document, Span

RULES = RuleRecognizer.load("en")


@dataclass(frozen=True)
class Fixed:
    """Finds what it is told to find: text -> (category, score)."""

    wanted: tuple[tuple[str, str, float | None], ...]
    name: str = "fixed"

    @property
    def categories(self) -> frozenset[str]:
        return frozenset(c for _, c, _ in self.wanted)

    def find(self, document: Document) -> list[Span]:
        return [
            Span(document.text.index(t), document.text.index(t) + len(t), c, source=self.name, score=s)
            for t, c, s in self.wanted
            if t in document.text
        ]


def found(ensemble: Ensemble, text: str) -> list[tuple[str, str]]:
    return [(text[s.start : s.end], s.category) for s in ensemble.find(Document("n", text))]


def test_weak_evidence_of_two_recognizers_adds_up() -> None:
    one, two = Fixed((("Quorl", "PATIENT", 0.35),)), Fixed((("Quorl", "DOCTOR", 0.3),), "two")
    assert found(Ensemble((one,)), "with Quorl again") == []
    assert found(Ensemble((one, two)), "with Quorl again") == [("Quorl", "PATIENT")]


def test_evidence_for_different_things_does_not_add_up() -> None:
    one, two = Fixed((("Quorl", "PATIENT", 0.35),)), Fixed((("Quorl", "DATE", 0.3),), "two")
    assert found(Ensemble((one, two)), "with Quorl again") == []


def test_rules_raise_a_models_weak_span() -> None:
    """A rule's candidate below its own threshold counts as evidence."""
    text = "talked to Quillan about it"
    model = Fixed((("Quillan", "PATIENT", 0.4),))
    assert found(Ensemble((model,)), text) == []
    assert found(Ensemble((model, RULES)), text) == [("Quillan", "PATIENT")]


def test_clinical_language_vetoes_weak_evidence_only() -> None:
    weak = Fixed((("Foley catheter", "PATIENT", 0.7),))
    sure = Fixed((("Foley catheter", "PATIENT", 0.9),))
    assert found(Ensemble((weak,)), "a Foley catheter was placed") == []
    assert found(Ensemble((sure,)), "a Foley catheter was placed") == [("Foley catheter", "PATIENT")]


@pytest.mark.parametrize(
    ("text", "taken", "kept"),
    [
        ("Seen: Quorl Tazzin     Vexpo here", "Quorl Tazzin     Vexpo", ["Quorl Tazzin", "Vexpo"]),
        ("Seen: Quorl Tazzin\tVexpo here", "Quorl Tazzin\tVexpo", ["Quorl Tazzin", "Vexpo"]),
        ("Seen: Quorl\n\nVexpo here", "Quorl\n\nVexpo", ["Quorl", "Vexpo"]),
        ("Supervisor Quorl rang, they said.", "Supervisor Quorl", ["Quorl"]),
        ("Told Quorl heparin was stopped.", "Quorl heparin", ["Quorl"]),
        ("Told Quorl MD of it.", "Quorl MD", ["Quorl"]),
        ("Told Quorl Stroke of it.", "Quorl Stroke", ["Quorl Stroke"]),  # it may be the surname
        ("Told Nurse, Quorl of it.", "Nurse, Quorl", ["Nurse, Quorl"]),
        ("Told Nurse of it.", "Nurse", ["Nurse"]),  # no other word is left
    ],
)
def test_a_models_name_ends_where_its_column_does_and_takes_no_word_beside_it(
    text: str, taken: str, kept: list[str]
) -> None:
    model = Fixed(((taken, "DOCTOR", 0.99),), "model:x")
    assert [part for part, _ in found(Ensemble((model,)), text)] == kept
    other = Fixed(((taken, "DOCTOR", 0.99),), "gold")
    assert [part for part, _ in found(Ensemble((other,)), text)] == [taken]


@pytest.mark.parametrize(
    ("text", "taken", "category"),
    [
        ("Call 217    555    0133 today", "217    555    0133", "PHONE"),
        ("Fax\t217-555   0133", "217-555   0133", "FAX"),
    ],
)
def test_a_number_with_wide_gaps_is_not_lost_by_columns(text: str, taken: str, category: str) -> None:
    model = Fixed(((taken, category, 0.99),), "model:x")
    covered = {i for s in Ensemble((model,)).find(Document("n", text)) for i in range(s.start, s.end)}
    start = text.index(taken)
    assert {i for i in range(start, start + len(taken)) if text[i].isdigit()} <= covered


def test_a_recognizer_without_scores_is_certain() -> None:
    assert found(Ensemble((Fixed((("stent", "PATIENT", None),)),)), "a stent") == [("stent", "PATIENT")]


def test_conflicts_go_to_certainty_then_length_then_precedence() -> None:
    text = "ABCDEF ghij"
    sure = Fixed((("ABC", "HOSPITAL", 0.9), ("ABCDEF", "IDNUM", 0.8)))
    assert found(Ensemble((sure,), consistency=False), text) == [("ABC", "HOSPITAL"), ("DEF", "IDNUM")]
    longer = Fixed((("ABC", "HOSPITAL", 0.9), ("ABCDEF", "IDNUM", 0.9)))
    assert found(Ensemble((longer,), consistency=False), text) == [("ABCDEF", "IDNUM")]
    first, second = Fixed((("ABC", "HOSPITAL", 0.9),)), Fixed((("ABC", "IDNUM", 0.9),), "two")
    assert found(Ensemble((first, second), consistency=False), text) == [("ABC", "HOSPITAL")]


def test_pieces_of_one_name_are_joined() -> None:
    pieces = Fixed((("Xand", "PATIENT", 0.9), ("Quorl", "PATIENT", 0.7), ("Vex", "DOCTOR", 0.9)))
    spans = Ensemble((pieces,), consistency=False).find(Document("n", "Xand Quorl Vex"))
    assert [(s.start, s.end, s.category, s.score) for s in spans] == [(0, 10, "PATIENT", 0.9), (11, 14, "DOCTOR", 0.9)]


def test_a_name_found_with_certainty_is_found_everywhere() -> None:
    text = "Mr. Jasper Quorlington came.\nLater QUORLINGTON left; jasper denied it. Quorlington's wife agreed."
    assert found(Ensemble((RULES,)), text) == [
        ("Jasper Quorlington", "PATIENT"),
        ("QUORLINGTON", "PATIENT"),
        ("jasper", "PATIENT"),
        ("Quorlington", "PATIENT"),
    ]


def test_a_name_found_with_certainty_is_found_however_it_is_written() -> None:
    """Typed in haste, without capitals: one word, several, or all in capitals. Beside it ordinary words stay."""
    text = (
        "Attending: Dr. Mary Quimby.\n\nThe patient slept. Later the nurse told quimby about it and QUIMBY came.\n"
        "All was talked over with mary quimby at noon, and with MARY QUIMBY.\n"
        "Rose Young, RN saw a young rose; rose young agreed."
    )
    names = [word for word, _ in found(Ensemble((RULES,)), text)]
    assert names == ["Mary Quimby", "quimby", "QUIMBY", "mary quimby", "MARY QUIMBY", "Rose Young", "rose young"]


def test_consistency_spares_ordinary_and_clinical_words() -> None:
    text = "Mrs. May Parkinson came. She may return. Parkinson's disease is stable. No brown sputum."
    assert found(Ensemble((RULES,)), text) == [("May Parkinson", "PATIENT")]


def test_consistency_finds_initials_numbers_and_acronyms_again() -> None:
    text = (
        "Patient: Ansel Quorlington   MRN: 77-120-4 \nSeen at Maple County Medical Center.\n"
        "Quorlington, A (77-120-4) was back at MCMC."
    )
    assert found(Ensemble((RULES,)), text) == [
        ("Ansel Quorlington", "PATIENT"),
        ("77-120-4", "MEDICALRECORD"),
        ("Maple County Medical Center", "HOSPITAL"),
        ("Quorlington, A", "PATIENT"),
        ("77-120-4", "MEDICALRECORD"),
        ("MCMC", "HOSPITAL"),
    ]


def test_a_name_keeps_the_role_that_a_label_gave_it() -> None:
    text = "Attending: Priscilla Vann\nDiscussed by phone. Then Priscilla Vann wrote to Jasper Quorl."
    categories = dict(found(Ensemble((RULES,)), text))
    assert categories["Priscilla Vann"] == "DOCTOR"
    assert categories["Jasper Quorl"] == "PATIENT"


@pytest.mark.parametrize(
    ("text", "taken", "said", "kept"),
    [
        ("Attending: Priscilla Vann\nSeen by Vann.", ("Vann.", "Vann"), "PATIENT", "DOCTOR"),
        ("Dr. Quorl came. Later Quorl left.", ("Quorl left", "Quorl"), "PATIENT", "DOCTOR"),
        ("Patient: Jasper Quorl\nJasper left.", ("Jasper left", "Jasper"), "DOCTOR", "PATIENT"),
        ("Nurse Quorl rang.", ("Quorl", "Quorl"), "PATIENT", "DOCTOR"),
        ("Mr. Quorl operated. Quorl left.", ("Quorl left", "Quorl"), "DOCTOR", "DOCTOR"),  # surgeons are Mr., too
        ("Mr. Quorl came. Jasper Quorl left.", ("Jasper Quorl", "Jasper Quorl"), "DOCTOR", "PATIENT"),
        ("Dr. Vann is the son of Mr. Vann. Priscilla Vann left.", ("Priscilla Vann",) * 2, "PATIENT", "PATIENT"),
    ],
)
def test_labels_and_titles_say_whose_name_a_model_found(
    text: str, taken: tuple[str, str], said: str, kept: str
) -> None:
    """Where they contradict each other, the model's word stands."""
    at = text.rindex(taken[0])

    class Model(Fixed):
        def find(self, document: Document) -> list[Span]:
            return [Span(at, at + len(taken[1]), said, source="model:x")]

    spans = Ensemble((Model(((taken[1], said, None),), "model:x"), RULES)).find(Document("n", text))
    assert [s.category for s in spans if s.start == at] == [kept]


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("EF in 2012 vs 2024", ["2012", "2024"]),
        ("on 3/4/2019, 5/6/2019", ["3/4/2019", "5/6/2019"]),
        ("on May 7, 2020 and June 2021", ["May 7, 2020", "June 2021"]),
        ("from 2012-2024", ["2012-2024"]),
        ("on 2019-03-04", ["2019-03-04"]),
    ],
)
def test_two_dates_are_two(text: str, dates: list[str]) -> None:
    """A range stays as it is; what is written between two dates stays readable."""
    whole = text.split(" ", 2 if text.startswith("EF") else 1)[-1]
    model = Fixed(((whole, "DATE", None),), "model:x")
    assert [part for part, _ in found(Ensemble((model,)), text)] == dates


def test_letters_written_as_codes_are_read() -> None:
    text = "Seen by Dr. Oro&#122;co &amp; Mar&iacute;a Qu=C3=B3rl, MD; a &lt; b"
    assert [part for part, _ in found(Ensemble((RULES,)), text)] == ["Oro&#122;co", "Mar&iacute;a Qu=C3=B3rl"]


def test_invisible_and_look_alike_characters_hide_nothing() -> None:
    """Offsets are those of the text as it is."""
    text = (
        "Dr. Qu\u200borling\u00adton, Mr. \u0405m\u0456th, tel 617\u2011555\u20110143, \uff2d\uff32\uff2e: 77\u200b1204"
    )
    assert found(Ensemble((RULES,)), text) == [
        ("Qu\u200borling\u00adton", "DOCTOR"),
        ("\u0405m\u0456th", "PATIENT"),
        ("617\u2011555\u20110143", "PHONE"),
        ("77\u200b1204", "MEDICALRECORD"),
    ]


def test_categories_become_canonical_on_request() -> None:
    spanish = Fixed((("ayer", "FECHAS", 0.9),))
    assert found(Ensemble((spanish,)), "vino ayer") == [("ayer", "FECHAS")]
    assert found(Ensemble((spanish,), to_canonical=True), "vino ayer") == [("ayer", "DATE")]
    assert Ensemble((spanish,), to_canonical=True).categories == {"DATE"}


def test_empty_text() -> None:
    assert Ensemble((RULES,)).find(Document("n", "")) == []


SPANS = st.lists(
    st.tuples(
        st.integers(0, 30), st.integers(1, 12), st.sampled_from(["DATE", "IDNUM", "PATIENT"]), st.floats(0.5, 1.0)
    ),
    max_size=12,
)


@given(SPANS)
def test_what_was_accepted_stays_covered_and_nothing_overlaps(
    parts: list[tuple[int, int, str, float]],
) -> None:
    """The union of what was proposed and reads as that equals the union of the result, letters and digits counted."""
    text = "abcd 1234 efgh 5678 ijkl 9012 mnop 3456 qrst"

    @dataclass(frozen=True)
    class Random:
        name: str = "random"
        categories: frozenset[str] = frozenset({"DATE", "IDNUM", "PATIENT"})

        def find(self, document: Document) -> list[Span]:
            return [Span(s, min(s + n, len(text)), c, source="random", score=p) for s, n, c, p in parts]

    recognizer = Random()
    trace = Ensemble((recognizer,), consistency=False, strong=0.5).trace(Document("n", text))
    spans = list(trace.spans)
    covered = {i for s in spans for i in range(s.start, s.end) if text[i].isalnum()}
    read = [p.span for p in trace.candidates if p.fate == "accepted"]
    assert covered == {i for s in read for i in range(s.start, s.end) if text[i].isalnum()}
    unread = {p.span for p in trace.candidates if p.fate == "unreadable"}
    assert all(any(c.isdigit() for c in text[s.start : s.end]) for s in unread)
    assert len(recognizer.find(Document("n", text))) <= len(trace.candidates)
    assert spans == sorted(spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))


def test_a_misspelt_name_is_found_by_its_sound() -> None:
    text = "Seen by Dr. Quillandra Vosk.\nQuilandra eats, Quillandrra sleeps. Quorlandra and quilandra do not."
    words = [w for w, _ in found(Ensemble((RULES,)), text)]
    assert {"Quilandra", "Quillandrra"} <= set(words)
    assert "Quorlandra" not in words
    assert "quilandra" not in words


def test_names_of_the_header_are_found_everywhere_though_no_list_has_them() -> None:
    text = "Patient: Quillandra Voskavec\nMs. Lee saw her.\nToday Quillandra is well; VOSKAVEC came along."
    words = [w for w, _ in found(Ensemble((RULES,)), text)]
    assert words.count("Quillandra") == 1
    assert "VOSKAVEC" in words
