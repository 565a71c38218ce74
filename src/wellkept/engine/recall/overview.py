"""What is known at the start of a session, before there is a question: the most important of the newest memories.

It uses no words and no model, so it works in every language and costs a read.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from wellkept.core.recall.pack import packed
from wellkept.engine.base.context import Context
from wellkept.engine.lookup.read import listing
from wellkept.types import Filter, Hit, Memory
from wellkept.types.packs import Group, Pack, PackSpec

NEWEST = 200
"""Memories among which the most important are found."""
_END = datetime.max.replace(tzinfo=UTC)
_TOKENS_OF_AN_ITEM = 20


def weightiest(newest: Iterable[Memory]) -> list[Memory]:
    """Memories with the pinned and most important ones first, of equal ones the newest.

    Args:
        newest: Memories, newest first.
    """
    return sorted(newest, key=lambda memory: (not memory.pinned, -memory.importance))


def overview(ctx: Context, *, budget_tokens: int) -> Pack:
    """The pinned and most important of the newest memories as a block for a prompt; none of them counts as used.

    Args:
        ctx: The store.
        budget_tokens: Maximum number of tokens of the block.
    """
    newest = listing(ctx, Filter(before=(_END, "")), limit=NEWEST)
    chosen = weightiest(reversed(newest))[: max(1, budget_tokens // _TOKENS_OF_AN_ITEM)]
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        open_ones = [one for one in tx.conflicts(ids=[memory.id for memory in chosen]) if one.resolution is None]
    groups = [
        Group(
            Hit(memory, memory.importance, {}),
            conflicts=tuple(one for one in open_ones if memory.id in (one.a, one.b)),
        )
        for memory in chosen
    ]
    return packed(groups, PackSpec(budget_tokens=budget_tokens))
