"""What README and the documentation show happens when it is done."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import PAGES, ROOT, Page, agrees, differences, read_page, same_picture

from deid.cli.commands import COMMANDS, load

READ = [read_page(path) for path in PAGES]
LONG = {"private-linkage", "hl7v2", "ccda", "linkage", "cube", "anonymization", "tutorial-engineer", "manifest"}
"""Those that take longest, which are run with the longer tests."""
NOT_RUN = 12
"""Blocks that need real notes, other programs or minutes: few, and counted so that they stay few."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, id=p.path.stem, marks=[pytest.mark.slow] if p.path.stem in LONG else []) for p in READ if p.steps],
)
def test_page_says_what_happens(page: Page, tmp_path: Path) -> None:
    wrong = differences(page, tmp_path)
    assert "\n".join(f"$ {step.source}--- shown\n{step.shown}--- said\n{said}" for step, said in wrong) == ""


def test_few_blocks_are_not_run() -> None:
    assert sum(len(page.steps) for page in READ) > 150
    assert sum(len(page.not_run) for page in READ) <= NOT_RUN


def test_pages_name_options_that_exist() -> None:
    commands = [load(name.split()[-1], row[0]) for rows in COMMANDS.values() for name, row in rows.items() if row[0]]
    known = {o for c in commands for p in c.params for o in (*p.opts, *p.secondary_opts)} | {"--help", "--version"}
    unknown = {
        f"{page.path.name}: {option}"
        for page in READ
        for line in re.findall(r"^(?:\$ )?deid .*(?:\\\n.*)*|`deid [^`]*`", page.path.read_text("utf-8"), re.MULTILINE)
        for option in re.findall(r"(?<=[ \[])--[a-z][a-z0-9-]*", line)
        if option not in known
    }
    assert unknown == set()


def test_options_with_a_value_are_those_of_commands_of_their_page() -> None:
    """``--by FIELD`` alone, where the page's command calls it otherwise, helps nobody."""
    taken = {
        name: {option for p in load(name.split()[-1], row[0]).params for option in (*p.opts, *p.secondary_opts)}
        for rows in COMMANDS.values()
        for name, row in rows.items()
        if row[0]
    }
    unknown = set()
    for page in READ:
        text = page.path.read_text("utf-8")
        shown = set(
            re.findall(r"(?<= )--[a-z][a-z0-9-]*", "".join(re.findall(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL)))
        )
        here = shown.union(*(options for name, options in taken.items() if f"deid {name}" in text))
        unknown |= {
            f"{page.path.name}: {o}" for o in re.findall(r"`(--[a-z][a-z0-9-]*) [A-Z]+`", text) if o not in here
        }
    assert unknown == set()


def test_every_page_that_is_linked_exists() -> None:
    links = {
        (path.parent / link).resolve()
        for path in PAGES
        for link in re.findall(r"\]\(((?!https?:|mailto:)[^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    }
    assert ROOT / "docs" / "scrubbing.md" in links
    assert [str(link) for link in links if not link.exists()] == []


def test_shown_and_said_are_compared() -> None:
    assert agrees("a\n...\nd\n", "a\nb\nc\n\nd  \n")
    assert agrees("at 3 ...\n", "at 3 km\n")
    assert agrees("about 3.1 of -2e4\n", "about 44 of 7\n", varies=True)
    assert not agrees("about 3\n", "about 4\n")
    assert not agrees("few 3\n", "about 4\n", varies=True)
    assert not agrees("a\n", "a\nb\n")


def test_pictures_are_those_that_the_commands_of_their_page_draw(tmp_path: Path) -> None:
    assert sum(len(page.pictures) for page in READ) > 3
    assert same_picture('<path id="m5b9c0b8973" d="M 10.04 3"/>', '<path id="m0a676c6baa" d="M 10.01 3"/>')
    assert not same_picture('<path d="M 10.04 3"/>', '<path d="M 14.04 3"/>')
    path = tmp_path / "x.md"
    path.write_text("```\n$ echo '<svg>2</svg>' > x.svg\n```\n![two](x.svg)\n")
    for content, wrong in (("1", 1), ("2", 0)):
        (tmp_path / "x.svg").write_text(f"<svg>{content}</svg>\n")
        folder = tmp_path / content
        folder.mkdir()
        assert len(differences(read_page(path), folder)) == wrong
