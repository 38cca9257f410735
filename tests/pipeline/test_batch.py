"""Scrubbing and tagging files and folders: what is written where, and what never is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes import WordRecognizer

from deid.base.errors import ConfigError, OutputError, TakenError
from deid.base.keys import Key
from deid.base.list_lines import list_line
from deid.base.safe_names import safe_name
from deid.detection.site_lists import Effect, SiteLists, Term
from deid.document import Document, Span
from deid.io import FORMATS, Options, read, scan, write
from deid.io.formats import ReadingOptions
from deid.pipeline import Pipeline, Report, Settings, scrub_files, tag_files
from deid.pipeline.batch import telling
from deid.pipeline.edit_log import read_edit_log
from deid.pipeline.facts import inputs_of
from deid.pipeline.files import fitted, tagged_options
from deid.pipeline.known_people import People
from deid.pipeline.naming import pseudonym_of_id
from deid.pipeline.patients import Patients
from deid.pipeline.resuming import select_files
from deid.replacement.policy import load_policy

KEY = Key(b"k" * 32)
TEXT = "Zebulon Quartermain of Ulan Bator was seen on 1/2/2003.\n"
CLEAN = "[NAME] of [LOCATION] was seen on [DATE].\n"


def scrub(source: Path, target: Path, *, policy: str = "redact", jobs: int = 1, **settings: object) -> Report:
    gold = bool(settings.get("gold"))
    pipeline = Pipeline(None if gold else WordRecognizer(), load_policy(policy), KEY, Settings(**settings))  # type: ignore[arg-type]
    log = target.parent / "edits.jsonl"
    return scrub_files(scan(source), target, pipeline, jobs=jobs, edit_log=log)


def everything(folder: Path) -> str:
    """Return all names and contents below a folder, and a file beside it."""
    parts = []
    for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
        parts.append(path.name)
        if path.is_file():
            parts.append(path.read_bytes().decode("utf-8", "replace"))
    return "\n".join(parts)


def test_words_of_what_was_replaced_that_stand_elsewhere_are_counted_over_all_notes(tmp_path: Path) -> None:
    pipeline = Pipeline(None, load_policy("redact"), KEY, Settings(gold=True))
    marked = (Span(4, 9, "PATIENT"),)
    texts = ("Mr. Foley has a Foley bag, a Foley tube.", "Mr. Quist and Quist.", "Mr. Orme came.")
    notes = [Document(f"n{place}", text, marked) for place, text in enumerate(texts)]
    write(notes, tmp_path / "in.jsonl", "jsonl")
    report = scrub_files(scan(tmp_path / "in.jsonl"), tmp_path / "out.jsonl", pipeline)
    assert (report.residual, report.residual_documents) == (2, 2)


PLANTED = ("Zebulon", "Quartermain", "Ulan", "Bator", "1/2/2003")


def assert_clean(place: Path) -> None:
    text = everything(place)
    assert not [word for word in PLANTED if word in text]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_keeps_its_structure_under_other_names(tmp_path: Path, jobs: int) -> None:
    for name in ("Quartermain/n1", "Quartermain/n2", "n1"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / f"{name}.txt").write_text(TEXT)
    report = scrub(tmp_path / "in", tmp_path / "out", jobs=jobs)
    assert (report.documents, report.failures) == (3, [])
    assert report.categories == {"PATIENT": 3, "CITY": 3, "DATE": 3}
    written = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.txt")}
    assert written == {f"{pseudonym_of_id(KEY, n)}.txt" for n in ("Quartermain/n1", "Quartermain/n2", "n1")}
    assert all(path.read_text() == CLEAN for path in (tmp_path / "out").rglob("*.txt"))
    assert_clean(tmp_path / "out")
    assert_clean(tmp_path / "edits.jsonl")
    assert (tmp_path / "edits.jsonl").stat().st_mode & 0o777 == 0o600


def test_what_fails_is_left_out_and_told(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, text in (("a", TEXT), ("Zebulon", f"FAIL {TEXT}"), ("c", TEXT)):
        (tmp_path / "in" / f"{name}.txt").write_text(text)
    (tmp_path / "in" / "d.txt").write_bytes(b"\xff\xfe\xff")
    report = scrub(tmp_path / "in", tmp_path / "out")
    assert report.documents == 2
    assert len(report.failures) == 2
    assert len(list((tmp_path / "out").rglob("*.txt"))) == 2
    assert_clean(tmp_path / "out")
    assert not any(word in str(f.error) + f.name for f in report.failures for word in PLANTED)
    assert {Path(f.path) for f in report.failures} == {tmp_path / "in" / "Zebulon.txt", tmp_path / "in" / "d.txt"}
    assert len(list(read_edit_log(tmp_path / "edits.jsonl"))) == 2


def test_records_lose_ids_fields_and_annotations_of_the_original(tmp_path: Path) -> None:
    row = {
        "mrn": "Zebulon-1",
        "text": TEXT,
        "author": "Quartermain",
        "nested": {"who": "Ulan"},
        "spans": [{"start": 23, "end": 33, "label": "CITY", "text": "Ulan Bator", "id": "Bator", "note": "Ulan"}],
    }
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "Zebulon", **row}) + "\n")
    for gold in (True, False):
        scrub(tmp_path / "in.jsonl", tmp_path / f"out-{gold}.jsonl", gold=gold)
        record = json.loads((tmp_path / f"out-{gold}.jsonl").read_text())
        assert list(record) == ["id", "mrn", "text", "author", "nested", "spans"]
        assert record["nested"] is None
    assert record["text"] == CLEAN
    assert [CLEAN[s["start"] : s["end"]] for s in record["spans"]] == ["[NAME]", "[LOCATION]", "[DATE]"]
    assert_clean(tmp_path / "out-False.jsonl")
    assert "Ulan" not in (tmp_path / "out-True.jsonl").read_text()


def test_a_field_that_holds_the_ids_keeps_its_name_and_records_without_ids_get_some(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"key": "n7", "text": TEXT}) + "\n")
    for asked, expected in (("key", "key"), ("", "id")):
        out = tmp_path / f"out{asked}.jsonl"
        pipeline = Pipeline(WordRecognizer(), load_policy("redact"), KEY)
        scrub_files(scan(tmp_path / "in.jsonl", options=Options(id_field=asked)), out, pipeline)
        (record,) = map(json.loads, out.read_text().splitlines())
        assert record[expected].startswith("doc-")


def test_columns_stay_and_rows_that_fail_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(f'ward;text;mrn\nB;"{TEXT}";17\nB;"FAIL {TEXT}";18\n')
    report = scrub(tmp_path / "in.csv", tmp_path / "out.csv", keep_fields=frozenset({"ward"}))
    assert (report.documents, len(report.failures)) == (1, 1)
    documents = list(read(tmp_path / "out.csv"))
    assert len(documents) == 1
    assert isinstance(documents[0], Document)
    assert documents[0].text == CLEAN
    assert documents[0].metadata["ward"] == "B"
    assert documents[0].metadata["mrn"].startswith("value-")
    assert report.failures[0].path == f"{tmp_path / 'in.csv'}\t2"
    assert_clean(tmp_path / "out.csv")


@pytest.mark.parametrize("keep_filename", [False, True])
def test_collections_in_a_folder_stay_apart(tmp_path: Path, keep_filename: bool) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    for name in ("ward", "sub/Quartermain"):
        (tmp_path / "in" / f"{name}.jsonl").write_text(json.dumps({"id": "1", "text": TEXT}) + "\n")
    kept = frozenset({"filename"} if keep_filename else ())
    report = scrub(tmp_path / "in", tmp_path / "out", keep_fields=kept)
    assert (report.documents, report.failures) == (2, [])
    written = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.jsonl")}
    names = ("ward", "sub/Quartermain")
    assert written == {f"{n if keep_filename else pseudonym_of_id(KEY, n)}.jsonl" for n in names}
    assert len({log.document for log in read_edit_log(tmp_path / "edits.jsonl")}) == 2


def test_files_that_a_manifest_names_are_all_of_the_folder(tmp_path: Path) -> None:
    """Also one of annotations whose text is missing, which the run tells as a failure."""
    for name in ("a.txt", "a.ann", "b.ann", "sub/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    found = inputs_of(scan(tmp_path, "brat"))
    assert found == [(name, tmp_path / name) for name in ("a.txt", "a.ann", "b.ann", "sub/c.txt")]


def test_each_table_of_a_folder_keeps_its_own_layout(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text(f"nr;text\n1;{TEXT.strip()}\n")
    (tmp_path / "in" / "b.csv").write_text(f'text,nr,"a,b"\n{TEXT.strip()},2,\n')
    report = scrub(tmp_path / "in", tmp_path / "out", keep_fields=frozenset({"filename"}))
    assert report.failures == []
    heads = [(tmp_path / "out" / name).read_text().splitlines()[0] for name in ("a.csv", "b.csv")]
    assert heads == ['"nr";"text";"id"', '"text","nr","a,b","id"']


def test_of_fields_that_tell_something_ten_are_named() -> None:
    for number, more in ((1, ""), (10, ""), (11, ", ..."), (12, ", ...")):
        said = telling({n: n * n for n in range(number, 0, -1)})
        first = ", ".join(f"{n} ({n * n})" for n in range(1, min(number, 10) + 1))
        assert f"of the fields beside text and id, number {first}{more}): " in said


def test_gold_without_any_annotation_is_refused(tmp_path: Path) -> None:
    """Otherwise the notes would come out as they went in."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "n.txt").write_text(TEXT)
    with pytest.raises(ConfigError, match="nothing to replace"):
        scrub(tmp_path / "in", tmp_path / "out", gold=True)
    assert not (tmp_path / "out").exists()


