"""Coordinates become others that can be: degrees of the globe, minutes and seconds below sixty."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.keys import Key
from deid.document import Document, Span
from deid.replacement.coordinates import replace_coordinates
from deid.replacement.permutation import Keyed
from deid.replacement.policy import load_policy
from deid.replacement.replacer import Replacer
from deid.replacement.scope import Scope

_DECIMALS = st.integers(3, 8)


@st.composite
def coordinates(draw: st.DrawFn) -> str:
    """Draw a latitude, a longitude or both, in the ways that notes write them."""

    def degrees(most: int, letters: str) -> str:
        whole, letter = draw(st.integers(0, most - 1)), draw(st.sampled_from(letters))
        minutes, seconds = draw(st.integers(0, 59)), draw(st.integers(0, 59))
        part = f"{draw(st.integers(0, 999)):03}"
        return draw(
            st.sampled_from(
                [
                    f"{whole}.{part}{part[: draw(st.integers(0, 3))]}",
                    f"-{whole}.{part}1",
                    f"{whole}.{part} {letter}",
                    f"{whole}\u00b0{minutes:02}'{seconds:02}.{part[0]}\"{letter}",
                    f"{whole}\u00b0 {minutes:02}.{part}' {letter}",
                    f"{letter} {whole:03}\u00b0 {minutes:02}.{part}'",
                ]
            )
        )

    both = degrees(90, "NS"), degrees(180, "EW")
    return draw(st.sampled_from([both[0], both[1], ", ".join(both)]))


def read(text: str) -> list[tuple[float, str, bool]]:
    """Return the numbers of coordinates, their units, and whether the letter of the last one said is of a longitude."""
    found = re.findall(r"([0-9]+(?:\.[0-9]+)?) ?([\u00b0'\"]?)", text)
    return [(float(number), unit, bool(set("EW") & set(text))) for number, unit in found]


@given(coordinates(), st.integers(0, 255), st.integers(1, 3))
def test_what_replaces_coordinates_can_be_some(text: str, secret: int, step: int) -> None:
    new = replace_coordinates(Keyed(Key(bytes([secret]) * 32), "patient:1"), text, step)
    assert new != text
    # all but the digits stays as it stands
    assert re.sub("[0-9]+", "", new) == re.sub("[0-9]+", "", text)
    numbers, old = read(new), read(text)
    assert len(numbers) == len(old)
    for (number, unit, east), (before, *_) in zip(numbers, old, strict=True):
        most = 60 if unit in ("'", '"') else 180 if east or before > 90 or "," in text else 90
        assert 0 <= number < most, (text, new)
    for latitude in re.findall(r"([0-9.]+)(?:\u00b0[^NSEW]*)? ?[NS]", new):
        assert float(latitude.split(".")[0]) < 90, (text, new)


@pytest.mark.parametrize("text", ["42.5278, 70.9287", "-42.5278, -70.9287", "42.5278 N, 70.9287 W"])
def test_of_two_coordinates_the_second_is_the_longitude(text: str) -> None:
    """Any latitude, and any longitude up to 180 degrees, can come of it."""
    made = [
        [float(number) for number, *_ in read(replace_coordinates(Keyed(Key(bytes([secret]) * 32), "p"), text))]
        for secret in range(40)
    ]
    latitudes, longitudes = zip(*made, strict=True)
    assert 45 < max(latitudes) < 90 < max(longitudes) < 180
    for numbers in latitudes, longitudes:
        assert len({f"{number % 1:.4f}" for number in numbers}) > 35  # what stands behind the point is another, too


@pytest.mark.parametrize("text", ["District 9", "412.5", "1200.500, 4", "C3-1204", "4.2, 5.1", "NE 5"])
def test_other_places_are_none(text: str) -> None:
    assert replace_coordinates(Keyed(Key(b"0123456789abcdef"), "patient:1"), text) == ""


def test_a_policy_of_surrogates_writes_them() -> None:
    text = "found at 42\u00b031'40\"N 170\u00b055'43\"W"
    spans = [Span(m.start(), m.end(), "LOCATION-OTHER") for m in re.finditer("\\d+\u00b0[^ ]+", text)]
    scope = Scope(Key(b"0123456789abcdef"), "d")
    new = Replacer(load_policy("surrogate"))(Document("d", text), spans, scope).document.text
    found = re.fullmatch("found at (\\d+)\u00b0(\\d\\d)'(\\d\\d)\"N (\\d+)\u00b0(\\d\\d)'(\\d\\d)\"W", new)
    assert found is not None, new
    assert all(int(said) < most for said, most in zip(found.groups(), (90, 60, 60, 180, 60, 60), strict=True))
