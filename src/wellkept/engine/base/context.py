"""The context of all verbs: the store, the embedder, the policy, clock and id generator."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict

from wellkept.engine.base.handed_out import Handed
from wellkept.engine.base.queue_ledger import Ledger, ProcessLedger
from wellkept.engine.models.recent_opinions import RecentOpinions
from wellkept.engine.models.scale import Scale
from wellkept.frozen import frozen
from wellkept.models.port import Embedder, Judge, RelationModel, Reranker
from wellkept.policy import Policy
from wellkept.storage.port import Describing, Storage
from wellkept.types import Header, HybridWeights, JournalEntry, WeightsName

if TYPE_CHECKING:
    from wellkept.core.judging.evidence import ContradictionFn

Clock = Callable[[], datetime]
NewId = Callable[[], str]
Watch = Callable[[str, Callable[[], Any]], Any]
"""Runs a verb, given its name, and returns its result: whoever measures or traces the verbs."""


class Seams(TypedDict, total=False):
    """Replaceable parts for tests, such as clock and ids."""

    clock: Clock | None
    new_id: NewId | None


class MoreOptions(Seams, total=False):
    """Rarely used arguments of `wellkept.open`, documented there."""

    hybrid_weights: HybridWeights | WeightsName | None
    reranker: str | Reranker | None
    token: str


class OpenOptions(MoreOptions, total=False):
    """The keyword arguments of `wellkept.open`, documented there."""

    policy: Policy | None
    embedder: str | Embedder | None
    relation_model: str | RelationModel | None
    namespace: str
    actor: str
    contradiction_fn: ContradictionFn | None
    judge: str | Judge | None


@frozen(kw_only=True)
class Context:
    """The fixed environment of a `MemoryStore`.

    Attributes:
        actor: Who makes the changes, for the journal.
        scale: Turns the embedder's cosines into similarities.
        clock: The current time, aware and in UTC.
        new_id: A new time-ordered id.
        relation_model: Classifies pairs that the rules leave open; None to use rules alone.
        judge: Adds possible conflicts for review, after all other models, with a time limit; None for none.
        held: Called before an execution; returns why no plan may be executed, or an empty text.
        session: The session of the call; empty for none.
        handed: Texts handed out by packs in this process, by session; shared by all namespaces of a store.
        recent: Recent opinions of the relation model, by namespace; shared by all namespaces of a store.
        hybrid_weights: Default weights of recall; None for the blend.
        reranker: Sorts the best hits of recall, with a time limit; None for none.
        ledger: Keeps the queued writes.
        store_policy: The store's own policy, where the call has an answer to conflicts of its own; else None.
        watch: Runs each verb, and measures it; None for nobody.
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
    store_policy: Policy | None = None
    watch: Watch | None = None

    @property
    def reader(self) -> RelationModel | None:
        """The relation model as the policy uses it."""
        if self.relation_model is None or self.policy.second_reader == "off":
            return self.relation_model
        from wellkept.engine.models.fail_open import with_second_reader

        return with_second_reader(self.relation_model)

    def header(self) -> Header:
        """Properties of the store for work in this namespace; who needs the names of all asks the storage."""
        return _header(self.storage, self.namespace)

    def header_of_queue(self) -> Header:
        """Properties of the store for work with queued writes, in whatever namespace."""
        return _header(self.storage, "")

    def entry(self, verb: str, outcome: str, *, at: datetime | None = None) -> JournalEntry:
        """An entry of the journal by this actor and under this policy, of now unless a time is given."""
        at = self.clock() if at is None else at
        return JournalEntry(at=at, verb=verb, actor=self.actor, policy=self.policy.hash, outcome=outcome)


def _header(storage: Storage, namespace: str) -> Header:
    return storage.header_for(namespace) if isinstance(storage, Describing) else storage.header()


def utc_now() -> datetime:
    """The system clock."""
    return datetime.now(UTC)


class Uuid7:
    """Makes UUIDv7 (RFC 9562): 48 bits of milliseconds, a counter for order within a process, random bits.

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
