"""What finds the spans: a model, and the rules that it works with.

A model's folder names the languages of the rules that it was made to work with; a user's own model may want none. The
recognizer that `build_recognizer` returns is loaded where it is used, once in each process. Where the user names a
language and no model, the model of that language is taken, or its rules alone where none ships; rules that its folder
does not name fill what it leaves.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from deid.base.errors import ConfigError
from deid.detection import Ensemble, Recognizer, RuleRecognizer
from deid.detection.dial import Dial, dial_of_folder, fingerprint, parse_dial
from deid.detection.explanation import Explanation, explain
from deid.detection.filled import RULE_LABELS, Alone, Filled, Labels
from deid.detection.joining import joining_of_folder
from deid.detection.known import KnownRecognizer
from deid.detection.options import RULES_ALONE, RecognizerOptions
from deid.detection.short import short_of_folder
from deid.detection.site_lists import NO_EFFECT, Effect, SiteLists, load_site_lists
from deid.detection.transformer import TransformerRecognizer
from deid.document import Document, Span
from deid.labeling.tagger import DEFAULT_MODEL, Tagger, available_models, load_model
from deid.phi import canonical, label_set_of
from deid.reading.languages import AUTO, DEFAULT_LANGUAGE, language_of, read_language
from deid.reading.normalize import normalize
from deid.reading.vocabulary import languages, load_vocabulary


def build_recognizer(options: RecognizerOptions | None = None, known: KnownRecognizer | None = None) -> LazyRecognizer:
    """Return the recognizer for what a user asks for.

    Parameters
    ----------
    options : RecognizerOptions, optional
        Those on people say nothing here; `deid.pipeline.known_people.read_people` makes ``known`` of them.
    known : KnownRecognizer, optional
        Finds the identifiers that are known of a document's person, beside model and rules.

    Raises
    ------
    ConfigError
        When there is no such language, or a list or a dial cannot be read; a model that cannot be loaded is an error
        when it is first used.
    """
    options = options or RecognizerOptions()
    language, own = read_language(options.language)
    dial = None if options.dial is None else parse_dial(str(options.dial))
    site = load_site_lists(options.deny, options.allow)
    made = ByLanguage if own else LazyRecognizer
    return made(dataclasses.replace(options, language=language), dial, known, site)


class LazyRecognizer:
    """Loads model and rules on first use; another process gets the options, and loads them itself."""

    def __init__(
        self, options: RecognizerOptions, dial: Dial | None, known: KnownRecognizer | None, site: SiteLists
    ) -> None:
        self.options = options
        self.site = site
        self._dial = dial
        self._known = known

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyRecognizer, (self.options, self._dial, self._known, self.site)

    @property
    def _model(self) -> str:
        """Name or folder of the model: the user's, else that of the language, else none where a language is named."""
        wish = self.options
        if wish.model or wish.language is None:
            return wish.model or DEFAULT_MODEL
        return wish.language if wish.language in available_models() else RULES_ALONE

    @cached_property
    def _tagger(self) -> Tagger | None:
        wish, model = self.options, self._model
        if model == RULES_ALONE:
            return None
        tagger = load_model(model)
        dial = self._dial or dial_of_folder(model)
        return dataclasses.replace(
            tagger,
            bias=tagger.bias if dial is None else dial.for_model(tagger),
            scores=tagger.scores or wish.threshold is not None,
            doubt=wish.doubt or 0.0,
            span_probability=wish.span_probability or 0.0,
        )

    @property
    def _rule_languages(self) -> tuple[str, ...]:
        """Languages of the rules to use."""
        wish, own = self.options, self._tagger.rules if self._tagger is not None else ()
        if wish.rules is False or (wish.rules is None and self._tagger is not None and not own):
            return ()
        if self._tagger is not None and wish.model is None and wish.language is not None and wish.rules is None:
            return own
        return (wish.language,) if wish.language else own or (self.language,)

    @cached_property
    def _members(self) -> tuple[Recognizer, ...]:
        """Model, known identifiers, transformer and rules, in order of precedence."""
        wish, tagger = self.options, self._tagger
        members: list[Recognizer] = []
        if tagger is not None:
            members.append(tagger if wish.threshold is None else _Sure(tagger, wish.threshold))
        if self._known is not None:
            members.append(self._known)
        if wish.transformer is not None:
            members.append(TransformerRecognizer.load(wish.transformer))
        return (*members, *map(RuleRecognizer.load, self._rule_languages))

    @cached_property
    def _ensemble(self) -> Ensemble | None:
        """All members as one, in the labels of the rules; None where a model works alone."""
        if len(self._members) == 1 and self._tagger is not None:
            return None
        language = (*self._rule_languages, self.options.language or DEFAULT_LANGUAGE)[0]
        # that rules are silent says nothing where there are none
        model = self._model if self._tagger is not None and self._rule_languages else None
        return Ensemble(self._members, language, joining=joining_of_folder(model), short=short_of_folder(model))

    @cached_property
    def _alone(self) -> Alone:
        """The model, where it works alone."""
        return Alone(self._members[0], self.language)

    @cached_property
    def _finder(self) -> Ensemble | Alone | Filled:
        """What finds the spans of a normalized document.

        A model that works without rules, as the Spanish one, was trained on notes of one kind: who names the language
        and not the model has notes of any kind.
        """
        wish, first = self.options, self._ensemble or self._alone
        if wish.model is not None or wish.language is None or wish.rules is not None or self._rule_languages:
            return first
        rules = Ensemble((RuleRecognizer.load(wish.language),), wish.language)
        first = Alone(self._members[0], self.language, rules) if self._ensemble is None else first
        return Filled(first, rules, self._labels)

    @property
    def tagger(self) -> Tagger | None:
        """The model as it is dialled, None for rules alone."""
        return self._tagger

    @property
    def name(self) -> str:
        """Name of the model, or ``rules``."""
        return self._tagger.name if self._tagger is not None else "rules"

    @property
    def categories(self) -> frozenset[str]:
        """The categories that it can find."""
        return frozenset(map(self._labels.of, (*self._finder.categories, *self.site.categories)))

    @cached_property
    def _labels(self) -> Labels:
        tagger = self._tagger
        # rules alone speak the labels of their language: MEDDOCAN's know what i2b2's do not
        own = load_vocabulary(self.options.language or DEFAULT_LANGUAGE).labels
        return Labels(own if tagger is None else _label_set(tagger))

    @property
    def language(self) -> str:
        """Language of the notes: the user's word, else that of the model's rules, else that of its label set."""
        if self.options.language:
            return self.options.language
        if self._tagger is not None and self._tagger.rules:
            return self._tagger.rules[0]
        return DEFAULT_LANGUAGE if self._tagger is None else language_of_labels(_label_set(self._tagger))

    def language_of(self, document: Document) -> str:
        """Return the language that a document is read in: the one that was asked for, whatever it is written in."""
        return self.language

    def find(self, document: Document) -> list[Span]:
        """Return the spans found in the document's text."""
        return self.find_with_effect(document)[0]

    def find_with_effect(self, document: Document) -> tuple[list[Span], Effect]:
        """Return the spans found in the document's text, and what the site's lists changed in them.

        Of a record: in its free text, and the identifiers of its fields.
        """
        record = document.record
        if record is None:
            return self._find(document)
        found, effect = self._of_records._find(document.with_text(document.text[: record.free]))
        return [*record.inside(found), *self._labels.on(record.spans())], effect

    def _find(self, document: Document) -> tuple[list[Span], Effect]:
        normal = normalize(document.text)
        seen = document.with_text(normal.text)
        spans = list(self._labels.on(self._finder.find_normal(seen)))
        effect = NO_EFFECT
        if self.site:
            spans, effect, _ = self.site.apply(seen.text, spans, self._labels.of)
        return [normal.back(span) for span in spans] if normal.removed else spans, effect

    def dialled(self, value: float) -> LazyRecognizer:
        """Return the same recognizer with another position of the dial; what is loaded is shared.

        Raises
        ------
        ConfigError
            When there is no model.
        """
        tagger = self._tagger
        if tagger is None:
            raise ConfigError("without a model there is no dial", "name a model")
        other = LazyRecognizer(self.options, Dial(value), self._known, self.site)
        turned = tagger.dial(value)
        first: Recognizer = turned if self.options.threshold is None else _Sure(turned, self.options.threshold)
        other.__dict__.update(_tagger=turned, _members=(first, *self._members[1:]))
        return other

    @cached_property
    def _of_records(self) -> LazyRecognizer:
        """The same recognizer, which knows the identifiers of a document's own record (`deid.records`)."""
        if self._known is not None:
            return self
        other = LazyRecognizer(self.options, self._dial, KnownRecognizer(language=self.language), self.site)
        other.__dict__["_tagger"] = self._tagger
        return other

    def fingerprint(self) -> str:
        """Return the checksum of the model, empty without one."""
        return "" if self._tagger is None else fingerprint(self._tagger)

    def explain(self, document: Document, places: Iterable[tuple[int, int]] = ()) -> Explanation:
        """Return why each span was found, and why nothing was found at ``places`` (offsets in the document's text).

        Of a record, in its free text: what stands in its fields needs no finding.
        """
        record = document.record
        if record is not None and self._known is None:
            return self._of_records.explain(document.with_text(document.text[: record.free]), places)
        return explain(
            document,
            self._tagger,
            self._finder,
            site=self.site,
            label_of=self._labels.of,
            places=places,
        )


