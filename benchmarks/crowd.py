"""Large stores for measurements: rows with the records of the gate, their entries and their vectors, without judging.

Each row is what the gate stores for a new text: the memory, both aliases, one journal entry, full text and a vector.
Only the first texts are embedded. The vectors of the others are mixed from three of those, so they keep the spectrum
of the embedder without an hour of its time; their similarity says nothing about their texts. A build that was
interrupted goes on where it ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wellkept.core.gate.outcomes import born
from wellkept.core.judging.evidence import Evidence, Moment
from wellkept.core.records.merge import aliases
from wellkept.engine.models.embedding import text_of, vector_key
from wellkept.models.port import Embedder
from wellkept.policy import Policy
from wellkept.storage.port import Storage
from wellkept.types import AliasChange, JournalEntry, MemoryChange, NewMemory, Vector

EMBEDDED = 4_096
_AT_ONCE = 2_000
_SHARES = (0.6, 0.6, 0.53)
_START = datetime(2025, 1, 1, tzinfo=UTC)


class Crowd:
    """Rows to fill a store with, the same for the same texts and embedder.

    Args:
        texts: One text a row.
        embedder: Embeds the first texts.
        policy: The policy named in each entry.
        embedded: How many texts are embedded.
    """

    def __init__(self, texts: Sequence[str], embedder: Embedder, policy: Policy, *, embedded: int = EMBEDDED) -> None:
        self._texts = texts
        self._embedder = embedder
        self._policy = policy
        self._embedded = embedded

    @cached_property
    def _own(self) -> list[Vector | None]:
        """The vectors of the first texts; None where the embedder cannot read one."""
        return [one.vector for one in self._embedder.embed(self._texts[: self._embedded])]

    @cached_property
    def _base(self) -> NDArray[np.float32]:
        return np.asarray([one for one in self._own if one is not None], dtype=np.float32)

    def vectors(self, start: int, end: int) -> NDArray[np.float32]:
        """The vectors of these rows, of unit length."""
        parts = np.random.default_rng([17, start]).integers(0, len(self._base), (end - start, len(_SHARES)))
        rows = np.einsum("j,ijk->ik", np.asarray(_SHARES, dtype=np.float32), self._base[parts])
        for place, own in enumerate(self._own[start:end]):
            if own is not None:
                rows[place] = own
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def fill(self, storage: Storage, namespace: str, rows: int) -> int:
        """Add rows until the namespace has this many entries; returns how many were there before."""
        with storage.begin(namespace, write=False) as tx:
            found = done = tx.seq
        while done < rows:
            end = min(done + _AT_ONCE, rows)
            vectors = self.vectors(done, end)
            with storage.begin(namespace, write=True) as tx:
                for place in range(done, end):
                    entry, key = self._entry(place, namespace)
                    tx.apply(entry, vectors={key: vectors[place - done]})
            done = end
        return found

    def _entry(self, place: int, namespace: str) -> tuple[JournalEntry, str]:
        new = NewMemory(content=self._texts[place], kind="note")
        key = vector_key(text_of(new))
        at = _START + timedelta(seconds=place)
        name = f"00000000-0000-7000-8000-{place:012}"
        moment = Moment(at, name, namespace, self._policy, self._policy.for_kind(new.kind))
        memory = born(new, Evidence(embedding=key, chunks=1), moment)
        effects = (MemoryChange(None, memory), *(AliasChange(name, one, present=True) for one in aliases(new.content)))
        entry = JournalEntry(
            at=at, verb="remember", policy=self._policy.hash, outcome="created", memory_id=name, memory_ids=(name,),
            effects=effects,
        )  # fmt: skip
        return entry, key
