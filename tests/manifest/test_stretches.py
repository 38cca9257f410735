"""Manifests of feeds: what was kept of a feed is what they say, and what none of them speaks of is told."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from commands import attempt
from hypothesis import given, settings
from hypothesis import strategies as st

import deid.manifest.run
from deid.base.errors import ConfigError, DeidError
from deid.base.keys import Key
from deid.manifest import begin_run, check_manifests
from deid.manifest.content import Manifest, log_of, manifest_path
from deid.streaming.proof import Proof
from deid.streaming.totals import Totals

KEY = Key(b"s" * 32)


def proof(place: Path, totals: Totals | None = None, every: int = 0, tell: list[str] | None = None) -> Proof:
    """Begin what proves a process of a feed."""
    return Proof(
        lambda: begin_run("filter", place, version="1", key=KEY, first=place),
        {},
        totals or Totals(),
        every,
        None if tell is None else tell.append,
    )


def write(own: Proof, data: bytes, kept: Path | None = None) -> None:
    """Let one record through."""
    own.begin_at()
    own._totals.records += 1
    own._totals.read += 10
    own._totals.written += len(data)
    own.read(b"0123456789")
    if kept is not None:
        with kept.open("ab") as file:
            file.write(data)
    own.wrote(data)


def faults(out: Path | None, first: Path, key: Key | None = None) -> list[str]:
    return [fault.what for fault in check_manifests(out, first=first, key=key).faults]


@settings(max_examples=30)
@given(
    runs=st.lists(st.lists(st.binary(max_size=6), max_size=5), min_size=1, max_size=3),
    every=st.integers(0, 2),
    data=st.data(),
)
def test_any_change_of_a_kept_stream_is_found(runs: list[list[bytes]], every: int, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kept, first = Path(folder) / "kept", Path(folder) / "feed.json"
        kept.touch()
        for records in runs:
            own = proof(first, every=every)
            for record in records:
                write(own, record, kept)
            own.finish(None, None, complete=True)
        content = kept.read_bytes()
        assert content == b"".join(map(b"".join, runs))
        assert not faults(kept, first)
        assert not faults(None, first)
        kept.write_bytes(data.draw(st.binary(max_size=len(content) + 2).filter(lambda other: other != content)))
        assert faults(kept, first)
        at = data.draw(st.integers(0, max(0, len(content) - 1)))
        for other in (content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] if content else b"x", content + b"x"):
            kept.write_bytes(other)
            assert faults(kept, first)


def test_what_went_through_a_process_that_was_killed_is_missed(tmp_path: Path) -> None:
    first, kept = tmp_path / "feed.json", tmp_path / "kept"
    killed = proof(first)
    killed.open()
    write(killed, b"lost", kept)
    check = check_manifests(None, first=first)
    assert (check.goes_on, check.faults) == (True, ())  # it may be at work still
    assert faults(kept, first) == ["unchecked"]
    after = proof(first)
    after.open()
    after.finish(None, None, complete=True)
    assert faults(None, first) == ["gap"]
    assert not check_manifests(None, first=first).goes_on
    # one that ended in order, and whose successor counts from 0 anew, leaves none
    orderly = tmp_path / "orderly.json"
    for _ in range(2):
        one = proof(orderly)
        one.open()
        write(one, b"x")
        one.finish(None, None, complete=True)
    assert not faults(None, orderly)


@pytest.mark.parametrize(("at", "found"), [(20, []), (10, []), (30, ["gap"])])
def test_a_journal_goes_on_where_the_last_manifest_ended_or_leaves_a_gap(
    tmp_path: Path, at: int, found: list[str]
) -> None:
    first = tmp_path / "feed.json"
    killed = proof(first, every=2)
    for record in (b"a", b"b", b"c"):
        write(killed, record)
    again = Totals()
    again.restore({**Totals().as_dict(), "read": at, "written": at // 10, "records": at // 10})
    resumed = proof(first, again)
    write(resumed, b"d")
    resumed.finish(None, None, complete=True)
    assert faults(None, first) == found


def test_a_folder_that_grows_is_all_its_stretches(tmp_path: Path) -> None:
    out, first = tmp_path / "out", tmp_path / "feed.json"
    out.mkdir()
    for n in range(2):
        own = proof(first, every=2)
        for name in ("a", "b", "c"):
            (out / ".part").write_text(f"{name}{n}")
            own.wrote_file(f"{name}{n}.txt", out / ".part")
            (out / ".part").rename(out / f"{name}{n}.txt")
            write(own, b"x")
        own.finish(None, None, complete=True)
    (out / ".part").write_text("is being written")
    assert check_manifests(out, first=first, key=KEY).files == 6
    assert not faults(out, first)
    assert not faults(out, first, KEY)
    assert faults(None, first) == ["unchecked"]
    (out / "a0.txt").write_text("b0")
    (out / "c1.txt").unlink()
    (out / "d.txt").touch()
    assert sorted(faults(out, first, KEY)) == ["added", "changed", "missing"]


def test_a_manifest_that_cannot_be_written_is_told_and_made_up_for(tmp_path: Path) -> None:
    place, kept, said = tmp_path / "m", tmp_path / "kept", list[str]()
    place.mkdir()
    own = proof(place / "feed.json", every=2, tell=said)
    for record in (b"a", b"b"):
        write(own, record, kept)
    place.rename(tmp_path / "away")
    for record in (b"c", b"d", b"e"):
        write(own, record, kept)
    assert len(said) == 1
    (tmp_path / "away").rename(place)
    write(own, b"f", kept)
    assert not faults(kept, place / "feed.json")
    assert [m.run["documents"] for m in check_manifests(kept, first=place / "feed.json").manifests] == [2, 4]
    place.rename(tmp_path / "away")
    with pytest.raises(DeidError):
        own.finish(None, None, complete=True)
    with pytest.raises(DeidError):
        proof(place / "feed.json", tell=said).open()


def test_a_feed_whose_manifests_are_taken_away_goes_on_with_the_chain_that_it_knows(tmp_path: Path) -> None:
    """A new chain behind an emptied folder would look whole, and nobody would miss the days before."""
    place, said = tmp_path / "m", list[str]()
    place.mkdir()
    first = place / "feed.json"
    own = proof(first, every=1, tell=said)
    for record in (b"a", b"b", b"c"):
        write(own, record)
    assert (said, own.lost) == ([], "")
    for path in place.iterdir():
        path.unlink()
    for record in (b"d", b"e"):
        write(own, record)
    own.finish(None, None, complete=True)
    assert sorted(path.name for path in place.iterdir()) == ["feed.4.json", "feed.5.json", "feed.6.json"]
    assert len(said) == 1
    assert own.lost == said[0]
    told = [(fault.what, fault.where) for fault in check_manifests(None, first=first).faults]
    assert ("chain", "manifest 4") in told  # wherever it is checked, by what it says itself
    assert {("chain", f"manifest {n}") for n in (1, 2, 3)} <= set(told)  # where it was signed, each by its number
    # whoever goes on there later is not blamed, and what is missing stays missing
    later = proof(first, tell=said)
    later.finish(None, None, complete=True)
    assert (later.lost, later.places) == ("", [place / "feed.7.json"])
    assert "chain" in faults(None, first)


@pytest.mark.parametrize("gone", [{2}, {1, 2}, {1}], ids=str)
@pytest.mark.parametrize("other", [False, True])
def test_manifests_that_go_while_a_run_is_under_way_are_missed(tmp_path: Path, gone: set[int], other: bool) -> None:
    """Also where another run began a chain of its own there meanwhile."""
    out = tmp_path / "out.txt"
    out.write_text("x")
    places = [begin_run("convert", out, version="1", key=KEY).finish(out) for _ in range(2)]
    run = begin_run("convert", out, version="1", key=KEY)
    for number in gone:
        places[number - 1].unlink()
    if other:
        begin_run("convert", out, version="1", key=KEY).finish(out)
    place = run.finish(out)
    assert bool(run.lost) == (2 in gone)
    assert place.name in {"out.txt.manifest.3.json", "out.txt.manifest.4.json"}
    assert "chain" in faults(out, tmp_path / "out.txt.manifest.json")


def test_another_run_on_the_same_output_may_come_between(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_text("x")
    for _ in range(2):  # once at the beginning of the chain, once in the middle
        runs = [begin_run("convert", out, version="1", key=KEY) for _ in range(3)]
        for run in reversed(runs):
            run.finish(out)
        assert not any(run.lost for run in runs)
        assert not faults(out, tmp_path / "out.txt.manifest.json")


def test_another_run_may_write_its_manifest_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was at that place when this one looked, the chain has both."""
    out = tmp_path / "out.txt"
    out.write_text("x")
    runs = [begin_run("convert", out, version="1", key=KEY) for _ in range(3)]
    write_one, others = deid.manifest.run.write_bytes, runs[1:]

    def late(path: Path, data: bytes, **options: bool) -> None:
        if others:
            others.pop().finish(out)
        write_one(path, data, **options)

    monkeypatch.setattr(deid.manifest.run, "write_bytes", late)
    runs[0].finish(out)
    assert len(log_of(manifest_path(out))) == 3
    assert not faults(out, tmp_path / "out.txt.manifest.json")


