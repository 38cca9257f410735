"""Who and when: an account without a name, and the time as it is written down."""

from __future__ import annotations

import datetime
import getpass

import pytest

from deid.base.audit import login, now


def test_an_account_without_a_name_has_one_in_the_trail(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert (login(), login("annotator")) == ("unknown", "annotator")


def test_the_time_is_written_with_its_zone() -> None:
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    read = datetime.datetime.fromisoformat(now())
    assert before <= read
    assert read.utcoffset() == datetime.timedelta()
