"""Where a run writes: what was said, or what the environment says; and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from deid.base.errors import ConfigError
from deid.pipeline.options import TARGET_VARIABLE, ScrubTarget, TableTarget

TABLE = "sqlite:///out.db/note"


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TARGET_VARIABLE, raising=False)


def test_a_run_writes_to_what_is_said_or_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ScrubTarget().checked(Path("out"), omop=False) == Path("out")
    assert ScrubTarget(output=TABLE, note_nlp=True).checked(None, omop=True) == TABLE
    assert ScrubTarget(preview=True).checked(None, omop=False) is None
    monkeypatch.setenv(TARGET_VARIABLE, TABLE)
    assert TableTarget().place(None) == TABLE
    assert TableTarget().place(Path("out")) == Path("out")


@pytest.mark.parametrize(
    ("target", "place", "said"),
    [
        (TableTarget(), None, "OUT is missing. Hint: name a new file or folder, or of rows of a database a table"),
        (ScrubTarget(), None, "OUT is missing. Hint: name a new file or folder, or look first with --preview"),
        (TableTarget(output=TABLE), Path("out"), "OUT and --output are two places"),
        (ScrubTarget(note_nlp=True), Path("out"), "--note-nlp is for tables of the OMOP CDM"),
    ],
)
def test_places_that_are_none_or_two_are_refused(target: TableTarget, place: Path | None, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        target.checked(place, omop=False) if isinstance(target, ScrubTarget) else target.place(place)


@pytest.mark.parametrize(
    ("target", "others"),
    [
        (ScrubTarget(), (Path("out"),)),
        (ScrubTarget(), (None, "vault.db", False)),
        (ScrubTarget(edits=Path("edits.jsonl")), (None,)),
        (ScrubTarget(preview=True), (None,)),
    ],
)
def test_a_note_of_standard_input_goes_to_standard_output_alone(
    target: ScrubTarget, others: tuple[object, ...]
) -> None:
    ScrubTarget().check_alone(None, False)
    with pytest.raises(ConfigError, match="goes to standard output"):
        target.check_alone(*others)
