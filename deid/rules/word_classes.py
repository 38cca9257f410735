"""Sets of word classes and of cues that the grammars ask for, each as one number."""

from __future__ import annotations

import functools
from typing import Final

from deid.reading.lexicon import classes_of
from deid.rules.fields import CUES

__all__ = ["CUE_BITS", "cues_of"]

CUE_BITS: Final = {name: 1 << i for i, name in enumerate(CUES)}


@functools.cache
def cues_of(*names: str) -> int:
    """Return the bits of some cues, joined."""
    return sum(CUE_BITS[name] for name in names)


# words of names
GIVEN: Final = classes_of("given")
LAST: Final = classes_of("last")
PERSON: Final = GIVEN | LAST
MOSTLY_NAME: Final = classes_of("mostly_name")
POPULAR: Final = classes_of("popular")
PARTICLE: Final = classes_of("particle")
SUFFIX: Final = classes_of("suffix")
DOCTOR_TITLE: Final = classes_of("title_doctor")
TITLES: Final = classes_of("title") | DOCTOR_TITLE
CREDENTIAL: Final = classes_of("credential")

# words about persons
RELATION: Final = classes_of("relation")
ROLE: Final = classes_of("role")
PATIENT_WORD: Final = classes_of("patient_word")
RELATED: Final = RELATION | ROLE | PATIENT_WORD
PERSON_VERB: Final = classes_of("person_verb")
STRONG_PERSON_VERB: Final = classes_of("person_verb_strong")
OCCUPATION: Final = classes_of("occupation")
OCCUPATION_ENDING: Final = classes_of("occupation_ending")
OCCUPATION_QUALIFIER: Final = classes_of("occupation_qualifier")
NO_OCCUPATION: Final = classes_of("no_occupation")

# ordinary and clinical language
WORD: Final = classes_of("word")
FUNCTION: Final = classes_of("function")
CLINICAL: Final = classes_of("clinical")
SECTION: Final = classes_of("section")
ORDINARY: Final = WORD | CLINICAL
EPONYM: Final = classes_of("eponym", "device")
EPONYM_HEAD: Final = classes_of("eponym_head")
CALENDAR: Final = classes_of("month", "weekday")
GENERIC: Final = classes_of(
    "generic", "function", "section", "institution", "occupation", "role", "nationality", "credential"
)
AMBIGUOUS: Final = classes_of("word", "name_word", "clinical", "eponym", "device", "section")
"""Words that are something else beside a name or a place."""
AMBIGUOUS_NAME: Final = AMBIGUOUS | classes_of("month", "weekday", "season", "state", "country")
AMBIGUOUS_PLACE: Final = AMBIGUOUS | PERSON | FUNCTION
NO_NAME: Final = classes_of(
    *("word", "clinical", "section", "month", "weekday", "season", "holiday", "title", "title_doctor", "credential"),
    *("role", "relation", "state", "country", "nationality", "street_suffix", "hospital_head", "hospital_head_weak"),
    *("org_head", "institution", "occupation", "region", "device", "eponym", "hospital_name"),
)
"""A capitalized word of these classes is no name unless a list says that it can be one."""

# places
BIG_CITY: Final = classes_of("city_big")
AMBIGUOUS_CITY: Final = classes_of("city_ambig")
SURE_CITY: Final = classes_of("city")
CITY: Final = SURE_CITY | AMBIGUOUS_CITY | BIG_CITY
STATE: Final = classes_of("state")
STATE_CODE: Final = classes_of("state_code")
OLD_STATE_CODE: Final = classes_of("state_old")
COUNTRY: Final = classes_of("country")
REGION: Final = classes_of("region")
COUNTY: Final = classes_of("county")
PLACE: Final = CITY | STATE | COUNTRY
STREET_PREFIX: Final = classes_of("street_prefix")
STREET_SUFFIX: Final = classes_of("street_suffix")
STREET_DIRECTION: Final = classes_of("street_direction")
SETTLEMENT: Final = classes_of("settlement", "place_head")

# institutions
STRONG_HOSPITAL_HEAD: Final = classes_of("hospital_head")
HOSPITAL_HEAD: Final = STRONG_HOSPITAL_HEAD | classes_of("hospital_head_weak")
STRONG_ORGANIZATION_HEAD: Final = classes_of("org_head")
ORGANIZATION_HEAD: Final = STRONG_ORGANIZATION_HEAD | classes_of("org_head_weak")
STRONG_HEAD: Final = STRONG_HOSPITAL_HEAD | STRONG_ORGANIZATION_HEAD
INSTITUTION_HEAD: Final = HOSPITAL_HEAD | ORGANIZATION_HEAD
HEAD: Final = INSTITUTION_HEAD | STREET_SUFFIX | classes_of("place_head")
"""Words at the end of a proper name that is no person's."""
HOSPITAL_MODIFIER: Final = classes_of("hospital_modifier")
HOSPITAL_NAME: Final = classes_of("hospital_name")
EMPLOYER: Final = classes_of("employer")
INSTITUTION: Final = classes_of("institution")

LEADING: Final = (
    TITLES | RELATION | CREDENTIAL | OCCUPATION | INSTITUTION_HEAD | HOSPITAL_NAME | EMPLOYER | HOSPITAL_MODIFIER
) | (CITY | STATE | STATE_CODE | OLD_STATE_CODE | COUNTRY | REGION | COUNTY)
"""Words that a grammar begins with: a scene has them at hand."""
