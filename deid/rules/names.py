"""Names of persons: every reading proposes a candidate with a certainty.

The method is that of the blackboard systems (Sweeney 1996) with the lists and contexts of Neamatullah et al. 2008:
names behind labels (*Attending:*) and titles, *Last, First*, free names by their own words and their surroundings,
names in HL7 messages, initials. `deid.rules.evidence` weighs the free ones; `deid.detection.ensemble` decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from deid.document import Span
from deid.reading.lexicon import classes_of
from deid.reading.view import LOWER, NUMBER, SIGN, UPPER
from deid.rules.certainties import certainties
from deid.rules.evidence import (
    category_of,
    eponym_follows,
    inverted_name_certainty,
    name_certainty,
    person_verb_follows,
    vetoed,
)
from deid.rules.fields import PersonLabel
from deid.rules.person_words import (
    Run,
    behind_small_title,
    clear,
    credential_follows,
    is_initial,
    name_word,
    read_last_first,
    read_run,
)
from deid.rules.scene import Scene
from deid.rules.word_classes import (
    CLINICAL,
    CREDENTIAL,
    DOCTOR_TITLE,
    FUNCTION,
    GIVEN,
    ORDINARY,
    PARTICLE,
    PATIENT_WORD,
    PERSON,
    PERSON_VERB,
    RELATION,
    ROLE,
    SECTION,
    STATE_CODE,
    SUFFIX,
    TITLES,
    WORD,
    cues_of,
)

__all__ = ["find_names"]

_W: Final[dict[str, float]] = certainties("names")

_WORDY: Final = WORD | RELATION
_HEADING: Final = CLINICAL | SECTION
_VALUE_LEADS: Final = TITLES | PARTICLE
_NO_RELATIVE: Final = FUNCTION | RELATION | classes_of("month")
_WEEKDAY: Final = classes_of("weekday")
_NO_INITIALS: Final = ORDINARY | CREDENTIAL | STATE_CODE | SUFFIX
_SIGNER: Final = cues_of("signer")
_SEPARATORS: Final = frozenset(":#=-\u2013|.")
_LISTING: Final = frozenset((",", ";", "&", "/", "|"))
_TURNS: Final = 4
"""A label that begins so many lines marks the turns of a dialogue."""
_GRADES: Final = ("I",)
"""A Roman number that could be an initial."""
_MOST_INITIALS: Final = 6  # letters and full stops
_NAMED: Final = 2
"""Words of a family name and a given one."""
_ABBREVIATED: Final = 3
"""Letters of the longest word whose full stop may belong to it."""
_LEAST: Final = _W["least_posted"]
"""Certainty below which a candidate is not proposed."""
_LEAST_UPPERCASE: Final = _W["least_posted_uppercase"]
"""The same of initials in lines of capitals."""


def find_names(scene: Scene, labels: Sequence[PersonLabel]) -> list[Span]:
    """Find names of persons.

    Parameters
    ----------
    scene : Scene
    labels : sequence of PersonLabel
        Labels behind which a name may stand.

    Returns
    -------
    list of Span
        Candidates of category PATIENT or DOCTOR with their certainty; they may overlap.
    """
    spans = list(_labelled(scene, labels))
    spans += _titled(scene)
    spans += _free(scene)
    spans += _initials(scene)
    for sign in ("^", "&"):
        if sign in scene.text:
            spans += _components(scene, sign)
    if scene.lowercase_text or 1 in scene.uppercase_line:
        spans += _relatives_without_case(scene)
        spans += _before_credentials(scene)
    return spans


def _labelled(scene: Scene, labels: Sequence[PersonLabel]) -> list[Span]:
    """Names behind labels, lists of them included."""
    found: list[Span] = []
    speakers = _speakers(scene, labels)
    for label in labels:
        at = first = _value_of(scene, label)
        if at < 0 or (speakers and _text_of(scene, label) in speakers):
            continue
        category = _correspondent(scene, label, labels) or label.field.category
        full = False
        while at >= 0:
            while scene.has(at, TITLES) and at + 1 < scene.count:
                category = "DOCTOR" if scene.has(at, DOCTOR_TITLE) else category
                at += 2 if scene.word(at + 1) == "." else 1
            run = read_last_first(scene, at, relaxed=True) or read_run(scene, at, relaxed=True)
            if run is None or vetoed(scene, run):
                if run is None and at == first:
                    found += _labelled_initials(scene, at, category, label)
                break
            score = _labelled_score(scene, label, run)
            end = _before_sex(scene, run)
            if full and not (scene.has(run.names[0], GIVEN) or scene.has(at - 1, TITLES) or scene.word(at - 1) == "."):
                score = min(score, _W["label_words_go_on"])  # "Dale Orme, Holloway": where, rather than who
            full = len(run.names) > 1
            found.append(scene.span(run.first, end, category, label.field.name, score))
            at = _next_in_list(scene, run.end)
    return found


def _before_sex(scene: Scene, run: Run) -> int:
    """Return where a name ends that a comma and a sex follow: *Odile Orme, F, 81*."""
    last = run.end - 1
    if len(run.names) < _NAMED or scene.word(last - 1) != "," or not scene.says(last, "sex"):
        return run.end
    return last - 1 if len(scene.strings[last]) == 1 and scene.word(run.end) != "." else run.end


def _correspondent(scene: Scene, label: PersonLabel, labels: Sequence[PersonLabel]) -> str:
    """Return whose the name behind *From:* or *To:* is: the patient's where only the other one is staff."""
    sends, receives = scene.says(label.first, "sender"), scene.says(label.first, "recipient")
    if not (sends or receives) or scene.word(label.end) != ":" or not scene.breaks[label.first]:
        return ""
    name = "recipient" if sends else "sender"
    others = (b for b in labels if scene.says(b.first, name) and scene.word(b.end) == ":" and scene.breaks[b.first])
    other = min(others, key=lambda b: abs(b.first - label.first), default=None)
    if other is None or _of_staff(scene, label) or not _of_staff(scene, other):
        return ""
    return "PATIENT"


