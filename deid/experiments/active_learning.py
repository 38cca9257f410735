"""Active learning, simulated: how many notes must be annotated when the queue asks for those the tagger is unsure of.

An annotator who never errs is played by gold: a batch of notes is taken from the queue, "annotated", a tagger is
trained on all that was annotated so far, scored on the test documents, and asked of which notes it is least sure.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from deid.annotation.queue import SKETCH, annotation_queue, sketch
from deid.base.errors import ConfigError, require
from deid.base.late import pd
from deid.base.options import option
from deid.base.pool import Pool
from deid.evaluation.cases import Case
from deid.evaluation.scores import score_strict, score_words
from deid.experiments.trials import TrialSetup, micro_figures
from deid.labeling.tagger import Tagger, load_model, train
from deid.labeling.uncertainty import MEASURES, find_measure, uncertainty

RANDOM = "random"
"""The queue that all others are compared with."""


@dataclass(frozen=True)
class QueueOptions:
    """How notes are asked for."""

    PANEL: ClassVar[str] = "The queue"
    queues: Sequence[str] = option(
        ("entropy",), f"Queues beside random order: {', '.join(MEASURES)}.", metavar="NAME,..."
    )
    seeds: int = option(5, "Simulations of each queue; seeds are seed, seed + 1, ...", minimum=1)
    first: int = option(5, "Notes that are drawn at random before the first training.", "--first-notes", minimum=1)
    batch: int = option(5, "Notes that are annotated between two trainings.", minimum=1)
    growth: float = option(1.0, "Each batch is this many times as large as the one before.")
    random_share: float = option(0.1, "Share of the notes that every queue draws at random.")
    diversity: float = option(1.0, "Weight of resemblance to annotated notes, 0 to 1.")
    targets: Sequence[float] = option(
        (0.9, 0.95), "Strict F1 to reach; a simulation ends at the largest.", metavar="F,..."
    )
    most: int | None = option(None, "Notes after which a simulation ends.")

    def __post_init__(self) -> None:
        for name in self.queues:
            find_measure(name)
        require(self.growth >= 1, "batches cannot shrink", "give 1 or more, such as --growth 1.2")
        require(
            bool(self.targets) and all(0 < t < 1 for t in self.targets), "a target is not above 0 and below 1", "0.9"
        )


@dataclass(frozen=True, eq=False)
class _Simulation:
    """Plays the annotation of notes from one queue with one seed."""

    setup: TrialSetup
    options: QueueOptions
    start: str | None

    def __call__(self, asked: tuple[str, int]) -> list[dict[str, Any]]:
        queue, seed = asked
        options, pool = self.options, {document.id: document for document in self.setup.documents}
        start = None if self.start is None else load_model(self.start)
        sketches = {name: sketch(document.text) for name, document in pool.items()}
        drawn = annotation_queue(list(pool), [0.0] * len(pool), random_share=1.0, seed=seed)
        batch = [place.id for place in drawn[: options.first]]
        most = len(pool) if options.most is None else min(options.most, len(pool))
        done: list[str] = []
        rows: list[dict[str, Any]] = []
        size = float(options.batch)
        while batch:
            done += batch
            begin = time.process_time()
            tagger = train([pool[name] for name in done], self.setup.features, self.setup.options, start=start)
            trained = time.process_time()
            left = sorted(pool.keys() - set(done))
            order = annotation_queue(
                left,
                [0.0 if queue == RANDOM else MEASURES[queue](uncertainty(tagger, pool[name].text)) for name in left],
                np.array([sketches[name] for name in left]).reshape(-1, SKETCH),
                annotated=np.array([sketches[name] for name in done]),
                first=round(size),
                random_share=1.0 if queue == RANDOM else options.random_share,
                diversity=options.diversity,
                seed=seed,
            )
            queued = time.process_time()
            counts = {"documents": len(done), "words": sum(len(pool[name].text.split()) for name in done)}
            seconds = {"train_cpu_seconds": trained - begin, "queue_cpu_seconds": queued - trained}
            rows.append({"queue": queue, "seed": seed, **counts, **seconds, **self._scores(tagger)})
            if rows[-1]["strict_f1"] >= max(options.targets):
                break
            batch = [place.id for place in order[: min(round(size), most - len(done))]]
            size *= options.growth
        return rows

    def _scores(self, tagger: Tagger) -> dict[str, float]:
        """Score spans and words alone: all of an evaluation would take longer than the training."""
        cases = []
        for document in self.setup.test or ():
            spans = tuple(tagger.find(document))
            cases.append(Case(document, document.spans, spans, spans))
        categories = sorted({span.category for case in cases for span in (*case.gold, *case.system)})
        return micro_figures(strict=score_strict(cases, categories), phi=score_words(cases))


def active_learning(setup: TrialSetup, options: QueueOptions, *, start: str | None = None) -> pd.DataFrame:
    """Simulate the annotation of notes by queues and in random order.

    Parameters
    ----------
    setup : TrialSetup
        Documents to draw from, and a test set. Simulations run in as many processes as it says.
    options : QueueOptions
    start : str, optional
        A shipped model's name or a model folder, from which each training starts; its features are used.

    Returns
    -------
    DataFrame
        One row a training: ``queue``, ``seed``, ``documents`` and ``words`` annotated so far, CPU seconds of the
        training and of asking the tagger about all other notes, precision, recall and F1 of strict spans
        (``strict_*``) and of words as PHI or not (``phi_*``).

    Raises
    ------
    ConfigError
        When two documents have one id, or there is no test set.
    """
    if len({d.id for d in setup.documents}) < len(setup.documents):
        raise ConfigError("two documents have the same id", "give each document an id of its own")
    require(setup.test, "there is no document to score", "name a test set")
    if start is not None:
        features, how = load_model(start).going_on(setup.options)
        setup = dataclasses.replace(setup, features=features, options=how)
    asked = [(queue, setup.options.seed + i) for i in range(options.seeds) for queue in (RANDOM, *options.queues)]
    playing = partial(_Simulation, dataclasses.replace(setup, report=None), options, start)
    rows: list[dict[str, Any]] = []
    with ExitStack() as stack:
        played: Iterator[list[dict[str, Any]]]
        if setup.jobs == 1:
            played = map(playing(), asked)
        else:
            pool: Pool[tuple[str, int], list[dict[str, Any]]] = stack.enter_context(Pool(playing, setup.jobs))
            played = pool.in_order(iter(asked))
        for number, found in enumerate(played, 1):
            rows += found
            if setup.report is not None:
                setup.report(number, len(asked))
    return pd.DataFrame(rows)


def documents_needed(frame: pd.DataFrame, targets: Sequence[float]) -> pd.DataFrame:
    """Return how much had to be annotated until the curve of a simulation first reached each target.

    Curves are straight between two trainings, so that large batches do not round the notes up to their ends.

    Parameters
    ----------
    frame : DataFrame
        Of `active_learning`.
    targets : sequence of float
        Strict F1.

    Returns
    -------
    DataFrame
        One row a target and queue: ``target``, ``queue``, ``reached`` (simulations that got there) of ``seeds``; over
        the seeds, means of ``documents`` and ``words`` and the standard deviation ``sd`` of documents (n - 1);
        ``fewer`` and ``fewer_words``, the share that is saved beside random order. Where a simulation of either queue
        ended below the target there is no mean and no share.
    """
    rows = []
    for target in sorted(targets):
        base = np.full(2, np.nan)
        for queue, simulations in frame.groupby("queue", sort=False):
            needed = np.array([_crossing(own, target) for _, own in simulations.groupby("seed")])
            reached = int(np.isfinite(needed[:, 0]).sum())
            means = needed.mean(axis=0)
            if queue == RANDOM:
                base = means
            fewer = 1 - means / base
            rows.append(
                {
                    **{"target": target, "queue": queue, "reached": reached, "seeds": len(needed)},
                    **{"documents": means[0], "sd": needed[:, 0].std(ddof=1) if len(needed) > 1 else np.nan},
                    **{"words": means[1], "fewer": fewer[0], "fewer_words": fewer[1]},
                }
            )
    return pd.DataFrame(rows)


def _crossing(simulation: pd.DataFrame, target: float) -> np.ndarray:
    """Return documents and words at which one curve first reaches the target; not a number where it does not."""
    f1, spent = simulation["strict_f1"].to_numpy(), simulation[["documents", "words"]].to_numpy(dtype=float)
    above = np.flatnonzero(f1 >= target)
    if not above.size:
        return np.full(2, np.nan)
    i = int(above[0])
    if i == 0:
        return spent[0]
    share = (target - f1[i - 1]) / (f1[i] - f1[i - 1])
    return spent[i - 1] + share * (spent[i] - spent[i - 1])
