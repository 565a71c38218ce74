"""The open questions about what one actor wrote."""

from __future__ import annotations

from wellkept.core.asking.state import state_of
from wellkept.engine.base.context import Context
from wellkept.engine.lookup.open_questions import open_ones
from wellkept.types import Question


def questions_by_writer(ctx: Context) -> tuple[Question, ...]:
    """The open questions about what the actor of the store wrote, the most valuable first."""
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        state = state_of(tx.asking())
        others = [one.seq for one in tx.journal(seqs=[one.entry for one in state.open]) if one.actor != ctx.actor]
        return tuple(open_ones(tx, state.without(*others), ctx.clock()))
