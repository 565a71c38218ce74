"""What the gate has recorded between hits, read once for the order and for the grouping."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from wellkept.frozen import frozen
from wellkept.storage.port import Tx
from wellkept.types import Conflict, Hit, Link


@frozen
class Recorded:
    """The conflicts and links of some hits.

    Attributes:
        conflicts: Those with at least one of the hits.
        links: Those that lead to or from one of the hits.
    """

    conflicts: tuple[Conflict, ...]
    links: tuple[Link, ...]

    @classmethod
    def of(cls, tx: Tx, hits: Iterable[Hit]) -> Self:
        """What this view of the store has recorded about the hits."""
        ids = tuple(hit.memory.id for hit in hits)
        return cls(tuple(tx.conflicts(ids=ids)), tuple(tx.links(ids))) if ids else cls((), ())
