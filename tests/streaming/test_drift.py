"""Drift: rates with the errors that they have, alarms for what changed and none for what did not, in every feed."""

from __future__ import annotations

import asyncio
import datetime
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from senders import Sender, message, relay

from deid.base.errors import FormatError
from deid.base.keys import Key
from deid.pipeline import PipelineOptions, build_pipeline
from deid.streaming.drift import Drift, Gauge, Sums
from deid.streaming.proof import daily

RULES = ("--model", "none")
NOTE = "Mr. Zebulon Quartermain saw Dr. Alice Baker on 3 May 2019. The cough was better and there was no fever."
OTHER = "Le patient se plaint d'une toux depuis quelques jours, sans fièvre ni douleur thoracique ce matin, dit-il."
DAY = datetime.date(2026, 11, 23)


def sums(rate: float, notes: int, seed: int, measure: str = "PHI") -> Sums:
    found, draws = Sums(), np.random.default_rng(seed)
    for words, spread in zip(draws.integers(50, 400, notes), draws.gamma(4, 1 / 4, notes), strict=True):
        found.note(int(words), {measure: int(draws.poisson(rate * words * spread))})
    return found


def test_the_error_of_a_rate_is_what_resampled_notes_show() -> None:
    draws = np.random.default_rng(5)
    words, counts = draws.integers(50, 400, 300), draws.poisson(4, 300)
    found = Sums()
    for n, x in zip(words.tolist(), counts.tolist(), strict=True):
        found.note(n, {"PHI": x})
    rate, variance = found.rate("PHI")
    assert rate == pytest.approx(counts.sum() / words.sum())
    chosen = draws.integers(0, 300, (4000, 300))
    rates = counts[chosen].sum(axis=1) / words[chosen].sum(axis=1)
    assert np.sqrt(variance) == pytest.approx(rates.std(), rel=0.1)
    halves = Sums()
    for half in (slice(0, 150), slice(150, 300)):
        part = Sums()
        for n, x in zip(words[half].tolist(), counts[half].tolist(), strict=True):
            part.note(n, {"PHI": x})
        halves.add(part)
    assert halves == found == Sums.of_list(json.loads(json.dumps(found.as_list())))


def weeks(folder: Path, *rates: float, notes: int = 400) -> list[str]:
    """Return the alarms of a source whose rate is another in the last week, a run a week."""
    told: list[str] = []
    for week, rate in enumerate(rates):
        day = DAY + datetime.timedelta(weeks=week)
        drift = Drift(folder / "drift.json", told.append, lambda day=day: day)
        drift.take("ward", sums(rate, notes, week))
        drift.finish()
    return told


def test_a_change_is_told_once_and_chance_is_not(tmp_path: Path) -> None:
    for n in range(20):
        (tmp_path / str(n)).mkdir()
        assert not weeks(tmp_path / str(n), 0.03, 0.03, 0.03, 0.03, 0.03)
    (told,) = weeks(tmp_path, 0.03, 0.03, 0.03, 0.015)
    assert re.fullmatch(r"drift: source 1: PHI per 1,000 words 1[3-7](\.\d)? this week, (29|3\d)(\.\d)? before", told)
    assert (tmp_path / "drift.json").stat().st_mode & 0o077 == 0
    (tmp_path / "few").mkdir()
    assert not weeks(tmp_path / "few", 0.03, 0.01, notes=40)


def test_a_clock_that_was_ahead_or_behind_silences_nothing(tmp_path: Path) -> None:
    """Law: weeks in which the clock went wrong change no comparison of those in which it goes right."""
    path, told = tmp_path / "drift", list[str]()

    def week(number: int, rate: float, shift: int = 0) -> None:
        day = DAY + datetime.timedelta(weeks=number + shift)
        kept = Drift(path, told.append, lambda: day)
        kept.take("", sums(rate, 400, 100 + number))
        kept.finish()

    for number in range(8):
        week(number, 0.03, shift=520)
    for number in range(8):
        week(number, 0.03, shift=-520)
    assert told == []
    for number in range(3):
        week(number, 0.03)
    week(3, 0.003)
    assert len(told) == 1
    assert len(json.loads(path.read_text())["sources"][""]) <= 10


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    for text in ("", "[]", '{"sources": {"a": {"2026-W01": [1, "x", 3, {}]}}}', '{"sources": 7}'):
        (tmp_path / "f").write_text(text)
        with pytest.raises(FormatError, match="no file of rates"):
            Drift(tmp_path / "f", print)


def test_words_are_counted_outside_of_what_was_replaced() -> None:
    pipeline = build_pipeline(Key(b"k" * 32), PipelineOptions(model="none"))
    gauge, known, strange = Gauge("en"), Sums(), Sums()
    gauge.take(known, pipeline(NOTE))
    gauge.take(strange, pipeline(OTHER))
    assert known.measures["PHI"][0] == known.measures["NAME"][0] + known.measures["DATE"][0] == 3
    assert known.measures.get("unknown words", (0,))[0] <= 2  # the titles
    assert strange.measures["unknown words"][0] > 8


