"""The same answers on every processor: those of the files of answers, from one without the newer instructions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PINNED = sorted(file for file in HERE.glob("*/test_same_*.py") if "PINNED = " in file.read_text(encoding="utf-8"))
PLAIN = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 X86_V3 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Nehalem",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2",
}


@pytest.mark.parametrize(
    "every",
    [pytest.param(9, id="a ninth", marks=pytest.mark.slow), pytest.param(1, id="all", marks=pytest.mark.night)],
)
@pytest.mark.parametrize("file", PINNED, ids=lambda file: file.stem)
def test_a_plain_processor_gives_the_same_answers(file: Path, every: int) -> None:
    asked = f"from {file.stem} import PINNED; print(*PINNED.others({every}), sep=chr(10))"
    paths = os.pathsep.join(map(str, (file.parent, HERE, HERE.parent, HERE.parent / "scripts")))
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", asked],
        env={**os.environ, **PLAIN, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout.strip()) == (0, ""), run.stderr[-2000:]
