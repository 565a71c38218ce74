"""Asks about a write that the gate could not decide, or checks an act that it decided alone.

A question is part of the write's journal entry and changes nothing that the write does. The budget is kept with the
namespace, in the same transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from wellkept.core.asking.budget import (
    WORTH_OF_RETURN,
    counted,
    is_drawn,
    is_worthless,
    name_of,
    opened,
    paid,
    worth_of,
)
from wellkept.core.asking.candidates import numbered
from wellkept.core.asking.state import MOST_OPEN, Asking, OpenQuestion, read_state, state_of, state_text
from wellkept.core.records.conflicts import is_open
from wellkept.engine.base.context import Context
from wellkept.engine.lookup.open_questions import still_open
from wellkept.storage.port import Tx
from wellkept.types import (
    MAY_RESTATE,
    AutomaticAct,
    Chance,
    Decision,
    Filter,
    Link,
    Memory,
    MemoryChange,
    QuestionRecord,
)

log = logging.getLogger("wellkept")


def raised(ctx: Context, tx: Tx, decision: Decision) -> QuestionRecord | None:
    """The question that the write's entry asks; None where nobody is asked. The budget counts the write.

    Args:
        ctx: The store.
        tx: The transaction of the write, before its entry is applied.
        decision: The decision about the write.
    """
    per_100 = ctx.policy.ask
    if not per_100:
        return None
    text = tx.asking()
    state = state_of(text)
    if text and read_state(text) is None:
        log.warning("What %s remembers of its questions cannot be read; it is begun anew", ctx.namespace)
    memory, chances = _stored(decision), decision.chances
    audited: AutomaticAct | Literal[""] = ""
    worth = 0.0
    rows: dict[str, Memory] = {}
    if decision.outcome != "restated" and is_worthless(chances) and not decision.conflicts:
        worth, chances = worth_of(chances, {}), ()  # as most writes are: no candidate is read
    if memory is not None and chances:
        rows = {row.id: row for row in tx.find(Filter(ids=tuple(one.memory_id for one in chances)))}
        chances = tuple(one for one in chances if one.memory_id in rows and one.memory_id not in _replaced(decision))
        if decision.outcome == "restated":
            chances, returns = _beside_head(ctx, tx, decision, chances)
            worth = WORTH_OF_RETURN if returns else 0.0
            audited = "fold" if returns or is_drawn(memory.id) else ""
        else:
            marked = {item.a for item in decision.conflicts if item.kind == "outdated"}
            audited = "mark" if marked and is_drawn(memory.id) else ""
            worth = worth_of((one for one in chances if one.memory_id not in marked), rows)
    state, is_worth_it = counted(state, worth, per_100)
    wanted = is_worth_it or (audited and state.tokens >= 1)
    record = None
    if memory is not None and chances and wanted:
        state = _without_closed(ctx, tx, state, chances[0])
        state = state if audited else state.without(*_outbid(state, chances[0], worth))
    if memory is not None and chances and wanted and (audited or not _about(state, chances[0])):
        record = QuestionRecord(
            memory_id=memory.id,
            chances=numbered(chances, _same(tx, chances)),
            worth=worth,
            expires_at=ctx.clock() + timedelta(days=ctx.policy.conflict_days),
            audited=audited,
        )
        state = paid(state).with_question(opened(record, tx.seq + 1))
    tx.note_asking(state_text(state))
    return record


def _stored(decision: Decision) -> Memory | None:
    """The new row of the write, if it may be asked about: a current memory, or a wording."""
    if decision.outcome == "restated":
        inserted = (one.after for one in decision.effects if isinstance(one, MemoryChange) and one.before is None)
        return next((row for row in inserted if row is not None and row.status == "wording"), None)
    memory = decision.memory
    return memory if memory is not None and memory.status == "active" else None


def _replaced(decision: Decision) -> frozenset[str]:
    """The memories that the write has already replaced."""
    changes = (one for one in decision.effects if isinstance(one, MemoryChange))
    return frozenset(one.after.id for one in changes if one.after is not None and one.after.status == "superseded")


def _beside_head(
    ctx: Context, tx: Tx, decision: Decision, chances: Sequence[Chance]
) -> tuple[tuple[Chance, ...], bool]:
    """The candidates with the head first; True if the head is marked as outdated, so that it may be true again."""
    head = decision.memory
    if head is None:
        return (), False
    now = ctx.clock()
    marks = [item for item in tx.conflicts(ids=(head.id,)) if item.kind == "outdated" and item.a == head.id]
    newer = [item.b for item in marks if is_open(item, now)]
    known = {one.memory_id: one for one in chances}
    first = [head.id, *newer]
    ordered = [known.get(one, Chance(one, repeats=float(one == head.id), replaces=0.0)) for one in first]
    return (*ordered, *(one for one in chances if one.memory_id not in first)), bool(newer)


def _without_closed(ctx: Context, tx: Tx, state: Asking, best: Chance) -> Asking:
    """The state without closed questions that stand in the way: about the same fact, or in a full list."""
    listed = list(state.open) if len(state.open) >= MOST_OPEN else _about(state, best)
    if not listed:
        return state
    still = still_open(tx, listed, ctx.clock())
    return state.without(*(one.entry for one in listed if one.entry not in still))


def _about(state: Asking, best: Chance) -> list[OpenQuestion]:
    """The open questions about the same fact: nobody is asked twice about it."""
    name = name_of(best.memory_id)
    return [one for one in state.open if name in (one.of, one.about)]


def _outbid(state: Asking, best: Chance, worth: float) -> list[int]:
    """The open questions about the same fact that give way to one that is worth more; none where one of them stays."""
    about = _about(state, best)
    return [one.entry for one in about] if all(one.worth < worth for one in about) else []


def _same(tx: Tx, chances: Sequence[Chance]) -> list[Link]:
    """The links between candidates that probably say the same."""
    ids = frozenset(one.memory_id for one in chances)
    return [one for one in tx.links(sorted(ids)) if one.rel == MAY_RESTATE and {one.src, one.dst} <= ids]
