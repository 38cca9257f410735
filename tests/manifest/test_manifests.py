"""Manifests: what is changed, taken away or added is found; equal runs compare equal; nothing of the input is told."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid import manifest
from deid.base.errors import ConfigError, FormatError, OutputError
from deid.base.keys import Key
from deid.document import Failure
from deid.io.folder import list_files
from deid.manifest import check_manifests, load_signing_key, log_of, manifest_path, read_public_key
from deid.manifest.content import Manifest, read_manifest
from deid.manifest.options import COLUMNS, WORDS, OptionRecord, told_options
from deid.manifest.signing import SigningKey, public_pem, replace_signing_key, signing_key_path


def begin_run(command: str, out: Path, **more: Any) -> manifest.Run:
    return manifest.begin_run(command, out, version="1", **more)


KEY = Key(b"s" * 32)
OTHER = Key(b"o" * 32)

NAMES = st.sampled_from(
    ["doc-0123456789abcdef.txt", "doc-0123456789abcdef.xml", "Smith_John.txt", "Zoë 1960.txt", "note 1.txt", ".hidden",
     "folder-0123456789abcdef/doc-fedcba9876543210.txt", "deep/er/Baker.csv", "OUT", "file-0123456789abcdef"]
)  # fmt: skip
TREES = st.dictionaries(NAMES, st.binary(max_size=40), min_size=1, max_size=5)


def write_tree(root: Path, tree: dict[str, bytes]) -> None:
    for name, data in tree.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def write_run(out: Path, *, private: bool = False, command: str = "scrub") -> Path:
    return begin_run(command, out, key=KEY).finish(out, private=private)


def faults(out: Path, key: Key | None = None, **more: object) -> list[str]:
    return [fault.what for fault in check_manifests(out, key=key, **more).faults]  # type: ignore[arg-type]


def _change(data: st.DataObject, out: Path) -> str:
    """Change one thing under a folder, in any way; return what was done."""
    files = sorted(path for path in out.rglob("*") if path.is_file())
    path = data.draw(st.sampled_from(files))
    content = path.read_bytes()
    how = data.draw(st.sampled_from(["byte", "cut", "longer", "removed", "added", "renamed", "link", "exchanged"]))
    if how == "byte" and content:
        at = data.draw(st.integers(0, len(content) - 1))
        path.write_bytes(content[:at] + bytes([content[at] ^ data.draw(st.integers(1, 255))]) + content[at + 1 :])
    elif how == "cut" and content:
        path.write_bytes(content[:-1])
    elif how == "removed":
        path.unlink()
    elif how == "added":
        (out / data.draw(st.sampled_from(["new.txt", ".new", "a/b"]))).parent.mkdir(exist_ok=True)
        (out / ".new").write_bytes(content)
    elif how == "renamed":
        path.rename(path.with_name(path.name + "x"))
    elif how == "link":
        aside = out.parent / "aside"
        aside.write_bytes(content)
        path.unlink()
        path.symlink_to(aside)
    elif how == "exchanged" and any(other.read_bytes() != content for other in files):
        other = next(other for other in files if other.read_bytes() != content)
        path.write_bytes(other.read_bytes())
        other.write_bytes(content)
    else:
        path.write_bytes(content + b"\n")
    return how


@settings(max_examples=40)
@given(tree=TREES, private=st.booleans(), data=st.data())
def test_any_change_under_an_output_is_found(tree: dict[str, bytes], private: bool, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        write_tree(out, tree)
        write_run(out, private=private)
        readers = [KEY] if private else [KEY, None, OTHER]
        assert all(not faults(out, key) for key in readers)
        how = _change(data, out)
        for key in (KEY, None, OTHER):
            assert faults(out, key), how


@settings(max_examples=15)
@given(content=st.binary(max_size=40), private=st.booleans(), data=st.data())
def test_any_change_of_an_output_that_is_one_file_is_found(content: bytes, private: bool, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "Smith.csv"
        out.write_bytes(content)
        write_run(out, private=private)
        assert not faults(out, KEY)
        other = data.draw(st.binary(max_size=41).filter(lambda other: other != content))
        out.write_bytes(other)
        assert faults(out, KEY) == ["changed"]
        out.unlink()
        assert faults(out, KEY) == ["missing"]


@settings(max_examples=30)
@given(data=st.data())
def test_any_change_of_a_manifest_is_found(data: st.DataObject) -> None:
    """To the byte, signed values and all others; a manifest signed anew with another key is not trusted."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        write_tree(out, {"a.txt": b"a"})
        places = [write_run(out), write_run(out, command="verify"), write_run(out, command="audit")]
        assert not faults(out)
        place = data.draw(st.sampled_from(places))
        content = place.read_bytes()
        at = data.draw(st.integers(0, len(content) - 1))
        new = data.draw(st.binary(min_size=0, max_size=2).filter(lambda new: new != content[at : at + 1]))
        place.write_bytes(content[:at] + new + content[at + 1 :])
        assert faults(out)


