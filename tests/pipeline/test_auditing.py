"""The audit: which notes are drawn, what marks are accepted, and that the bound keeps its confidence."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from typer.testing import CliRunner

from deid.base.errors import ConfigError, DeidError, FormatError
from deid.cli.main import app
from deid.evaluation.proportions import upper_bound
from deid.io import scan
from deid.io.reading import Source
from deid.manifest import check_manifests
from deid.manifest.content import log_of, manifest_path, read_manifest
from deid.pipeline.auditing import Audit, Draw, ReaderMark, bound_leaks, draw_notes, read_marks, write_sheet
from deid.pipeline.options import AuditOptions


def write_notes(folder: Path, types: Mapping[str, int], order: int = 1) -> Source:
    rows = [
        {"id": f"{kind}{n}", "text": f"a note of {kind}", "kind": kind}
        for kind, size in types.items()
        for n in range(size)
    ]
    (folder / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[::order]))
    return scan(folder / "notes.jsonl")


@settings(max_examples=60)
@given(st.integers(0, 40), st.integers(1, 400), st.floats(0.5, 0.999))
def test_the_bound_is_the_share_at_which_so_few_become_unlikely(found: int, more: int, confidence: float) -> None:
    """The definition of the exact bound, by scipy's binomial distribution and not its beta."""
    total = found + more
    bound = upper_bound(found, total, confidence)
    assert binom.cdf(found, total, bound) == pytest.approx(1 - confidence, rel=1e-6)


def test_none_of_300_is_the_rule_of_three() -> None:
    """Which is what is asked for where nothing is said."""
    asked = AuditOptions(sheet=Path("sheet.csv"))
    assert (asked.sample, asked.confidence) == (300, 0.95)
    assert upper_bound(0, 300, 0.95) == pytest.approx(0.00994, abs=1e-5)
    assert upper_bound(5, 5, 0.95) == upper_bound(0, 0, 0.95) == 1


