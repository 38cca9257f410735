"""Masking for language models: what goes out holds no original, what comes back gets them again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deid
from deid.base.errors import ConfigError
from deid.base.keys import Key
from deid.document import Span
from deid.pipeline.masking import Piece, Substitutes, is_of_session, narrowed
from deid.replacement.vault import Entry, Vault
from tests.strategies import HOSTILE, MARKUP, PLAIN

KEY = Key(b"k" * 32)
RULES = {"model": "none", "key": KEY}
NOTE = (
    "Patient: Maria Delgado   MRN: 4471902   DOB: 02/11/1961\n"
    "Mrs. Delgado, 58, a teacher from Tulsa, was seen at Mercy Hospital on 3 May 2019 by Dr. Alan Whitcomb.\n"
)
PIECES = [
    *["Dr. Alice Baker", "Mr. Long", "Patient: ", "MARIA DELGADO", "delgado's", "Whitcomb", "James", "Ms. Jones'"],
    *["MRN: 4471902", "3 May 2019", "2019", "Friday", "92 years old", "58 yo", "Tulsa, OK 74104", "918-555-0142"],
    *["[NAME-1]", "NAME-1", "name-2", "[DATE-1: 2019]", "[OTHER-1]", "[[ID-1", "]", "1", "2", "'", "’", "“"],
]
TEXTS = st.lists(
    st.tuples(st.sampled_from([*PIECES, *PLAIN, *MARKUP, *HOSTILE]), st.sampled_from(["", " ", ", ", "\n"])),
    max_size=14,
).map(lambda parts: "".join(piece + glue for piece, glue in parts)) | st.text(max_size=40)


@pytest.mark.parametrize("policy", ["surrogate", "safe-harbor", "redact", "full"])
@settings(max_examples=40)
@given(texts=st.lists(TEXTS, min_size=1, max_size=3))
def test_every_text_comes_back_whatever_came_before_or_after_it(policy: str, texts: list[str]) -> None:
    session = deid.Session(policy=policy, **RULES)
    masked = [session.mask(text) for text in texts]
    assert [session.unmask(text) for text in masked] == texts


@settings(max_examples=150)
@given(
    text=st.lists(st.sampled_from([*"ab'’ \nsS-1:[]", "Ann", "ANN", "Lees", "NAME-1", "İ", "ſ", "ß"]), max_size=30).map(
        "".join
    ),
    borders=st.lists(st.integers(0, 30), max_size=8, unique=True).map(sorted),
    written=st.lists(
        st.sampled_from(["Ann", "Zoes", "ZOES", "Zoes Ann", "a", "NAME-1", "ab\nc", "Straße", ""]),
        min_size=4,
        max_size=4,
    ),
)
def test_whatever_a_policy_writes_can_be_undone(text: str, borders: list[int], written: list[str]) -> None:
    places = [(a, min(b, len(text))) for a, b in zip(borders[::2], borders[1::2], strict=False) if a < len(text)]
    pieces = [Piece(a, b, "PATIENT", w, natural=True) for (a, b), w in zip(places, written, strict=False)]
    known = Substitutes()
    masked = known.replace(text, pieces)
    assert known.restore(masked) == text
    again = known.replace(masked, [])  # what looks like a mark of ours is protected by another one
    assert known.restore(again) == masked
    assert known.restore(masked) == text


def test_a_surrogate_is_nothing_else_in_the_text() -> None:
    session = deid.Session(**RULES)
    masked = session.mask(NOTE)
    name = re.search(r"Patient: (\w+) (\w+)", masked)
    assert name
    given, family = name.groups()
    other = deid.Session(**RULES)
    text = f"{NOTE}The {family} drain was {given.lower()}.\n"
    out = other.mask(text)
    assert f"The {family} drain was {given.lower()}.\n" in out
    assert out.count(family) == 1
    assert "Patient: [NAME-1]" in out
    assert other.unmask(out) == text


@pytest.fixture
def talk() -> tuple[deid.Session, str, str]:
    session = deid.Session(**RULES)
    name = re.search(r"Patient: (\w+) (\w+)", session.mask(NOTE))
    assert name
    return session, name[1], name[2]


@pytest.mark.parametrize(
    ("answer", "unmasked"),
    [
        ("{given} {family}", "Maria Delgado"),
        ("{family}, {given}: see Mrs. {family}", "Delgado, Maria: see Mrs. Delgado"),
        ("{family}'s and {given}’s", "Delgado's and Maria’s"),
        ("{FAMILY}'S NOTE", "DELGADO'S NOTE"),
        ("{given}\n  {family}", "Maria Delgado"),
        ("({initial}. {family})", "(M. Delgado)"),
        ("{family}{family} {family}ism un{family}", "{family}{family} {family}ism un{family}"),
    ],
)
def test_answers_reorder_inflect_and_repeat(talk: tuple[deid.Session, str, str], answer: str, unmasked: str) -> None:
    session, given, family = talk
    words = {"given": given, "family": family, "FAMILY": family.upper(), "initial": given[0]}
    assert session.unmask(answer.format(**words)) == unmasked.format(**words)


@pytest.mark.parametrize(
    ("written", "answer", "original"),
    [
        ("ZOE RIVAS", "ZOE RIVAS", "MARIA DELGADO"),
        ("ZOE RIVAS", "Zoe Rivas", "Maria Delgado"),
        ("ZOE RIVAS", "zoe rivas", "maria delgado"),
        ("zoe rivas", "Zoe Rivas", "Maria Delgado"),
        ("Zoe Rivas", "ZOE RIVAS", "MARIA DELGADO"),
    ],
)
def test_an_original_has_the_case_of_the_answer(written: str, answer: str, original: str) -> None:
    said = "MARIA DELGADO" if written.isupper() else "maria delgado" if written.islower() else "Maria Delgado"
    known = Substitutes()
    known.replace(said, [Piece(0, len(said), "PATIENT", written, natural=True)])
    assert known.restore(f"Seen: {answer}.") == f"Seen: {original}."


def test_a_part_of_what_was_written_in_capitals_alone_is_written_as_it_was() -> None:
    known = Substitutes()
    known.replace("Maria Delgado", [Piece(0, 13, "PATIENT", "ZOE RIVAS", natural=True)])
    assert known.restore("RIVAS, that is ZOE\nRIVAS.") == "Delgado, that is Maria Delgado."


def test_a_later_text_that_says_what_stands_for_somebody_comes_back_as_it_was() -> None:
    known = Substitutes()
    first = known.replace("Maria Delgado came.", [Piece(0, 13, "PATIENT", "Zoe Rivas", natural=True)])
    assert first == "Zoe Rivas came."
    text = "At 1220 the ward said Zoe Rivas called, and again at 1305."
    numbers = [Piece(text.index(n), text.index(n) + 4, "IDNUM", new, natural=True) for n, new in
               (("1220", "98"), ("1305", "775512"))]  # fmt: skip
    for pieces in ([], numbers, numbers[:1], numbers[1:]):
        masked = known.replace(text, pieces)
        assert "Zoe Rivas" not in masked
        assert "the ward said [" in masked
        assert "] called, and again at " in masked
        assert known.restore(masked) == text
    assert known.restore(first) == "Maria Delgado came."


def test_a_text_that_nothing_else_protects_is_one_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Substitutes()
    known.replace("Maria Delgado came.", [Piece(0, 13, "PATIENT", "Zoe Rivas", natural=True)])
    monkeypatch.setattr("deid.pipeline.masking._protected", lambda pieces, *_: pieces)
    masked = known.replace("Zoe Rivas called.", [])
    assert masked == "[OTHER-1]"
    assert known.restore(masked) == "Zoe Rivas called."


def test_a_name_that_ends_in_s_keeps_its_possessive() -> None:
    known = Substitutes()
    masked = known.replace("Ann Baker came.", [Piece(0, 9, "PATIENT", "Zoe Rivas", natural=True)])
    assert masked == "Zoe Rivas came."
    for answer, restored in (
        ("Rivas' cough, Zoe Rivas’ age, 'by Rivas'", "Baker's cough, Ann Baker’s age, 'by Baker'"),
        ("‘seen by Rivas’, Rivas’ age", "‘seen by Baker’, Baker’s age"),
        ("RIVAS' COUGH", "BAKER'S COUGH"),
        ("Rivas'x", "Baker'x"),
        ("Rivas'x y", "Baker'x y"),
        ("Rivas's", "Baker's"),
    ):
        assert known.restore(answer) == restored
    other = Substitutes()
    other.replace("Ann Baker came.", [Piece(0, 9, "PATIENT", "Zoe D'Ars", natural=True)])
    for answer, restored in (("'seen by D'Ars'", "'seen by Baker'"), ("D'Ars' cough", "Baker's cough")):
        assert other.restore(answer) == restored


@pytest.mark.parametrize(
    ("original", "restored"),
    [("BO", "BO'S cough"), ("Bo", "Bo's cough"), ("JOE", "JOE'S cough"), ("J", "J's cough")],
)
def test_the_possessive_of_a_name_in_capitals_is_in_capitals(original: str, restored: str) -> None:
    known = Substitutes()
    written = "Rivas".upper() if original.isupper() else "Rivas"
    masked = known.replace(f"{original} came.", [Piece(0, len(original), "PATIENT", written, natural=True)])
    assert masked == f"{written} came."
    assert known.restore(f"{written}' cough") == restored


@pytest.mark.parametrize("behind", ["' came", "’ came", "'s came", "'", "' and 'Ann Baker'"])
@pytest.mark.parametrize("before", ["", "'", "‘", "seen by '"])
@pytest.mark.parametrize(
    ("original", "written"), [("Ann Baker", "Zoe Rivas"), ("Ann Davis", "Zoe Rivers"), ("ANN", "ZOES")]
)
def test_an_apostrophe_behind_a_name_comes_back_as_it_was(
    original: str, written: str, before: str, behind: str
) -> None:
    known, text = Substitutes(), f"{before}{original}{behind}."
    start = len(before)
    masked = known.replace(text, [Piece(start, start + len(original), "PATIENT", written, natural=True)])
    assert original not in masked.replace(behind, "")
    assert known.restore(masked) == text


def test_only_the_name_before_an_apostrophe_gets_a_mark() -> None:
    known, text = Substitutes(), "Ann Baker' saw Bob Orme."
    pieces = [Piece(0, 9, "PATIENT", "Zoe Rivas", natural=True), Piece(15, 23, "DOCTOR", "Tim Vale", natural=True)]
    masked = known.replace(text, pieces)
    assert masked == "[NAME-1]' saw Tim Vale."
    assert known.restore(masked) == text
    assert [one.written for one in known.since(0)] == ["[NAME-1]", "Tim Vale"]
    assert known.restore("Zoe Rivas") == "Zoe Rivas"  # which stood for nobody in the end


def test_a_name_that_had_a_surrogate_keeps_the_mark_that_an_apostrophe_made_it_need() -> None:
    known = Substitutes()
    piece = Piece(0, 9, "PATIENT", "Zoe Rivas", natural=True)
    texts = ["Ann Baker came.", "Ann Baker' came.", "Ann Baker' left.", "Ann Baker stayed."]
    masked = [known.replace(text, [piece]) for text in texts]
    assert masked == ["Zoe Rivas came.", "[NAME-1]' came.", "[NAME-1]' left.", "[NAME-1] stayed."]
    assert [known.restore(text) for text in masked] == texts


def test_marks_are_found_as_models_write_them() -> None:
    session = deid.Session(policy="safe-harbor", **RULES)
    assert session.mask("Seen by Dr. Alice Baker on 3 May 2019.") == "Seen by Dr. [NAME-1] on [DATE-1: 2019]."
    answer = "**NAME-1** ([name-1]'s note of [DATE-1]): [DATE-1: in 2019]; NAME-12, [NAME-2], filename-1"
    assert session.unmask(answer) == (
        "**Alice Baker** (Alice Baker's note of 3 May 2019): 3 May 2019; NAME-12, [NAME-2], filename-1"
    )


@pytest.mark.parametrize(
    "query",
    [
        "45 yo male with chest pain since 2019",
        "statins at age 89?",
        "guidelines of 2021 for a 7-year-old",
        "what changed between the 2017 and 2023 hypertension guidelines",
        "88-year-old with hip fracture in 2020, anticoagulation?",
    ],
)
def test_a_short_query_keeps_ages_and_plain_years(query: str) -> None:
    assert deid.Session(policy="safe-harbor").mask(query) == query


@pytest.mark.parametrize(
    ("text", "span", "expected"),
    [
        ("guidelines of 2021", Span(0, 18, "DATE"), [("2021", "DATE")]),
        ("the 7-year visit", Span(4, 10, "DATE", also=("AGE",)), [("7", "AGE")]),
        ("the 7-year visit", Span(4, 10, "AGE"), [("7", "AGE")]),
        ("the 7-year visit", Span(4, 10, "DATE"), [("7-year", "DATE")]),
        ("is 1987 years", Span(3, 13, "AGE"), [("1987 years", "AGE")]),
        ("on 7 May", Span(3, 8, "DATE"), [("7 May", "DATE")]),
        ("by Monday of 2021", Span(3, 17, "DATE"), [("Monday of 2021", "DATE")]),
        ("in may of 2021", Span(3, 14, "DATE"), [("may of 2021", "DATE")]),
        ("room of 2021", Span(0, 12, "ID"), [("room of 2021", "ID")]),
        ("from 2019 to 2021", Span(0, 17, "DATE"), [("from 2019 to 2021", "DATE")]),
    ],
)
def test_the_small_words_around_a_year_or_an_age_stay(text: str, span: Span, expected: list[tuple[str, str]]) -> None:
    found = narrowed(text, [span], "en")
    assert [(text[own.start : own.end], own.category) for own in found] == expected


@pytest.mark.parametrize(
    ("query", "masked"),
    [
        ("is 7 May 2021 too late for a 95-year-old?", "is [DATE-1: 2021] too late for a [AGE-1: 90+]-year-old?"),
        ("John Smith, 97 yo, born in 1927", "[NAME-1], [AGE-1: 90+] yo, born in [DATE-1]"),
    ],
)
def test_what_safe_harbor_lists_goes_out_of_a_short_query_too(query: str, masked: str) -> None:
    session = deid.Session(policy="safe-harbor")
    assert session.mask(query) == masked
    assert session.unmask(masked) == query


def test_there_is_nothing_to_mask_by_in_a_text_without_annotations() -> None:
    with pytest.raises(ConfigError):
        deid.Session(gold=True)


def test_a_surrogate_is_the_one_that_scrub_writes() -> None:
    assert deid.Session(**RULES).mask(NOTE).partition("MRN")[0] == deid.scrub(NOTE, **RULES).partition("MRN")[0]


def test_the_map_is_in_no_text_and_in_no_repr() -> None:
    session = deid.Session(**RULES)
    masked = session.mask(NOTE)
    for word in ("Delgado", "Maria", "4471902", "Whitcomb"):
        assert word not in masked + repr(session) + repr(vars(session)["_substitutes"])


def test_a_session_goes_on_out_of_its_vault_and_leaves_a_trail(tmp_path: Path) -> None:
    with Vault.create(tmp_path / "v.db", KEY, who="tester") as vault:
        asked = {"vault": vault, "who": "Dr. Entitled", "why": "second opinion"}
        session = deid.Session(**RULES, **asked)
        masked = session.mask(NOTE)
        later = deid.Session(id=session.id, **RULES, **asked)
        assert later.unmask(masked) == NOTE
        assert later.mask(NOTE) == masked
        assert deid.Session(**RULES, **asked).unmask(masked) == masked  # another session's
        trail = [(line.action, line.who, line.why) for line in vault.audit()]
        assert trail[1:] == [("reidentify", "Dr. Entitled", "second opinion")] * 3
        assert vault.verify().entries > 4
        entries = vault.scoped(f"session:{session.id}", who="me", why="to see")
        assert entries
        assert all(map(is_of_session, entries))
        assert not is_of_session(Entry("patient:1", "PATIENT", "session: one", "session: two"))
        with pytest.raises(ConfigError):
            deid.Session(vault=vault, **RULES).unmask(masked)


def masked(text: str, *pieces: tuple[str, str, str, bool, bool]) -> str:
    """Mask words of a text: each with its category, surrogate, and whether that is natural or a remainder."""
    known = Substitutes()
    out = known.replace(text, [Piece(text.index(w), text.index(w) + len(w), *more) for w, *more in pieces])
    assert known.restore(out) == text
    return out


def test_what_a_policy_leaves_of_an_original_is_shown_in_its_mark() -> None:
    session = deid.Session(policy="safe-harbor", **RULES)
    assert re.search(r"\[LOCATION-1: 021\*\*\]", session.mask("She lives in Boston, MA 02139."), re.I) or re.search(
        r": 021\*\*\]", session.mask("She lives in Boston, MA 02139.")
    )
    assert masked("Seen 3 May 2019.", ("3 May 2019", "DATE", "2019", False, True)) == "Seen [DATE-1: 2019]."
    assert masked("Seen 3 May 2019.", ("3 May 2019", "DATE", "2019", False, False)) == "Seen [DATE-1]."
    assert masked("Seen 3 May 2019.", ("3 May 2019", "DATE", "[2019]", False, True)) == "Seen [DATE-1]."


def test_a_surrogate_stands_for_its_original_only_where_it_can_be_told_from_all_else() -> None:
    name = ("Quill", "DOCTOR")
    assert masked("Dr. Quill came.", (*name, "Ostrava", True, False)) == "Dr. Ostrava came."
    for ordinary in ("the", "Pain", "[x]", "[Ostrava]", "the pain", "was seen"):
        assert masked("Dr. Quill came.", (*name, ordinary, True, False)) == "Dr. [NAME-1] came."
    assert masked("Dr. Quill came.", (*name, "Ostrava Pain", True, False)) == "Dr. Ostrava Pain came."
    for number, written in (("91234", "91234"), ("9123", "[ID-1]")):
        assert masked("MRN 47119.", ("47119", "MEDICALRECORD", number, True, False)) == f"MRN {written}."
    assert masked("Bad Ostrava", ("Bad Ostrava", "CITY", "Ostrava Bad", True, False)) == "[LOCATION-1]"
    # it stands in the text already, or for somebody else
    assert masked("Dr. Quill saw ostrava.", (*name, "Ostrava", True, False)) == "Dr. [NAME-1] saw ostrava."
    other = ("Harrow", "DOCTOR", "Ostrava", True, False)
    assert (
        masked("Dr. Quill and Dr. Harrow.", (*name, "Ostrava", True, False), other) == "Dr. Ostrava and Dr. [NAME-1]."
    )
    two = (("Ann Quill", "DOCTOR", "Nadja Ostrava", True, False), ("Bo Harrow", "DOCTOR", "Petra Ostrava", True, False))
    assert masked("Ann Quill and Bo Harrow.", *two) == "Nadja Ostrava and [NAME-1]."


def test_sessions_have_different_ids() -> None:
    one, other = deid.Session(**RULES).id, deid.Session(**RULES).id
    assert one != other
    assert re.fullmatch(r"[0-9a-f]{32}", one)
    assert deid.Session(id="mine", **RULES).id == "mine"


def test_marks_are_numbered_through_and_none_is_what_a_text_says_already() -> None:
    name = ("DOCTOR", "the", False, False)
    assert masked("Ann saw Bo.", ("Ann", *name), ("Bo", *name)) == "[NAME-1] saw [NAME-2]."
    assert masked("Ann, name 1, saw Bo.", ("Ann", *name), ("Bo", *name)) == "[NAME-2], name 1, saw [NAME-3]."
    assert masked("Ann, name 12, saw Bo.", ("Ann", *name), ("Bo", *name)) == "[NAME-1], name 12, saw [NAME-2]."
    assert masked("Ann, no. 1, saw Bo.", ("Ann", *name), ("Bo", *name)) == "[NAME-1], no. 1, saw [NAME-2]."
    assert masked("Ann on 3 May.", ("Ann", *name), ("3 May", "DATE", "", False, False)) == "[NAME-1] on [DATE-1]."


@pytest.mark.parametrize(
    ("text", "written", "out"),
    [
        ("Mary Jane Orme came", "Zoe Ada Rivas", "Zoe Ada Rivas came"),
        ("Mary Orme came", "Rivas, Zoe", "Rivas, Zoe came"),
        ("Orme came", "Zoe Rivas", "Zoe Rivas came"),
    ],
)
def test_parts_of_a_name_stand_for_those_of_the_original_where_both_have_as_many(
    text: str, written: str, out: str
) -> None:
    known, original = Substitutes(), text.removesuffix(" came")
    assert known.replace(text, [Piece(0, len(original), "PATIENT", written, natural=True)]) == out
    new, old = written.replace(",", "").split(), original.split()
    for a, b in zip(new, old, strict=False):
        assert known.restore(f"then {a} left") == (f"then {b} left" if len(new) == len(old) else f"then {a} left")
    initial = known.restore(f"{new[0][0]}. {new[-1]} left")
    both = len(new) == len(old) and "," not in written
    assert initial.startswith(f"{old[0][0]}. {old[-1]}") is both


@pytest.mark.parametrize(
    ("kind", "written", "natural"),
    [
        ("IDNUM", "4711a", False),
        ("IDNUM", "47115", True),
        ("DATE", "May", False),
        ("DATE", "May 2051", False),
        ("CITY", "Ostrava", True),
        ("CITY", "ostrava", True),
        ("CITY", "pain", False),
        ("CITY", "Friday", False),
        ("CITY", "the Ostrava", True),
        ("CITY", "", False),
    ],
)
def test_what_may_stand_in_any_text_stands_for_nothing(kind: str, written: str, natural: bool) -> None:
    out = masked("Quill came.", ("Quill", kind, written, True, False))
    assert (out == f"{written} came.") is natural
    assert natural or re.fullmatch(r"\[[A-Z]+-1\] came\.", out)


@pytest.mark.parametrize(
    ("text", "span", "expected"),
    [
        ("a 99-year visit", Span(2, 9, "AGE"), "99"),
        ("a 100-year visit", Span(2, 10, "AGE"), "100-year"),
        ("guide of 1899", Span(0, 13, "DATE"), "guide of 1899"),
        ("guide of 2099", Span(0, 13, "DATE"), "2099"),
        ("guide of 2021", Span(0, 13, "DATE", also=("AGE",)), "guide of 2021"),
        ("Guide of 2021", Span(0, 13, "DATE"), "Guide of 2021"),
        ("quorl of 2021", Span(0, 13, "DATE"), "quorl of 2021"),
        ("guide of 2021", Span(9, 13, "DATE"), "2021"),
        ("a 2021", Span(0, 6, "DATE"), "a 2021"),
    ],
)
def test_which_words_beside_a_number_are_none_of_it(text: str, span: Span, expected: str) -> None:
    (found,) = narrowed(text, [span], "en")
    assert text[found.start : found.end] == expected
