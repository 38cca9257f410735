"""What a user asks of scrubbing is checked by the library: Python, commands and feeds decide alike."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes import WordRecognizer

from deid.base.errors import ConfigError, DeidError, InputError, OutputError
from deid.base.keys import Key
from deid.disclosure.expert_report import sign_report
from deid.document import Document, Span
from deid.io import scan, write
from deid.labeling.tagger import available_models
from deid.pipeline import Pipeline, PipelineOptions, Scrubbed, Settings, build_pipeline, scrub_files
from deid.pipeline.batch import risk_report_beside
from deid.pipeline.facts import facts_of, models_of, policy_facts
from deid.pipeline.known_people import KnownPeople
from deid.pipeline.options import ScrubTarget
from deid.replacement.operators import OPERATORS
from deid.replacement.policy import load_policy
from deid.streaming.work import PipelineRecipe

KEY = Key(b"k" * 32)
WHOLE: dict[str, Any] = {"method": "concept-match"}


@pytest.mark.parametrize(
    "options",
    [
        {"gold": True, "model": "none"},
        {"gold": True, "rules": False},
        {"gold": True, "dial": "1"},
        {"gold": True, "doubt": 0.5},
        {"gold": True, "threshold": 0.5},
        {"gold": True, "span_probability": 0.5},
        {"gold": True, "transformer": Path("folder")},
        {"gold": True, "deny": (Path("deny.txt"),)},
        {"gold": True, "allow": (Path("allow.txt"),)},
        WHOLE | {"gold": True},
        WHOLE | {"policy": "redact"},
        WHOLE | {"accept": ("ZIP",)},
        WHOLE | {"model": "none"},
        WHOLE | {"rules": True},
        WHOLE | {"deny": (Path("deny.txt"),)},
        WHOLE | {"known": Path("known.csv"), "patient_field": "who"},
        {"method": "magic"},
        {"model": "none", "dial": "1"},
        {"model": "none", "rules": False},
        {"doubt": 0.5, "span_probability": 0.5},
        {"doubt": 1.5},
        {"span_probability": 1.0},
        {"threshold": -0.5},
        {"known_column": ("mrn=MEDICALRECORD",)},
        {"known": Path("known.csv"), "patient_field": "who", "known_column": ("mrn",)},
        {"patient_pattern": "("},
    ],
)
def test_options_that_contradict_each_other_are_refused_by_the_value(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        PipelineOptions(**options)


def test_what_files_and_languages_there_are_is_looked_up_when_a_pipeline_is_made(tmp_path: Path) -> None:
    for options in ({"language": "tlh"}, {"deny": (tmp_path / "no",)}, {"dial": "no"}, {"known_field": ("what",)}):
        with pytest.raises(ConfigError):
            build_pipeline(KEY, PipelineOptions(model="none" if "dial" not in options else "en", **options))


@pytest.mark.parametrize(
    ("recognizer", "policy", "settings"),
    [
        (True, True, {"gold": True}),
        (False, True, {}),
        (True, False, WHOLE),
        (False, True, WHOLE),
        (False, False, WHOLE | {"gold": True}),
        (False, False, WHOLE | {"known": KnownPeople()}),
    ],
)
def test_a_pipeline_refuses_what_it_would_take_no_notice_of(
    recognizer: bool, policy: bool, settings: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError):
        Pipeline(
            WordRecognizer() if recognizer else None,
            load_policy("redact") if policy else None,
            KEY,
            Settings(**settings),
        )


def test_surrogates_speak_the_language_of_the_annotations(tmp_path: Path) -> None:
    """Annotations of a Spanish label set are replaced by Spanish names, whoever asks; the user's word goes first."""
    text = "José García, en el Hospital Miguel Servet."
    spans = (Span(0, 11, "NOMBRE_SUJETO_ASISTENCIA"), Span(19, 41, "HOSPITAL"))
    write([Document("n1", text, spans)], tmp_path / "notes", "meddocan")
    source = scan(tmp_path / "notes", "meddocan")

    def scrubbed(language: str | None, name: str) -> str:
        pipeline = build_pipeline(KEY, PipelineOptions(gold=True, keep=frozenset({"id"}), language=language))
        scrub_files(source, tmp_path / name, pipeline)
        return next((tmp_path / name).rglob("*.xml")).read_text()

    assert scrubbed(None, "plain") == scrubbed("es", "spanish") != scrubbed("en", "english")


