"""One answer on every processor: exact integers, and the same digits with fewer instructions."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

from models.answers import TEXTS, answers
from wellkept.models import minilm, multilingual, relation
from wellkept.models.onnx import session
from wellkept.models.tokenizer.lists import fed

ROOT = Path(__file__).parents[2]
PACKAGED = relation.WEIGHTS
FILES = {
    "embedder": PACKAGED / minilm.ENGLISH,
    "embedder for other languages": PACKAGED / minilm.OTHER,
    "relation": PACKAGED / "relation.onnx",
    "multilingual": PACKAGED / "multilingual.onnx",
}
LARGEST_PRODUCTS = 2 * 255 * 63
"""Of two bytes with two weights: what a kernel without VNNI adds up in 16 bits."""
SEEN_CLOSELY = 11
"""Of so many products one is computed with saturation too, which is slow."""


@pytest.fixture(scope="module", params=FILES)
def products(request: pytest.FixtureRequest) -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]]:
    """Inputs, weights, products and zero of every integer product in the network, over two inputs."""
    model = onnx.load(FILES[request.param])
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    found = []
    for node, given in _given(request.param, model, "MatMulInteger"):
        zero = int(constants[node.input[2]])
        found.append((given[node.input[0]], constants[node.input[1]], given[node.output[0]], zero))
    return found


def _given(which: str, model: onnx.ModelProto, operation: str) -> Iterator[tuple[onnx.NodeProto, dict[str, Any]]]:
    """Every node of an operation, with the values that the network computes over some texts."""
    nodes = [node for node in model.graph.node if node.op_type == operation]
    constants = {tensor.name for tensor in model.graph.initializer}
    for name in dict.fromkeys(name for node in nodes for name in (*node.input, *node.output)):
        if name not in constants:
            model.graph.output.append(onnx.ValueInfoProto(name=name))
    running = session(model.SerializeToString(), what="the model", where=FILES[which], todo="", exact=True)
    names = [output.name for output in running.get_outputs()]
    for row in _rows(which):
        given = dict(zip(names, running.run(None, row), strict=True))
        yield from ((node, given) for node in nodes)


def _rows(which: str) -> list[dict[str, NDArray[Any]]]:
    if which.startswith("embedder"):
        english = which == "embedder"
        cut = minilm._english_windows() if english else minilm.other_windows(multilingual.tokenizer(PACKAGED))
        rows = [{"pieces": np.array([window])} for text in TEXTS for window in cut.of(text)]
        return rows if english else [row | {"words": multilingual.vectors_of(row["pieces"], PACKAGED)} for row in rows]
    english, process = which == "relation", os.getpid()
    network = relation._load(PACKAGED, process)._english if english else relation._multilingual(PACKAGED, process)
    reader = network.reader
    reads = [reader.read(text) for text in TEXTS]
    rows = [reader.row(new, reads[at + 1 : at + 4]) for at, new in enumerate(reads[:-1])]
    shared = [{} if english else {"words": multilingual.vectors_of([row.pieces], PACKAGED)} for row in rows]
    return [fed(row) | words for row, words in zip(rows, shared, strict=True)]


def saturating(inputs: NDArray[Any], weights: NDArray[Any], zero: int) -> NDArray[np.int64]:
    """A product on a processor without VNNI: pairs are added in 16 bits with saturation."""
    wide, narrow = inputs.astype(np.int32), weights.astype(np.int32)
    pairs = wide[:, 0::2, None] * narrow[0::2] + wide[:, 1::2, None] * narrow[1::2]
    sums: NDArray[np.int64] = np.clip(pairs, -(2**15), 2**15 - 1).sum(axis=1) - zero * narrow.sum(axis=0)
    return sums


def test_integer_products_are_exact_where_eight_bits_would_saturate(products: list[Any]) -> None:
    saturated = 0
    for place, (inputs, weights, product, zero) in enumerate(products):
        # Integers below 2**53 are exact in double precision, whatever the order.
        exact = (inputs.astype(np.float64) - zero) @ weights.astype(np.float64)
        assert np.array_equal(product, exact)
        if place % SEEN_CLOSELY:
            continue
        rows = inputs[:2]
        assert np.array_equal(saturating(rows, weights, zero), exact[:2])
        # The same texts with weights of eight bits, as they were: here the comparison has something to find.
        wider = (weights.astype(np.int32) * 2).clip(-127, 127)
        saturated += not np.array_equal(saturating(rows, wider, zero), (rows.astype(np.float64) - zero) @ wider)
    assert saturated > 0


def test_no_weight_is_wide_enough_to_saturate(products: list[Any]) -> None:
    assert LARGEST_PRODUCTS < 2**15
    for inputs, weights, _, _ in products:
        assert (inputs.dtype, weights.dtype) == (np.uint8, np.int8)
        assert np.abs(weights.astype(np.int64)).max() <= 63


@pytest.mark.parametrize("network", ["relation", "multilingual"])
def test_the_attention_of_the_relation_model_adds_whole_numbers_that_single_precision_holds(network: str) -> None:
    """Then the order in which a processor adds changes nothing."""
    model = onnx.load(FILES[network])
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    count = 0
    for node, given in _given(network, model, "MatMul"):
        a, b = (given[name] if name in given else constants[name] for name in node.input)
        if a.dtype != np.float32:
            continue  # in double precision, which is rounded afterwards
        wide, narrow = a.astype(np.float64), b.astype(np.float64)
        assert (wide == wide.round()).all()
        assert (narrow == narrow.round()).all()
        assert (np.abs(wide) @ np.abs(narrow)).max() <= 2**24
        assert np.array_equal(given[node.output[0]], wide @ narrow)
        count += 1
    assert count > 100


@pytest.mark.parametrize(
    ("processor", "step"),
    [
        pytest.param("Nehalem", 0, marks=pytest.mark.slow),
        pytest.param("Nehalem", 1, marks=pytest.mark.soak),
        pytest.param("Haswell", 0, marks=pytest.mark.soak),
    ],
)
def test_a_processor_with_fewer_instructions_gives_the_same_digits(processor: str, step: int) -> None:
    """SSE4.2 alone, and AVX2 without VNNI, which is emulated slowly and so reads less."""
    emulator = shutil.which("qemu-x86_64")
    if emulator is None or platform.machine() != "x86_64":
        pytest.skip("needs qemu-x86_64 (Debian: qemu-user) on an x86-64 machine")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [emulator, "-cpu", processor, sys.executable, "-m", "models.answers", str(step)],
        env=environment, capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    assert json.loads(run.stdout) == json.loads(json.dumps(answers(step)))


def test_the_pages_of_the_weights_name_the_hashes_that_are_checked() -> None:
    """Provenance: who reads a page can compare the file."""
    known = {
        minilm.WEIGHTS_SHA256,
        minilm.OTHER_SHA256,
        multilingual.PIECES_SHA256,
        multilingual.VECTORS_SHA256,
        relation.WEIGHTS_SHA256,
        relation.MULTILINGUAL_SHA256,
        relation.CARD_SHA256,
    }
    rows = [
        line
        for name in ("EMBEDDER.md", "RELATION.md")
        for line in (PACKAGED / name).read_text("utf-8").splitlines()
        if line.startswith("| `")
    ]
    assert {line.rsplit("`", 2)[1] for line in rows} == known
