"""Sequences: lattice, files, alignment, DNALA."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.errors import FormatError, InputError
from deid.genomes import Sequences, generalize_sequences, read_fasta, write_fasta
from deid.genomes.dnala import _greedy as greedy_pairs
from deid.genomes.dnala import check_release, distances, variable_sites
from deid.genomes.lattice import DISTANCES, GAP, JOINS, SYMBOLS, encode
from deid.genomes.sequences import align

SLIDE = ("AATTA", "AATGA", "ATTCA", "AATGA")


def sequences(*letters: str) -> Sequences:
    return Sequences(tuple(f"s{i}" for i in range(len(letters))), np.stack([encode(s) for s in letters]))


def code(symbol: str) -> int:
    return int(encode(symbol)[0])


@pytest.mark.parametrize(
    ("x", "y", "join", "distance"),
    [
        *(("A", "G", "R", 2), ("C", "T", "Y", 2), ("C", "G", "S", 2), ("A", "T", "W", 2), ("A", "C", "M", 2)),
        *(("G", "T", "K", 2), ("A", "Y", "H", 3), ("R", "A", "R", 1), ("R", "Y", "N", 4), ("A", "B", "N", 4)),
        *(("A", "-", "N", 6), ("A", "A", "A", 0), ("-", "-", "-", 0)),
    ],
)
def test_joins_and_distances_of_the_lattice(x: str, y: str, join: str, distance: int) -> None:
    assert JOINS[code(x), code(y)] == JOINS[code(y), code(x)] == code(join)
    assert DISTANCES[code(x), code(y)] == DISTANCES[code(y), code(x)] == distance


def test_the_slides_example_exact_and_greedy() -> None:
    """Two variable columns; the exact matching pairs the equal ones and costs 4, the greedy one costs 6."""
    four = sequences(*SLIDE)
    sites = variable_sites(four.codes)
    assert sites.tolist() == [1, 3]
    between = distances(four.codes[:, sites])
    expected = {(0, 1): 2, (0, 2): 4, (0, 3): 2, (1, 2): 4, (1, 3): 0, (2, 3): 4}
    assert {pair: int(between[pair]) for pair in expected} == expected
    exact = generalize_sequences(four)
    assert exact.groups == ((0, 2), (1, 3))
    assert exact.cost == 4
    assert exact.sequences.letters() == ["AATGA", "AATGA", "AWTYA", "AWTYA"]
    assert exact.order == [1, 3, 0, 2]
    assert sum(int(between[pair]) for pair in greedy_pairs(between)) == 6


@settings(max_examples=60)
@given(st.integers(2, 7), st.integers(1, 6), st.randoms(use_true_random=False))
def test_every_release_holds_and_matching_is_optimal(count: int, sites: int, random: object) -> None:
    """Every released sequence occurs twice and covers its original; no pairing of an even number costs less."""
    letters = ["".join(random.choice(SYMBOLS) for _ in range(sites)) for _ in range(count)]  # type: ignore[attr-defined]
    originals = sequences(*letters)
    exact, greedy = (generalize_sequences(originals, matching=m) for m in ("exact", "greedy"))
    for result in (exact, greedy):
        assert check_release(result.sequences, originals.at(result.order))[0]
        shuffled = originals.at(random.sample(range(count), count))  # type: ignore[attr-defined]
        again = generalize_sequences(shuffled, matching=result.matching)
        assert (again.sequences.names, again.sequences.letters()) == (
            result.sequences.names,
            result.sequences.letters(),
        )
        assert (again.cost, again.variable) == (result.cost, result.variable)
    if count % 2 == 0:
        between = distances(originals.codes)
        assert exact.cost == best_pairing(tuple(range(count)), between)
        assert exact.cost <= greedy.cost


def best_pairing(left: tuple[int, ...], between: np.ndarray) -> int:
    if not left:
        return 0
    first, *rest = left
    return min(
        int(between[first, other]) + best_pairing(tuple(r for r in rest if r != other), between) for other in rest
    )


def test_a_planted_violation_is_rejected() -> None:
    four = sequences(*SLIDE)
    result = generalize_sequences(four)
    four, released = four.at(result.order), result.sequences.codes.copy()
    released[0, 0] = code("C")
    good, level, witness = check_release(Sequences(four.names, released), four)
    assert (good, level, witness) == (False, 1, 0)
    swapped = result.sequences.codes[[1, 1, 1, 1]]
    assert check_release(Sequences(four.names, swapped))[0]
    assert not check_release(Sequences(four.names, swapped), four)[0]  # does not cover the originals


def test_an_odd_sequence_joins_the_nearest_pair() -> None:
    result = generalize_sequences(sequences("AAAA", "AAAA", "CCCC", "CCCC", "CCCG"))
    assert sorted(map(len, result.groups)) == [2, 3]
    assert check_release(result.sequences)[1] == 2


def test_fasta_round_trip_and_alignment(tmp_path: Path) -> None:
    path = tmp_path / "a.fasta"
    path.write_text(">one\nACGT\nACGT\n>two\nACGTCGT\n")
    read = read_fasta(path)
    assert read.letters()[0] == "ACGTACGT"
    assert read.letters()[1].replace("-", "") == "ACGTCGT"
    write_fasta(read, tmp_path / "b.fasta")
    assert read_fasta(tmp_path / "b.fasta").letters() == read.letters()
    with pytest.raises(InputError, match="unequal"):
        read_fasta(path, unequal="refuse")


@settings(max_examples=40)
@given(st.lists(st.text("ACGT", min_size=1, max_size=7), min_size=2, max_size=4))
def test_alignment_keeps_the_sequences_and_is_optimal_for_two(letters: list[str]) -> None:
    """Without its gaps every row is its sequence; two sequences cost what brute force over all gap placings costs."""
    rows = [encode(s) for s in letters]
    aligned = align(rows)
    for row, original in zip(aligned, rows, strict=True):
        assert row[row != GAP].tolist() == original.tolist()
    pair = align(rows[:2])
    assert int(DISTANCES[pair[0], pair[1]].sum()) == edit_cost(rows[0], rows[1])


def edit_cost(a: np.ndarray, b: np.ndarray) -> int:
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i, j in itertools.product(range(len(a) + 1), range(len(b) + 1)):
        if i == 0 or j == 0:
            table[i, j] = 6 * (i + j)
        else:
            both = table[i - 1, j - 1] + DISTANCES[a[i - 1], b[j - 1]]
            table[i, j] = min(both, table[i - 1, j] + 6, table[i, j - 1] + 6)
    return int(table[-1, -1])


@pytest.mark.parametrize(
    ("content", "error", "word"),
    [
        ("ACGT\n", FormatError, "no FASTA"),
        (">a\nACGT\n>b\nAXGT\n", InputError, "line 4, 2"),
        (">a\n\n", InputError, "no sequence"),
        (">a\nAC\n", InputError, "fewer than two"),
    ],
)
def test_bad_input_is_told(tmp_path: Path, content: str, error: type[Exception], word: str) -> None:
    path = tmp_path / "x.fasta"
    path.write_text(content)
    with pytest.raises(error, match=word):
        generalize_sequences(read_fasta(path))
