"""Scrubbing whole notes: model, rules and surrogates, in MB/s of one core; against other tools.

    python scripts/bench/bench_scrub.py --texts ../shared/data/english/txt
    python scripts/bench/bench_scrub.py --texts ../shared/data/english/txt --size 200            # as long as 200 MB
    python scripts/bench/bench_scrub.py --texts ../shared/data/english/txt --peers-python ENV/bin/python
    python scripts/bench/bench_scrub.py --language de     # notes made of corpora/synthetic-de, where --texts names none
    python scripts/bench/bench_scrub.py --language de --texts tests/detection/ordinary/de.txt  # letters
    python scripts/bench/bench_scrub.py --by-turns 4      # in step, and one note after the other, by turns
    python scripts/bench/bench_scrub.py --growth          # cost a token from 1 KB to 1 MB, memory as the archive grows
    python scripts/bench/bench_scrub.py --stages          # ms a MB of each stage on its own
    python scripts/bench/bench_scrub.py --memory 10       # most memory for one note of so many MB, as a multiple of it

CPU seconds of one process. The notes are repeated until `--size` MB, each under an id of its own; nothing that depends
on a whole note is kept between notes. `--profile` prints where the time goes.
"""

from __future__ import annotations

import argparse
import cProfile
import dataclasses
import gc
import itertools
import json
import pstats
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from synthetic import marked
from synthetic.languages import documents as made

from deid import read
from deid.base.compiled import BACKEND
from deid.base.keys import Key
from deid.detection.options import RecognizerOptions
from deid.detection.recognizer import Recognizer
from deid.detection.recognizers import build_recognizer
from deid.document import Document, Failure
from deid.labeling.tagger import load_model
from deid.pipeline import Pipeline
from deid.reading.normalize import normalize
from deid.reading.passages import other_reading
from deid.reading.view import view_of
from deid.replacement.policy import load_policy
from deid.rules.institutions import find_institutions
from deid.rules.names import find_names
from deid.rules.places import find_places
from deid.rules.professions import find_professions
from deid.rules.rules import RuleRecognizer
from deid.rules.scene import scene_of

ROOT = Path(__file__).resolve().parents[2]
MADE = ("de", "fr", "nl")
PEERS = ("presidio", "scrubadub", "philter")
LONG = {
    "prose": "The patient was seen in clinic today and reports that the pain in the left knee has improved.\n",
    "dense": "Dr. Alice Baker saw John Smith (MRN: 4711203) on 3/4/2019 in Boston, MA, tel 217-555-0001, j@s.org; ",
    "distinct": "Dr. Alice {0} saw John {1} (MRN: {2}) on {3}/{4}/2019 in Boston, MA, tel 217-{5}, {0}@s.org; ",
}
"""Long notes repeat these: nothing to find; on one line little else; the same, no two alike."""
SAMPLE = 60
"""Notes that a peer is timed on; the slowest takes minutes for all."""


def notes(texts: Path | None, language: str | None) -> list[Document]:
    """Read notes, or take those of corpora/ in a language; of German, French and Dutch they are made of its parts.

    A file of text is one of marked notes, such as those of tests/detection.
    """
    if texts is None and language in MADE:
        return list(made(language, 500, ROOT))
    if texts is not None and texts.suffix == ".txt":
        return list(marked.notes(texts))
    texts = texts or ROOT / "corpora" / ("spanish/notes.jsonl" if language == "es" else "synthetic/dev.jsonl")
    return [d for d in read(texts, "text") if isinstance(d, Document)]


def repeated(documents: list[Document], size: float) -> Iterator[Document]:
    """Repeat documents until so many bytes have passed, each under an id of its own."""
    passed = 0
    for number, document in enumerate(itertools.cycle(documents)):
        if passed >= size:
            return
        passed += len(document.text.encode("utf-8", "surrogatepass"))
        yield Document(f"{document.id}-{number}", document.text)


