"""JSON that is nested beyond what a parser reads is a wrong file, no internal error, wherever users hand one in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from deid.base.errors import DeidError
from deid.base.keys import Key
from deid.detection.dial import read_dial
from deid.detection.transformer import TransformerRecognizer
from deid.disclosure.expert_report import check_report
from deid.disclosure.scheme import read_scheme
from deid.dp.release import read_release
from deid.dp.sequence_release import read_sequences
from deid.labeling.tagger import load_model
from deid.manifest.content import Manifest
from deid.pipeline.edit_log import read_edit_log
from deid.pipeline.known_people import read_known_people

DEEP = "[" * 200_000


def _model(path: Path) -> None:
    path.mkdir()
    (path / "tagger.json").write_text(DEEP)
    load_model(str(path))


def _transformer(path: Path) -> None:
    path.mkdir()
    (path / "config.json").write_text(DEEP)
    TransformerRecognizer.load(path)


def _scheme(path: Path) -> None:
    path.write_text(DEEP)
    read_scheme(path)


def _report(path: Path) -> None:
    check_report(DEEP, Key(bytes(32)), {})


def _cube(path: Path) -> None:
    path.with_suffix(".json").write_text(DEEP)
    read_release(path.with_suffix(".json"))


def _described_cube(path: Path) -> None:
    path.with_suffix(".csv").write_text("a\n1\n")
    path.with_suffix(".csv.json").write_text(DEEP)
    read_release(path.with_suffix(".csv"))


def _sequences(path: Path) -> None:
    path.with_suffix(".json").write_text(DEEP)
    read_sequences(path.with_suffix(".json"))


def _manifest(path: Path) -> None:
    Manifest.from_bytes(DEEP.encode())


def _dial(path: Path) -> None:
    path.write_text(DEEP)
    read_dial(path)


def _edits(path: Path) -> None:
    path.write_text(DEEP + "\n")
    list(read_edit_log(path))


def _known(path: Path) -> None:
    path.with_suffix(".jsonl").write_text(DEEP + "\n")
    read_known_people(path.with_suffix(".jsonl"))


@pytest.mark.parametrize(
    "use",
    [
        _model,
        _transformer,
        _scheme,
        _report,
        _cube,
        _described_cube,
        _sequences,
        _manifest,
        _dial,
        _edits,
        _known,
    ],
)
def test_deeply_nested_json_is_a_wrong_file(use: Callable[[Path], object], tmp_path: Path) -> None:
    if use is _transformer:
        pytest.importorskip("onnxruntime")
        pytest.importorskip("tokenizers")
    with pytest.raises(DeidError) as caught:
        use(tmp_path / "given")
    assert "internal" not in str(caught.value)
