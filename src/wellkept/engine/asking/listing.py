"""Lists the open questions, and says how this store asks and how often its automatic acts were wrong."""

from __future__ import annotations

from dataclasses import replace

from wellkept.core.asking.learning import FORGETS, Forgetting, forgotten, shifts_of
from wellkept.core.asking.state import ACTS, Asking, state_of, state_text
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import at_most
from wellkept.engine.lookup.open_questions import open_ones
from wellkept.types import AskingReport, Question, Reason


def questions(ctx: Context, *, limit: int | None) -> tuple[Question, ...]:
    """The open questions, the most valuable first."""
    most = at_most("limit", limit)
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        found = open_ones(tx, state_of(tx.asking()), ctx.clock())
    return tuple(found[:most])


def report(ctx: Context) -> AskingReport:
    """How the namespace asks."""
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        state = state_of(tx.asking())
        count = len(open_ones(tx, state, ctx.clock()))
    return AskingReport(
        open=count,
        checked={act: state.checked[act].audited for act in ACTS},
        wrong={act: state.checked[act].wrong for act in ACTS},
        shifts={act: shift for act, shift in shifts_of(state).items()},
    )


def forget_lessons(ctx: Context) -> None:
    """Forget what answers have taught; questions and answers stay. Without lessons nothing changes."""
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        state = state_of(tx.asking())
        if dict(state.checked) == dict(Asking().checked):
            return
        known = Forgetting(state.checked, since=state.forgotten)
        entry = replace(ctx.entry(FORGETS, "forgotten"), reasons=(Reason(FORGETS, str(known)),))
        tx.note_asking(state_text(forgotten(state, tx.apply(entry))))