def _of_staff(scene: Scene, label: PersonLabel) -> bool:
    """Tell whether what stands behind a label has a title, a credential, a role, or is a team."""
    at = label.end
    while at < scene.count and not scene.breaks[at]:
        if scene.has(at, DOCTOR_TITLE | CREDENTIAL | ROLE) or scene.says(at, "team"):
            return True
        at += 1
    return False


def _text_of(scene: Scene, label: PersonLabel) -> str:
    return " ".join(scene.folded[label.first : label.end])


def _speakers(scene: Scene, labels: Sequence[PersonLabel]) -> frozenset[str]:
    """Return the labels that mark the turns of a dialogue (*Patient: ...*): those that begin many lines."""
    breaks, words = scene.breaks, scene.folded
    turns = [b for b in labels if breaks[b.first] and scene.word(b.end) == ":"]
    # a look at the first word spares most texts the rest
    if len(turns) < _TURNS or max(Counter([words[b.first] for b in turns]).values()) < _TURNS:
        return frozenset()
    counts = Counter(_text_of(scene, b) for b in turns)
    return frozenset(text for text, count in counts.items() if count >= _TURNS)


def _labelled_initials(scene: Scene, index: int, category: str, label: PersonLabel) -> list[Span]:
    """Initials behind a label: *RN: TK*."""
    found: list[Span] = []
    end, _ = _initials_at(scene, index)
    if end > index and not scene.uppercase_line[index]:
        found.append(scene.span(index, end, category, label.field.name, _W["labelled_initials"]))
    return found


def _value_of(scene: Scene, label: PersonLabel) -> int:
    """Return the first word of the value behind a label, -1 when nothing that can be one stands there."""
    at, strict = label.end, False
    if scene.word(at) == "(":  # "Name (PRINT)"
        closed = next((i for i in range(at + 2, min(at + 6, scene.count)) if scene.word(i) == ")"), 0)
        strict = closed > 0 and not any(scene.breaks[i] for i in range(at, closed + 1))
        at = closed + 1 if strict else at
    while scene.word(at) == "." == scene.word(at + 1):  # leaders: "Surname ........ Orme"
        strict = True
        while scene.word(at) == ".":
            at += 1
    start = at
    while at - start < 4 and scene.word(at) in _SEPARATORS:
        strict |= scene.word(at) in (":", "#", "=", "|")
        at += 1
    if at >= scene.count:
        return -1
    breaks = sum(scene.breaks[label.end : at + 1])
    column = "\t" in scene.gap(at) or scene.starts[at] - scene.ends[at - 1] > 2
    if breaks > 1 or (breaks and not strict) or (label.field.strict and not (strict or column)):
        return -1
    if (column or scene.word(at - 1) == "|") and scene.has(at, ORDINARY | SECTION) and _in_heading(scene, at):
        return -1
    return at if _may_be_value(scene, at) else -1


