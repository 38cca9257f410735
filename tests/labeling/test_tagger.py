"""Training, finding, saving and loading taggers; the audit of what a model stores."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

from deid.base.errors import ConfigError, ModelError, OutputError
from deid.document import Document, Span
from deid.features import FeatureSet
from deid.labeling.audit import audit_model, export_model
from deid.labeling.kernels import marginals
from deid.labeling.tagger import Tagger, load_model, train
from deid.labeling.training import TrainingOptions, corpus_checksum, prepare


def found(tagger: Tagger, document: Document) -> list[tuple[str, str]]:
    return [(document.text[s.start : s.end], s.category) for s in tagger.find(document)]


UNSEEN = Document("x", "Name: Tom Abel. MRN 99123, seen by Dr. Pohl on 7 May 2031. Chest pain for 2 days.\n")
EXPECTED = [("Tom Abel", "PATIENT"), ("99123", "MEDICALRECORD"), ("Pohl", "DOCTOR"), ("7 May 2031", "DATE")]


@pytest.mark.parametrize("fixture", ["small_tagger", "small_hide_tagger"])
def test_a_trained_tagger_finds_what_it_has_not_seen(fixture: str, request: pytest.FixtureRequest) -> None:
    assert found(request.getfixturevalue(fixture), UNSEEN) == EXPECTED


@pytest.mark.parametrize("end", ["\r\n", "\r", "\u2028"])
def test_labels_stand_in_the_text_as_it_is_written(small_tagger: Tagger, end: str) -> None:
    """A line end of two characters is read as one, and offsets count both."""
    plain = UNSEEN.text.replace(". ", ".\n") * 2
    labels, starts, ends = small_tagger.label(plain)
    text = plain.replace("\n", end)
    again, first, last = small_tagger.label(text)
    assert again == labels
    assert [text[a:b] for a, b in zip(first, last, strict=True)] == [
        plain[a:b].replace("\n", end) for a, b in zip(starts, ends, strict=True)
    ]


def test_spans_say_who_found_them_and_how_sure(small_tagger: Tagger) -> None:
    import dataclasses

    spans = dataclasses.replace(small_tagger, scores=True).find(UNSEEN)
    assert {s.source for s in spans} == {"model:small"}
    assert all(s.score is not None and 0.3 < s.score <= 1 for s in spans)
    assert all(s.score is None for s in small_tagger.find(UNSEEN))


def test_the_dial_raises_recall(small_tagger: Tagger, corpus: list[Document]) -> None:
    def covered(bias: float) -> int:
        return sum(len(s) for d in corpus for s in small_tagger.dial(bias).find(d))

    assert covered(-8) < covered(0) < covered(8)
    assert small_tagger.dial(0.0).find(UNSEEN) == small_tagger.find(UNSEEN)


def test_naive_bayes_agrees_with_scikit_learn(corpus: list[Document]) -> None:
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.naive_bayes import MultinomialNB

    features = FeatureSet("hide", "ra")
    data = prepare(corpus, features, TrainingOptions(algorithm="naive-bayes"))
    rows, labels = [], []
    for x, y in data.sequences():
        rows += x
        labels += y
    vectorizer = DictVectorizer()
    reference = MultinomialNB(alpha=1.0).fit(vectorizer.fit_transform(rows), labels)
    tagger = train(corpus, features, TrainingOptions(algorithm="naive-bayes"))
    expected = reference.predict(vectorizer.transform(features.expand(features.encode(UNSEEN.text))))
    assert tagger.label(UNSEEN.text)[0] == expected.tolist()


def test_stochastic_gradient_learns_and_repeats(corpus: list[Document]) -> None:
    options = TrainingOptions(algorithm="sgd", iterations=10, seed=2)
    losses: list[float] = []
    tagger = train(corpus, FeatureSet("default", "rac"), options, report=lambda _, loss: losses.append(loss))
    assert found(tagger, UNSEEN) == EXPECTED
    assert losses[-1] < losses[0] / 10
    again = train(corpus, FeatureSet("default", "rac"), options)
    assert (again.decoder.weights.state == tagger.decoder.weights.state).all()


def test_what_is_in_doubt_is_flagged(small_tagger: Tagger, corpus: list[Document]) -> None:
    outside = small_tagger.labels.index("O")
    for document in corpus[:5]:
        emissions, _, _ = small_tagger.decoder.scores(document.text)
        chance = marginals(np.array(emissions), small_tagger.decoder.weights.transition)[:, outside]
        plain, _, _ = small_tagger.label(document.text)
        for doubt in (0.3, 0.9, 0.999, 1.0):
            labels, _, _ = dataclasses.replace(small_tagger, doubt=doubt).label(document.text)
            for before, after, p in zip(plain, labels, chance.tolist(), strict=True):
                assert (after != "O") == (before != "O" or p <= doubt)
                assert before in ("O", after)


def test_margins_make_a_tagger_that_flags_more(corpus: list[Document]) -> None:
    def flagged(**margins: float) -> int:
        options = TrainingOptions(iterations=4, margins=tuple(margins.items()))
        tagger = train(corpus[:8], FeatureSet("hide", "ra"), options)
        return sum(span.category == "DATE" for d in corpus[8:] for span in tagger.find(d))

    assert flagged() < flagged(PHI=6) <= flagged(PHI=6, DATE=9)
    with pytest.raises(ConfigError, match="no span has the category"):
        flagged(WARD=2)


def test_rejection_sampling_changes_the_classes_naive_bayes_expects(corpus: list[Document]) -> None:
    options = TrainingOptions(algorithm="naive-bayes", acceptance=(("O", 0.05),), accepted=2000, seed=1)
    weights = train(corpus, FeatureSet("hide", "ra"), options).decoder.weights
    plain = train(corpus, FeatureSet("hide", "ra"), TrainingOptions(algorithm="naive-bayes")).decoder.weights
    assert weights.prior[weights.labels.index("O")] < plain.prior[plain.labels.index("O")]


def test_window_sampling_drops_tokens_but_not_their_features(corpus: list[Document]) -> None:
    data = prepare(corpus, FeatureSet("default", "c"), TrainingOptions(window=0, min_documents=1))
    rows, labels = next(data.sequences())
    assert "O" not in labels
    assert any("PREV0_Dr" in row or "PREV1_Dr" in row for row in rows)
    split = prepare(corpus, FeatureSet("default", "c"), TrainingOptions(window=0, split_at_gaps=True))
    assert len(list(split.sequences())) == 4 * len(corpus)


def test_o_sampling_follows_the_seed(corpus: list[Document]) -> None:
    def kept(seed: int) -> list[list[str]]:
        data = prepare(corpus, FeatureSet("hide", "r"), TrainingOptions(o_sampling=0.3, seed=seed))
        return [labels for _, labels in data.sequences()]

    assert kept(1) == kept(1) != kept(2)


def test_training_twice_gives_the_same_bytes(corpus: list[Document]) -> None:
    options = TrainingOptions(iterations=10, o_sampling=0.5, seed=4)
    once, twice = (train(corpus, FeatureSet("default", "rac"), options) for _ in range(2))
    assert once.crfsuite == twice.crfsuite


def test_words_of_few_documents_are_not_stored(corpus: list[Document]) -> None:
    rare = Document("rare", "Name: Zbigniewa Qxyz. " + corpus[0].text, ())
    tagger = train([*corpus, rare], FeatureSet("default", "rac"), TrainingOptions(iterations=5, min_documents=2))
    stored = tagger.crfsuite or b""
    assert b"Zbigniewa" not in stored
    assert b"zbigniewa" not in stored
    assert b"Zbign" not in stored
    assert b"PREV0_Dr" in stored


def test_a_patient_s_words_are_not_stored_however_many_notes_he_has(corpus: list[Document]) -> None:
    """Copies of a note are one note; of several notes of a patient training must be told."""
    options, features = TrainingOptions(iterations=5, min_documents=3, rescore=2), FeatureSet("default", "rac")
    visits = [
        Document(f"7-{n}", f"Name: Zbigniewa Qxyz.\n{corpus[n].text}", (Span(6, 20, "PATIENT"),)) for n in range(4)
    ]
    copies = [Document(f"copy-{n}", visits[0].text, visits[0].spans) for n in range(4)]
    whose = [document.id for document in corpus]
    stored = {
        name: {key for key in {**tagger.lexicon, **tagger.rescorer.lexicon()} if "zbign" in key.casefold()}
        for name, tagger in {
            "visits": train([*corpus, *visits], features, options),
            "copies": train([*corpus, *copies], features, options),
            "a patient's visits": train([*corpus, *visits], features, options, groups=[*whose, *["7"] * 4]),
        }.items()
        if tagger.rescorer is not None
    }
    assert stored["visits"]
    assert not stored["copies"]
    assert not stored["a patient's visits"]


def test_weights_of_what_few_documents_have_must_be_larger(corpus: list[Document]) -> None:
    features, options = FeatureSet("default", "rac"), TrainingOptions(min_documents=1, prune=0.05)
    rarely = dataclasses.replace(options, prune_rare=1.0)
    items = prepare(corpus, features, options).items
    documents = dict(zip(items.attributes, items.documents.tolist(), strict=True))
    all_kept, kept = (train(corpus, features, chosen).decoder.weights for chosen in (options, rarely))
    for name, row in all_kept.attributes.items():
        weights = all_kept.state[row]
        least = max(0.05, 1.0 / documents[name] ** 0.5)
        wanted = np.where(np.abs(weights) < least, 0.0, weights)
        found = kept.state[kept.attributes[name]] if name in kept.attributes else np.zeros(len(weights))
        assert found == pytest.approx(wanted, abs=1e-6)
    assert len(kept.attributes) < len(all_kept.attributes)


def test_audit_lists_rare_words_and_export_asks_for_it(corpus: list[Document], tmp_path: Path) -> None:
    options = TrainingOptions(iterations=5, min_documents=1, drop=0.0)
    train([*corpus, Document("r", "Qxyz saw", ())], FeatureSet("default", "c"), options, name="m").save(tmp_path / "m")
    with pytest.raises(ModelError, match="not audited"):
        export_model(tmp_path / "m", tmp_path / "out")
    audit = audit_model(tmp_path / "m", 3)
    assert ("LW_qxyz", 1) in audit.rare
    with pytest.raises(ModelError, match="few training documents"):
        export_model(tmp_path / "m", tmp_path / "out")
    audit_model(tmp_path / "m", 3, accept=True)
    export_model(tmp_path / "m", tmp_path / "out")
    assert load_model(tmp_path / "out").labels == load_model(tmp_path / "m").labels


def test_a_clean_model_is_exported_after_its_audit(small_tagger: Tagger, tmp_path: Path) -> None:
    small_tagger.save(tmp_path / "m")
    assert audit_model(tmp_path / "m").rare == ()
    export_model(tmp_path / "m", tmp_path / "out")
    with pytest.raises(OutputError, match="not empty"):
        export_model(tmp_path / "m", tmp_path / "out")


@pytest.mark.parametrize("name", ["weights.crfsuite", "lexicon.tsv", "tagger.json"])
def test_a_changed_file_is_refused(name: str, small_tagger: Tagger, tmp_path: Path) -> None:
    small_tagger.save(tmp_path / "m")
    path = tmp_path / "m" / name
    data = path.read_bytes()
    path.write_bytes(data.replace(b"small", b"other") if name == "tagger.json" else data[:-1] + b"?")
    with pytest.raises(ModelError, match="was changed"):
        Tagger.load(tmp_path / "m")
    path.unlink()
    with pytest.raises(ModelError, match=r"missing|no model"):
        Tagger.load(tmp_path / "m")


def test_weights_that_are_no_crfsuite_file_are_refused(small_tagger: Tagger, tmp_path: Path) -> None:
    """Even with checksums that agree, as in a folder that somebody forged."""
    from deid.labeling import model_folder

    small_tagger.save(tmp_path / "m")
    (tmp_path / "m" / "weights.crfsuite").write_bytes(small_tagger.crfsuite[:2000])  # type: ignore[index]
    model_folder.write_description(tmp_path / "m", small_tagger.description)
    with pytest.raises(ModelError, match="no complete CRFsuite model"):
        Tagger.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": ["O", "B-X"]}, "other labels"),
        ({"features": {"preset": "default"}}, "incomplete"),
        (
            {"features": {"preset": "x", "groups": "r", "dictionaries": [], "skip_punct": False}},
            "unknown feature preset",
        ),
        ({"dictionaries": {"names/last": "00"}}, "word lists differ"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(
    change: dict[str, object], message: str, small_tagger: Tagger, tmp_path: Path
) -> None:
    from deid.labeling import model_folder

    small_tagger.save(tmp_path / "m")
    model_folder.write_description(tmp_path / "m", {**small_tagger.description, **change})
    with pytest.raises(ModelError, match=message):
        Tagger.load(tmp_path / "m")


def test_another_format_version_is_refused(
    small_tagger: Tagger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deid.labeling import model_folder

    small_tagger.save(tmp_path / "m")
    monkeypatch.setattr(model_folder, "FORMAT", 99)
    with pytest.raises(ModelError, match="format 1, this version reads 99"):
        Tagger.load(tmp_path / "m")


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no tagger\.json"):
        load_model(tmp_path)
    with pytest.raises(ModelError, match="no model 'nowhere'"):
        load_model("nowhere")


def test_a_model_is_never_written_over_something(small_tagger: Tagger, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "file").touch()
    with pytest.raises(OutputError, match="not empty"):
        small_tagger.save(tmp_path / "m")


def test_a_corpus_without_spans_is_refused() -> None:
    with pytest.raises(ConfigError, match="no annotated span"):
        prepare([Document("a", "text")], FeatureSet(), TrainingOptions())


def test_the_checksum_tells_texts_ids_and_spans_apart(corpus: list[Document]) -> None:
    base = corpus_checksum(corpus)
    assert base == corpus_checksum(list(corpus))
    assert base != corpus_checksum(corpus[:-1])
    assert base != corpus_checksum([corpus[0].with_spans(()), *corpus[1:]])
    assert base != corpus_checksum(corpus[::-1])


def test_the_description_says_how_the_model_was_made(small_tagger: Tagger, tmp_path: Path) -> None:
    small_tagger.save(tmp_path / "m")
    saved = json.loads((tmp_path / "m" / "tagger.json").read_text())
    assert saved["corpus"]["documents"] == 30
    assert saved["corpus"]["spans_off_token_borders"] == 0
    assert saved["options"]["seed"] == 0
    assert re.fullmatch(r"[0-9a-f]{64}", saved["corpus"]["checksum"])
