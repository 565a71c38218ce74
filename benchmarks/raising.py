"""What asking costs a write: CPU with `ask` on and off, in turns, with the answers of the models played back.

    python -m benchmarks.raising STORIES.jsonl --writes 400 --turns 5

Each turn writes the same texts into a new file. The models have answered before, so what is left is the gate.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import wellkept
from wellkept.evaluation.run import Warm
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.relation import PackagedRelationModel
from wellkept.policy import Policy
from wellkept.types import Opinion

Listing = tuple[str, tuple[str, ...]]


class PlayedBack(PackagedRelationModel):
    """The packaged model, which reads each list once."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[Listing, list[Opinion | None]] = {}

    def read_lists(self, lists: Sequence[Listing]) -> list[list[Opinion | None]]:
        missing = [one for one in dict.fromkeys(lists) if one not in self._known]
        self._known.update(zip(missing, super().read_lists(missing), strict=True))
        return [self._known[one] for one in lists]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.raising", description=__doc__.splitlines()[0])
    parser.add_argument("stories", type=Path)
    parser.add_argument("--writes", type=int, default=400)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args(arguments)
    lines = given.stories.read_text(encoding="utf-8").splitlines()
    texts = [write["text"] for line in lines if line.strip() for write in json.loads(line)["writes"]][: given.writes]
    embedder, model = Warm(MiniLmEmbedder()), PlayedBack()

    def played(ask: float) -> float:
        policy = replace(Policy(), ask=ask)
        with (
            tempfile.TemporaryDirectory() as folder,
            wellkept.open(f"{folder}/a.db", embedder=embedder, relation_model=model, policy=policy) as store,
        ):
            began = time.process_time()
            for text in texts:
                store.remember(text)
            return (time.process_time() - began) / len(texts) * 1000

    played(Policy().ask)  # the models answer
    played(0)
    turns = [(played(0), played(Policy().ask)) for _ in range(given.turns)]
    off, on = (median(times) for times in zip(*turns, strict=True))
    print(f"off {off:.2f} ms, on {on:.2f} ms; difference {median(b - a for a, b in turns):.2f} ms a write")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