def _in_heading(scene: Scene, index: int) -> bool:
    """Tell whether a word stands in the head of a table: a line of columns without a figure or a colon."""
    first = index
    while first > 0 and not scene.breaks[first]:
        first -= 1
    end = index
    while end < scene.count and (end == index or not scene.breaks[end]):
        end += 1
    line = range(first, end)
    if any(scene.kinds[i] == NUMBER or scene.word(i) in (":", "=") for i in line):
        return False
    return sum(scene.word(i) == "|" or scene.starts[i] - scene.ends[i - 1] > 1 for i in line if i > first) > 1


def _may_be_value(scene: Scene, index: int) -> bool:
    """Tell whether a name, initials or a title can stand at a word behind a label; an answer is none: *None*."""
    if scene.says(index, "answer") and (scene.line_ends(index + 1) or scene.gap(index + 1) != " "):
        return False
    if scene.has(index, _VALUE_LEADS) or name_word(scene, index, relaxed=True):
        return True
    brief = scene.kinds[index] == UPPER and len(scene.strings[index]) <= 3
    return brief or is_initial(scene, index)


def _labelled_score(scene: Scene, label: PersonLabel, run: Run) -> float:
    """Weigh a name behind a label: *Mother: Rose* and *Mother: Rose Quimby*, not *Mother: Long history of ...*"""
    score = label.field.certainty
    known = [i for i in run.names if scene.classes[i] & PERSON]
    if any(clear(scene, i) for i in known) and (len(run.names) > 1 or run.initials):
        return score
    behind = run.end
    ends = behind >= scene.count or bool(scene.breaks[behind]) or not scene.same_line(behind)
    ends = ends or scene.word(behind) in (",", ";", "(", "|", "/") or credential_follows(scene, behind)
    ends = ends or (scene.word(behind) == "." and _sentence_ends(scene, behind))
    if any(clear(scene, i) for i in known):
        return score if ends or not scene.is_word(behind) else score - _W["label_goes_on"]
    if not ends:
        return _W["label_word_goes_on" if len(run.names) < 2 else "label_words_go_on"]
    several = len(run.names) > 1 or bool(run.initials)
    return (
        score
        - (_W["label_doubtful_words" if several else "label_doubtful_word"])
        - (_W["label_unlisted"] if not known else 0.0)
    )


def _sentence_ends(scene: Scene, dot: int) -> bool:
    """Tell whether a full stop ends a sentence: *Surgeon: Quendrith. Assistant: ...*"""
    behind = dot + 1
    if behind >= scene.count or scene.breaks[behind]:
        return True
    return len(scene.strings[dot - 1]) > _ABBREVIATED and bool(scene.gap(behind)) and scene.kinds[behind] != LOWER


def _next_in_list(scene: Scene, index: int) -> int:
    """Return where the next name of a list stands, -1 when the list ends."""
    at = index
    while at < scene.count and not scene.breaks[at]:
        if scene.has(at, CREDENTIAL) or scene.word(at) in (".", "(", ")"):
            at += 1
        elif scene.word(at) in _LISTING or scene.says(at, "and"):
            at += 1
            if not (scene.has(at, CREDENTIAL) and not name_word(scene, at)):
                return at if scene.is_word(at) else -1
        else:
            return -1
    return -1


