"""Names of persons: candidates and the evidence for and against them.

Each candidate is weighed by what its own words are (given names, family names, words of ordinary or clinical language)
and by what stands around it: titles, labels (*Attending:*), credentials, relations (*his wife Rose*), verbs of persons,
salutations, signatures on one side; words that make it an eponym (*Bell's palsy*), a street, a hospital on the other.
The method is that of the blackboard systems (Sweeney 1996) with the lists and contexts of Neamatullah et al. 2008:
every reading posts a span with a certainty, and the highest wins later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deid.detection.fields import PersonLabel
from deid.detection.lexicon import classes_of
from deid.detection.person_words import (
    GIVEN,
    LAST,
    PERSON,
    Run,
    clear,
    is_initial,
    name_word,
    read_last_first,
    read_run,
)
from deid.detection.scene import Scene
from deid.detection.view import LOWER, NUMBER, SIGN, TITLE, UPPER
from deid.document import Span

__all__ = ["find_names"]

_POPULAR, _MOSTLY = classes_of("popular"), classes_of("mostly_name")
_ORDINARY = classes_of("word", "clinical")
_HEADS = classes_of("hospital_head", "org_head", "street_suffix", "place_head")
_PLACES = classes_of("city", "city_ambig", "city_big", "state", "country")
_SEPARATORS = frozenset(":#=-\u2013|.")
_LISTING = frozenset((",", ";", "&", "/", "and", "|"))


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
    spans += _carets(scene)
    spans += _initials(scene)
    return spans


def _read(scene: Scene, index: int) -> Run | None:
    """Read a name where one must stand: behind a label or a title."""
    return read_last_first(scene, index, relaxed=True) or read_run(scene, index, relaxed=True)


def _labelled(scene: Scene, labels: Sequence[PersonLabel]) -> Iterator[Span]:
    """Names behind labels, lists of them included."""
    for label in labels:
        at, breaks, strict = label.end, 0, False
        while at < len(scene) and at - label.end < 4 and scene.word(at) in _SEPARATORS:
            strict |= scene.word(at) in (":", "#", "=", "|")
            at += 1
        if at >= len(scene):
            continue
        breaks = sum(scene.view.breaks[label.end : at + 1])
        column = "\t" in scene.view.gap(at) or scene.view.starts[at] - scene.view.ends[at - 1] > 2
        if breaks > 1 or (breaks and not strict) or (label.field.strict and not (strict or column)):
            continue
        category = label.field.category
        for _ in range(8):
            while scene.has(at, "title", "title_doctor") and at + 1 < len(scene):
                category = "DOCTOR" if scene.has(at, "title_doctor") else category
                at += 2 if scene.word(at + 1) == "." else 1
            run = _read(scene, at)
            if run is None or _vetoed(scene, run):
                break
            score = label.field.certainty
            if not any(scene.classes[i] & PERSON for i in run.names):
                score -= 0.15 if len(run.names) > 1 or run.initials else 0.3
            elif len(run.names) == 1 and not clear(scene, run.names[0]):
                score -= 0.1
            source = label.field.name
            yield scene.span(run.first, run.end, category, source, score)
            at = _next_in_list(scene, run.end)
            if at < 0:
                break


def _next_in_list(scene: Scene, index: int) -> int:
    """Return where the next name of a list stands, -1 when the list ends."""
    at = index
    while at < len(scene) and at - index < 8 and not scene.view.breaks[at]:
        if scene.has(at, "credential") or scene.word(at) in (".", "(", ")"):
            at += 1
        elif scene.word(at) in _LISTING:
            at += 1
            if not (scene.has(at, "credential") and not name_word(scene, at)):
                return at if at < len(scene) and scene.is_word(at) else -1
        else:
            return -1
    return -1


def _titled(scene: Scene) -> Iterator[Span]:
    """Names behind titles."""
    titles, doctors = classes_of("title"), classes_of("title_doctor")
    wordy = classes_of("word", "relation", "clinical")
    for index, classes in enumerate(scene.classes):
        if not classes & (titles | doctors):
            continue
        at = index + 1
        dot = at < len(scene) and scene.word(at) == "."
        at += dot
        if not scene.same_line(at) and not (at < len(scene) and scene.view.breaks[at] == 1 and dot):
            continue
        # "Dr. and Mrs. Smith", "Drs. Smith and Jones"
        run = read_run(scene, at, relaxed=True)
        if run is None:
            run = _initial_behind(scene, at)
            if run is None:
                continue
        elif scene.view.kinds[run.names[0]] == LOWER and not scene.quiet and not clear(scene, run.names[0]):
            continue
        score = 0.97
        if classes & wordy and not classes & doctors and not dot:
            # "Sister Mary", "Major depression", "Miss Jones"
            if scene.view.kinds[index] == LOWER or not any(scene.classes[i] & PERSON for i in run.names):
                continue
            score = 0.9 if scene.word(index) == "miss" else 0.6
        if run.end < len(scene) and _eponym_follows(scene, run):
            score = 0.75
        category = "DOCTOR" if classes & doctors or _credential_follows(scene, run.end) else "PATIENT"
        yield scene.span(run.first, run.end, category, "name.title", score)
        if scene.word(index) in ("drs", "messrs"):
            at = _next_in_list(scene, run.end)
            other = read_run(scene, at, relaxed=True) if at > 0 else None
            if other is not None:
                yield scene.span(other.first, other.end, category, "name.title", 0.9)


def _initial_behind(scene: Scene, index: int) -> Run | None:
    """A single letter as a name: *Dr. B.*, *Mr. K*."""
    if is_initial(scene, index) and scene.capital(index):
        return Run(index, index + 1, [index])
    return None


def _free(scene: Scene) -> Iterator[Span]:
    """Names that only their own words and their surroundings give away."""
    index = 0
    while index < len(scene):
        if not _may_start(scene, index):
            index += 1
            continue
        inverted = read_last_first(scene, index)
        if inverted is not None:
            score = _weigh_inverted(scene, inverted)
            if score >= 0.2 and not _vetoed(scene, inverted):
                yield scene.span(inverted.first, inverted.end, _category(scene, inverted), "name.last_first", score)
        run = read_run(scene, index)
        if run is None:
            index += 1
            continue
        score, source = _weigh(scene, run)
        if score >= 0.2:
            yield scene.span(run.first, run.end, _category(scene, run), source, score)
        index = run.end


def _may_start(scene: Scene, index: int) -> bool:
    kind = scene.view.kinds[index]
    if kind in (SIGN, NUMBER) or (kind == LOWER and not scene.quiet):
        return False
    if scene.classes[index] & PERSON or not scene.classes[index]:
        return not (scene.blind(index) and not scene.classes[index] & PERSON)
    return scene.has(index, "particle") or is_initial(scene, index)


def _strength(scene: Scene, index: int) -> float:
    """How likely a word is a name, by its lists alone."""
    classes = scene.classes[index]
    short = len(scene.view.strings[index]) < 4
    if classes & GIVEN:
        if clear(scene, index):
            popular = classes & (_POPULAR | _MOSTLY)
            value = 0.85 if popular or not short else 0.5
            if scene.blind(index) and not popular:
                value -= 0.35
            elif scene.blind(index):
                value -= 0.2
        else:
            value = 0.4
        return min(value, 0.5) if classes & _PLACES and not classes & _MOSTLY else value
    if classes & LAST:
        if not clear(scene, index):
            return 0.15
        value = 0.5 if classes & _POPULAR else 0.4
        return value * (0.5 if classes & _PLACES or scene.blind(index) else 1.0)
    return 0.15


def _weigh(scene: Scene, run: Run) -> tuple[float, str]:
    """Weigh the evidence for a run of words that is not behind a label or a title."""
    if _vetoed(scene, run):
        return 0.0, ""
    names = run.names
    known = [i for i in names if scene.classes[i] & PERSON]
    start = scene.view.starts_sentence(run.first)
    if not known:
        base = 0.5 if run.initials and len(names) > 1 else 0.1
    elif len(names) == 1 and not run.initials:
        base = _strength(scene, names[0]) - (0.12 if start else 0.0)
    else:
        base = _weigh_words(scene, run, start)
    cues, source = _cues(scene, run)
    against = _against(scene, run)
    score = (1.0 - (1.0 - max(base, 0.0)) * (1.0 - cues)) * against
    return score, source or ("name.full" if len(names) > 1 else "name.word")


def _weigh_words(scene: Scene, run: Run, start: bool) -> float:
    """Weigh a run of several words by its lists."""
    first, last = run.names[0], run.names[-1]
    given, family = scene.classes[first] & GIVEN, scene.classes[last] & PERSON
    blind = scene.blind(first)
    if len(run.names) == 1:  # with initials
        return 0.75 if clear(scene, first) else 0.45
    if given and clear(scene, first):
        if blind:
            return 0.8 if clear(scene, last) else 0.4
        return 0.93 if family else 0.82
    if given:
        if clear(scene, last):
            return 0.6 if blind else 0.85
        return 0.3 if blind else (0.4 if start else 0.55)
    if clear(scene, first) and clear(scene, last):
        return 0.3 if blind else 0.55
    if any(scene.classes[i] & GIVEN and clear(scene, i) for i in run.names):
        return 0.3 if blind else 0.75
    return 0.5 if run.initials else 0.25


def _weigh_inverted(scene: Scene, run: Run) -> float:
    """Weigh *Last, First*."""
    last, first = run.names[0], run.names[-1]
    sure_last = clear(scene, last) and not scene.classes[last] & GIVEN & ~0
    if scene.classes[last] & GIVEN and not scene.classes[last] & LAST:
        return 0.0
    base = 0.0
    if scene.classes[first] & GIVEN:
        if clear(scene, first):
            base = 0.88 if scene.classes[last] & LAST and (sure_last or clear(scene, last)) else 0.6
        else:
            base = 0.6 if sure_last else 0.35
    elif clear(scene, last) and run.initials:
        base = 0.6
    if run.initials:
        base = 1.0 - (1.0 - base) * 0.6
    if scene.classes[last] & _PLACES and not run.initials:
        base *= 0.7
    if scene.view.starts_sentence(run.first) and scene.view.breaks[run.first]:
        base = 1.0 - (1.0 - base) * 0.8
    cues, _ = _cues(scene, run)
    return 1.0 - (1.0 - base) * (1.0 - cues)


def _credential_follows(scene: Scene, index: int) -> bool:
    """Tell whether letters of a profession stand behind a name: *, MD*, *RN*."""
    at = index + 1 if scene.word(index) in (",", "-", "(") else index
    if not scene.has(at, "credential") or scene.view.breaks[at]:
        return False
    kind = scene.view.kinds[at]
    if kind != UPPER and not (scene.quiet or (scene.word(at + 1) == ".") or kind not in (LOWER, TITLE)):
        return len(scene.view.strings[at]) > 2 and kind != LOWER
    return at > index or kind == UPPER or scene.quiet


def _cues(scene: Scene, run: Run) -> tuple[float, str]:
    """Return how much the surroundings speak for a name, and the strongest reason."""
    found: list[tuple[float, str]] = []
    before = run.first - 1
    if before >= 0 and scene.word(before) in (",", ":", "(", "-", "\u2013", "/", '"'):
        before -= 1
    near = scene.same_line(run.first) or (run.first > 0 and scene.view.breaks[run.first] == 1 and not scene.quiet)
    cues = scene.cues_before.get(run.first, set()) | scene.cues_before.get(before + 1, set()) if near else set()
    if _credential_follows(scene, run.end):
        found.append((0.93, "name.credential"))
    if near and scene.has(before, "relation"):
        gap = run.first - 1 - before
        found.append((0.75 if gap == 0 else 0.5, "name.relation"))
    if near and scene.has(before, "role"):
        found.append((0.6 if run.first - 1 == before else 0.4, "name.role"))
    if "naming" in cues:
        found.append((0.75, "name.naming"))
    if "greeting" in cues:
        found.append((0.6 if not scene.quiet else 0.5, "name.greeting"))
    if "contact" in cues:
        found.append((0.25, "name.contact"))
    if _closes(scene, run):
        found.append((0.75, "name.signature"))
    elif _alone(scene, run) and len(run.names) > 1:
        found.append((0.4, "name.line"))
    if _person_verb_follows(scene, run.end):
        found.append((0.35, "name.verb"))
    if scene.word(run.end) == "(" and scene.has(run.end + 1, "relation", "role"):
        found.append((0.7, "name.relation"))
    if scene.word(run.end) == "," and scene.has(run.end + 2, "relation") and scene.has(run.end + 1, "function"):
        found.append((0.5, "name.relation"))
    rest = 1.0
    for value, _ in found:
        rest *= 1.0 - value
    return 1.0 - rest, max(found)[1] if found else ""


def _person_verb_follows(scene: Scene, index: int) -> bool:
    return scene.has(index, "person_verb") and not scene.view.breaks[index] and scene.view.kinds[index] == LOWER


def _alone(scene: Scene, run: Run) -> bool:
    """Tell whether a run is all of its line."""
    return bool(scene.view.breaks[run.first]) and (run.end >= len(scene) or bool(scene.view.breaks[run.end]))


def _closes(scene: Scene, run: Run) -> bool:
    """Tell whether a run stands in the line behind a closing phrase."""
    if not scene.view.breaks[run.first]:
        return False
    at = run.first
    while at > 0 and run.first - at < 3 and scene.word(at - 1) in (",", ".", "-", "_"):
        at -= 1
    return "closing" in scene.cues_before.get(at, ())


def _eponym_follows(scene: Scene, run: Run) -> bool:
    """Tell whether the words behind a run make it the name of a disease, a sign, an instrument."""
    at = run.end
    if scene.word(at) in ("'", "\u2019"):
        at += 1
        if scene.word(at) == "s":
            at += 1
    elif scene.word(at) == "-" and scene.is_word(at + 1):
        at += 2
    if scene.view.breaks[at] if at < len(scene) else True:
        return False
    return scene.has(at, "eponym_head") and (not scene.has(at, "person_verb") or scene.blind(at))


def _against(scene: Scene, run: Run) -> float:
    """Return by how much the surroundings speak against a name: 1 not at all, 0 beyond doubt."""
    factor = 1.0
    if _eponym_follows(scene, run):
        factor *= 0.15
    behind = run.end
    if scene.word(behind) in ("'", "\u2019") and scene.word(behind + 1) == "s":
        behind += 2
    if behind < len(scene) and scene.same_line(behind) and scene.capital(behind) and not scene.blind(behind):
        if scene.classes[behind] & _HEADS and not scene.has(behind, "role", "credential"):
            factor *= 0.15
        elif scene.view.kinds[behind] == TITLE and len(run.names) == 1 and scene.classes[behind] & _ORDINARY:
            factor *= 0.6  # a word of a heading or of a title in capitals
    cues = scene.cues_before.get(run.first, ())
    if "article" in cues and len(run.names) == 1:
        factor *= 0.35
    place = all(scene.classes[i] & _PLACES for i in run.names) or any(
        end >= run.end and classes & _PLACES for end, classes in scene.phrases.get(run.first, ())
    )
    if place and "lives" in cues:
        factor *= 0.2
    elif place and "where" in cues:
        factor *= 0.5
    if place and scene.word(run.end) == "," and scene.has(run.end + 1, "state", "state_code", "country"):
        factor *= 0.2
    return factor


def _vetoed(scene: Scene, run: Run) -> bool:
    """Tell whether a run lies in a clinical phrase (*Parkinson's disease*, *Foley catheter*)."""
    return all(scene.protected[i] for i in run.names)


def _category(scene: Scene, run: Run) -> str:
    """Tell a clinician's name from others."""
    before = run.first - 1
    if scene.word(before) in (",", ":", "(", "-"):
        before -= 1
    signed = _closes(scene, run)
    return "DOCTOR" if signed or _credential_follows(scene, run.end) or scene.has(before, "role") else "PATIENT"


def _carets(scene: Scene) -> Iterator[Span]:
    """Names of HL7 messages: *SMITH^JOHN^A*."""
    at = 0
    for index in range(1, len(scene) - 1):
        if index < at or scene.view.strings[index] != "^" or not scene.is_word(index - 1):
            continue
        pieces, end = [index - 1], index
        while end < len(scene) - 1 and scene.view.strings[end] == "^" and scene.is_word(end + 1) and len(pieces) < 5:
            pieces.append(end + 1)
            end += 2
        at = end
        known = [i for i in pieces[:3] if scene.classes[i] & PERSON and not scene.classes[i] & _ORDINARY]
        clinical = any(scene.classes[i] & classes_of("clinical", "section") for i in pieces[:2])
        if not known or (clinical and len(known) < 2):
            continue
        while len(pieces) > 2 and scene.has(pieces[-1], "credential", "title", "title_doctor"):
            pieces.pop()
        family = scene.view.gap(index - 1) == "" and scene.word(index - 2) == "^"
        category = "DOCTOR" if family else "PATIENT"  # ID^LAST^FIRST is how messages name clinicians
        yield scene.span(pieces[0], pieces[-1] + 1, category, "name.hl7", 0.9)


def _initials(scene: Scene) -> Iterator[Span]:
    """Initials of persons: *JB, RN*; *A.B. is a*; a line that ends in *-JB*."""
    view = scene.view
    index = 0
    while index < len(scene):
        string = view.strings[index]
        if view.kinds[index] != UPPER or len(string) > 3 or scene.quiet:
            index += 1
            continue
        end = index + 1
        dotted = 0
        if len(string) == 1:
            end = index
            while is_initial(scene, end) and scene.word(end + 1) == "." and (end == index or not view.gap(end)):
                end += 2
                dotted += 1
            if dotted < 2 or dotted > 3:
                index = max(end, index + 1)
                continue
        elif scene.classes[index] & _ORDINARY or scene.has(index, "credential", "state_code", "suffix"):
            index += 1
            continue
        score, category = 0.0, "PATIENT"
        if _credential_follows(scene, end):
            score, category = 0.8, "DOCTOR"
        elif (scene.has(index - 1, "title", "title_doctor", "relation") and scene.same_line(index)) or (
            dotted and _person_verb_follows(scene, end)
        ):
            score = 0.75
        elif (
            not dotted
            and scene.word(index - 1) in ("-", "/", "\u2013", "\u2014", "~", "by")
            and (end >= len(scene) or view.breaks[end] or scene.word(end) == ".")
            and view.gap(index - 1)
        ):
            score, category = 0.6, "DOCTOR"
        if score and not view.loud[index]:
            yield scene.span(index, end, category, "name.initials", score)
        index = end
