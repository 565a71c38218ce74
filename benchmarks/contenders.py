"""The baselines of a search: numpy, usearch and sqlite-vec, each over the same rows.

The last two are skipped if they are not installed; the product needs neither.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Search = Callable[[NDArray[np.float32]], set[int]]
"""Returns the places of the nearest rows of a query."""

NAMES = ("numpy", "int8", "int8-simsimd", "usearch", "usearch-exact", "sqlite-vec")


def contender(name: str, rows: NDArray[np.float32], *, top: int, folder: Path) -> Search:
    """The search function of a baseline.

    Args:
        name: One of `NAMES`.
        rows: Unit vectors.
        top: Number of rows to find.
        folder: Folder for a database.

    Raises:
        ImportError: The baseline is not installed.
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
    """float32: one product with the whole matrix, and a partition."""

    def search(query: NDArray[np.float32]) -> set[int]:
        scores = rows @ query
        return set(np.argpartition(scores, scores.size - top)[-top:].tolist())

    return search


Kernel = Callable[[NDArray[np.int8], NDArray[np.int8]], NDArray[Any]]


def _int8(rows: NDArray[np.float32], top: int, kernel: Kernel) -> Search:
    """A scan with one byte per component, then exact products of all rows that can be among the best.

    With x = c n + e, where n are the rounded numbers and c the row's scale, and the query in the same form,
    x·q = c c' (n·n') + e·q + c n·e', so the error is at most |e| + (1 + |e|) |e'|. A row whose upper bound is below the
    limit-th best lower bound is excluded, so the result is exact for all vectors.
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
    """Converts blocks of rows to float32 that fit the cache, because numpy has no fast product of bytes."""
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
    """The graph index of usearch with its defaults, float16."""
    module: Any = import_module("usearch.index")
    index = module.Index(ndim=rows.shape[1], metric="ip", dtype="f16")
    keys = np.arange(len(rows))
    for start in range(0, len(rows), 10_000):
        index.add(keys[start : start + 10_000], rows[start : start + 10_000])
    return lambda query: {int(key) for key in index.search(query, top).keys}


def _usearch_exact(rows: NDArray[np.float32], top: int) -> Search:
    """The exact scan of usearch, one thread."""
    module: Any = import_module("usearch.index")

    def search(query: NDArray[np.float32]) -> set[int]:
        found = module.search(rows, query, top, module.MetricKind.IP, exact=True, threads=1)
        return {int(key) for key in found.keys}

    return search


def _sqlite_vec(rows: NDArray[np.float32], top: int, folder: Path) -> Search:
    """The virtual table of sqlite-vec, float32, through apsw, because sqlite3 often cannot load extensions."""
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