def aged(place: Path) -> None:
    """Make this week's rates those of the week before."""
    values: dict[str, Any] = json.loads(place.read_text())
    for source in values["sources"].values():
        ((week, kept),) = source.items()
        year, number = int(week[:4]), int(week[6:])
        day = datetime.date.fromisocalendar(year, number, 1) - datetime.timedelta(weeks=1)
        source.clear()
        source[f"{day.isocalendar()[0]}-W{day.isocalendar()[1]:02}"] = kept
    place.write_text(json.dumps(values))


def test_a_filter_tells_that_its_feed_changed(tmp_path: Path) -> None:
    def run(text: str) -> str:
        lines = "".join(json.dumps({"id": f"n{n}", "text": f"{text} {n}"}) + "\n" for n in range(60))
        command = [sys.executable, "-m", "deid", "filter", "--from", "ndjson", *RULES, "--drift", "drift.json"]
        done = subprocess.run(command, cwd=tmp_path, input=lines, capture_output=True, text=True, check=True)
        return done.stderr

    assert "drift" not in run(NOTE)
    assert "drift" not in run(NOTE)
    aged(tmp_path / "drift.json")
    said = run(OTHER)
    assert "drift: source 1: share of unknown words" in said
    assert "PHI per 1,000 words" in said


@pytest.mark.slow
def test_a_watched_folder_tells_that_its_files_changed(tmp_path: Path) -> None:
    def run(text: str) -> str:
        (tmp_path / "in").mkdir(exist_ok=True)
        for n in range(60):
            (tmp_path / "in" / f"{len(list(tmp_path.rglob('*')))}-{n}.txt").write_text(f"{text} {n}")
        command = [
            sys.executable,
            "-m",
            "deid",
            "watch",
            "in",
            "out",
            "--once",
            "--settle",
            "0",
            *RULES,
            "--drift",
            "drift.json",
        ]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stderr

    assert "drift" not in run(NOTE)
    assert json.loads((tmp_path / "drift.json").read_text())["sources"]
    aged(tmp_path / "drift.json")
    said = run(OTHER)
    assert "drift: source 1: share of unknown words" in said
    assert "PHI per 1,000 words" in said


class _Clock:
    """A clock that a test moves; waiting wakes a little early, as a clock that is set back makes it."""

    def __init__(self, at: str, *jumps: datetime.timedelta) -> None:
        self.at = datetime.datetime.fromisoformat(at).replace(tzinfo=datetime.UTC)
        self.jumps = list(jumps)

    def now(self) -> datetime.datetime:
        return self.at

    async def sleep(self, seconds: float) -> None:
        early = datetime.timedelta(milliseconds=5) if seconds > 1 else datetime.timedelta()
        self.at += datetime.timedelta(seconds=seconds) - early
        if self.jumps:
            self.at += self.jumps.pop(0)


def test_a_day_ends_once_at_midnight_however_the_clock_is_set() -> None:
    hour, day = datetime.timedelta(hours=1), datetime.timedelta(days=1)

    def turns(clock: _Clock, count: int) -> list[str]:
        found: list[str] = []

        def turn() -> None:
            found.append(clock.now().isoformat(timespec="minutes")[:16])
            if len(found) == count:
                raise StopAsyncIteration

        async def run() -> None:
            with pytest.raises(StopAsyncIteration):
                await daily(turn, clock.now, clock.sleep)

        asyncio.run(run())
        return found

    assert turns(_Clock("2026-11-23T23:59:30"), 2) == ["2026-11-24T00:00", "2026-11-25T00:00"]
    assert turns(_Clock("2026-12-31T00:00:00"), 1) == ["2027-01-01T00:00"]
    assert turns(_Clock("2026-11-23T22:30:00", -3 * hour), 2) == ["2026-11-24T00:00", "2026-11-25T00:00"]
    slept = turns(_Clock("2026-11-23T20:00:00", 3 * day), 2)  # a machine that was asleep
    assert [told[:10] for told in slept] == ["2026-11-26", "2026-11-27"]


@pytest.mark.slow
def test_a_relay_compares_each_sender_with_itself(tmp_path: Path) -> None:
    place = tmp_path / "drift.json"

    def run(texts: dict[str, str]) -> str:
        with relay(tmp_path, "--output", tmp_path / "out", "--drift", place) as one:
            for sender, text in texts.items():
                with Sender(one.port) as line:
                    for n in range(55):
                        line.ask(message(n, sender, f"{text} {n}", id=f"{sender}{n}{text[:3]}"))
            one.end()
        return str(one.said)

    run({"LAB": NOTE, "RAD": NOTE})
    assert list(json.loads(place.read_text())["sources"]) == ["LAB|NORTHFIELD CLINIC", "RAD|NORTHFIELD CLINIC"]
    aged(place)
    said = run({"LAB": NOTE + " ", "RAD": OTHER})
    assert "drift: source 2: share of unknown words" in said
    assert "source 1" not in said
    assert "NORTHFIELD" not in said
