"""What a model found and nobody else: whether its own words could be what it was taken for.

A model that was trained on dense text sees hospitals, occupations and dates in clinical prose: *our Hand Clinic*, *a
muscle strain*, *7/10 with activity*. Where no rule says the same, however weakly, such a span needs a word that shows
it: one that no list knows, a name, a place, an occupation. Names, streets and numbers are never held back so; only
clinical language is no name.
"""

from __future__ import annotations

import re
from typing import Final

from deid.detection.cut import clinical_word, common_word
from deid.detection.kinds import CategoryTraits, SourceTraits, kind_of, origin_of
from deid.detection.things import (
    FUNCTION,
    INITIALS,
    NAMESAKE,
    is_nobodys,
    is_spaced_head,
    names_a_thing,
)
from deid.document import Span
from deid.reading.lexicon import classes_of
from deid.reading.view import LOWER, NUMBER, TITLE, UPPER
from deid.rules.institutions import is_general
from deid.rules.person_words import PERSON, follows_eponym_cue, tells
from deid.rules.scene import Scene
from deid.rules.word_classes import CREDENTIAL, ROLE, TITLES, cues_of

ALONE: Final = 0.95
"""Probability from which a model needs nobody else."""
_TERM: Final = classes_of("clinical")
_COMMON: Final = classes_of("clinical", "section", "function", "hospital_head", "hospital_head_weak", "role")
_WORD: Final = classes_of("word")
_SPACED: Final = 5
"""Letters from which letters apart may be a word."""
_OCCUPATION: Final = classes_of("occupation")
_NO_OCCUPATION: Final = classes_of("no_occupation", "role", "relation", "clinical")
_GIVEN: Final = classes_of("given")
_SOMEWHERE: Final = classes_of("city", "city_ambig", "city_big", "state", "state_code", "country")
_ORDINARY: Final = classes_of("word", "function", "clinical", "role", "relation", "person_verb")
_LABELLING: Final = _ORDINARY | classes_of("section", "patient_word")
_POPULAR: Final = classes_of("popular")
_HEADING: Final = 4
"""Words of a heading; a bullet and a colon count."""
_BULLETS: Final = frozenset("-*\u2022\u2013")
_TONGUE: Final = classes_of("nationality")
_MEASURED: Final = re.compile(r"(?:[ \t]+[a-z]+)?(?:[ \t]+[0-9][0-9.:]*,?(?![0-9/-])){2}")
"""Values behind the name of a measure: *Fundal height 28 30*, *O2 sat 88 90*."""
_LEAD_TO_INITIALS: Final = frozenset("-\u2013\u2014:|")
_SIGNER: Final = cues_of("signer")
_SEXES: Final = frozenset("FMfm")
_CELL_BEFORE: Final = re.compile(r"(?:\n|\t|\||[ ]{2})[ ]*\Z")
_CELL_BEHIND: Final = re.compile(r"[ ]*(?:\Z|\n|\t|\||:)|[ ]{2}")
_PART: Final = re.compile(r"(?<=[0-9][.,])|(?<=[$\u00a3\u20ac])|(?<=[$\u00a3\u20ac] )")
"""Before the digits behind a decimal point, or an amount."""
_STAFF: Final = CREDENTIAL | ROLE | TITLES
_ADDRESSED: Final = TITLES | ROLE
_FRACTION: Final = re.compile(r"[0-9]{1,2}/(?:5|6|7|8|10|12|52)")
"""A part of a scale, or of a week, a year: *7/10*, *5/5*, *3/52*."""
_DECIMAL: Final = re.compile(r"[ \t]+[0-9]+[.,][0-9]")
_ABBREVIATED: Final = 6
"""Letters of a label in capitals that heads a cell of a line of labels."""
_NEAR: Final = 12
"""Characters before a word in which a cell may begin."""
_BETWEEN: Final = 4
"""Words from a place to the head of the name of a scale: *Edmonton symptom assessment scale*."""


