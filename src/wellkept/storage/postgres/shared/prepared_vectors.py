"""Vectors of a future embedder, stored while the current one is in use and active once the store has moved.

Every search names one embedder, so searches do not see them before. See `storage.port.Ahead`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from wellkept.core.records.vectors import quantise
from wellkept.errors import EmbedderMismatch
from wellkept.frozen import frozen
from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.session import Begun, Half, Session
from wellkept.types import Vector


@frozen
class PostgresAhead:
    """Vectors of one embedder, stored beside those of others.

    Attributes:
        model: The embedder's number in this store.
        dim: Dimension of its vectors.
        begun: Opens a connection inside a transaction that begins with the statement of that name.
        writing: Opens one inside a writing transaction that excludes migrations and changes of the embedder.
    """

    model: int
    dim: int
    begun: Begun
    writing: Callable[[], AbstractContextManager[Session]]

    def missing(self, namespace: str, hashes: Sequence[str]) -> list[str]:
        """See `Ahead.missing`."""
        asked = {"ns": number_of(namespace), "model": self.model, "hashes": list(hashes)}
        with self.begun("begin.read") as session:
            there = {digest for (digest,) in session.rows("ahead.there", asked)}
        return [digest for digest in hashes if digest not in there]

    def keep(self, namespace: str, vectors: Mapping[str, Vector]) -> int:
        """See `Ahead.keep`."""
        ns = number_of(namespace)
        for digest, vector in vectors.items():
            if vector.shape != (self.dim,):
                raise EmbedderMismatch(
                    f"a vector has {vector.size} components, its embedder makes {self.dim}", where=digest
                )
        with self.writing() as session:
            if session.row("ahead.hold", {"ns": ns}) is None:  # locks the namespace against writers
                return 0
            # A text that was erased in the meantime must not get its vector stored.
            used = {
                digest for (digest,) in session.rows("memory.embeddings_in_use", {"ns": ns, "hashes": list(vectors)})
            }
            rows = [
                {"ns": ns, "hash": digest, "model": self.model, "vec": Half(quantise(vector))}
                for digest, vector in vectors.items()
                if digest in used
            ]
            session.many("vector.put", rows)
            session.run("commit")
        return len(rows)

    def drop_former(self, namespace: str) -> int:
        """See `Ahead.drop_former`."""
        ns = number_of(namespace)
        with self.writing() as session:
            session.row("ahead.hold", {"ns": ns})
            count = session.run("ahead.drop_former", {"ns": ns, "model": self.model})
            session.run("commit")
        return count
