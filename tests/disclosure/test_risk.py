"""Risk: the same-disease example, attackers, uniqueness, membership, composition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import NINE, microdata

from deid.base.errors import ConfigError, InputError
from deid.disclosure.composition import composition_attack
from deid.disclosure.risk import population_risk, sample_risk
from deid.disclosure.uniqueness import fit_pitman, unique_share
from deid.table.microdata import Microdata

REGISTER = [
    ("Alice", "00101", "1927-07-15"),
    ("Bob", "00101", "1927-05-28"),
    ("Charlie", "00101", "1927-10-26"),
    ("Dave", "00202", "1935-01-02"),
    ("Emily", "00202", "1935-02-03"),
    ("Frank", "00202", "1935-10-24"),
    ("Grace", "00202", "1935-05-13"),
    ("Helen", "00202", "1935-09-26"),
    ("Irene", "00202", "1935-09-26"),
]
PATIENTS = [REGISTER[i][1:] for i in (0, 1, 2, 3, 6, 7)]


def _register(rows: list[tuple[str, str, str]]) -> Microdata:
    return microdata(rows, "name. zip birth", kinds={"zip": "nominal"})


def _safe_harbor(rows: list[tuple[str, str]]) -> Microdata:
    return microdata([(z[:3] + "**", f"[{b[:4]}-01-01/{b[:4]}-12-31]") for z, b in rows], "zip birth")


def test_same_disease_example() -> None:
    raw = population_risk(microdata(PATIENTS, "zip birth", kinds={"zip": "nominal"}), _register(REGISTER))
    assert raw.q.tolist() == [1, 1, 1, 1, 1, 0.5]
    found = population_risk(_safe_harbor(PATIENTS), _register(REGISTER))
    assert found.q.tolist() == pytest.approx([1 / 3, 1 / 6])
    assert found.r.tolist() == [1.0, 0.5]
    assert found.as_dict()["Q"] == pytest.approx(0.25)
    assert found.as_dict()["R"] == pytest.approx(0.75)
    assert found.instance.witness == (0, 1, 2)
    assert found.smallest_match == 3
    alone = sample_risk(_safe_harbor(PATIENTS))
    assert alone.smallest_class == 3
    assert alone.prosecutor.highest == pytest.approx(1 / 3)
    more = [*REGISTER, *[("Other", "00202", "1935-03-03")] * 9]
    assert population_risk(_safe_harbor(PATIENTS), _register(more)).r.tolist() == pytest.approx([1.0, 0.2])


def test_membership_in_the_example() -> None:
    found = population_risk(_safe_harbor(PATIENTS), _register([*REGISTER, ("Zoe", "99999", "1950-01-01")])).membership
    assert (found.least, found.greatest) == (0.0, 1.0)
    assert found.certain == pytest.approx(3 / 10)
    assert found.excluded == pytest.approx(1 / 10)


def test_attackers_on_the_published_table() -> None:
    found = sample_risk(NINE, threshold=0.4)
    assert (found.rows, found.persons, found.classes) == (9, 9, 4)
    assert found.prosecutor.highest == 0.5
    assert found.prosecutor.average == pytest.approx(4 / 9)
    assert found.prosecutor.at_risk == pytest.approx(6 / 9)
    assert found.prosecutor.witness == (0, 1)
    assert found.marketer == pytest.approx(4 / 9)
    assert found.sample_unique == 0
    assert found.population_unique is None
    assert sample_risk(NINE, threshold=1).prosecutor.at_risk == 0
    for wrong in (0, -0.5, 1.01):
        with pytest.raises(ConfigError, match="threshold"):
            sample_risk(NINE, threshold=wrong)


def test_notes_of_one_person_are_no_crowd() -> None:
    table = microdata([("p1", 30)] * 5 + [("p2", 40)], "mrn. age", person="mrn")
    assert sample_risk(table).prosecutor.highest == 1.0
    assert sample_risk(table).sample_unique == 1.0


ROWS = st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 4)), min_size=1, max_size=12)


@given(ROWS, ROWS)
def test_order_of_risks(patients: list[tuple[str, int]], others: list[tuple[str, int]]) -> None:
    release = microdata([(name, "[1-2]" if n < 3 else "[3-4]") for name, n in patients], "q n")
    found = population_risk(release, microdata([*patients, *others], "q n"))
    assert (found.q <= found.r).all()
    assert found.as_dict()["Q"] <= found.as_dict()["R"] <= 1
    assert found.journalist.highest <= sample_risk(release).prosecutor.highest
    with pytest.raises(InputError):
        population_risk(release, microdata([("c", 1)], "q n"))


def _pitman_sample(theta: float, alpha: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the class of each person in turn."""
    sizes: list[int] = []
    ids = []
    for n in range(size):
        if rng.random() < (theta + alpha * len(sizes)) / (theta + n):
            sizes.append(1)
            ids.append(len(sizes) - 1)
        else:
            weights = np.array(sizes) - alpha
            ids.append(int(rng.choice(len(sizes), p=weights / weights.sum())))
            sizes[ids[-1]] += 1
    return np.array(ids)