def test_a_command_whose_manifests_are_taken_away_meanwhile_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deid.cli.common import Summary
    from deid.streaming import filtering

    notes, feed = tmp_path / "notes.ndjson", tmp_path / "feed.json"
    notes.write_text('{"id": "1", "text": "Seen."}\n')
    filtered = ("filter", str(notes), "--from", "ndjson", "--manifest", str(feed), "-q", "-o")
    note = tmp_path / "note.txt"
    note.write_text("Seen.")
    converted = ("convert", str(note), str(tmp_path / "out.jsonl"), "--from", "text", "--to", "jsonl", "-q")
    assert attempt(*filtered, str(tmp_path / "1.ndjson"))[0] == 0
    assert attempt(*converted)[0] == 0
    (tmp_path / "out.jsonl").unlink()
    worked, signed = filtering.filter_feed, Summary.sign

    def filter_and_lose(*values: Any) -> Any:
        feed.unlink()
        return worked(*values)

    def lose_and_sign(told: Summary, *values: Any, **facts: Any) -> None:
        (tmp_path / "out.jsonl.manifest.json").unlink()
        signed(told, *values, **facts)

    monkeypatch.setattr(filtering, "filter_feed", filter_and_lose)
    monkeypatch.setattr(Summary, "sign", lose_and_sign)
    for again in ((*filtered, str(tmp_path / "2.ndjson")), converted):
        status, told = attempt(*again)
        assert status == 1
        assert "taken away" in told
    assert (tmp_path / "feed.2.json").exists()
    assert (tmp_path / "out.jsonl.manifest.2.json").exists()


