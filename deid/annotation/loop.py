"""The loop of a project: train on what is done, score on what was held out, suggest anew for the rest.

Which notes are held out is told by a hash of seed and id, so a note that was never trained on never will be, and the
scores of all rounds are about the same kind of notes. A round's model stays in the project's file, where it may keep
rare words; `project_model` makes one to be passed on (docs/decisions/0003).
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import threading
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from deid.annotation.project import Project
from deid.annotation.queue import Queued, StopAdvice, annotation_queue, sketch, stop_advice
from deid.base.draws import draw
from deid.base.errors import ConfigError, DeidError, DetectionError, raised_at, require
from deid.base.options import option
from deid.base.private_folder import PrivateFolder
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import LazyRecognizer, build_recognizer
from deid.document import Document, Span
from deid.evaluation import ScoringSettings, evaluate
from deid.features import FeatureSet
from deid.labeling.tagger import DEFAULT_MODEL, Tagger, load_model, train
from deid.labeling.training import TrainingOptions
from deid.labeling.uncertainty import find_measure, uncertainty
from deid.phi import label_set_of, map_used_labels

_NICE = 10  # the annotator's page comes first


@dataclass(frozen=True)
class LoopOptions:
    """How a project's tagger learns."""

    PANEL: ClassVar[str] = "Learning"
    start: str = option(DEFAULT_MODEL, "Model to start from, folder or shipped; none: from scratch.", metavar="MODEL")
    held_out: float = option(0.25, "Share of the notes that are never trained on, for the score.", metavar="P")
    measure: str = option("least-confident", "Queue by least-confident, margin, entropy or missed.")
    seed: int = option(0, "Seed of training and of what is held out.", minimum=0)

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        require(0 <= self.held_out < 1, "the share held out is not 0 to below 1", "0.25 is usual")
        find_measure(self.measure)


@dataclass(frozen=True)
class TrainingRound:
    """What one training gave."""

    start: str
    """Model that it started from, ``none`` from scratch."""
    trained: int
    """Notes that it was trained on."""
    held_out: int
    """Done notes that were held out: those that the scores rest on."""
    before: float | None
    """Strict F1 of the model before (of the start at first) there; None for none."""
    after: float | None
    """Strict F1 of the new model on the same notes."""
    recall: Mapping[str, tuple[float, int]]
    """Category -> recall of the new model, and the spans that it rests on."""
    left: Sequence[tuple[float, float]] = field(repr=False)
    """Of each held-out note: PHI words that the model expects to miss, and those that it left."""
    seconds: float
    """What the training took."""

    @classmethod
    def of(cls, figures: Mapping[str, Any]) -> TrainingRound:
        """Return the round of figures as a project keeps them."""
        recall = {name: (float(share), int(spans)) for name, (share, spans) in figures["recall"].items()}
        left = tuple((float(a), float(b)) for a, b in figures["left"])
        return cls(**{**figures, "recall": recall, "left": left})


def is_held_out(id: str, options: LoopOptions) -> bool:
    """Tell whether a note is never trained on."""
    return int.from_bytes(draw(options.seed, f"held out\0{id}")[:8], "big") < options.held_out * 2**64


def learn(
    project: Project,
    annotator: str,
    options: LoopOptions | None = None,
    report: Callable[[str, int, int], None] = lambda *_: None,
) -> TrainingRound:
    """Train on what an annotator is done with, score before and after, and suggest anew in all other notes.

    Parameters
    ----------
    project : Project
    annotator : str
    options : LoopOptions, optional
    report : callable
        Gets what is done (``train``, ``score``, ``suggest``), how far, and of how many.

    Returns
    -------
    Round
        Its figures, which the project keeps too.

    Raises
    ------
    ConfigError
        When no note is done that may be trained on, or none of them has a mark.
    """
    options = options or LoopOptions()
    begun = time.perf_counter()
    done = list(project.documents(annotator))
    held = [document for document in done if is_held_out(document.id, options)]
    rest = [document for document in done if not is_held_out(document.id, options)]
    if not any(document.spans for document in rest):
        raise ConfigError(
            f"there is nothing to learn from: {len(done)} notes are done, {len(held)} of them held out for the score",
            "mark and finish some more notes",
        )
    training = TrainingOptions(min_documents=1, seed=options.seed)
    steps = training.rounds
    tagger = _train(rest, options, training, lambda step, _: report("train", step, steps))
    seconds = time.perf_counter() - begun
    report("score", 0, len(held))
    previous = project.trainings.model(annotator)
    categories = frozenset(label.category for label in project.labels())
    before = None
    if held and (previous or options.start != "none"):
        with _recognizer(previous or options.start) as recognizer:
            before = _score(held, recognizer, categories)[0]
    packed = _packed(tagger)
    with _recognizer(packed) as recognizer:
        after, recall, left = _score(held, recognizer, categories) if held else (None, {}, [])
        expected = [uncertainty(tagger, document.text).missed for document in held]
        found = TrainingRound(
            start=options.start,
            trained=len(rest),
            held_out=len(held),
            before=before,
            after=after,
            recall=recall,
            left=tuple(zip(expected, left, strict=True)),
            seconds=seconds,
        )
        project.trainings.keep(annotator, asdict(found), packed)
        _suggest(project, annotator, recognizer, tagger, options, report)
    return found


