"""CPU time of one note as it doubles: where a doubling takes more than 2.6 times as long, the time is not linear.

    python scripts/bench/bench_linear.py                     # 64 and 128, 512 and 1024 KB, all texts
    python scripts/bench/bench_linear.py --kilobytes 32 128 --only initials numbers --model none

Each text repeats what somebody's rule reads as far as it goes: chains of initials, numbers, dates, names. Recognizer
and policies are the shipped ones; tokens, what finds, and what replaces (surrogates, marks) are timed on their own.
A note above `deid.reading.passages.WINDOW` characters is read in windows, and each of them twice, so that a size below
it is not compared with one above: there the time jumps once.
What breaks the limit is timed again, three times, and told when it still does; below .1 s nothing is. The last line
says how many texts did, and so does the exit status.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import time
from collections.abc import Callable, Sequence

from deid.base.keys import Key
from deid.detection.options import RecognizerOptions
from deid.detection.recognizers import build_recognizer
from deid.document import Document, Span
from deid.pipeline import Pipeline
from deid.reading.passages import WINDOW
from deid.reading.tokenization import tokenize
from deid.replacement.policy import DEFAULT_POLICY, load_policy

LIMIT = 2.6  # times the time, for twice the text
LEAST = 0.1  # seconds below which a ratio says nothing
ENDINGS = {"days": "Street", "months": "Marc", "house numbers": "Street"}
REPEATED = {
    "initials": "A.",
    "days": "12 ",
    "house numbers": "12 12 12 ",
    "months": "March ",
    "years": "2003-",
    "numbers": "350 ",
    "telephones": "217-555-0001, ",
    "hardware": "aa:bb:",
    "codes": "abcd:1234:",
    "digits": "7",
    "grouped digits": "123 456 789 ",
    "letters": "x",
    "capitals": "X",
    "capital words": "SMITH ",
    "long words": "pneumonoultramicroscopic",
    "names": "Smith, John ",
    "doctors": "Dr. ",
    "titled names": "Dr. Smith ",
    "labels": "MRN: ",
    "mails": "a@b.",
    "whole mails": "john.smith@example.org ",
    "urls": "http://a.b/c?d=e&f=",
    "whole urls": "https://www.example.org/a/b?c=d ",
    "brackets": "((",
    "nested brackets": "([{",
    "closed brackets": "(a) [b] {c} ",
    "carets": "SMITH^",
    "ordinals": "1st ",
    "words": "twenty ",
    "blanks": " \t",
    "spaces": " ",
    "lines": "\n",
    "carriage returns": "a\r",
    "combining marks": "e\u0301\u0308",
    "marks alone": "\u0301",
    "emoji": "\U0001f468\u200d\u2695\ufe0f",
    "hyphens": "-",
    "hyphenated": "Smith-",
    "quotes": "\"'",
    "quoted": "O'",
    "slashes": "/",
    "dates": "3/4/2019 ",
    "slashed": "12/",
    "dots": ".",
    "xml": "<a b='c'>",
    "closed xml": "<p>John Smith</p>",
    "json": '{"name": "John", "id": 4711, "a": [',
    "hl7": "PID|1||4711203^^^MRN||SMITH^JOHN\r",
    "commas": "a, ",
    "streets": "12 Main Street, ",
    "places": "Boston, MA ",
    "mixed": "Dr. John A. Smith-O'Neil (MRN: 4711203) 3/4/2019, 217-555-0001; j@s.org <b>\n",
}


def best_of(times: int, run: Callable[[], object]) -> float:
    """Return the least CPU time of some runs, in seconds."""
    best = float("inf")
    for _ in range(times):
        gc.collect()
        gc.disable()  # a full collection falls into some runs and not into others
        begun = time.process_time()
        run()
        best = min(best, time.process_time() - begun)
        gc.enable()
    return best


def stages(pipelines: Sequence[Pipeline], text: str) -> dict[str, Callable[[], object]]:
    """Return what is timed of a text, by name."""
    recognizer = pipelines[0].recognizer
    assert recognizer is not None
    document = Document("note", text)
    spans: list[Span] = recognizer.find(document)

    def replacing(pipeline: Pipeline) -> Callable[[], object]:
        return lambda: pipeline.replace(document, spans)

    return {
        "tokens": lambda: tokenize(text),
        "finding": lambda: recognizer.find(document),
        **{f"replacing: {p.policy.name}": replacing(p) for p in pipelines},
    }


def main() -> None:
    """Print a line a text and stage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kilobytes", type=int, nargs="+", default=(64, 128, 512, 1024))
    parser.add_argument("--model", default="en")
    parser.add_argument("--only", nargs="*", choices=REPEATED, default=list(REPEATED))
    options = parser.parse_args()
    sizes = sorted(1024 * size for size in options.kilobytes)
    recognizer = build_recognizer(RecognizerOptions(model=options.model))
    pipelines = [Pipeline(recognizer, load_policy(name), Key(bytes(32))) for name in (DEFAULT_POLICY, "redact")]
    for pipeline in pipelines:
        pipeline(Document("note", "Dr. Smith saw him on 3/4/2019 in Boston, MA."))
    broken = set()
    print(f"{'text':18} {'stage':22}" + "".join(f"{size // 1024:>6} KB" for size in sizes) + "  ratios")
    for name in options.only:
        part, end = REPEATED[name], ENDINGS.get(name, "")
        texts = [part * (size // len(part.encode())) + end for size in sizes]
        lengths = [len(text) for text in texts]
        runs = [stages(pipelines, text) for text in texts]
        for stage in runs[0]:
            seconds = [best_of(1, run[stage]) for run in runs]
            wrong = _wrong(lengths, seconds)
            if wrong:  # or the machine was busy with something else
                seconds = [best_of(3, run[stage]) for run in runs]
                wrong = _wrong(lengths, seconds)
            if wrong:
                broken.add(name)
            figures = "".join(f"{value:9.3f}" for value in seconds)
            ratios = " ".join(f"{b / a if a else 1:.1f}" for a, b in itertools.pairwise(seconds))
            print(f"{name:18} {stage:22}{figures}  {ratios}{'  NOT LINEAR' if wrong else ''}", flush=True)
    print(f"{len(broken)} of {len(options.only)} texts are not linear: {', '.join(sorted(broken)) or 'none'}")
    raise SystemExit(bool(broken))


def _wrong(lengths: Sequence[int], seconds: Sequence[float]) -> bool:
    """Tell whether time grows faster than the limit allows, between texts both read whole or both in windows."""
    growth = zip(lengths, seconds, lengths[1:], seconds[1:], strict=False)
    return any(
        after > LEAST and after > before * LIMIT * (more / less / 2)
        for less, before, more, after in growth
        if (less > WINDOW) == (more > WINDOW)
    )


if __name__ == "__main__":
    main()
