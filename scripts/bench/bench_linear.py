"""CPU time of one note as it grows by a factor of four: where it grows by more than six, the time is not linear.

    python scripts/bench/bench_linear.py                     # 32 and 128 KB, all texts
    python scripts/bench/bench_linear.py --kilobytes 64 256 --only initials numbers

Each text repeats what somebody's rule reads as far as it goes: chains of initials, numbers, dates, names. Recognizer
and policy are the shipped ones. The last line says how many texts broke the limit, and so does the exit status.
"""

from __future__ import annotations

import argparse
import time

from deid.document import Document
from deid.keys import Key
from deid.pipeline import Pipeline, build_recognizer
from deid.replacement.policy import DEFAULT_POLICY, load_policy

LIMIT = 6.0  # times the time, for four times the text
ENDINGS = {"days": "Street", "months": "Marc"}
REPEATED = {
    "initials": "A.",
    "days": "12 ",
    "months": "March ",
    "years": "2003-",
    "numbers": "350 ",
    "telephones": "217-555-0001, ",
    "hardware": "aa:bb:",
    "codes": "abcd:1234:",
    "digits": "7",
    "letters": "x",
    "names": "Smith, John ",
    "doctors": "Dr. ",
    "labels": "MRN: ",
    "mails": "a@b.",
    "brackets": "((",
    "carets": "SMITH^",
    "ordinals": "1st ",
    "words": "twenty ",
    "blanks": " \t",
    "lines": "\n",
}


def seconds(pipeline: Pipeline, text: str) -> float:
    """Return the CPU time of one note."""
    begun = time.process_time()
    pipeline(Document("note", text))
    return time.process_time() - begun


def main() -> None:
    """Print a line a text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kilobytes", type=int, nargs=2, default=(32, 128))
    parser.add_argument("--only", nargs="*", choices=REPEATED, default=list(REPEATED))
    options = parser.parse_args()
    small, large = (1024 * size for size in options.kilobytes)
    limit = LIMIT * large / small / 4
    pipeline = Pipeline(build_recognizer(), load_policy(DEFAULT_POLICY), Key(bytes(32)))
    seconds(pipeline, "Dr. Smith saw him on 3/4/2019 in Boston, MA.")
    broken = 0
    print(f"{'text':12} {'s':>7} {'s':>7} {'times':>6}")
    for name in options.only:
        part, end = REPEATED[name], ENDINGS.get(name, "")
        one, other = (
            min(seconds(pipeline, part * (size // len(part)) + end) for _ in range(2)) for size in (small, large)
        )
        wrong = other > limit * one and other > 0.5
        broken += wrong
        print(f"{name:12} {one:7.2f} {other:7.2f} {other / one:6.1f}{'  NOT LINEAR' if wrong else ''}", flush=True)
    print(f"{broken} of {len(options.only)} texts grow by more than {limit:.0f} times")
    raise SystemExit(bool(broken))


if __name__ == "__main__":
    main()