def _titled(scene: Scene) -> list[Span]:
    """Names behind titles."""
    found: list[Span] = []
    for index in scene.of_class(TITLES):
        classes = scene.classes[index]
        if _no_title(scene, index):
            continue
        at = index + 1
        dot = scene.word(at) == "."
        at += dot
        wrapped = dot and at < scene.count and scene.breaks[at] == 1
        if at >= scene.count or not (scene.same_line(at) or wrapped):
            continue
        if len(scene.word(index)) > 3 and scene.has(at, TITLES) and is_initial(scene, at):
            continue  # "Kiné M. Lebrun"
        run = read_run(scene, at, relaxed=True)
        if run is None:
            if not (is_initial(scene, at) and scene.capital(at)) or _is_grade(scene, index, at):
                continue  # "DR I°": how far a perineum is torn
            run = Run(at, at + 1, [at], [])
        elif classes & ROLE and run.first < run.names[0] and not any(scene.has(i, PERSON) for i in run.names):
            continue  # "médecin de l'Éducation", "kiné du sport"
        elif scene.kinds[run.names[0]] == LOWER and not (
            scene.lowercase_text or clear(scene, run.names[0]) or behind_small_title(scene, run.names[0])
        ):
            continue
        score = _W["title"]
        if classes & _WORDY and len(scene.word(index)) > 3 and not classes & DOCTOR_TITLE and not dot:
            # "Sister Mary", but "Major depression", "miss doses"
            if scene.kinds[index] == LOWER or not any(scene.classes[i] & PERSON for i in run.names):
                continue
            score = _W["title_word"] if scene.says(index, "title_word") else _W["title_doubtful"]
        if eponym_follows(scene, run):
            score = min(score, _W["title_eponym"])
        treats = classes & DOCTOR_TITLE or credential_follows(scene, run.end) or _acts(scene, index)
        category = "DOCTOR" if treats else "PATIENT"
        found.append(scene.span(run.first, run.end, category, "name.title", score))
        if scene.says(index, "title_plural"):
            other = read_run(scene, _next_in_list(scene, run.end), relaxed=True)
            if other is not None:
                found.append(scene.span(other.first, other.end, category, "name.title", _W["second_of_title"]))
    return found


def _is_grade(scene: Scene, index: int, at: int) -> bool:
    """Tell whether the letter behind a title counts something: *DR I°*, and *DR I* without any full stop."""
    bare = (
        scene.kinds[index] == UPPER and at == index + 1 and scene.strings[at] in _GRADES and scene.word(at + 1) != "."
    )
    return bare or scene.word(at + 1) == "°"


def _acts(scene: Scene, index: int) -> bool:
    """Tell whether the role of somebody who treats stands before a title: *Consultant Miss Orme*."""
    return scene.same_line(index) and scene.says(index - 1, "staff_role") and scene.capital(index - 1)


def _no_title(scene: Scene, index: int) -> bool:
    """Tell whether what looks like a title is something else: *18 Fr*, *MR L-spine*, *by LT*, *13 mm*."""
    if index and scene.kinds[index - 1] == NUMBER and scene.says(index, "title_unlikely"):
        return True
    if index and scene.kinds[index - 1] == NUMBER and scene.kinds[index] == LOWER and scene.says(index, "unit"):
        return True  # "13 mm. Surrénales fines"
    shouted = scene.kinds[index] == UPPER and scene.word(index + 1) != "."
    if not shouted or scene.classes[index] & DOCTOR_TITLE:
        return False
    return not (scene.uppercase_line[index] and scene.has(index + 1, PERSON) and clear(scene, index + 1))


def _free(scene: Scene) -> list[Span]:
    """Names that only their own words and their surroundings give away."""
    found: list[Span] = []
    end = 0
    for index in scene.capitals:
        run = read_run(scene, index) if index >= end and _may_start(scene, index) else None
        if run is None:
            continue
        inverted = read_last_first(scene, index) if scene.word(run.end) == "," else None
        if inverted is not None and not vetoed(scene, inverted):
            score = inverted_name_certainty(scene, inverted)
            if score >= _LEAST:
                found.append(
                    scene.span(inverted.first, inverted.end, category_of(scene, inverted), "name.last_first", score)
                )
        run = _trim(scene, run)
        score, source = name_certainty(scene, run)
        if score >= _LEAST:
            found.append(scene.span(run.first, run.end, category_of(scene, run), source, score))
        end = run.end
    return found


