"""One call for one text: what it returns is what the long way returns."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from fakes import WordRecognizer
from formats import written

import deid
from deid.base.errors import ConfigError, InputError
from deid.base.keys import Key
from deid.document import Failure
from deid.io import FORMATS, scan
from deid.io.formats import ReadingOptions
from deid.pipeline.at_once import scrub_stream
from deid.pipeline.batch import scrub_files
from deid.replacement.policy import load_policy

TEXT = "Seen by Dr. Alice Baker on 3 May 2019."
KEY = Key(b"k" * 32)
RULES = {"model": "none"}


def test_scrub_is_the_pipeline_of_its_options() -> None:
    pipeline = deid.build_pipeline(KEY, deid.PipelineOptions(**RULES))
    assert deid.scrub(TEXT, key=KEY, **RULES) == pipeline(TEXT).document.text
    assert pipeline(TEXT).document.text == pipeline(deid.Document("text", TEXT)).document.text
    assert deid.scrub(TEXT, policy="redact", **RULES) == "Seen by Dr. [NAME] on [DATE]."


def test_find_is_the_recognizer_of_its_options() -> None:
    recognizer = deid.build_recognizer(deid.RecognizerOptions(**RULES))
    spans = deid.find(TEXT, **RULES)
    assert spans == recognizer.find(deid.Document("text", TEXT))
    assert [TEXT[span.start : span.end] for span in spans] == ["Alice Baker", "3 May 2019"]


@pytest.mark.parametrize("missing", [None, float("nan"), b"Dr. Alice Baker", [TEXT]])
def test_what_is_no_text_is_refused(missing: object) -> None:
    """As the cells of a data frame without a note are."""
    session = deid.Session(**RULES)
    pipeline = deid.build_pipeline(KEY, deid.PipelineOptions(**RULES))
    for call in (deid.scrub, deid.find, pipeline, session.mask, session.unmask):
        with pytest.raises(InputError, match=f"{type(missing).__name__} is no text"):
            call(missing)


def test_without_a_key_surrogates_are_consistent_and_nobody_else_can_make_them() -> None:
    first, again = deid.scrub(TEXT, **RULES), deid.scrub(TEXT, **RULES)
    assert first == again
    assert "Baker" not in first
    assert deid.scrub(TEXT, key=KEY, **RULES) != first


@pytest.mark.parametrize("options", [{"model": "none", "rules": False}, {"method": "magic"}, {"policy": "absent"}])
def test_what_cannot_be_fulfilled_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        deid.scrub(TEXT, **options)


def test_an_option_that_is_none_is_a_mistake_of_the_program() -> None:
    with pytest.raises(TypeError):
        deid.scrub(TEXT, polcy="redact")
    with pytest.raises(TypeError):
        deid.find(TEXT, policy="redact")


def test_a_text_without_annotations_is_not_returned_as_if_it_had_none_to_replace() -> None:
    with pytest.raises(ConfigError, match="carries no annotations"):
        deid.scrub("Seen by Dr. Alice Baker.", gold=True)
    pipeline = deid.build_pipeline(KEY, deid.PipelineOptions(gold=True))
    with pytest.raises(ConfigError, match="carries no annotations"):
        pipeline(TEXT)
    spans = (deid.Span(8, 23, "DOCTOR"),)
    assert "Alice" not in pipeline(deid.Document("text", TEXT, spans)).document.text


@pytest.mark.parametrize(
    ("format", "suffix", "data"),
    [
        ("text", ".txt", TEXT.encode()),
        ("documents", ".html", f"<html><body><p>{TEXT}</p></body></html>".encode()),
        ("documents", ".rtf", rb"{\rtf1 " + TEXT.encode() + b"}"),
        ("documents", ".eml", f"From: a@b.example\r\nSubject: note\r\n\r\n{TEXT}\r\n".encode()),
        *((name, FORMATS[name].suffixes[0], b"") for name in ("meddocan", "i2b2-2014", "hide")),
    ],
)
def test_a_note_of_a_stream_is_written_as_a_file_of_its_format_is(
    format: str, suffix: str, data: bytes, tmp_path: Path
) -> None:
    data = data or written(FORMATS[format])[suffix]
    how = {"gold": True} if FORMATS[format].carries_spans else RULES
    pipeline = deid.build_pipeline(KEY, deid.PipelineOptions(policy="redact", **how))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / f"text{suffix}").write_bytes(data)
    scrub_files(scan(tmp_path / "in", format), tmp_path / "out", pipeline)
    (file,) = (tmp_path / "out").iterdir()
    done = scrub_stream(BytesIO(data), pipeline, ReadingOptions(format=format))
    assert not isinstance(done, Failure)
    assert done[0] == file.read_bytes()
    assert done[0] != data
    assert len(done[1].edits) >= 2


@pytest.mark.parametrize("format", ["jsonl", "hl7v2", "fhir", "brat"])
def test_a_stream_of_many_notes_or_of_a_file_among_others_is_refused(format: str) -> None:
    pipeline = deid.build_pipeline(KEY, deid.PipelineOptions(**RULES))
    with pytest.raises(ConfigError, match="holds one note"):
        scrub_stream(BytesIO(b""), pipeline, ReadingOptions(format=format))


def test_a_note_of_a_stream_may_be_as_large_as_said_and_no_larger() -> None:
    pipeline = deid.build_pipeline(KEY, deid.PipelineOptions(**RULES))
    size = len(TEXT)
    assert isinstance(scrub_stream(BytesIO(TEXT.encode()), pipeline, ReadingOptions(max_document=size)), tuple)
    with pytest.raises(ConfigError, match="too large"):
        scrub_stream(BytesIO(TEXT.encode()), pipeline, ReadingOptions(max_document=size - 1))


@pytest.mark.parametrize("word", ["FAIL", "BUG", "SLOW"])
def test_a_note_of_a_stream_that_cannot_be_scrubbed_is_a_failure_without_text(word: str) -> None:
    pipeline = deid.Pipeline(WordRecognizer(), load_policy("redact"), KEY)
    data = BytesIO(f"Zebulon Quartermain. {word}".encode())
    failure = scrub_stream(data, pipeline, ReadingOptions(timeout=0.05 if word == "SLOW" else 60))
    assert isinstance(failure, Failure)
    assert "Zebulon" not in f"{failure} {failure.error}"
