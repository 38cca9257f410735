"""The annotation page in a real browser: a session from a folder of notes to a trained model, and attacks on it."""

import http.server
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from deid.annotation.loop import LoopOptions, is_held_out
from deid.annotation.project import Project
from deid.annotation.quality import adjudicate
from deid.document import Document, Span

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("fastapi", reason="the extra web is not installed")
expect = playwright.expect
expect.set_options(timeout=60_000)  # a busy machine is no fault
BROWSER = "/usr/bin/chromium"
if not Path(BROWSER).exists():
    pytest.skip("Chromium is not installed", allow_module_level=True)

SCREENSHOTS = os.environ.get("DEID_SCREENSHOTS")
"""Folder for the pictures of the documentation; none are taken without it."""

FIRST = (
    "Discharge summary \N{HOSPITAL}\r\n"
    "Patient: Jörg Müller \N{GRINNING FACE} was admitted on 12 March 2024.\r\n"
    "<b>Jörg Müller</b> &amp; his wife Ann live in Łódź.\r\n"
    "\r\n"
    "Family: \N{FAMILY}\N{ZERO WIDTH JOINER}\N{WOMAN} Zoe\N{COMBINING DIAERESIS} Brandt, sister of Jörg Müller.\r\n"
    "המטופל דוד כהן התקבל ב-3 במאי.\r\n"
    "Seen by Dr. Szymborska on 14 March 2024; call Szymborska's office.\r\n"
)
SHORT = "Patient: {name} \N{THERMOMETER}\r\nSeen by Dr. {doctor} on {day} March 2024 in {place}.\r\n"
PEOPLE = [
    ("Otto Weiß", "Lindqvist", 2, "Tulsa"),
    ("Maria Delgado", "Whitcomb", 5, "Oslo"),
    ("Ivy Chen", "Szymborska", 7, "Łódź"),
    ("Karl Groß", "Lindqvist", 9, "Tulsa"),
]
LINE = "\N{PILL} Day {day}: stable, no fever; Nurse Ödegaard gave {dose} mg at 08:00 and <i>called</i> the ward.\r\n"


def trained_on(names: Iterator[str]) -> str:
    """Return the next name of a note that is not held out for the score."""
    return next(name for name in names if not is_held_out(name, LoopOptions()))


