"""New ids for those of records."""

from __future__ import annotations

import base64
import functools
import hmac
import re
import uuid
from collections.abc import Callable

from deid.base.keys import Key

OID = re.compile(r"[0-2](?:\.[0-9]+)+\Z")
UUID = re.compile(r"(?:urn:uuid:)?([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\Z")


def renamer(key: Key) -> Callable[[str], str]:
    """Return what makes the new id for an id, the same in every run.

    A UUID for a UUID, the object identifier of one (2.25, ITU-T X.667) for an object identifier, else 26 letters and
    digits; behind two slashes these are a host of nobody's (RFC 2606), behind "#" the name of a place in a
    document, which begins with letters (XML 1.0, NCName).
    """
    secret = key.derive("ids of records").mac("id")

    @functools.lru_cache(maxsize=1 << 14)
    def renamed(value: str) -> str:
        is_uuid = UUID.match(value)
        is_host = value.startswith("//")
        mac = hmac.digest(secret, (value.lower() if is_uuid or is_host else value).encode(), "sha256")
        if is_uuid:
            return str(uuid.UUID(bytes=mac[:16], version=4))
        if OID.match(value):
            return f"2.25.{uuid.UUID(bytes=mac[:16], version=4).int}"
        new = base64.b32encode(mac)[:26].decode().lower()
        return f"//{new}.example" if is_host else f"id{new}" if value.startswith("#") else new

    return renamed