def test_annotations_without_a_place_in_the_format_are_counted(tmp_path: Path) -> None:
    """i2b2-2006 knows no e-mail addresses; the text is replaced all the same."""
    (tmp_path / "in.xml").write_text(
        '<ROOT><RECORD ID="1"><TEXT>Ask <PHI TYPE="DOCTOR">Quartermain</PHI> or write z@ulan.org.</TEXT>'
        "</RECORD></ROOT>"
    )
    recognizer = WordRecognizer(words=(("Quartermain", "DOCTOR"), (r"z@ulan.org", "EMAIL")))
    pipeline = Pipeline(recognizer, load_policy("tag"), KEY)
    report = scrub_files(scan(tmp_path / "in.xml"), tmp_path / "out.xml", pipeline)
    assert (report.documents, report.unlabelled) == (1, 1)
    text = (tmp_path / "out.xml").read_text()
    assert '<PHI TYPE="DOCTOR">[DOCTOR]</PHI> or write [EMAIL].' in text


def test_tagged_documents_have_the_same_names_and_text(tmp_path: Path) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    text = f"\ufeffé\r\n{TEXT}\t𝔸 end"
    (tmp_path / "in" / "sub" / "n.1.txt").write_bytes(text.encode())
    report = tag_files(scan(tmp_path / "in"), tmp_path / "out", WordRecognizer(), FORMATS["i2b2-2014"])
    assert (report.documents, report.failures) == (1, [])
    (document,) = read(tmp_path / "out")
    assert isinstance(document, Document)
    assert document.id == "sub/n.1"
    assert document.text == text
    assert [text[s.start : s.end] for s in document.spans] == ["Zebulon Quartermain", "Ulan Bator", "1/2/2003"]


