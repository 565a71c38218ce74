"""Texts in several spellings and word orders, an embedder that sees through both, and writers for other processes."""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import wellkept
from wellkept.core.judging.calibration import IDENTITY, Calibration
from wellkept.core.text.forms import canonical
from wellkept.models.port import Embedded
from wellkept.testing.relations import FakeRelationModel

_THINGS = "valve pump gate door lamp fan heater mixer crane press".split()
_GAUGES = (
    "boiler chimney cistern coupling cylinder damper dynamo exhaust feeder filter flange furnace governor gearbox "
    "hopper impeller injector manifold motor nozzle piston pulley radiator regulator rotor sensor shaft turbine "
    "ventilator winch"
).split()
DIM = 512


class NearEmbedder:
    """Texts of the same words in any order have similarity .98, others near 0; the same in every process."""

    def __init__(self) -> None:
        self.id = "near/1"
        self.dim = DIM
        self.calibration: Calibration = IDENTITY
        self.lexical = False

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Vectors that only the words and, a little, their order decide."""
        return [Embedded(self._vector(canonical(text))) for text in texts]

    def _vector(self, text: str) -> np.ndarray:
        words = _direction(" ".join(sorted(text.replace(",", " ").split())))
        order = _direction("order " + text)
        order -= words * float(order @ words)
        order /= np.linalg.norm(order)
        vector: np.ndarray = (np.sqrt(0.98) * words + np.sqrt(0.02) * order).astype(np.float32)
        return vector


def _direction(text: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
    made = np.random.default_rng(seed).standard_normal(DIM)
    return made / np.linalg.norm(made)


def facts(count: int) -> list[tuple[str, ...]]:
    """Distinct facts, each as five texts that say the same: two word orders, three spellings."""
    made = []
    for thing, gauge in [(thing, gauge) for gauge in _GAUGES for thing in _THINGS][:count]:
        one, other = f"Close the {thing} when the {gauge} turns hot.", f"When the {gauge} turns hot, close the {thing}."
        made.append((one, one.lower().rstrip("."), "  ".join(one.split()), other, other.replace(".", "!")))
    return made


def write_all(path: str, count: int, seed: int, answers: str) -> None:
    """Write every text of every fact in an order of one's own; tell which memory each text led to."""
    texts = [(number, text) for number, fact in enumerate(facts(count)) for text in fact]
    random.Random(seed).shuffle(texts)
    told = []
    with wellkept.open(
        path, embedder=NearEmbedder(), relation_model=FakeRelationModel(), actor=f"writer {seed}"
    ) as store:
        while texts:
            size = 1 if seed % 2 else min(len(texts), 7)  # one writer by one, the other in batches
            part, texts = texts[:size], texts[size:]
            if size == 1:
                results = [store.remember(part[0][1], kind="lesson")]
            else:
                batch = store.remember_many([{"content": text, "kind": "lesson"} for _, text in part])
                assert not batch.errors, batch.errors
                results = [result for result in batch.results if result is not None]
            for (number, _), result in zip(part, results, strict=True):
                assert result.memory is not None
                told.append(f"{number} {result.outcome} {result.memory.id}\n")
    Path(answers).write_text("".join(told), "utf-8")


def write_until_killed(path: str, first: int) -> None:
    """Write without end; each line printed is an acknowledged memory."""
    with wellkept.open(path, embedder=NearEmbedder(), relation_model=FakeRelationModel()) as store:
        for number in range(first, first + 100_000):
            digest = hashlib.sha256(str(number).encode()).hexdigest()
            memory = store.remember(f"Ticket {digest[:12]} belongs to desk {digest[12:20]}.", kind="lesson").memory
            assert memory is not None
            print(memory.id, flush=True)  # noqa: T201


if __name__ == "__main__":
    write_until_killed(sys.argv[1], int(sys.argv[2]))