@pytest.mark.parametrize("language", [None, "es", "en"])
def test_filter_and_scrub_speak_one_language(language: str | None) -> None:
    said = PipelineOptions(language=language, model="none")
    own = build_pipeline(KEY, said).language
    assert own == PipelineRecipe(KEY, said).pipeline().language == (language or "en")


def test_the_report_of_the_expert_is_checked_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "n.txt").write_text("Seen by Dr. Quartermain.")
    source, out = scan(tmp_path / "notes"), tmp_path / "out"
    content = {"kind": "risk report for an expert determination, 45 CFR 164.514(b)(1)", "sha256": {}}
    (tmp_path / "own.json").write_text(json.dumps(sign_report(content, KEY)))
    (tmp_path / "other.json").write_text(json.dumps(sign_report(content, Key(b"o" * 32))))
    (tmp_path / "altered.json").write_text(json.dumps({**sign_report(content, KEY), "rows": 1}))
    expert = build_pipeline(KEY, PipelineOptions(policy="expert", model="none"))
    for name, error in (("other", InputError), ("altered", InputError), ("none", InputError)):
        with pytest.raises(error):
            scrub_files(source, out, expert, risk_report=tmp_path / f"{name}.json")
    for pipeline in (
        build_pipeline(KEY, PipelineOptions(policy="redact", model="none")),
        build_pipeline(KEY, PipelineOptions(method="concept-match")),
    ):
        with pytest.raises(ConfigError, match="expert"):
            scrub_files(source, out, pipeline, risk_report=tmp_path / "own.json")
    assert not out.exists()
    risk_report_beside(out).write_text("there")
    with pytest.raises(OutputError):
        scrub_files(source, out, expert, risk_report=tmp_path / "own.json")
    risk_report_beside(out).unlink()
    assert scrub_files(source, out, expert, risk_report=tmp_path / "own.json").documents == 1
    assert risk_report_beside(out).read_bytes() == (tmp_path / "own.json").read_bytes()


def test_concept_match_says_nothing_of_a_policy() -> None:
    pipeline = build_pipeline(KEY, PipelineOptions(method="concept-match"))
    assert pipeline.notes == []
    assert isinstance(pipeline(Document("d", "Quartermain has a fever.")), Scrubbed)
    with pytest.raises(DeidError):
        build_pipeline(KEY, PipelineOptions(policy="no-such-policy", model="none"))


def test_manifests_name_a_policy_only_where_one_decides() -> None:
    """Concept-match goes by none, whatever a pipeline would go by else."""
    assert facts_of(build_pipeline(KEY, PipelineOptions(method="concept-match"))) == {"policy": None, "model": None}
    assert facts_of(build_pipeline(KEY, PipelineOptions(policy="redact", model="none")))["policy"]["name"] == "redact"


def test_a_manifest_says_what_a_policy_needs_beside_text_and_nothing_of_what_a_site_wrote() -> None:
    for name, needs in (
        ("redact", []),
        ("limited-data-set", ["a data use agreement"]),
        ("expert", ["an expert's determination"]),
        ("hro-coded", [load_policy("hro-coded").notice]),
    ):
        told = policy_facts(load_policy(name))
        assert (told["name"], told["needs"]) == (name, needs)
    own = policy_facts(replace(load_policy("hro-coded"), name="Dr. Quill's"))
    assert (own["name"], own["needs"]) == ("own", [])
    assert set(own["categories"].values()) <= OPERATORS.keys()


def test_a_service_says_which_of_the_shipped_models_it_uses() -> None:
    shipped = available_models()
    assert models_of(None) == [{"name": name, "used": False} for name in shipped]
    used = models_of(build_pipeline(KEY, PipelineOptions(model=shipped[0])).recognizer)
    assert [told["name"] for told in used if told["used"]] == [shipped[0]]
    assert all(("fingerprint" in told) is told["used"] for told in used)
    assert not any(told["used"] for told in models_of(build_pipeline(KEY, PipelineOptions(model="none")).recognizer))


def test_a_preview_which_writes_nothing_needs_no_report() -> None:
    with pytest.raises(ConfigError, match="preview writes nothing"):
        ScrubTarget(preview=True, risk_report=Path("r.json"))
    assert ScrubTarget(preview=True).preview
