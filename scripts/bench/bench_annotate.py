#!/usr/bin/env python3
"""How long the annotation page takes to answer, in the browser: 10,000 notes, 50 labels, a note of 5 MB.

Each action is a key or click that the browser gets like an annotator's; the time runs from the event to the first frame
that shows its result as saved. The 5 MB note has a mark every thousand characters.

    scripts/bench/bench_annotate.py [--notes 10000] [--actions 40]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from deid.annotation.project import Project, ProjectLabel
from deid.document import Document, Span

KEYS = "bcdefghilmnopqrstvw0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:50]
LINE = "\N{PILL} Day {:06}: stable, no fever; Nurse Ödegaard gave 20 mg at 08:00, and the ward was told.\r\n"

CLOCK = """(press) => new Promise((done) => {
  const saved = document.getElementById("saved");
  let begun = 0;
  const over = () => (saved.dataset.state === "saved" ? done(performance.now() - begun) : look());
  const look = () => requestAnimationFrame(over);
  const text = document.getElementById("text");
  const target = press.startsWith("#") ? document.querySelector(press) : text;
  setTimeout(() => {
    begun = performance.now();
    if (press.startsWith("#")) target.click();
    else text.dispatchEvent(new KeyboardEvent("keydown", { key: press, bubbles: true, cancelable: true }));
    look();
  }, 0);
})"""
FLOOR = """async () => {
  const begun = performance.now();
  await (await fetch("/api/project", { headers: { "X-Deid": "1" } })).json();
  await new Promise(requestAnimationFrame);
  return performance.now() - begun;
}"""
SELECT = """(place) => {
  const walker = document.createTreeWalker(document.getElementById("text"), NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) if (!walker.currentNode.parentElement.closest(".mark")) nodes.push(walker.currentNode);
  const found = (node) => [...node.data.matchAll(/Nurse|stable|fever|ward|told/g)];
  const words = nodes.flatMap((node) => found(node).map((m) => [node, m.index, m[0].length]));
  const [node, from, length] = words[place % words.length];
  getSelection().setBaseAndExtent(node, from, node, from + length);
}"""


def made(path: Path, notes: int, size: int) -> None:
    """Make a project."""
    with Project.create(path, [ProjectLabel(f"CATEGORY-{i:02}", key) for i, key in enumerate(KEYS)]) as project:
        lines = "".join(LINE.format(i) for i in range(size // len(LINE.format(0).encode()) + 1))
        spans = tuple(
            Span(m.start(), m.end(), f"CATEGORY-{i % 50:02}")
            for i, m in enumerate(re.finditer("Ödegaard", lines))
            if not i % 11
        )
        project.add([Document("long", lines, spans)])
        project.add(
            Document(f"note-{i:05}", "".join(LINE.format(i * 25 + j) for j in range(25))) for i in range(notes - 1)
        )


def distribution(name: str, times: list[float]) -> None:
    """Print a distribution in milliseconds."""
    times.sort()
    at = [times[min(len(times) - 1, int(share * len(times)))] for share in (0.5, 0.9, 0.99)]
    print(f"{name:<34}{len(times):>5}{at[0]:>9.1f}{at[1]:>9.1f}{at[2]:>9.1f}{times[-1]:>9.1f}", flush=True)


def actions(page: Page, name: str, count: int) -> None:
    """Time what an annotator does in the note that is open."""
    labelled, relabelled, undone, accepted, moved = [], [], [], [], []
    for i in range(count):
        page.evaluate(SELECT, i)
        labelled.append(page.evaluate(CLOCK, KEYS[i % 50]))
        relabelled.append(page.evaluate(CLOCK, KEYS[(i + 1) % 50]))
        moved.append(page.evaluate(CLOCK, "]"))
        undone.append(page.evaluate(CLOCK, "z"))
        page.evaluate(CLOCK, "Tab")
        accepted.append(page.evaluate(CLOCK, "a"))
    for what, times in (
        ("label", labelled),
        ("relabel", relabelled),
        ("longer", moved),
        ("undo", undone),
        ("accept, next", accepted),
    ):
        distribution(f"{name}: {what}", times)


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=5_000_000)
    parser.add_argument("--actions", type=int, default=40)
    parser.add_argument("--browser", default="/usr/bin/chromium")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        project = Path(folder) / "bench.annotations"
        made(project, said.notes, said.size)
        command = [sys.executable, "-m", "deid", "annotate", str(project), "--annotator", "bench", "--no-browser"]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        assert server.stderr is not None
        link = next(found[0] for line in server.stderr if (found := re.search(r"http://\S+", line)))
        browser = play.chromium.launch(executable_path=said.browser, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(120_000)
        expect.set_options(timeout=120_000)
        try:
            page.goto(link)
            expect(page.locator("#name")).to_have_text("long")
            print(f"{said.notes} notes, 50 labels, a note of {said.size / 1e6:.1f} MB; milliseconds")
            print(f"{'action':<34}{'n':>5}{'median':>9}{'90 %':>9}{'99 %':>9}{'most':>9}")
            distribution("a request that does nothing", [page.evaluate(FLOOR) for _ in range(said.actions)])
            actions(page, "5 MB note", said.actions)
            page.evaluate("document.getElementById('text').scrollTop = 1e9")
            page.wait_for_timeout(500)
            actions(page, "5 MB note, at its end", said.actions)
            distribution("next note", [page.evaluate(CLOCK, "j") for _ in range(said.actions)])
            actions(page, "note of 2.5 KB", said.actions)
            distribution("done, next", [page.evaluate(CLOCK, "#done") for _ in range(said.actions)])
        finally:
            browser.close()
            server.terminate()
            server.communicate(timeout=60)


if __name__ == "__main__":
    main()
