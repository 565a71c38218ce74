"""Generate the built-in tables of `wellkept.core.judging.calibration` and measure how well they transfer.

Fits each built-in embedder on the packaged graded pairs (as `wellkept calibrate` does). Prints the table as Python
source, the raw cosine of the usual thresholds and the error on held-out pairs. Other graded pairs, given as JSON lines
with `a`, `b` and `score`, are only measured: the share at or above each threshold, raw and mapped, and the error
against their own grades.

    python benchmarks/calibrate.py --check DIR/stsb.jsonl 0 5 --check DIR/sick.jsonl 1 5
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from wellkept.core.judging.calibration import THRESHOLDS, Calibration, Knots, error_of, rank_correlation
from wellkept.core.records.vectors import cosine
from wellkept.models.hashing import HashingEmbedder
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.port import Embedder
from wellkept.models.similarity.graded import measure, shipped


def source(knots: Knots) -> str:
    """The table as Python source, five knots per line."""
    rows = [", ".join(map(str, knots[at : at + 5])) for at in range(0, len(knots), 5)]
    return "(\n" + "".join(f"    {row},\n" for row in rows) + ")\n"


def transfer(embedder: Embedder, table: Calibration, path: Path, low: float, high: float) -> str:
    """Figures of the table on foreign pairs with grades from `low` to `high`."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    texts = list(dict.fromkeys(text for row in rows for text in (row["a"], row["b"])))
    vectors = {text: answer.vector for text, answer in zip(texts, embedder.embed(texts), strict=True)}
    raws, grades = [], []
    for row in rows:
        left, right = vectors[row["a"]], vectors[row["b"]]
        if left is not None and right is not None:
            raws.append(cosine(left, right))
            grades.append(min(1.0, max(0.0, (float(row["score"]) - low) / (high - low))))
    mapped = [table.similarity(raw) for raw in raws]
    shares = (
        f"{at:.2f}: {_share(raws, at):.3f} -> {_share(mapped, at):.3f} (graded {_share(grades, at):.3f})"
        for at in THRESHOLDS
    )
    return (
        f"# {path.stem}, {len(raws)} pairs, rank correlation {rank_correlation(raws, grades):.3f}, "
        f"mean |similarity - grade| {error_of(mapped, grades).grade:.3f}\n"
        f"#   share at or above, raw -> similarity: {'; '.join(shares)}\n"
    )


def _share(values: list[float], at: float) -> float:
    return sum(value >= at for value in values) / max(1, len(values))


def main(arguments: list[str] | None = None) -> int:
    """Fit, print and check."""
    parser = argparse.ArgumentParser(description="Fit the built-in raw cosine -> similarity tables.")
    parser.add_argument(
        "--check", nargs=3, action="append", default=[], metavar=("FILE", "LOW", "HIGH"),
        help="other graded pairs, with their worst and best score",
    )  # fmt: skip
    chosen = parser.parse_args(arguments)
    out = sys.stdout.write
    embedders: tuple[Embedder, ...] = (MiniLmEmbedder(), HashingEmbedder())
    for embedder in embedders:
        found = measure(embedder.id, embedder.embed, shipped())
        table = found.calibration
        out(f"# {table.name}: {found.pairs} pairs, left out {found.left_out}, rank correlation {found.order:.3f}, ")
        out(f"{len(table.knots)} knots\n{source(table.knots)}")
        out("# raw cosine: " + " ".join(f"{at:.2f}->{table.cosine(at):.3f}" for at in THRESHOLDS) + "\n")
        out(f"# on pairs left out (5 folds): mean |similarity - grade| {found.error.grade:.3f}, ")
        out(f"worst difference of shares {found.error.share:.3f}\n")
        for file, low, high in chosen.check:
            out(transfer(embedder, table, Path(file), float(low), float(high)))
        out("\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
