"""Automatic links of a text: to memories named in `[[brackets]]`, and to the nearest memories.

Both belong to the write that stores the text: made in its transaction, journaled and undone with it. There is
at most one automatic link between two memories.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from wellkept.core.gate.may_wait import WAITS
from wellkept.core.judging.calibration import rounded
from wellkept.core.records.vectors import cosines
from wellkept.core.records.wikilinks import is_waiting, keys, names, waiting
from wellkept.core.text.forms import canonical, search_terms
from wellkept.engine.base.context import Context
from wellkept.frozen import frozen
from wellkept.policy import KindPolicy
from wellkept.storage.port import Tx
from wellkept.types import (
    ALL_STATUSES,
    Decision,
    Effect,
    Filter,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
    Reason,
    Vector,
)

NAMED = "wikilink"
UNKNOWN = "wikilink_waits"
FOUND = "wikilink_found"
NEAREST = "auto_link"
RULES = frozenset({NAMED, UNKNOWN, FOUND, NEAREST})
"""Rules of this module; each link has one reason with one of them, in the order of the links."""

_CANDIDATES = (64, 512, 4096)
"""Rows searched by the words of a name, and how many are read one by one: the row with this title contains
all of its words, but so may many rows that only mention it."""
_REL = "related"


@frozen
class Made:
    """The links of a text, with reasons.

    Attributes:
        links: Links to existing memories; pending names are among the effects only.
        effects: One change per reason, preceded by the removal of the pending link if there was one.
    """

    links: tuple[Link, ...] = ()
    effects: tuple[Effect, ...] = ()
    reasons: tuple[Reason, ...] = ()


def with_mentions(
    ctx: Context,
    tx: Tx,
    decision: Decision,
    policy: KindPolicy,
    *,
    text: str,
    own: Collection[str],
    vector: Vector | None,
    hidden: Collection[str] = frozenset(),
) -> Decision:
    """The decision with the automatic links of the text, after the caller's own links.

    Args:
        policy: Of the memory's kind.
        text: The new text; for an evolved memory only the addition.
        own: Ids that the caller links to.
        vector: Of the text; None after an outage, when no nearest memories are found.
        hidden: Ids of later memories, whose titles are not known yet.
    """
    memory = decision.memory
    if memory is None or decision.outcome not in ("created", "superseded", "evolved"):
        return decision  # a duplicate makes no links
    taken = {link.dst for link in decision.links if link.src == memory.id} | set(own)
    taken |= {change.before.id for change in decision.effects if isinstance(change, MemoryChange) and change.before}
    if decision.outcome == "evolved":
        taken |= _reached(tx, memory)
    maker = _Maker(ctx, tx, memory, taken, hidden)
    if policy.wikilinks:
        maker.name(names(text))
    if policy.auto_link and vector is not None:
        maker.near(policy, vector)
    if policy.wikilinks and WAITS not in decision.degraded:
        maker.answer()
    made = maker.done()
    if not made.reasons:
        return decision
    return replace(
        decision,
        links=(*made.links, *decision.links),
        effects=(*decision.effects, *made.effects),
        reasons=(*decision.reasons, *made.reasons),
    )


def is_awaited(tx: Tx, memory: Memory) -> bool:
    """Whether a text names the memory and has a pending link for that name."""
    ends = {waiting(key) for key in keys(memory)}
    return bool(ends) and any(link.dst in ends for link in tx.links(sorted(ends)))


def of_revised(ctx: Context, tx: Tx, before: Memory, after: Memory) -> Made:
    """New links of an edited memory; pending links of removed names are deleted."""
    policy = ctx.policy.for_kind(after.kind)
    if not policy.wikilinks or after.status != "active":
        return Made()
    there = tx.links((after.id,))
    still = {waiting(name) for name in names(after.content)}
    gone = [LinkChange(link, None) for link in there if link.src == after.id and is_waiting(link.dst)]
    gone = [change for change in gone if change.before is not None and change.before.dst not in still]
    made = _Maker(ctx, tx, after, {link.dst for link in there if link.src == after.id})
    if before.content != after.content:
        made.name(names(after.content))
    if keys(before) != keys(after):
        made.answer()
    told = made.done()
    return replace(told, effects=(*gone, *told.effects))


def _reached(tx: Tx, memory: Memory) -> set[str]:
    return {link.dst for link in tx.links((memory.id,)) if link.src == memory.id}


class _Maker:
    """Collects the links of one memory, each once.

    Args:
        taken: Ids that the memory is already linked to.
        hidden: Ids of memories whose titles are not known yet.
    """

    def __init__(
        self, ctx: Context, tx: Tx, memory: Memory, taken: set[str], hidden: Collection[str] = frozenset()
    ) -> None:
        self._ctx = ctx
        self._tx = tx
        self._memory = memory
        self._taken = {*taken, memory.id}
        self._hidden = {*hidden, memory.id}
        self._links: list[Link] = []
        self._effects: list[Effect] = []
        self._reasons: list[Reason] = []

    def name(self, found: Iterable[str]) -> None:
        """Link to each named memory; a name without a memory becomes a pending link."""
        for name in found:
            if canonical(name) in keys(self._memory):
                continue
            row = _titled(self._tx, name, self._hidden)
            end = row.id if row is not None else waiting(name)
            if row is not None and waiting(name) in self._taken:
                self._wait_no_more(waiting(name))
            if end in self._taken:
                continue
            self._taken.add(end)
            link = Link(self._memory.id, end, _REL, self._memory.updated_at)
            self._effects.append(LinkChange(None, link))
            if row is None:
                self._reasons.append(Reason(UNKNOWN, f"[[{name}]]"))
            else:
                self._links.append(link)
                self._reasons.append(Reason(NAMED, f"[[{name}]] is {row.id}"))

    def near(self, policy: KindPolicy, vector: Vector) -> None:
        """Link to the nearest memories of any kind, from the policy's similarity on."""
        asked = np.asarray([vector], dtype=np.float32)
        # Some of the nearest are already linked: search twice as many.
        limit = 2 * policy.auto_link + len(self._taken)
        around = self._tx.nearest(asked, limit=limit, statuses=("active",))[0]
        if not around.ids:
            return
        calibration = self._ctx.scale.calibration
        exact = [rounded(float(value)) for value in cosines(vector, around.vectors)]
        near = sorted(zip(around.ids, exact, strict=True), key=lambda pair: (-pair[1], pair[0]))
        left = policy.auto_link
        for end, cosine in near:
            similarity = calibration.similarity(cosine)
            if not left or similarity < policy.auto_link_at:
                return
            if end in self._taken:
                continue
            self._taken.add(end)
            left -= 1
            link = Link(self._memory.id, end, _REL, self._memory.updated_at)
            self._links.append(link)
            self._effects.append(LinkChange(None, link))
            self._reasons.append(Reason(NEAREST, f"{similarity:.4f} to {end}"))

    def answer(self) -> None:
        """Link texts with a pending link for this name to the memory that now has it."""
        ends = tuple(waiting(key) for key in sorted(keys(self._memory)))
        waited = [link for link in self._tx.links(ends) if link.dst in ends] if ends else []
        if not waited:
            return
        there = {(one.src, one.rel) for one in self._tx.links((self._memory.id,)) if one.dst == self._memory.id}
        for link in waited:
            if link.src == self._memory.id:
                continue
            self._effects.append(LinkChange(link, None))
            if (link.src, link.rel) in there:
                continue
            made = Link(link.src, self._memory.id, link.rel, self._memory.updated_at)
            self._effects.append(LinkChange(None, made))
            self._reasons.append(Reason(FOUND, f"{link.src} names it"))

    def _wait_no_more(self, end: str) -> None:
        for link in self._tx.links((self._memory.id,)):
            if link.src == self._memory.id and link.dst == end and link.rel == _REL:
                self._effects.append(LinkChange(link, None))
                self._taken.discard(end)

    def done(self) -> Made:
        """The collected links and effects."""
        return Made(tuple(self._links), tuple(self._effects), tuple(self._reasons))


def _titled(tx: Tx, name: str, hidden: Collection[str]) -> Memory | None:
    """The memory with this id or title that is not hidden; of several with the same title the newest."""
    rows = tx.find(Filter(ids=(name,), statuses=ALL_STATUSES))
    if rows and rows[0].status != "erased":
        return rows[0]
    terms = search_terms(name)
    key = canonical(name)
    seen = 0
    for most in _CANDIDATES if terms else ():
        ids = tx.match(terms, limit=most)
        rows = [row for row in tx.find(Filter(ids=tuple(ids[seen:]))) if key in keys(row) and row.id not in hidden]
        if rows:
            return max(rows, key=lambda row: (row.created_at, row.id))
        seen = len(ids)
        if seen < most or _is_awaited(tx, name, ids[: _CANDIDATES[0]]):
            break
    return None


def _is_awaited(tx: Tx, name: str, ids: Sequence[str]) -> bool:
    """Whether one of these has a pending link for the name."""
    end = waiting(name)
    return any(link.dst == end for link in tx.links(ids))
