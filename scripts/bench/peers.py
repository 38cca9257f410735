"""Other tools that remove PHI from text, each behind one function, run by a Python that has them installed.

    pip install presidio-analyzer presidio-anonymizer spacy scrubadub philter-lite    # into an environment of their own
    ENV/bin/python scripts/bench/peers.py presidio texts.json                         # CPU seconds over a list of texts

`bench_scrub.py --peers-python ENV/bin/python` asks for all of them. Each runs without what has to be fetched from
elsewhere, which makes it faster than its users have it: Presidio without NER, on a blank spaCy pipeline; Philter
without its tagger of parts of speech, whose filters then match nothing.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def presidio() -> Callable[[str], object]:
    """Presidio: all recognizers of English but those that need a model; each match becomes ``<TYPE>``."""
    import spacy
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.nlp_engine import NlpArtifacts, NlpEngine
    from presidio_anonymizer import AnonymizerEngine

    class Blank(NlpEngine):
        """Tokens, and nothing else."""

        engine_name, is_available = "blank", True

        def __init__(self) -> None:
            self.nlp: Any = None

        def load(self) -> None:
            self.nlp = spacy.blank("en")

        def is_loaded(self) -> bool:
            return self.nlp is not None

        def process_text(self, text: str, language: str) -> Any:
            doc = self.nlp(text)
            return NlpArtifacts([], doc, [t.idx for t in doc], [t.lower_ for t in doc], self, language)

        def process_batch(self, texts: Any, language: str, **_: Any) -> Any:
            for text in texts:
                yield text, self.process_text(text, language)

        def is_stopword(self, word: str, _: str) -> bool:
            return bool(self.nlp.vocab[word].is_stop)

        def is_punct(self, word: str, _: str) -> bool:
            return bool(self.nlp.vocab[word].is_punct)

        def get_supported_entities(self) -> list[str]:
            return []

        def get_supported_languages(self) -> list[str]:
            return ["en"]

    engine = Blank()
    engine.load()
    registry = RecognizerRegistry()
    registry.load_predefined_recognizers(languages=["en"])
    for recognizer in list(registry.recognizers):
        if any(part in recognizer.name for part in ("Spacy", "Stanza", "Transformers")):
            registry.remove_recognizer(recognizer.name)
    analyzer = AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])
    anonymizer = AnonymizerEngine()
    return lambda text: anonymizer.anonymize(text, analyzer.analyze(text, language="en"))


def scrubadub() -> Callable[[str], object]:
    """Scrubadub with its default detectors, which find no names of persons."""
    import scrubadub as peer

    return peer.Scrubber().clean


def philter() -> Callable[[str], object]:
    """Philter with the filters that it ships, in the fork that installs; what it removes becomes asterisks."""
    import philter_lite as peer
    from philter_lite import philter as module

    module.nltk.pos_tag = lambda words, *_, **__: [(word, "") for word in words]
    filters = peer.load_filters(str(Path(peer.__file__).parent / "configs" / "philter_delta.toml"))
    return lambda text: peer.transform_text_asterisk(text, peer.detect_phi(text, patterns=filters)[0])


PEERS = {"presidio": presidio, "scrubadub": scrubadub, "philter": philter}


def main() -> None:
    """Print the CPU seconds of one peer over the texts of a file, start-up left out."""
    texts = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    run = PEERS[sys.argv[1]]()
    run(texts[0])
    start = time.process_time()
    for text in texts:
        run(text)
    print(json.dumps(time.process_time() - start))


if __name__ == "__main__":
    main()
