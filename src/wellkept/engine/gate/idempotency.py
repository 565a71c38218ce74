"""Idempotency keys: the same write sent again answers with what was done, and stores nothing twice."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from wellkept.core.records.codec import dumps, to_plain
from wellkept.engine.history.journal import is_undone
from wellkept.errors import IdempotencyMismatch
from wellkept.storage.port import Tx
from wellkept.types import ALL_STATUSES, Filter, JournalEntry, NewMemory, Reason, WriteResult


def replayed(tx: Tx, new: NewMemory) -> tuple[NewMemory, WriteResult | None]:
    """A call repeated under its idempotency key writes nothing and returns the first result.

    If the entry of the key was undone, the key is free again: the write uses its next form.

    Raises:
        IdempotencyMismatch: The key was used before with another payload.
    """
    payload = payload_of(new) if new.idempotency_key else ""
    turn = 0
    key = new.idempotency_key
    while key and (earlier := tx.journal(key=key)):
        entry = earlier[-1]
        if entry.payload and entry.payload != payload:  # unknown for an erased entry
            raise IdempotencyMismatch(
                "this idempotency key came before with another payload",
                where=new.idempotency_key,
                todo="Use a new key for a new text",
            )
        if not is_undone(tx, entry.seq):
            return new, _as_before(tx, entry)
        turn += 1
        key = f"{new.idempotency_key}~{turn}"
    return (new if turn == 0 else replace(new, idempotency_key=key)), None


def is_free_again(tx: Tx, new: NewMemory) -> bool:
    """Whether the entry of a used key is undone, so that the write goes on."""
    try:
        return replayed(tx, new)[1] is None
    except IdempotencyMismatch:
        return False  # raised when the item is decided


def next_key(tx: Tx, key: str, payload: str) -> str:
    """The form of a used key for the write that takes the place of its entry; empty for no key."""
    base, _, turn = key.rpartition("~")
    if base and turn.isdecimal() and any(one.payload == payload for one in tx.journal(key=base)):
        return f"{base}~{int(turn) + 1}"
    return f"{key}~1" if key else ""


def _as_before(tx: Tx, entry: JournalEntry) -> WriteResult:
    rows = tx.find(Filter(ids=(entry.memory_id,), statuses=ALL_STATUSES)) if entry.memory_id else []
    memory = rows[0] if rows else None
    return WriteResult(
        outcome="duplicate" if memory is not None else "rejected",
        memory=memory,
        reasons=(Reason("replay", f"entry {entry.seq}: {entry.outcome}"),),
        message=f"Already done in entry {entry.seq} ({entry.outcome}). Nothing changed.",
        dropped=entry.dropped.id if entry.dropped else "",
    )


def payload_of(new: NewMemory) -> str:
    """Hash of all fields of a write, except its key and its imported usage."""
    plain = to_plain(new)
    for name in ("idempotency_key", "access_count", "last_accessed_at", "updated_at"):
        plain.pop(name, None)
    return hashlib.sha256(dumps(plain).encode()).hexdigest()[:32]
