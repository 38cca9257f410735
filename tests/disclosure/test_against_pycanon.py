"""Our levels are pycanon's, on random tables; it lives in an environment of its own (scripts/setup_oracles)."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from deid.disclosure.closeness import t_closeness
from deid.disclosure.privacy import (
    alpha_k_anonymity,
    beta_likeness,
    distinct_l_diversity,
    entropy_l_diversity,
    k_anonymity,
)
from deid.table.microdata import Microdata

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-oracles" / "bin" / "python"

ASK = """
import json, sys
import pandas as pd
from pycanon import anonymity

levels = []
for path in sys.argv[1:]:
    table, found = pd.read_csv(path), {}
    for name, sensitive in (("nominal", ["s"]), ("ordered", ["x"])):
        found[name] = {
            "k": int(anonymity.k_anonymity(table, ["a", "b"])),
            "l": int(anonymity.l_diversity(table, ["a", "b"], sensitive)),
            "entropy": int(anonymity.entropy_l_diversity(table, ["a", "b"], sensitive)),
            "alpha": float(anonymity.alpha_k_anonymity(table, ["a", "b"], sensitive)[0]),
            "t": float(anonymity.t_closeness(table, ["a", "b"], sensitive)),
            "beta": float(anonymity.basic_beta_likeness(table, ["a", "b"], sensitive)),
        }
    levels.append(found)
print(json.dumps(levels))
"""


@pytest.mark.skipif(not PYTHON.exists(), reason="no .venv-oracles: run scripts/setup_oracles")
def test_levels_are_those_of_pycanon(tmp_path: Path) -> None:
    frames = []
    for seed, rows in enumerate((30, 100, 400, 1000)):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(
            {
                "a": rng.choice(["[20-29]", "[30-39]", "*"], rows),
                "b": rng.choice(["M", "F"], rows),
                "s": rng.choice(list("pqrstu"), rows, p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.05]),
                "x": rng.geometric(0.2, rows),
            }
        )
        frame.to_csv(tmp_path / f"{seed}.csv", index=False)
        frames.append(frame)
    paths = [str(tmp_path / f"{seed}.csv") for seed in range(len(frames))]
    answer = subprocess.run([str(PYTHON), "-c", ASK, *paths], capture_output=True, text=True, check=True)
    for frame, theirs in zip(frames, json.loads(answer.stdout), strict=True):
        table = Microdata(frame, {"a": "quasi-identifier", "b": "quasi-identifier", "s": "sensitive", "x": "sensitive"})
        for column, name, distance in (("s", "nominal", "equal"), ("x", "ordered", "ordered")):
            expected = theirs[name]
            assert k_anonymity(table, 1).level == expected["k"]
            assert distinct_l_diversity(table, column, 1).level == expected["l"]
            entropy = entropy_l_diversity(table, column, 1).level
            assert isinstance(entropy, float)
            assert math.floor(entropy + 1e-9) == expected["entropy"]  # they round down
            assert alpha_k_anonymity(table, column, 1, 1).level == (pytest.approx(expected["alpha"]), expected["k"])
            assert t_closeness(table, column, 1, distance).level == pytest.approx(expected["t"])
            assert beta_likeness(table, column, 0).level == pytest.approx(expected["beta"])
