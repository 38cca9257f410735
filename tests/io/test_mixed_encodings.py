"""A folder of files in several encodings: each is read as it was written, or fails by name."""

from __future__ import annotations

import io
import itertools
from pathlib import Path

import pytest
from commands import attempt
from hypothesis import example, given
from hypothesis import strategies as st

from deid.base.errors import EncodingError
from deid.document import Document, Failure
from deid.io import read
from deid.io.encoding import check_encodings, decode, looks_misread, settle

TEXTS = (
    "Patient: José Müller seen 3/14/2019\n",
    "Patient: Zoë Müller-Çelik (wife Renée)\n",
    "Patient: Ann Baker, MRN 4711203\n",
)
NAMED = (
    "utf-8",
    "cp1252",
    "latin-1",
    "mac-roman",
    "utf-16",
    "cp037",
    "utf-8,cp1252",
    "cp1252,utf-8",
    "utf-8,utf-16,cp1252",
)
FORMATS = ("text", "jsonl", "csv")


def _put(folder: Path, format: str, name: str, text: str, encoding: str) -> None:
    line = text.rstrip("\n")
    content = {
        "text": text,
        "jsonl": f'{{"id": "{name}", "text": "{line}"}}\n',
        "csv": f'id,text\n{name},"{line}"\n',
    }[format]
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.{'txt' if format == 'text' else format}").write_bytes(content.encode(encoding))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("named", NAMED)
def test_utf_8_is_read_as_utf_8_or_fails_by_name(tmp_path: Path, format: str, named: str) -> None:
    for number, (text, encoding) in enumerate(itertools.product(TEXTS, ("utf-8", "cp1252"))):
        _put(tmp_path / "in", format, f"n{number}", text, encoding)
    items = list(read(tmp_path / "in", format, encoding=named))
    assert len(items) == 6
    for item, (text, encoding) in zip(items, itertools.product(TEXTS, ("utf-8", "cp1252")), strict=True):
        if isinstance(item, Failure):
            assert isinstance(item.error, EncodingError)
            assert "n" in item.path
            assert text.isascii() <= (named in ("utf-16", "cp037"))
        elif named not in ("latin-1", "mac-roman") or encoding == "utf-8":
            assert item.text.strip() == text.strip()
    fits = {i for i, item in enumerate(items) if isinstance(item, Document)}
    if "," in named:
        assert fits == set(range(6))
    if named == "utf-8":
        assert fits == {0, 2, 4, 5}
    if named in ("utf-16", "cp037"):
        assert not fits


@given(
    st.lists(st.sampled_from(["é", "ü", "Ç", "ž", "“", "—", "中", "a", "B", " ", "\n", ".", "’s"]), max_size=30).map(
        "".join
    ),
    st.sampled_from(
        ["cp1252", "latin-1", "cp1250", "mac-roman", "iso8859-15", "shift_jis", "utf-16", "utf-16-be", "cp500"]
    ),
)
@example("Muller", "utf-16-le")
def test_no_utf_8_is_read_as_anything_else(text: str, encoding: str) -> None:
    data = text.encode()
    plain = text.isascii() and not encoding.startswith(("utf-16", "cp500"))
    try:
        found = decode(data, check_encodings(encoding))
    except EncodingError:
        assert data
        assert not plain
    else:
        assert plain or not data
        assert found == text
    assert decode(data, f"{encoding},utf-8") == decode(data, f"utf-8,{encoding}") == text
    assert settle(io.BytesIO(data), f"{check_encodings(encoding)},utf-8") == (
        check_encodings(encoding) if plain or not data else "utf-8"
    )


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "mac-roman"])
def test_what_was_misread_is_told_from_what_was_not(encoding: str) -> None:
    for text in TEXTS[:2]:
        assert looks_misread(text.encode().decode(encoding, "replace"))
        assert not looks_misread(text)
    assert not looks_misread("“CAFÉ” 5 µg — ½ §, Ångström, naïve, Łódź, 中文, 37 °C ± 2")


def _folder(path: Path) -> Path:
    for number, (text, encoding) in enumerate(itertools.product(TEXTS, ("utf-8", "cp1252"))):
        _put(path, "text", f"n{number}", text, encoding)
    return path


COMMANDS = {
    "scrub": ("IN", "OUT", "--model", "none", "--policy", "redact"),
    "tag": ("IN", "OUT", "--model", "none", "--to", "jsonl"),
    "generalize": ("IN", "OUT", "--plausible", "4"),
    "convert": ("IN", "OUT", "--to", "jsonl"),
    "extract": ("IN", "OUT.csv", "--model", "none"),
    "evaluate": ("IN", "IN"),
    "watch": ("IN", "OUT", "--once", "--settle", "0", "--model", "none", "--policy", "redact"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_or_names(command: str, tmp_path: Path) -> None:
    words = [
        str({"IN": tmp_path / "in", "OUT": tmp_path / "out", "OUT.csv": tmp_path / "o.csv"}.get(word, word))
        for word in COMMANDS[command]
    ]
    _folder(tmp_path / "in")
    status, said = attempt(command, *words, "--encoding", "cp1252")
    assert status in (1, 3), said
    assert "misread as cp1252" in said or "EncodingError" in said
    written = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and p.parent.name == "out")
    assert "Ã".encode() not in written
    assert "Müller".encode() not in written or command in ("tag", "convert", "generalize")
    _folder(tmp_path / "in2")
    again = [word.replace("/in", "/in2").replace("/out", "/out2").replace("/o.csv", "/o2.csv") for word in words]
    status, said = attempt(command, *again, "--encoding", "utf-8,cp1252")
    assert status == 0, said


def test_the_output_has_the_encoding_that_is_asked_for(tmp_path: Path) -> None:
    notes, key = _folder(tmp_path / "in"), ("--key-file", tmp_path / "key")
    rules = ("--model", "none", "--keep", "filename", "--policy", "redact", *key)
    for name, encoding, wanted in (("a", "", "utf-8"), ("b", "cp1252", "cp1252"), ("c", "utf-16", "utf-16")):
        options = ("--output-encoding", encoding) if encoding else ()
        status, said = attempt("scrub", notes, tmp_path / name, *rules, "--encoding", "utf-8,cp1252", *options)
        assert status == 0, said
        assert "wife" in (tmp_path / name / "n2.txt").read_text(encoding=wanted)
        checked = ("--encoding", "utf-8,cp1252", "--model", "none", "--policy", "redact")
        status, said = attempt("verify", notes, tmp_path / name, *checked, *options, *key)
        assert status == 0, said
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "n.txt").write_text("Seen: 中 today.\n")
    status, said = attempt("scrub", tmp_path / "far", tmp_path / "d", *rules, "--output-encoding", "cp1252")
    assert status == 1
    assert "a character cannot be expressed in cp1252" in said
    assert "--output-encoding utf-8" in said


def test_verify_finds_names_that_were_misread(tmp_path: Path) -> None:
    broken = "Patient: José Müller seen today, well.\n".encode().decode("cp1252")
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "n1.txt").write_text(broken, encoding="utf-8")
    status, said = attempt("verify", tmp_path / "in", tmp_path / "out", "--no-detect")
    assert status == 1
    assert "was read as another encoding" in said
