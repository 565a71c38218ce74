"""Similar memories for a text and the expected result of a write, as returned by the route `check-similar`."""

from __future__ import annotations

from dataclasses import replace

from wellkept.core.records.explain import check_similar as answer
from wellkept.core.records.lifecycle import lifecycle
from wellkept.core.text.forms import check_text
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import label, new_memory
from wellkept.engine.gate import write
from wellkept.errors import ModelResponseInvalid, UnknownKind
from wellkept.policy import Policy
from wellkept.types import Json, Lifecycle, Memory

MOST_SHOWN = 1_000
"""The maximum `limit`; no more memories are shown than a write compares."""


def check_similar(ctx: Context, content: str, title: str, *, kind: str, limit: int = 5) -> dict[str, Json]:
    """Stored memories of one kind that are similar to a text, and what `remember` would do with it.

    The recommendation is `duplicate_found` exactly when a write would store no new row because a memory
    already holds the text. For a kind that is never compared on writing, similar memories are shown, and the
    recommendation is at most `similar_found`.

    Args:
        ctx: The context of the store.
        content: The text.
        title: Its title; embedded together with the text, as on writing.
        kind: Only memories of this kind are searched; an unknown kind has none.
        limit: Maximum number of matches to show; does not affect the recommendation.

    Returns:
        `matches` and `recommendation`.

    Raises:
        ModelError: The text could not be embedded.
        StorageError: The candidates could not be read.
        InvalidInput: The text or the title is invalid.

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
        asking = replace(ctx, policy=_asking(ctx.policy, kind))
    except UnknownKind:
        return {"matches": [], "recommendation": "unique"}
    new = new_memory(content, {"kind": kind, "title": title}, asking.policy)
    result = write.check(asking, new)
    if "unreadable" in result.degraded:
        raise ModelResponseInvalid("empty result", where=ctx.embedder.id)
    return answer(result, limit=limit)


def lifecycle_of(ctx: Context, memory: Memory) -> Lifecycle:
    """The current lifecycle: ACTIVE, WEAK or DORMANT."""
    return lifecycle(memory, ctx.policy.for_kind(memory.kind).decay, ctx.clock())


def _asking(policy: Policy, kind: str) -> Policy:
    """The policy of a write, changed so that every kind is searched by vector and an outage is an error."""
    own = policy.for_kind(kind)
    if "vector" not in own.stages:  # similar memories are shown but have no effect
        own = replace(own, stages=(*own.stages, "vector"), bands=(), same_at=1.0)
    return replace(policy, kinds={**policy.kinds, kind: replace(own, on_error="raise")})
