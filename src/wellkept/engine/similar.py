"""What a text is near to, asked before it is stored, whatever its kind does at a write (S0-14 to S0-26)."""

from __future__ import annotations

from dataclasses import replace

from wellkept.core.explain import check_similar as answer
from wellkept.core.lifecycle import lifecycle
from wellkept.core.text import check_text
from wellkept.engine import write
from wellkept.engine.context import Context
from wellkept.engine.inputs import label, new_memory
from wellkept.errors import ModelResponseInvalid, UnknownKind
from wellkept.policy import PRESETS, Policy
from wellkept.types import Json, Lifecycle, Memory

MOST_SHOWN = 1_000
"""The largest `limit`; no more rows than the gate compares are ever shown."""


def check_similar(ctx: Context, content: str, title: str, *, kind: str, limit: int = 5) -> dict[str, Json]:
    """Stored memories of one kind at .90 and more, most similar first, and what to do about them.

    The question is asked of every kind in the same way, also of those that are never checked when
    they are written: it is the caller who decides then (S0-2, S0-19). A difference that forbids to
    call two texts the same makes a match `connect`, however near it is (I2).

    Args:
        ctx: The store's surroundings.
        content: The text.
        title: Its title; embedded together with the text, as at a write (S0-12).
        kind: Only memories of this kind are looked at; one that nobody knows holds none (S0-20).
        limit: Most matches to show; the recommendation follows from what is shown (S0-23, S0-24).

    Returns:
        `matches` and `recommendation`, in the shape of S0-22 and S0-24.

    Raises:
        ModelError: The text could not be embedded (S0-17).
        StorageError: The candidates could not be read (S0-18).
        InvalidInput: The text or the title cannot be used.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     _ = store.remember("Never trade weekends.", kind="lesson")
        ...     found = check_similar(store._ctx, "never trade weekends", "", kind="lesson")
        >>> found["recommendation"], found["matches"][0]["action"]
        ('duplicate_found', 'duplicate')
    """
    check_text(content, limit=ctx.policy.max_content_chars)
    label("title", title)
    try:
        asking = replace(ctx, policy=_by_similarity(ctx.policy, kind))
    except UnknownKind:
        return {"matches": [], "recommendation": "unique"}
    new = new_memory(content, {"kind": kind, "title": title}, asking.policy)
    result = write.check(asking, new)
    if "unreadable" in result.degraded:
        raise ModelResponseInvalid("empty result", where=ctx.embedder.id)
    return answer(result, limit=limit)


def lifecycle_of(ctx: Context, memory: Memory) -> Lifecycle:
    """ACTIVE, WEAK or DORMANT as of now (S0-22)."""
    return lifecycle(memory, ctx.policy.for_kind(memory.kind).decay, ctx.clock())


def _by_similarity(policy: Policy, kind: str) -> Policy:
    """The policy under which a kind is only compared: S0's tiers, the kind its only scope, an outage an error."""
    insight = PRESETS["insight"]
    own = replace(
        policy.for_kind(kind),
        scope=("kind",),
        stages=insight.stages,
        bands=insight.bands,
        on_same_subject="none",
        admit="anything",
        on_error="raise",
    )
    return replace(policy, kinds={**policy.kinds, kind: own})