def suggest(
    project: Project,
    annotator: str,
    options: LoopOptions | None = None,
    report: Callable[[str, int, int], None] = lambda *_: None,
) -> int:
    """Suggest in all notes that are not done, by the project's own model or, before there is one, by the start.

    Returns
    -------
    int
        Notes that have new suggestions.

    Raises
    ------
    ConfigError
        When there is neither.
    """
    options = options or LoopOptions()
    packed = project.trainings.model(annotator)
    if packed is None and options.start == "none":
        raise ConfigError("there is no model that could suggest", "annotate some notes and train, or name a start")
    with _recognizer(packed or options.start) as recognizer:
        tagger = recognizer.tagger
        assert tagger is not None  # rules alone are no start
        return _suggest(project, annotator, recognizer, tagger, options, report)


def queue(
    project: Project,
    annotator: str,
    options: LoopOptions | None = None,
    sketches: dict[int, np.ndarray] | None = None,
) -> list[tuple[int, Queued]]:
    """Return the notes that are not done in the order in which they teach most, each with its number in the project.

    Parameters
    ----------
    project : Project
    annotator : str
    options : LoopOptions, optional
    sketches : dict of int to ndarray, optional
        Of notes by number; filled in, so that the next call need not read the notes again.
    """
    options = options or LoopOptions()
    known = {} if sketches is None else sketches
    entries = project.entries(annotator)
    for entry in entries:
        if entry.id not in known:
            known[entry.id] = sketch(project.text(entry.id))
    waiting = [entry for entry in entries if entry.state != "done"]
    scores = [0.0 if entry.uncertainty is None else entry.uncertainty for entry in waiting]
    ordered = annotation_queue(
        [entry.name for entry in waiting],
        scores,
        np.array([known[entry.id] for entry in waiting]),
        annotated=np.array([known[entry.id] for entry in entries if entry.state == "done"]),
        seed=options.seed,
    )
    numbers = {entry.name: entry.id for entry in waiting}
    return [(numbers[place.id], place) for place in ordered]


def curve(project: Project, annotator: str) -> list[tuple[int, float]]:
    """Return the learning curve: notes trained on, and strict F1 on the notes held out, of each round that has one."""
    rounds = [TrainingRound.of(figures) for figures in project.trainings.figures(annotator)]
    return [(one.trained, one.after) for one in rounds if one.after is not None]


def advice(project: Project, annotator: str) -> StopAdvice:
    """Return whether more annotation is worth it, by the rounds so far (`deid.annotation.queue.stop_advice`)."""
    best = dict(curve(project, annotator))  # the last round of each size
    rounds = project.trainings.figures(annotator)
    left = TrainingRound.of(rounds[-1]).left if rounds else ()
    return stop_advice(sorted(best.items()), project.missed(annotator), left)


def project_model(
    project: Project,
    annotator: str,
    options: LoopOptions | None = None,
    min_documents: int = 3,
    groups: Callable[[list[Document]], Sequence[str] | None] = lambda _: None,
) -> Tagger:
    """Train a model to be passed on: on all done notes, without words of fewer than ``min_documents`` of them.

    ``groups`` tells whose each note is, so that patients are counted instead (`deid.labeling.tagger.train`).

    Raises
    ------
    ConfigError
        When no note with a mark is done.
    """
    options = options or LoopOptions()
    training = TrainingOptions(min_documents=min_documents, seed=options.seed)
    documents = list(project.documents(annotator))
    return _train(documents, options, training, lambda *_: None, groups(documents))


def _train(
    documents: Sequence[Document],
    options: LoopOptions,
    training: TrainingOptions,
    report: Callable[[int, float], None],
    groups: Sequence[str] | None = None,
) -> Tagger:
    start = None if options.start == "none" else load_model(options.start)
    features, how = (FeatureSet("default", "racd"), training) if start is None else start.going_on(training)
    rules = () if start is None else start.rules
    return train(documents, features, how, name="project", rules=rules, start=start, groups=groups, report=report)


def _packed(tagger: Tagger) -> bytes:
    """Return a model folder as the bytes of an archive."""
    stream = io.BytesIO()
    with PrivateFolder() as folder, zipfile.ZipFile(stream, "w") as archive:
        tagger.save(Path(folder) / "project")
        for file in sorted((Path(folder) / "project").iterdir()):
            archive.write(file, file.name)
    return stream.getvalue()


@contextmanager
def _recognizer(model: str | bytes) -> Iterator[LazyRecognizer]:
    """Yield the recognizer of a model by name or of `_packed`, whose spans have probabilities."""
    with contextlib.ExitStack() as stack:
        if isinstance(model, bytes):
            folder = Path(stack.enter_context(PrivateFolder())) / "project"
            folder.mkdir()
            with zipfile.ZipFile(io.BytesIO(model)) as archive:
                for name in archive.namelist():
                    (folder / Path(name).name).write_bytes(archive.read(name))
            model = str(folder)
        yield build_recognizer(RecognizerOptions(model=model, threshold=0.0))


