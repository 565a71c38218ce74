"""The network as an ONNX graph that gives the same result on every processor.

- Matrix products are products of integers (`training/quantise.py`), so they are exact.
- Each row of inputs has its own quantisation step, so a text has the same result alone and in any batch.
- Single precision is used only for additions, multiplications, divisions and roundings, one per node, which IEEE 754
  fully determines. GELU is a table.
- Sums of many numbers and the exponential of the attention use double precision. Differences between processors are
  about nine digits below the next rounding.

The graph must be run without fusion of operations (`models/onnx.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erf, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from training.model import HEADS, POSITIONS, WIDTH
from training.quantise import GELU_FLOOR, Linear

FLOAT, DOUBLE, INT32 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32
_GELU_STEP = 1 / 1024
_GELU_MIDDLE = 32_768
_ZERO = 128
"""Zero point of signed inputs."""
FAR = -200.0
"""Attention score added to what is not seen; the exponential of a much smaller one is slow, since it underflows."""

OF_ROWS = ("rows", "length")
Inputs = Mapping[str, tuple[str, ...]]
"""Names of the inputs and of their dimensions; all are integers."""
State = Mapping[str, NDArray[np.float32]]
"""Parameters in single precision, by name in `training/model.py`."""


class Turn(NamedTuple):
    """A linear map of unit vectors into another space: `vector @ weights + bias`, in double precision."""

    weights: NDArray[np.float64]
    bias: NDArray[np.float64]


def embedder_graph(state: State, maps: Mapping[str, Linear], path: Path, turn: Turn | None = None) -> None:
    """Write the embedder: `pieces` (rows, length; 0 is padding) to `vectors` (rows, 384) of length 1."""
    graph = Graph()
    hidden = graph.encoder(graph.words(state), state, maps)
    mean = graph.mean(hidden, graph.present())
    if turn is not None:
        turned = graph.op("MatMul", graph.of_length_1(mean), graph.constant("turn", turn.weights))
        mean = graph.op("Add", turned, graph.constant("turn.bias", turn.bias))
    graph.write(path, {"pieces": OF_ROWS}, graph.of_length_1(mean), "vectors", WIDTH)


class _Bytes(NamedTuple):
    """Rows of numbers as bytes: (integers - zero) * step, with one step per row."""

    integers: str
    step: str
    zero: str


class Graph:
    """Builder of a graph: nodes and constants are added in order, and values are referenced by name."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"{kind}.{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, name: str, value: object) -> str:
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.array(value, order="C"), name)
        return name

    def axis(self, *axes: int) -> str:
        return self.constant("axis" + "".join(map(str, axes)), np.array(axes, np.int64))

    def cast(self, value: str, to: int) -> str:
        return self.op("Cast", value, to=to)

    # What is read

    def words(self, state: State, places: str | None = None) -> str:
        """Sum of piece and position embeddings, shape (rows, length, width); by default positions count from 0.

        A state without vectors of pieces reads them from the input `words`.
        """
        words = self.of_pieces(state["words.weight"]) if "words.weight" in state else "words"
        if places is None:
            one = self.constant("one", np.int64(1))
            length = self.op("Gather", self.op("Shape", "pieces"), one)
            places = self.op("Range", self.constant("nought", np.int64(0)), length, one)
        return self.op("Add", words, self.looked_up("positions", state["positions.weight"][:POSITIONS], places))

    def of_pieces(self, table: NDArray[np.float32]) -> str:
        """The vector of each piece, from a table with one byte for each number."""
        step = np.maximum(np.abs(table).max(axis=1) / 127, np.float32(1e-12))
        integers = (np.rint(table / step[:, None]) + _ZERO).astype(np.uint8)
        words = self.cast(self.op("Gather", self.constant("words", integers), "pieces"), FLOAT)
        steps = self.op("Gather", self.constant("words.step", step.astype(np.float32)), "pieces")
        words = self.op("Sub", words, self.constant("words.zero", np.float32(_ZERO)))
        return self.op("Mul", words, self.op("Unsqueeze", steps, self.axis(2)))

    def looked_up(self, name: str, table: NDArray[np.float32], places: str) -> str:
        return self.op("Gather", self.constant(name, table.astype(np.float32)), places)

    def present(self) -> str:
        absent = self.op("Equal", "pieces", self.constant("padding", np.int64(0)))
        return self.cast(self.op("Not", absent), DOUBLE)

    # The encoder

    def encoder(
        self, summed: str, state: State, maps: Mapping[str, Linear], attention: Callable[[str], str] | None = None
    ) -> str:
        """The last layer's vectors, in double precision, shape (rows, length, width).

        Args:
            summed: Sum of the embeddings.
            state / maps: Parameters, and the linear maps.
            attention: From query, key and value side by side (places, 3 * width) to the values read (places, width);
                by default each piece sees all of its row.
        """
        shape = self.op("Shape", "pieces")
        attention = attention or self.attention(shape)
        flat = self.constant("flat", np.array([-1, WIDTH], np.int64))
        even = self.normalised(self.op("Reshape", summed, flat))
        hidden = self.scaled("norm", even, state["norm.weight"], state["norm.bias"])
        layers = len({name.split(".")[1] for name in maps if name.startswith("layers.")})
        gain, shift = state["norm.weight"], state["norm.bias"]
        for place in range(layers):
            name = f"layers.{place}"
            given = self.inputs(f"{name}.read", maps, even, gain, shift)
            read = attention(self.linear(f"{name}.read", maps, given))
            read = self.linear(f"{name}.output", maps, self.bytes_of(read))
            even = self.normalised(self.op("Add", hidden, read))
            gain, shift = state[f"{name}.attention_norm.weight"], state[f"{name}.attention_norm.bias"]
            hidden = self.scaled(f"{name}.attention_norm", even, gain, shift)
            given = self.inputs(f"{name}.wide", maps, even, gain, shift)
            wide = self.linear(f"{name}.wide", maps, given)
            wide = self.gelu(wide, maps[f"{name}.wide"].weights.shape[1])
            narrow = self.linear(f"{name}.narrow", maps, self.positive_bytes_of(wide))
            even = self.normalised(self.op("Add", hidden, narrow))
            gain, shift = state[f"{name}.norm.weight"], state[f"{name}.norm.bias"]
            hidden = self.scaled(f"{name}.norm", even, gain, shift)
        whole = self.op("Concat", shape, self.constant("width", np.array([WIDTH], np.int64)), axis=0)
        return self.op("Reshape", self.cast(hidden, DOUBLE), whole)

    def attention(self, shape: str) -> Callable[[str], str]:
        """The attention of all pieces of a row to each other, without padding."""
        heads = self.constant("heads", np.array([3, HEADS, WIDTH // HEADS], np.int64))
        split = self.op("Concat", shape, heads, axis=0)
        absent = self.cast(self.op("Equal", "pieces", self.constant("padding", np.int64(0))), DOUBLE)
        far = self.op("Mul", absent, self.constant("far", np.float64(FAR)))
        mask = self.op("Unsqueeze", far, self.axis(1, 2))

        def read(given: str) -> str:
            parts = self.op("Transpose", self.op("Reshape", self.cast(given, DOUBLE), split), perm=[2, 0, 3, 1, 4])
            mixed = self.mixed(*self.parts(parts), mask)
            whole = self.constant("flat", np.array([-1, WIDTH], np.int64))
            return self.cast(self.op("Reshape", self.op("Transpose", mixed, perm=[0, 2, 1, 3]), whole), FLOAT)

        return read

    def parts(self, parts: str) -> tuple[str, str, str]:
        """Query, key and value, which are stacked."""
        query, key, value = (
            self.op("Gather", parts, self.constant(f"part{part}", np.int64(part)), axis=0) for part in range(3)
        )
        return query, key, value

    def mixed(self, query: str, key: str, value: str, mask: str | None = None) -> str:
        """The values, mixed by the attention of the queries to the keys, each of shape (…, …, places, width)."""
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 1, 3, 2]))
        scores = scores if mask is None else self.op("Add", scores, mask)
        return self.op("MatMul", self.op("Softmax", scores, axis=-1), value)

    def normalised(self, values: str) -> str:
        """Rows normalised to mean 0 and variance 1."""
        apart = self.cast(values, DOUBLE)
        apart = self.op("Sub", apart, self.op("ReduceMean", apart, self.axis(1)))
        squares = self.op("ReduceSumSquare", apart, self.axis(1))
        variance = self.op("Mul", squares, self.constant("share", np.float64(1 / WIDTH)))
        deviation = self.op("Sqrt", self.op("Add", variance, self.constant("epsilon", np.float64(1e-12))))
        return self.cast(self.op("Div", apart, deviation), FLOAT)

    def scaled(self, name: str, even: str, gain: NDArray[np.float32], shift: NDArray[np.float32]) -> str:
        product = self.op("Mul", even, self.constant(f"{name}.gain", gain.astype(np.float32)))
        return self.op("Add", product, self.constant(f"{name}.shift", shift.astype(np.float32)))

    def inputs(
        self, name: str, maps: Mapping[str, Linear], even: str, gain: NDArray[np.float32], shift: NDArray[np.float32]
    ) -> _Bytes:
        """Input bytes of a linear map from normalised rows, centred and levelled."""
        of = maps[name]
        return self.bytes_of(self.scaled(name, even, gain / of.width, (shift - of.centre) / of.width))

    # Integers

    def bytes_of(self, values: str) -> _Bytes:
        """Rows as unsigned bytes with zero point 128, and the step of each row."""
        top = self.op("ReduceMax", self.op("Abs", values), self.axis(1), keepdims=0)
        return self._bytes(values, top, 127, np.uint8(_ZERO))

    def positive_bytes_of(self, values: str) -> _Bytes:
        """Rows of non-negative values as bytes, and the step of each row."""
        return self._bytes(values, self.op("ReduceMax", values, self.axis(1), keepdims=0), 255, np.uint8(0))

    def _bytes(self, values: str, top: str, levels: int, zero: np.uint8) -> _Bytes:
        step = self.op("Mul", top, self.constant(f"step{levels}", np.float32(1 / levels)))
        step = self.op("Max", step, self.constant("least_step", np.float32(1e-30)))
        one = self.constant(f"zero{zero}", zero)
        integers = self.op("QuantizeLinear", values, step, self.op("Expand", one, self.op("Shape", step)), axis=0)
        return _Bytes(integers, self.op("Unsqueeze", step, self.axis(1)), one)

    def linear(self, name: str, maps: Mapping[str, Linear], given: _Bytes) -> str:
        of = maps[name]
        weights = self.constant(f"{name}.weights", of.weights)
        product = self.op("MatMulInteger", given.integers, weights, given.zero)
        scaled = self.op("Mul", self.cast(product, FLOAT), self.constant(f"{name}.scale", of.scale))
        return self.op("Add", self.op("Mul", scaled, given.step), self.constant(f"{name}.bias", of.bias))

    def gelu(self, values: str, width: int) -> str:
        """GELU plus `GELU_FLOOR`, so that it is never negative; a table in steps of 1/1024."""
        middle = self.constant("gelu.middle", np.uint16(_GELU_MIDDLE))
        places = self.op("QuantizeLinear", values, self.constant("gelu.step", np.float32(_GELU_STEP)), middle)
        places = self.op("Reshape", self.cast(places, INT32), self.constant("all", np.array([-1], np.int64)))
        found = self.op("GatherElements", self.constant("gelu", _gelu_table()), places)
        return self.op("Reshape", found, self.constant(f"by{width}", np.array([-1, width], np.int64)))

    # Results

    def mean(self, hidden: str, share: str) -> str:
        """The weighted mean over positions by `share`, shape (rows, width)."""
        shared = self.op("Mul", hidden, self.op("Unsqueeze", share, self.axis(2)))
        total = self.op("ReduceSum", shared, self.axis(1), keepdims=0)
        count = self.op("ReduceSum", share, self.axis(1), keepdims=1)
        return self.op("Div", total, self.op("Max", count, self.constant("least", np.float64(1))))

    def of_length_1(self, vectors: str) -> str:
        return self.op("Div", vectors, self.op("Sqrt", self.op("ReduceSumSquare", vectors, self.axis(1))))

    def write(self, path: Path, inputs: Inputs, result: str, name: str, width: int, *, per: str = "rows") -> None:
        self._nodes.append(helper.make_node("Identity", [result], [name], name=name))
        given = [helper.make_tensor_value_info(of, TensorProto.INT64, shape) for of, shape in inputs.items()]
        if any("words" in node.input for node in self._nodes) and "words" not in self._constants:
            given.append(helper.make_tensor_value_info("words", FLOAT, (*OF_ROWS, WIDTH)))
        graph = helper.make_graph(
            self._nodes,
            "wellkept",
            given,
            [helper.make_tensor_value_info(name, DOUBLE, [per, width])],
            list(self._constants.values()),
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        onnx.checker.check_model(model)
        onnx.save(model, path)
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")


def _gelu_table() -> NDArray[np.float32]:
    values = (np.arange(2 * _GELU_MIDDLE) - _GELU_MIDDLE) * _GELU_STEP
    table = [value * 0.5 * (1 + erf(value / sqrt(2))) + GELU_FLOOR for value in values]
    return np.maximum(np.array(table, dtype=np.float32), np.float32(0))
