"""A site says its options once, in ``deid.toml``: commands find it, flags win, and a slip of the pen is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pages import call

from deid.base.cache import cache_folder

NOTE = "Seen by Dr. Alice Baker on 3 May 2019.\n"
REDACTED = "Seen by Dr. [NAME] on [DATE].\n"
SITE = 'policy = "redact"\nmodel = "none"\n'


@pytest.fixture(autouse=True)
def _site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/note.txt").write_text(NOTE)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("DEID_KEY", "ab" * 32)
    tables = cache_folder()
    if tables is not None:  # where the user's home has them
        monkeypatch.setenv("XDG_CACHE_HOME", str(tables.parent))
    monkeypatch.setenv("HOME", str(tmp_path))


def scrubbed(*flags: str) -> tuple[str, str]:
    """Scrub the note; return what came out, and what was said."""
    _, said, status, _ = call(["scrub", "../notes/note.txt", "out.txt", *flags])
    assert status == 0, said.decode()
    return Path("out.txt").read_text(), said.decode()


@pytest.mark.parametrize(
    ("place", "flags", "where"),
    [
        ("../notes/deid.toml", [], "options of deid.toml beside IN: model, policy"),
        ("deid.toml", [], "options of deid.toml here: model, policy"),
        ("mine.toml", ["--config", "mine.toml"], "options of --config: model, policy"),
    ],
)
def test_the_file_is_found_and_told(place: str, flags: list[str], where: str) -> None:
    Path(place).write_text(SITE)
    text, said = scrubbed(*flags)
    assert text == REDACTED
    assert where in said
    options = json.loads(Path("out.txt.manifest.json").read_text())["run"]["options"]
    assert (options["policy"], options["model"]) == ("redact", "none")


def test_the_named_file_goes_before_the_one_beside_in_and_that_before_the_one_here() -> None:
    Path("deid.toml").write_text('policy = "redact"\nmodel = "none"\nkeep = ["no such place"]\n')
    Path("../notes/deid.toml").write_text('policy = "tag"\nmodel = "none"\n')
    assert "beside IN: model, policy\n" in scrubbed()[1]
    Path("out.txt").unlink()
    Path("named.toml").write_text(SITE)
    assert scrubbed("--config", "named.toml")[0] == REDACTED


def test_flags_win() -> None:
    Path("deid.toml").write_text(SITE)
    text, said = scrubbed("--policy", "tag")
    assert text not in (NOTE, REDACTED)
    assert "options of deid.toml here: model\n" in said


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('polcy = "redact"', "did you mean 'policy'?"),
        ("doubt = 'much'", "doubt is not a number"),
        ("model = [", "not valid TOML"),
        ("doubt = 3", "the doubt must be 0 to 1"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(written: str, told: str) -> None:
    Path("deid.toml").write_text(written)
    _, said, status, _ = call(["scrub", "../notes/note.txt", "out.txt"])
    assert status == 2
    assert told in said.decode()
    assert not Path("out.txt").exists()


def test_a_file_that_is_named_must_be_there() -> None:
    assert call(["scrub", "../notes/note.txt", "out.txt", "--config", "absent.toml"])[2] == 2


@pytest.mark.parametrize("command", [["tag", "../notes/note.txt", "out"], ["explain", "../notes/note.txt"], ["filter"]])
def test_one_file_serves_every_command(command: list[str]) -> None:
    """What a command has no option for is for the others."""
    Path("deid.toml").write_text(SITE + "as-of = 2019-05-03\njobs = 1\n")
    _, said, status, _ = call([*command, *(["-o", "out", "../notes/note.txt"] if command == ["filter"] else [])])
    assert "options of deid.toml" in said.decode()
    assert "model" in said.decode()
    assert status in (0, 3)


def test_a_note_of_standard_input_goes_to_standard_output() -> None:
    Path("deid.toml").write_text(SITE)
    out, said, status, _ = call(["scrub", "-"], NOTE.encode())
    assert (out.decode(), status) == (REDACTED, 0)
    assert "scrub: 1 documents, 0 failed, 2 spans" in said.decode()
    assert sorted(path.name for path in Path().iterdir()) == ["deid.toml"]
    assert call(["scrub", "-", "-q"], NOTE.encode())[0].decode() == REDACTED


@pytest.mark.parametrize(
    ("flags", "data", "status"),
    [(["out.txt"], NOTE.encode(), 2), (["--preview"], NOTE.encode(), 2), (["--max-document", "10"], NOTE.encode(), 2),
     (["--from", "ndjson"], b"{}\n", 2), ([], b"\xff\xfe\xfd", 2)],
)  # fmt: skip
def test_standard_input_that_cannot_be_done_puts_nothing_out(flags: list[str], data: bytes, status: int) -> None:
    out, _, ended, _ = call(["scrub", "-", *flags, "--model", "none"], data)
    assert (out, ended) == (b"", status)