def test_population_uniques_are_estimated_from_a_sample() -> None:
    rng = np.random.default_rng(3)
    ids = _pitman_sample(30, 0.6, 6000, rng)
    truth = (np.bincount(ids) == 1).sum() / len(ids)
    sample = np.bincount(rng.permutation(ids)[:1500])
    sample = sample[sample > 0]
    assert fit_pitman(sample)[1] == pytest.approx(0.6, abs=0.1)
    estimate = unique_share(sample, 6000)
    assert estimate == pytest.approx(truth, rel=0.25)
    assert estimate < (sample == 1).sum() / sample.sum()  # fewer are unique in the population than in the sample
    assert unique_share(sample, 1500) == (sample == 1).sum() / 1500
    with pytest.raises(ConfigError, match="smaller than the sample"):
        unique_share(sample, 100)


@pytest.mark.parametrize("sizes", [[1], [1] * 50])
def test_a_sample_of_singles_alone_says_that_all_may_be_unique(sizes: list[int]) -> None:
    assert unique_share(np.array(sizes), 10**6) == pytest.approx(1, abs=1e-3)


@settings(max_examples=40)
@given(st.lists(st.integers(1, 30), min_size=2, max_size=60))
def test_the_fit_to_class_sizes_is_the_likeliest_of_a_grid(sizes: list[int]) -> None:
    def likelihood(theta: np.ndarray, alpha: np.ndarray) -> np.ndarray:  # of the classes, one person after the other
        new = sum(np.log(theta + alpha * number) for number in range(len(sizes)))
        joined = sum(np.log(earlier - alpha) for size in sizes for earlier in range(1, size))
        return np.asarray(new + joined - sum(np.log(theta + earlier) for earlier in range(sum(sizes))))

    theta, alpha = fit_pitman(np.array(sizes))
    best = likelihood(np.array(theta), np.array(alpha))
    grid = np.meshgrid(np.geomspace(1e-5, 1e10, 40), np.append(1e-5, np.linspace(0.02, 0.98, 25)))
    assert best >= likelihood(*grid).max() - 1e-4 * abs(best)


FIRST = [("[20-39]", "HIV"), ("[20-39]", "Flu"), ("[40-59]", "Flu"), ("[40-59]", "Cancer")]
SECOND = [("[20-49]", "HIV"), ("[20-49]", "Cancer"), ("[20-49]", "Asthma"), ("[50-59]", "Flu"), ("[50-59]", "TB")]


def test_two_safe_releases_disclose_together() -> None:
    first, second = microdata(FIRST, "age disease!"), microdata(SECOND, "age disease!")
    known = microdata([(25, "HIV"), (45, "Cancer"), (55, "Flu"), (90, "TB")], "age disease!")
    found = composition_attack(first, second, "disease", known)
    assert found.targets == 3  # nobody of 90 can be in the first release
    assert found.candidates == (2, pytest.approx(8 / 3), 1)
    assert found.disclosed == 1.0
    assert found.disclosed_before == 0.0
    assert found.rows == (0, 1, 2)
    unknown = composition_attack(first, second, "disease")
    assert unknown.targets == 3
    assert unknown.disclosed == 1.0
    assert unknown.rows == (0, 2)


def test_the_same_release_twice_discloses_no_more() -> None:
    first = microdata(FIRST, "age disease!")
    known = microdata([(25, "HIV"), (45, "Cancer")], "age disease!")
    found = composition_attack(first, first, "disease", known)
    assert found.candidates == (2, 2, 2)
    assert found.disclosed == 0
    with pytest.raises(ConfigError, match="no quasi-identifier in common"):
        composition_attack(first, microdata([("F", "Flu")], "sex disease!"), "disease")


@given(st.lists(st.tuples(st.integers(1, 8), st.sampled_from("MF"), st.sampled_from("xyz")), min_size=2, max_size=12))
def test_composition_by_hand(rows: list[tuple[int, str, str]]) -> None:
    releases = []
    for width in (2, 3):
        low = [(age - 1) // width * width + 1 for age, *_ in rows]
        releases.append(
            [(f"[{a}-{a + width - 1}]", "*" if width == 3 else s, d) for a, (_, s, d) in zip(low, rows, strict=True)]
        )
    tables = [microdata(release, "age sex disease!") for release in releases]
    found = composition_attack(*tables, "disease", microdata(rows, "age sex disease!"))
    left = []
    for i in range(len(rows)):
        sets = [{d for a, s, d in release if (a, s) == release[i][:2]} for release in releases]
        left.append(len(sets[0] & sets[1]))
    assert found.targets == len(rows)
    assert found.candidates[2] == pytest.approx(float(np.mean(left)))
    assert found.disclosed == pytest.approx(float(np.mean(np.array(left) == 1)))