def test_a_table_that_is_tagged_stays_the_table_that_it_was(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(f"nr;text;ward\n7;{TEXT};B\n")
    source = scan(tmp_path / "in.csv", None, Options(id_field="nr"))
    options = tagged_options(source, FORMATS["csv"], ReadingOptions())
    assert (options.delimiter, options.columns, options.id_field) == (";", ("nr", "text", "ward"), "nr")
    assert tagged_options(source, FORMATS["jsonl"], ReadingOptions()).columns == ()


@pytest.mark.parametrize(
    ("patients", "message"),
    [
        (Patients(table={"other": "7"}), "no document of IN stands in the table of patients"),
        (Patients(field_name="wrad"), "--patient-field wrad: no document has such a field"),
    ],
    ids=["table", "field"],
)
def test_patients_of_no_document_are_refused_before_anything_is_tagged(
    patients: Patients, message: str, tmp_path: Path
) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "n1", "text": TEXT, "ward": "B"}) + "\n")
    with pytest.raises(ConfigError, match=message):
        tag_files(scan(tmp_path / "in.jsonl"), tmp_path / "out", WordRecognizer(), FORMATS["jsonl"],
                  people=People(patients))  # fmt: skip
    assert not (tmp_path / "out").exists()


def test_records_can_be_tagged_into_files(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"id": f"n{i}", "text": TEXT}) + "\n" for i in range(3)))
    tag_files(scan(tmp_path / "in.jsonl"), tmp_path / "out", WordRecognizer(), FORMATS["i2b2-2014"])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["n0.xml", "n1.xml", "n2.xml"]
    tag_files(scan(tmp_path / "out"), tmp_path / "back.jsonl", WordRecognizer(), FORMATS["jsonl"])
    assert len((tmp_path / "back.jsonl").read_text().splitlines()) == 3


