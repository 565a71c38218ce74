"""Fit the tables of `wellkept.core.calibration`: raw cosine -> similarity, one per embedder.

Reads graded pairs as JSON lines with `a`, `b` and `score`, and matches quantiles: the grade below
which a given share of the pairs lies is put beside the cosine below which the same share lies.
Prints each table as Python source, the raw cosine of the usual thresholds, and how alike the two
embedders treat other graded pairs with and without the tables.

    python benchmarks/calibrate.py DIR/sick.jsonl --low 1 --high 5 --check DIR/stsb.jsonl
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wellkept.core.calibration import Calibration, Knots
from wellkept.core.vectors import cosine
from wellkept.models.hashing import HashingEmbedder
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.port import Embedder

THRESHOLDS = (0.98, 0.95, 0.90, 0.88, 0.85, 0.80, 0.65)
LEAST_PAIRS = 15
"""A grade that fewer pairs have says too little to get a knot of its own."""
LEAST_STEP = 0.002
"""Knots closer than this in cosine would only trace noise."""


@dataclass(frozen=True)
class Graded:
    """Sentence pairs with grades from 0 to 1."""

    pairs: list[tuple[str, str]]
    grades: NDArray[np.float64]


def read(path: Path, low: float, high: float) -> Graded:
    """Pairs of a JSON lines file, grades rescaled from `low`..`high`."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    grades = np.array([(float(row["score"]) - low) / (high - low) for row in rows])
    return Graded([(row["a"], row["b"]) for row in rows], np.clip(grades, 0.0, 1.0))


def raw_cosines(embedder: Embedder, graded: Graded) -> NDArray[np.float64]:
    """The raw cosine of each pair; 0 where a text cannot be embedded."""
    texts = list(dict.fromkeys(text for pair in graded.pairs for text in pair))
    vectors = {text: answer.vector for text, answer in zip(texts, embedder.embed(texts), strict=True)}
    found = []
    for a, b in graded.pairs:
        left, right = vectors[a], vectors[b]
        found.append(0.0 if left is None or right is None else cosine(left, right))
    return np.array(found)


def fit(cosines: NDArray[np.float64], grades: NDArray[np.float64]) -> Knots:
    """One knot for each grade that enough pairs have, strictly rising, from (-1, -1) to (1, 1)."""
    knots = [(-1.0, -1.0)]
    for grade in np.unique(grades):
        share = float(np.mean(grades == grade))
        # The best grade is the end of the scale itself, not the middle of the pairs that have it.
        if grade >= 1.0 or share * len(grades) < LEAST_PAIRS:
            continue
        quantile = float(np.mean(grades < grade)) + share / 2
        raw = round(float(np.quantile(cosines, quantile)), 4)
        if raw - knots[-1][0] >= LEAST_STEP and grade > knots[-1][1]:
            knots.append((raw, round(float(grade), 4)))
    while 1.0 - knots[-1][0] < LEAST_STEP:
        knots.pop()
    return (*knots, (1.0, 1.0))


def source(name: str, knots: Knots) -> str:
    """The table as Python source, four knots a line."""
    rows = [", ".join(map(str, knots[at : at + 5])) for at in range(0, len(knots), 5)]
    return f"{name} = (\n" + "".join(f"    {row},\n" for row in rows) + ")\n"


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def main(arguments: list[str] | None = None) -> int:
    """Fit, print and check."""
    parser = argparse.ArgumentParser(description="Fit raw cosine -> similarity tables on graded pairs.")
    parser.add_argument("graded", type=Path, help="JSON lines with a, b, score")
    parser.add_argument("--low", type=float, default=0.0, help="the worst grade (default 0)")
    parser.add_argument("--high", type=float, default=5.0, help="the best grade (default 5)")
    parser.add_argument("--check", type=Path, action="append", default=[], help="other pairs, graded 0 to 5")
    chosen = parser.parse_args(arguments)
    graded = read(chosen.graded, chosen.low, chosen.high)
    checks = {path.stem: read(path, 0.0, 5.0) for path in chosen.check}
    out = sys.stdout.write
    embedders: tuple[Embedder, ...] = (MiniLmEmbedder(), HashingEmbedder())
    for embedder in embedders:
        cosines = raw_cosines(embedder, graded)
        knots = fit(cosines, graded.grades)
        table = Calibration(embedder.id, knots)
        correlation = np.corrcoef(_ranks(cosines), _ranks(graded.grades))[0, 1]
        out(f"# {embedder.id}: {len(graded.pairs)} pairs, Spearman {correlation:.3f}, {len(knots)} knots\n")
        out(source("KNOTS", knots))
        out("# raw cosine: " + " ".join(f"{t:.2f}->{table.cosine(t):.3f}" for t in THRESHOLDS) + "\n")
        for stem, other in checks.items():
            raws = raw_cosines(embedder, other)
            mapped = np.array([table.similarity(raw) for raw in raws])
            shares = (f"{t:.2f}: {np.mean(raws >= t):.3f} -> {np.mean(mapped >= t):.3f}" for t in THRESHOLDS)
            out(f"# {stem}, share at or above, raw -> similarity: " + "; ".join(shares) + "\n")
            mean_error = float(np.mean(np.abs(mapped - other.grades)))
            out(f"# {stem}, mean |similarity - grade|: {mean_error:.3f}\n")
        out("\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