def stands_alone(scene: Scene, span: Span) -> bool:
    """Tell whether a span may count though a model alone found it.

    Parameters
    ----------
    scene : Scene
    span : Span
        What a model found, and no other recognizer.
    """
    kind, start, end, text = kind_of(span.category), span.start, span.end, scene.text
    words = scene.inside(start, end)
    if _PART.match(text, start) and text[start:end].isdecimal():
        return False
    if kind.group == "ID" and "\n" in text[start:end]:
        return False  # of two rows
    if kind.category == "STREET" and all(common_word(scene, i) for i in words):
        return False
    if kind.town and len(words) == 1 and not scene.lowercase_text and _small(scene, words[0]):
        return False
    if kind.named and words and (_is_flag(scene, span, words) or _is_plain_head(scene, words)):
        return False
    if kind.named and len(words) >= _SPACED and is_spaced_head(scene, words[0]):
        return False
    if end - start == 1 and (not kind.named or text[start] in _SEXES):
        return kind.category == "AGE" or not words
    if words and kind.worded and _is_form_label(scene, words):
        return False
    if kind.category == "USERNAME" and text.startswith("=", end):
        return False  # "adm_dt=20240311"
    if kind.category == "URL" and "/" in text[start:end] and "." not in text[start:end]:
        return False  # "SILT s/s/sp/dp/t"
    if kind.institution:
        return any(_could_name(scene, i) for i in words)
    if kind.category == "PROFESSION":
        return any(not scene.classes[i] or _occupies(scene, i) for i in words)
    if kind.date:
        return _FRACTION.fullmatch(text, start, end) is None
    if kind.named and words and not scene.lowercase_text and all(_plain(scene, i) for i in words):
        return False
    if kind.named and len(words) == 1 and _is_remark(scene, words[0]):
        return False
    if kind.person and words and all(scene.has(i, _ADDRESSED) and not scene.has(i, PERSON) for i in words):
        return False  # "Dear Sir"
    if (kind.named or kind.town) and words and scene.word(words[-1] + 1) == ":" and _labels_value(scene, words):
        return False
    if not (kind.named or (kind.group == "LOCATION" and kind.category != "STREET")) or not is_clinical(scene, span):
        return True
    return end - start < INITIALS and not _in_clinical_row(scene, words) and _may_sign(scene, words)


def _may_sign(scene: Scene, words: list[int]) -> bool:
    """Tell whether clinical letters stand where initials do: behind *by*, a dash or a label, in a cell, at an end."""
    if len(words) != 1 or scene.kinds[words[0]] != UPPER or scene.uppercase_line[words[0]]:
        return True
    before = scene.word(words[0] - 1)
    if before in _LEAD_TO_INITIALS or scene.cued(words[0], _SIGNER) or scene.line_ends(words[0] + 1):
        return True
    return _in_cell(scene, words)


def _in_clinical_row(scene: Scene, words: list[int]) -> bool:
    """Tell whether letters stand beside a clinical word, as one of several, or lead nowhere: *htn and dm*, *for DM*."""
    if len(words) != 1 or scene.uppercase_line[words[0]]:
        return False
    small = scene.kinds[words[0]] == LOWER
    if not small and scene.says(words[0] - 1, "leads_to_matter") and not scene.breaks[words[0]]:
        return True
    for step in (-1, 1):
        link, other = words[0] + step, words[0] + 2 * step
        joined = scene.says(link, "and") or scene.word(link) in (",", "/")
        alike = joined and (small or (scene.kinds[other] == UPPER and scene.word(link) == ","))
        if alike and scene.is_word(other) and clinical_word(scene, other) and not scene.has(other, _STAFF):
            return True
    return False