@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(1, 90), min_size=1, max_size=26),
    sample=st.integers(1, 120),
    seed=st.integers(0, 9),
)
def test_every_type_has_its_share_of_the_draw(
    sizes: list[int], sample: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("notes")
    source = write_notes(folder, {f"t{i:02}": size for i, size in enumerate(sizes)})
    draw = draw_notes(source, sample, by="kind", seed=seed)
    drawn = draw.drawn
    assert draw.total == sum(sizes)
    for kind, size in draw.sizes.items():
        share = min(sample, draw.total) * size / draw.total
        assert share <= drawn[kind] < share + 1 + 1e-9
    assert len(draw.sizes) <= 21
    assert (
        draw_notes(write_notes(folder, {f"t{i:02}": s for i, s in enumerate(sizes)}, -1), sample, by="kind", seed=seed)
        == draw
    )


@pytest.mark.parametrize("by", [None, "kind", "folder"])
def test_where_no_note_can_be_read_nothing_is_drawn(by: str | None, tmp_path: Path) -> None:
    """Else nobody would read anything, and the audit would say that no leak was seen."""
    (tmp_path / "notes.jsonl").write_text('{"id": "a"}\n{"id": "b"\n')
    with pytest.raises(ConfigError, match="no note that could be read"):
        draw_notes(scan(tmp_path / "notes.jsonl"), 300, by=by)


def test_what_is_said_of_a_draw_and_of_an_audit() -> None:
    """Written out: words where all of them were counted, unread notes where there are some."""
    drawn = Draw({"a": "x", "b": "x", "c": "y"}, {"x": 1200, "y": 34})
    assert (str(drawn), drawn.remarks()) == ("3 of 1234 notes are drawn, of 2 types", [])
    assert replace(drawn, unreadable=2).remarks() == ["2 notes could not be read, so nothing is said of them"]
    audit = Audit(0.95, 300, 2, 5, 0.0208, {"x": (1200, 290, 2, 0.0216)}, 51_000, 7, 0.000347)
    notes = "at most 2.08% of the notes hold a leak, with 95% confidence (2 of 300 read do, 5 missed identifiers)"
    words = "at most 0.0347% of the words leak, with 95% confidence (7 of 51000 read)"
    assert audit.sentences() == [notes, words]
    assert audit.section().rows == (("x", "1,200", "290", "2", "2.16%"),)
    told = replace(audit, leaked_words=None, words_bound=None).as_dict()
    assert told.pop("sentences") == [notes, "words: too few notes with leaks, or words that were not counted, to say "
                                     "more than of notes"]  # fmt: skip
    assert told == {"confidence": 0.95, "read": 300, "leaking": 2, "leaks": 5, "bound": 0.0208, "words": 51_000,
                    "leaked_words": None, "words_bound": None}  # fmt: skip


def test_another_seed_draws_other_notes(tmp_path: Path) -> None:
    source = write_notes(tmp_path, {"a": 500})
    assert draw_notes(source, 50).notes != draw_notes(source, 50, seed=1).notes
    often = [draw_notes(source, 50, seed=seed).notes for seed in range(60)]
    counts = np.array([sum(f"a{n}" in notes for notes in often) for n in range(500)])
    assert counts.sum() == 3000
    assert counts.max() < 20  # 6 on average, binomial


@pytest.mark.slow
def test_the_bound_keeps_its_confidence_over_draws(tmp_path: Path) -> None:
    """Types that leak very differently; over 200 draws the true share is above the bound in 5 % of them at most."""
    source = write_notes(tmp_path, {"a": 300, "b": 60, "c": 7, "d": 3})
    leaking = {f"a{n}" for n in range(6)} | {f"b{n}" for n in range(12)} | {"c1", "c2", "d0"}
    truth = len(leaking) / 370
    wrong = 0
    for seed in range(200):
        draw = draw_notes(source, 60, by="kind", seed=seed)
        marks = {key: ReaderMark(int(key in leaking)) for key in draw.notes}
        wrong += bound_leaks(source, draw, marks).bound < truth
    assert wrong <= 0.05 * 200 + 3 * (200 * 0.05 * 0.95) ** 0.5


@pytest.mark.parametrize(("confidence", "fit"), [(0.49, False), (0.5, True), (0.99, True), (1.0, False)])
def test_a_confidence_is_one_half_at_least_and_never_sure(confidence: float, fit: bool, tmp_path: Path) -> None:
    source = write_notes(tmp_path, {"a": 8, "b": 2})
    draw = draw_notes(source, 4, by="kind")
    marks = {key: ReaderMark(0) for key in draw.notes}
    if fit:
        assert 0 < bound_leaks(source, draw, marks, confidence).bound < 1
    else:
        with pytest.raises(ConfigError, match=r"0\.5 to below 1"):
            bound_leaks(source, draw, marks, confidence)


def test_what_was_read_as_a_whole_is_known(tmp_path: Path) -> None:
    source = write_notes(tmp_path, {"a": 8, "b": 2})
    draw = draw_notes(source, 300, by="kind")
    audit = bound_leaks(source, draw, {key: ReaderMark(int(key == "a1")) for key in draw.notes})
    assert audit.bound == 0.1
    assert audit.types == {"a": (8, 8, 1, 0.125), "b": (2, 2, 0, 0.0)}


def test_words_are_bounded_where_it_can_be_said(tmp_path: Path) -> None:
    source = write_notes(tmp_path, {"a": 400})
    draw = draw_notes(source, 200)
    keys = list(draw.notes)
    none = bound_leaks(source, draw, {key: ReaderMark(0) for key in keys})
    assert none.words_bound is None
    assert none.words == 800
    some = bound_leaks(source, draw, {key: ReaderMark(int(i < 4), int(i < 4)) for i, key in enumerate(keys)})
    assert some.leaked_words == 4
    assert some.words_bound is not None
    assert 4 / 800 < some.words_bound < some.bound
    uncounted = bound_leaks(source, draw, {key: ReaderMark(int(i < 4)) for i, key in enumerate(keys)})
    assert uncounted.words_bound is None
    assert uncounted.bound == some.bound


def test_marks_of_another_draw_are_refused(tmp_path: Path) -> None:
    """A note that leaks can neither be left out nor exchanged for one that does not."""
    source = write_notes(tmp_path, {"a": 50})
    draw = draw_notes(source, 10)
    marks = {key: ReaderMark(0) for key in draw.notes}
    first = next(iter(marks))
    left_out = {key: mark for key, mark in marks.items() if key != first}
    exchanged = left_out | {next(f"a{n}" for n in range(50) if f"a{n}" not in marks): ReaderMark(0)}
    for wrong in (left_out, exchanged, {}):
        with pytest.raises(ConfigError, match="not of this draw"):
            bound_leaks(source, draw, wrong)
    others = {key: ReaderMark(0, digest="another" if n < 3 else None) for n, key in enumerate(marks)}
    with pytest.raises(ConfigError, match=r"^3 of the notes that were read are no longer"):
        bound_leaks(source, draw, others)
    with pytest.raises(ConfigError):
        draw_notes(source, 10, by="knd")


@pytest.mark.parametrize(
    ("row", "message"),
    [("n1,t,,,d,x", "no number"), ("n1,t,-1,,d,x", "cannot be"), ("n1,t,0,3,d,x", "cannot be"),
     ("n1,t,2,0,d,x", "cannot be"), ("n1,t,2,-1,d,x", "cannot be"),
     ("n1,t,yes,,d,x", "no number"), ("n1", "no number"), ("n0,t,0,,d,x", "twice")],
)  # fmt: skip
def test_rows_that_are_not_marked_are_told_by_number(row: str, message: str, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(f"note,type,leaks,words,digest,text\nn0,t,0,,d,x\n{row}\n")
    with pytest.raises(FormatError, match=message) as raised:
        read_marks(sheet)
    assert "row 3" in str(raised.value)
    assert "n1" not in str(raised.value)


def test_a_sheet_comes_back_as_it_was_written(tmp_path: Path) -> None:
    texts = ['a "quoted", note\r\nwith lines\rof all ends\n', "=cmd()", "Zoë ☃", ""]
    rows = [{"id": f"n{i}", "text": text} for i, text in enumerate(texts)]
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = scan(tmp_path / "notes.jsonl")
    draw = draw_notes(source, 10)
    assert isinstance(draw, Draw)
    sheet = tmp_path / "sheet.csv"
    write_sheet(sheet, source, draw)
    assert sheet.stat().st_mode & 0o077 == 0
    with sheet.open(newline="") as stream:
        found = list(csv.DictReader(stream))
    assert [row["text"] for row in found] == [text for i, text in enumerate(texts) if f"n{i}" in draw.notes]
    with pytest.raises(FormatError, match="no number"):
        read_marks(sheet)


def _call(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if result.exception is not None and not isinstance(result.exception, SystemExit | DeidError):
        raise result.exception
    return (2 if isinstance(result.exception, DeidError) else result.exit_code), result.output + str(result.exception)


def test_drawing_and_stating_are_proved_and_stand_on_the_page(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    for n in range(30):
        place = notes / f"ward_{'ZQ'[n % 3 == 0]}" / f"Baker{n}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"Dr. Alice Baker, 03/1{n % 9}/2019, number {n}\n")
    out, sheet, page = tmp_path / "out", tmp_path / "sheet.csv", tmp_path / "page.html"
    assert _call("scrub", notes, out, "--model", "none", "--policy", "safe-harbor")[0] == 0
    assert _call("verify", notes, out, "--model", "none", "--policy", "safe-harbor")[0] == 0
    options = ("--sample", 10, "--strata", "folder")
    assert _call("audit", out, *options, "--sheet", sheet)[0] == 0
    with sheet.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert 10 <= len(rows) <= 11
    assert len({row["type"] for row in rows}) == 2
    for row in rows:
        row["leaks"] = "0"
    rows[0].update(leaks="1", words="2")
    with sheet.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    status, said = _call("audit", out, *options, "--marks", sheet)
    assert status == 0
    assert "of the notes hold a leak, with 95% confidence" in said
    assert _call("audit", out, "--sample", 10, "--marks", sheet, "--seed", 1)[0] == 2
    assert _call("audit", out)[0] == 2
    read = out / rows[0]["note"]
    note = next(path for path in (read, read.with_name(read.name + ".txt")) if path.exists())
    was = note.read_bytes()
    note.write_bytes(was + b"and Dr. Alice Baker")  # since it was read
    status, said = _call("audit", out, *options, "--marks", sheet)
    assert status == 2
    assert "1 of the notes that were read are no longer what they were" in said
    note.write_bytes(was)
    manifests = [read_manifest(path) for _, path in log_of(manifest_path(out))]
    assert [m.run["command"] for m in manifests] == ["scrub", "verify", "audit", "audit"]
    assert manifests[-1].run["results"]["leaking"] == 1
    assert not check_manifests(out).faults
    assert _call("manifest", "page", out, "-o", page)[0] == 0
    html = page.read_text()
    for text in ("All 30 files are as the manifests say", "of the notes hold a leak", "photographs", "safe-harbor",
                 "1. deid scrub", "2. deid verify", "year-only"):  # fmt: skip
        assert text in html
    for planted in ("Baker", "Alice", "ward_"):
        assert planted not in html
        assert not any(planted in path.read_text() for _, path in log_of(manifest_path(out)))
    next(out.rglob("*.txt")).unlink()
    assert _call("manifest", "page", out, "-o", page)[0] == 1
    assert "what follows is not proved" in page.read_text()


@pytest.mark.parametrize(
    "content", [None, b"", b"note,words\nn0,1\n", b"note,leaks,words\nn0,0,\n", b"note,leaks,w\xff\n"]
)
def test_what_is_no_sheet_is_refused(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "sheet.csv").write_bytes(content)
    with pytest.raises(FormatError, match=r"sheet\.csv.*(cannot be read|lacks the column|not UTF-8)"):
        read_marks(tmp_path / "sheet.csv")


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_a_sheet_is_read_as_any_program_saves_it_and_a_fault_says_where(sign: str, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    text = f'\ufeffnote,type,leaks,words,digest,text\r\nn0,notes,0,,d,"a{sign}b\r\nc"\r\nn1,notes,2,3,e,x\r\n'
    sheet.write_bytes(text.replace(",", sign).encode())
    assert {key: (mark.leaks, mark.words) for key, mark in read_marks(sheet).items()} == {"n0": (0, None), "n1": (2, 3)}
    sheet.write_bytes(sheet.read_bytes().replace(b"2", b"two"))
    with pytest.raises(FormatError, match=r"sheet\.csv, row 3: leaks is no number"):
        read_marks(sheet)
