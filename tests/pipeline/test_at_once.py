"""One call for one text: what it returns is what the long way returns."""

from __future__ import annotations

import pytest

import deid
from deid.base.errors import ConfigError, InputError
from deid.base.keys import Key

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
