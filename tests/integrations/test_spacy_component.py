"""The spaCy component: found by its entry point, covers what the tagger found, and travels without pickles."""

from __future__ import annotations

import pickle
import shutil
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy import displacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

import deid
from deid.base.errors import ConfigError, ModelError, OutputError
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document, Span
from deid.integrations.spacy_component import EXPANDED, DeidComponent
from deid.labeling.tagger import Tagger

ENGLISH = spacy.blank("en")


@pytest.fixture
def nlp(model: Path) -> Language:
    pipeline = spacy.blank("en")
    pipeline.add_pipe("deid", config={"model": str(model)})
    return pipeline


def phi(doc: Doc, key: str = "phi") -> list[tuple[int, int, str]]:
    return [(s.start_char, s.end_char, s.label_) for s in doc.spans[key]]


def gold(document: Document) -> list[tuple[int, int, str]]:
    return [(s.start, s.end, s.category) for s in document.spans]


def with_finder(spans: list[Span]) -> DeidComponent:
    """A component that finds the given spans, whatever the text."""

    class Finder:
        name = "fixed"
        categories = frozenset({"PATIENT"})

        def find(self, _: Document) -> list[Span]:
            return spans

    component = DeidComponent("deid", RecognizerOptions())
    component._recognizer = Finder()  # type: ignore[assignment]
    return component


def test_the_entry_point_makes_the_component(nlp: Language, corpus: list[Document], tagger: Tagger) -> None:
    doc = nlp(corpus[3].text)
    assert phi(doc) == gold(corpus[3])
    assert phi(doc) == [(s.start, s.end, s.category) for s in tagger.find(corpus[3])]
    assert {s.id_ for s in doc.spans["phi"]} == {"model:clinic"}
    assert doc.user_data[EXPANDED] == 0
    assert nlp.get_pipe("deid").labels == ("DATE", "DOCTOR", "PATIENT")


def test_it_finds_what_the_command_line_finds_with_the_same_options(model: Path, corpus: list[Document]) -> None:
    pipeline = spacy.blank("en")
    pipeline.add_pipe("deid", config={"model": str(model), "rules": True, "language": "en"})
    recognizer = build_recognizer(RecognizerOptions(model=str(model), rules=True, language="en"))
    text = corpus[0].text + "Call (617) 555-0199 or write to x.y@example.org.\n"
    expected = [(s.start, s.end, s.category) for s in recognizer.find(Document("", text))]
    assert phi(pipeline(text)) == expected
    assert {"PHONE", "EMAIL"} <= {category for _, _, category in expected}


def test_rules_alone_are_saved_without_a_model(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("deid", config={"model": "none"})
    nlp.to_disk(tmp_path / "nlp")
    assert not (tmp_path / "nlp" / "deid" / "model").exists()
    doc = spacy.load(tmp_path / "nlp")("Write to x.y@example.org")
    assert phi(doc) == [(9, 24, "EMAIL")]


def test_a_component_that_came_with_its_model_can_be_sent_to_a_process(nlp: Language, corpus: list[Document]) -> None:
    """As spaCy does where processes are spawned: the folder that the model was read from is gone by then."""
    component = DeidComponent("deid", RecognizerOptions(model="nowhere")).from_bytes(nlp.get_pipe("deid").to_bytes())
    sent = pickle.loads(pickle.dumps(component))
    assert phi(sent(ENGLISH.make_doc(corpus[0].text))) == gold(corpus[0])


def test_dial_and_key_come_from_the_configuration(model: Path, corpus: list[Document]) -> None:
    pipeline = spacy.blank("en")
    pipeline.add_pipe("deid", config={"model": str(model), "dial": -100, "spans_key": "private"})
    doc = pipeline(corpus[0].text)
    assert list(doc.spans) == ["private"]
    assert phi(doc, "private") == []


def test_a_span_inside_a_token_is_widened_and_counted() -> None:
    """spaCy keeps 01/02/1960x together; the tagger may find only the date in it."""
    doc = spacy.blank("en").make_doc("born 1960x, seen  by Li")
    assert "1960x" in [token.text for token in doc]
    with_finder([Span(5, 9, "DATE"), Span(21, 23, "DOCTOR")])(doc)
    assert phi(doc) == [(5, 10, "DATE"), (21, 23, "DOCTOR")]
    assert doc.user_data[EXPANDED] == 1


@given(
    text=st.text(alphabet="aB1 .,-'\n\tü😀\u0301", min_size=1, max_size=30),
    places=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=4),
)
def test_no_character_but_white_space_is_ever_left_out(text: str, places: list[tuple[int, int]]) -> None:
    doc = ENGLISH.make_doc(text)
    spans = [Span(start, end, "PATIENT") for start, end in places if start < end <= len(text)]
    with_finder(spans)(doc)
    covered = {i for start, end, _ in phi(doc) for i in range(start, end)}
    wanted = {i for span in spans for i in range(span.start, span.end) if not text[i].isspace()}
    assert wanted <= covered
    widened = sum(
        any(
            not text[i].isspace() and not span.start <= i < span.end
            for token in doc
            if token.idx < span.end and span.start < token.idx + len(token)
            for i in range(token.idx, token.idx + len(token))
        )
        for span in spans
    )
    assert doc.user_data[EXPANDED] >= widened


