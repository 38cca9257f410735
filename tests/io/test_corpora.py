"""The development corpora in all their forms read alike, and survive every format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from deid.document import Document
from deid.io import read, scan, write


def load(place: Path, format: str | None = None) -> dict[str, Document]:
    found = list(read(place, format))
    assert all(isinstance(item, Document) for item in found)
    return {item.id: item for item in found if isinstance(item, Document)}


def triples(document: Document) -> list[tuple[int, int, str]]:
    return sorted((s.start, s.end, s.category) for s in document.spans)


@pytest.mark.parametrize(("part", "documents", "spans", "marks"), [("train", 500, 11333, 15), ("dev", 250, 5801, 7)])
def test_meddocan_xml_and_brat_agree(shared_data: Path, part: str, documents: int, spans: int, marks: int) -> None:
    folder = shared_data / "meddocan" / part
    assert (scan(folder / "xml").format.name, scan(folder / "brat").format.name) == ("meddocan", "brat")
    xml, brat = load(folder / "xml"), load(folder / "brat")
    assert len(xml) == documents
    assert sum(len(d.spans) for d in xml.values()) == spans
    assert sum(d.text.startswith("\ufeff") for d in xml.values()) == marks
    assert xml.keys() == brat.keys()
    for name, document in xml.items():
        assert document.text == brat[name].text
        assert {replace(s, id="") for s in document.spans} == {replace(s, id="") for s in brat[name].spans}
        assert not any(span.attributes for span in document.spans)


def test_english_xml_text_and_standoff_agree(shared_data: Path) -> None:
    """In eight documents the XML has LF where the others have CR LF; in four the text file begins with a BOM."""
    folder = shared_data / "english"
    gold, xml, txt = load(folder / "standoff.jsonl"), load(folder / "xml"), load(folder / "txt", "text")
    assert len(gold) == 283
    assert gold.keys() == xml.keys() == txt.keys()
    folded = marked = 0
    for name, document in gold.items():
        if document.text == xml[name].text:
            assert triples(document) == triples(xml[name])
        else:
            folded += 1
            assert document.text.replace("\r\n", "\n") == xml[name].text
            assert [s.category for s in document.spans] == [s.category for s in xml[name].spans]
        marked += txt[name].text != document.text
        assert txt[name].text.removeprefix("\ufeff") == document.text
    assert (folded, marked) == (8, 4)


def test_english_inline_forms_agree_with_the_gold(shared_data: Path) -> None:
    folder = shared_data / "english"
    gold = load(folder / "xml")
    sgml, records, notes = (load(folder / n) for n in ("inline-sgml", "i2b2-2006-style.xml", "physionet-style.txt"))
    assert (len(sgml), len(records), len(notes)) == (20, 100, 58)
    for name, document in [*sgml.items(), *records.items()]:
        assert document.text == gold[name].text
        assert {t[:2] for t in triples(document)} <= {t[:2] for t in triples(gold[name])}
    for name, document in sgml.items():
        assert [t[:2] for t in triples(document)] == [t[:2] for t in triples(gold[name])]
    by_text = {document.text: document for document in gold.values()}
    for document in notes.values():
        assert set(triples(document)) <= set(triples(by_text[document.text]))


@pytest.mark.parametrize("format", ["i2b2-2014", "jsonl", "labelstudio", "csv", "parquet", "docbin", "brat"])
def test_corpora_survive_every_format(shared_data: Path, tmp_path: Path, format: str) -> None:
    for corpus in ("meddocan/dev/brat", "english/xml"):
        place = tmp_path / corpus.split("/")[0]
        documents = load(shared_data / corpus)
        assert write(documents.values(), place, format).failures == []
        again = load(place, format)
        if format == "brat" and corpus == "english/xml":  # its ids are not brat's
            again = {
                k: d.with_spans(replace(s, id=o.id) for s, o in zip(d.spans, documents[k].spans, strict=True))
                for k, d in again.items()
            }
        assert again == documents


def test_everything_in_the_folders_is_read(shared_data: Path) -> None:
    for corpus in ("meddocan/dev/brat", "meddocan/dev/xml", "english/xml", "english/txt", "english/inline-sgml"):
        assert scan(shared_data / corpus).skipped == {}