def _is_form_label(scene: Scene, words: list[int]) -> bool:
    """Tell whether words fill a cell of a form or a head of a column, and are those of labels: *State  Zip*."""
    if not all(scene.says(i, "form_label") for i in words):
        return False
    first, last = words[0], words[-1]
    while scene.says(first - 1, "form_label") and scene.starts[first] == scene.ends[first - 1] + 1:
        first -= 1
    while scene.says(last + 1, "form_label") and scene.starts[last + 1] == scene.ends[last] + 1:
        last += 1
    return _in_cell(scene, [first, last])


def _in_cell(scene: Scene, words: list[int]) -> bool:
    """Tell whether words fill a cell or a line."""
    begins = scene.starts[words[0]] == 0 or _begins_cell(scene, words[0])
    return begins and _CELL_BEHIND.match(scene.text, scene.ends[words[-1]]) is not None


def _is_flag(scene: Scene, span: Span, words: list[int]) -> bool:
    """Tell whether letters are a flag, a yes, a unit: *HH* in a cell of its own, *MG/DL*, *K/uL*."""
    letters = scene.text[span.start : span.end]
    if len(words) == 1 and len(letters) <= INITIALS:
        behind_name = scene.has(words[0] - 1, PERSON) and not scene.breaks[words[0]]  # in a column of initials
        if len(set(letters.casefold())) == 1 and scene.kinds[words[0]] == UPPER and not behind_name:
            return _in_cell(scene, words) or "/" in (scene.word(words[0] - 1), scene.word(words[0] + 1))
        if scene.kinds[words[0]] == LOWER and scene.kinds[words[0] - 1] == NUMBER and scene.says(words[0], "unit"):
            return True
        for sign, unit in ((words[0] - 1, words[0] - 2), (words[0] + 1, words[0] + 2)):
            if scene.word(sign) == "/" and (scene.says(unit, "unit") or scene.says(words[0], "unit")):
                return True
    return False


def _is_plain_head(scene: Scene, words: list[int]) -> bool:
    """Tell whether ordinary words begin a cell or a line, where a capital says nothing: *Claim   2025*, *FLOWSHEET*."""
    if scene.lowercase_text or not all(common_word(scene, i) for i in words):
        return False
    if len(words) > 1 and scene.word(words[0] - 1) == ":":
        return True
    return scene.starts[words[0]] == 0 or _begins_cell(scene, words[0])


def _small(scene: Scene, index: int) -> bool:
    """Tell whether a word in small letters is an ordinary one, and no list of places has it: *gardening*, *vaping*."""
    if scene.kinds[index] != LOWER or scene.has(index, _SOMEWHERE):
        return False
    return scene.has(index, _WORD) or scene.says(index, "occasion")


def _plain(scene: Scene, index: int) -> bool:
    """Tell whether a word is an ordinary one in small letters."""
    return scene.kinds[index] == LOWER and scene.has(index, _WORD) and not scene.has(index, PERSON)


def _is_remark(scene: Scene, index: int) -> bool:
    """Tell whether an ordinary word is a sentence of its own, and no name: *Inquiet.*, *Fatiguée.*"""
    if scene.kinds[index] != TITLE or not scene.has(index, _WORD) or scene.has(index, PERSON):
        return False
    return scene.word(index + 1) == "." and (scene.word(index - 1) == "." or scene.breaks[index] == 1)


def _is_heading(scene: Scene, words: list[int]) -> bool:
    """Tell whether words stand in a line that is a heading, or one value: *Black Box Warning*, *Council*, *Low*."""
    first, end = words[0], words[-1] + 1
    while not scene.breaks[first] and words[-1] - first < _HEADING:
        first -= 1
    while not scene.line_ends(end) and end - first <= _HEADING:
        end += 1
    if not scene.breaks[first] or not scene.line_ends(end) or any(scene.kinds[i] == LOWER for i in words):
        return False
    first += scene.word(first) in _BULLETS
    end -= scene.word(end - 1) == ":"
    return all(scene.has(i, _ORDINARY) for i in range(first, end)) and not tells(scene, first, end - 1)


