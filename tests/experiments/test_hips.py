"""Re-tagging with surrogates, and attacks on what a recognizer missed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from notes import clinic_notes
from typer.testing import CliRunner

from deid import io
from deid.base.keys import Key
from deid.cli.main import app
from deid.document import Document, Span
from deid.experiments.hips import ATTACKS, betrayed, expected_found, hips, rarity, release
from deid.experiments.trials import TrialSetup, figures, score
from deid.features import FeatureSet
from deid.labeling.tagger import train
from deid.labeling.training import TrainingOptions
from deid.pipeline import Pipeline, Settings
from deid.replacement.policy import load_policy

HIDE = FeatureSet("hide", "rac")
QUICK = TrainingOptions(algorithm="sgd", iterations=3, min_documents=1)
KEY = Key(b"hiding in plain sight")
PIPELINE = Pipeline(None, load_policy("surrogate"), KEY, Settings(gold=True, keep_id=True))
OPTION = {".csv": "csv", ".json": "json", ".html": "html", ".svg": "plot"}
TOLD = Callable[[Callable[[FeatureSet, Document, float], Sequence[Span]]], object]


def text_of(document: Document, span: Span) -> str:
    return document.text[span.start : span.end]


def test_a_release_keeps_what_was_missed_where_it_stands_now() -> None:
    text = "Seen Ann Bo, 45, on 3/4/2019 by Dr. Fairbanks; Ann Bo agreed."
    places = [("Ann Bo", "PATIENT"), ("45", "AGE"), ("3/4/2019", "DATE"), ("Fairbanks", "DOCTOR")]
    gold = [Span(text.index(t), text.index(t) + len(t), c) for t, c in places]
    gold.append(Span(text.rindex("Ann"), text.rindex("Ann") + 6, "PATIENT"))
    found = [gold[0], gold[2]]
    note, candidates = release(PIPELINE, Document("n", text, tuple(gold)), found)
    leaks = [text_of(note, c.span) for c in candidates if c.leak]
    assert leaks == ["Fairbanks", "Ann Bo"]  # the policy keeps an age of 45, so it is no leak
    hidden = [text_of(note, c.span) for c in candidates if not c.leak]
    assert len(hidden) == 2
    assert "Ann" not in hidden[0]
    assert [text_of(note, s) for s in note.spans] == [text_of(note, c.span) for c in candidates]


def test_a_part_that_was_found_is_no_leak() -> None:
    note = Document("n", "Ann Fairbanks", (Span(0, 13, "PATIENT"),))
    assert [c.leak for c in release(PIPELINE, note, [Span(4, 13, "PATIENT")])[1]] == [False]


def test_rare_words_are_suspicious() -> None:
    words = ("Ann Lee", "ann Zyx", "Lee", "77", "88")
    text = " ".join(words)
    spans = tuple(Span(text.index(w), text.index(w) + len(w), "PATIENT") for w in words)
    assert rarity([Document("n", text, spans)]).tolist() == [-2, -1, -2, -2, -2]


CONTACTS = {
    "PHONE": ("617-234-5678", "(617) 234 5678 x12", "234-5678", "+1 617.234.5678", "tel. 617-234-5678"),
    "EMAIL": ("ann.bo@home.org", "ANN@HOME.ORG"),
    "URL": ("http://www.annbo.net/page?x=1",),
    "IPADDR": ("10.20.30.40", "2a01:4f8::17"),
}


@pytest.mark.parametrize("category", CONTACTS)
def test_surrogates_of_contacts_are_told_from_originals_and_never_betrayed(category: str) -> None:
    """What the program writes is never taken for an original, and what is plainly one always."""
    for text in CONTACTS[category]:
        original = Document(text, text, (Span(0, len(text), category),))
        assert betrayed(original) == [True]
        assert betrayed(PIPELINE(original).document) == [False]
    for other, text in (
        ("PATIENT", "Ann"),
        ("PHONE", "0117 496 0697"),
        ("PHONE", "07700900488"),
        ("FAX", "912 345 678"),
        ("SSN", "123-45-6789"),
    ):
        assert betrayed(Document("n", text, (Span(0, len(text), other),))) == [False]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=7))
def test_expected_found_is_the_mean_over_orders_of_ties(pairs: list[tuple[int, bool]]) -> None:
    from itertools import permutations

    scores = np.array([float(a) for a, _ in pairs])
    leaks = np.array([b for _, b in pairs])
    runs = []
    for order in permutations(range(len(pairs))):
        ranked = sorted(order, key=lambda i: -scores[i])
        runs.append([0.0, *np.cumsum(leaks[ranked])])
    assert expected_found(scores, leaks).tolist() == pytest.approx(np.mean(runs, axis=0).tolist())


def test_the_table_is_what_training_by_hand_gives(corpus: list[Document]) -> None:
    unseen = clinic_notes(8, first=30)
    result = hips(TrialSetup(corpus, HIDE, QUICK, test=unseen, folds=2))
    texts = {
        "original": (corpus, unseen),
        "surrogate": tuple([PIPELINE(d).document for d in part] for part in (corpus, unseen)),
    }
    for row in result.retagging.to_dict("records"):
        tagger = train(texts[row["train"]][0], HIDE, QUICK)
        gold = texts[row["test"]][1]
        expected = figures(score(gold, [d.with_spans(tagger.find(d)) for d in gold], HIDE))
        assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert [(r["train"], r["test"]) for r in result.retagging.to_dict("records")] == [
        ("original", "original"),
        ("original", "surrogate"),
        ("surrogate", "original"),
        ("surrogate", "surrogate"),
    ]


def test_a_parrot_of_the_recognizer_finds_what_it_missed(corpus: list[Document], told: TOLD) -> None:
    """Recognizer and parrots find all but doctors, so the parrots' misses are the leaks."""

    def all_but_doctors(features: FeatureSet, document: Document, bias: float) -> list[Span]:
        return [s for s in document.spans if s.category != "DOCTOR"]

    told(all_but_doctors)
    result = hips(TrialSetup(corpus, HIDE, QUICK, test=corpus, folds=3))
    assert result.leaks == 24
    attacks = result.attacks.set_index("attack")
    assert attacks.loc["redaction", ["share", "precision"]].tolist() == [1, 1]
    assert attacks.loc["parrot", ["flagged", "share", "precision", "auc"]].tolist() == [24, 1, 1, 1]
    base = 24 / result.identifiers
    assert attacks.loc["chance", ["share", "precision", "lift", "auc"]].tolist() == pytest.approx([base, base, 1, 0.5])
    assert result.curve["parrot"].iloc[-1] == result.curve["rarity"].iloc[-1] == 1


