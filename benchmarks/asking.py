"""Cost of the relation model on real streams: share of writes that ask it, pairs per write, and time.

    python -m benchmarks.asking FILE.jsonl[.gz] --text text --namespace conv --limit 2000

Prints one JSON object. Times are from one run on one machine and are comparable only with each other.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import wellkept
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.port import Embedded
from wellkept.models.relation import PackagedRelationModel
from wellkept.policy import Risk
from wellkept.types import Opinion


class TimedModel(PackagedRelationModel):
    """The packaged model with timing."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs = 0
        self.seconds = 0.0

    def bounds(self, risk: Risk) -> Bounds:
        return super().bounds(risk)

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        started = time.perf_counter()
        told = super().read(pairs)
        self.seconds += time.perf_counter() - started
        self.pairs += len(pairs)
        return told


class TimedEmbedder(MiniLmEmbedder):
    """MiniLM with timing."""

    seconds = 0.0

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        started = time.perf_counter()
        made = super().embed(texts)
        self.seconds += time.perf_counter() - started
        return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--text", default="", help="field of the text; a line of plain text without it")
    parser.add_argument("--namespace", default="", help="field that names the namespace")
    parser.add_argument("--kind", default="note")
    parser.add_argument("--limit", type=int, default=1000)
    args = parser.parse_args()
    embedder, model = TimedEmbedder(), TimedModel()
    embedder.embed(["warm"])
    model.read([("It is on.", "It is off.")])
    embedder.seconds = model.seconds = 0.0
    model.pairs = 0
    stores: dict[str, wellkept.MemoryStore] = {}
    writes = asking = 0
    started = time.perf_counter()
    for text, where in _texts(args.file, args.text, args.namespace, args.limit):
        if where not in stores:
            stores[where] = wellkept.open("memory:", embedder=embedder, relation_model=model)
        before = model.pairs
        stores[where].remember(text, kind=args.kind)
        writes += 1
        asking += model.pairs > before
    total = time.perf_counter() - started
    print(
        json.dumps(
            {
                "writes": writes,
                "asking": round(asking / writes, 4),
                "pairs_per_write": round(model.pairs / writes, 3),
                "model_over_embedding": round(model.seconds / embedder.seconds, 3),
                "ms_per_pair": round(1000 * model.seconds / max(1, model.pairs), 2),
                "ms_per_write": round(1000 * total / writes, 2),
            },
            indent=1,
        )
    )


def _texts(path: Path, field: str, namespace: str, limit: int) -> Iterator[tuple[str, str]]:
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")
    with opened as lines:
        for count, line in enumerate(lines):
            if count == limit:
                return
            if field:
                row = json.loads(line)
                yield str(row[field]), str(row.get(namespace, ""))
            elif line.strip():
                yield line.strip(), ""


if __name__ == "__main__":
    main()
