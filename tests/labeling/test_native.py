"""The compiled labeller, fuzzed against the NumPy route: any text, any weights, any length."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from products import by_day

from deid.base.compiled import native
from deid.features import FeatureSet
from deid.labeling import decoder as decoding
from deid.labeling import reference
from deid.labeling.chances import REACH, chances
from deid.labeling.decoder import Decoder
from deid.labeling.schemes import labels_to_spans
from deid.labeling.weights import Weights
from deid.reading import alphabet
from deid.reading.dictionaries import fold

pytestmark = pytest.mark.skipif(native is None, reason="the compiled module is not there")

LISTS = ("names/titles", "places/states", "calendar/months")
SETS = {
    "hide": FeatureSet("hide", "racd", LISTS),
    "default": FeatureSet("default", "racd", LISTS),
    "words": FeatureSet("default", "c", skip_punct=True),
    "plain": FeatureSet("hide", "ra"),
}
PLAIN = (
    "Dr. ",
    "new york",
    "New\nHampshire",
    "new\n\nmexico",
    "north  carolina",
    "Name: ",
    "a b c: d\n",
    "-3.5%",
    "McNeil",
)
ODD = (
    "ΟΔΟΣ",
    "İstanbul",
    "José",
    "e\u0301",
    "ﬁne",
    "\u2019s",
    "\ud800",
    "\0",
    "½",
    "١٢",
    "\r\n",
    "\x1c",
    "😀",
    "SH-02-22",
)
PIECES = st.sampled_from([*PLAIN, *ODD])
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=25).map("".join)


def decoder_for(features: FeatureSet, texts: list[str], seed: int, labels: int, share: float) -> Decoder:
    """Return a decoder with random weights for a share of the attributes of some texts."""
    random = np.random.default_rng(seed)
    names = sorted({name for text in texts for row in features.expand(features.encode(text)) for name in row})
    names = [name for name in names if random.random() < share]
    state = random.normal(size=(len(names), labels)) * (random.random((len(names), labels)) < 0.4)
    # whole numbers make ties
    state = np.round(state) if seed % 2 else state
    moves = np.round(random.normal(size=(labels, labels)) * 2)
    tags = ("O", *(f"B-{i}" for i in range(labels - 1)))
    weights = Weights(tags, {n: i for i, n in enumerate(names)}, state, moves, random.normal(size=labels).round(1))
    return Decoder(weights, features)


def check(decoder: Decoder, text: str, bias: float = 0.0) -> None:
    """Compare both routes on a text."""
    encoded = decoder.features.encode(text)
    expected = decoder.emissions(encoded)
    expected[:, 0] -= bias
    scores, starts, ends = decoder.scores(text, bias)
    assert scores == pytest.approx(expected, abs=1e-9)
    assert starts.tolist() == encoded.tokens.starts[encoded.items].tolist()
    assert ends.tolist() == encoded.tokens.ends[encoded.items].tolist()
    labels, first, last, _ = decoder.decode(text, bias)
    assert (first.tolist(), last.tolist()) == (starts.tolist(), ends.tolist())
    if len(labels):
        best = reference.viterbi(expected, decoder.weights.transition)
        places = np.arange(len(best))

        def total(path: np.ndarray) -> float:
            moves = decoder.weights.transition[path[:-1], path[1:]].sum()
            return float(expected[places, path.astype(int)].sum() + moves)

        # scores are rounded: another path may be as good
        assert labels.tolist() == best.tolist() or total(labels) == pytest.approx(total(best), abs=1e-3)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(sorted(SETS)),
    st.lists(TEXTS, min_size=1, max_size=3),
    st.integers(0, 99),
    st.sampled_from([1, 2, 7, 9, 17]),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_any_text_and_weights(preset, texts, seed, labels, share):
    decoder = decoder_for(SETS[preset], texts, seed, labels, share)
    for text in (*texts, texts[0]):
        check(decoder, text, bias=seed % 3)


@pytest.mark.parametrize("preset", sorted(SETS))
def test_notes_of_many_alphabets_and_places(preset):
    """The same without chance, in a moment: one text has all that is odd, others begin and end with it."""
    notes = [
        "Name: Dvořák, Ana\nDr. Łucja Żak saw a woman from North  Carolina and New York in March.\n",
        "Žofie: -3.5% of ½, ١٢ and 4,711 on 03/04/2019\r\n\r\n* NEW HAMPSHIRE *\tMcNeil's e-mail: a@b.example",
        "".join(ODD) + " ".join(PLAIN),
        "new\nyork new\n\nyork New York",
    ]
    decoder = decoder_for(SETS[preset], notes, 6, 9, 0.7)
    for text in (*notes, *(note[::-1] for note in notes), *(piece for piece in (*PLAIN, *ODD))):
        check(decoder, text, bias=0.5)


@settings(max_examples=60)
@given(TEXTS, st.integers(0, 99), st.sampled_from(["BIO", "BIOES"]), st.sampled_from(["hide", "default"]))
def test_spans_are_what_the_labels_say(text, seed, scheme, preset):
    tags = ("O", *(f"{kind}-{name}" for name in ("NAME", "DATE") for kind in scheme if kind != "O"))
    decoder = decoder_for(SETS[preset], [text], seed, len(tags), 0.5)
    decoder = Decoder(replace(decoder.weights, labels=tags), decoder.features)
    labels, starts, ends, _ = decoder.decode(text, bias=1.0)
    spans = labels_to_spans([tags[i] for i in labels.tolist()], starts, ends)
    expected = [(s.start, s.end, s.category) for s in spans if not text[s.start : s.end].isspace()]
    assert decoder.marked(text, bias=1.0) == expected


@settings(max_examples=60)
@given(TEXTS, st.integers(0, 99), st.sampled_from(sorted(SETS)), st.data())
def test_chances_equal_the_plain_route_and_in_short_texts_the_whole(text, seed, preset, data):
    tags = ("O", *(f"{kind}-{name}" for name in ("NAME", "DATE") for kind in "BI"))
    decoder = decoder_for(SETS[preset], [text], seed, len(tags), 0.5)
    decoder = Decoder(replace(decoder.weights, labels=tags), decoder.features)
    emissions, starts, ends = decoder.scores(text, 1.0)
    best, _, _, sure = decoder.decode(text, 1.0, sure=True)
    if not np.array_equal(best, decoder.decode(text, 1.0)[0]):
        return  # another path is as good
    firsts = data.draw(st.lists(st.integers(0, max(0, len(best) - 1)), max_size=4)) if len(best) else []
    stretches = [(a, data.draw(st.integers(a + 1, len(best)))) for a in firsts]
    places = [(int(starts[a]), int(ends[b - 1])) for a, b in stretches]
    found = decoder.chances(text, places, 1.0)
    assert found == pytest.approx(chances(emissions, decoder.weights.transition, best, stretches, 0), abs=1e-6)
    decoder.marked("another text", 1.0)
    assert found == decoder.chances(text, places, 1.0)  # whatever was read before
    sure = np.where(best == 0, 1 - sure, sure)
    if len(best) <= 1 + REACH:
        assert found == pytest.approx([sure[a:b].min() for a, b in stretches], abs=1e-6)


def test_chances_of_no_place_of_nothing_and_of_scores_far_apart():
    decoder = decoder_for(SETS["hide"], ["a b c d"], 1, 4, 1.0)
    assert decoder.chances("a b c d", []) == []
    assert decoder.chances("", [(0, 3)]) == decoder.chances("a b c d", [(2, 2), (90, 99)])[:1] == [1.0]
    decoder.weights.state[:, 1] = 1e4
    wide = Decoder(decoder.weights, decoder.features)
    assert wide.chances("a b c d", [(0, 7)]) == pytest.approx([1.0])


TEXTS = ["", "a", " ", "\n", "\0", "\ud800", "x" * 30_000, "- " * 3000, "\n" * 20_000]


@pytest.mark.parametrize(("preset", "text"), by_day(sorted(SETS), TEXTS))
def test_lengths_none_one_and_huge(preset, text):
    check(decoder_for(SETS[preset], [text[:50], "a b"], 1, 3, 1.0), text)


def test_rows_that_are_dropped_are_built_again(monkeypatch):
    monkeypatch.setattr(decoding, "_COMPILED_TYPES", 50)
    monkeypatch.setattr(decoding, "_COMPILED_ROWS", 1024)
    texts = [" ".join(f"w{n}x{k}" for n in range(300)) for k in range(4)]
    decoder = decoder_for(SETS["default"], texts, 2, 5, 1.0)
    for text in (*texts, *texts):
        check(decoder, text)
        assert decoder._labeller.kept()[1] <= 1024


def test_rows_of_whole_numbers_give_the_labels_of_double_precision():
    random = np.random.default_rng(5)
    words = ["Smith", "the", "saw", "Dr", ".", "12", "of", "Boston", "clinic", ":"]
    texts = [" ".join(random.choice(words, 400)) for _ in range(5)]
    decoder = decoder_for(SETS["default"], texts, 4, 21, 1.0)
    for text in texts:
        expected = reference.viterbi(decoder.emissions(decoder.features.encode(text)), decoder.weights.transition)
        assert decoder.decode(text)[0].tolist() == expected.tolist()


def test_a_kind_and_a_group_for_each_label():
    labeller = native.Labeller(**parts())
    assert labeller.spans("a b a a", 0, 0.0, b"\0\1", b"\0\1") == [(0, 1, 1), (4, 5, 1), (6, 7, 1)]
    assert labeller.spans("a b a a", 0, 0.0, b"\0\2", b"\0\1") == [(0, 1, 1), (4, 7, 1)]
    assert labeller.spans("a", 0, 0.0, b"\0\2", b"\0\1") == [(0, 1, 1)]
    assert labeller.spans("a a", 0, 0.0, b"\0\2", b"\0\1") == [(0, 3, 1)]  # all of the text is one span
    assert labeller.spans("b", 0, 0.0, b"\0\2", b"\0\1") == labeller.spans("", 0, 0.0, b"\0\2", b"\0\1") == []
    with pytest.raises(ValueError, match="group"):
        labeller.spans("a", 0, 0.0, b"\0", b"\0\1")


def test_a_large_bias_leaves_no_outside_or_nothing_else():
    decoder = decoder_for(SETS["default"], ["a b c"], 3, 5, 1.0)
    for bias, outside in ((1e9, False), (-1e9, True)):
        labels = decoder.decode("a b c " * 50, bias)[0]
        assert set((labels == 0).tolist()) == {outside}


def test_ties_go_to_the_lower_label_however_long_the_text():
    decoder = decoder_for(SETS["hide"], ["a b"], 1, 9, 1.0)
    decoder.weights.state[:] = 0
    decoder.weights.transition[:] = np.arange(9) % 2
    decoder.weights.prior[:] = 0
    text = "a b " * 20_000
    expected = reference.viterbi(np.zeros((80_000, 9)), decoder.weights.transition)
    assert decoder.decode(text)[0].tolist() == expected.tolist()


def test_extreme_weights_end_in_some_labels():
    for value in (1e300, -1e300, np.inf, np.nan):
        decoder = decoder_for(SETS["hide"], ["a b c d"], 1, 4, 1.0)
        decoder.weights.state[:] = value
        decoder.weights.transition[1] = value
        labels = decoder.decode("a b c d a b")[0]
        assert len(labels) == 11
        assert set(labels.tolist()) <= set(range(4))


def parts(**changed):
    return {
        **{"labels": 2, "attributes": ["a"], "begin": np.array([0, 1], np.int32), "label": np.array([1], np.int32)},
        **{"weight": np.ones(1), "transition": np.zeros((2, 2)), "prior": np.zeros(2), "offsets": (0,)},
        **{
            "families": ((3, (0, 0, 0), {0: ""}),),
            "edges": ("",),
            "lists": (),
            "describe": alphabet.page,
            "fold": fold,
        },
        **{"scheme": 1, "spaces": False, "skip_signs": False, "position": 0, "exact": False},
        **{"most_types": 100, "most_rows": 5000},
        **changed,
    }


def test_a_labeller_made_by_hand_labels():
    path, starts, ends = native.Labeller(**parts()).path("a b a", 0, 0.0)
    assert list(path) == [1, 0, 1]
    assert np.frombuffer(starts, np.int64).tolist() == [0, 2, 4]
    assert np.frombuffer(ends, np.int64).tolist() == [1, 3, 5]


def test_the_share_of_a_word_in_its_text_counts_where_it_is_the_first_attribute():
    share = {
        "attributes": ["OCC"],
        "families": (),
        "position": 1,
        "weight": np.array([5.0]),
        "prior": np.array([0, -1.5]),
    }
    path = native.Labeller(**parts(**share)).path("a b a", 0, 0.0)[0]
    assert list(path) == [1, 0, 1]  # two fifths and one, as blanks are tokens


@pytest.mark.parametrize(
    "changed",
    [
        {"labels": 0},
        {"labels": 257},
        {"labels": 3},
        {"begin": np.array([0, 2], np.int32)},
        {"begin": np.array([1, 0], np.int32)},
        {"label": np.array([2], np.int32)},
        {"label": np.array([-1], np.int32)},
        {"weight": np.ones(2)},
        {"attributes": ["a", "a"]},
        {"offsets": (1,)},
        {"offsets": (1, 0), "edges": ("", "")},
        {"offsets": (0, 10**6), "edges": ("", "")},
        {"offsets": tuple(range(17)), "edges": ("",) * 17},
        {"edges": ()},
        {"families": ((9, (0, 0, 0), {0: ""}),)},
        {"families": ((2, (99, 1, 0), {0: ""}),)},
        {"families": ((3, (0, 0, 0), {0: "x" * 99}),)},
        {"scheme": 0},
        {"position": 3},
        {"most_rows": 1},
        {"lists": (("a", "", ()),)},
        {"describe": lambda number: b""},
    ],
)
def test_parts_that_do_not_fit_are_refused(changed):
    with pytest.raises(ValueError, match=r"."):
        native.Labeller(**parts(**changed))


def test_errors_of_python_pass_and_leave_a_labeller_that_works():
    class Broken(Exception):
        pass

    def page(number):
        if number:
            raise Broken
        return alphabet.page(number)

    labeller = native.Labeller(**parts(describe=page))
    for _ in range(2):
        with pytest.raises(Broken):
            labeller.path("a \u4e00", 0, 0.0)
        assert list(labeller.path("a b", 0, 0.0)[0]) == [1, 0]
    with pytest.raises(ValueError, match="label"):
        labeller.path("a", 2, 0.0)
    with pytest.raises(RuntimeError):
        labeller.__init__(**parts())
    with pytest.raises(RuntimeError):
        native.Labeller.__new__(native.Labeller).path("a", -1, 0.0)