def test_a_feed_is_checked_from_the_command_line(tmp_path: Path) -> None:
    kept, first = tmp_path / "kept.txt", tmp_path / "feed.json"
    own = proof(first, every=1)
    for record in (b"one\n", b"two\n"):
        write(own, record, kept)
    verify = ("manifest", "verify", "--first", str(first))
    status, told = attempt(*verify, str(kept))
    assert status == 0
    assert "went on behind the last manifest" in told
    assert attempt(*verify)[0] == 0
    kept.write_bytes(b"one\nTwo\n")
    status, told = attempt(*verify, str(kept))
    assert status == 1
    assert "changed: OUT: the bytes 4 to 8, of which manifest 2 speaks, are not what it says" in told
    assert attempt("manifest", "page", "--first", str(first), str(kept))[0] == 1
    assert "of which manifest 2 speaks" in (tmp_path / "kept.txt.manifest.html").read_text()
    assert attempt("manifest", "page", "--first", str(first))[0] == 0
    page = (tmp_path / "feed.html").read_text()
    assert "No file was compared; all 2 manifests are signed, and none is missing" in page
    assert "went on behind the last manifest" in page
    for wrong in (("manifest", "verify"), ("manifest", "verify", "--first", "none.json"), (*verify, "none.txt")):
        with pytest.raises(DeidError):
            attempt(*wrong)
    with pytest.raises(ConfigError):
        check_manifests(None)


NAMES = [".x", "./y", "OUT", "OUT.x", "OUT./y", "OUT.\0", "../a", "a"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "sha256:", "keyed:0", *NAMES]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=6,
)


@settings(max_examples=60)
@given(
    values=st.dictionaries(st.sampled_from(["outputs", "beside", "grows", "private", "tree", "key"]), VALUES),
    told=st.dictionaries(st.sampled_from(["read", "written", "stream", "begins", "goes_on"]), VALUES),
    places=st.none() | st.lists(st.sampled_from([0, 1, -1, 10**30, float("inf")]), min_size=2, max_size=2),
)
def test_a_manifest_that_somebody_else_wrote_is_told_to_be_wrong(
    values: dict[str, Any], told: dict[str, Any], places: list[Any] | None
) -> None:
    """Whatever it says, the check ends with faults, or with what to do."""
    results = told if places is None else {**told, "read": places, "written": places}
    run = {"command": "filter", "key": KEY.fingerprint(), **values, "results": results}
    forged = Manifest(run, {}, 1, "", "00" * 32, "00" * 64)
    with tempfile.TemporaryDirectory() as folder:
        kept, first = Path(folder) / "kept", Path(folder) / "feed.json"
        kept.write_bytes(b"x")
        first.write_bytes(forged.to_bytes())
        for out in (kept, Path(folder), None):
            with suppress(DeidError):
                assert check_manifests(out, first=first, key=KEY, trusted=["11" * 32]).faults
