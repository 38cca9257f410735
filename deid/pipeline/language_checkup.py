"""Checks what there is of a language: the list that whoever adds one works through."""

from __future__ import annotations

from collections.abc import Iterator

from deid.base.errors import ConfigError
from deid.pipeline.checkup import SetupCheck

_DATES = ("months", "weekdays", "seasons", "holidays")
_CLASSES = (
    *("function", "word", "clinical", "section", "title", "title_doctor", "relation", "role", "person_verb"),
    *("given", "last", "city", "country", "month", "weekday", "occupation"),
)
"""Classes of lists that a language has at least; names and towns may be those of all languages."""
_BEFORE_NAMES = ("title", "title_doctor", "role", "relation")
"""Classes whose words stand right before names."""
_CATEGORIES = (
    *("PATIENT", "DOCTOR", "HOSPITAL", "STREET", "ZIP", "CITY", "COUNTRY", "DATE", "AGE", "PHONE", "EMAIL"),
    *("MEDICALRECORD", "HEALTHPLAN", "IDNUM"),
)
"""Categories that an entry of a language's patterns finds at least."""


def language_checkup(language: str) -> Iterator[SetupCheck]:
    """Check patterns, words, lists, surrogates and model of a language, one after the other.

    Parameters
    ----------
    language : str
        Name of its folder under ``dictionaries/patterns``.

    Yields
    ------
    SetupCheck
        ``broken`` where a file is malformed or a golden case fails, ``note`` for what the language lacks.

    Raises
    ------
    ConfigError
        When there is no such language.
    """
    from deid.base.resources import resource_folder
    from deid.reading.vocabulary import languages

    if language not in languages():
        words = resource_folder("dictionaries") / "patterns" / language / "words.toml"
        known = f"make {words} (docs/languages.md); there are: {', '.join(languages())}"
        raise ConfigError(f"there are no rules for the language {language!r}", known)
    told: set[str] = set()
    for check in (_patterns, _words, _lists, _told, _surrogates, _attributes, _model):
        try:
            yield from check(language)
        except ConfigError as error:
            what = str(ConfigError(error.what, "", error.where, error.position))  # the hint has a line of its own
            if what not in told:  # a file that several checks read
                yield SetupCheck(check.__name__.strip("_"), "broken", what, error.hint)
            told.add(what)


def _lacking(subject: str, what: str, found: int, lacking: list[str], remedy: str) -> SetupCheck:
    """Return ``ok``, or ``note`` with what is missing."""
    if not lacking:
        return SetupCheck(subject, "ok", f"{found} {what}")
    return SetupCheck(subject, "note", f"{found} {what}; none for: {', '.join(lacking)}", remedy)


def _patterns(language: str) -> Iterator[SetupCheck]:
    from deid.reading.dictionaries import ALL_LANGUAGES, load_catalogues
    from deid.rules.catalogue import check_golden, load_catalogue
    from deid.rules.fields import CUES, Field, HeadRule, ListRule, PersonField
    from deid.rules.patterns import Pattern

    catalogue = load_catalogue(language)
    entries: list[Pattern | Field | ListRule | HeadRule] = [*catalogue.patterns, *catalogue.fields, *catalogue.lists]
    entries += catalogue.heads
    for entry in entries:
        check_golden(entry, catalogue)
    yield SetupCheck("patterns", "ok", f"the golden cases of {len(entries)} entries hold")
    everything: list[Pattern | Field | ListRule | HeadRule | PersonField] = [*entries, *catalogue.person_fields]
    found = {entry.category for entry in everything}
    tables = {"pattern", "field", "list", "head", "person_field"}
    files = load_catalogues("patterns", language)
    if not any(content.keys() & tables for path, content in files if path.name != ALL_LANGUAGES):
        what = "no pattern of its own finds anything: names in a text of the language would go through as they are"
        yield SetupCheck("patterns", "broken", what, f"add entries to dictionaries/patterns/{language}/")
    yield _lacking(
        *("patterns", "categories are found by patterns", len(found)),
        [name for name in _CATEGORIES if name not in found],
        f"add entries to dictionaries/patterns/{language}/",
    )
    cues = {cue.name for cue in catalogue.cues}
    yield _lacking(
        *("cues", "of the cues of the grammars are there", len(cues)),
        [name for name in CUES if name not in cues],
        f"add [[cue]] to dictionaries/patterns/{language}/grammar.toml; what English says by them may have no like",
    )