def test_empty_texts_and_texts_without_phi(nlp: Language) -> None:
    for text in ("", "   ", "No complaints."):
        doc = nlp(text)
        assert phi(doc) == []
        assert doc.user_data[EXPANDED] == 0


def test_spans_and_count_survive_a_docbin(nlp: Language, corpus: list[Document]) -> None:
    docs = list(nlp.pipe(d.text for d in corpus[:4]))
    data = DocBin(docs=docs, store_user_data=True).to_bytes()
    back = list(DocBin(store_user_data=True).from_bytes(data).get_docs(spacy.blank("en").vocab))
    assert [phi(doc) for doc in back] == [phi(doc) for doc in docs] == [gold(d) for d in corpus[:4]]
    assert [doc.text for doc in back] == [d.text for d in corpus[:4]]
    assert [doc.user_data[EXPANDED] for doc in back] == [0, 0, 0, 0]


def test_displacy_shows_the_spans(nlp: Language, corpus: list[Document]) -> None:
    doc = nlp(corpus[0].text)
    html = displacy.render(doc, style="span", options={"spans_key": "phi"}, jupyter=False)
    assert all(label in html for label in ("PATIENT", "DOCTOR", "DATE"))
    doc.spans["phi"] = [span for span in doc.spans["phi"] if span.label_ != "PATIENT"]
    assert "PATIENT" not in displacy.render(doc, style="span", options={"spans_key": "phi"}, jupyter=False)


@pytest.mark.parametrize("processes", [1, 2])
def test_pipe_gives_what_calls_give(processes: int, nlp: Language, corpus: list[Document]) -> None:
    texts = [d.text for d in corpus[:6]]
    docs = list(nlp.pipe(texts, n_process=processes, batch_size=2))
    assert [phi(doc) for doc in docs] == [phi(nlp(text)) for text in texts]
    assert [doc.user_data[EXPANDED] for doc in docs] == [0] * 6


def test_a_saved_pipeline_brings_its_model(model: Path, corpus: list[Document], tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "moved")
    nlp = spacy.blank("en")
    nlp.add_pipe("deid", config={"model": str(tmp_path / "moved"), "dial": 0.5, "spans_key": "p"})
    nlp.to_disk(tmp_path / "nlp")
    nlp.to_disk(tmp_path / "nlp")  # saving again overwrites, as everything in spaCy does
    expected = phi(nlp(corpus[0].text), "p")
    shutil.rmtree(tmp_path / "moved")
    loaded = spacy.load(tmp_path / "nlp")
    doc = loaded(corpus[0].text)
    assert phi(doc, "p") == expected
    assert expected
    assert {s.id_ for s in doc.spans["p"]} == {"model:moved"}
    assert loaded.get_pipe("deid").options.dial == "0.5"
    assert not [p for p in (tmp_path / "nlp").rglob("*") if p.suffix in (".pkl", ".pickle")]
    assert all(not p.read_bytes().startswith(b"\x80") for p in (tmp_path / "nlp" / "deid").rglob("*") if p.is_file())


