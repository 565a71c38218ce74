"""What every verb needs: the store, the embedder, the policy, and the sources of time and ids."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypedDict

from wellkept.core.judging.evidence import ContradictionFn
from wellkept.engine.base.handed_out import Handed
from wellkept.engine.base.queue_ledger import Ledger, ProcessLedger
from wellkept.engine.models.recent_opinions import RecentOpinions
from wellkept.engine.models.scale import Scale
from wellkept.models.port import Embedder, Judge, RelationModel, Reranker
from wellkept.policy import Policy
from wellkept.storage.port import Storage
from wellkept.types import HybridWeights, WeightsName

Clock = Callable[[], datetime]
NewId = Callable[[], str]


class Seams(TypedDict, total=False):
    """What a test may put in place of the world."""

    clock: Clock | None
    new_id: NewId | None


class MoreOptions(Seams, total=False):
    """Seldom given arguments of `wellkept.open`, which explains them."""

    hybrid_weights: HybridWeights | WeightsName | None
    reranker: str | Reranker | None
    token: str


class OpenOptions(MoreOptions, total=False):
    """The keyword arguments of `wellkept.open`, which explains them."""

    policy: Policy | None
    embedder: str | Embedder | None
    relation_model: str | RelationModel | None
    namespace: str
    actor: str
    contradiction_fn: ContradictionFn | None
    judge: str | Judge | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The fixed surroundings of a `MemoryStore`.

    Attributes:
        actor: Who acts, for the journal.
        scale: Turns the embedder's cosines into similarities.
        clock: The time, aware and in UTC.
        new_id: A new time-ordered id.
        relation_model: Reads the pairs that rules leave open; None to judge by rules alone.
        judge: Adds possible conflicts to review, last of all; in a time box. None for none.
        held: Says why no plan may be executed, asked each time; empty when one may.
        session: The conversation that a call belongs to; empty for none.
        handed: What packs have handed out in this process, by session; all namespaces of a store share it.
        recent: What the relation model has said lately, by namespace; all namespaces of a store share it.
        hybrid_weights: How recall ranks when a call says nothing else; None for the blend.
        reranker: Puts the best answers of recall in order, in a time box; None for none.
        ledger: Where writes wait that were put off.
    """

    storage: Storage
    embedder: Embedder
    scale: Scale
    policy: Policy
    namespace: str
    actor: str
    clock: Clock
    new_id: NewId
    contradiction_fn: ContradictionFn | None = None
    relation_model: RelationModel | None = None
    judge: Judge | None = None
    held: Callable[[], str] = str
    session: str = ""
    handed: Handed = field(default_factory=Handed)
    recent: RecentOpinions = field(default_factory=RecentOpinions)
    hybrid_weights: HybridWeights | None = None
    reranker: Reranker | None = None
    ledger: Ledger = field(default_factory=ProcessLedger)


def utc_now() -> datetime:
    """The wall clock."""
    return datetime.now(UTC)


class Uuid7:
    """Makes UUIDv7 (RFC 9562): 48 bits of milliseconds, a counter that keeps one process in order, random bits.

    Example:
        >>> new_id = Uuid7()
        >>> new_id() < new_id()
        True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0
        self._count = 0

    def __call__(self) -> str:
        """The next id."""
        with self._lock:
            milliseconds = time.time_ns() // 1_000_000
            if milliseconds > self._last:
                self._last, self._count = milliseconds, secrets.randbits(11)
            else:
                self._count += 1
                if self._count >= 1 << 12:
                    self._last, self._count = self._last + 1, 0
            value = self._last << 80 | 0x7 << 76 | self._count << 64 | 0b10 << 62 | secrets.randbits(62)
        text = f"{value:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
