"""What a reader asks for and gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.types.judging import Conflict
from wellkept.types.memories import Memory
from wellkept.types.words import Degradation, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories to read; an empty tuple or None means "any".

    Attributes:
        ids: Exact ids.
        id_prefix: The beginning of an id.
        id_end: The end of an id, as tables show it.
        hashes: Aliases: rows that any of these hashes points at.
        subject / attribute: The slot, compared by `core.text.slot_key`; None for any.
        ongoing: True for rows without `ended_at`.
        created_from: Rows created at or after this time.
        unchecked: True for rows stored while a check could not run.
        embedded: True for rows with a vector, False for rows without.
        after: (created_at, id) of the last row of the page before.
    """

    ids: tuple[str, ...] | None = None
    id_prefix: str = ""
    id_end: str = ""
    hashes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ("active",)
    subject: str | None = None
    attribute: str | None = None
    tags: tuple[str, ...] = ()
    ongoing: bool | None = None
    created_from: datetime | None = None
    unchecked: bool | None = None
    embedded: bool | None = None
    after: tuple[datetime, str] | None = None


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Candidates of one query as a backend proposes them: ids and their stored vectors, row by row."""

    ids: tuple[str, ...]
    vectors: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer of `recall`.

    Attributes:
        memory: The memory.
        score: The rank score, higher is better.
        parts: The parts of the score by name.
        conflicts: Open conflicts this memory takes part in.
        degraded: What could not run: after an outage the words alone decided (I7).
    """

    memory: Memory
    score: float
    parts: Mapping[str, float]
    conflicts: tuple[Conflict, ...] = ()
    degraded: tuple[Degradation, ...] = ()
