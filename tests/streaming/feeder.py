"""Runs the filter with the recipe for tests, as a process of its own that tests stop, kill and starve.

python feeder.py --input F --output F --journal F ... ; prints what the command would, exits as it would.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from recipes import WordRecipe

from deid.base.errors import DeidError
from deid.streaming import journal
from deid.streaming.crew import Crew, FeedRun
from deid.streaming.filtering import Feed, filter_feed
from deid.streaming.framing import Framing, Prefixed, delimited, whole
from deid.streaming.stopping import Stop
from deid.streaming.totals import Totals
from deid.streaming.work import Shape

journal._INTERVAL = 0.05  # so that short runs have many commits


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("input", "output", "journal", "dead"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--format", default="ndjson")
    parser.add_argument("--delimiter", default="line")
    parser.add_argument("--max-record", type=int, default=1 << 20)
    parser.add_argument("--timeout", type=float)
    parser.add_argument("--policy", default="redact")
    options = parser.parse_args()
    framing: Framing = Prefixed() if options.format == "prefixed" else delimited(options.delimiter)
    if options.format == "whole":
        framing = whole()
    shape = Shape(
        framing,
        "json" if options.format == "ndjson" else "text",
        add_id=options.journal is not None and options.input is None,
        max_record=options.max_record,
        timeout=options.timeout,
    )
    recipe = WordRecipe(policy=options.policy)
    feed = Feed(options.input, options.output, options.dead, options.journal, {"policy": options.policy})
    totals = Totals()
    try:
        with Stop() as stop, Crew(recipe, shape, options.jobs) as crew:
            complete = filter_feed(feed, FeedRun(crew, shape, recipe.key, totals, stop))
            status = 0 if complete else stop.status
    except DeidError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except BrokenPipeError:
        return 141
    sys.stderr.write(json.dumps({**totals.as_dict(), "restarts": totals.restarts}) + "\n")
    return status or (3 if totals.failed else 0)


if __name__ == "__main__":
    sys.exit(main())
