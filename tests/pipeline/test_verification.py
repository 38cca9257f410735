"""Checking scrubbed files: every way to break the promise is found, and named without text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes import WordRecognizer

from deid.base.errors import EncodingError, OutputError
from deid.base.keys import Key
from deid.document import Document, Span
from deid.io import scan
from deid.pipeline import Pipeline, Settings, scrub_files, verify_files
from deid.pipeline.naming import pseudonym_of_id
from deid.pipeline.verification import verify_document
from deid.replacement.policy import load_policy

KEY = Key(b"k" * 32)
TEXT = "Zebulon Quartermain of Ulan Bator was seen on 1/2/2003.\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    for name in ("n1", "sub/n2", "sub/n3"):
        path = tmp_path / "notes" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}: {TEXT}")
    return tmp_path / "notes"


def scrub(source: Path, policy: str = "redact", log: bool = True) -> tuple[Path, Path]:
    out, edits = source.parent / "out", source.parent / "edits.jsonl"
    pipeline = Pipeline(WordRecognizer(), load_policy(policy), KEY)
    scrub_files(scan(source), out, pipeline, edit_log=edits if log else None)
    return out, edits


def test_a_good_run_passes_with_and_without_log(notes: Path) -> None:
    out, edits = scrub(notes)
    by_log = verify_files(scan(notes), scan(out), key=KEY, edit_log=edits)
    assert (by_log.documents, by_log.failures, by_log.aligned) == (3, [], {"edit log": 3})
    assert by_log.categories == {"PATIENT": 3, "CITY": 3, "DATE": 3}
    compared = verify_files(scan(notes), scan(out), key=KEY, recognizer=WordRecognizer())
    assert (compared.documents, compared.failures, compared.aligned) == (3, [], {"detection": 3})
    compared = verify_files(scan(notes), scan(out), key=KEY)
    assert (compared.documents, compared.failures, compared.aligned) == (3, [], {"comparison": 3})


@pytest.mark.parametrize("with_log", [True, False])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("was seen on", "was not seen on"),
        ("[NAME]", "Zebulon"),
        ("[NAME]", "Zebulon Quartermain"),
        ("[LOCATION]", "[Ulan Bator]"),
    ],
)
def test_a_broken_note_is_found(notes: Path, with_log: bool, old: str, new: str) -> None:
    out, edits = scrub(notes)
    victim = sorted(out.rglob("*.txt"))[0]
    victim.write_text(victim.read_text().replace(old, new))
    result = verify_files(
        scan(notes), scan(out), key=KEY, edit_log=edits if with_log else None, recognizer=WordRecognizer()
    )
    assert len(result.failures) == 1
    shown = f"{result.failures[0]} {result.failures[0].error}"
    assert not any(word in shown for word in ("Zebulon", "Quartermain", "Ulan", "Bator"))


def test_missing_and_extra_notes_are_found(notes: Path) -> None:
    out, edits = scrub(notes)
    sorted(out.rglob("*.txt"))[0].rename(out / "Quartermain.txt")
    result = verify_files(scan(notes), scan(out), key=KEY, edit_log=edits)
    assert result.documents == 2
    assert sorted(str(f.error) for f in result.failures)[0].startswith("***.txt: it has no original") or any(
        "no original" in str(f.error) for f in result.failures
    )
    assert any("no scrubbed counterpart" in str(f.error) for f in result.failures)
    assert not any("Quartermain" in str(f.error) + f.name for f in result.failures)


def test_a_scrubbed_note_that_cannot_be_read_is_told_with_the_reason(notes: Path) -> None:
    out, edits = scrub(notes)
    sorted(out.rglob("*.txt"))[0].write_bytes(b"\xff\xfe\x00\x01 damaged")
    result = verify_files(scan(notes), scan(out), key=KEY, edit_log=edits)
    assert result.documents == 2
    (failure,) = result.failures
    assert isinstance(failure.error, EncodingError)
    assert "utf-8" in str(failure.error)


def test_a_note_that_was_read_in_another_encoding_does_not_pass() -> None:
    """Its names are not found: those of JosÃ© MuÃ±oz stand in it as they were."""
    misread = "Visto por el doctor José Muñoz Núñez, de Cádiz, por su hipertensión.".encode().decode("cp1252")
    assert verify_document(Document("n", TEXT), Document("n", TEXT))[0] == []
    with pytest.raises(OutputError, match="read as another encoding"):
        verify_document(Document("n", misread), Document("n", misread))


def test_another_key_finds_no_counterparts(notes: Path) -> None:
    out, _ = scrub(notes)
    result = verify_files(scan(notes), scan(out), key=Key(b"o" * 32))
    assert result.documents == 0
    assert len(result.failures) == 6


def test_what_a_policy_lets_stay_passes_only_under_that_policy() -> None:
    original = Document("d", "aged 45 in 2003", (Span(5, 7, "AGE"), Span(11, 15, "DATE")))
    with pytest.raises(OutputError, match="category AGE still holds"):
        verify_document(original, original)
    verify_document(original, original, policy=load_policy("safe-harbor"))


def test_what_is_kept_by_a_policy_is_not_looked_for_again() -> None:
    original = Document("d", "Ulan Bator, 1/2/2003")
    with pytest.raises(OutputError, match="category CITY still holds"):
        verify_document(original, original, recognizer=WordRecognizer())
    verify_document(original, original, recognizer=WordRecognizer(), policy=load_policy("limited-data-set"))


def test_single_files_are_paired_whatever_they_are_called(tmp_path: Path) -> None:
    note, out = tmp_path / "Quartermain.txt", tmp_path / "clean.txt"
    note.write_text(TEXT)
    pipeline = Pipeline(WordRecognizer(), load_policy("redact"), KEY)
    scrub_files(scan(note), out, pipeline, edit_log=tmp_path / "e.jsonl")
    result = verify_files(scan(note), scan(out), key=KEY, edit_log=tmp_path / "e.jsonl")
    assert (result.documents, result.failures) == (1, [])


def test_each_scrubbed_record_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    good = json.dumps({"id": "1", "text": "Seen today."}) + "\n"
    (tmp_path / "in.jsonl").write_text(good)
    (tmp_path / "out.jsonl").write_text(f"no json\n{good}nor this\n")
    result = verify_files(scan(tmp_path / "in.jsonl"), scan(tmp_path / "out.jsonl"))
    assert (result.documents, len(result.failures)) == (1, 2)
    assert len({failure.path for failure in result.failures}) == 2
    assert all("it has no original" in str(failure.error) for failure in result.failures)


def test_annotated_records_are_aligned_by_their_annotations(tmp_path: Path) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text(
        '{"id": "a", "text": "Mr. Smith saw Al.", "spans": [{"start": 4, "end": 9, "label": "PATIENT"}, '
        '{"start": 14, "end": 16, "label": "DOCTOR"}]}\n'
    )
    scrub_files(scan(source), out, Pipeline(None, load_policy("tag"), KEY, Settings(gold=True)))
    result = verify_files(scan(source), scan(out), key=KEY)
    assert result.aligned == {"annotations": 1}
    assert result.failures == []
    out.write_text(out.read_text().replace("saw", "met"))
    assert len(verify_files(scan(source), scan(out), key=KEY).failures) == 1


def test_surrogates_that_share_words_with_their_originals_pass_when_the_spans_are_found(tmp_path: Path) -> None:
    """A comparison alone takes the second half of a longer surrogate for something new."""
    original = Document("d", "Dr. Ulan Bator slept.")
    scrubbed = Document("d", "Dr. Santa Ulan Maria slept.")
    verify_document(original, scrubbed, recognizer=WordRecognizer())
    with pytest.raises(OutputError):
        verify_document(original, scrubbed)


@pytest.mark.parametrize(
    "seen",
    [
        "[NAME] Quartermain",  # the family name was left
        "Zebulon [NAME]",  # the given name was left
        "Zebulon [NAME]ain",
        "Zebulon Quartermain",  # the name was not touched
    ],
)
@pytest.mark.parametrize("ward", ["7b", "[ROOM]"])  # as it was, or replaced without being found by this recognizer
def test_what_is_left_of_a_name_is_found_without_log_and_annotations(seen: str, ward: str, tmp_path: Path) -> None:
    """Half a name is a leak: the other half of it may not count as text that stays."""
    original = Document("d", "Ward 7b. Seen: Zebulon Quartermain today. Called Ulan Bator.")
    scrubbed = f"Ward {ward}. Seen: {seen} today. Called Ulan Bator."
    policy = load_policy("limited-data-set")  # cities stay
    with pytest.raises(OutputError, match="of category PATIENT"):
        verify_document(original, Document("d", scrubbed), recognizer=WordRecognizer(), policy=policy)
    before, after = tmp_path / "before.txt", tmp_path / "after.txt"
    before.write_text(original.text)
    after.write_text(scrubbed)
    result = verify_files(scan(before), scan(after), policy=policy, recognizer=WordRecognizer())
    assert (result.documents, len(result.failures)) == (0, 1)
    whole = Document("d", scrubbed.replace(seen, "[NAME]"))
    verify_document(original, whole, recognizer=WordRecognizer(), policy=policy)


@pytest.mark.parametrize("ward", ["7b", "[ROOM]"])
@pytest.mark.parametrize("rest", ["Mr.", "Dr.", "J.", "van", "Nurse"])
def test_titles_initials_and_particles_may_stand_beside_a_replaced_name(rest: str, ward: str) -> None:
    class Found:
        name, categories = "found", frozenset({"PATIENT"})

        def find(self, document: Document) -> list[Span]:
            return [Span(15, 15 + len(rest) + 1 + len("Quartermain"), "PATIENT")]

    original = Document("d", f"Ward 7b. Seen: {rest} Quartermain today.")
    verify_document(original, Document("d", f"Ward {ward}. Seen: {rest} [NAME] today."), recognizer=Found())


def test_what_the_policy_lets_stay_hides_nothing_behind_it() -> None:
    """A date that may stay comes first; the name behind it is looked for all the same."""
    policy = load_policy("limited-data-set")
    text = "On 1/2/2003 came Zebulon Quartermain; on 3/4/2003 he left."
    assert policy.may_repeat("DATE")
    assert not policy.may_repeat("PATIENT")
    with pytest.raises(OutputError, match="PATIENT"):
        verify_document(Document("d", text), Document("d", text), policy=policy, recognizer=WordRecognizer())
    done = text.replace("Zebulon Quartermain", "[NAME]")
    verify_document(Document("d", text), Document("d", done), policy=policy, recognizer=WordRecognizer())


def test_a_log_of_other_notes_proves_nothing(notes: Path) -> None:
    """A note that has grown since, and one that the log lacks."""
    out, edits = scrub(notes)
    lines = edits.read_text().splitlines(keepends=True)
    (notes / "n1.txt").write_text((notes / "n1.txt").read_text() + "Seen again.\n")
    edits.write_text("".join(line for line in lines if pseudonym_of_id(KEY, "sub/n2") not in line))
    result = verify_files(scan(notes), scan(out), key=KEY, edit_log=edits)
    assert len(lines) == 3
    assert result.documents == 1
    told = sorted(str(failure.error) for failure in result.failures)
    assert sum("belongs to another version of the original" in text for text in told) == 1
    assert sum("the edit log does not have it" in text for text in told) == 1


RECORD = {"resourceType": "Patient", "id": "zq-4711203", "gender": "female", "birthDate": "1931-05-06",
          "name": [{"family": "Quartermain", "given": ["Zebulon"]}]}  # fmt: skip


def verified(tmp_path: Path, change: tuple[str, str], policy: str = "surrogate") -> list[str]:
    """Return what is wrong with a scrubbed record in which something was changed."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "p.json").write_text(json.dumps(RECORD))
    scrub_files(scan(tmp_path / "in"), tmp_path / "out", Pipeline(WordRecognizer(), load_policy(policy), KEY))
    (path,) = (tmp_path / "out").iterdir()
    made = json.loads(path.read_text())
    path.write_text(path.read_text().replace(change[0].format(**made), change[1]))
    result = verify_files(scan(tmp_path / "in"), scan(tmp_path / "out"), key=KEY, policy=load_policy(policy))
    return [str(failure.error) for failure in result.failures]


