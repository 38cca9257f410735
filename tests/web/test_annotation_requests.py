"""The requests of the annotation page, sent by hand: what comes is answered, and changes no project by mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deid.annotation.project import Project, ProjectLabel
from deid.document import Document

testclient = pytest.importorskip("fastapi.testclient", reason="the extra web is not installed")

TEXT = "Ann \N{PILL} told\r\nBob."
FAR = (2**53, -(2**53), 2**63, 2**64, -(2**70))


@pytest.fixture
def asked(tmp_path: Path) -> Any:
    from deid.web.annotation import annotation_app

    with Project.create(tmp_path / "p.annotations", [ProjectLabel("NAME", "n")]) as project:
        project.add([Document("a", TEXT)])
        client = testclient.TestClient(annotation_app(project, "ann"), raise_server_exceptions=False)

        def ask(method: str, path: str, body: object = None) -> Any:
            return client.request(method, path, json=body)

        ask.project = project  # type: ignore[attr-defined]
        yield ask


@pytest.mark.parametrize("far", FAR)
def test_numbers_that_no_note_has_are_refused_and_change_nothing(far: int, asked: Any) -> None:
    add = {"do": "add", "category": "NAME", "quote": "Ann"}
    changes = [
        {**add, "start": 0, "end": far},
        {**add, "start": far, "end": 3},
        *({"do": do, "mark": far, "category": "NAME"} for do in ("relabel", "remove", "accept", "reject", "note")),
        {"do": "move", "mark": far, "start": far, "end": far, "quote": ""},
    ]
    for change in changes:
        assert asked("POST", "/api/notes/1/changes", {"revision": 0, "changes": [change]}).status_code == 422
    refused = [
        asked("GET", f"/api/notes/{far}"),
        asked("GET", f"/api/notes/{far}/history"),
        asked("GET", f"/api/notes/{far}/others"),
        asked("POST", f"/api/notes/{far}/done", {"done": True}),
        asked("POST", f"/api/notes/{far}/undo", {"revision": 0}),
        asked("POST", "/api/notes/1/undo", {"revision": far}),
        asked("POST", "/api/notes/1/same", {"revision": 0, "mark": far}),
        asked("POST", f"/api/items/{far}", {"decision": "same"}),
    ]
    assert {answer.status_code for answer in refused} == {422}
    note = asked("GET", "/api/notes/1").json()
    assert (note["text"], note["revision"], note["marks"]) == (TEXT, 0, [])


def test_a_label_is_one_line_and_its_key_one_that_does_nothing_else(asked: Any) -> None:
    before = asked("GET", "/api/project").json()
    wrong = [("A\nB", "b"), ("\x00", "b"), ("X" * 201, "b"), (" ", "b"), ("B", "bb"), ("B", "\x00"), ("B", " ")]
    for category, key in [*wrong, *(("B", key) for key in before["reserved"])]:
        assert asked("PUT", "/api/labels", {"category": category, "key": key}).status_code == 400, (category, key)
    assert asked("GET", "/api/project").json() == before
    assert asked("PUT", "/api/labels", {"category": "Straße 2", "key": "ß"}).status_code == 200
    assert [label.key for label in asked.project.labels()] == ["n", "ß"]
