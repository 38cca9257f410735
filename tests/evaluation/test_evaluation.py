"""The whole evaluation: against an independent scorer, and what it reports."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deid import io
from deid.document import Document
from deid.evaluation import METRICS, ScoringSettings, compare, evaluate
from deid.evaluation.sections import comparison_section, evaluation_sections

TEXT = "Dr. Ann Lee saw Bob Ray on 3 May 2020. See x.org."
GOLD = [(4, 11, "DOCTOR"), (16, 23, "PATIENT"), (27, 37, "DATE"), (43, 48, "URL")]
PLAIN = ScoringSettings(resamples=0)


@pytest.fixture
def gold(note) -> list[Document]:
    return [note("a", TEXT, *GOLD), note("b", TEXT, *GOLD), note("c", "Nothing here.")]


def _printed(output: str, line: str) -> tuple[list[float], list[int]]:
    """Return the measures and the counts that the independent scorer prints in a line."""
    found = next(text for text in output.splitlines() if text.startswith(line))
    measures, _, counts = found.removeprefix(line).partition("tp")
    return [float(x) for x in re.findall(r"\d\.\d{4}", measures)], [int(x) for x in re.findall(r"\d+", counts)]


@pytest.mark.parametrize("part", ["english/xml", "meddocan/dev/xml"])
def test_figures_equal_those_of_an_independent_scorer(shared_data: Path, tmp_path: Path, spoil, part: str) -> None:
    """Forty real documents with spoilt annotations, three of them missing, scored by another program."""
    scorer = shared_data.parent / "tools" / "score.py"
    if not scorer.is_file():
        pytest.skip("the independent scorer is not beside this checkout")
    gold = [item for _, item in zip(range(40), io.read(shared_data / part), strict=False)]
    system = spoil(gold)[:-3]
    name = "meddocan" if "meddocan" in part else "i2b2-2014"
    for side, documents in (("gold", gold), ("system", system)):
        assert not io.write(documents, tmp_path / side, name).failures
    command = [sys.executable, str(scorer), str(tmp_path / "gold"), str(tmp_path / "system")]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    evaluation = evaluate(io.read(tmp_path / "gold"), io.read(tmp_path / "system"), settings=PLAIN)
    tables = evaluation.tables
    for line, table in (
        ("token PHI-binary", "word"),
        ("strict span+type (micro)", "strict"),
        ("strict span only", "span"),
        ("relaxed overlap, any type", "overlap"),
        ("relaxed overlap, same type", "overlap_category"),
    ):
        score = tables[table].micro()
        measures, counts = _printed(output, line)
        assert [round(x, 4) for x in (score.precision, score.recall, score.f1)] == pytest.approx(measures, abs=1e-4)
        if counts:
            assert counts == [score.right, score.system - score.right, score.gold - score.found]
    for category, score in tables["strict"].by_label().items():
        _, counts = _printed(output, f"  {category} ")
        assert counts == [score.right, score.system - score.right, score.gold - score.found]
    leaks = evaluation.leaks.as_dict()
    total, clean = re.search(r"tokens: (\d+) total, .* (\d+) of 40 documents", output).groups()
    assert (leaks["phi_words_left"], leaks["documents_clean"]) == (int(total), int(clean))
    assert "missing 3" in output
    assert len(evaluation.pairing.names("missing")) == 3


def test_the_gold_standard_against_itself_is_perfect(gold) -> None:
    evaluation = evaluate(gold[:2], gold[:2])
    assert {name: table.micro().f1 for name, table in evaluation.tables.items()} == dict.fromkeys(evaluation.tables, 1)
    assert evaluation.leaks.clean.all()
    assert evaluation.mistakes() == []
    assert all((bounds == 1).all() for name, bounds in evaluation.bounds.items() if name != "leaks")


def test_a_missing_document_lowers_recall_and_leaks(gold) -> None:
    evaluation = evaluate(gold, gold[:1], settings=PLAIN)
    strict = evaluation.tables["strict"].micro()
    assert (strict.precision, strict.recall) == (1.0, 0.5)
    assert evaluation.leaks.words_left.tolist() == [0, 9, 0]
    numbers = evaluation.as_dict()
    assert len(numbers["documents"]["missing"]) == 2
    assert [document["status"] for document in numbers["by_document"]] == ["scored", "missing", "missing"]


def test_another_text_counts_as_missing_and_fails(note, gold) -> None:
    evaluation = evaluate(gold, [gold[0], note("b", TEXT + " ", *GOLD), gold[2]], settings=PLAIN)
    assert evaluation.tables["strict"].micro().recall == 0.5
    assert len(evaluation.pairing.failures) == 1


def test_intervals_hold_the_figure_and_depend_on_the_seed_alone(gold, spoil) -> None:
    gold = [Document(f"{document.id}{i}", document.text, document.spans) for i in range(10) for document in gold]
    system = spoil(gold)
    first, again, other = (evaluate(gold, system, settings=ScoringSettings(seed=seed)) for seed in (1, 1, 2))
    assert first.as_dict() == again.as_dict()
    assert first.as_dict()["measures"] != other.as_dict()["measures"]
    for name, table in first.tables.items():
        low, high = first.bounds[name][:, 2]
        assert low <= table.micro().f1 <= high


def test_categories_and_label_sets_can_be_chosen(gold) -> None:
    only = evaluate(gold, gold, settings=ScoringSettings(labels=("DATE",), resamples=0))
    assert only.categories == ("DATE",)
    assert only.tables["strict"].micro().gold == 2
    mapped = evaluate(gold, gold, settings=ScoringSettings(map_to="i2b2-2006", resamples=0))
    assert mapped.categories == ("DATE", "DOCTOR", "PATIENT")
    assert mapped.as_dict()["settings"]["map_dropped_spans"] == {"gold": 2, "system": 2}


def test_official_measures_are_reported_over_all_subsets(gold) -> None:
    official = evaluate(gold, gold[:1], settings=PLAIN).i2b2_2014()
    assert set(official) == {"strict", "relaxed", "token", "binary span", "binary token"}
    assert [official["strict"][part].gold for part in ("all", "hipaa", "hipaa-official")] == [8, 6, 4]
    assert [official["binary token"][part].gold for part in ("all", "hipaa", "hipaa-official")] == [18, 14, 10]


def test_numbers_are_json_without_text_or_ids(note) -> None:
    gold = [note("Smith_John", "Mr Smith fell", (3, 8, "PATIENT"))]
    text = json.dumps(evaluate(gold, []).as_dict())
    assert "Smith" not in text
    assert "fell" not in text
    assert "***_***" in text


def test_frame_has_a_row_for_each_measure_and_label(gold) -> None:
    frame = evaluate(gold, gold[:1]).to_frame().set_index(["measure", "label"])
    assert frame.loc[("strict", "ALL"), "recall"] == 0.5
    assert frame.loc[("token", "I-DATE"), "gold"] == 8
    assert frame.loc[("strict", "ALL"), "f1_interval"][1] == 1.0


def test_sections_show_every_table(gold) -> None:
    sections = {section.title: section for section in evaluation_sections(evaluate(gold, gold[:1]).as_dict())}
    assert sections["All categories"].rows[0][:4] == ("Spans, strict", "1.0000", "0.5000", "0.6667")
    assert ("missing in SYSTEM (counted as empty)", "2") in sections["Documents"].rows
    assert {row[0] for row in sections["Categories"].rows} == {"DATE", "DOCTOR", "PATIENT", "URL"}
    assert "our own split" in sections["MEDDOCAN, official measures"].note


def test_comparison_scores_both_systems_on_all_documents(gold, spoil) -> None:
    gold = [Document(f"{document.id}{i}", document.text, document.spans) for i in range(15) for document in gold]
    worse, better = spoil(gold, 1, 0.9), spoil(gold, 2, 0.1)[:-1]
    comparison = compare(
        gold, worse, better, metrics=list(METRICS), settings=ScoringSettings(resamples=200), permutations=500
    )
    found = comparison.differences["strict.f1"]
    one, other = (evaluate(gold, side, settings=PLAIN).tables["strict"].micro().f1 for side in (worse, better))
    assert (found.a, found.b) == pytest.approx((one, other))
    assert found.high < 0
    assert found.p_randomization < 0.01
    assert found.p_t < 0.01
    assert comparison.differences["leaks"].difference > 0
    assert comparison.differences["clean"].difference < 0
    assert len(comparison_section(comparison).rows) == len(METRICS)
    assert json.dumps(comparison.as_dict())


def test_precision_of_a_silent_system_is_zero_and_has_no_pairs(gold) -> None:
    comparison = compare(gold, gold, [], metrics=["strict.precision", "strict.recall"], permutations=50)
    precision, recall = comparison.differences.values()
    assert (precision.a, precision.b, precision.t_documents) == (1, 0, 0)
    assert (recall.a, recall.b, recall.t_documents) == (1, 0, 2)