def test_a_scrubbed_record_passes(tmp_path: Path) -> None:
    assert verified(tmp_path, ("{id}", "another-1")) == []


def test_a_record_that_has_its_id_still_is_found(tmp_path: Path) -> None:
    (told,) = verified(tmp_path, ("{id}", RECORD["id"]))  # type: ignore[arg-type]
    assert "the record still has an id of the original" in told
    assert "4711203" not in told


def test_the_text_of_a_record_is_checked_by_its_edit_log(tmp_path: Path) -> None:
    """Without one a surrogate may look added, and any other word replaced."""
    source = tmp_path / "in"
    source.mkdir()
    (source / "c.json").write_text(json.dumps({"resourceType": "Condition", "id": "c", "note": [{"text": TEXT}]}))
    out, edits = scrub(source, "surrogate")
    told = verify_files(scan(source), scan(out), key=KEY, edit_log=edits)
    assert (told.failures, dict(told.aligned)) == ([], {"edit log": 1})
    (path,) = out.iterdir()
    path.write_text(path.read_text().replace("seen", "well"))
    (failure,) = verify_files(scan(source), scan(out), key=KEY, edit_log=edits).failures
    assert "the text outside the replaced stretches differs" in str(failure.error)


def test_the_edit_log_of_a_record_names_the_place_of_each_edit(tmp_path: Path) -> None:
    texts = {
        "text": {"status": "generated", "div": f"<div>Seen: {TEXT}</div>"},
        "contact": [{"name": {"text": "Ulan Bator"}}],
    }
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "p.json").write_text(json.dumps(RECORD | texts))
    _, edits = scrub(tmp_path / "in", "surrogate")
    (original,) = scan(tmp_path / "in").documents()
    assert isinstance(original, Document)
    assert original.record is not None
    held = {place.path: place.text for place in reversed(original.record.places)}  # the first place of each path
    line = json.loads(edits.read_text())
    assert len({path for path, _ in line["places"]}) > 2
    for (start, end, *_), (path, offset) in zip(line["edits"], line["places"], strict=True):
        assert held[path][offset:].startswith(original.text[start:end].partition("^")[0])


