"""What a search is compared with: numpy, usearch and sqlite-vec, each over the same rows.

The last two are used when they are installed and left out when they are not; the product needs neither.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Search = Callable[[NDArray[np.float32]], set[int]]
"""Gives the places of the nearest rows to a query."""

NAMES = ("numpy", "int8", "int8-simsimd", "usearch", "usearch-exact", "sqlite-vec")


def contender(name: str, rows: NDArray[np.float32], *, top: int, folder: Path) -> Search:
    """Something that finds the nearest rows.

    Args:
        name: One of `NAMES`.
        rows: Unit vectors.
        top: How many to find.
        folder: Where a database may be put.

    Raises:
        ImportError: It is not installed.
    """
    match name:
        case "numpy":
            return _brute_force(rows, top)
        case "int8":
            return _int8(rows, top, _int8_blocks)
        case "int8-simsimd":
            return _int8(rows, top, _int8_simsimd())
        case "usearch":
            return _usearch(rows, top)
        case "usearch-exact":
            return _usearch_exact(rows, top)
        case "sqlite-vec":
            return _sqlite_vec(rows, top, folder)
    raise ValueError(f"no contender {name!r}")


def _brute_force(rows: NDArray[np.float32], top: int) -> Search:
    """float32, one product with the whole matrix, and a partition."""

    def search(query: NDArray[np.float32]) -> set[int]:
        scores = rows @ query
        return set(np.argpartition(scores, scores.size - top)[-top:].tolist())

    return search


Kernel = Callable[[NDArray[np.int8], NDArray[np.int8]], NDArray[Any]]


def _int8(rows: NDArray[np.float32], top: int, kernel: Kernel) -> Search:
    """A scan of one byte a component, then the exact products of all rows that can be among the best.

    With x = c n + e, where n are the rounded numbers and c the row's scale, and the query written alike,
    x·q = c c' (n·n') + e·q + c n·e', so it is off by at most |e| + (1 + |e|) |e'|: a row whose upper bound
    stays below the limit-th best lower bound is out, and the answer is exact whatever the vectors are.
    """
    numbers, scales, rests = _rounded(rows)

    def search(query: NDArray[np.float32]) -> set[int]:
        asked, scale, rest = _rounded(query[None, :])
        scores = kernel(numbers, asked[0]).astype(np.float32)
        scores *= scales * scale[0]
        room = rests + (1 + rests) * rest[0] + np.float32(1e-5)
        lower = scores - room
        least = np.partition(lower, lower.size - top)[lower.size - top]
        likely = np.flatnonzero(scores + room >= least)
        exact = rows[likely] @ query
        return set(likely[np.argpartition(exact, exact.size - top)[-top:]].tolist())

    return search


def _rounded(rows: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.float32]]:
    scales = np.abs(rows).max(axis=1, keepdims=True) / np.float32(127)
    numbers = np.rint(rows / scales).astype(np.int8)
    return numbers, scales[:, 0], np.linalg.norm(rows - scales * numbers, axis=1).astype(np.float32)


def _int8_blocks(numbers: NDArray[np.int8], asked: NDArray[np.int8]) -> NDArray[np.float32]:
    """numpy has no fast product of bytes: some rows at a time are made float32, which fits the cache."""
    wide = asked.astype(np.float32)
    scores = np.empty(len(numbers), dtype=np.float32)
    block = np.empty((256, numbers.shape[1]), dtype=np.float32)
    for start in range(0, len(numbers), len(block)):
        part = numbers[start : start + len(block)]
        np.copyto(block[: len(part)], part)
        np.matmul(block[: len(part)], wide, out=scores[start : start + len(part)])
    return scores


def _int8_simsimd() -> Kernel:
    module: Any = import_module("simsimd")

    def kernel(numbers: NDArray[np.int8], asked: NDArray[np.int8]) -> NDArray[Any]:
        return np.asarray(module.cdist(numbers, asked[None, :], "dot")).reshape(-1)

    return kernel


def _usearch(rows: NDArray[np.float32], top: int) -> Search:
    """The graph index with its own defaults, float16."""
    module: Any = import_module("usearch.index")
    index = module.Index(ndim=rows.shape[1], metric="ip", dtype="f16")
    keys = np.arange(len(rows))
    for start in range(0, len(rows), 10_000):
        index.add(keys[start : start + 10_000], rows[start : start + 10_000])
    return lambda query: {int(key) for key in index.search(query, top).keys}


def _usearch_exact(rows: NDArray[np.float32], top: int) -> Search:
    """The same package scanning everything, one thread."""
    module: Any = import_module("usearch.index")

    def search(query: NDArray[np.float32]) -> set[int]:
        found = module.search(rows, query, top, module.MetricKind.IP, exact=True, threads=1)
        return {int(key) for key in found.keys}

    return search


def _sqlite_vec(rows: NDArray[np.float32], top: int, folder: Path) -> Search:
    """Its virtual table, float32, through apsw: the standard library's sqlite3 often cannot load extensions."""
    apsw: Any = import_module("apsw")
    extension: Any = import_module("sqlite_vec")
    path = folder / f"sqlite-vec-{len(rows)}.db"
    database = apsw.Connection(str(path))
    database.enable_load_extension(True)  # noqa: FBT003
    database.load_extension(extension.loadable_path())
    database.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS rows USING vec0 (vector float[{rows.shape[1]}])")
    with database:
        database.executemany(
            "INSERT INTO rows (rowid, vector) VALUES (?, ?)", ((at, one.tobytes()) for at, one in enumerate(rows))
        )
    asked = "SELECT rowid FROM rows WHERE vector MATCH ? AND k = ?"
    return lambda query: {at for (at,) in database.execute(asked, (query.tobytes(), top))}
