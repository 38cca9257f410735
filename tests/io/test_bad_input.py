"""Whatever a file holds: it is read, or an error says where and what to do, and no error repeats what it holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from formats import SECRET, read_all, silent
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import json_values

from deid.base.errors import DeidError, FormatError
from deid.document import Document, Failure, Span
from deid.io import FORMATS, check_output, open_writer, read, scan, write


@pytest.mark.parametrize("name", ["jsonl", "prodigy", "doccano", "labelstudio"])
@settings(max_examples=60)
@given(
    record=st.dictionaries(
        st.sampled_from(["text", "id", "spans", "label", "entities", "data", "annotations", "predictions", SECRET]),
        json_values()
        | st.lists(
            st.dictionaries(
                st.sampled_from(["start", "end", "label", "text", "result", "attributes", "score", "id"]), json_values()
            ),
            max_size=2,
        ),
    )
)
def test_records_of_any_shape_are_documents_or_errors(name: str, record: dict[str, object]) -> None:
    content = (json.dumps(record) + "\n").encode()
    (item,) = read_all(FORMATS[name], {".jsonl": content})
    assert isinstance(item, Document | DeidError)


def test_labels_of_files_are_masked_in_messages(tmp_path: Path) -> None:
    """An element's name or a type comes from the file and may be anything."""
    contents = {
        "a.xml": f'<deIdi2b2><TEXT>abc</TEXT><TAGS><X start="0" end="1" TYPE="{SECRET}"/></TAGS></deIdi2b2>',
        "b.sgml": f"<{SECRET} {SECRET}>",
        "c.sgml": f"</{SECRET}>",
        "d.jsonl": json.dumps({"text": "a", "spans": [[0, 5, SECRET]]}),
        "e.xml": f'<ROOT><RECORD ID="{SECRET}"><TEXT><PHI TYPE="{SECRET}">x</PHI></TEXT></RECORD></ROOT>',
        "f.csv": f"{SECRET},{SECRET}\n1,2\n",
        "g.jsonl": json.dumps({SECRET: 1}) + "\n{" + SECRET,
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        failures = [item for item in read(tmp_path / name) if isinstance(item, Failure)]
        assert failures, name
        assert all(silent(failure.error) and "Zzyzx" not in repr(failure) for failure in failures), name


def test_file_names_ids_and_fields_are_masked_in_messages(tmp_path: Path) -> None:
    folder = tmp_path / SECRET
    (folder / f"{SECRET} ward").mkdir(parents=True)
    (folder / f"{SECRET} ward" / f"{SECRET}_1960.txt").write_bytes(b"\xff\xfe\x00")
    (folder / f"{SECRET}.txt").write_text(SECRET)
    (folder / f"x.{SECRET}").write_text(SECRET)
    source = scan(folder, "text")
    shown = [*map(repr, source.documents()), repr(source), *source.remarks()]
    failures = [item for item in source.documents() if isinstance(item, Failure)]
    assert len(failures) == 1
    assert failures[0].path.endswith("1960.txt")
    hostile = [
        Document(f"../{SECRET}", "x"),
        Document(f"/{SECRET}", "x"),
        Document(f".{SECRET}", "x"),
        Document(SECRET * 40, "x"),
        Document(SECRET, "\ud800"),
        Document(SECRET, "x", (Span(0, 1, SECRET),)),
        Document("", "x"),
    ]
    found = write(hostile, tmp_path / "out", "i2b2-2014")
    assert found.documents == 0
    assert not list((tmp_path / "out").rglob("*")) if (tmp_path / "out").exists() else True
    found.failures += write(
        [Document(SECRET, "x", (), {SECRET: object()}), Document("a", "x", (), {"text": SECRET})],
        tmp_path / "out.jsonl",
        "jsonl",
    ).failures
    assert len(found.failures) == 9
    shown += [f"{f!r} {f.error} {f.error!r}" for f in [*failures, *found.failures]]
    assert "Zzyzx" not in " ".join(shown)
    with open_writer(tmp_path / "two.txt", "text") as writer:
        writer.write(Document(SECRET, "x"))
        with pytest.raises(DeidError) as caught:
            writer.write(Document(f"{SECRET}2", "x"))
    assert silent(caught.value)
    with pytest.raises(DeidError) as caught:
        check_output(folder, folder / "out")
    assert silent(caught.value)


def _packed(member: str) -> bytes:
    import io
    import zipfile

    with io.BytesIO() as stream:
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("[Content_Types].xml", "x")
            archive.writestr(member, "y")
        return stream.getvalue()


@pytest.mark.parametrize("suffix", ["", ".txt", "own"])
@pytest.mark.parametrize(
    ("own", "content", "said"),
    [
        (".pdf", b"%PDF-1.4\n", "PDF"),
        (".pptx", _packed("ppt/presentation.xml"), "PowerPoint"),
        (".xlsx", _packed("xl/workbook.xml"), "a part that is not known|XML"),
        (".ods", _packed("opendocument.spreadsheet"), "OpenDocument spreadsheet.*CSV"),
        (".rtf", b"{\\rtf1 x", "cut off"),
        (".doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "doc, xls"),
        (".zip", _packed("note.txt"), "zip archive"),
    ],
)
def test_office_documents_are_named_as_what_they_are(
    own: str, content: bytes, said: str, suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"scan{own if suffix == 'own' else suffix}"
    path.write_bytes(content)
    try:
        failures = [item for item in scan(path).documents() if isinstance(item, Failure)]
        message = str(failures[0].error)
    except FormatError as error:
        message = str(error)
    assert re.search(said, message, re.DOTALL)


def test_a_folder_without_notes_says_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="holds no file"):
        scan(tmp_path)
    (tmp_path / "a.gz").write_bytes(b"\x1f\x8b")
    (tmp_path / "b.zip").write_bytes(b"PK\x03\x04")
    with pytest.raises(FormatError, match=r"1 \.gz, 1 \.zip"):
        scan(tmp_path)
