"""CPU time a span: our surrogate operator, faker called for each span, and Presidio's anonymizer, in one run.

    python scripts/bench/bench_surrogates.py                      # generated documents
    python scripts/bench/bench_surrogates.py --corpus FOLDER      # annotated documents of any readable format

faker needs the extra ``dictionaries``; Presidio's anonymizer is measured when it can be imported
(``pip install --target DIR --no-deps presidio-anonymizer``, then PYTHONPATH=DIR). Each column is the best of several
rounds after one warm-up round; every column builds the whole new text.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from deid.base.keys import Key
from deid.document import Document, Failure, Span, apply_edits
from deid.phi import canonical
from deid.replacement.scope import Scope
from deid.replacement.surrogates import surrogate_operator

LIMIT = 40.0  # microseconds a span
GIVEN = ("John", "Mary", "Robert", "Linda", "Ahmed", "Carmen", "Wei", "Priya")
FAMILY = ("Smith", "Nguyen", "O'Neil", "Garcia Lopez", "Fairbanks", "Kowalski", "Okafor", "Brown-Hill")
TEMPLATE = (
    "{HOSPITAL}Mercy General Hospital{} {DATE}%02d/%02d/20%02d{}\n"
    "Patient: {PATIENT}%s, %s{}  MRN: {MEDICALRECORD}%07d{}\n"
    "{PATIENT}%s %s{} is a {AGE}%d{}-year-old {PROFESSION}bus driver{} of {STREET}%d Maple Avenue{}, {CITY}Columbus{}, "
    "{STATE}OH{} {ZIP}432%02d{}, seen on {DATE}March %d, 20%02d{} by Dr. {DOCTOR}%s{}. Call {PHONE}614-238-%04d{} or "
    "write to {EMAIL}%s.%s@clinic.org{}. Signed {USERNAME}%s%d{}, {DATE}2019-04-%02d{}.\n"
)


def generated(count: int) -> list[Document]:
    """Return documents with spans of common categories, the same in every run."""
    documents = []
    for n in range(count):
        given, family, doctor = GIVEN[n % 8], FAMILY[n // 8 % 8], FAMILY[(n * 5 + 3) % 8]
        login = doctor.lower().split()[0].replace("'", "").split("-")[0]
        filled = TEMPLATE % (
            *(n % 12 + 1, n % 28 + 1, n % 20, family.upper(), given.upper(), n * 7919 % 10**7),
            *(given, family, 20 + n % 70, 100 + n, n % 100, n % 28 + 1, n % 20, doctor, n % 10**4),
            *(given.lower(), login, login, n % 90, n % 28 + 1),
        )
        text, spans, category = "", [], ""
        for piece in filled.replace("{}", "{-}").split("{"):
            head, brace, tail = piece.partition("}")
            if not brace:
                text += head
                continue
            if head != "-":
                start, category = len(text), head
            else:
                spans.append(Span(start, len(text), category))
            text += tail
        documents.append(Document(f"generated-{n}", text, tuple(spans)))
    return documents


def annotated(folder: Path) -> list[Document]:
    from deid.io import read

    documents = [d for d in read(folder) if not isinstance(d, Failure)]
    return [d.with_spans(sorted(d.spans)) for d in documents]


def best_of(rounds: int, run: Callable[[], object]) -> float:
    """Return the CPU seconds of the fastest round after one warm-up."""
    run()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def ours(documents: Sequence[Document]) -> Callable[[], object]:
    operator = surrogate_operator()
    key = Key(b"benchmark key, 32 bytes of text.")

    def run() -> None:
        for d in documents:
            apply_edits(d, zip(d.spans, operator(d, d.spans, Scope(key, d.id)), strict=True))

    return run


def with_faker(documents: Sequence[Document]) -> Callable[[], object]:
    from faker import Faker

    fake = Faker("en_US")
    calls: dict[str, Callable[[], str]] = {
        "PATIENT": fake.name,
        "DOCTOR": fake.name,
        "USERNAME": fake.user_name,
        "PROFESSION": fake.job,
        "HOSPITAL": fake.company,
        "ORGANIZATION": fake.company,
        "STREET": fake.street_address,
        "CITY": fake.city,
        "STATE": fake.state,
        "ZIP": fake.zipcode,
        "COUNTRY": fake.country,
        "DATE": fake.date,
        "PHONE": fake.phone_number,
        "FAX": fake.phone_number,
        "EMAIL": fake.email,
        "URL": fake.url,
        "IPADDR": fake.ipv4,
        "SSN": fake.ssn,
        "AGE": lambda: str(fake.random_int(1, 99)),
    }

    def other() -> str:
        return fake.bothify("??-########")

    def run() -> None:
        for d in documents:
            apply_edits(d, [(s, calls.get(canonical(s.category), other)()) for s in d.spans])

    return run


def with_presidio(documents: Sequence[Document]) -> Callable[[], object] | None:
    try:
        from presidio_anonymizer import AnonymizerEngine
        from presidio_anonymizer.entities import RecognizerResult
    except ImportError:
        return None
    engine = AnonymizerEngine()

    def run() -> None:
        for d in documents:
            engine.anonymize(d.text, [RecognizerResult(s.category, s.start, s.end, 1.0) for s in d.spans])

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="annotated documents (default: 300 generated ones)")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    documents = annotated(options.corpus) if options.corpus else generated(300)
    spans = sum(len(d.spans) for d in documents)
    print(f"{len(documents)} documents, {spans} spans; CPU time, best of {options.rounds} rounds")
    base = best_of(options.rounds, ours(documents)) / spans * 1e6
    print(f"deid surrogates        {base:8.1f} us/span   (limit {LIMIT:.0f}: {'kept' if base <= LIMIT else 'BROKEN'})")
    for name, run in (("faker, each span", with_faker(documents)), ("Presidio anonymizer", with_presidio(documents))):
        if run is None:
            print(f"{name:22} not installed")
            continue
        cost = best_of(options.rounds, run) / spans * 1e6
        print(f"{name:22} {cost:8.1f} us/span   {cost / base:.2f} times ours")


if __name__ == "__main__":
    main()