def _words(language: str) -> Iterator[SetupCheck]:
    from deid.reading.vocabulary import load_vocabulary

    vocabulary = load_vocabulary(language)
    empty = sorted(name for name, words in vocabulary.words.items() if not words)
    yield _lacking(
        *("words", "lists of small words are there", len(vocabulary.words) - len(empty)),
        empty,
        f"add them to [words] of dictionaries/patterns/{language}/words.toml; what is empty finds nothing",
    )
    if any(month == "(?!)" for month in vocabulary.months):
        yield SetupCheck("words", "note", "the months have no names", "add [dates] to words.toml")


def _lists(language: str) -> Iterator[SetupCheck]:
    from deid.reading.dictionaries import available, load_dictionary
    from deid.reading.lexicon import load_lexicon

    load_lexicon(language)  # a list whose class does not exist stops every command
    lists = [load_dictionary(name) for name in available(language)]
    own = [found for found in lists if found.language == language]
    classes = {found.source.get("class", "") for found in own}
    yield _lacking(
        *("lists", "lists of the language", len(own)),
        [name for name in _CLASSES if name not in classes],
        "add dictionaries/<category>/<list>/ with items.txt and source.toml that says language and class",
    )
    before_names = [found for found in own if found.source.get("class") in _BEFORE_NAMES]
    for name in sorted(found.name for found in before_names if any(item.endswith(".") for item in found.phrases)):
        what = f"{name} has items that end in a full stop, which stands outside of words: none of them is found"
        yield SetupCheck("lists", "note", what, "write them without it: dott, not dott.")


def _told(language: str) -> Iterator[SetupCheck]:
    from deid.reading.languages import classified

    known = language in classified()
    what = "can be told by auto" if known else "is unknown to py3langid: auto never takes a text for it"
    yield SetupCheck("auto", "ok" if known else "note", what, "" if known else "name the language with --language")


def _surrogates(language: str) -> Iterator[SetupCheck]:
    from deid.replacement.pools import PROFESSIONS_FROM, cities, home_cities, home_countries, professions, read_words

    professions()
    own, written = language in ("en", "es"), read_words("writing.toml")
    there = {
        "words of dates (writing.toml)": all(language in written[kind] for kind in _DATES),
        "occupations (professions.txt)": language in PROFESSIONS_FROM,
        "towns (cities_home.txt)": language in home_cities() or (own and bool(cities())),
        "countries (words.toml)": language in home_countries() or own,
    }
    yield _lacking(
        *("surrogates", "of 4 pools of surrogates are the language's", sum(there.values())),
        [name for name, found in there.items() if not found],
        "add them to dictionaries/surrogates; English ones stand in for what is not there",
    )


def _attributes(language: str) -> Iterator[SetupCheck]:
    from deid.base.resources import resource_folder
    from deid.extraction.cues import load_cues

    path = resource_folder("dictionaries") / "attributes" / language / "cues.toml"
    if path.is_file():
        yield SetupCheck("attributes", "ok", f"{len(load_cues(language).before)} columns have labels")
    else:
        yield SetupCheck("attributes", "note", "deid extract refuses the language", f"make {path}")


def _model(language: str) -> Iterator[SetupCheck]:
    from deid.labeling.tagger import available_models, load_model

    if language not in available_models():
        yield SetupCheck("model", "note", "no model ships: rules alone", "scripts/train_language_model trains one")
        return
    tagger = load_model(language)
    yield SetupCheck("model", "ok", f"{tagger.name}: {len(tagger.categories)} categories")
