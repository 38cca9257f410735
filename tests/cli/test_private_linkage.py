"""Two sites encode, a third one compares: with one key and the same options, and nothing in plain text between them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from deid.base.errors import DeidError
from deid.base.keys import load_key
from deid.cli.main import app
from deid.experiments.mentions import Rates, make_mentions

HOW = ("--text-column", "first", "--text-column", "last", "--date-column", "birth_date=12", "--text-column", "zip=5")
HARD = ("--salt", "birth_date", "--fold", "1", "--balance")


def call(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["link", *arguments])
    if isinstance(result.exception, DeidError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def visits() -> list[pd.DataFrame]:
    rates = Rates(mentions=2, no_birth_date=0.02, wrong_birth_date=0.02, no_zip=0.1, initial=0, married=0, moved=0)
    mentions = make_mentions(600, rates, 4)
    visit = mentions.groupby("person").cumcount()
    return [mentions[visit == n].reset_index(drop=True) for n in (0, 1)]


@pytest.fixture
def sites(visits: list[pd.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[pd.DataFrame]:
    monkeypatch.chdir(tmp_path)
    for name, table in zip("ab", visits, strict=True):
        table.to_csv(f"{name}.csv", index=False)
    return visits


def encode(name: str, *how: str, key: str = "sites.key") -> None:
    call("encode", f"{name}.csv", "-o", f"e{name}.csv", "--ids", f"i{name}.csv", "--key-file", key, *how)


@pytest.mark.parametrize(("hard", "threshold", "least"), [((), "0.75", 0.9), (HARD, "0.8", 0.75)])
def test_pairs_come_back_to_the_persons_that_they_are_of(
    hard: tuple[str, ...], threshold: str, least: float, sites: list[pd.DataFrame]
) -> None:
    for name in "ab":
        encode(name, *HOW, *hard, "--id", "person")
    call("match", "ea.csv", "eb.csv", "-o", "pairs.csv", "--dice", threshold, "--one-to-one")
    pairs = pd.read_csv("pairs.csv")
    persons = [pairs[n].map(pd.read_csv(f"i{n}.csv").set_index("id")["person"]) for n in "ab"]
    assert (persons[0] == persons[1]).mean() > 0.98
    assert len(pairs) > least * len(sites[1])
    assert pairs["dice"].is_monotonic_decreasing
    assert pairs["dice"].between(float(threshold), 1).all()
    rows = pd.read_csv("ia.csv")
    assert rows["row"].tolist() == list(range(1, len(sites[0]) + 1))
    assert rows["person"].tolist() == sites[0]["person"].tolist()
    sent = Path("ea.csv").read_text() + Path("pairs.csv").read_text() + Path("ea.csv.manifest.json").read_text()
    names = {value for column in sites[0] for value in sites[0][column].dropna() if len(value) > 6}
    assert not [value for value in names if value in sent]
    assert load_key(Path("sites.key"), create=False)[0].secret.hex() not in sent
    for file in ("ea.csv", "ia.csv", "pairs.csv", "sites.key"):
        assert Path(file).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("how", "key"), [(("--balance",), "sites.key"), ((), "other.key")])
def test_filters_made_in_another_way_are_refused(how: tuple[str, ...], key: str, sites: list[pd.DataFrame]) -> None:
    encode("a", *HOW)
    encode("b", *HOW, *how, key=key)
    with pytest.raises(DeidError, match="made in another way"):
        call("match", "ea.csv", "eb.csv", "-o", "pairs.csv")
    assert not Path("pairs.csv").exists()


def test_the_sites_own_key_is_not_shared(sites: list[pd.DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEID_KEY", "ab" * 32)
    Path("mine.key").write_text("ab" * 32)
    Path("mine.key").chmod(0o600)
    with pytest.raises(DeidError, match="own key"):
        encode("a", *HOW, key="mine.key")
    assert not Path("ea.csv").exists()


def test_link_alone_still_links(sites: list[pd.DataFrame]) -> None:
    call("a.csv", "-o", "linked.csv")
    assert len(pd.read_csv("linked.csv")) == len(sites[0])
