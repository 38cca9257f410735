"""The workers of a feed, seen from the process that reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from deid.base.keys import Key
from deid.base.pool import Pool
from deid.streaming.proof import Proof
from deid.streaming.stopping import Stop
from deid.streaming.totals import Totals
from deid.streaming.work import Recipe, Reply, Request, Shape, Work


class Crew(Pool[Request, Reply]):
    """Worker processes that answer requests with what came of their records; a context manager that ends them.

    Parameters
    ----------
    recipe : Recipe
        What makes the pipeline; it must be possible to pickle it.
    shape : Shape
        What records look like.
    jobs : int
        Number of workers.

    Raises
    ------
    ConfigError
        When there is to be no worker, or the recipe cannot be sent to one.
    """

    def __init__(self, recipe: Recipe, shape: Shape, jobs: int = 1) -> None:
        super().__init__(partial(Work, recipe, shape), jobs, silent=True)


@dataclass(frozen=True, slots=True)
class FeedRun:
    """What a feed works with while it runs."""

    crew: Crew
    """Entered, with the same shape."""
    shape: Shape
    key: Key
    """Of dead letters, journals and pseudonyms."""
    totals: Totals
    """Counted up; set to a journal's counts when a run goes on."""
    stop: Stop
    """Entered; ends the run after what was read."""
    proof: Proof | None = None
    """Writes manifests."""
