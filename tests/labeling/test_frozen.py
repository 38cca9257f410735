"""Tables of models: a labeller that points into one labels as the one that it was made of."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deid.base.compiled import native
from deid.document import Document
from deid.features import FeatureSet
from deid.labeling import decoder as decoding
from deid.labeling import model_folder
from deid.labeling.decoder import Decoder
from deid.labeling.tables import TablePlace, common_words
from deid.labeling.tagger import load_model
from deid.labeling.weights import Weights

pytestmark = pytest.mark.skipif(native is None, reason="the compiled module is not there")

SETS = {name: FeatureSet(name, "racd", ("names/titles", "places/states")) for name in ("hide", "default")}
KNOWN = "Dr. Mary Smith, New York\nseen 12/03 by north  carolina"
TEXTS = st.lists(st.sampled_from([*KNOWN.split(" "), "Unknown", "λ", "é", "\n", " ", "7-8"]), max_size=30).map(" ".join)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "deid"


def weights_for(features: FeatureSet, labels: int = 9) -> Weights:
    random = np.random.default_rng(3)
    names = sorted({name for row in features.expand(features.encode(KNOWN)) for name in row})
    tags = ("O", *(f"B-{i}" for i in range(labels - 1)))
    state, moves = random.normal(size=(len(names), labels)), random.normal(size=(labels, labels))
    return Weights(tags, {n: i for i, n in enumerate(names)}, state, moves, np.zeros(labels))


def refused():
    raise AssertionError("the weights were asked for")


def pair(preset: str) -> tuple[Decoder, Decoder]:
    """Return a decoder without a table, and one that has nothing but its table."""
    features, place = SETS[preset], TablePlace("fingerprint")
    weights = weights_for(features)
    assert len(Decoder(weights, features, place).decode(KNOWN)[0])  # writes the table
    return Decoder(weights, features), Decoder(refused, features, place)


@pytest.mark.parametrize("preset", sorted(SETS))
def test_a_table_labels_as_its_model_does(preset):
    plain, tabled = pair(preset)

    @settings(max_examples=50)
    @given(TEXTS)
    def same(text):
        for mine, theirs in zip(tabled.decode(text)[:3], plain.decode(text)[:3], strict=True):
            assert mine.tolist() == theirs.tolist()
        for mine, theirs in zip(tabled.scores(text), plain.scores(text), strict=True):
            assert mine.tolist() == theirs.tolist()
        assert tabled.marked(text) == plain.marked(text)

    same()
    assert tabled.labels == plain.labels


def test_what_is_met_beyond_a_table_is_dropped_and_built_again(monkeypatch):
    monkeypatch.setattr(decoding, "_COMPILED_TYPES", 50)
    monkeypatch.setattr(decoding, "_COMPILED_ROWS", 1024)
    plain, tabled = pair("default")
    texts = [KNOWN + " ".join(f"w{n}x{k} Mary" for n in range(300)) for k in range(4)]
    for text in (*texts, *texts):
        assert tabled.decode(text)[0].tolist() == plain.decode(text)[0].tolist()
        assert tabled._labeller.kept()[1] <= 1024
    assert tabled.decode(KNOWN)[0].tolist() == plain.decode(KNOWN)[0].tolist()


def test_what_was_read_before_changes_no_label(monkeypatch):
    """An endless feed meets ever new words: rows are dropped and built again, of the shipped model too."""
    load_model("en").find(Document("", KNOWN))  # writes the table
    path = Path(__file__).parents[2] / "corpora" / "synthetic" / "dev.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()[:8]
    texts = [json.loads(line)["text"] for line in lines]
    expected = [load_model("en").find(Document("", text)) for text in texts]
    monkeypatch.setattr(decoding, "_COMPILED_ROWS", 1000)
    monkeypatch.setattr(decoding, "_COMPILED_TYPES", 100)
    tabled = load_model("en")
    assert tabled.decoder.tabled
    assert [tabled.find(Document("", text)) for text in texts] == expected


def test_words_of_a_table_take_no_rows():
    _, tabled = pair("default")
    tabled.decode("Mary Smith, York")
    assert tabled._labeller.kept() == (0, 0)
    tabled.decode("Mary Qx Smith")
    assert tabled._labeller.kept()[0] == 1


@pytest.mark.parametrize("damage", ["absent", "cut", "other", "empty", "no folder"])
def test_without_a_table_the_weights_are_used(damage, folder, monkeypatch, tmp_path):
    plain, _ = pair("default")
    for path in folder.iterdir():
        content = path.read_bytes()
        changed = {"absent": None, "cut": content[:-64], "other": content[:-1] + b"\1", "empty": b""}
        if damage == "absent":
            path.unlink()
        elif damage in changed:
            path.write_bytes(changed[damage])
    if damage == "no folder":
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    again = Decoder(weights_for(SETS["default"]), SETS["default"], TablePlace("fingerprint"))
    assert not again.tabled
    assert again.decode(KNOWN)[0].tolist() == plain.decode(KNOWN)[0].tolist()
    after = Decoder(refused, SETS["default"], TablePlace("fingerprint"))
    assert after.tabled is (damage != "no folder")


def test_a_decoder_that_made_its_table_lets_the_weights_go():
    asked = []

    def read() -> Weights:
        asked.append(1)
        return weights_for(SETS["hide"])

    decoder = Decoder(read, SETS["hide"], TablePlace("fingerprint"))
    decoder.marked(KNOWN)
    decoder.decode(KNOWN)
    assert decoder.tabled
    assert len(decoder.labels) == 9
    assert len(asked) == 1


def test_another_model_has_another_table():
    pair("default")
    assert TablePlace("fingerprint").find() is not None
    assert TablePlace("another").find() is None


def test_blocks_that_do_not_fit_are_refused():
    plain, tabled = pair("default")
    block = bytes(TablePlace("fingerprint").find().block)
    plan = SETS["default"].compiled()

    def thaw(labels: int, table: object) -> object:
        rest = dict.fromkeys(("begin", "label", "weight", "transition", "prior"), b"")
        rest |= {**plan, "lists": (), "exact": False, "most_types": 100, "most_rows": 5000}
        return native.Labeller(**rest, labels=labels, attributes=[], table=table)

    for labels, table in ((8, block), (9, block[:64]), (9, b""), (9, block[:-64]), (9, block + bytes(64))):
        # a line of a cache is where numpy's arrays begin, not always where bytes do
        lined = np.zeros(len(table) + 64, np.uint8)
        lined = lined[-lined.ctypes.data % 64 :][: len(table)]
        lined[:] = np.frombuffer(table, np.uint8)
        with pytest.raises(ValueError, match="table"):
            thaw(labels, lined)
    with pytest.raises(TypeError):
        thaw(9, 5)
    for labeller in (tabled._labeller, plain._exact_labeller):
        with pytest.raises(RuntimeError):
            labeller.frozen()


def test_scores_are_asked_of_an_exact_labeller_alone():
    plain, tabled = pair("default")
    for labeller in (plain._labeller, tabled._labeller):
        with pytest.raises(ValueError, match="exact"):
            labeller.scores("Mary Smith", -1, 0.0)
    assert plain._exact_labeller.scores("Mary Smith", -1, 0.0)


def test_common_words_are_those_with_weights_at_most_places():
    plan = SETS["default"].compiled()
    names = [
        "PREV0_often",
        "NEXT0_often",
        "PREV1_often",
        "PREV0_rare",
        "LW_other",
        "PREV1_twice",
        "NEXT2_twice",
        "SH_X",
    ]
    assert common_words(names, plan) == ["often", "twice", "rare"]


def test_the_model_that_ships_reads_no_weights_once_its_table_is_kept(folder, monkeypatch):
    first = load_model("en")
    labels = first.label(KNOWN)[0]
    assert len(list(folder.glob("labeller-*"))) == 1
    monkeypatch.setattr(model_folder, "parse_crfsuite", lambda data: refused())
    again = load_model("en")
    assert again.label(KNOWN)[0] == labels
    assert again.labels == first.labels