def _trim(scene: Scene, run: Run) -> Run:
    """Drop a word of the sentence in front of a name: *Dear Margaret*, *Price Daniel said*."""
    if len(run.names) > 1 and scene.says(run.first, "title_word") and _acts(scene, run.first):
        at = run.first + 1
        return Run(at, run.end, [i for i in run.names if i >= at], run.initials)
    if len(run.names) < 2 or not scene.view.starts_sentence(run.first) or run.names[0] != run.first:
        return run
    first, second = scene.classes[run.names[0]], run.names[1]
    if first & WORD and not first & GIVEN and scene.has(second, GIVEN) and clear(scene, second):
        return Run(second, run.end, run.names[1:], [i for i in run.initials if i > second])
    return run


def _may_start(scene: Scene, index: int) -> bool:
    kind = scene.kinds[index]
    if kind in (SIGN, NUMBER) or (kind == LOWER and not scene.lowercase_text) or scene.has(index, _WEEKDAY):
        return False
    if is_initial(scene, index) and scene.word(index - 1) == "/" and not scene.gap(index):
        return False  # "F/U. Orme was seen"
    if scene.classes[index] & PERSON or not scene.classes[index]:
        return not (scene.case_uninformative(index) and not scene.classes[index] & PERSON)
    return scene.has(index, PARTICLE) or is_initial(scene, index)


def _relatives_without_case(scene: Scene) -> list[Span]:
    """Ambiguous given names behind a relation where case tells nothing: *her son dean helps*."""
    found: list[Span] = []
    given = GIVEN
    for index in scene.of_class(RELATION):
        at = index + 1
        if at >= scene.count or not scene.case_uninformative(at) or not scene.same_line(at):
            continue
        name = scene.classes[at]
        if not (name & given and name & ORDINARY) or scene.has(at, _NO_RELATIVE) or at + 1 >= scene.count:
            continue
        behind = at + 1
        if scene.has(behind, PERSON_VERB) or scene.word(behind) in (",", "(") or scene.says(behind, "and"):
            found.append(scene.span(at, at + 1, "PATIENT", "name.relation", _W["relative_without_case"]))
    return found


def _before_credentials(scene: Scene) -> list[Span]:
    """Names before a credential where case tells nothing: *j. castlebury, md*, also of words that no list has."""
    found: list[Span] = []
    for index in scene.of_phrase(CREDENTIAL):
        comma = index - 1
        if (
            comma < 1
            or scene.word(comma) != ","
            or not scene.case_uninformative(comma - 1)
            or not credential_follows(scene, comma)
        ):
            continue
        start = comma
        while start > 0 and comma - start < 4 and (start == comma or scene.same_line(start)):
            at = start - 1
            dotted = scene.word(at) == "." and is_initial(scene, at - 1)
            known = (
                scene.is_word(at)
                and (scene.classes[at] & PERSON or not scene.classes[at])
                and not scene.has(at, FUNCTION)
            )
            if not (dotted or known or is_initial(scene, at)):
                break
            start = at
        words = [i for i in range(start, comma) if scene.is_word(i) and len(scene.strings[i]) > 1]
        sure = sum(not scene.classes[i] & ORDINARY for i in words)
        if words and sure and (len(words) > 1 or start < words[0]):
            found.append(scene.span(start, comma, "DOCTOR", "name.credential", _W["before_credential"]))
    return found


def _components(scene: Scene, sign: str) -> list[Span]:
    """Names of HL7 messages: *SMITH^JOHN^A*, *8812&SMITH&JOHN*."""
    found: list[Span] = []
    at = 0
    for index in scene.written(frozenset((sign,))):
        if not max(at, 1) <= index < scene.count - 1 or not scene.is_word(index - 1):
            continue
        pieces, end = [index - 1], index
        while end < scene.count - 1 and scene.strings[end] == sign and scene.is_word(end + 1) and len(pieces) < 5:
            pieces.append(end + 1)
            end += 2
        at = end
        numbered = scene.word(index - 2) == sign  # ID^LAST^FIRST is how messages name clinicians
        if sign == "&" and not numbered:  # "Johnson&Johnson" is no name
            continue
        known = [i for i in pieces[:3] if scene.classes[i] & PERSON and not scene.classes[i] & ORDINARY]
        # two words of no list and a letter are no code and its text
        lettered = len(pieces) > 2 and len(scene.strings[pieces[2]]) == 1
        strange = lettered and not scene.classes[pieces[0]] and not scene.classes[pieces[1]]
        if not (known or strange) or (any(scene.classes[i] & _HEADING for i in pieces[:2]) and len(known) < 2):
            continue
        while len(pieces) > 2 and scene.has(pieces[-1], CREDENTIAL | TITLES):
            pieces.pop()
        category = "DOCTOR" if numbered else "PATIENT"
        ends = [(pieces[0], pieces[-1])] if sign == "^" else [(i, i) for i in pieces]
        found += [scene.span(first, last + 1, category, "name.hl7", _W["hl7"]) for first, last in ends]
    return found


