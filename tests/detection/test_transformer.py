"""A tiny transformer made here: each word's label is looked up in a table, so what must be found is known."""

from __future__ import annotations

import dataclasses
import itertools
import json
import types
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deid.base.errors import ModelError
from deid.detection.transformer import TransformerRecognizer, windows
from deid.document import Document

onnx = pytest.importorskip("onnx", reason="the tiny model is made with onnx (extra dev)")
tokenizers = pytest.importorskip("tokenizers", reason="the extra onnx is not installed")
pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")

LABELS = ("O", "B-PER", "I-PER", "B-DATE")
WORDS = {"ana": 1, "ruiz": 2, "zoë": 1, "monday": 3}


def make(folder: Path, labels: tuple[str, ...] = LABELS, names: dict[str, str | None] | None = None) -> Path:
    """Write a model that labels the words of `WORDS` and nothing else."""
    from onnx import TensorProto, helper, numpy_helper

    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, **{word: i for i, word in enumerate(WORDS, 3)}}
    table = np.full((len(vocabulary), len(labels)), -4.0, dtype=np.float32)
    table[:3, 0] = 4.0
    for word, label in WORDS.items():
        table[vocabulary[word], label] = 4.0
    shape = [1, "tokens"]
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["logits"])],
        "tiny",
        [helper.make_tensor_value_info(n, TensorProto.INT64, shape) for n in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [*shape, len(labels)])],
        [numpy_helper.from_array(table, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    folder.mkdir()
    onnx.save(model, str(folder / "model.onnx"))
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"id2label": {str(i): label for i, label in enumerate(labels)}, "max_position_embeddings": 64}
    (folder / "config.json").write_text(json.dumps(config))
    names = {"PER": "PATIENT"} if names is None else names
    (folder / "labels.json").write_text(json.dumps(names))
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TransformerRecognizer:
    return TransformerRecognizer.load(make(tmp_path_factory.mktemp("t") / "tiny"))


def found(recognizer: TransformerRecognizer, text: str) -> list[tuple[str, str]]:
    return [(text[s.start : s.end], s.category) for s in recognizer.find(Document("x", text))]


def test_spans_have_offsets_categories_source_and_score(tiny: TransformerRecognizer) -> None:
    text = "🙂 é Seen: Zoë Ruiz,\non Monday by Ana."
    assert found(tiny, text) == [("Zoë Ruiz", "PATIENT"), ("Monday", "DATE"), ("Ana", "PATIENT")]
    span = tiny.find(Document("x", text))[0]
    assert span.source == "transformer:tiny"
    assert span.score is not None
    assert span.score > 0.99
    assert tiny.categories == {"PATIENT", "DATE"}


@pytest.mark.parametrize("text", ["", " \n", "nothing here"])
def test_texts_without_phi(text: str, tiny: TransformerRecognizer) -> None:
    assert found(tiny, text) == []


@pytest.mark.parametrize(
    ("kind", "most", "longest"),
    [
        ("bert", 64, 64),
        ("bert", 4096, 512),
        ("bert", None, 512),
        (None, 64, 64),
        ("roberta", 514, 512),
        ("xlm-roberta", 64, 62),
        ("camembert", 4098, 512),
        ("roberta", 513, 511),
    ],
)
def test_a_model_takes_so_many_tokens_as_it_has_positions(
    tmp_path: Path, kind: str | None, most: int | None, longest: int
) -> None:
    """Those of the family of roberta begin at 2."""
    folder = make(tmp_path / "tiny")
    config = json.loads((folder / "config.json").read_text()) | {"model_type": kind, "max_position_embeddings": most}
    (folder / "config.json").write_text(json.dumps({key: own for key, own in config.items() if own is not None}))
    assert TransformerRecognizer.load(folder).longest == longest


@given(words=st.lists(st.sampled_from(["Ana", "Ruiz", "Monday", "and", "then", ","]), max_size=60))
def test_windows_change_nothing_where_the_model_sees_single_words(
    tiny: TransformerRecognizer, words: list[str]
) -> None:
    text = " ".join(words)
    short = dataclasses.replace(tiny, longest=9)
    assert found(short, text) == found(tiny, text)


def test_a_long_document_never_exceeds_what_the_model_takes(tiny: TransformerRecognizer) -> None:
    lengths: list[int] = []

    class Watch:
        def get_inputs(self) -> object:
            return tiny.session.get_inputs()

        def run(self, names: None, inputs: dict[str, np.ndarray]) -> object:
            lengths.append(inputs["input_ids"].shape[1])
            return tiny.session.run(names, inputs)

    watched = dataclasses.replace(tiny, session=Watch())
    assert found(watched, "and " * 500 + "Ana Ruiz " + "and " * 200) == [("Ana Ruiz", "PATIENT")]
    assert len(lengths) > 10
    assert max(lengths) == tiny.longest == 64


@given(n=st.integers(0, 300), size=st.integers(1, 40), share=st.floats(0.1, 1))
def test_windows_cover_everything_and_no_more(n: int, size: int, share: float) -> None:
    stride = max(1, int(size * share))
    cut = windows(n, size, stride)
    assert {i for first, stop in cut for i in range(first, stop)} == set(range(n))
    assert all(stop - first == min(n, size) for first, stop in cut)
    assert all(b[0] - a[0] <= stride for a, b in itertools.pairwise(cut))


@pytest.mark.parametrize(("count", "size", "stride"), [(40, 12, 3), (41, 12, 5), (9, 12, 5), (30, 7, 7), (25, 8, 1)])
def test_the_window_that_sees_most_on_both_sides_decides(
    count: int, size: int, stride: int, tiny: TransformerRecognizer
) -> None:
    asked = itertools.count()

    class Numbering:
        """Says of each token in which window it is asked."""

        def get_inputs(self) -> object:
            return tiny.session.get_inputs()

        def run(self, names: None, inputs: dict[str, np.ndarray]) -> object:
            logits = np.zeros((1, inputs["input_ids"].shape[1], len(tiny.labels)))
            logits[..., 0] = next(asked)
            return [logits]

    special = len(tiny.tokenizer.encode("").ids)
    telling = dataclasses.replace(tiny, session=Numbering(), longest=size + special, stride=stride)
    chances = telling._chances(np.full(count, 5))
    cut = windows(count, size, stride)
    for at, row in enumerate(chances):
        sees = {}
        for number, (first, stop) in enumerate(cut):
            if first <= at < stop:
                left, right = at - first if first else count, stop - 1 - at if stop < count else count
                sees[number] = min(left, right)
        assert round(float(np.log(row[0] / row[1]))) in [n for n in sees if sees[n] == max(sees.values())]


@pytest.mark.parametrize("special", [[], [2], [1, 2], [1, 0, 2]])
def test_what_the_tokenizer_puts_around_a_text_stands_around_every_window(
    special: list[int], tiny: TransformerRecognizer
) -> None:
    given: list[list[int]] = []

    class Around:
        def encode(self, text: str, add_special_tokens: bool = True) -> object:
            assert (text, add_special_tokens) == ("", True)
            return types.SimpleNamespace(ids=special)

    class Watch:
        def get_inputs(self) -> object:
            return tiny.session.get_inputs()

        def run(self, names: None, inputs: dict[str, np.ndarray]) -> object:
            given.append(inputs["input_ids"][0].tolist())
            return tiny.session.run(names, inputs)

    asked = dataclasses.replace(tiny, session=Watch(), tokenizer=Around(), longest=4 + len(special))
    ids = [3, 4, 0, 5, 6, 3, 3]
    chances = asked._chances(np.array(ids))
    cut = [ids[first:stop] for first, stop in windows(len(ids), 4, 2)]
    assert given == [[*special[:-1], *part, *special[-1:]] for part in cut]
    assert chances.argmax(axis=1).tolist() == [1, 2, 0, 1, 3, 1, 1]
    assert chances.sum(axis=1) == pytest.approx(1)


def test_a_category_that_nobody_knows_is_refused_until_it_is_mapped(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no known label set"):
        TransformerRecognizer.load(make(tmp_path / "a", names={}))
    left_out = TransformerRecognizer.load(make(tmp_path / "b", names={"PER": None}))
    assert found(left_out, "Ana Ruiz on Monday") == [("Monday", "DATE")]


@pytest.mark.parametrize("missing", ["tokenizer.json", "config.json", "model.onnx"])
def test_an_incomplete_folder_is_refused(missing: str, tmp_path: Path) -> None:
    folder = make(tmp_path / "m")
    (folder / missing).unlink()
    with pytest.raises(ModelError, match="no token-classification model"):
        TransformerRecognizer.load(folder)


def test_labels_without_scheme_join_neighbouring_words(tmp_path: Path) -> None:
    plain = TransformerRecognizer.load(make(tmp_path / "m", ("O", "PER", "PER", "DATE")))
    assert found(plain, "Ana Ruiz on Monday") == [("Ana Ruiz", "PATIENT"), ("Monday", "DATE")]


def test_it_joins_model_and_rules_on_the_command_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from deid.cli.main import app

    folder = make(tmp_path / "mine")
    (tmp_path / "note.txt").write_text("plan was agreed with zoë ruiz. MRN: 4839201\n", encoding="utf-8")

    def scrubbed(*options: str) -> str:
        out = tmp_path / f"out{len(options)}.txt"
        arguments = ["scrub", str(tmp_path / "note.txt"), str(out), "--policy", "tag", "--model", "none", *options]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
        return out.read_text(encoding="utf-8")

    assert "zoë ruiz" in scrubbed()
    joined = scrubbed("--transformer", str(folder))
    assert "zoë" not in joined
    assert "ruiz" not in joined
    assert "4839201" not in joined
