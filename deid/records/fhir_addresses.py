"""What addresses in resources of FHIR say: of which standard they are, whom they mean, whether they name somebody."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from deid.records.json_positions import OBJECT, JsonValue, member, objects, string_of
from deid.records.tables import words_of

TYPED = re.compile(r"(?:\A|/)([A-Z][A-Za-z]+)/([A-Za-z0-9.\-]{1,64})(?:/_history/([A-Za-z0-9.\-]{1,64}))?(?=\Z|[?#|])")
SEARCH = re.compile(r"(?:\A|/)([A-Z][A-Za-z]+)?\?|\A(?=[A-Za-z_:]+=)")
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(//[^/?#|]*)?")
SEGMENT = re.compile(r"[^/?#|=&:;,]+")
OID_BEGIN = "urn:oid:"
_LEAST_CODE = 6
"""Letters that a code in small letters has, if a name is looked for in it."""
OBJECT_NUMBER = re.compile(r"(?:urn:oid:|(?=(?:[0-9]+\.){5}))([0-2](?:\.(?:0|[1-9][0-9]*))+)\Z")
"""The object identifier of one thing, such as a study or a document: alone it has six and more numbers."""
USUAL = re.compile(
    r"[a-z]+/[a-zA-Z0-9.+-]+(?: ?; ?(?:charset|fhirVersion|version|profile)=\"?[a-zA-Z0-9._-]{1,20}\"?)+\Z"
    r"|[1-5][0-9]{2} (?:OK|Created|Accepted|No Content|Not Modified|Bad Request|Unauthorized|Forbidden|Not Found"
    r"|Method Not Allowed|Not Acceptable|Conflict|Gone|Precondition Failed|Unsupported Media Type"
    r"|Unprocessable (?:Entity|Content)|Too Many Requests|Internal Server Error|Not Implemented|Service Unavailable)\Z"
)
"""Types of data and answers of a server (RFC 9110), which are no words of anybody's though they have blanks."""


def of_standard(said: str, facts: Mapping[str, Any]) -> bool:
    """Tell whether an address is of a standard, and names nobody."""
    found = ADDRESS.match(said)
    if found is None or not found[1]:
        return said.startswith(tuple(one for one in facts["standards"] if one.startswith("urn:"))) or (
            said.removeprefix(OID_BEGIN).startswith(tuple(facts["oids"]))
        )
    host = found[1][2:].lower().rpartition("@")[2].partition(":")[0]
    return any(host == one or host.endswith(f".{one}") for one in facts["standards"])


def is_usual(segment: str, words: str) -> bool:
    """Tell whether a part of an address is made of words and short numbers that name no institution."""
    return all(word in words_of(words) or (word.isdecimal() and len(word) < 3) for word in re.findall(r"\w+", segment))


def numbers_of(node: JsonValue) -> list[str]:
    """Return the numbers of a person."""
    return [value for item in objects(node.value.get("identifier")) if (value := string_of(item, "value"))]


def contained_key(patient: JsonValue) -> str:
    """Return the key of a patient inside of another resource: the id says no more there than that it is inside."""
    return next(iter(numbers_of(patient)), string_of(patient, "id"))


def reference_of(node: JsonValue | None, resource: JsonValue) -> str:
    """Return the key of the patient that an element of a resource refers to; empty if it refers to none."""
    if node is None or node.kind != OBJECT:
        return ""
    said = string_of(node, "reference")
    if said.startswith("#"):
        inside = [inner for inner in objects(resource.value.get("contained")) if string_of(inner, "id") == said[1:]]
        return next((contained_key(inner) for inner in inside if string_of(inner, "resourceType") == "Patient"), "")
    typed = TYPED.search(said)
    if typed:
        return typed[2] if typed[1] == "Patient" else ""
    search = SEARCH.search(said)
    if search:
        return re.split(r"\||%7[cC]|=", said)[-1] if search[1] == "Patient" else ""
    if said.startswith("urn:"):
        return said.rpartition(":")[2] if string_of(node, "type") in ("", "Patient") else ""
    identifier = member(node, "identifier")
    return string_of(identifier, "value") if identifier is not None and not said else ""


def may_name(text: str, path: str) -> bool:
    """Tell whether a known identifier may stand in a string that is kept: not in one of a closed list."""
    if "://" in text or text.startswith("urn:"):
        return False
    return re.fullmatch(r"[a-z\-]*|[0-9.]{1,6}", text) is None or (path.endswith(".code") and len(text) >= _LEAST_CODE)
