"""Conflict rows: a deterministic key per pair, a list to review, an end.

One pair is flagged once per kind, whoever found it and however often. A settled conflict stays
settled: the key is known, so nothing opens it again but `restore` or `undo`.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta

from wellkept.core.text.forms import excerpt
from wellkept.types import Comparison, Conflict, ConflictChange, ConflictKind, Memory, Resolution

EXCERPT = 200


def key_of(a: str, b: str, kind: ConflictKind) -> str:
    """The same 16 hex digits for a pair in either order."""
    first, second = sorted((a, b))
    return hashlib.sha256(f"{kind}\x1f{first}\x1f{second}".encode()).hexdigest()[:16]


def between(
    old: Memory, new: Memory, comparison: Comparison, *, kind: ConflictKind, moment: tuple[datetime, float]
) -> Conflict:
    """The open conflict of a pair; `moment` is the time and the days it stays open."""
    now, days = moment
    return Conflict(
        key=key_of(old.id, new.id, kind),
        a=old.id,
        b=new.id,
        kind=kind,
        reason="repeat" if kind == "duplicate" else comparison.reason or _unnamed(comparison),
        similarity=comparison.similarity,
        differences=comparison.differences,
        excerpt_a=excerpt(old.content, EXCERPT),
        excerpt_b=excerpt(new.content, EXCERPT),
        created_at=now,
        expires_at=now + timedelta(days=days),
    )


def _unnamed(comparison: Comparison) -> str:
    return "value_diff" if comparison.opinion is None else "model"


def retold(conflict: Conflict, old: Memory, new: Memory, comparison: Comparison) -> Conflict:
    """The same conflict with the words that the two memories have now."""
    return replace(
        conflict,
        differences=comparison.differences,
        reason=comparison.reason or conflict.reason,
        excerpt_a=excerpt(old.content, EXCERPT),
        excerpt_b=excerpt(new.content, EXCERPT),
    )


def opened(conflict: Conflict) -> ConflictChange:
    """The effect that records a conflict."""
    return ConflictChange(None, conflict)


def settled(conflict: Conflict, resolution: Resolution, *, at: datetime) -> Conflict:
    """The conflict with its end."""
    return replace(conflict, resolution=resolution, resolved_at=at)


def is_open(conflict: Conflict, now: datetime) -> bool:
    """Whether somebody still has to look: neither settled nor expired (expired means keep both)."""
    return conflict.resolution is None and (conflict.expires_at is None or now < conflict.expires_at)


def is_reviewed(conflict: Conflict) -> bool:
    """Whether somebody decided it; one that upkeep closed because its time was over was read by nobody."""
    if conflict.resolution is None:
        return False
    ended, decided = conflict.expires_at, conflict.resolved_at
    lapsed = ended is not None and decided is not None and decided >= ended
    return not (lapsed and conflict.resolution == "keep_both")
