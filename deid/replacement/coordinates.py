"""Surrogates of coordinates: degrees below 90 or 180, minutes and seconds below 60, signs as they stand."""

from __future__ import annotations

import re

from deid.replacement.permutation import Keyed

_COORDINATES = re.compile(r"""[-0-9.,;/ \t°'"\u2032\u2033\u2019\u201dNSEWO]+\Z""")
_WRITTEN = re.compile(r"[0-9] ?°|[0-9]\.[0-9]{3}")
"""What tells coordinates from other numbers: a sign of degrees, or decimals that no amount has."""
_NUMBER = re.compile(
    r"(?P<whole>[0-9]+)"
    r"""(?:(?P<point>\.|,(?=[0-9]+[ ]?['"\u2032\u2033\u2019\u201d]))(?P<decimals>[0-9]+))?"""
    r"""(?P<unit>[ ]?['"\u2032\u2033\u2019\u201d])?"""
)
_LETTER = re.compile("[NSEWO]")
_LATITUDE, _LONGITUDE, _SIXTY = 90, 180, 60


def replace_coordinates(keyed: Keyed, text: str, step: int = 1) -> str:
    """Return other coordinates written alike, as far north and as far east as any can be; empty for what is none.

    Parameters
    ----------
    keyed : Keyed
        Choices of the person's scope.
    text : str
    step : int
        1 for the first choice, 2 for the next, and so on.

    >>> from deid.base.keys import Key
    >>> keyed = Keyed(Key(b"0123456789abcdef"), "patient:1")
    >>> replace_coordinates(keyed, "District 9"), len(replace_coordinates(keyed, "42.5278 N, 70.9287 W")) > 18
    ('', True)
    """
    if not _COORDINATES.match(text) or not _WRITTEN.search(text):
        return ""
    found = list(_NUMBER.finditer(text))
    if any(int(one["whole"]) > _LONGITUDE for one in found):
        return ""
    leads = _LETTER.match(text.lstrip())  # N 42.5, not 42.5 N
    out: list[str] = []
    read = degrees = 0
    for one in found:
        whole, decimals, small = one["whole"], one["decimals"] or "", one["unit"] is not None
        most = _SIXTY
        if not small:
            degrees += 1
            letters = _LETTER.findall(text, 0, one.start())[-1:] if leads else _LETTER.findall(text, one.end())[:1]
            is_longitude = letters[0] in "EWO" if letters else degrees % 2 == 0
            most = _LONGITUDE if is_longitude or int(whole) > _LATITUDE else _LATITUDE
        scale = 10 ** len(decimals)
        size = most * scale
        place = int(whole + decimals) % size  # the pole itself is no place of the set
        new, rest = divmod(keyed.move(f"coordinate {size}", place, size, step), scale)
        out += (text[read : one.start()], f"{new:0{len(whole) if small or whole[0] == '0' else 1}}")
        if decimals:
            out += (str(one["point"]), f"{rest:0{len(decimals)}}")
        read = one.end("decimals") if decimals else one.end("whole")
    return "".join([*out, text[read:]])
