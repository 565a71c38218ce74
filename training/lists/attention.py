"""The attention of the list reader in whole numbers that single precision holds exactly.

Queries, keys and values are rounded to levels of a fixed step. Their products and all sums stay below 2**24, so single
precision gives them exactly, in whatever order a processor adds. The exponential is a table. So the attention has the
same digits on every processor without double precision, at half of its cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.graph import FLOAT, INT32, Graph
from training.lists.model import Batch, ListModel
from training.model import HEADS, WIDTH
from training.quantise import Linear

EXACT = 2**24
"""Single precision holds every whole number up to here."""
READ, MIXED = 700, 1900
"""Largest level of a query or key, and of a value."""
SHARES = 4096
"""The shares of the keys of one query are whole numbers that add up to about this."""
SPARE = 1.25
"""The largest level stands for this times the largest value that was seen."""
FINENESS, REACH, TOP = 256, 12, 2**15
"""The table of exponentials: steps for each unit, units that it reaches, and its first value."""
_MOST_PIECES = 384
_FAR = np.float32(-(2.0**26))


@dataclass(frozen=True)
class Steps:
    """What one level of the queries, keys and values of a layer stands for."""

    query: float
    key: float
    value: float


def steps_of(model: ListModel, maps: Mapping[str, Linear], batches: Iterable[Batch]) -> list[Steps]:
    """The steps of each layer, from what its maps give on these lists."""
    root = (WIDTH // HEADS) ** 0.5
    largest = [[0.0, 0.0, 0.0] for _ in model.layers]

    def keep(layer: int, part: int, change: Callable[[Tensor], Tensor]) -> Callable[..., None]:
        def hook(_module: object, _given: object, told: Tensor) -> None:
            largest[layer][part] = max(largest[layer][part], float(change(told).abs().max()))

        return hook

    handles = []
    for at, layer in enumerate(model.layers):
        of = maps[f"layers.{at}.output"]
        centre, width = torch.tensor(of.centre), torch.tensor(of.width)
        changes = (lambda told: told / root, lambda told: told, lambda told, c=centre, w=width: (told - c) / w)
        for part, (module, change) in enumerate(zip((layer.query, layer.key, layer.value), changes, strict=True)):
            handles.append(module.register_forward_hook(keep(at, part, change)))
    model.eval()
    with torch.no_grad():
        for batch in batches:
            model(batch)
    for handle in handles:
        handle.remove()
    return [Steps(*(top * SPARE / most for top, most in zip(row, (READ, READ, MIXED), strict=True))) for row in largest]


def in_levels(maps: Mapping[str, Linear], steps: Iterable[Steps]) -> dict[str, Linear]:
    """The maps, of which `read` gives levels and `output` takes the sum of levels times shares."""
    found = dict(maps)
    for at, step in enumerate(steps):
        read, output = maps[f"layers.{at}.read"], maps[f"layers.{at}.output"]
        level = np.repeat([1 / step.query, 1 / step.key, 1 / step.value], WIDTH).astype(np.float32)
        found[f"layers.{at}.read"] = replace(read, scale=read.scale * level, bias=read.bias * level)
        found[f"layers.{at}.output"] = replace(output, scale=output.scale * np.float32(step.value / SHARES))
    return found


def attention(graph: Graph, steps: Iterable[Steps]) -> Callable[[str], str]:
    """What `training.lists.model.mask_of` leaves, of one row: of the new text to all, of each block to its own."""
    left = iter(steps)
    none = graph.constant("none", np.int64(0))
    split = graph.constant("heads", np.array([-1, 3, HEADS, WIDTH // HEADS], np.int64))
    joined = graph.constant("joined", np.array([HEADS, -1, WIDTH // HEADS], np.int64))
    flat = graph.constant("flat", np.array([-1, WIDTH], np.int64))
    most = graph.constant("levels", np.repeat([READ, READ, MIXED], WIDTH).astype(np.float32))
    least = graph.constant("levels.least", np.repeat([-READ, -READ, -MIXED], WIDTH).astype(np.float32))
    seen = graph.op("Max", "asked", none)
    absent = graph.cast(graph.op("Unsqueeze", graph.op("Less", "asked", none), graph.axis(1)), FLOAT)
    mask = graph.op("Mul", absent, graph.constant("unseen", _FAR))
    new = graph.op("Sub", *(graph.op("Shape", name, start=1, end=2) for name in ("asked", "asking")))
    first = graph.constant("start", np.array([0], np.int64))

    def read(given: str) -> str:
        step = next(left)
        levels = graph.op("Max", graph.op("Min", graph.op("Round", given), most), least)
        parts = graph.op("Transpose", graph.op("Reshape", levels, split), perm=[1, 2, 0, 3])
        query, key, value = graph.parts(parts)  # (heads, places, width)
        of_new = graph.op("Slice", query, first, new, graph.axis(1))
        of_new = _mixed(graph, step, of_new, key, value)
        asking = graph.op("Gather", query, "asking", axis=1)
        of_blocks = _mixed(
            graph, step, asking, *(graph.op("Gather", part, seen, axis=1) for part in (key, value)), mask
        )
        of_blocks = graph.op("Gather", graph.op("Reshape", of_blocks, joined), "back", axis=1)
        whole = graph.op("Concat", of_new, of_blocks, axis=1)
        return graph.op("Reshape", graph.op("Transpose", whole, perm=[1, 0, 2]), flat)

    return read


def _mixed(graph: Graph, step: Steps, query: str, key: str, value: str, mask: str | None = None) -> str:
    """The values of shape (…, keys, width), mixed by the attention of the queries to the keys."""
    sizes = graph.op("Transpose", key, perm=[0, 2, 1] if mask is None else [0, 1, 3, 2])
    scores = graph.op("MatMul", query, sizes)
    scores = scores if mask is None else graph.op("Add", scores, mask)
    last = graph.constant("axis.last", np.array([-1], np.int64))
    below = graph.op("Sub", graph.op("ReduceMax", scores, last), scores)
    units = np.float32(step.query * step.key * FINENESS)
    place = graph.op("Mul", below, graph.constant(f"units.{units}", units))
    place = graph.op("Min", place, graph.constant("farthest", np.float32(REACH * FINENESS)))
    places = graph.op("Reshape", graph.cast(place, INT32), graph.constant("all", np.array([-1], np.int64)))
    parts = graph.op("GatherElements", graph.constant("exponentials", table()), places)
    parts = graph.op("Reshape", parts, graph.op("Shape", scores))
    whole = graph.op("Div", graph.constant("shares", np.float32(SHARES)), graph.op("ReduceSum", parts, last))
    return graph.op("MatMul", graph.op("Round", graph.op("Mul", parts, whole)), value)


def table() -> NDArray[np.float32]:
    """Whole numbers in the ratios of the exponential of 0, -1/256, … , of which the last is nothing."""
    found = np.rint(np.exp(-np.arange(REACH * FINENESS + 1) / FINENESS) * TOP)
    found[-1] = 0
    return found.astype(np.float32)


# What makes it exact.
assert READ * READ * (WIDTH // HEADS) < EXACT
assert TOP * _MOST_PIECES < EXACT
assert (SHARES + _MOST_PIECES) * MIXED < EXACT
