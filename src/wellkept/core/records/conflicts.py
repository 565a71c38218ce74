"""Conflict rows: one deterministic key per pair and kind, a review list, a resolution.

A pair is flagged once per kind. A resolved conflict stays resolved; only `restore` or `undo` reopens it.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta

from wellkept.core.text.forms import excerpt
from wellkept.types import Comparison, Conflict, ConflictChange, ConflictKind, Memory, Resolution

EXCERPT = 200


def key_of(a: str, b: str, kind: ConflictKind) -> str:
    """16 hex digits for a pair, independent of its order."""
    first, second = sorted((a, b))
    return hashlib.sha256(f"{kind}\x1f{first}\x1f{second}".encode()).hexdigest()[:16]


def between(
    old: Memory, new: Memory, comparison: Comparison, *, kind: ConflictKind, moment: tuple[datetime, float]
) -> Conflict:
    """The open conflict of a pair; `moment` gives the time and the days until it expires."""
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
    """The conflict with the current texts of both memories."""
    return replace(
        conflict,
        differences=comparison.differences,
        reason=comparison.reason or conflict.reason,
        excerpt_a=excerpt(old.content, EXCERPT),
        excerpt_b=excerpt(new.content, EXCERPT),
    )


def opened(conflict: Conflict) -> ConflictChange:
    """The effect that records a new conflict."""
    return ConflictChange(None, conflict)


def settled(conflict: Conflict, resolution: Resolution, *, at: datetime) -> Conflict:
    """The conflict with its resolution."""
    return replace(conflict, resolution=resolution, resolved_at=at)


def parts(conflict: Conflict) -> bool:
    """Whether a review decided that the two are no duplicates, so that they are never folded or merged."""
    return conflict.kind == "duplicate" and conflict.resolution in ("keep_both", "dismissed")


def is_open(conflict: Conflict, now: datetime) -> bool:
    """Whether review is pending: neither resolved nor expired (expired means keep both)."""
    return conflict.resolution is None and (conflict.expires_at is None or now < conflict.expires_at)


def is_reviewed(conflict: Conflict) -> bool:
    """Whether a person or agent resolved it; conflicts that upkeep closed on expiry do not count."""
    if conflict.resolution is None:
        return False
    ended, decided = conflict.expires_at, conflict.resolved_at
    lapsed = ended is not None and decided is not None and decided >= ended
    return not (lapsed and conflict.resolution == "keep_both")