def test_a_run_told_anew_by_somebody_else_is_not_trusted(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_tree(out, {"a.txt": b"a"})
    place = write_run(out)
    trusted = [load_signing_key()[0].public]
    forged = read_manifest(place)
    thief = SigningKey(OTHER)
    own = Manifest({**forged.run, "documents": 5}, forged.made, 1, "", thief.public)
    place.write_bytes(Manifest(own.run, own.made, 1, "", thief.public, thief.sign(own.unsigned())).to_bytes())
    assert "signature" in faults(out, trusted=trusted)
    assert not [what for what in faults(out, trusted=[thief.public]) if what == "signature"]


@pytest.mark.parametrize("gone", [(1,), (2,), (3,), (2, 3), (1, 2)])
def test_a_cut_chain_is_found(tmp_path: Path, gone: tuple[int, ...]) -> None:
    """In the middle and at the front by the links; at the end by the site's list, or by the head that a page tells."""
    out = tmp_path / "out"
    write_tree(out, {"a.txt": b"a"})
    for command in ("scrub", "verify", "audit"):
        write_run(out, command=command)
    head = check_manifests(out).head
    public = [load_signing_key()[0].public]
    for number, path in log_of(manifest_path(out)):
        if number in gone:
            path.unlink()
    assert "chain" in faults(out)
    assert faults(out, trusted=public, head=head)
    signing_key_path().with_name("signing-key.log").unlink()
    assert "chain" in faults(out, trusted=public, head=head)
    if 3 in gone:
        assert not faults(out, trusted=public)  # a board without the head cannot know of what came later


def test_manifests_out_of_order_are_found(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_tree(out, {"a.txt": b"a"})
    one, two = write_run(out), write_run(out, command="verify")
    first = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(first)
    assert "chain" in faults(out)


def test_a_later_manifest_speaks_of_the_same_state(tmp_path: Path) -> None:
    """A file that was changed before a check and changed back after it is found by the check's own checksum."""
    out = tmp_path / "out"
    write_tree(out, {"a.txt": b"a"})
    write_run(out)
    (out / "a.txt").write_bytes(b"b")
    begin_run("verify", out, key=KEY).finish(out)
    (out / "a.txt").write_bytes(b"a")
    assert faults(out, KEY)


@settings(max_examples=40)
@given(tree=TREES, private=st.booleans())
def test_equal_runs_compare_equal_and_others_do_not(tree: dict[str, bytes], private: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        told = []
        for name in ("one", "two"):
            out = Path(folder) / name
            write_tree(out, tree)
            source = [("in.txt", out / min(tree))]
            options = [
                OptionRecord("policy", "safe-harbor"),
                OptionRecord("jobs", len(told)),
                OptionRecord("target", out),
            ]
            run = begin_run("scrub", out, key=KEY, options=options)
            run.inputs.note(source)
            made = read_manifest(run.finish(out, private=private, documents=3))
            told.append(made)
            assert len(made.run["outputs"]) == len(tree)
        assert told[0].compared() == told[1].compared()
        assert told[0].digest() != told[1].digest()
        other = begin_run("scrub", out, key=KEY, options=[OptionRecord("policy", "redact")])
        assert read_manifest(other.finish(out)).compared() != told[0].compared()


PLANTED = "Zebulon-Quartermain-ZQ77812"


@pytest.mark.parametrize("name", ["patient_pattern", "keep", "policy", "model", "as_of", "deny", "x", "known_column"])
@pytest.mark.parametrize("shape", [str, lambda text: [text], lambda text: f"{text}=NAME", Path])
def test_options_tell_nothing_that_a_user_wrote(name: str, shape: Callable[[str], object], tmp_path: Path) -> None:
    told = json.dumps(told_options([OptionRecord(name, shape(PLANTED))], KEY))
    assert PLANTED.casefold() not in told.casefold()
    assert "Quartermain" not in told
    assert told == json.dumps(told_options([OptionRecord(name, shape(PLANTED))], KEY))
    assert told != json.dumps(told_options([OptionRecord(name, shape(PLANTED))], OTHER))
    file = tmp_path / PLANTED
    file.write_text("x")
    assert PLANTED not in json.dumps(
        told_options([OptionRecord(name, file), OptionRecord("hierarchy", f"zip={file}")], KEY)
    )


def test_words_and_columns_are_told() -> None:
    options = [
        OptionRecord("policy", "safe-harbor"),
        OptionRecord("quasi_identifiers", ["age,zip"]),
        OptionRecord("k", 5),
    ]
    assert told_options(options, KEY) == {"k": 5, "policy": "safe-harbor", "quasi_identifiers": ["age,zip"]}
    assert not WORDS & COLUMNS
    assert (
        told_options([OptionRecord("key_file", Path("/k")), OptionRecord("jobs", 3), OptionRecord("k", None)], KEY)
        == {}
    )


def test_names_texts_and_failures_are_pseudonyms(tmp_path: Path) -> None:
    notes = tmp_path / "in"
    write_tree(notes, {f"{PLANTED}.txt": b"Zebulon Quartermain"})
    out = tmp_path / "out"
    write_tree(out, {f"{PLANTED}/{PLANTED}.txt": b"x"})
    (tmp_path / f"{PLANTED}.jsonl").write_text("{}")
    run = begin_run("scrub", out, key=KEY, options=[OptionRecord("patient_pattern", PLANTED)])
    failure = Failure("***", FormatError("bad", "hint", "***"), 1, f"{notes / PLANTED}.txt\t{PLANTED}")
    run.inputs.note([(f"{PLANTED}.txt", notes / f"{PLANTED}.txt")])
    place = run.finish(
        out,
        beside={"edit log": tmp_path / f"{PLANTED}.jsonl"},
        failures=[failure],
        root=notes,
    )
    content = place.read_text()
    assert "Zebulon" not in content
    assert "Quartermain" not in content
    for plain in (b"Zebulon Quartermain", PLANTED.encode()):  # no plain checksum of the input, nor of a name
        assert hashlib.sha256(plain).hexdigest() not in content
    told = json.loads(content)["run"]
    assert len(told["inputs"]) == len(told["failures"]) == len(told["beside"]) == 1
    assert told["failures"][0]["file"].startswith(f"{next(iter(told['inputs']))}/file-")
    assert not faults(out, KEY, inputs={f"{PLANTED}.txt": notes / f"{PLANTED}.txt"})
    (notes / f"{PLANTED}.txt").write_bytes(b"Zebulon Quartermain.")
    assert faults(out, KEY, inputs={f"{PLANTED}.txt": notes / f"{PLANTED}.txt"}) == ["changed"]
    assert faults(out, None, inputs={}) == ["unchecked"]


def test_plain_checksums_are_those_of_sha256sum(tmp_path: Path) -> None:
    out = tmp_path / "released.csv"
    out.write_bytes(b"age\n30\n")
    told = read_manifest(write_run(out)).run["outputs"]
    assert told == {"OUT": f"sha256:{hashlib.sha256(out.read_bytes()).hexdigest()}"}
    assert read_manifest(write_run(out, private=True)).run["outputs"]["OUT"].startswith("keyed:")


def test_the_signature_is_one_that_openssl_checks(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_bytes(b"x")
    made = read_manifest(write_run(out))
    values = json.loads(manifest_path(out).read_bytes())
    signature = bytes.fromhex(values.pop("signature"))
    message = json.dumps(values, sort_keys=True, separators=(",", ":")).encode()
    assert message == made.unsigned()
    if shutil.which("openssl") is None:
        pytest.skip("no openssl")
    for name, data in (("m", message), ("s", signature), ("p", public_pem(values["public_key"]))):
        (tmp_path / name).write_bytes(data)
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "p", "-rawin", "-in", "m", "-sigfile", "s"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_keys_are_private_and_can_be_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_bytes(b"x")
    old = load_signing_key()[0]
    assert old.secret.secret.hex() not in repr(old)
    write_run(out)
    new, aside = replace_signing_key()
    assert new.public != old.public
    for path in (aside, signing_key_path(), signing_key_path().with_name("signing-key.log")):
        assert path.stat().st_mode & 0o077 == 0
    assert "signature" in faults(out)
    assert not faults(out, trusted=[old.public])
    write_run(out, command="verify")
    assert not faults(out, trusted=[old.public, new.public])
    (tmp_path / "old.pem").write_bytes(public_pem(old.public))
    (tmp_path / "old.hex").write_text(old.public + "\n")
    assert read_public_key(tmp_path / "old.pem") == read_public_key(tmp_path / "old.hex") == old.public
    (tmp_path / "bad").write_bytes(b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")
    with pytest.raises(ConfigError):
        read_public_key(tmp_path / "bad")


def test_a_run_that_cannot_be_proved_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    manifest_path(out).write_text('{"format": "deid release 1"}')
    with pytest.raises(OutputError):
        begin_run("scrub", out, key=KEY)
    monkeypatch.setenv("DEID_SIGNING_KEY", "00" * 16)
    with pytest.raises(ConfigError):
        begin_run("scrub", tmp_path / "other", key=KEY)
    with pytest.raises(ConfigError, match="no manifest"):
        check_manifests(tmp_path / "other")


def test_without_a_public_key_nothing_is_called_right(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_bytes(b"x")
    write_run(out)
    signing_key_path().unlink()
    with pytest.raises(ConfigError, match="public key"):
        check_manifests(out)


def test_no_checksum_of_inputs_where_it_would_tell_too_much(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_bytes(b"x")
    run = begin_run("cube", out, key=KEY)
    assert read_manifest(run.finish(out, withheld=True)).run["inputs"] == "withheld"


def test_manifests_are_no_documents(tmp_path: Path) -> None:
    """A folder that holds outputs with their manifests is read without them, and the summary says so."""
    write_tree(tmp_path, {"a.txt": b"x", "b/c.txt": b"x"})
    for out in (tmp_path / "a.txt", tmp_path / "b"):
        write_run(out)
        write_run(out, command="verify")
    assert list_files(tmp_path).names == ["a.txt", "b/c.txt"]
    assert list_files(tmp_path).skipped["manifests"] == 4


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_bytes(b"x")
    os.mkfifo(tmp_path / "pipe")
    run = begin_run("scrub", out, key=KEY)
    run.inputs.note([("pipe", tmp_path / "pipe"), ("gone", tmp_path / "gone")])
    told = read_manifest(run.finish(out)).run
    assert list(told["inputs"].values()) == ["unreadable"] * 2
    places = {name: tmp_path / name for name in ("pipe", "gone")}
    assert faults(out, KEY, inputs=places) == []
    (tmp_path / "gone").write_bytes(b"x")
    assert faults(out, KEY, inputs=places) == ["changed"]