def test_a_vault_keeps_what_was_replaced(tmp_path: Path) -> None:
    from deid.replacement.vault import Vault

    (tmp_path / "n.txt").write_text(TEXT)
    pipeline = Pipeline(WordRecognizer(), load_policy("surrogate"), KEY, Settings(originals=True))
    with Vault.create(tmp_path / "vault.db", KEY, who="test") as vault:
        scrub_files(scan(tmp_path / "n.txt"), tmp_path / "out.txt", pipeline, vault=vault)
        assert vault.originals_among(["Ulan Bator", "Boston"]) == {"Ulan Bator"}
        pipeline = Pipeline(WordRecognizer(), load_policy("surrogate"), KEY)
        with pytest.raises(ConfigError, match="originals=True"):
            scrub_files(scan(tmp_path / "n.txt"), tmp_path / "other.txt", pipeline, vault=vault)
    assert not any(word.encode() in (tmp_path / "vault.db").read_bytes() for word in PLANTED)


@pytest.mark.parametrize("policy", ["redact", "safe-harbor", "full", "surrogate", "tag"])
def test_originals_of_the_development_notes_are_gone(shared_data: Path, tmp_path: Path, policy: str) -> None:
    """No original of five and more characters is left as a word, unless it also stands outside the annotations."""
    source = shared_data / "english" / "inline-sgml"
    scrub(source, tmp_path / "out", policy=policy, gold=True, keep_id=True)
    scrubbed = {d.id: d for d in read(tmp_path / "out") if isinstance(d, Document)}
    checked = 0
    for document in read(source):
        assert isinstance(document, Document)
        outside = list(document.text)
        for span in document.spans:
            outside[span.start : span.end] = "\0" * len(span)
        rest = "".join(outside)
        for span in document.spans:
            original = document.text[span.start : span.end]
            if len(original) >= 5 and original not in rest and not (policy == "safe-harbor" and span.category == "age"):
                assert original not in scrubbed[document.id].text
                checked += 1
    assert checked > 200


def test_a_run_that_breaks_off_leaves_no_file_that_looks_whole(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"id": str(n), "text": "Zebulon"}) + "\n" for n in range(9)))

    def stop(items: Iterator[Any]) -> Iterator[Any]:
        for number, item in enumerate(items):
            if number == 5:
                raise KeyboardInterrupt
            yield item

    pipeline = Pipeline(WordRecognizer(), load_policy("redact"), KEY)
    with pytest.raises(KeyboardInterrupt):
        scrub_files(scan(source), tmp_path / "out.jsonl", pipeline, watch=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_field_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    (tmp_path / "n.txt").write_text("Zebulon")
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "1", "text": "Zebulon", "ward": "B", "nurse": "x"}) + "\n")
    for name, field, hint in (
        ("n.txt", "wrad", "they have no fields beside the text"),
        ("in.jsonl", "wrad", "did you mean 'ward'?"),
        ("in.jsonl", "zzz", "fields: 'ward', 'nurse'"),
    ):
        pipeline = Pipeline(WordRecognizer(), load_policy("redact"), KEY, Settings(keep_fields=frozenset({field})))
        with pytest.raises(ConfigError, match=f"--keep {field}") as refused:
            scrub_files(scan(tmp_path / name), tmp_path / "out", pipeline)
        assert refused.value.hint == hint