def _initials(scene: Scene) -> list[Span]:
    """Initials of persons: *JB, RN*; *A.B. is a*; a line that ends in *-JB*."""
    found: list[Span] = []
    last = 0
    kinds = scene.kinds
    for index in scene.capitals:
        end, dotted = _initials_at(scene, index) if kinds[index] == UPPER and index >= last else (index, False)
        if end == index:
            continue
        score, category = _weigh_initials(scene, index, end, dotted)
        if score >= (_LEAST_UPPERCASE if scene.uppercase_line[index] else _LEAST):
            found.append(scene.span(index, end, category, "name.initials", score))
        last = end
    return found


def _initials_at(scene: Scene, index: int) -> tuple[int, bool]:
    """Return the end of *JB* or *J.B.* at a word, and whether it has full stops; ``index`` when none is there."""
    string = scene.strings[index]
    if scene.kinds[index] != UPPER or len(string) > 3:
        return index, False
    if len(string) > 1:
        other = scene.has(index, _NO_INITIALS)
        return (index, False) if other else (index + 1, False)
    end = index
    # no further than what is too long: a chain of thousands is looked at from each of its letters
    while (
        end - index <= _MOST_INITIALS
        and is_initial(scene, end)
        and scene.word(end + 1) == "."
        and (end == index or not scene.gap(end))
    ):
        end += 2
    return (end, True) if 4 <= end - index <= _MOST_INITIALS else (index, False)


def _weigh_initials(scene: Scene, index: int, end: int, dotted: bool) -> tuple[float, str]:
    """Weigh initials by what stands around them."""
    if credential_follows(scene, end):
        return _W["initials_credential"], "DOCTOR"
    before = scene.word(index - 1)
    near = scene.same_line(index)
    if near and scene.kinds[index - 1] == NUMBER and scene.says(index, "unit"):
        return 0.0, ""  # "11 MM"
    if near and scene.has(index - 1, TITLES | RELATION):
        return _W["initials_title"], "PATIENT"
    if (
        not scene.known_letters(scene.word(index))
        and scene.has(index - 1, PATIENT_WORD)
        and near
        and (dotted or scene.kinds[index - 1] != UPPER)
    ):
        return (_W["initials_patient_dotted" if dotted else "initials_patient"]), "PATIENT"
    if dotted:
        letters = "".join(scene.word(i) for i in range(index, end) if scene.is_word(i))
        if person_verb_follows(scene, end):
            return _W["initials_verb"], "PATIENT"
        return (0.0, "") if scene.known_letters(letters) else (_W["initials_dotted"], "DOCTOR")
    if near and scene.has(index - 1, ROLE | CREDENTIAL):
        return _W["initials_role"], "DOCTOR"
    if near and scene.cued(index, _SIGNER):
        return _W["initials_signer"], "DOCTOR"
    last = end >= scene.count or bool(scene.breaks[end])
    signed = before in ("-", "/", "\u2013", "\u2014", "~") and bool(scene.gap(index - 1))
    if signed and (last or scene.word(end) == "."):
        return _W["initials_signed"], "DOCTOR"
    closes = before in (".", ")", ";") or (index > 0 and scene.kinds[index - 1] == NUMBER)
    return (
        (_W["initials_line_end"], "DOCTOR") if last and closes and near and len(scene.strings[index]) < 4 else (0.0, "")
    )
