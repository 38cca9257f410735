"""How a message of HL7 v2 writes text: its separators, its escapes, its character set, its check digits."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from deid.base.errors import FormatError
from deid.base.luhn import luhn_digit
from deid.records.embedded import packed
from deid.records.record import TEXT, Change, Place, changed, fit, instant, splice

_BREAKS = frozenset((".br", ".sp", ".ce"))
_LOCAL = re.compile(r"Z[0-9A-Za-z]{0,3}\Z")
_CONTROL = re.compile(r"\.[a-z]{2} ?[+-]?[0-9]*\Z")
_HEX = re.compile(r"X(?:[0-9A-Fa-f]{2})+\Z")

HINT = "repair the message at its source, or leave it out"
"""What to do about a message that cannot be read."""


def wrong(what: str, path: str) -> FormatError:
    """Return the error of a field that cannot be read."""
    return FormatError(what, HINT, "", path)


def _mod11(number: str) -> str:
    """Return the check digit of HL7's table 0061, M11: weights 2 to 7 from the right, again and again.

    >>> _mod11("1234567")
    '4'
    """
    rest = sum(int(digit) * (2 + place % 6) for place, digit in enumerate(reversed(number))) % 11
    return str((11 - (rest or 1)) % 10)


def _npi(number: str) -> str:
    """Return the check digit of a National Provider Identifier."""
    return luhn_digit(f"80840{number}")


CHECKS: dict[str, Callable[[str], str]] = {  # what returns the check digit of a number, by the scheme's name
    "M10": luhn_digit,
    "BCV": luhn_digit,
    "M11": _mod11,
    "NPI": _npi,
}


class Following:
    """Writes a number and the check digit behind it.

    Parameters
    ----------
    codec : Codec
    check : callable or None
        Returns the check digit of a number; None where the number's last digit is the check digit.
    """

    def __init__(self, codec: Codec, check: Callable[[str], str] | None) -> None:
        self.codec = codec
        self.check = check

    def __reduce__(self) -> tuple[Any, ...]:
        return Following, (self.codec, self.check)

    def __call__(self, raw: str, place: Place, changes: Sequence[Change]) -> list[str]:
        """Return the new number, and its check digit."""
        new = self.codec.encode(raw, place, changes)
        if not new.isdecimal():
            return [new, ""]
        return [new, new[-1] if self.check is None else self.check(new)]


class Codec:
    """How a message writes text: its separators, its escapes, its character set."""

    def __init__(self, sep: str, component: str, repetition: str, escape: str, sub: str, charset: str) -> None:
        self.sep = sep
        self.component = component
        self.repetition = repetition
        self.escape = escape
        self.sub = sub
        self.charset = charset
        self._signs = dict(zip("FSTRE", (sep, component, sub, repetition, escape), strict=True))
        """What the escapes of separators stand for."""
        self._to_escape = re.compile(rf"\r\n|[\r\n{re.escape(''.join(self._signs.values()))}]")

    def __reduce__(self) -> tuple[Any, ...]:
        return codec_of, (self.sep, self.component + self.repetition + self.escape + self.sub, self.charset)

    def decode(self, raw: str, path: str) -> tuple[str, Sequence[tuple[int, int]] | None]:
        """Return the text of a field, and where each of its characters begins and ends; None for each at its own place.

        Raises
        ------
        FormatError
            When an escape has no end, or its bytes are no text.
        """
        if self.escape not in raw:
            return (raw.replace(self.repetition, "\n") if self.repetition in raw else raw), None
        out: list[str] = []
        starts: list[tuple[int, int]] = []
        at = 0
        while at < len(raw):
            char = raw[at]
            if char != self.escape:
                out.append("\n" if char == self.repetition else char)
                starts.append((at, at + 1))
                at += 1
                continue
            end = raw.find(self.escape, at + 1)
            if end < 0:
                raise wrong("an escape has no end", path)
            said = raw[at + 1 : end]
            end += 1
            if _HEX.match(said):
                data = bytes.fromhex(said[1:])
                # a character of several bytes may stand in several escapes
                while raw.startswith(f"{self.escape}X", end):
                    more = raw[end + 1 :].partition(self.escape)[0]
                    if not _HEX.match(more):
                        break
                    data += bytes.fromhex(more[1:])
                    end += len(more) + 2
                try:
                    text = data.decode(self.charset)
                except UnicodeError:
                    raise wrong("the bytes of an escape are no text in the character set", path) from None
            elif said in self._signs:
                text = self._signs[said]
            elif said in ("H", "N") or _LOCAL.match(said):
                text = ""
            elif said[:3] in _BREAKS:
                text = "\n"
            elif _CONTROL.match(said) or re.match(r"[CM][0-9A-Fa-f]{4,6}\Z", said):
                text = " " if said.startswith(".sk") else ""
            else:
                # not an escape of the standard: it is read as it stands
                out += raw[at:end].replace(self.repetition, "\n")
                starts += [(n, n + 1) for n in range(at, end)]
                at = end
                continue
            out += text
            starts += [(at, end)] * len(text)
            at = end
        return "".join(out), starts

    def encode(self, raw: str, place: Place, changes: Sequence[Change]) -> str:
        """Return a field with its changes."""
        if place.starts is None and len(changes) == 1:
            ((start, end, new),) = changes
            if start == 0 and end == len(raw):
                if raw.isalnum() and new.isascii() and new.isalnum():  # separators are no letters
                    return new
                return self._written(new, raw, place.kind)
        return splice(raw, place, changes, lambda new, old, _: self._written(new, old, place.kind))

    def encode_date(self, raw: str, place: Place, changes: Sequence[Change]) -> str:
        """Return a date: the time of day stays where a whole day does."""
        new = instant(raw, place, changes)
        return self.escaped(changed(place.text, changes)) if new is None else new

    def encode_base64(self, raw: str, place: Place, changes: Sequence[Change]) -> str:
        """Return a document in base64."""
        return packed(changed(place.text, changes), self.charset)

    def encode_hex(self, raw: str, place: Place, changes: Sequence[Change]) -> str:
        """Return a document in hexadecimal digits."""
        return fit(changed(place.text, changes), self.charset).encode(self.charset).hex().upper()

    def _written(self, new: str, old: str, kind: str) -> str:
        """Return a replacement; the components of a name stay as many."""
        if kind == TEXT and self.component in old and "^" in new:  # a name as a field has it, in a text
            return self._same(new, old, ((self.component, "^"),))
        if kind == TEXT or not (self.component in old or self.sub in old):
            return self.escaped(new)
        if self.component not in old and "^" in new:
            return self._same(new, old, ((self.sub, "^"),))
        if self.sub not in old and "&" not in new:
            return self._same(new, old, ((self.component, "^"),))
        return self._same(new, old, ((self.component, "^"), (self.sub, "&")))

    def _same(self, new: str, old: str, signs: Sequence[tuple[str, str]]) -> str:
        if not signs:  # a part that an operator takes for a title, as in DOCTOR^NO, is a part of the name here
            return "" if new == old and sum(map(str.isalpha, old)) > 2 else self.escaped(new)
        (own, usual), *rest = signs
        parts, before = new.split(usual), old.split(own)
        if len(parts) != len(before):
            parts = [new.replace(usual, " "), *[""] * (len(before) - 1)]
        return own.join([self._same(n, o, rest) for n, o in zip(parts, before, strict=True)])

    def escaped(self, text: str) -> str:
        """Return text as a field writes it."""
        if not text.isascii():
            text = fit(text, self.charset)
        if text.isalnum() or self._to_escape.search(text) is None:
            return text
        return self._to_escape.sub(self._escape, text)

    def _escape(self, found: re.Match[str]) -> str:
        signs = {self.escape: "E", self.sep: "F", self.component: "S", self.sub: "T", self.repetition: "R"}
        return f"{self.escape}{signs.get(found[0], '.br')}{self.escape}"


@functools.lru_cache(maxsize=64)
def codec_of(sep: str, signs: str, charset: str) -> Codec:
    """Return the codec of a message: the separator of fields, the four signs inside of them, the character set."""
    component, repetition, escape, inner = list(signs)
    return Codec(sep, component, repetition, escape, inner, charset)