@contextmanager
def served(*arguments: str, port: int = 0) -> Iterator[SimpleNamespace]:
    """Start deid annotate, and yield its process, link and origin."""
    command = [sys.executable, "-m", "deid", "annotate", *arguments, "--no-browser", "--port", str(port)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    try:
        link = next(found[0] for line in server.stderr if (found := re.search(r"http://\S+", line)))
        yield SimpleNamespace(process=server, link=link, origin=link.partition("/enter")[0])
    finally:
        server.terminate()
        server.wait(timeout=60)
        server.stderr.close()


ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP evil.example 127.0.0.1"]


@pytest.fixture(scope="module")
def play():
    with playwright.sync_playwright() as play:
        yield play


@pytest.fixture(scope="module")
def browser(play):
    launched = play.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
    yield launched
    launched.close()


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("session") / "notes"
    folder.mkdir()
    names = (f"a-note-{i:02}" for i in range(99))
    (folder / f"{trained_on(names)}.txt").write_bytes(FIRST.encode())
    for name, doctor, day, place in PEOPLE:
        text = SHORT.format(name=name, doctor=doctor, day=day, place=place)
        (folder / f"{trained_on(names)}.txt").write_bytes(text.encode())
    long = "".join(LINE.format(day=i, dose=i % 90) for i in range(12_000))
    (folder / "z-long.txt").write_bytes((long + "Discharged by Dr. Szymborska \N{WAVING HAND SIGN}.\r\n").encode())
    assert len((folder / "z-long.txt").read_bytes()) > 10**6
    return folder


class Desk:
    """A browser's page with the hands of an annotator; counts what they do."""

    def __init__(self, browser, server, width=1280, height=800):
        self.context = browser.new_context(viewport={"width": width, "height": height})
        self.origin = server.origin
        self.errors, self.asked, self.actions = [], [], 0
        self.page = self.tab()
        self.page.goto(server.link)
        self.ready()

    def tab(self):
        page = self.context.new_page()
        page.on("console", lambda message: message.type in ("error", "warning") and self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        return page

    def ready(self, page=None):
        page = page or self.page
        expect(page.locator("#name")).not_to_have_text("No note is open")
        expect(page.locator("#saved")).to_have_attribute("data-state", "saved")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
            self.actions += 1
            expect(self.page.locator("#saved")).to_have_attribute("data-state", "saved")

    def box(self, quote, nth=0):
        """Return where the nth place of a text is on the screen, without counting on the page's own code."""
        return self.page.evaluate(
            """([quote, nth]) => {
              const walker = document.createTreeWalker(document.getElementById("text"), NodeFilter.SHOW_TEXT);
              const nodes = [];
              let all = "";
              for (let node; (node = walker.nextNode()); all += node.data) nodes.push([all.length, node]);
              let at = -1;
              for (let i = 0; i <= nth; i++) at = all.indexOf(quote, at + 1);
              const place = (unit) => {
                const [from, node] = nodes.findLast(([from]) => from <= unit);
                return [node, unit - from];
              };
              const range = document.createRange();
              range.setStart(...place(at));
              const [node, offset] = place(at + quote.length - 1);
              range.setEnd(node, offset + 1);
              range.startContainer.parentElement.scrollIntoView({ block: "nearest" });
              const { left, right, top, bottom } = range.getBoundingClientRect();
              return { left, right, y: (top + bottom) / 2 };
            }""",
            [quote, nth],
        )

    def drag(self, quote, key, nth=0, rtl=False):
        """Select with the mouse, and press a label's key."""
        box = self.box(quote, nth)
        ends = (box["left"] + 0.5, box["right"] - 0.5)
        start, end = reversed(ends) if rtl else ends
        self.page.mouse.move(start, box["y"])
        self.page.mouse.down()
        self.page.mouse.move(end, box["y"], steps=4)
        self.page.mouse.up()
        self.press(key)

    def twice(self, word, key, nth=0):
        """Double-click a word, and press a label's key."""
        box = self.box(word, nth)
        self.page.mouse.dblclick((box["left"] + box["right"]) / 2, box["y"])
        self.press(key)

    def click(self, selector):
        self.page.locator(selector).click()
        self.actions += 1
        self.ready()

    def picture(self, name):
        if SCREENSHOTS:
            self.page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}.png"))

    def clean(self):
        """Assert that nothing was wrong on the console, and nothing was asked of anybody else."""
        assert self.errors == []
        assert [url for url in self.asked if not url.startswith(self.origin + "/")] == []


def axe(page) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {node['html'][:200]} {node.get('failureSummary')}" for one in found for node in one["nodes"]]


def marked(project: Path, annotator: str = "anna") -> dict[str, list[tuple[str, str]]]:
    """Return what an annotator's documents say: category and text at the spans' offsets."""
    with Project.open(project) as opened:
        documents = list(opened.documents(annotator, done=False))
    return {d.id: [(s.category, d.text[s.start : s.end]) for s in d.spans] for d in documents}


def places(text: str, quote: str) -> list[int]:
    return [found.start() for found in re.finditer(re.escape(quote), text)]


def test_a_session_from_a_folder_to_a_trained_model(browser, notes):
    project = notes.with_name("notes.annotations")
    learning = ("--start", "none")
    labels = [part for label in ("NAME=n", "DATE=d", "PLACE=p", "OTHER=o") for part in ("--label", label)]
    with served(str(notes), "--annotator", "anna", *labels, *learning) as server:
        desk = Desk(browser, server)
        page = desk.page
        assert project.stat().st_mode & 0o777 == 0o600
        expect(page.locator("#rows .row")).to_have_count(6)
        desk.drag("Jörg Müller", "n")
        desk.press("=")  # the same in this note
        expect(page.locator(".mark.accepted")).to_have_count(3)
        desk.drag("12 March 2024", "d")
        desk.twice("Ann", "n")
        desk.twice("Łódź", "o")
        desk.press("p")  # relabelled
        desk.twice("Zoë".replace("ë", "e\N{COMBINING DIAERESIS}"), "n")
        desk.press("]")  # one word longer: the family name
        desk.drag("דוד כהן", "n", rtl=True)
        desk.twice("Szymborska", "o")
        desk.press("z")
        expect(page.locator(".mark")).to_have_count(8)
        desk.press("y")
        expect(page.locator(".mark")).to_have_count(9)
        desk.press("n", "+")  # the same in the project: it is in another note too
        expect(page.locator("#message")).to_contain_text("3 notes")
        page.get_by_role("button", name="Close").click()
        page.locator("#text").focus()
        desk.drag("14 March 2024", "d")
        desk.twice("admitted", "o")
        desk.press("x")  # not so
        page.get_by_role("button", name=re.compile("^Ann,")).click()
        desk.press("#")
        page.keyboard.type("his wife")
        desk.press("Enter")
        desk.picture("annotation")
        assert axe(page) == []
        desk.press("Control+Enter")
        for name, doctor, day, place in PEOPLE:
            expect(page.locator(".block")).to_contain_text(name)
            desk.drag(name, "n")
            if doctor != "Szymborska":
                desk.twice(doctor, "n")
            desk.drag(f"{day} March 2024", "d")
            desk.twice(place, "p")
            desk.press("Control+Enter")
        # the long note: only what is near the viewport is drawn
        expect(page.locator("#name")).to_have_text("z-long")
        assert page.evaluate("document.getElementById('text').textContent.length") < 50_000
        desk.twice("Ödegaard", "n", nth=1)
        page.locator("#text").press("End")
        page.evaluate("document.getElementById('text').scrollTop = 1e9")
        expect(page.locator("#text")).to_contain_text("Discharged by")
        assert page.evaluate("document.getElementById('text').textContent.length") < 100_000
        assert desk.actions >= 30
        page.locator("#train").click()
        expect(page.locator("#training")).to_contain_text("Trained on 5 notes", timeout=120_000)
        desk.ready()
        desk.picture("annotation-trained")
        assert axe(page) == []
        # a killed server loses nothing that was on the screen as saved
        server.process.send_signal(signal.SIGKILL)
        desk.clean()
    long = (notes / "z-long.txt").read_bytes().decode()
    found = marked(project)
    name = re.sub(r"\.txt$", "", sorted(path.name for path in notes.iterdir())[0])
    assert found[name] == [
        ("NAME", "Jörg Müller"),
        ("DATE", "12 March 2024"),
        ("NAME", "Jörg Müller"),
        ("NAME", "Ann"),
        ("PLACE", "Łódź"),
        ("NAME", "Zoe\N{COMBINING DIAERESIS} Brandt"),
        ("NAME", "Jörg Müller"),
        ("NAME", "דוד כהן"),
        ("NAME", "Szymborska"),
        ("DATE", "14 March 2024"),
        ("NAME", "Szymborska"),
    ]
    with Project.open(project) as opened:
        documents = {d.id: d for d in opened.documents("anna", done=False)}
        assert documents["z-long"].text == long
        assert len(opened.trainings.figures("anna")) == 1
        assert [entry.state for entry in opened.entries("anna")] == ["done"] * 5 + ["begun"]
    assert [s.attributes for s in documents[name].spans if s.attributes] == [(("comment", "his wife"),)]
    starts = [s.start for s in documents["z-long"].spans]
    assert starts == [places(long, "Ödegaard")[1], places(long, "Szymborska")[0]]
    assert [s.start for s in documents[name].spans if s.category == "DATE"] == [
        FIRST.index("12 March"),
        FIRST.index("14 March"),
    ]


@pytest.mark.slow
def test_it_goes_on_where_it_was_and_tabs_do_not_overwrite_each_other(browser, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.txt").write_bytes(b"Ann Lee met Bob Ray.\r\n")
    (tmp_path / "notes" / "two.txt").write_bytes(b"Nobody.\n")
    where = (str(tmp_path / "notes"), "--annotator", "anna", "--label", "NAME=n")
    with served(*where) as server:
        desk = Desk(browser, server)
        other = desk.tab()
        other.goto(desk.origin)
        desk.ready(other)
        desk.drag("Ann Lee", "n")
        expect(other.locator(".mark")).to_have_count(0)
        first, desk.page = desk.page, other
        desk.drag("Bob Ray", "n")
        expect(other.locator("#message")).to_contain_text("changed in another tab")
        expect(other.locator(".mark")).to_have_count(1)
        desk.drag("Bob Ray", "n")
        expect(other.locator(".mark")).to_have_count(2)
        desk.page = first
        desk.press("z")  # the first tab has not seen it: the step that it takes back is told
        assert [error for error in desk.errors if "409" not in error] == []
    saved = marked(tmp_path / "notes.annotations")["one"]
    with served(str(tmp_path / "notes.annotations"), "--annotator", "anna") as server:
        desk = Desk(browser, server)
        expect(desk.page.locator("#name")).to_have_text("one")
        assert [(m.get_attribute("data-label"), m.inner_text()) for m in desk.page.locator(".mark").all()] == saved
        desk.clean()


@pytest.mark.slow
def test_all_of_it_by_keyboard(browser, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_bytes(b"Mr. Ann Lee\r\nsaw Bob Ray.\r\n")
    (tmp_path / "notes" / "b.txt").write_bytes(b"Nothing.\n")
    with served(str(tmp_path / "notes"), "--annotator", "anna", "--label", "NAME=n", "--label", "DATE") as server:
        desk = Desk(browser, server)
        page = desk.page
        desk.press("ArrowRight", "ArrowRight", "ArrowRight")
        assert page.evaluate("getSelection().toString()") == "Ann"
        desk.press("Shift+ArrowRight", "n")
        expect(page.locator(".mark")).to_have_text(["Ann Lee"])
        desk.press("[")
        expect(page.locator(".mark")).to_have_text(["Ann"])
        desk.press("]", "}")
        desk.press("ArrowDown")
        desk.press("Escape", "Escape")
        expect(page.locator("#list")).to_be_focused()
        desk.press("ArrowDown", "Enter")
        expect(page.locator("#name")).to_have_text("b")
        expect(page.locator("#text")).to_be_focused()
        desk.press("k")
        expect(page.locator("#name")).to_have_text("a")
        # a label's key is changed, and a label added, on the page
        page.locator("#edit-labels").press("Enter")
        page.get_by_label("New label", exact=True).fill("PLACE")
        page.get_by_label("Key of the new label").fill("x")
        page.locator("#labels-save").press("Enter")
        expect(page.locator("#labels-error")).to_contain_text("something else")
        page.get_by_label("Key of the new label").fill("7")
        page.get_by_label("Key of NAME").fill("m")
        assert axe(page) == []
        page.locator("#labels-save").press("Enter")
        expect(page.locator("#labels .label")).to_have_text(
            [re.compile("m.*NAME"), re.compile("DATE"), re.compile("7.*PLACE")]
        )
        page.locator("#text").focus()
        desk.press("ArrowRight", "7")
        desk.press("?")
        expect(page.locator("#help-box")).to_be_visible()
        desk.press("Escape")
        for theme in ("light", "dark", "contrast"):
            page.locator("#theme").press("Enter")
            expect(page.locator("#theme-name")).to_have_text(theme)
            assert axe(page) == []
        # twice as large, as a browser's zoom makes it: nothing runs out of the page sideways
        page.set_viewport_size({"width": 640, "height": 400})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        desk.clean()
    assert sorted(marked(tmp_path / "notes.annotations")["a"]) == [("NAME", "Lee"), ("PLACE", "Mr")]


@pytest.mark.slow
def test_other_annotators_and_items_are_reviewed_in_the_page(browser, tmp_path):
    place = tmp_path / "p.annotations"
    text = "Ann Lee saw Bob Ray in Oslo.\n"
    with Project.create(place, ["NAME", "PLACE"]) as project:
        project.add([Document("one", text)])
        project.add([Document("one", text, (Span(0, 7, "NAME"), Span(12, 19, "NAME"), Span(23, 27, "PLACE")))], "bert")
        rows = [{"name": "Ann Lee", "zip": "02139"}, {"name": "Anne Lee", "zip": "02139"}]
        project.items.add(
            "link", [("1-2", {"a": rows[0], "b": rows[1], "probability": "0.81"}), ("3-4", {"why_apart": ""})]
        )
    with served(str(place), "--annotator", "anna") as server:
        desk = Desk(browser, server)
        page = desk.page
        desk.drag("Ann Lee", "n")
        desk.drag("Ray", "n")
        expect(page.locator("#compare-pane")).to_be_hidden()  # nobody copies before being done
        desk.press("Control+Enter")
        expect(page.locator("#compare tbody tr")).to_have_count(2)
        expect(page.locator("#compare")).to_contain_text("1 stretches alike, 2 different")
        page.get_by_role("button", name="Bob Ray").click()
        assert page.evaluate("getSelection().toString()") == "Bob Ray"
        expect(page.locator("#review")).to_have_text("Review 2 open")
        page.locator("#review").click()
        expect(page.locator("#review-item .differs")).to_have_count(1)
        assert axe(page) == []
        desk.picture("annotation-review")
        page.locator("#review-comment").fill("same street")
        page.get_by_role("button", name="same 1").click()
        expect(page.locator("#review-place")).to_contain_text("2 of 2")
        page.locator("#review-item").press("3")
        expect(page.locator("#review-place")).to_contain_text("you decided: unsure")
        desk.clean()
    with Project.open(place) as project:
        project.remove([entry.id for entry in project.entries("anna")])
    with served(str(place), "--annotator", "bert") as server:  # a project may hold nothing but items
        page = browser.new_page()
        page.goto(server.link)
        expect(page.locator("#review-place")).to_contain_text("1 of 2")
    with Project.open(place) as project:
        decided = [[(d.annotator, d.decision, d.comment) for d in item.decisions] for item in project.items.all()]
    assert decided == [[("anna", "same", "same street")], [("anna", "unsure", "")]]


@pytest.mark.slow
def test_an_adjudicator_sees_whose_is_what_and_what_a_scrubbing_wrote(browser, tmp_path):
    place = tmp_path / "p.annotations"
    text = "Ann Lee saw Bob Ray in Oslo.\n"
    ann, bob, ray, oslo = Span(0, 7, "NAME"), Span(12, 19, "NAME"), Span(16, 19, "NAME"), Span(23, 27, "PLACE")
    with Project.create(place, ["NAME", "PLACE"]) as project:
        replaced = (("replacement", "Rome"),)
        project.add([Document("one", text, (Span(23, 27, "PLACE", source="scrub", attributes=replaced),))])
        project.add([Document("one", text, (ann, bob))], "anna")
        project.add([Document("one", text, (ann, ray, oslo))], "bert")
        adjudicate(project, "chief", ["anna", "bert"])
    with served(str(place), "--annotator", "chief") as server:
        desk = Desk(browser, server)
        page = desk.page
        rows = page.locator("#compare tbody tr")
        expect(rows).to_have_count(2)  # before anything is done
        expect(page.locator("#compare th")).to_have_text(["text", "you", "anna", "bert"])
        expect(rows.nth(0).locator("td")).to_have_text(["Bob Ray", "–", "NAME", "Ray NAME"])
        desk.press("Tab")
        desk.press("a")
        expect(rows.nth(0).locator("td").nth(1)).to_have_text("NAME")  # what was decided, beside what each has
        page.locator(".mark", has_text="Oslo").click()
        expect(page.locator("#mark")).to_contain_text("replaced by: Rome")
        assert axe(page) == []
        desk.clean()


@contextmanager
def site(page: str) -> Iterator[str]:
    """Serve a page of somebody else, on another port; yield its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


ATTACK = """<body><iframe src="{origin}/" id="frame"></iframe><img src="{origin}/api/notes/1"><div id="out"></div>
<script>
const out = (text) => document.getElementById("out").append(text + ";");
(async () => {{
  for (const [method, mode, headers] of [["GET", "no-cors", {{}}], ["GET", "cors", {{}}], ["POST", "no-cors", {{}}],
      ["POST", "cors", {{"X-Deid": "1", "Content-Type": "application/json"}}]]) {{
    const body = method === "POST" ? '{{"done": true}}' : undefined;
    const path = method === "POST" ? "/api/notes/1/done" : "/api/notes/1";
    try {{
      const answer = await fetch("{origin}" + path, {{ method, mode, headers, body, credentials: "include" }});
      out(answer.type + (await answer.text()).length);
    }} catch {{ out("refused"); }}
  }}
  out("end");
}})();
</script></body>"""


def test_attacks_of_another_site_a_rebound_name_and_a_used_link(browser, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.txt").write_bytes(b"Ann Szymborska.\n")
    with served(str(tmp_path / "notes"), "--annotator", "anna") as server:
        desk = Desk(browser, server)
        statuses = []
        desk.context.on("response", lambda answer: statuses.append((answer.url, answer.status)))
        with site(ATTACK.format(origin=server.origin)) as address:
            evil = desk.context.new_page()
            evil.goto(address)
            expect(evil.locator("#out")).to_contain_text("end")
            # nothing can be read: answers are opaque, of length 0, or no answer at all
            assert set(evil.locator("#out").inner_text().split(";")) <= {"refused", "opaque0", "end", ""}
            assert all("Szymborska" not in (frame.content() or "") for frame in evil.frames)
        own = [(url, status) for url, status in statuses if url.startswith(server.origin)]
        assert own
        assert {status for _, status in own} <= {401, 403}
        # a name that somebody resolves to this machine
        port = server.origin.rpartition(":")[2]
        rebound = desk.context.new_page().goto(f"http://evil.example:{port}/")
        assert rebound.status == 421
        # the link again, in another browser
        answer = browser.new_context().new_page().goto(server.link)
        assert answer.status == 401
        assert "set-cookie" not in answer.headers
    with Project.open(tmp_path / "notes.annotations") as project:
        assert [entry.state for entry in project.entries("anna")] == ["new"] or project.annotators() == ("anna",)
        assert not any(entry.state == "done" for entry in project.entries("anna"))


@pytest.mark.slow
def test_the_browser_keeps_nothing_of_a_note(play, tmp_path):
    (tmp_path / "notes").mkdir()
    secret = "Szymborskaquellenweg"
    (tmp_path / "notes" / "one.txt").write_bytes(f"Ann {secret} was seen.\n".encode())
    profile = tmp_path / "profile"
    with served(str(tmp_path / "notes"), "--annotator", "anna") as server:
        context = play.chromium.launch_persistent_context(str(profile), executable_path=BROWSER, args=ARGUMENTS)
        page = context.pages[0]
        page.goto(server.link)
        expect(page.locator("#text")).to_contain_text(secret)
        page.reload()
        expect(page.locator("#text")).to_contain_text(secret)
        context.close()
        shutil.rmtree(profile / "ShaderCache", ignore_errors=True)
    kept = [path for path in profile.rglob("*") if path.is_file()]
    assert kept
    for encoded in (secret.encode(), secret.encode("utf-16-le")):
        assert [path.name for path in kept if encoded in path.read_bytes()] == []


def test_the_link_stands_on_no_command_line(browser, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.txt").write_bytes(b"Ann was seen.\n")
    (tmp_path / "opener").write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/said\n')
    (tmp_path / "opener").chmod(0o700)
    command = [sys.executable, "-m", "deid", "annotate", str(tmp_path / "notes")]
    how = {**os.environ, "BROWSER": str(tmp_path / "opener")}
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, env=how)
    try:
        assert any("your browser opens" in line for line in server.stderr)
        door = tmp_path / "notes.annotations.open.html"
        assert (tmp_path / "said").read_text().strip() == door.as_uri()
        assert door.stat().st_mode & 0o777 == 0o600
        page = browser.new_page()
        page.goto(door.as_uri())
        expect(page.locator("#text")).to_contain_text("Ann was seen")
    finally:
        server.terminate()
        server.communicate(timeout=60)
    assert server.returncode == 0
    assert not door.exists()


@pytest.mark.parametrize(
    "make",
    [
        lambda place: place.mkdir(),
        lambda place: None,
        lambda place: place.write_bytes(b"SQLite format 3\0" + bytes(4000)),
    ],
    ids=["an empty folder", "nothing", "another database"],
)
def test_what_cannot_be_annotated_is_refused(tmp_path, make, capsys):
    from commands import call

    make(tmp_path / "place")
    assert call("annotate", str(tmp_path / "place"), "--no-browser") == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert "Hint: " in said
    assert list(tmp_path.glob("*.annotations")) == []