class ByLanguage(LazyRecognizer):
    """Reads each document in its own language; one whose language cannot be told in that of the options.

    Labels are those of i2b2-2014, whatever the models of the languages speak.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return ByLanguage, super().__reduce__()[1]

    def language_of(self, document: Document) -> str:
        """Return the language of a document's free text."""
        record = document.record
        return language_of(document.text if record is None else document.text[: record.free], self.language)

    def find_with_effect(self, document: Document) -> tuple[list[Span], Effect]:
        """Return the spans found in the document's text, and what the site's lists changed in them."""
        spans, effect = self._in(self.language_of(document)).find_with_effect(document)
        return [span.named(canonical(span.category)) for span in spans], effect

    def explain(self, document: Document, places: Iterable[tuple[int, int]] = ()) -> Explanation:
        """Return why each span was found, in the document's language."""
        return self._in(self.language_of(document)).explain(document, places)

    def dialled(self, value: float) -> LazyRecognizer:
        """Refuse: every language has a dial of its own."""
        raise ConfigError("a dial belongs to the model of one language", "name the language")

    @property
    def tagger(self) -> Tagger | None:
        """None: there is one for each language."""
        return None

    @property
    def name(self) -> str:
        """``auto``."""
        return AUTO

    @cached_property
    def categories(self) -> frozenset[str]:
        """The categories that it can find in documents of every language."""
        return frozenset.intersection(*(frozenset(map(canonical, self._in(one).categories)) for one in languages()))

    def fingerprint(self) -> str:
        """Return a checksum over the models of all languages."""
        own = (f"{one} {self._in(one).fingerprint()}" for one in languages())
        return hashlib.sha256("\n".join(own).encode()).hexdigest()

    @cached_property
    def _readers(self) -> dict[str, LazyRecognizer]:
        return {}

    def _in(self, language: str) -> LazyRecognizer:
        """Return what reads one language; loaded when a document is first written in it."""
        if language not in self._readers:
            known = None if self._known is None else dataclasses.replace(self._known, language=language)
            wish = dataclasses.replace(self.options, language=language)
            self._readers[language] = LazyRecognizer(wish, self._dial, known, self.site)
        return self._readers[language]


