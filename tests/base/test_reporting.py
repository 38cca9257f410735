"""Pages are complete, escaped, private and there whole or not at all."""

from __future__ import annotations

import stat
from pathlib import Path

import jinja2
import pytest

from deid.base.errors import OutputError
from deid.base.reports import printable, render_html, write_html


def test_values_are_escaped() -> None:
    page = render_html("page.html", title="<script>alert(1)</script>")
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_a_missing_value_is_an_error_not_a_gap() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render_html("page.html")


def test_pages_forbid_everything_from_elsewhere() -> None:
    assert "default-src 'none'" in render_html("page.html", title="x")


def test_pages_are_private_and_replace_older_ones(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    path.chmod(0o644)
    write_html(path, "page.html", title="new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "<title>new</title>" in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        write_html(tmp_path / "nosuch" / "page.html", "page.html", title="x")


def test_unprintable_characters_become_visible() -> None:
    assert printable("a\x00b\tc\nd\re\x85\ud800\ufeff") == "a⟨U+0000⟩b\tc\nd␍e⟨U+0085⟩⟨U+D800⟩⟨U+FEFF⟩"