def test_a_record_that_differs_elsewhere_is_found(tmp_path: Path) -> None:
    (told,) = verified(tmp_path, ('"female"', '"male"'))
    assert "differs outside of what was replaced" in told


def test_a_record_that_has_become_something_else_is_found(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps(RECORD))
    (original,) = scan(tmp_path / "p.json").documents()
    assert isinstance(original, Document)
    with pytest.raises(OutputError, match="differs outside of what was replaced"):
        verify_document(original, Document("p", "Seen by [NAME]."))


@pytest.mark.parametrize(
    ("original", "scrubbed", "left"),
    [
        ("1/2/2003Quartermain came", "[DATE][NAME] came", ""),
        ("1/2/2003Quartermain came", "1/2/2003[NAME] came", "DATE"),
        ("Quartermain1/2/2003 came", "[NAME]1/2/2003 came", "DATE"),
        ("Quartermain1/2/2003 came", "Quartermain[DATE] came", "PATIENT"),
        ("Ulan Bator Quartermain came", "Ulan Bator [NAME] came", "CITY"),
        ("Quartermain Ulan Bator came", "[NAME] Ulan Bator came", "CITY"),
        ("Quartermain Ulan Bator came", "Quartermain [LOCATION] came", "PATIENT"),
        ("Quartermain Ulan Bator came", "[NAME] Khan Bogd came", ""),
        ("1/2/2003 Quartermain Ulan Bator", "1/2/2003 Orme Khan Bogd", "DATE"),
        ("1/2/2003 Quartermain Ulan Bator", "3/4/2003 Orme Khan Bogd", ""),
        # another word is replaced, too, and texts are compared
        ("(617)Quartermain came home", "(617)[NAME] came [X]", "PHONE"),
        ("(617)Quartermain came home", "[PHONE][NAME] came [X]", ""),
    ],
)
def test_what_is_left_beside_a_replacement_is_found_though_nothing_stands_between(
    original: str, scrubbed: str, left: str
) -> None:
    words = (("Quartermain", "PATIENT"), (r"\d/\d/\d{4}", "DATE"), ("Ulan Bator", "CITY"), (r"\(617\)", "PHONE"))
    recognizer = WordRecognizer(words=words)
    notes = Document("n", original), Document("n", scrubbed)
    if not left:
        verify_document(*notes, recognizer=recognizer)
        return
    with pytest.raises(OutputError, match=f"of category {left}"):
        verify_document(*notes, recognizer=recognizer)