def memory() -> float:
    """Return the resident memory of this process in MB."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * resource.getpagesize() / 1e6


def scrub(pipeline: Pipeline, documents: Iterator[Document]) -> tuple[float, int, int]:
    """Return CPU seconds, bytes and failures of a pass, in step as the commands do it (`Pipeline.pipe`)."""
    sizes: list[int] = []

    def counted() -> Iterator[Document]:
        for document in documents:
            sizes.append(len(document.text.encode("utf-8", "surrogatepass")))
            yield document

    start = time.process_time()
    failed = sum(isinstance(result, Failure) for result in pipeline.pipe(counted()))
    return time.process_time() - start, sum(sizes), failed


def by_turns(pipeline: Pipeline, documents: list[Document], rounds: int) -> None:
    """Print the rates of notes in step and of one note after the other, and what an identifier takes of the latter."""
    size = sum(len(document.text.encode("utf-8", "surrogatepass")) for document in documents)
    edits = sum(len(pipeline(document).edits) for document in documents)
    step: list[float] = []
    alone: list[float] = []
    for number in range(rounds):
        again = [Document(f"{document.id}-{number}", document.text) for document in documents]
        step.append(scrub(pipeline, iter(again))[0])
        start = time.process_time()
        for document in again:
            pipeline(document)
        alone.append(time.process_time() - start)
    ratio = statistics.median(one / other for one, other in zip(alone, step, strict=True))
    each = 1e6 * statistics.median(alone) / edits
    rates = (size / statistics.median(seconds) / 1e6 for seconds in (step, alone))
    print("in step {:.2f} MB/s, one by one {:.2f}".format(*rates))
    print(f"ratio {ratio:.2f}; {1000 * edits / size:.1f} identifiers a KB, {each:.0f} us each, one by one")


def growth(pipeline: Pipeline, documents: list[Document]) -> None:
    """Print the cost a byte as notes grow, and the memory as the archive does."""
    whole = "\n\n".join(d.text for d in documents)
    scrub(pipeline, iter(documents))  # what is remembered of words is, for all lengths
    print(f"{'note':>9}{'us/KB':>9}")
    for size in (1_000, 10_000, 100_000, 1_000_000):
        # the same characters in notes of another length
        pieces = [whole[i : i + size] for i in range(0, min(len(whole), 1_000_000), size)]
        seconds, passed, _ = scrub(pipeline, (Document(f"{size}-{i}", p) for i, p in enumerate(pieces)))
        print(f"{size // 1000:>6} KB{1e9 * seconds / passed:>9.0f}")
    print(f"{'archive':>9}{'resident':>12}")
    for step in range(1, 6):
        scrub(pipeline, (Document(f"{step}-{d.id}", d.text) for d in repeated(documents, 4e6)))
        print(f"{4 * step:>6} MB{memory():>9.0f} MB")


def distinct(number: int) -> str:
    """Return the line of identifiers that has a number of its own."""
    letters = [chr(ord("a") + number // 26**i % 26) for i in range(4)]
    names = ("B" + "".join(letters) + "er", "S" + "".join(reversed(letters)) + "ith")
    numbers = (f"{4711203 + 7 * number:07d}", number % 12 + 1, number % 28 + 1, f"555-{number % 10_000:04d}")
    return LONG["distinct"].format(*names, *numbers)


def peaks(recognizer: Recognizer, megabytes: float) -> None:
    """Print the most memory that one long note takes while it is scrubbed, as a multiple of its bytes (Linux)."""
    size = int(1e6 * megabytes)
    small = Document("small", "\n".join(LONG.values()).format(*"BSM3455"))
    print(f"{'note':<10}{'policy':<11}{'times the note':>15}")
    for kind, part in LONG.items():
        times = size // len(part) + 1
        text = "".join(map(distinct, range(times)))[:size] if kind == "distinct" else (part * times)[:size]
        for name in ("surrogate", "redact"):
            pipeline = Pipeline(recognizer, load_policy(name), Key(bytes(32)))
            pipeline(small)
            gc.collect()
            before = memory()
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is counted anew
            pipeline(Document("long", text))
            status = Path("/proc/self/status").read_text(encoding="ascii")
            peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) * 1024 / 1e6
            print(f"{kind:<10}{name:<11}{(peak - before) / megabytes:>15.0f}", flush=True)


def stages(pipeline: Pipeline, documents: list[Document], model: str | None) -> None:
    """Print what each stage costs on its own, the fastest of three; together they run slower, for want of cache."""
    rules = RuleRecognizer.load("en")
    lexicon, labels, catalogue = rules.lexicon, rules.labels, rules.catalogue
    recognizer = pipeline.recognizer or rules
    texts = [normalize(d.text).text for d in documents]
    views = [view_of(t) for t in texts]
    scans = [labels.find(v) for v in views]
    scenes = [scene_of(v, lexicon, s) for v, s in zip(views, scans, strict=True)]
    spans = [recognizer.find(d) for d in documents]
    seen = list(zip(documents, spans, strict=True))
    runs: dict[str, Callable[[], object]] = {
        "second readings": lambda: [other_reading(t, lexicon) for t in texts],
        "patterns": lambda: [catalogue.search(t) for t in texts],
        "words": lambda: [view_of(t) for t in texts],
        "labels and cues": lambda: [labels.find(v) for v in views],
        "classes": lambda: [scene_of(v, lexicon, s) for v, s in zip(views, scans, strict=True)],
        "names": lambda: [find_names(c, s.labels) for c, s in zip(scenes, scans, strict=True)],
        "institutions": lambda: [find_institutions(c) for c in scenes],
        "places": lambda: [find_places(c) for c in scenes],
        "occupations": lambda: [find_professions(c, lexicon) for c in scenes],
        "all rules": lambda: [rules.analyse(t) for t in texts],
        "all that finds": lambda: [recognizer.find(d) for d in documents],
        "replacing": lambda: [pipeline.replace(d, s) for d, s in seen],
        "whole": lambda: [pipeline(d) for d in documents],
    }
    if model != "none":
        tagger = load_model(model)
        runs["tagger"] = lambda: [tagger.find(Document("", t)) for t in texts]
        sure = dataclasses.replace(tagger, scores=True)
        runs["tagger, chances"] = lambda: [sure.find(Document("", t)) for t in texts]
    size = sum(len(d.text.encode("utf-8", "surrogatepass")) for d in documents)
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(4):  # the first one loads what is loaded on first use
        for name, run in runs.items():
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
    print(f"{'stage':<18}{'ms/MB':>7}")
    for name, seconds in best.items():
        print(f"{name:<18}{1e9 * seconds / size:>7.0f}")


def peer(python: str, name: str, documents: list[Document]) -> float | None:
    """Return the bytes a CPU second of another tool (`peers.py`), None when it cannot be imported."""
    texts = [d.text for d in documents]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.json"
        file.write_text(json.dumps(texts), encoding="utf-8")
        script = Path(__file__).with_name("peers.py")
        command = [python, str(script), name, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        print(f"{name}: skipped ({last[0]}); name a Python that has it installed")
        return None
    seconds = float(json.loads(done.stdout.strip().splitlines()[-1]))
    return sum(len(t.encode("utf-8", "surrogatepass")) for t in texts) / seconds


def main() -> None:
    """Run what was asked for."""
    gc.set_threshold(50_000)  # as the commands do
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="notes to scrub (those of corpora/ in the language)")
    parser.add_argument("--language", help="language of the notes: its model, rules and surrogates")
    parser.add_argument("--size", type=float, default=4.0, help="MB")
    parser.add_argument("--policy", default="surrogate")
    parser.add_argument("--model", help="model, or none for rules alone")
    parser.add_argument("--peers-python", help="a Python that has the tools of peers.py installed")
    parser.add_argument("--by-turns", type=int, metavar="ROUNDS")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--memory", type=float, metavar="MB")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    if BACKEND != "native":
        sys.exit("the compiled module is not there (see deid doctor): a figure without it says nothing")
    documents = notes(options.texts, options.language)
    start = time.process_time()
    recognizer = build_recognizer(RecognizerOptions(model=options.model, language=options.language))
    pipeline = Pipeline(recognizer, load_policy(options.policy), Key(b"k" * 32))
    print(f"loaded in {time.process_time() - start:.2f} CPU s, {memory():.0f} MB resident")
    if options.growth:
        growth(pipeline, documents)
        return
    if options.by_turns:
        by_turns(pipeline, documents, options.by_turns)
        return
    if options.memory:
        peaks(pipeline.recognizer or RuleRecognizer.load("en"), options.memory)
        return
    if options.stages:
        stages(pipeline, documents, options.model)
        return
    first, size, _ = scrub(pipeline, iter(documents))
    print(f"first pass over {len(documents)} notes: {size / first / 1e6:.2f} MB/s")
    if options.profile:
        profile = cProfile.Profile()
        profile.runcall(scrub, pipeline, iter(documents))
        pstats.Stats(profile).sort_stats("tottime").print_stats(40)
        return
    seconds, size, _ = scrub(pipeline, repeated(documents, options.size * 1e6))
    print(f"deid: {size / seconds / 1e6:.2f} MB/s over {size / 1e6:.0f} MB, {memory():.0f} MB resident")
    if options.peers_python:
        spread = documents[:: max(1, len(documents) // SAMPLE)]
        for name in PEERS:
            theirs = peer(options.peers_python, name, spread)
            if theirs:
                print(f"{name}: {theirs / 1e6:.3f} MB/s; deid has {size / seconds / theirs:.1f} times its throughput")


if __name__ == "__main__":
    main()