def test_another_recognizer_can_make_the_release(corpus: list[Document], told: TOLD) -> None:
    class Nothing:
        name = "nothing"
        categories = frozenset({"PATIENT"})

        def find(self, document: Document) -> list[Span]:
            return []

    told(lambda features, document, bias: document.spans)
    result = hips(TrialSetup(corpus, HIDE, QUICK, test=corpus), recognizer=Nothing())
    assert result.leaks == result.identifiers == sum(len(d.spans) for d in corpus)


def test_nothing_missed_nothing_to_find(corpus: list[Document], told: TOLD) -> None:
    told(lambda features, document, bias: document.spans)
    result = hips(TrialSetup(corpus, HIDE, QUICK, test=corpus))
    assert result.leaks == 0
    assert result.attacks["share"].isna().all()
    assert all(row["share"] is None for row in result.as_dict()["attacks"])


def test_the_command_prints_and_writes(corpus: list[Document], tmp_path: Path) -> None:
    io.write(corpus, tmp_path / "c.jsonl", "jsonl")
    files = [tmp_path / name for name in ("h.csv", "h.json", "h.html", "h.svg")]
    options = [o for name, f in zip(("-o", "--json", "--report", "--plot"), files, strict=True) for o in (name, str(f))]
    arguments = ["experiment", "hips", str(tmp_path / "c.jsonl"), "--preset", "hide", "--iterations", "1"]
    result = CliRunner().invoke(app, [*arguments, "--min-documents", "1", "--group-pattern", r"^\d+", *options])
    assert result.exit_code == 0, result.output
    assert "parrot, then rarity" in result.stdout
    numbers = json.loads(files[1].read_text())
    assert [row["attack"] for row in numbers["attacks"]] == [*ATTACKS]
    assert numbers["attacks"][0]["auc"] is None
    assert len(files[0].read_text().splitlines()) == 1 + 4 + len(ATTACKS)
    page = files[2].read_text()
    assert "Re-tagging" in page
    assert not any(text_of(d, s) in page for d in corpus for s in d.spans)
