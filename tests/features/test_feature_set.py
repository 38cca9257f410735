"""The feature sets: Table 4.3, affixes, context, dictionaries, and what is kept from the model."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ConfigError
from deid.features import FeatureSet
from deid.features.affix import affix_features
from deid.features.patterns import TABLE_4_3, letter_patterns, pattern_features
from deid.features.position import PositionFeatures, chunk_features, line_features
from deid.features.shape import shape, shape_features
from deid.reading.tokenization import Tokens, tokenize

SAMPLE = (
    "CLINICAL HISTORY: 56 year old female with a history of B-cell lymphoma "
    "(Marginal zone, SH-02-22222, 6/22/01). Flow cytometry and molecular diagnostics drawn."
)

# a token that fires, a token that does not; the corrected rows of the dissertation's Table 4.3
TABLE_ROWS = {
    "ALPHA": ("HISTORY", "56"),
    "INITCAPS": ("Flow", "flow"),
    "UPPER-LOWER": ("Marginal", "SH"),
    "ALLCAPS": ("CLINICAL", "Clinical"),
    "MIXEDCAPS": ("McNeil", "Mcneil"),
    "SINGLECHAR": ("B", "BC"),
    "SINGLEDIGIT": ("6", "56"),
    "DOUBLEDIGIT": ("56", "6"),
    "TRIPLEDIGIT": ("120", "12"),
    "QUADDIGIT": ("2010", "20101"),
    "NUMBER": ("1,200", ","),
    "HASDIGIT": ("a1", "a"),
    "ALPHANUMERIC": ("1a", "11"),
    "NUMBERS_LETTERS": ("12mg", "mg12"),
    "LETTERS_NUMBERS": ("mg12", "12mg"),
    "HASDASH": ("-", "a"),
    "HASQUOTE": ("'", ","),
    "HASSLASH": ("/", "\\"),
    "ISPUNCT": (";", "a"),
    "REALNUMBER": ("-3.5", ","),
    "STARTMINUS": ("-3", "3-"),
    "STARTPLUS": ("+3", "3+"),
    "ENDPERCENT": ("5%", "%5"),
    "ROMAN": ("XIV", "XAV"),
    "ISSPACE": (" \n", "a"),
}


def test_every_row_of_table_4_3_has_a_case() -> None:
    assert set(TABLE_ROWS) == set(TABLE_4_3)


@pytest.mark.parametrize("name", TABLE_ROWS)
def test_table_4_3(name: str) -> None:
    table = letter_patterns(unicode=False)
    fires, silent = TABLE_ROWS[name]
    assert name in pattern_features(fires, table)
    assert name not in pattern_features(silent, table)


def test_patterns_of_the_default_preset_know_accented_letters() -> None:
    table = letter_patterns(unicode=True)
    assert {"ALPHA", "UPPER-LOWER", "INITCAPS"} <= set(pattern_features("Íñigo", table))
    assert "ALPHA" not in pattern_features("Íñigo", letter_patterns(unicode=False))


def test_affixes_of_the_source() -> None:
    assert affix_features("diagnosis") == ("PRE1_d", "PRE2_di", "PRE3_dia", "SUF1_s", "SUF2_is", "SUF3_sis")
    assert affix_features("56") == ("PRE1_5", "PRE2_56", "SUF1_6", "SUF2_56")
    assert affix_features("56", hide_compat=True) == ("PRE1_5", "SUF1_6")
    assert affix_features("a", hide_compat=True) == ()


def test_shapes() -> None:
    assert shape("McNeil") == "XxXxxx"
    assert shape_features("2010")[1] == "SS_d"
    assert shape("x" * 40) == "x" * 12 + "+"


def rows(features: FeatureSet, text: str = SAMPLE) -> dict[str, dict[str, float]]:
    """Attributes by token, for texts whose tokens of interest differ."""
    encoded = features.encode(text)
    return {encoded.tokens.strings[i]: row for i, row in zip(encoded.items, features.expand(encoded), strict=True)}


def test_rows_of_table_4_1() -> None:
    found = rows(FeatureSet("hide", skip_punct=True))
    assert {"ALPHA", "PREV0_CLINICAL", "NEXT0_56", "PRE1_H", "SUF1_Y"} <= set(found["HISTORY"])
    assert "NUMBER" not in found["HISTORY"]
    assert {"NUMBER", "PREV0_HISTORY", "NEXT0_year", "PRE1_5", "SUF1_6"} <= set(found["56"])
    assert {"PREV0_56", "NEXT0_old"} <= set(found["year"])
    assert {"PREV0_year", "NEXT0_female"} <= set(found["old"])


def test_context_is_four_each_side_over_white_space() -> None:
    found = rows(FeatureSet("hide", "c"), "a b c d e f g h i")["e"]
    assert found == {
        "OCC": pytest.approx(1 / 17),
        **{f"PREV{j}_{w}": 1.0 for j, w in enumerate("dcba")},
        **{f"NEXT{j}_{w}": 1.0 for j, w in enumerate("fghi")},
    }


def test_hide_labels_white_space_too_and_default_does_not() -> None:
    assert len(FeatureSet("hide").encode("a b").items) == 3
    assert len(FeatureSet("default").encode("a b").items) == 2


def test_groups_switch_families_off() -> None:
    only_r = rows(FeatureSet("hide", "r"))["HISTORY"]
    assert set(only_r) == {"ALPHA", "INITCAPS", "ALLCAPS"}
    assert set(rows(FeatureSet("hide", "a"))["old"]) == set(affix_features("old"))
    assert FeatureSet("default", "cr").groups == "rc"


def test_dictionary_words_and_phrases_fire_on_each_token() -> None:
    features = FeatureSet("hide", "d", ["places/states"])
    encoded = features.encode("in New York or Texas")
    fired = [encoded.tokens.strings[i] for i, row in zip(encoded.items, features.expand(encoded), strict=True) if row]
    assert fired == ["New", " ", "York", "Texas"]
    assert rows(features, "TEXAS")["TEXAS"] == {"IN_places/states": 1.0}


def position(extract: Callable[[Tokens, Sequence[int]], PositionFeatures], text: str) -> dict[str, set[str]]:
    tokens = tokenize(text)
    items = [i for i in range(len(tokens)) if not tokens.spaces[i]]
    return {tokens.strings[i]: {n for n, _ in row} for i, row in zip(items, extract(tokens, items), strict=True)}


def test_line_features_tell_place_and_header() -> None:
    found = position(line_features, "PAST HISTORY\r\nPat. Name: Ana Ruiz\n\nnext")
    assert found["Ana"] == {"LP_3", "HD_pat . name"}
    assert found["Ruiz"] == {"LP_3", "HD_pat . name", "LE"}
    assert found["PAST"] == {"LP_0"}
    assert found["next"] == {"LP_0", "LE"}


def test_chunk_features_tell_what_stands_together() -> None:
    found = position(chunk_features, "On (22-10-04), c/o Ana")
    assert found["10"] == {"CS_d-d-d", "CF_dd-dd-dd", "CP_3"}
    assert found["22"] == {"CS_d-d-d", "CF_dd-dd-dd", "CP_1"}
    assert found["c"] == {"CS_x/x", "CP_0"}
    assert found["Ana"] == set()


@given(text=st.text(alphabet=st.sampled_from("Ab 1.\n\t-é\u0301\x00\ud800"), max_size=40))
def test_expansion_equals_what_the_definition_says(text: str) -> None:
    """Type attributes at each neighbour, position attributes, and nothing else."""
    features = FeatureSet("default", "rac")
    encoded = features.encode(text)
    words = [s for s in encoded.tokens.strings if not s.isspace()]
    for i, row in enumerate(features.expand(encoded)):
        expected = {name for name, _ in encoded.position[i]}
        for offset in features.offsets:
            token = words[i + offset] if 0 <= i + offset < len(words) else None
            expected |= set(features.type_attributes(token, offset))
        assert set(row) == expected
        assert all("\0" not in name and name.encode("utf-8") for name in row)


def test_lexical_attributes_are_those_that_spell_words() -> None:
    features = FeatureSet("default", "rac")
    found = {name for offset in (-1, 0) for name, spells in features.spelled_attributes("Szymborska", offset) if spells}
    assert {"PREV0_Szymborska", "LW_szymborska", "PRE5_Szymb"} <= found
    assert not any(name.startswith(("SH_", "PRE3_", "ALPHA")) for name in found)
    assert features.spells("HD_name")
    assert not features.spells("LP_1")


def test_a_feature_set_is_rebuilt_from_its_description() -> None:
    features = FeatureSet("hide", "rc", skip_punct=True)
    for again in (FeatureSet.from_spec(features.spec()), pickle.loads(pickle.dumps(features))):
        assert rows(again) == rows(features)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("best",), "known: hide, default"), (("hide", "rx"), "letters of racd"), (("hide", ""), "letters of racd")],
)
def test_unknown_choices_are_refused(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        FeatureSet(*arguments)
