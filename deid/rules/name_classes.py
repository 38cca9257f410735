"""Classes of words that the grammar of names asks for, and the compiled reader that knows them.

`READER` reads and weighs as the functions of `deid.rules.person_words` and `deid.rules.evidence` do, a run of
words at a time; it is None where the compiled module is not there.
"""

from __future__ import annotations

from typing import Any

from deid.base.compiled import native
from deid.reading.lexicon import CLASSES, classes_of
from deid.reading.view import OPENERS
from deid.rules.scene import CUE_BITS

GIVEN, LAST, MOSTLY = classes_of("given"), classes_of("last"), classes_of("mostly_name")
PERSON = GIVEN | LAST
POPULAR = classes_of("popular")
ORDINARY = classes_of("word", "clinical")
AMBIGUOUS = classes_of(
    "word", "clinical", "eponym", "device", "name_word", "month", "weekday", "season", "state", "country", "section"
)
STOP = classes_of(
    *("word", "clinical", "section", "month", "weekday", "season", "holiday", "title", "title_doctor", "credential"),
    *("role", "relation", "state", "country", "nationality", "street_suffix", "hospital_head", "hospital_head_weak"),
    *("org_head", "institution", "occupation", "region", "device", "eponym", "hospital_name"),
)
"""A capitalized word of these classes is no name unless a list says that it can be one."""
NEVER = classes_of("credential", "section")
RELATED = classes_of("relation", "patient_word", "role")
EPONYM = classes_of("eponym", "device")
HEADS = classes_of("hospital_head", "hospital_head_weak", "org_head", "org_head_weak", "street_suffix", "place_head")
PLACES = classes_of("city", "city_ambig", "city_big", "state", "country")
REGIONS = classes_of("state", "state_code", "country")

_MASKS = {
    **{"person": PERSON, "mostly": MOSTLY, "popular": POPULAR, "ordinary": ORDINARY, "ambiguous": AMBIGUOUS},
    **{"stop": STOP, "never": NEVER, "related": RELATED, "eponym": EPONYM, "heads": HEADS},
    **{"places": PLACES, "regions": REGIONS},
}
READER: Any = None if native is None else native.Persons(CLASSES, CUE_BITS, _MASKS, "".join(sorted(OPENERS)))
"""``native.Persons``, or None."""
