"""The loop of a project: what is trained on, what is scored, what is suggested, and what a model that leaves keeps."""

from __future__ import annotations

import io
import sqlite3
import subprocess
import sys
import time
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from commands import alive
from notes import clinic_notes

from deid.annotation.loop import (
    Learner,
    LoopOptions,
    advice,
    curve,
    in_labels,
    is_held_out,
    learn,
    project_model,
    queue,
    suggest,
)
from deid.annotation.project import Project
from deid.base.errors import ConfigError
from deid.document import Span

SCRATCH = LoopOptions(start="none")
NOTES = clinic_notes(48)


def _project(place: Path, done: int = 24) -> Project:
    project = Project.create(place)
    project.add([note.with_spans(()) for note in NOTES])
    project.add(NOTES[:done], "eva")
    return project


def test_a_round_trains_scores_and_suggests(tmp_path: Path) -> None:
    with _project(tmp_path / "p") as project:
        found = learn(project, "eva", SCRATCH)
        held = [note for note in NOTES[:24] if is_held_out(note.id, SCRATCH)]
        assert 0 < found.held_out == len(held) < 24
        assert found.trained == 24 - len(held)
        assert found.before is None
        assert found.after is not None
        assert found.after > 0.8
        spans = [span for note in held for span in note.spans]
        assert {name: rests for name, (_, rests) in found.recall.items()} == {
            category: sum(span.category == category for span in spans) for category in ("DATE", "DOCTOR", "PATIENT")
        }
        assert len(found.left) == len(held)
        assert curve(project, "eva") == [(found.trained, found.after)]
        entries = project.entries("eva")
        right = 0
        for note, entry in zip(NOTES, entries, strict=True):
            _, marks = project.marks(entry.id, "eva")
            if entry.state == "done":
                assert entry.uncertainty is None
                assert {mark.state for mark in marks} == {"accepted"}
            else:
                assert entry.uncertainty is not None
                assert all(mark.probability is not None for mark in marks)
                gold = {(span.start, span.end, span.category) for span in note.spans}
                right += {(mark.start, mark.end, mark.category) for mark in marks} == gold
        assert right > 12
        order = queue(project, "eva", SCRATCH)
        assert sorted(number for number, _ in order) == [entry.id for entry in entries if entry.state != "done"]
        told = advice(project, "eva")
        assert not told.stop
        assert any(f"{found.held_out} notes with gold" in reason for reason in told.reasons)
        again = learn(project, "eva", SCRATCH)  # nothing new: the same model, and so the same score before and after
        assert again.before == again.after == found.after


def test_a_held_out_note_stays_held_out() -> None:
    ids = [str(i) for i in range(2000)]
    small, large = ({id for id in ids if is_held_out(id, LoopOptions(held_out=share))} for share in (0.1, 0.4))
    assert small < large
    assert 140 < len(small) < 260
    assert small != {id for id in ids if is_held_out(id, LoopOptions(held_out=0.1, seed=1))}


def test_there_must_be_something_to_learn_from(tmp_path: Path) -> None:
    with _project(tmp_path / "p", done=0) as project:
        with pytest.raises(ConfigError, match="0 notes are done"):
            learn(project, "eva", SCRATCH)
        with pytest.raises(ConfigError, match="no model"):
            suggest(project, "eva", SCRATCH)
        assert not project.trainings.figures("eva")


def test_words_of_one_note_stay_in_the_project(tmp_path: Path) -> None:
    with _project(tmp_path / "p") as project:
        learn(project, "eva", SCRATCH)
        with zipfile.ZipFile(io.BytesIO(project.trainings.model("eva") or b"")) as archive:
            assert b"novak" in archive.read("lexicon.tsv").lower()
        tagger = project_model(project, "eva", SCRATCH, min_documents=5)
        assert tagger.description["corpus"]["documents"] == 24
        assert tagger.lexicon
        assert min(tagger.lexicon.values()) >= 5
        rare = [name for name in tagger.decoder.weights.attributes if "novak" in name.lower()]
        assert not rare


@pytest.mark.slow
def test_the_shipped_model_learns_the_projects_labels_in_the_background(tmp_path: Path) -> None:
    with _project(tmp_path / "p", done=12) as project:
        learner = Learner(project.path, "eva")
        assert learner.progress().step == "idle"
        assert learner.start()
        assert not learner.start()
        assert learner.wait().step == "done"
        (figures,) = project.trainings.figures("eva")
        assert figures["before"] is not None
        assert figures["start"] == "en"
        _, marks = project.marks(30, "eva")
        assert {mark.category for mark in marks} <= {"PATIENT", "DOCTOR", "DATE"}
        assert any(mark.by == "model:project" for mark in marks)
        learner.close()


def test_a_background_round_that_fails_says_why(tmp_path: Path) -> None:
    with _project(tmp_path / "p", done=0) as project:
        learner = Learner(project.path, "eva", SCRATCH)
        learner.start()
        ended = learner.wait()
        assert ended.step == "failed"
        assert "nothing to learn from" in ended.problem
        learner.close()


def test_a_round_ends_with_the_process_that_began_it_even_when_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys, time\n"
        "from pathlib import Path\n"
        "from deid.annotation.loop import Learner, LoopOptions\n"
        "if __name__ == '__main__':\n"
        "    learner = Learner(Path(sys.argv[1]), 'eva', LoopOptions())\n"
        "    learner.start(training=False)\n"
        "    while not learner.progress().of:\n"
        "        time.sleep(0.1)\n"
        "    print(learner._process.pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    _project(tmp_path / "p").close()
    (tmp_path / "killed.py").write_text(program)
    with closing(sqlite3.connect(tmp_path / "p", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # a round that goes on waits a minute for what it would write
        command = [sys.executable, str(tmp_path / "killed.py"), str(tmp_path / "p")]
        with (tmp_path / "child").open("wb") as told:  # a pipe would be open as long as the round
            subprocess.run(command, stdout=told, check=False, timeout=120)
        child = int((tmp_path / "child").read_text())
        deadline = time.monotonic() + 40
        while alive(child) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not alive(child)


def test_strange_labels_become_those_of_the_project_where_its_set_is_known() -> None:
    spans = [Span(0, 1, "PATIENT"), Span(2, 3, "DATE")]
    assert [s.category for s in in_labels(spans, frozenset({"NOMBRE_SUJETO_ASISTENCIA"}))] == [
        "NOMBRE_SUJETO_ASISTENCIA",
        "FECHAS",
    ]
    assert in_labels(spans, frozenset({"of no set at all"})) == spans
    assert in_labels(spans, frozenset()) == spans
