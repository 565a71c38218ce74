"""A tiny NLI model built byte by byte: it sums one row of logits per token of a pair.

It is not trained. The logits of its tokens are chosen by hand, so that a test can compute every probability: "shut"
raises the contradiction, more in the second text than in the first.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace, WhitespaceSplit
from tokenizers.processors import TemplateProcessing

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "open", "shut", "loud")
FIRST, SECOND = 1.0, 6.0
"""What "shut" adds to the contradiction in the first and in the second text."""
CONTRADICTION, ENTAILMENT, NEUTRAL = 0, 1, 2
INT32, INT64 = 6, 7
_FLOAT = 1
_LARGE = 1500


def share(*logits: float) -> float:
    """The softmax share of the first of three logits."""
    raised = [math.exp(logit) for logit in logits]
    return raised[0] / sum(raised)


def weights() -> list[list[float]]:
    """One row of logits per token, for the first text and then for the second."""
    rows = [[0.0, 0.0, 0.0] for _ in range(2 * len(WORDS))]
    for side, more in ((0, FIRST), (len(WORDS), SECOND)):
        rows[side + WORDS.index("shut")][CONTRADICTION] = more
        rows[side + WORDS.index("[PAD]")][ENTAILMENT] = 50.0  # unmasked padding would drown everything
        rows[side + WORDS.index("[SEP]")][NEUTRAL] = 0.5  # a third one, smuggled in, would show
    rows[len(WORDS) + WORDS.index("loud")][CONTRADICTION] = math.inf
    return rows


def write(
    folder: Path,
    *,
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    integer: int = INT64,
    length: int = 0,
    labels: Mapping[str, str] | None = None,
    slow: int = 0,
) -> Path:
    """Write model.onnx, tokenizer.json and, with labels, config.json; returns the folder.

    Args:
        inputs: Names by role: ids, then mask and sides as far as wanted.
        integer: Type of the inputs.
        length: Tokens the model insists on; 0 for any number.
        slow: Multiplications of large matrices that it does on the way, for nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model(inputs, integer=integer, length=length, slow=slow))
    (folder / "tokenizer.json").write_text(tokenizer().to_str(), "utf-8")
    if labels is not None:
        (folder / "config.json").write_text(json.dumps({"id2label": labels}), "utf-8")
    return folder


def tokenizer(*, whole: bool = False) -> Tokenizer:
    """Words, with the usual frame; it pads and cuts, which a judge must switch off.

    Args:
        whole: "[SEP]" stays one word, which the vocabulary knows.
    """
    made = Tokenizer(WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = WhitespaceSplit() if whole else Whitespace()
    made.add_special_tokens(["[PAD]", "[CLS]", "[SEP]"])
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", WORDS.index("[CLS]")), ("[SEP]", WORDS.index("[SEP]"))],
    )
    made.enable_padding(length=40, pad_id=0, pad_token="[PAD]")
    made.enable_truncation(8)
    return made


def model(inputs: Sequence[str], *, integer: int, length: int, slow: int) -> bytes:
    """The ONNX file: logits = sum over tokens of mask * weights[token + words * side]."""
    ids, mask, sides = (*inputs, "", "")[:3]
    nodes = []
    index = ids
    if sides:
        nodes += [_node("Mul", [sides, "words"], "shift"), _node("Add", [ids, "shift"], "index")]
        index = "index"
    nodes.append(_node("Gather", ["weights", index], "rows"))
    summed = "rows"
    if mask:
        nodes += [
            _node("Cast", [mask], "kept", to=_FLOAT),
            _node("Unsqueeze", ["kept", "last"], "column"),
            _node("Mul", ["rows", "column"], "masked"),
        ]
        summed = "masked"
    nodes += [_node("ReduceSum", [summed, "tokens"], "quick", keepdims=0), *_detour(ids, slow)]
    nodes.append(_node("Add", ["quick", f"mean {slow}"], "logits"))
    flat = [value for row in weights() for value in row]
    tensors = [
        _tensor("weights", _FLOAT, (2 * len(WORDS), 3), struct.pack(f"<{len(flat)}f", *flat)),
        _tensor("words", integer, (), struct.pack("<q" if integer == INT64 else "<i", len(WORDS))),
        _tensor("last", INT64, (1,), struct.pack("<q", 2)),
        _tensor("tokens", INT64, (1,), struct.pack("<q", 1)),
        _tensor("large", INT64, (2,), struct.pack("<2q", _LARGE, _LARGE)),
        _tensor("nothing", _FLOAT, (), struct.pack("<f", 0)),
    ]
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, b"tiny")
    graph += b"".join(_field(5, tensor) for tensor in tensors)
    graph += b"".join(_field(11, _value(name, integer, (1, length or "tokens"))) for name in inputs)
    graph += _field(12, _value("logits", _FLOAT, (1, 3)))
    return _number(1, 8) + _field(7, graph) + _field(8, _number(2, 13))


def _detour(ids: str, slow: int) -> list[bytes]:
    """Products of matrices of zeros, fed from the input so that nothing can be computed beforehand."""
    nodes = [
        _node("Cast", [ids], "number", to=_FLOAT),
        _node("ReduceMax", ["number"], "most", keepdims=0),
        _node("Mul", ["most", "nothing"], "mean 0"),
    ]
    if slow:
        nodes += [_node("ConstantOfShape", ["large"], "zeros"), _node("Add", ["zeros", "mean 0"], "step 0")]
        nodes += [_node("MatMul", [f"step {n}", f"step {n}"], f"step {n + 1}") for n in range(slow)]
        nodes.append(_node("ReduceMean", [f"step {slow}"], f"mean {slow}", keepdims=0))
    return nodes


# --------------------------------------------------------------------------------------------
# Protocol buffers: a field is a tag and a number, or a tag, a length and bytes


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(tag: int, value: int) -> bytes:
    return _varint(tag << 3) + _varint(value)


def _field(tag: int, body: bytes) -> bytes:
    return _varint(tag << 3 | 2) + _varint(len(body)) + body


def _node(kind: str, inputs: Sequence[str], output: str, **attributes: int) -> bytes:
    body = b"".join(_field(1, name.encode()) for name in inputs) + _field(2, output.encode()) + _field(4, kind.encode())
    for name, value in attributes.items():
        body += _field(5, _field(1, name.encode()) + _number(3, value) + _number(20, 2))
    return body


def _tensor(name: str, kind: int, dims: Sequence[int], raw: bytes) -> bytes:
    return b"".join(_number(1, dim) for dim in dims) + _number(2, kind) + _field(8, name.encode()) + _field(9, raw)


def _value(name: str, kind: int, dims: Sequence[int | str]) -> bytes:
    shape = b"".join(_field(1, _number(1, dim) if isinstance(dim, int) else _field(2, dim.encode())) for dim in dims)
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, kind) + _field(2, shape)))
