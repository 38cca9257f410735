"""Spans rescored by what a chain of labels cannot see: learnt from folds, kept without rare words, as JSON."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier

from deid.base.errors import ConfigError, ModelError
from deid.document import Document, Span
from deid.features import FeatureSet
from deid.labeling import rescoring
from deid.labeling.audit import audit_model
from deid.labeling.rescoring import Candidate, Habit, Rescorer, figures, properties
from deid.labeling.rescoring_training import flattened, learn_rescorer
from deid.labeling.tagger import Tagger, train
from deid.labeling.training import TrainingOptions

OPTIONS = TrainingOptions(iterations=6, rescore=3)


@pytest.fixture(scope="module")
def rescoring_tagger(corpus: list[Document]) -> Tagger:
    return train(corpus, FeatureSet("default", "rac"), OPTIONS, name="twice")


def marked(text: str, category: str = "DOCTOR") -> Document:
    """A note whose spans stand in square brackets."""
    spans, plain = [], ""
    for number, part in enumerate(text.replace("]", "[").split("[")):
        if number % 2:
            spans.append(Span(len(plain), len(plain) + len(part), category))
        plain += part
    return Document(str(abs(hash(text))), plain, tuple(spans))


def every_capital(_known: object, others: list[Document]) -> list[list[Candidate]]:
    """Propose every word with a capital, as a chain that is sure of nothing."""
    found = []
    for document in others:
        places = [(i, i + len(w)) for w in document.text.split() if w.istitle() for i in [document.text.index(w)]]
        found.append(sorted((a, b, "DOCTOR", 0.5) for a, b in places))
    return found


def chances(rescorer: Rescorer, text: str) -> dict[str, float]:
    (candidates,) = every_capital(None, [Document("x", text)])
    return {text[a:b]: p for a, b, _, p in rescorer.rescored(text, candidates)}


def test_what_stands_around_a_span_is_learnt() -> None:
    words = ("Abel", "Berg", "Costa", "Diaz", "Egan", "Fox", "Gut", "Hahn", "Ivo", "Jahn")
    notes = [marked(f"seen by [{words[i % 10]}] for {words[(7 * i + 3) % 10]} today {i}") for i in range(40)]
    notes += [marked(f"for {words[i % 10]} seen by [{words[(3 * i + 1) % 10]}] today {i}") for i in range(40)]
    rescorer = learn_rescorer(notes, [i % 3 for i in range(len(notes))], every_capital, 3)  # type: ignore[arg-type]
    told = chances(rescorer, "seen by Quist for Gout today 9")
    assert told["Quist"] > 0.9
    assert told["Gout"] == pytest.approx(0.6 * 0.5)  # what the chain says is not forgotten


def test_the_same_words_elsewhere_in_a_note_count() -> None:
    text = "Dr. Pohl came. pohl again, and Reed."
    candidates = [(4, 8, "DOCTOR", 0.9), (15, 19, "DOCTOR", 0.2), (31, 35, "DOCTOR", 0.2)]
    told = figures(text, candidates, {}, ("DOCTOR",))
    assert told.shape == (3, rescoring.FIGURES)
    elsewhere = 9
    assert told[1, elsewhere] == 0.9
    assert told[2, elsewhere] == 0.0


def test_a_note_without_candidates_has_none(rescoring_tagger: Tagger) -> None:
    assert rescoring_tagger.rescorer is not None
    assert rescoring_tagger.rescorer.rescored("nothing here", []) == []
    assert rescoring_tagger.find(Document("x", "")) == []


def test_trees_say_what_scikit_learn_says() -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(400, 6))
    learner = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(
        rows, rows[:, 0] * rows[:, 1] > rows[:, 2]
    )
    trees = flattened(learner)
    others = rng.normal(size=(300, 6))
    np.testing.assert_allclose(trees.logits(others), learner.decision_function(others), rtol=0, atol=1e-12)


def test_properties_are_of_the_line_and_spell_no_number() -> None:
    text = "Fax: 12\nTel. (Praxis): 0441 36 und mehr"
    told = properties(text, text.index("0441"), text.index(" und"), "PHONE")
    assert "head PHONE ( praxis )" in told
    assert "first PHONE 0000" in told
    assert "behind PHONE und" in told
    assert not any("41" in name for name in told[:-2])


def test_it_finds_what_it_was_trained_for_and_is_sure(rescoring_tagger: Tagger, corpus: list[Document]) -> None:
    for document in corpus:
        found = rescoring_tagger.find(document)
        assert [(s.start, s.end, s.category) for s in found] == [(s.start, s.end, s.category) for s in document.spans]
        assert all(span.score is not None and span.score > 0.4 for span in found)


def test_the_dial_takes_more_and_a_probability_fewer(rescoring_tagger: Tagger) -> None:
    text = "Ana Ruiz came with Tom, seen by Lee on 3 May, 4711 or 12 and Bea Shah. Dr. Fox 99 said May."

    def count(**changed: float) -> int:
        return sum(map(len, dataclasses.replace(rescoring_tagger, **changed).find(Document("x", text))))  # type: ignore[arg-type]

    turned = [count(bias=float(bias)) for bias in (-4, 0, 4)]
    assert turned == sorted(turned)
    assert turned[0] < turned[-1]
    assert count(span_probability=0.99) <= count(span_probability=0.02)


def test_a_folder_holds_it_and_finds_the_same(rescoring_tagger: Tagger, corpus: list[Document], tmp_path: Path) -> None:
    rescoring_tagger.save(tmp_path / "m")
    again = Tagger.load(tmp_path / "m")
    assert again.rescorer is not None
    assert again.rescorer.habits == rescoring_tagger.rescorer.habits  # type: ignore[union-attr]
    assert again.description["options"]["rescore"] == 3
    for document in corpus:
        assert [(s.start, s.end, s.score) for s in again.find(document)] == [
            (s.start, s.end, s.score) for s in rescoring_tagger.find(document)
        ]
    path = tmp_path / "m" / "rescoring.json"
    path.write_bytes(path.read_bytes().replace(b"1", b"2", 1))
    with pytest.raises(ModelError, match="was changed"):
        Tagger.load(tmp_path / "m")


def test_strings_of_few_notes_are_not_kept_and_the_audit_asks_for_them(corpus: list[Document], tmp_path: Path) -> None:
    rare = dataclasses.replace(OPTIONS, min_documents=1)
    held = train(corpus, FeatureSet("default", "rac"), rare, name="rare")
    held.save(tmp_path / "m")
    listed = [name for name, _ in audit_model(tmp_path / "m", 3).rare]
    assert any(name.startswith("rescoring:") for name in listed)
    assert held.rescorer is not None
    kept = train(corpus, FeatureSet("default", "rac"), OPTIONS, name="kept").rescorer
    assert kept is not None
    assert min(habit.documents for habit in kept.habits.values()) >= 3
    assert len(kept.habits) < len(held.rescorer.habits)


def test_training_twice_gives_the_same_bytes(rescoring_tagger: Tagger, corpus: list[Document]) -> None:
    again = train(list(reversed(corpus)), FeatureSet("default", "rac"), OPTIONS, name="twice").rescorer
    assert again is not None
    assert rescoring_tagger.rescorer is not None
    assert set(again.habits) == set(rescoring_tagger.rescorer.habits)
    same = train(corpus, FeatureSet("default", "rac"), OPTIONS, name="twice").rescorer
    assert same is not None
    assert same.write() == rescoring_tagger.rescorer.write()


@pytest.mark.parametrize(
    "change",
    [
        {"categories": 3},
        {"trees": {}},
        {"habits": {"x": [1]}},
        {"feature": [999]},
        {"left": [-1]},
        {"roots": [50_000]},
        {"value": [0.0] * 7},
        {"depth": -1},
        {"base": float("nan")},
    ],
)
def test_what_is_no_rescorer_is_refused(change: dict[str, object], rescoring_tagger: Tagger) -> None:
    assert rescoring_tagger.rescorer is not None
    content = json.loads(rescoring_tagger.rescorer.write())
    for name, value in change.items():
        if name in content:
            content[name] = value
        elif isinstance(value, list) and name != "value":
            content["trees"][name] = value + content["trees"][name][1:]
        else:
            content["trees"][name] = value
    with pytest.raises(ValueError, match=r"no|arrays"):
        rescoring.read(json.dumps(content).encode())


ODD = [None, -1, 0, 2**70, 1e308, float("nan"), float("inf"), "x", [], {}, [[1]], True, 10**6]


@given(changes=st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(ODD), st.booleans()), min_size=1, max_size=3))
@settings(max_examples=300)
def test_whatever_a_file_holds_is_refused_or_gives_probabilities(changes: list[tuple[int, object, bool]]) -> None:
    """A scalar for an array, or a habit seen -1 times, ended in a traceback."""
    trees = rescoring.Trees(*map(np.array, ([0, 0, 0], [0.0] * 3, [1, 1, 2], [2, 1, 2], [0.0, 1.0, -1.0], [0])), 1, 0.0)
    names = properties("Mr. Smith came", 4, 9, "PATIENT")
    content = json.loads(Rescorer(("PATIENT",), dict.fromkeys(names, Habit(1, 2, 3)), trees).write())
    for at, value, gone in changes:
        places = [(content, name) for name in content]
        for holder, name in places:  # grows meanwhile
            held = holder[name]
            keys = list(held) if isinstance(held, dict) else range(len(held)) if isinstance(held, list) else ()
            places += [(held, key) for key in keys]
        if not places:
            continue
        holder, name = places[at % len(places)]
        if gone:
            del holder[name]
        else:
            holder[name] = copy.deepcopy(value)
    try:
        read = rescoring.read(json.dumps(content).encode())
    except ValueError:
        return
    assert all(0 <= p <= 1 for *_, p in read.rescored("Mr. Smith came", [(4, 9, "PATIENT", 0.7)]))


def test_where_all_candidates_are_spans_nothing_is_learnt() -> None:
    notes = [marked(f"seen by [Abel{'x' * i}] today") for i in range(4)]
    rescorer = learn_rescorer(notes, [0, 0, 1, 1], every_capital, 1)  # type: ignore[arg-type]
    assert chances(rescorer, "seen by Reed today") == {"Reed": pytest.approx(0.95, abs=0.01)}
    assert rescorer.habits["before DOCTOR by"] == Habit(4, 4, 4)


@pytest.mark.parametrize(
    "options",
    [{"rescore": 1}, {"rescore": -2}, {"rescore": 4, "algorithm": "memm"}, {"rescore": 4, "scheme": "BIOES"}],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        TrainingOptions(**options)  # type: ignore[arg-type]


def test_more_parts_than_notes_are_refused(corpus: list[Document]) -> None:
    with pytest.raises(ConfigError, match="fewer documents"):
        train(corpus[:3], FeatureSet("default", "c"), TrainingOptions(iterations=2, rescore=4))