def in_labels(spans: Iterable[Span], categories: frozenset[str]) -> list[Span]:
    """Return spans in the labels of a project: where these belong to a known set, strange ones are mapped to it."""
    found = list(spans)
    known = label_set_of(categories) if categories else None
    strange = {span.category for span in found} - categories
    if known is None or not strange:
        return found
    to = map_used_labels(strange, known.name).to
    return [span.named(to.get(span.category) or span.category) for span in found]


def _score(
    held: Sequence[Document], recognizer: LazyRecognizer, categories: frozenset[str]
) -> tuple[float, dict[str, tuple[float, int]], list[float]]:
    """Return strict F1, recall by category with its spans, and the PHI words left in each note."""
    tagged = [document.with_spans(in_labels(recognizer.find(document), categories)) for document in held]
    scored = evaluate(held, tagged, settings=ScoringSettings(resamples=0))
    strict = scored.tables["strict"]
    recall = {label: (score.recall, score.gold) for label, score in strict.by_label().items() if score.gold}
    return strict.micro().f1, recall, [float(left) for left in scored.leaks.words_left]


def _suggest(
    project: Project,
    annotator: str,
    recognizer: LazyRecognizer,
    tagger: Tagger,
    options: LoopOptions,
    report: Callable[[str, int, int], None],
) -> int:
    """Suggest in the notes that are not done; those that were least sure come first."""
    worth = find_measure(options.measure)
    categories = frozenset(label.category for label in project.labels())
    waiting = [entry for entry in project.entries(annotator) if entry.state != "done"]
    waiting.sort(key=lambda entry: (-(entry.uncertainty or 0.0), entry.id))
    for count, entry in enumerate(waiting):
        report("suggest", count, len(waiting))
        document = Document(entry.name, project.text(entry.id))
        told = uncertainty(tagger, document.text)
        score = worth(told)
        spans = in_labels(recognizer.find(document), categories)
        project.refresh(entry.id, spans, score if np.isfinite(score) else None, told.missed)
    report("suggest", len(waiting), len(waiting))
    return len(waiting)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a background round is."""

    step: str
    """``train``, ``score``, ``suggest``, ``done`` or ``failed``; ``idle`` before the first."""
    at: int = 0
    of: int = 0
    problem: str = ""
    """What went wrong; no text of a note."""


class Learner:
    """Runs rounds in a process of its own, so that who annotates does not wait.

    Parameters
    ----------
    path : Path
        The project's file.
    annotator : str
    options : LoopOptions, optional
    """

    def __init__(self, path: Path, annotator: str, options: LoopOptions | None = None) -> None:
        self._asked = (path, annotator, options or LoopOptions())
        self._progress = Progress("idle")
        self._told: Connection[Any, Any] | None = None
        self._process: Any = None

    def start(self, *, training: bool = True) -> bool:
        """Begin a round, or new suggestions alone; return False where one is under way."""
        if self.progress().step in ("train", "score", "suggest"):
            return False
        told, tell = multiprocessing.Pipe(duplex=False)
        # not forked: the server has threads
        process = multiprocessing.get_context("spawn").Process(
            target=_work, args=(*self._asked, training, tell), daemon=True
        )
        process.start()
        tell.close()
        self._told, self._process = told, process
        self._progress = Progress("train" if training else "suggest")
        return True

    def progress(self) -> Progress:
        """Return how far it is, without waiting."""
        while self._told is not None:
            try:
                if not self._told.poll():
                    break
                self._progress = self._told.recv()
            except (EOFError, OSError):
                if self._progress.step not in ("done", "failed"):
                    self._progress = Progress("failed", problem="the training process ended before it was done")
                self._told = None
        return self._progress

    def wait(self) -> Progress:
        """Wait until a round ends; return how it ended."""
        if self._process is not None:
            self._process.join()
        return self.progress()

    def close(self) -> None:
        """End a round that is under way; what it has suggested stays."""
        if self._process is not None and self._process.is_alive():
            self._process.terminate()
            self._process.join()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # nobody is there who would be told, and the model that comes out would be nobody's


def _work(path: Path, annotator: str, options: LoopOptions, training: bool, tell: Connection[Any, Any]) -> None:
    # a killed server ends nothing that it started; a daemon thread hears of it, whatever this one is in
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    last = Progress("done")
    try:
        with Project.open(path) as project:
            (learn if training else suggest)(project, annotator, options, lambda *step: tell.send(Progress(*step)))
    except DeidError as error:
        last = Progress("failed", problem=str(error))
    except Exception as error:  # shown to the annotator: kind and place, no message that could quote a note
        what = f"internal error {raised_at(error)}"
        last = Progress("failed", problem=str(DetectionError(what, "please report this")))
    tell.send(last)
