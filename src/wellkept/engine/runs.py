"""Consolidation, the writing half: a plan is executed action by action, and a run is taken back.

Each action is one transaction: whole or not at all, and a failing one fails alone (S1-44). An action
is checked against the versions it was planned on; what has changed since is stale and stays as it
is, what is done already stays done, so that a plan executed twice is executed once (I5, B-22).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from wellkept.core import conflicts as flags
from wellkept.core.effects import invert, touched
from wellkept.core.folding import changed, holds
from wellkept.core.merge import absorbed, segments
from wellkept.engine.context import Context
from wellkept.engine.embedding import Embeddings, NeedsVectorError
from wellkept.engine.journal import is_undone, lost_vectors, refuse_if_blocked
from wellkept.engine.summaries import born_summary
from wellkept.errors import InvalidPlan, NotFound, StorageError, UndoBlocked, WellkeptError
from wellkept.storage.port import Stale, Tx
from wellkept.types import (
    ALL_STATUSES,
    Action,
    ActionResult,
    Comparison,
    Conflict,
    ConflictChange,
    Effect,
    Filter,
    JournalEntry,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
    Plan,
    Reason,
    RunReport,
    UndoReport,
    Vector,
)

log = logging.getLogger("wellkept.consolidate")

Told = Callable[[int, int], None]
VERB = "consolidate"


class _StaleActionError(Exception):
    """Something the action was planned on has changed."""


class _DoneError(Exception):
    """The store already is what the action would make of it."""


def execute(
    ctx: Context, plan: Plan, *, only: Collection[str] = (), skip: Collection[str] = (), progress: Told | None = None
) -> RunReport:
    """Apply a plan.

    Args:
        ctx: The store; its namespace must be the plan's.
        plan: The plan, made now or long ago.
        only: Ids or types of the actions to apply; all when empty.
        skip: Ids or types of actions to leave out.
        progress: Told after each action how many are done, and of how many.

    Returns:
        What became of each action.

    Raises:
        InvalidPlan: It was made for another namespace, or `only`/`skip` name nothing in it.
    """
    _refuse_foreign(ctx, plan, (*only, *skip))
    run_id = f"consolidate-{ctx.new_id()}"
    started, began = ctx.clock(), time.monotonic()
    results = []
    for at, action in enumerate(plan.actions, start=1):
        if _is_left_out(action, only, skip):
            results.append(ActionResult(action.id, action.type, "left_out", "not asked for"))
        else:
            results.append(_run(ctx, plan, action, run_id))
        if progress is not None:
            progress(at, len(plan.actions))
    return RunReport(
        run_id=run_id,
        mode="execute",
        plan=plan,
        started_at=started,
        seconds=round(time.monotonic() - began, 3),
        results=tuple(results),
    )


def dry(ctx: Context, plan: Plan, *, forced: str = "") -> RunReport:
    """The report of a plan that is not executed."""
    return RunReport(
        run_id=f"consolidate-{ctx.new_id()}",
        mode="dry_run",
        plan=plan,
        started_at=ctx.clock(),
        seconds=0.0,
        forced=forced,
    )


def _refuse_foreign(ctx: Context, plan: Plan, named: Sequence[str]) -> None:
    if plan.namespace != ctx.namespace:
        raise InvalidPlan(
            f"the plan is for namespace {plan.namespace!r}, not {ctx.namespace!r}",
            where=plan.plan_id,
            todo="Open the store in that namespace",
        )
    known = {action.id for action in plan.actions} | {action.type for action in plan.actions}
    for name in named:
        if name not in known:
            raise InvalidPlan(f"no action {name!r} in the plan", where=plan.plan_id, todo="Use an id or type from it")


def _is_left_out(action: Action, only: Collection[str], skip: Collection[str]) -> bool:
    names = {action.id, action.type}
    return bool(names & set(skip)) or (bool(only) and not names & set(only))


def _run(ctx: Context, plan: Plan, action: Action, run_id: str) -> ActionResult:
    if action.type == "noop":
        return ActionResult(action.id, action.type, "done", "nothing to do")
    vectors = Embeddings(ctx.embedder)
    while True:
        try:
            with ctx.storage.begin(ctx.namespace, write=True) as tx:
                entry = _apply(ctx, tx, action, (plan, run_id), vectors)
            return ActionResult(action.id, action.type, "executed", "", entry)
        except NeedsVectorError as missing:
            vectors.fetch(missing.texts)
        except _DoneError as done:
            return ActionResult(action.id, action.type, "done", str(done))
        except (_StaleActionError, Stale) as stale:
            return ActionResult(action.id, action.type, "stale", str(stale))
        except (WellkeptError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, StorageError):
                log.error("CONSOLIDATE/ERROR action=%s %s", action.id, error)
            return ActionResult(action.id, action.type, "failed", f"{type(error).__name__}: {error}")


def _apply(ctx: Context, tx: Tx, action: Action, run: tuple[Plan, str], vectors: Embeddings) -> int:
    plan, run_id = run
    now = ctx.clock()
    rows = {row.id: row for row in tx.find(Filter(ids=tuple(action.expect), statuses=ALL_STATUSES))}
    known = {item.key: item for item in tx.conflicts(ids=action.targets)}
    _refuse_stale(action, rows, known)
    effects: list[Effect] = []
    made: dict[str, Vector] = {}
    if action.summary:
        born, made = born_summary(ctx, action, vectors, at=now)
        effects += born
    effects += [MemoryChange(rows[one.memory_id], changed(rows[one.memory_id], one, at=now)) for one in action.rows]
    if action.type == "summarize":
        effects = _behind_summary(effects)
    effects += _links(tx, action, effects)
    for source in action.aliases:
        effects += absorbed(action.canonical, segments(rows[source]), frozenset())
    effects += [change for change in _conflicts(action, rows, known, ctx) if change is not None]
    entry = JournalEntry(
        at=now,
        verb=VERB,
        actor=ctx.actor,
        policy=ctx.policy.hash,
        outcome=action.type,
        memory_id=action.canonical or action.targets[-1],
        memory_ids=tuple(dict.fromkeys((*action.targets, *touched(effects)))),
        reasons=(
            Reason(action.rationale.rule, "; ".join(action.rationale.reasons)),
            Reason("plan", f"{plan.plan_id} {plan.config_hash} action {action.id}"),
        ),
        conflict_keys=tuple(sorted({*_keys(action), *action.settles})),
        effects=tuple(effects),
        run_id=run_id,
    )
    return tx.apply(entry, vectors=made)


def _refuse_stale(action: Action, rows: Mapping[str, Memory], known: Mapping[str, Conflict]) -> None:
    """Done before, or planned on something that has changed since."""
    after = {one.memory_id: one.after for one in action.rows}
    done = [one for one, said in after.items() if one in rows and holds(rows[one], said)]
    if action.type == "flag_contradiction":
        if all(key in known for key in _keys(action)):
            raise _DoneError("the pair is flagged already")
    elif after and len(done) == len(after):
        raise _DoneError("the memories are so already")
    for memory_id, version in action.expect.items():
        row = rows.get(memory_id)
        if row is None:
            raise _StaleActionError(f"memory {memory_id} does not exist any more")
        if row.version != version:
            raise _StaleActionError(
                f"memory {memory_id} has changed since: version {row.version}, planned on {version}"
            )


def _keys(action: Action) -> tuple[str, ...]:
    return tuple(flags.key_of(flag.a, flag.b, flag.kind) for flag in action.flags)


def _behind_summary(effects: Sequence[Effect]) -> list[Effect]:
    """Sources of a summary are hidden behind it, and it has its id only now (S2-48)."""
    made = next(item.after for item in effects if isinstance(item, MemoryChange) and item.before is None)
    found: list[Effect] = []
    for item in effects:
        if made is not None and isinstance(item, MemoryChange) and item.before is not None and item.after is not None:
            if item.after.status == "superseded":
                item = MemoryChange(item.before, replace(item.after, superseded_by=made.id))
        found.append(item)
    return found


def _links(tx: Tx, action: Action, effects: Sequence[Effect]) -> list[Effect]:
    """Links of the plan that are not there yet, and those it removes that still are."""
    born = next((item.after for item in effects if isinstance(item, MemoryChange) and item.before is None), None)
    named = {one for edge in (*action.links, *action.unlinks) for one in edge[:2] if one}
    there = {(item.src, item.dst, item.rel): item for item in tx.links(named)} if named else {}
    moment = next((item.after.updated_at for item in effects if isinstance(item, MemoryChange) and item.after), None)
    found: list[Effect] = [LinkChange(there[edge], None) for edge in action.unlinks if edge in there]
    for src, dst, rel in action.links:
        edge = (src or (born.id if born else ""), dst, rel)
        if edge not in there and edge[0] != edge[1]:
            found.append(LinkChange(None, Link(*edge, moment)))
    return found


def _conflicts(
    action: Action, rows: Mapping[str, Memory], known: Mapping[str, Conflict], ctx: Context
) -> list[ConflictChange | None]:
    found: list[ConflictChange | None] = []
    moment = (ctx.clock(), ctx.policy.conflict_days)
    for flag in action.flags:
        key = flags.key_of(flag.a, flag.b, flag.kind)
        old, new = rows.get(flag.a), rows.get(flag.b)
        if key in known or old is None or new is None:
            continue
        comparison = Comparison("conflict", flag.similarity, None, flag.differences, flag.reason)
        opened = flags.between(old, new, comparison, kind=flag.kind, moment=moment)
        found.append(ConflictChange(None, opened))
    for key in action.settles:
        item = known.get(key)
        if item is not None and item.resolution is None:
            found.append(ConflictChange(item, flags.settled(item, "merge", at=moment[0])))
    return found


# --------------------------------------------------------------------------------------------
# Taking a run back


def undo_run(ctx: Context, run_id: str, *, force_except: bool = False) -> UndoReport:
    """Take a whole run back, in one transaction, newest entry first.

    Args:
        ctx: The store.
        run_id: The run, as its report and every journal entry of it say.
        force_except: Take back what can be, and leave what later changes stand on.

    Raises:
        NotFound: No such run in this namespace, or nothing of it is left to take back.
        UndoBlocked: Later changes stand in the way; names them. Nothing was changed.
    """
    vectors = Embeddings(ctx.embedder)
    while True:
        try:
            with ctx.storage.begin(ctx.namespace, write=True) as tx:
                return _undo_run(ctx, tx, run_id, force_except=force_except, vectors=vectors)
        except NeedsVectorError as missing:
            vectors.fetch(missing.texts)


def _undo_run(ctx: Context, tx: Tx, run_id: str, *, force_except: bool, vectors: Embeddings) -> UndoReport:
    entries = [item for item in tx.journal(run_id=run_id) if item.effects and not is_undone(tx, item.seq)]
    if not entries:
        raise NotFound(f"no run {run_id!r} to take back", where=ctx.namespace, todo="List the runs to see their ids")
    undone: list[int] = []
    blocked: dict[int, tuple[int, ...]] = {}
    for entry in sorted(entries, key=lambda item: -item.seq):
        try:
            refuse_if_blocked(tx, entry)
        except UndoBlocked as block:
            blocked[entry.seq] = tuple(block.entries)
            continue
        back = tuple(invert(effect) for effect in reversed(entry.effects))
        taken = JournalEntry(
            at=ctx.clock(),
            verb="undo",
            actor=ctx.actor,
            policy=ctx.policy.hash,
            outcome="undone",
            memory_id=entry.memory_id,
            memory_ids=touched(back),
            reasons=(Reason("undo_run", run_id),),
            effects=back,
            undoes=entry.seq,
            run_id=f"undo-{run_id}",
        )
        try:
            tx.apply(taken, vectors=lost_vectors(tx, back, vectors))
        except Stale as stale:
            raise UndoBlocked(f"entry {entry.seq} no longer fits: {stale}", entries=(), where=run_id) from stale
        undone.append(entry.seq)
    if blocked and not force_except:
        names = "; ".join(f"entry {seq} by {', '.join(map(str, later))}" for seq, later in sorted(blocked.items()))
        later = sorted({one for entries in blocked.values() for one in entries})
        raise UndoBlocked(
            f"later changes stand in the way: {names}",
            entries=later,
            where=run_id,
            todo="Undo those first, or take back the rest with force_except (--force-except)",
        )
    return UndoReport(run_id=run_id, undone=tuple(undone), blocked=blocked)