def _labels_value(scene: Scene, words: list[int]) -> bool:
    """Tell whether words before a colon are those of a label, and no name: *Leerling:*, *Fahrer gesucht:*, *LANG:*."""
    if any(scene.has(i, PERSON) for i in words):
        return False
    if len(words) == 1 and scene.kinds[words[0]] == UPPER and len(scene.strings[words[0]]) <= _ABBREVIATED:
        line = scene.text.rfind("\n", 0, scene.starts[words[0]]) + 1
        if ":" in scene.text[line : scene.starts[words[0]]] and _begins_cell(scene, words[0]):
            return True  # "MAR ST: S     LANG: ENG"
    return all(scene.has(i, _LABELLING) for i in words)


def _is_measure(scene: Scene, words: list[int]) -> bool:
    """Tell whether words in capitals name a measure, before its value or another: *LAVI 34*, *WAIS FSIQ 96*."""
    behind = words[-1] + 1
    if behind >= scene.count or scene.breaks[behind]:
        return False
    if not all(scene.kinds[i] == UPPER and scene.says(i, "measure") for i in words):
        return False
    if scene.uppercase_line[words[0]]:
        return scene.kinds[behind] == NUMBER and not any(scene.has(i, _POPULAR) for i in words)
    return scene.kinds[behind] == NUMBER or scene.says(behind, "measure")


def _measures(scene: Scene, words: list[int]) -> bool:
    """Tell whether one of some words is the name of a measure."""
    measures = scene.words["measure"]
    return any(scene.folded[i] in measures for i in words)


def names_nobody(scene: Scene, span: Span, held: list[int] | None = None) -> bool:
    """Tell whether a place names a scale, or a name a disease, a thing, a measure or, without case, clinical words.

    Parameters
    ----------
    scene : Scene
    span : Span
        Without a label.
    held : list of int, optional
        Its words that are made of letters, where they are known.
    """
    words = scene.inside(span.start, span.end) if held is None else held
    kind, origin = kind_of(span.category), origin_of(span.source)
    if is_nobodys(scene, span, words, kind, origin):
        return True
    if kind.place:
        return _is_no_place(scene, words, span.end, kind, origin)
    if not words:
        return False
    if kind.person:
        return _is_no_person(scene, words, origin)
    return (kind.date or kind.category == "DEPARTMENT") and _is_no_name(scene, words, origin)


def _is_no_name(scene: Scene, words: list[int], origin: SourceTraits) -> bool:
    """Tell whether words of a name, a date, a department are a measure before its values, a filler, a label."""
    if _measures(scene, words) and _MEASURED.match(scene.text, scene.ends[words[-1]]):
        return True
    first = words[0]
    if scene.kinds[first] != UPPER and all(scene.says(i, "filler") for i in words):
        return True
    if len(words) > 1:
        return False
    told = scene.says(first, "answer") or _names_a_field(scene, first)
    told = told or (scene.kinds[first] == LOWER and scene.says(first, "age_label"))  # "in 65 year olds"
    return told and not (origin.by_title or origin.repeats)


def _is_no_person(scene: Scene, words: list[int], origin: SourceTraits) -> bool:
    """Tell whether the name of a person is none."""
    if _is_no_name(scene, words, origin):
        return True
    if not origin.untitled:
        return False
    if _valued(scene, words) or names_a_thing(scene, words) or _is_measure(scene, words):
        return True
    if (
        _is_spoken(scene, words[0])
        or follows_eponym_cue(scene, words)
        or _labels(scene, words)
        or _is_heading(scene, words)
    ):
        return True
    return len(words) > 1 and all(scene.case_uninformative(i) and scene.has(i, _TERM) for i in words)


