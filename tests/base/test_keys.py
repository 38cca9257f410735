"""Keys: made once, kept private, never guessed."""

from __future__ import annotations

import hmac
import multiprocessing
import stat
from pathlib import Path

import pytest

from deid.base.errors import ConfigError
from deid.base.keys import KEY_VARIABLE, MAP_VERSION, Key, default_key_path, load_key


def test_a_missing_key_is_created_once_private_and_announced(tmp_path: Path) -> None:
    key, said = load_key(tmp_path / "keys" / "key")
    assert stat.S_IMODE((tmp_path / "keys" / "key").stat().st_mode) == 0o600
    assert "mode 0600" in said
    assert load_key(tmp_path / "keys" / "key") == (key, "")
    assert [p.name for p in (tmp_path / "keys").iterdir()] == ["key"]


def test_the_environment_goes_before_the_default_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "ab" * 32)
    assert load_key()[0] == Key(bytes.fromhex("ab" * 32))
    assert not default_key_path().exists()


def test_a_named_file_goes_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "ab" * 32)
    assert load_key(tmp_path / "key")[0] != Key(bytes.fromhex("ab" * 32))


@pytest.mark.parametrize("content", ["nothing secret", "", "abcd", "zz" * 32])
def test_a_file_without_a_key_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(ConfigError) as caught:
        load_key(path)
    assert not content or content not in str(caught.value)


def test_a_key_says_which_map_of_numbers_it_goes_by(tmp_path: Path) -> None:
    path = tmp_path / "key"
    made, _ = load_key(path)
    assert made.map_version == made.map == MAP_VERSION
    path.write_text("ab" * 32 + "\nmap 1\n")
    assert load_key(path)[0].map == 1
    path.write_text("ab" * 32 + "\n")
    plain = load_key(path)[0]
    assert (plain.map_version, plain.map, plain.of_map(1).map) == (None, MAP_VERSION, 1)
    with pytest.raises(ConfigError, match=f"version {MAP_VERSION}"):
        made.of_map(1)
    for line, said in (("map 9", "deid that made it"), ("map x", "hexadecimal"), ("map", "hexadecimal")):
        path.write_text(f"{'ab' * 32}\n{line}\n")
        with pytest.raises(ConfigError, match=said):
            load_key(path)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    load_key(tmp_path / "key")
    (tmp_path / "key").chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        load_key(tmp_path / "key")


def test_a_credential_of_systemd_is_taken_as_it_gives_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the unit's alone, though its mode, where the access list shows, says 0440."""
    credentials = tmp_path / "credentials"
    key, _ = load_key(credentials / "key")
    (credentials / "key").chmod(0o440)
    with pytest.raises(ConfigError, match="chmod 600"):
        load_key(credentials / "key")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    assert load_key(credentials / "key") == (key, "")
    (credentials / "key").chmod(0o444)
    with pytest.raises(ConfigError, match="chmod 600"):
        load_key(credentials / "key")
    load_key(tmp_path / "key")
    (tmp_path / "key").chmod(0o440)
    with pytest.raises(ConfigError, match="chmod 600"):
        load_key(tmp_path / "key")


def test_a_missing_file_is_not_created_when_not_asked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        load_key(tmp_path / "key", create=False)


def _secret(path: str) -> bytes:
    return load_key(Path(path))[0].secret


def test_processes_that_start_together_get_one_key(tmp_path: Path) -> None:
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert len(set(pool.map(_secret, [str(tmp_path / "key")] * 8))) == 1


def test_macs_depend_on_key_purpose_and_every_part() -> None:
    key = Key(b"k" * 32)
    assert key.mac("a", "bc") != key.mac("ab", "c")
    assert key.derive("names") != key.derive("dates")
    assert Key(b"j" * 32).pseudonym("doc", "x") != key.pseudonym("doc", "x")
    assert key.pseudonym("doc", "x") == Key(b"k" * 32).pseudonym("doc", "x")
    assert key.pseudonym("doc", "\ud800").startswith("doc-")


@pytest.mark.parametrize("size", [16, 63, 64, 65, 200])
def test_macs_are_those_of_the_standard(size: int) -> None:
    secret = bytes(range(size))
    message = (1).to_bytes(8, "big") + b"a" + (2).to_bytes(8, "big") + b"bc"
    assert Key(secret).mac("a", "bc") == hmac.digest(secret, message, "sha256")


def test_a_key_does_not_show_itself() -> None:
    assert "6b6b" not in repr(Key(b"k" * 32))
    assert "kkk" not in repr(Key(b"k" * 32))