def test_where_nothing_can_be_read_no_field_and_no_table_is_blamed(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("{\n")
    settings = Settings(keep_fields=frozenset({"ward"}), patients=Patients({"n": "1"}))
    pipeline = Pipeline(WordRecognizer(), load_policy("redact"), KEY, settings)
    report = scrub_files(scan(tmp_path / "in.jsonl"), tmp_path / "out", pipeline)
    assert (report.documents, len(report.failures)) == (0, 1)


def test_what_site_lists_did_is_told_of_the_lists_that_there_are() -> None:
    report = Report(effect=Effect(denied=3, recategorized=2, allowed=5, refused=1))
    deny, allow = (Term(("quorl",)), Term(("bristow", "mary"))), (Term(("quorl",), "", ("Quorl",)),)
    of_deny = "deny list of 2 terms: 3 spans added, 2 recategorized"
    of_allow = "allow list of 1 terms: 5 spans taken out, 1 kept (structured or known identifiers, denied terms)"
    assert report.remarks(SiteLists(deny=deny)) == [of_deny]
    assert report.remarks(SiteLists(allow=allow)) == [of_allow]
    assert report.remarks() == report.remarks(SiteLists()) == []
    both = "1 terms stand in both lists; they count as denied"
    assert report.remarks(SiteLists(deny, (Term(("quorl",)),)))[2] == both


def test_one_file_of_notes_that_cannot_be_completed_is_told_as_the_output(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"id": str(n), "text": "Zebulon"}) + "\n" for n in range(3)))

    def emptying(results: Iterator[Any]) -> Iterator[Any]:
        for number, result in enumerate(results):
            if number == 2:
                (part,) = tmp_path.glob(".deid-part-*")
                part.unlink()
            yield result

    pipeline = Pipeline(WordRecognizer(), load_policy("redact"), KEY)
    report = scrub_files(scan(tmp_path / "in.jsonl"), tmp_path / "out.jsonl", pipeline, watch=emptying)
    (failure,) = report.failures
    assert (report.documents, failure.name) == (0, safe_name("the output"))


def test_a_file_of_notes_that_cannot_be_completed_is_told_and_its_notes_do_not_count(tmp_path: Path) -> None:
    """Somebody empties the output's folder while the second of two files is written."""
    (tmp_path / "in").mkdir()
    for name in ("first", "second"):
        lines = [json.dumps({"id": f"{name}{n}", "text": f"Note {n} of {name}"}) + "\n" for n in range(3)]
        (tmp_path / "in" / f"{name}.jsonl").write_text("".join(lines))

    def emptying(results: Iterator[Any]) -> Iterator[Any]:
        for number, result in enumerate(results):
            if number == 5:  # the last note is scrubbed, and the others are written
                (part,) = (tmp_path / "out").glob(".deid-part-*")
                part.unlink()
            yield result

    pipeline = Pipeline(WordRecognizer(), load_policy("redact"), KEY)
    report = scrub_files(scan(tmp_path / "in"), tmp_path / "out", pipeline, watch=emptying)
    assert report.documents == 3
    assert len(report.failures) == 1
    assert report.failures[0].path == "second"
    assert len(list((tmp_path / "out").iterdir())) == 1


