"""DocBin files as spaCy reads and writes them."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from deid.base.errors import FormatError
from deid.document import Document, Span
from deid.io import FORMATS, Options

FORMAT = FORMATS["docbin"]


def parse(data: bytes) -> list[Any]:
    return list(FORMAT.read({".spacy": BytesIO(data)}, Options()))


def test_spacy_finds_every_span_even_inside_words() -> None:
    """Tokens are cut where an annotation begins or ends, also at a blank."""
    text = "una nieta de 3 años, Dr. Lee  "
    spans = (Span(4, 8, "FAMILY"), Span(8, 9, "REST"), Span(13, 20, "AGE"), Span(20, 25, "X"), Span(24, 30, "DOCTOR"))
    stream = BytesIO()
    sink = FORMAT.write({".spacy": stream}, Options())
    sink.add(Document("n", text, spans))
    sink.finish()
    (doc,) = DocBin().from_bytes(stream.getvalue()).get_docs(Vocab())
    assert doc.text == text
    assert [(s.text, s.label_) for s in doc.spans["phi"]] == [(text[s.start : s.end], s.category) for s in spans]
    assert [token.text for token in doc][:5] == ["una", "niet", "a", "de", "3"]


def test_documents_of_others_are_read() -> None:
    """From doc.spans["phi"], else from doc.ents."""
    vocab = Vocab()
    grouped = Doc(vocab, words=["Ann", "Lee"], spaces=[True, False])
    grouped.spans["phi"] = [grouped.char_span(0, 7, label="PATIENT"), grouped.char_span(0, 3, label="GIVEN")]
    entities = Doc(vocab, words=["Ann", "Lee"], spaces=[True, False], ents=["B-PATIENT", "I-PATIENT"])
    assert parse(DocBin(docs=[grouped, entities]).to_bytes()) == [
        Document("", "Ann Lee", (Span(0, 7, "PATIENT"), Span(0, 3, "GIVEN"))),
        Document("", "Ann Lee", (Span(0, 7, "PATIENT"),)),
    ]


def test_annotations_that_another_program_changed_are_read_as_they_are() -> None:
    stream = BytesIO()
    sink = FORMAT.write({".spacy": stream}, Options())
    sink.add(Document("n", "Ann Lee", (Span(0, 3, "PATIENT", "P0"),), {"ward": 3}))
    sink.finish()
    (doc,) = DocBin().from_bytes(stream.getvalue()).get_docs(Vocab())
    doc.spans["phi"] = [doc.char_span(0, 3, label="A"), doc.char_span(4, 7, label="B")]
    again = DocBin(docs=[doc], store_user_data=True).to_bytes()
    assert parse(again) == [Document("n", "Ann Lee", (Span(0, 3, "A"), Span(4, 7, "B")), {"ward": 3})]


@pytest.mark.parametrize("data", [b"", b"junk", b"x\x9cjunk"])
def test_files_that_are_no_docbin_are_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        parse(data)


def test_a_truncated_file_is_refused() -> None:
    data = DocBin(docs=[Doc(Vocab(), words=["Ann"])]).to_bytes()
    with pytest.raises(FormatError):
        parse(data[:-10])
