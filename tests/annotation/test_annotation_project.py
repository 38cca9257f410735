"""A project's file: marks, undo and redo, conflicts, suggestions, and what a killed process leaves."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import signal
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.annotation.editing import Accept, Add, Change, Conflict, Mark, Move, Note, Reject, Relabel, Remove
from deid.annotation.project import Project, ProjectLabel
from deid.base.errors import (
    ConfigError,
    DuplicateError,
    InputError,
    LabelError,
    OffsetError,
    OutputError,
    StoreError,
)
from deid.document import Document, Span

TEXT = "Dr. Müller 😀 sah\r\nAnn Lee.\tשלום עולם e\u0301 <b>Ann Lee</b> \ud83d Anna\x00 2012"
PARTS = st.sampled_from(["Ann Lee", "😀", "\r\n", "שלום", "e\u0301", "<b>", "\ud83d", "\x00", " ", "12.3.", "x"])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "one.project"


def _added(project: Project, text: str = TEXT, spans: tuple[Span, ...] = (), id: str = "a") -> int:
    assert not project.add([Document(id, text, spans)]).failures
    return next(entry.id for entry in project.entries("eva") if entry.name == id)


@pytest.mark.parametrize("labels", [("NAME", ProjectLabel("DATE", "n")), (ProjectLabel("DATE", "n"), "NAME")])
def test_a_key_that_is_asked_for_is_no_other_labels_key_by_default(
    tmp_path: Path, labels: tuple[ProjectLabel | str, ...]
) -> None:
    with Project.create(tmp_path / "p", labels) as project:
        keys = {label.category: label.key for label in project.labels()}
    assert keys["DATE"] == "n"
    assert keys["NAME"] not in ("n", "")


def _places(marks: tuple[Mark, ...]) -> list[tuple[int, int, str, str]]:
    return [(m.start, m.end, m.category, m.state) for m in marks]


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ((ProjectLabel("NAME", "n"), ProjectLabel("DATE", "n")), "another label has this key"),
        ((ProjectLabel("NAME", "a"),), "does something else"),
    ],
)
def test_a_new_project_has_no_key_that_means_two_things(
    tmp_path: Path, labels: tuple[ProjectLabel, ...], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        Project.create(tmp_path / "p", labels)
    assert not (tmp_path / "p").exists()


def test_a_project_is_one_private_file_that_opens_again(place: Path) -> None:
    with Project.create(place, ["NAME", ProjectLabel("DATE", "7")]) as project:
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        id = _added(project)
        project.set_guideline("Titles are no part of a name.")
        project.change(id, "eva", 0, [Add(4, 10, "NAME", "Müller")])
    with pytest.raises(OutputError):
        Project.create(place)
    with Project.open(place) as project:
        assert project.text(id) == TEXT
        assert project.guideline() == "Titles are no part of a name."
        assert [label.category for label in project.labels()] == ["NAME", "DATE"]
        assert project.labels()[1].key == "7"
        revision, marks = project.marks(id, "eva")
        assert (revision, _places(marks)) == (1, [(4, 10, "NAME", "accepted")])
        assert marks[0].by == "eva"
        (event,) = project.history(id)
        assert (event.annotator, event.what, event.marks) == ("eva", "add", marks)
        assert TEXT not in repr(project) + repr(project.entries("eva"))


def test_what_is_no_project_is_refused(place: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        Project.open(place)
    place.write_bytes(b"no database at all, only some bytes" * 40)
    place.chmod(0o600)
    with pytest.raises(StoreError):
        Project.open(place)
    with Project.create(tmp_path / "b") as project, pytest.raises(InputError):
        project.text(1)


def test_fifty_labels_have_keys_of_their_own(place: Path) -> None:
    with Project.create(place, [f"CATEGORY {i}" for i in range(50)]) as project:
        keys = [label.key for label in project.labels()]
        assert len(set(keys)) == 50
        with pytest.raises(ConfigError):
            project.set_label("CATEGORY 1", keys[0])
        project.set_label("CATEGORY 1", "")
        project.set_label("CATEGORY 0", keys[1])
        assert [label.key for label in project.labels()][:2] == [keys[1], ""]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (Add(4, 10, "NAME", "Muller"), OffsetError),
        (Add(4, 9, "NAME", "Müller"), OffsetError),
        (Add(4, 4, "NAME", ""), OffsetError),
        (Add(0, 5000, "NAME", TEXT), OffsetError),
        (Add(-1, 2, "NAME", ""), OffsetError),
        (Add(4, 10, "PLANET", "Müller"), LabelError),
        (Accept(4711), Conflict),
    ],
)
def test_a_change_that_does_not_fit_changes_nothing(place: Path, change: Change, kind: type[Exception]) -> None:
    with Project.create(place, ["NAME"]) as project:
        id = _added(project)
        good = Add(18, 25, "NAME", TEXT[18:25])
        with pytest.raises(kind) as error:
            project.change(id, "eva", 0, [good, change])
        assert "ller" not in str(error.value)
        assert project.marks(id, "eva") == (0, ())
        assert not project.history(id)


def test_two_tabs_never_overwrite_each_other(place: Path) -> None:
    with Project.create(place, ["NAME"]) as one, Project.open(place) as two:
        id = _added(one)
        revision, _ = two.marks(id, "eva")
        first = one.change(id, "eva", revision, [Add(4, 10, "NAME", "Müller")])
        with pytest.raises(Conflict):
            two.change(id, "eva", revision, [Add(4, 10, "NAME", "Müller")])
        assert two.change(id, "eva", first, [Add(18, 21, "NAME", "Ann")]) == first + 1
        assert two.change(id, "paul", 0, []) == 0  # another layer has revisions of its own


def test_many_threads_lose_nothing(place: Path) -> None:
    text = "x" * 400
    with Project.create(place, ["NAME"]) as project:
        id = _added(project, text)

        def work(first: int) -> None:
            for start in range(first, first + 10):
                while True:
                    revision, _ = project.marks(id, "eva")
                    with contextlib.suppress(Conflict):
                        project.change(id, "eva", revision, [Add(start * 5, start * 5 + 4, "NAME", "xxxx")])
                        break

        threads = [threading.Thread(target=work, args=(first,)) for first in range(0, 40, 10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        revision, marks = project.marks(id, "eva")
        assert (revision, len(marks)) == (40, 40)


def _changes(data: st.DataObject, text: str, marks: tuple[Mark, ...]) -> list[Change]:
    """Return one or two changes that the marks admit."""
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, min(len(text), start + 9)))
    category = data.draw(st.sampled_from(["NAME", "DATE"]))
    changes: list[Change] = [Add(start, end, category, text[start:end])]
    if marks:
        id = data.draw(st.sampled_from(marks)).id
        own = [Remove(id), Relabel(id, category), Move(id, start, end, text[start:end]), Accept(id), Reject(id)]
        changes = [data.draw(st.sampled_from([*changes, *own, Note(id, "why?")]))]
    return changes


@settings(max_examples=25)
@given(data=st.data(), text=st.lists(PARTS, min_size=1, max_size=12).map("".join))
def test_undo_and_redo_are_inverse(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, text: str) -> None:
    """What `marks` tells after n steps comes back when later ones are undone, and again when they are redone.

    What each step tells is enough to know all marks of the note.
    """
    place = tmp_path_factory.mktemp("undo") / "p"
    places = sorted({0, len(text), *data.draw(st.lists(st.integers(0, len(text)), max_size=4))})
    spans = tuple(Span(a, b, "DATE", score=0.5) for a, b in itertools.pairwise(places))
    with Project.create(place, ["NAME", "DATE"]) as project:
        id = _added(project, text, spans)
        assert project.text(id) == text
        states = [project.marks(id, "eva")[1]]
        screen = {mark.id: mark for mark in states[0]}

        def shown(told: dict[int, Mark | None]) -> bool:
            screen.update((number, mark) for number, mark in told.items() if mark)
            for number in [number for number, mark in told.items() if mark is None]:
                screen.pop(number, None)
            return screen == {mark.id: mark for mark in project.marks(id, "eva")[1]}

        for _ in range(data.draw(st.integers(1, 5))):
            revision, marks = project.marks(id, "eva")
            kinds = ["change", "same"] if marks else ["change"]
            told: dict[int, Mark | None] = {}
            if data.draw(st.sampled_from(kinds)) == "same":
                after = project.same(id, "eva", data.draw(st.sampled_from(marks)).id, told=told).get(id, revision)
            else:
                after = project.change(id, "eva", revision, _changes(data, text, marks), told)
            assert shown(told)
            now = project.marks(id, "eva")
            assert now[0] == after
            if after != revision:
                states.append(now[1])
            accepted = [mark for mark in now[1] if mark.state == "accepted"]
            assert all(a.end <= b.start for a, b in itertools.pairwise(accepted))
        for state in reversed(states[:-1]):
            project.undo(id, "eva", None, told := {})
            assert project.marks(id, "eva")[1] == state
            assert shown(told)
        assert project.undo(id, "eva") == project.marks(id, "eva")[0]
        for state in states[1:]:
            project.redo(id, "eva", project.marks(id, "eva")[0], told := {})
            assert project.marks(id, "eva")[1] == state
            assert shown(told)
        # every step and its undoing is told
        assert len(project.history(id)) == 3 * (len(states) - 1)


def test_nothing_is_undone_that_was_not_seen(place: Path) -> None:
    with Project.create(place, ["NAME"]) as project:
        id = _added(project)
        seen = project.change(id, "eva", 0, [Add(4, 10, "NAME", "Müller")])
        project.change(id, "eva", seen, [Add(18, 21, "NAME", "Ann")])
        (mark, _) = project.marks(id, "eva")[1]
        for action in (project.undo, project.redo):
            with pytest.raises(Conflict):
                action(id, "eva", seen)
        with pytest.raises(Conflict):
            project.same(None, "eva", mark.id, revision=seen)
        assert len(project.marks(id, "eva")[1]) == 2


def test_a_new_change_ends_what_could_be_redone(place: Path) -> None:
    with Project.create(place, ["NAME"]) as project:
        id = _added(project)
        project.change(id, "eva", 0, [Add(4, 10, "NAME", "Müller")])
        revision = project.undo(id, "eva")
        project.change(id, "eva", revision, [Add(18, 21, "NAME", "Ann")])
        project.redo(id, "eva")
        assert _places(project.marks(id, "eva")[1]) == [(18, 21, "NAME", "accepted")]


def test_all_the_same_in_a_note_and_in_the_project(place: Path) -> None:
    with Project.create(place, ["NAME", "DATE"]) as project:
        first = _added(project)
        other = _added(project, "Ann Lee, Annable, Ann Lee", (Span(0, 3, "DATE", score=0.9),), "b")
        third = _added(project, "Ann Lee", (), "c")
        revision = project.change(third, "eva", 0, [Add(0, 7, "DATE", "Ann Lee")])
        revision = project.change(first, "eva", 0, [Add(18, 25, "NAME", "Ann Lee")])
        (mark,) = project.marks(first, "eva")[1]
        project.same(first, "eva", mark.id)
        again = TEXT.index("Ann Lee", 20)
        both = [(18, 25, "NAME", "accepted"), (again, again + 7, "NAME", "accepted")]
        assert _places(project.marks(first, "eva")[1]) == both
        assert project.marks(other, "eva")[0] == 0
        assert project.same(None, "eva", mark.id) == {other: 1}
        assert _places(project.marks(other, "eva")[1]) == [(0, 7, "NAME", "accepted"), (18, 25, "NAME", "accepted")]
        assert _places(project.marks(third, "eva")[1]) == [(0, 7, "DATE", "accepted")]  # decided otherwise
        assert [entry.state for entry in project.entries("eva")] == ["begun", "new", "begun"]
        project.undo(other, "eva")
        assert _places(project.marks(other, "eva")[1]) == [(0, 3, "DATE", "suggested")]
        assert revision


def test_a_step_in_many_notes_is_undone_in_all(place: Path) -> None:
    with Project.create(place, ["NAME"]) as project:
        ids = [_added(project, f"{i} Ann Lee", (), str(i)) for i in range(3)]
        project.change(ids[0], "eva", 0, [Add(2, 9, "NAME", "Ann Lee")])
        (mark,) = project.marks(ids[0], "eva")[1]
        assert project.same(None, "eva", mark.id).keys() == set(ids[1:])
        project.undo(ids[1], "eva")
        assert [len(project.marks(id, "eva")[1]) for id in ids] == [1, 0, 0]
        project.redo(ids[2], "eva")
        assert [len(project.marks(id, "eva")[1]) for id in ids] == [1, 1, 1]


def test_a_rejected_suggestion_does_not_come_again(place: Path) -> None:
    spans = (Span(4, 10, "NAME", score=0.7), Span(18, 25, "NAME", score=0.6))
    with Project.create(place) as project:
        id = _added(project, TEXT, spans)
        revision, marks = project.marks(id, "eva")
        project.change(id, "eva", revision, [Reject(marks[0].id), Remove(marks[1].id)])
        project.refresh(id, spans, 0.5)
        states = [mark.state for mark in project.marks(id, "eva")[1]]
        assert states == ["rejected", "rejected"]
        assert [mark.state for mark in project.marks(id, "paul")[1]] == ["suggested"] * 2
        assert project.entries("eva")[0].uncertainty == 0.5


@settings(max_examples=30)
@given(data=st.data())
def test_suggestions_are_refreshed_only_where_nobody_has_decided(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = "".join(data.draw(st.lists(PARTS, min_size=6, max_size=20)))
    spans = st.lists(
        st.tuples(st.integers(0, len(text) - 1), st.integers(1, 6)).map(
            lambda place: Span(place[0], min(len(text), sum(place)), "NAME", score=0.5)
        ),
        max_size=5,
        unique=True,
    ).map(tuple)
    with Project.create(tmp_path_factory.mktemp("refresh") / "p", ["NAME", "DATE"]) as project:
        id = _added(project, text, data.draw(spans))
        for _ in range(data.draw(st.integers(0, 4))):
            revision, marks = project.marks(id, "eva")
            project.change(id, "eva", revision, _changes(data, text, marks))
        done = data.draw(st.booleans())
        if done:
            project.finish(id, "eva")
        revision, before = project.marks(id, "eva")
        new = data.draw(spans)
        project.refresh(id, new, None)
        again, after = project.marks(id, "eva")
        assert again == revision
        if done:
            assert after == before
            return
        decided = [mark for mark in before if mark.state != "suggested"]
        assert [mark for mark in after if mark.state != "suggested"] == decided
        free = [s for s in new if not any(mark.overlaps(s.start, s.end) for mark in decided)]
        suggested = sorted((m.start, m.end) for m in after if m.state == "suggested")
        assert suggested == sorted((s.start, s.end) for s in free)
        ids = {(m.start, m.end): m.id for m in before if m.state == "suggested"}
        kept = {(m.start, m.end): m.id for m in after if m.state == "suggested" and (m.start, m.end) in ids}
        assert kept.keys() == ids.keys() & {(s.start, s.end) for s in free}
        assert set(kept.values()) <= {m.id for m in before}


def test_another_text_of_a_known_id_is_refused_and_the_rest_goes_on(place: Path) -> None:
    with Project.create(place) as project:
        tally = project.add([Document("a", "one"), Document("b", "two"), Document("a", "three"), Document("c", "four")])
        assert tally.documents == 3
        assert [type(failure.error) for failure in tally.failures] == [DuplicateError]
        assert [entry.name for entry in project.entries("eva")] == ["a", "b", "c"]


def test_annotations_of_others_make_a_layer_and_never_touch_what_is_decided(place: Path) -> None:
    gold = Document(
        "a", "Ann Lee 2012", (Span(0, 7, "NAME", "T1", attributes=(("comment", "sure"),)), Span(8, 12, "DATE"))
    )
    with Project.create(place) as project:
        project.add([gold], "gold")
        (entry,) = project.entries("gold")
        assert entry.state == "done"
        (back,) = project.documents("gold")
        assert (back.id, back.text, back.spans) == (gold.id, gold.text, gold.spans)
        project.add([gold.with_spans([Span(0, 3, "DATE"), Span(3, 12, "NAME")])], "gold")
        assert next(project.documents("gold")).spans == gold.spans
        with pytest.raises(ConfigError):
            project.add([gold], accepted=True)


def test_what_is_removed_leaves_nothing_in_the_file(place: Path) -> None:
    with Project.create(place, ["NAME"]) as project:
        id = _added(project, "Wislawa Szymborska", (), "note of Szymborska")
        project.change(id, "eva", 0, [Add(0, 7, "NAME", "Wislawa")])
        (mark,) = project.marks(id, "eva")[1]
        project.change(id, "eva", 1, [Note(mark.id, "Szymborska is the poet")])
        assert project.remove([id]) == 1
        assert not project.entries("eva")
    held = b"".join(file.read_bytes() for file in place.parent.iterdir())
    assert b"Szymborska" not in held


def _change_for_ever(place: Path, told: int) -> None:
    with Project.open(place) as project:
        for step in range(10_000):
            revision, _ = project.marks(1, "eva")
            done = project.change(1, "eva", revision, [Add(step * 2, step * 2 + 1, "NAME", "x")])
            os.write(told, f"{done}\n".encode())


def test_a_killed_process_loses_nothing_that_was_acknowledged(place: Path) -> None:
    with Project.create(place, ["NAME"]) as project:
        _added(project, "x " * 10_000)
    here, there = os.pipe()
    process = multiprocessing.get_context("fork").Process(target=_change_for_ever, args=(place, there))
    process.start()
    os.close(there)
    with os.fdopen(here, "rb") as stream:
        acknowledged = [int(stream.readline()) for _ in range(5)]
        assert process.pid
        os.kill(process.pid, signal.SIGKILL)
        acknowledged += [int(line) for line in stream.read().split()]
    process.join()
    with Project.open(place) as project:
        revision, marks = project.marks(1, "eva")
        assert revision == len(marks) == len(project.history(1))
        assert acknowledged == list(range(1, len(acknowledged) + 1))
        assert revision in (len(acknowledged), len(acknowledged) + 1)
        project.undo(1, "eva")
        assert len(project.marks(1, "eva")[1]) == revision - 1