def _arriving(place: Path, text: str = "theirs") -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a watch in whose course somebody else writes a file."""

    def watch(results: Iterator[Any]) -> Iterator[Any]:
        for number, result in enumerate(results):
            if number == 0:
                place.write_text(text)
            yield result

    return watch


@pytest.mark.parametrize("suffix", ["txt", "jsonl"])
def test_one_file_that_another_run_has_written_meanwhile_stays_its(suffix: str, tmp_path: Path) -> None:
    """The run fails as a whole: neither its report nor a manifest may speak of what the other wrote."""
    (tmp_path / "in.txt").write_text(TEXT)
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "a", "text": TEXT}) + "\n")
    out = tmp_path / f"out.{suffix}"
    pipeline = Pipeline(WordRecognizer(), load_policy("redact"), KEY)
    with pytest.raises(TakenError):
        scrub_files(scan(tmp_path / f"in.{suffix}"), out, pipeline, watch=_arriving(out))
    assert out.read_text() == "theirs"
    assert not list(tmp_path.glob(".deid-part-*"))


def test_notes_of_a_folder_that_become_one_file_find_it_taken(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (tmp_path / "in" / f"{name}.txt").write_text(TEXT)
    out = tmp_path / "out.jsonl"
    with pytest.raises(TakenError):
        tag_files(scan(tmp_path / "in"), out, WordRecognizer(), FORMATS["jsonl"], watch=_arriving(out))
    assert out.read_text() == "theirs"


@pytest.mark.parametrize("suffix", ["txt", "jsonl"])
def test_of_a_folder_a_file_that_another_run_has_written_is_one_that_failed(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        text = TEXT if suffix == "txt" else json.dumps({"id": "1", "text": TEXT}) + "\n"
        (tmp_path / "in" / f"{name}.{suffix}").write_text(text)
    out = tmp_path / "out"
    out.mkdir()
    pipeline = Pipeline(WordRecognizer(), load_policy("redact"), KEY)
    theirs = out / f"{pseudonym_of_id(KEY, 'a')}.{suffix}"
    report = scrub_files(scan(tmp_path / "in"), out, pipeline, watch=_arriving(theirs))
    assert (report.documents, len(report.failures)) == (1, 1)
    assert theirs.read_text() == "theirs"
    (other,) = [path for path in out.iterdir() if path != theirs]
    assert CLEAN.strip() in other.read_text()


def test_a_record_of_a_folder_of_files_that_fails_is_listed_with_its_file(tmp_path: Path) -> None:
    """The list finds it again: the file that it stands in, not the first one."""
    (tmp_path / "in").mkdir()
    for name, text in (("a", TEXT), ("b", TEXT * 2), ("c", TEXT)):
        records = [{"id": "1", "text": text}, {"id": "2", "text": TEXT}]
        (tmp_path / "in" / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))

    class Failing(WordRecognizer):
        def find(self, document: Document) -> list[Span]:
            if document.text == TEXT * 2:
                raise ConfigError("something is wrong", "mend it", document.name)
            return super().find(document)

    source = scan(tmp_path / "in")
    report = scrub_files(source, tmp_path / "out", Pipeline(Failing(), load_policy("redact"), KEY))
    (failure,) = report.failures
    assert failure.path == list_line(str(tmp_path / "in" / "b.jsonl"), "1")
    (tmp_path / "list").write_text(failure.path + "\n")
    again = [d for d in select_files(source, tmp_path / "list").documents() if isinstance(d, Document)]
    assert [(d.id, d.text) for d in again] == [("1", TEXT * 2)]


@pytest.mark.parametrize(
    ("format", "options", "labels", "fields"),
    [
        ("text", Options(), [], ["a", "zero"]),
        ("i2b2-2014", Options(), ["FECHAS", "PATIENT", "DATE"], ["a", "zero"]),
        ("brat", Options(), ["FECHAS", "PATIENT", "DATE", "my-own"], ["a", "zero"]),
        ("jsonl", Options(), ["FECHAS", "PATIENT", "DATE", "my-own"], ["a", "b", "zero"]),
        ("jsonl", Options(spans_field=""), [], ["a", "b", "zero"]),
        ("jsonl", Options(any_label=True), ["FECHAS", "PATIENT", "DATE", "my-own"], ["a", "b", "zero"]),
    ],
)
def test_a_document_is_written_with_what_its_format_has_place_for(
    format: str, options: Options, labels: list[str], fields: list[str]
) -> None:
    """A file of its own has no emptied fields; a row of a table has the fields of all rows."""
    spans = tuple(Span(n, n + 1, label) for n, label in enumerate(("FECHAS", "PATIENT", "DATE", "my-own")))
    fit = fitted(Document("n", "abcd", spans, {"a": "1", "b": None, "zero": 0}), FORMATS[format], options)
    assert list(fit.metadata) == fields
    assert [span.category for span in fit.spans] == labels
    assert [span.id for span in fit.spans] == (
        [f"P{n}" for n in range(len(labels))] if "2014" in format else [""] * len(labels)
    )


def test_a_place_that_cannot_be_opened_is_the_failure_of_every_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"id": n, "text": TEXT}) + "\n" for n in "abc"))

    def refuse(*_: object, **__: object) -> None:
        raise OutputError("the place is full", "make room")

    monkeypatch.setattr("deid.pipeline.files.open_writer", refuse)
    report = scrub(tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    assert [type(failure.error) for failure in report.failures] == [OutputError] * 3
    assert report.documents == 0
    assert not (tmp_path / "out.jsonl").exists()
