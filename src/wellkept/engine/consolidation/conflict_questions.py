"""Asks about open conflicts that no question is about, such as those from before a store asked.

Only what the budget has left over from writes is spent, so a second run asks nothing more.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from wellkept.core.asking.budget import name_of, opened, paid, worth_of
from wellkept.core.asking.state import Asking, state_of, state_text
from wellkept.core.records.conflicts import is_open
from wellkept.engine.base.context import Context
from wellkept.engine.base.retry import writing
from wellkept.storage.port import Tx
from wellkept.types import Chance, Conflict, Filter, Memory, QuestionRecord

_EVEN = 0.5
"""Probability that a listed contradiction is an update, or a possible duplicate a repeat, where none was noted."""


def ask_about_conflicts(ctx: Context) -> int:
    """Ask about the most valuable open contradictions and possible duplicates; returns the number of questions."""
    if not ctx.policy.ask:
        return 0
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        if not _unasked(ctx, tx, state_of(tx.asking())):
            return 0
    return writing(ctx, lambda tx: _ask(ctx, tx))


def _ask(ctx: Context, tx: Tx) -> int:
    state, count, now = state_of(tx.asking()), 0, ctx.clock()
    for worth, chance, item in _unasked(ctx, tx, state):
        if state.tokens < 1:
            break
        if not state.concerned.isdisjoint((name_of(item.a), name_of(item.b))):
            continue
        ends = item.expires_at or now + timedelta(days=ctx.policy.conflict_days)
        record = QuestionRecord(memory_id=item.b, chances=(chance,), worth=worth, expires_at=ends)
        entry = ctx.entry("ask", "asked", at=now)
        entry = replace(entry, memory_id=item.b, memory_ids=(item.b,), conflict_keys=(item.key,), asks=record)
        state = paid(state).with_question(opened(record, tx.apply(entry)))
        count += 1
    if count:
        tx.note_asking(state_text(state))
    return count


def _unasked(ctx: Context, tx: Tx, state: Asking) -> list[tuple[float, Chance, Conflict]]:
    """Open conflicts of current memories that no question is about, the most valuable first; none without budget."""
    if state.tokens < 1:
        return []
    now = ctx.clock()
    items = [one for one in tx.conflicts() if one.kind != "outdated" and is_open(one, now)]
    items = [one for one in items if state.concerned.isdisjoint((name_of(one.a), name_of(one.b)))]
    rows = {row.id: row for row in tx.find(Filter(ids=tuple({end for one in items for end in (one.a, one.b)})))}
    found = [(*_weighed(one, rows), one) for one in items if one.a in rows and one.b in rows]
    return sorted(found, key=lambda one: (-one[0], one[2].created_at, one[2].key))


def _weighed(item: Conflict, rows: dict[str, Memory]) -> tuple[float, Chance]:
    chance = item.probability if item.probability is not None else _EVEN
    repeats, replaces = (chance, 0.0) if item.kind == "duplicate" else (0.0, chance)
    made = Chance(item.a, repeats=repeats, replaces=replaces, number=1)
    return worth_of((made,), rows), made