def test_bytes_carry_the_model_and_are_the_same_each_time(nlp: Language, corpus: list[Document]) -> None:
    data = nlp.get_pipe("deid").to_bytes()
    assert data == nlp.get_pipe("deid").to_bytes()
    other = spacy.blank("en")
    other.add_pipe("deid", config={"model": "nowhere"})
    other.from_bytes(nlp.to_bytes())
    assert phi(other(corpus[0].text)) == gold(corpus[0])


def test_a_model_that_is_missing_stops_the_pipeline_at_its_first_document() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("deid", config={"model": "nowhere"})
    with pytest.raises(ModelError, match="no model 'nowhere'"):
        nlp("Name: Smith")
    with pytest.raises(ModelError, match="no model 'nowhere'"):
        nlp.initialize()


def test_a_saved_component_that_was_changed_is_refused(nlp: Language, tmp_path: Path) -> None:
    component = nlp.get_pipe("deid")
    component.to_disk(tmp_path)
    weights = tmp_path / "model" / "weights.crfsuite"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(ModelError, match="was changed"):
        component.from_disk(tmp_path)
    shutil.rmtree(tmp_path / "model")
    with pytest.raises(ModelError):
        component.from_disk(tmp_path)
    with pytest.raises(ModelError, match="incomplete"):
        component.from_disk(tmp_path / "nowhere")
    for name in ('"../evil"', '"none"', "{", '""'):
        component.to_disk(tmp_path)
        (tmp_path / "name.json").write_text(name)
        with pytest.raises(ModelError, match="incomplete"):
            component.from_disk(tmp_path)


def test_bytes_that_would_write_elsewhere_are_refused(nlp: Language, tmp_path: Path) -> None:
    component = nlp.get_pipe("deid")
    for name in ("../evil", "/tmp/evil", "model/../../evil", "model/sub/evil", "other.json"):
        archive = BytesIO()
        with zipfile.ZipFile(archive, "w") as parts:
            parts.writestr(name, b"x")
        with pytest.raises(ModelError, match="no saved component"):
            component.from_bytes(archive.getvalue())
    for data in (b"", b"PK", component.to_bytes()[:-100]):
        with pytest.raises(ModelError):
            component.from_bytes(data)


def test_a_folder_with_something_else_is_not_overwritten(nlp: Language, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "notes.txt").touch()
    with pytest.raises(OutputError, match="no model"):
        nlp.get_pipe("deid").to_disk(tmp_path)
    assert (tmp_path / "model" / "notes.txt").exists()


def test_an_empty_key_is_refused(model: Path) -> None:
    with pytest.raises(ConfigError, match="spans_key is empty"):
        spacy.blank("en").add_pipe("deid", config={"model": str(model), "spans_key": ""})


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Herr Dr. Jürgen Weiß kam am 3. Mai 2021 in die Klinik, Tel. 0171 5550142"),
        ("fr", "Mme Claire Fontanel, 58 ans, vue le 3 mai 2021 par le Dr Gagnon, tél. 06 12 34 56 78."),
        ("en", "Seen by Dr. Alice Baker on 3 May 2019, MRN 4471902; her son Tom called."),
    ],
)
def test_a_pipeline_is_read_in_its_language_and_saved_as_it_is(language: str, text: str) -> None:
    def found(nlp: Language) -> list[tuple[int, int, str, str]]:
        doc = nlp(text)
        return [(span.start_char, span.end_char, span.label_, span.id_) for span in doc.spans["phi"]]

    nlp, again = spacy.blank(language), spacy.blank(language)
    nlp.add_pipe("deid")
    again.add_pipe("deid")
    expected = {(span.start, span.end) for span in deid.find(text, language=language)}
    assert {span[:2] for span in found(nlp)} == expected
    recognizer = again.from_bytes(nlp.to_bytes()).get_pipe("deid")._recognizer
    assert found(again) == found(nlp)
    used = nlp.get_pipe("deid")._recognizer
    assert recognizer.fingerprint() == used.fingerprint()
    assert recognizer.tagger.bias == used.tagger.bias


def test_a_pipeline_of_several_languages_is_not_saved() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("deid", config={"language": "auto"})
    with pytest.raises(OutputError, match="name its language"):
        nlp.to_bytes()
