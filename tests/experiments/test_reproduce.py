"""deid reproduce: items name commands that exist, criteria tell what holds from what does not, a run writes it all."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from deid.base.errors import ConfigError
from deid.cli.commands import COMMANDS, load
from deid.cli.main import app
from deid.experiments.criteria import CRITERIA
from deid.experiments.reproduce import FindingVerdict, chosen, items

ITEMS = items()
ROWS = {name: row for rows in COMMANDS.values() for name, row in rows.items()}
CORPORA = Path(__file__).resolve().parents[2] / "corpora"


@pytest.mark.parametrize("name", [name for name, item in ITEMS.items() if item.commands])
def test_items_name_commands_options_and_data_that_exist(name: str) -> None:
    for asked in ITEMS[name].commands.values():
        for quick in (True, False):
            words = asked.line(quick)
            known = next(" ".join(words[:n]) for n in (3, 2, 1) if " ".join(words[:n]) in ROWS)
            command = load(known.split()[-1], ROWS[known][0])
            options = {flag for p in command.params for flag in (*p.opts, *p.secondary_opts)}
            assert {word for word in words if word.startswith("-")} <= options
            files = [word.replace("{data}", str(CORPORA)) for word in words if word.startswith("{data}")]
            assert [file for file in files if not Path(file).exists()] == []


def test_what_cannot_be_had_says_why_and_has_no_figure() -> None:
    for item in ITEMS.values():
        assert bool(item.missing) != bool(item.commands)
    assert list(CRITERIA) == [name for name, item in ITEMS.items() if item.commands]


def test_figures_of_others_stand_on_their_page_with_ours_and_the_command(tmp_path: Path) -> None:
    claims = ITEMS["claims"].measured
    assert len(claims) > 10
    for claim in claims:
        page = " ".join((CORPORA.parent / "docs" / claim.page).read_text(encoding="utf-8").split())
        numbers = (re.escape(number) for number in claim.ours.split(", "))
        assert all(re.search(rf"(?<![\d.]){number}(?!\d)", page) for number in numbers), claim
        assert claim.command in page.replace("\\ ", ""), claim
    result = CliRunner().invoke(app, ["reproduce", "claims", "-o", str(tmp_path / "c"), "--data", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "0 of 0 findings" in result.output
    written = pd.read_csv(tmp_path / "c" / "figures.csv", dtype=str)
    assert written["printed"].tolist() == [claim.theirs for claim in claims]
    assert "ARX 3.9.2" in (tmp_path / "c" / "index.html").read_text()


def test_an_unknown_item_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"table-4\.4"):
        chosen("table-44")
    assert [item.name for item in chosen("table-4.4")] == ["table-4.4"]


def curve(method: str, values: list[float], baseline: float = 0.0) -> list[dict[str, object]]:
    return [
        {
            "method": method, "k": k, "ilm": v, "alm": v, "ilm_estimate": v, "alm_estimate": v, "avg_re": v,
            "suppressed": baseline,
        }
        for k, v in zip((2, 5), values, strict=True)
    ]  # fmt: skip


def test_a_criterion_follows_the_figures() -> None:
    judge = ITEMS["longitudinal-figure-6"].judge
    small = {"rows": curve("a-gs", [0.1, 0.2])}
    good = judge({"d50": {"rows": curve("a-gs", [0.3, 0.5]) + curve("baseline", [0.6, 1.0], 1.0)}, "d4": small})
    assert good.holds
    assert str(good).startswith("The finding holds. Seen: ")
    shown = {one.what: (one.printed, one.ours) for one in good.figures}
    assert shown["50 codes, k = 2: ILM, ALM"] == ("0.33, 0.21", "0.30, 0.30 (exactly 0.30, 0.30)")
    assert shown["50 codes, k = 15: ILM, ALM"] == ("0.64, 0.42", "")  # printed, and not of this run
    worse = judge({"d50": {"rows": curve("a-gs", [0.6, 0.5]) + curve("baseline", [0.3, 0.4])}, "d4": small})
    assert not worse.holds
    assert [good for _, good in worse.parts] == [False, False, True, False]
    assert "holds in part" in str(worse)
    assert "does not hold. Not seen: x." in str(FindingVerdict([("x", False)], []))


def test_a_slope_nearer_to_the_truth_decides() -> None:
    def told(printed: float) -> dict[str, dict[str, list[dict[str, object]]]]:
        found = {"cells-clamped": -90.0, "dpcube-paper": printed, "dpcube": -76.0}
        about = {"series": "death = 1", "epsilon": 0.5, "true": -76.14}
        return {"year": {"slopes": [{**about, "method": m, "released": v} for m, v in found.items()]}}

    judge = ITEMS["section-5.3.3"].judge
    assert judge(told(-81.63)).holds
    assert not judge(told(-95.0)).holds


def test_a_run_writes_figures_verdicts_plots_and_a_page(tmp_path: Path) -> None:
    out, told = tmp_path / "out", tmp_path / "told.json"
    line = ["reproduce", "same-disease-table-4", "--quick", "-o", str(out), "--json", str(told)]
    result = CliRunner().invoke(app, line)
    assert result.exit_code == 0, result.output
    assert "Safe Harbor: classes, max r, R  109, 0.0256, 0.0030" in " ".join(result.stdout.split("\n"))
    assert "deid experiment same-disease corpora/tables" in result.stdout
    figures, verdicts = (pd.read_csv(out / f"{name}.csv") for name in ("figures", "verdicts"))
    assert verdicts["item"].tolist() == ["same-disease-table-4"]
    assert figures["printed"].tolist() == ["109, 0.0256, 0.0030", "115, 0.0137, 0.0015"]
    ours = {row["release"]: row for row in json.loads((out / "same-disease-table-4/risks.json").read_text())["rows"]}
    parts = json.loads(told.read_text())["items"][0]["parts"]
    assert parts[0]["so"] == (ours["generalized"]["R_cut"] <= 0.6 * ours["Safe Harbor"]["R"])
    assert parts[1]["so"] == (ours["generalized"]["R"] <= 0.6 * ours["Safe Harbor"]["R"])
    page = (out / "index.html").read_text()
    assert page.index("same-disease-table-4: ") < page.index("109, 0.0256") < page.index("data:image/svg+xml;base64,")
    assert "<svg" in (out / "same-disease-table-4/risks.svg").read_text()
    again = CliRunner().invoke(app, line)
    assert again.exit_code != 0
    assert CliRunner().invoke(app, ["reproduce", "--data", str(tmp_path), "--quick"]).exit_code != 0


def test_a_command_that_two_items_share_runs_once_and_its_files_lie_with_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [ITEMS["same-disease-table-3"], ITEMS["same-disease-table-4"]]
    monkeypatch.setattr("deid.experiments.reproduce.chosen", lambda _: both)
    result = CliRunner().invoke(app, ["reproduce", "--quick", "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert result.output.count("CPU s  same-disease-table-") == 1
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / "out" / item.name).iterdir()} for item in both
    )
    assert first == second
    assert set(first) == {"risks.csv", "risks.json", "risks.svg", "risks.txt"}
    assert (tmp_path / "out/index.html").read_text().count("data:image/svg+xml;base64,") == 2