def language_of_labels(label_set: str) -> str:
    """Return the language whose rules speak the labels of a set; English where several do, and for all others."""
    speaking = [name for name in languages() if load_vocabulary(name).labels == label_set]
    return DEFAULT_LANGUAGE if DEFAULT_LANGUAGE in speaking or not speaking else speaking[0]


def find_with_effect(recognizer: Recognizer, document: Document) -> tuple[list[Span], Effect]:
    """Return what a recognizer finds, and what a site's lists changed in it where it has such lists."""
    if isinstance(recognizer, LazyRecognizer):
        return recognizer.find_with_effect(document)
    record = document.record
    if record is None:
        return recognizer.find(document), NO_EFFECT
    free = document.with_text(document.text[: record.free])
    return [*record.inside([*recognizer.find(free), *KnownRecognizer().find(free)]), *record.spans()], NO_EFFECT


@dataclass(frozen=True, slots=True)
class _Sure:
    """A tagger without the spans that it is not sure of."""

    tagger: Tagger
    threshold: float

    @property
    def name(self) -> str:
        return self.tagger.name

    @property
    def categories(self) -> frozenset[str]:
        return self.tagger.categories

    def find(self, document: Document) -> list[Span]:
        return [s for s in self.tagger.find(document) if s.score is None or s.score >= self.threshold]

    def chances(self, text: str, places: Iterable[tuple[int, int]]) -> list[float]:
        return self.tagger.chances(text, places)


def _label_set(tagger: Tagger) -> str:
    known = label_set_of(tagger.categories)
    return known.name if known else RULE_LABELS
