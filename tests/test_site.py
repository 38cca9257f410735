"""The documentation as a site: built strictly, nothing loaded from elsewhere, searched without a server."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Literal

import pytest

ROOT = Path(__file__).resolve().parents[1]
BROWSER = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_pages", ROOT / "scripts" / "docs_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="the extra docs is not installed")
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(place)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stderr
    return place


@pytest.mark.slow
def test_every_page_and_every_public_name_is_there(site: Path, pages: ModuleType) -> None:
    assert {f"{path.stem}.html" for path in (ROOT / "docs").glob("*.md")} <= {path.name for path in site.glob("*.html")}
    listed = re.findall(r"^\| `(deid[\w.]*)` \|", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
    sections = pages.public_names((ROOT / "docs/api.md").read_text())
    assert [name for _, names in sections for name in names] == listed
    told = (site / "reference.html").read_text()
    assert [name for name in listed if f"{name}<" not in told] == []
    assert "Threat" not in told
    assert "Who attacks what" in (site / "security.html").read_text()


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: ModuleType, tmp_path: Path) -> None:
    assert pages.loaded_from_elsewhere(site) == []
    (tmp_path / "a.html").write_text('<a href="https://x.example">x</a><script src=//cdn.example/x.js></script>')
    (tmp_path / "b.css").write_text("@import url(https://fonts.example/x); a { background: url('http://y.example/z') }")
    (tmp_path / "c.html").write_text(
        '<link rel="stylesheet" href="https://x.example/a.css"><link rel=next href="b.html">'
    )
    assert len(pages.loaded_from_elsewhere(tmp_path)) == 4


def test_a_docstring_becomes_lists(pages: ModuleType) -> None:
    def sample() -> None:
        """Do something.

        Parameters
        ----------
        path : Path
            Where.

        Raises
        ------
        ConfigError
            When not.
        """

    text = pages.markdown(sample.__doc__)
    assert "**Parameters**\n\n* `path` (Path)\n    Where." in text
    assert "**Raises**\n\n* `ConfigError`\n    When not." in text


def test_types_of_a_signature_have_no_quotation_marks(pages: ModuleType) -> None:
    def sample(path: Path, kind: Literal["a", "b"] | None = "a", *, more: tuple[str, ...] = ()) -> str | None:
        """Do nothing."""

    assert (
        pages.signature(sample)
        == "(path: Path, kind: Literal['a', 'b'] | None = 'a', *, more: tuple[str, ...] = ()) -> str | None"
    )


def test_links_lead_to_pages_of_the_site_or_name_a_file(site: Path) -> None:
    assert re.search(r'<a href="?security.html"?>who attacks what</a>', (site / "index.html").read_text())
    assert re.search(r'href="?security.html', (site / "changelog.html").read_text())
    assert re.search(r'href="?privacy-models.html', (site / "changelog.html").read_text())
    assert "(<code>corpora/tables/README.md</code>)" in (site / "changelog.html").read_text()
    assert "(<code>corpora/tables/README.md</code>)" in (site / "cube.html").read_text()


def test_what_is_typed_in_a_terminal_is_told_from_its_answer(pages: ModuleType) -> None:
    code = "$ deid scrub a \\\n    b\nmade &amp; done\n$ cat &gt; c &lt;&lt;'END'\nx\nEND\n$ ls\n"
    marked = pages.terminal(code)
    assert re.sub(r"</?span[^>]*>", "", marked) == code
    typed = re.sub(r'<span class="g[op]">[^<]*</span>', "", marked)
    assert typed == "deid scrub a \\\n    b\ncat &gt; c &lt;&lt;'END'\nx\nEND\nls\n"


def test_every_term_of_the_glossary_has_a_source() -> None:
    lines = [line for line in (ROOT / "docs/glossary.md").read_text().splitlines() if line.startswith("| ")][2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len(rows) > 30
    assert [row[0] for row in rows if len(row) != 3 or not all(row)] == []
    assert [row[0].lower() for row in rows] == sorted(row[0].lower() for row in rows)


def test_the_tests_that_the_security_policy_names_exist() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", (ROOT / "SECURITY.md").read_text())
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.slow
@pytest.mark.skipif(not BROWSER.exists(), reason="Chromium is not installed")
def test_pages_opened_as_files_can_be_searched_and_copied(site: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(BROWSER), args=["--no-sandbox"])
        page, asked = browser.new_page(), []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "decisions" / "0001-rooms-and-floors.html").as_uri())
        page.click("input.md-search__input")
        page.keyboard.type("Mondrian")
        page.wait_for_selector(".md-search-result__item", state="attached")
        found = page.locator(".md-search-result__link").first.get_attribute("href")
        page.goto((site / "tutorial-statistician.html").as_uri())
        copied = page.evaluate(
            """() => [...document.querySelectorAll("pre code")].map(code => {
                code.setAttribute("data-md-copying", ""); return code.innerText.trim() })"""
        )
        browser.close()
    assert copied[1] == "deid risk patients.csv --qi age,sex,zip"
    assert copied[2].endswith("\\\n    --persons-as-given --k 5 --l 3 -o released.csv --report board.html")
    assert found is not None
    assert found.startswith(site.as_uri())
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []
