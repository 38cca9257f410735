"""Both sides are brought into one label set and restricted as asked."""

from __future__ import annotations

import pytest

from deid.base.errors import ConfigError
from deid.evaluation.cases import keys, prepare
from deid.evaluation.pairing import pair_documents

TEXT = "Ana Gil, 12 May, nurse, ana@x.org"
GOLD = [(0, 7, "PATIENT"), (9, 15, "DATE"), (17, 22, "PROFESSION"), (24, 33, "EMAIL")]
SYSTEM = [(0, 7, "NOMBRE_SUJETO_ASISTENCIA"), (9, 15, "FECHAS"), (17, 22, "PROFESION")]


def _pairs(note, gold, system):
    return pair_documents([note("a", TEXT, *gold)], [note("a", TEXT, *system)]).pairs


def test_spans_that_are_given_twice_count_once(note) -> None:
    (case,) = prepare(_pairs(note, [GOLD[1], GOLD[0], GOLD[0]], [])).cases
    assert [(span.start, span.category) for span in case.gold] == [(0, "PATIENT"), (9, "DATE")]


def test_two_label_sets_meet_in_a_third(note) -> None:
    prepared = prepare(_pairs(note, GOLD, SYSTEM), map_to="i2b2-2006")
    (case,) = prepared.cases
    assert keys(case.gold) == keys(case.system) == {(0, 7, "PATIENT"), (9, 15, "DATE")}
    assert prepared.dropped == (2, 1)
    assert any("PROFESSION" in loss for loss in prepared.losses)
    assert any("PROFESION " in loss for loss in prepared.losses)


def test_what_is_not_scored_still_hides_text(note) -> None:
    (case,) = prepare(_pairs(note, GOLD, SYSTEM), map_to="i2b2-2006", labels=["DATE"]).cases
    assert keys(case.gold) == keys(case.system) == {(9, 15, "DATE")}
    assert [(span.start, span.end) for span in case.cover] == [(0, 7), (9, 15), (17, 22)]


def test_a_label_that_nobody_knows_is_refused_with_those_that_occur(note) -> None:
    with pytest.raises(ConfigError, match=r"DATES.*EMAIL"):
        prepare(_pairs(note, GOLD, SYSTEM), labels=["DATES"])


def test_a_known_label_that_does_not_occur_scores_nothing(note) -> None:
    prepared = prepare(_pairs(note, GOLD, SYSTEM), labels=["DATE", "FAX"])
    assert prepared.categories == ("DATE",)


def test_an_unknown_target_is_refused(note) -> None:
    with pytest.raises(ConfigError, match="i2b2-2014"):
        prepare(_pairs(note, GOLD, SYSTEM), map_to="nosuch")
