"""Surrogate names that are names of real people of the notes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from deid import io
from deid.base.errors import DetectionError
from deid.base.keys import Key
from deid.detection.known import Known
from deid.document import Document, Span
from deid.io import scan
from deid.pipeline import Pipeline, Report, Settings, scrub_files
from deid.pipeline.collisions import Collisions
from deid.pipeline.known_people import KnownPeople
from deid.pipeline.patients import Patients
from deid.reading.identity import parse_name
from deid.replacement.names import full_name_key
from deid.replacement.policy import load_policy
from deid.replacement.scope import Scope, Written
from deid.replacement.surrogates import SurrogateOperator
from deid.replacement.vault import Entry, Vault

KEY = Key(b"a key of the tests")


def note(name: str, patient: str, person: str) -> Document:
    text = f"Seen: {person}."
    return Document(name, text, (Span(6, 6 + len(person), "PATIENT"),), {"who": patient})


def pipeline(known: KnownPeople | None = None) -> Pipeline:
    settings = Settings(gold=True, keep_id=True, patients=Patients(field_name="who"), known=known, originals=True)
    return Pipeline(None, load_policy("surrogate"), KEY, settings)


def surrogate(document: Document, known: KnownPeople | None = None) -> str:
    return pipeline(known)(document).document.text.removeprefix("Seen: ").removesuffix(".")


MILLER = note("a", "3", "Robert Miller")
USUAL = surrogate(MILLER)


def named(patient: str, name: str) -> KnownPeople:
    return KnownPeople({patient: (Known("PATIENT", name),)})


Scrub = Callable[..., tuple[list[str], Report]]


@pytest.fixture
def scrub(tmp_path: Path) -> Scrub:
    """Return a function that scrubs documents, with a vault that holds entries if there are any."""
    count = iter(range(100))

    def run(documents: list[Document], entries: list[Entry] | None = None, jobs: int = 1) -> tuple[list[str], Report]:
        folder = tmp_path / str(next(count))
        folder.mkdir()
        io.write(documents, folder / "in.jsonl", "jsonl")
        vault = None
        if entries is not None:
            vault = Vault.create(folder / "v.db", KEY, who="test")
            vault.record_all(entries)
        report = scrub_files(scan(folder / "in.jsonl"), folder / "out.jsonl", pipeline(), jobs=jobs, vault=vault)
        assert not report.failures
        texts = [d.text for d in io.read(folder / "out.jsonl") if isinstance(d, Document)]
        return [text.removeprefix("Seen: ").removesuffix(".") for text in texts], report

    return run


def test_nobody_gets_the_name_of_a_known_patient() -> None:
    known = named("2", USUAL)
    new = surrogate(MILLER, known)
    assert full_name_key(parse_name(new)) != full_name_key(parse_name(USUAL))
    assert new[0] == USUAL[0]
    assert new.split()[1] == USUAL.split()[1]
    inverted = surrogate(note("b", "3", "MILLER, BOB"), known)
    assert inverted == f"{new.split()[1]}, {new.split()[0]}".upper()


def test_names_of_the_own_patient_are_avoided_in_all_documents() -> None:
    """A word that only another document holds is avoided here too, and is no collision."""
    family = USUAL.split()[1]
    known = named("3", f"Ann {family}")
    both = Document(
        "a", f"{MILLER.text} {family}", (*MILLER.spans, Span(21, 21 + len(family), "DOCTOR")), MILLER.metadata
    )
    assert family not in surrogate(MILLER, known)
    assert surrogate(MILLER, known) == pipeline(known)(both).document.text.split(".")[0].removeprefix("Seen: ")
    assert pipeline(known)(both).collisions == 0
    assert pipeline()(both).collisions == 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_vaults_originals_are_no_surrogates(scrub: Scrub, jobs: int) -> None:
    given, family = USUAL.split()
    others = [Entry("patient:2", "PATIENT", f"{family.upper()},  {given.upper()}", "x")]
    (new,), report = scrub([MILLER], others, jobs)
    assert new != USUAL
    assert new.split()[1] == family
    assert report.shared_names == 0
    assert scrub([note("z", "3", "Bob Miller")], others)[0] == [new]


def test_what_a_patient_was_called_stays(scrub: Scrub) -> None:
    entries = [Entry("patient:2", "PATIENT", USUAL, "x"), Entry("patient:3", "PATIENT", "Robert Miller", USUAL)]
    texts, report = scrub([MILLER], entries)
    assert texts == [USUAL]
    assert report.shared_names == 1


def test_the_order_of_the_input_decides_not_the_number_of_processes(scrub: Scrub) -> None:
    documents = [note("b", "2", USUAL), MILLER, note("c", "3", "Bob Miller")]
    first, report = scrub(documents, [])
    assert scrub(documents, [], jobs=2)[0] == first
    assert USUAL not in first
    assert report.shared_names == 0
    # met the other way round, the first patient has the name already, and keeps it
    assert scrub([MILLER, note("b", "2", USUAL), note("c", "3", "Bob Miller")], [])[0][::2] == [USUAL, USUAL]


def test_a_document_that_cannot_be_made_otherwise_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    io.write([MILLER, note("b", "2", "Ann Fairbanks")], tmp_path / "in.jsonl", "jsonl")
    vault = Vault.create(tmp_path / "v.db", KEY, who="test")
    vault.record_all([Entry("patient:2", "PATIENT", USUAL, "x")])

    operate = SurrogateOperator.__call__

    def used_up(self: SurrogateOperator, document: Document, spans: Sequence[Span], scope: Scope) -> Written:
        if scope.people:
            raise DetectionError("the surrogates for names of one document are used up", "split it")
        return operate(self, document, spans, scope)

    monkeypatch.setattr(SurrogateOperator, "__call__", used_up)
    report = scrub_files(scan(tmp_path / "in.jsonl"), tmp_path / "out.jsonl", pipeline(), vault=vault)
    assert (report.documents, len(report.failures)) == (1, 1)
    assert "Miller" not in str(report.failures[0].error)


def test_where_every_name_is_somebodys_the_one_that_stays_is_counted() -> None:
    class Everybody:
        def originals_among(self, texts: Iterable[str]) -> set[str]:
            return set(texts)

        def surrogates_among(self, scope: str, texts: Iterable[str]) -> set[str]:
            return set()

    collisions = Collisions(pipeline(), Everybody())  # type: ignore[arg-type]
    result = collisions.settle(MILLER, pipeline()(MILLER))
    assert "Miller" not in result.document.text
    assert collisions.names == 1


def test_without_table_and_vault_shared_names_are_counted(scrub: Scrub) -> None:
    assert scrub([MILLER, note("b", "2", USUAL)])[1].shared_names == 1
    assert scrub([MILLER])[1].shared_names == 0


def test_words_that_got_other_surrogates_are_summed_over_documents() -> None:
    collisions = Collisions(pipeline(), None)
    for words in (2, 0, 3):
        collisions.count(dataclasses.replace(pipeline()(MILLER), collisions=words))
    assert (collisions.words, collisions.names) == (5, 0)
    result = pipeline()(MILLER)
    assert collisions.settle(MILLER, result) == result  # no vault knows of anybody