def _is_no_place(scene: Scene, words: list[int], end: int, kind: CategoryTraits, origin: SourceTraits) -> bool:
    """Tell whether a place or an institution is none."""
    if words:
        first = words[0]
        if (len(words) == 1 and scene.says(first, "answer")) or is_general(scene, words):
            return True
        if not kind.institution and follows_eponym_cue(scene, words):
            return True
        if origin.untitled and names_a_thing(scene, words):
            return True
        if len(words) > 2 and scene.has(first, NAMESAKE) and any(scene.says(i, "versus") for i in words[1:-1]):
            return True
        if origin.model and len(words) > 1 and scene.has(first, _GIVEN):
            return False  # "Wendell Pruitt III"
        if scene.says(first - 1, "versus"):
            return True
    index = scene.at(end - 1) + 1
    if scene.says(index, "graded"):
        return True
    for at in range(index, index + _BETWEEN):
        if scene.says(at, "scale"):
            return True
        if not scene.is_word(at) or (scene.has(at, FUNCTION) and not scene.says(at, "and")) or scene.breaks[at]:
            return False
    return False


def _names_a_field(scene: Scene, index: int) -> bool:
    """Tell whether a word is one of a form, and no name: *Accession* behind *MD*, *REL:* in a cell."""
    if not scene.says(index, "form_label"):
        return False
    if scene.kinds[index - 1] == NUMBER and scene.starts[index] == scene.ends[index - 1]:
        return False  # "the 21st"
    return not scene.has(index, PERSON) or (scene.word(index + 1) == ":" and _begins_cell(scene, index))


def _begins_cell(scene: Scene, index: int) -> bool:
    start = scene.starts[index]
    return _CELL_BEFORE.search(scene.text, max(0, start - _NEAR), start) is not None


def _is_spoken(scene: Scene, index: int) -> bool:
    """Tell whether a name stands where a language does: *Speaks Yoruba and Igbo*, *Welsh speaker*."""
    if scene.has(index, _TONGUE) and scene.says(index + 1, "spoken") and not scene.breaks[index + 1]:
        return True
    at = index - 1
    while at > 0 and index - at <= _BETWEEN and (scene.says(at, "and") or scene.word(at) in (",", "/")):
        at -= 2
    return scene.says(at, "speaks") and not scene.breaks[index]


def _valued(scene: Scene, words: list[int]) -> bool:
    """Tell whether one word stands before a decimal (*Levo 0.12*, *K 6.1*), and is no frequent name."""
    if len(words) > 1 or scene.has(words[0], _POPULAR):
        return False
    return _DECIMAL.match(scene.text, scene.ends[words[0]]) is not None


def _labels(scene: Scene, words: list[int]) -> bool:
    """Tell whether words are a label with its colon, or a language, and no name: *Coll:*, *Zulu*, *Religion: Sikh*."""
    first = words[0]
    if len(words) == 1 and scene.has(first, _TONGUE) and (scene.word(first - 1) == ":" or scene.breaks[first]):
        return scene.line_ends(first + 1)
    if any(scene.has(i, PERSON) for i in words):
        return False
    if scene.word(words[-1] + 1) == ":":
        return all(scene.says(i, "name_label") for i in words)
    return all(scene.has(i, _TONGUE) for i in words)


def _occupies(scene: Scene, index: int) -> bool:
    """Tell whether a listed occupation begins with a word; roles of the staff who treat are none."""
    if scene.has(index, _NO_OCCUPATION):
        return False
    return scene.has(index, _OCCUPATION) or any(held & _OCCUPATION for _, held in scene.phrases.get(index, ()))


def _could_name(scene: Scene, index: int) -> bool:
    """Tell whether a word could be an institution's own; an ordinary one only with a capital that says something."""
    if scene.protected[index] or scene.has(index, _COMMON):
        return False
    return not scene.has(index, _WORD) or (scene.capital(index) and not scene.case_uninformative(index))


def is_clinical(scene: Scene, span: Span) -> bool:
    """Tell whether all words of a name, place or occupation are clinical language."""
    if not kind_of(span.category).worded or span.category in ("USERNAME", "ROOM"):
        return False
    words = scene.inside(span.start, span.end)
    return bool(words) and all(clinical_word(scene, i) for i in words)
