"""Kept tables: what is trusted, and what costs time alone."""

import os
import stat

import pytest

from deid.base.cache import cache_folder, cached, mapped
from deid.reading.vocabulary import languages


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "deid"


class Maker:
    def __init__(self, *columns):
        self.columns, self.calls = columns, 0

    def __call__(self):
        self.calls += 1
        return self.columns


def test_a_table_is_computed_once_and_kept_for_its_owner_alone(folder):
    make = Maker(b"", b"abc" * 1000, b"\0")
    for _ in range(3):
        assert cached("kind", [b"source"], make) == (b"", b"abc" * 1000, b"\0")
    assert make.calls == 1
    (path,) = folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_tables_of_all_languages_lie_side_by_side() -> None:
    """One run may need all of them."""
    for _ in range(2):
        makers = [Maker(language.encode()) for language in languages()]
        for make in makers:
            cached("kind", make.columns, make)
    assert [make.calls for make in makers] == [0] * len(makers)


def test_other_sources_are_another_table():
    makers = [Maker(b"1"), Maker(b"2"), Maker(b"3")]
    sources = [[b"a", b"b"], [b"ab"], [b"a", b"c"]]
    assert [cached("kind", s, m) for s, m in zip(sources, makers, strict=True)] == [(b"1",), (b"2",), (b"3",)]


@pytest.mark.parametrize("damage", [b"", b"x", None])
def test_a_damaged_table_is_computed_again(folder, damage):
    cached("kind", [b"source"], Maker(b"right"))
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-1] if damage is None else damage)
    make = Maker(b"right")
    assert cached("kind", [b"source"], make) == (b"right",)
    assert make.calls == 1
    assert cached("kind", [b"source"], make) == (b"right",)
    assert make.calls == 1


def test_a_table_that_others_may_write_and_a_link_are_not_trusted(folder, tmp_path):
    cached("kind", [b"source"], Maker(b"right"))
    (path,) = folder.iterdir()
    path.chmod(0o666)
    make = Maker(b"right")
    assert cached("kind", [b"source"], make) == (b"right",)
    assert make.calls == 1
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert cached("kind", [b"source"], make) == (b"right",)
    assert make.calls == 2
    assert not path.is_symlink()


def test_a_table_under_the_name_of_another_is_not_taken_for_it(folder):
    cached("kind", [b"old"], Maker(b"old"))
    (old,) = folder.iterdir()
    cached("kind", [b"new"], Maker(b"new"))
    (new,) = set(folder.iterdir()) - {old}
    old.replace(new)
    assert cached("kind", [b"new"], Maker(b"new")) == (b"new",)
    mapped("kind", [b"map"], lambda: b"old")
    (of_map,) = set(folder.iterdir()) - {old, new}
    assert bytes(mapped("kind", [b"another"], lambda: b"new")) == b"new"
    (of_another,) = set(folder.iterdir()) - {old, new, of_map}
    of_map.replace(of_another)
    assert mapped("kind", [b"another"]) is None


def _give_away(folder):
    if os.geteuid():
        pytest.skip("only root gives a folder away")
    os.chown(folder, 65534, 65534)


def _link(folder):
    folder.rename(folder.parent / "elsewhere")
    folder.symlink_to(folder.parent / "elsewhere")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes are those of POSIX")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: folder.chmod(0o777),
        lambda folder: folder.chmod(0o720),
        lambda folder: folder.parent.chmod(0o777),
        lambda folder: _give_away(folder.parent),
        _give_away,
        _link,
    ],
    ids=["writable", "of a group", "replaceable", "of another's", "another's", "link"],
)
def test_nothing_is_read_or_written_where_others_can_put_files(folder, spoil):
    cached("kind", [b"source"], Maker(b"planted"))
    mapped("kind", [b"map"], lambda: b"planted")
    spoil(folder)
    before = sorted(folder.iterdir())
    make = Maker(b"right")
    for _ in range(2):
        assert cached("kind", [b"source"], make) == (b"right",)
        assert cached("kind", [b"new"], make) == (b"right",)
    assert make.calls == 4
    assert mapped("kind", [b"map"], lambda: b"right") is None
    assert sorted(folder.iterdir()) == before


def test_a_folder_in_a_place_of_everybodys_is_used_where_names_are_their_owners(folder):
    folder.parent.chmod(0o1777)
    make = Maker(b"right")
    for _ in range(2):
        assert cached("kind", [b"source"], make) == (b"right",)
    assert make.calls == 1


def test_a_folder_that_cannot_be_made_costs_nothing_but_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    make = Maker(b"right")
    assert cached("kind", [b"source"], make) == cached("kind", [b"source"], make) == (b"right",)
    assert make.calls == 2


def test_a_table_to_be_mapped_is_computed_once_and_only_where_it_can_be_kept(folder, tmp_path, monkeypatch):
    calls = []

    def make():
        calls.append(1)
        return b"abc" * 1000

    assert mapped("kind", [b"source"]) is None  # nobody makes it
    for _ in range(3):
        found = mapped("kind", [b"source"], make)
        assert found is not None
        assert found.readonly
        assert bytes(found) == b"abc" * 1000
    assert len(calls) == 1
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert mapped("kind", [b"source"], make) is None
    assert len(calls) == 1


def test_old_tables_go(folder):
    for number in range(20):
        cached("kind", [b"%d" % number], Maker(b""))
    cached("other", [b"source"], Maker(b""))
    assert len(list(folder.iterdir())) == 9
    make = Maker(b"")
    cached("kind", [b"19"], make)
    assert not make.calls


def test_a_relative_cache_folder_is_ignored(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert os.fspath(cache_folder()) == "/home/somebody/.cache/deid"
