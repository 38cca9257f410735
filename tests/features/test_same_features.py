"""What a model sees of a text today it sees tomorrow (`pinned`): weights that are kept are of these names."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from deid.features import FeatureSet
from deid.features.feature_set import PRESETS, storable
from tests.pinned import Pinned

LISTS = ("places/states", "names/roles", "names/particles")
TEXTS = (
    "Patient: Zoë O'Neil-Smith  MRN 00-4711\nSeen on 3/4/2019 at 14:05 in New York, West Virginia (NY)."
    "\n\nPLAN:\n1. rest",
    "Dr. van der Berg\tward 4B\r\nTEL. +1 (617) 555-0134; x12 %5 5% -3.5 XIV McNeil a1b2 1,200 12mg ; ; ;",
    "nurse NURSE Nurse, texas TEXAS; de la Cruz; U.S.A. - / \\ ' "
    "\u2019 \u201equoted\u201c \u0130stanbul ﬁne e\u0301t\u00e9 ½ \u0661\u0662",
    "a",
    " \n\t\r\n ",
    "",
    "x" * 40 + " " + "Ab1-" * 12 + "\n" + "word " * 30,
)


def seen(preset: str, groups: str, lists: Sequence[str], skip: bool) -> object:
    """Return all that is seen of each text, how it is described, and what is spelled by it."""
    features = FeatureSet(preset, groups, lists, skip_punct=skip)
    found: list[object] = [features.spec(), features.offsets, features.groups, features.dictionaries]
    for text in TEXTS:
        encoded = features.encode(text)
        rows: list[Mapping[str, float]] = features.expand(encoded)
        found.append([encoded.types, encoded.items, [sorted(row.items()) for row in rows]])
    words = ("Szymborska", "of", "4B", "New", "Texas", None, "-", "é")
    for word, offset in itertools.product(words, features.offsets):
        found.append([features.type_attributes(word, offset), sorted(features.spelled_attributes(word, offset))])
    return [*found, [features.spells(a) for a in ("HD_name", "LP_1", "CS_x/x", "CF_dd", "LE", "OCC", "IN_x")]]


QUESTIONS: dict[str, Callable[[], object]] = {
    f"{preset} {groups} {len(lists)} {skip}": partial(seen, preset, groups, lists, skip)
    for preset in PRESETS
    for groups in ("racd", "r", "a", "c", "d", "rd")
    for lists in ((), LISTS)
    for skip in (False, True)
    if (groups != "d" or lists) and (groups == "racd" or not skip)
}
QUESTIONS["storable"] = lambda: [
    storable(text) for text in ("a", "a\0b", "\ud800", "", "é", "\ud83d\ude00", "a\udcffb")
]
PINNED = Pinned(__file__, QUESTIONS)
test_what_is_seen_is_what_was_seen = PINNED.test(__name__)
