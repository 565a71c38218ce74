"""Execution of consolidation plans, action by action, and undoing of runs.

Each action is one transaction; a failing action does not affect others. An action is checked against the
versions it was planned on: when they have changed, it is stale and skipped; when it is already done, it is
skipped as done, so that executing a plan twice changes nothing more.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from wellkept.core.consolidation.merged_memory import changed, holds
from wellkept.core.consolidation.repointing import apart
from wellkept.core.records import conflicts as flags
from wellkept.core.records.effects import touched
from wellkept.engine.base.context import Context
from wellkept.engine.base.retry import repeated, writing
from wellkept.engine.consolidation.conflict_questions import ask_about_conflicts
from wellkept.engine.consolidation.merge_effects import conflict_changes, marked, merged, relinks
from wellkept.engine.consolidation.run_list import LAST, last_run
from wellkept.engine.consolidation.summaries import about, behind_summary, born_summary, held_back, summed_up
from wellkept.engine.history.journal import lost_vectors, taken_back
from wellkept.engine.models.embedding import Embeddings
from wellkept.errors import NotFound, StorageError, UndoBlocked, WellkeptError
from wellkept.storage.port import Stale, Tx
from wellkept.types import (
    ALL_STATUSES,
    Action,
    ActionResult,
    Conflict,
    ConflictChange,
    Effect,
    Filter,
    JournalEntry,
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
_AFTER_OTHERS = ("flag_contradiction", "mark", "fold")
"""Actions that may follow other actions of their plan on the same memories."""
_MARGIN = 64
"""Extra journal entries to read per memory: links and flags add entries without a new version."""


class _StaleActionError(Exception):
    """A memory that the action was planned on has changed."""


class _DoneError(Exception):
    """The store already is as the action would make it."""


def execute(ctx: Context, plan: Plan, *, skip: Collection[str] = (), progress: Told | None = None) -> RunReport:
    """Apply a plan; afterwards ask about open conflicts, as far as the budget for questions has something left.

    Args:
        ctx: The store; its namespace must be the plan's.
        plan: The plan; it may be old.
        skip: Ids of actions to leave out.
        progress: Called after each action with the number done and the total.

    Returns:
        The result of each action.
    """
    run_id = f"consolidate-{ctx.new_id()}"
    started, began = ctx.clock(), time.monotonic()
    results = []
    for at, action in enumerate(plan.actions, start=1):
        if action.id in skip:
            results.append(ActionResult(action.id, action.type, "left_out", "not asked for"))
        else:
            results.append(_run(ctx, plan, action, run_id))
        if progress is not None:
            progress(at, len(plan.actions))
    if not skip:
        ask_about_conflicts(ctx)
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


def _run(ctx: Context, plan: Plan, action: Action, run_id: str) -> ActionResult:
    if action.type == "noop":
        return ActionResult(action.id, action.type, "done", "nothing to do")
    vectors = Embeddings(ctx.embedder)
    try:
        entry = repeated(ctx, lambda: writing(ctx, lambda tx: _apply(ctx, tx, action, (plan, run_id), vectors)))
    except _DoneError as done:
        return ActionResult(action.id, action.type, "done", str(done))
    except (_StaleActionError, Stale) as stale:
        return ActionResult(action.id, action.type, "stale", str(stale))
    except (WellkeptError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, StorageError):
            log.error("CONSOLIDATE/ERROR action=%s %s", action.id, error)
        return ActionResult(action.id, action.type, "failed", f"{type(error).__name__}: {error}")
    return ActionResult(action.id, action.type, "executed", "", entry)


def _apply(ctx: Context, tx: Tx, action: Action, run: tuple[Plan, str], vectors: Embeddings) -> int:
    plan, run_id = run
    now = ctx.clock()
    known = {item.key: item for item in tx.conflicts(ids=action.targets)}
    rows = _rows(tx, action)
    _refuse_stale(tx, plan, action, rows, known)
    effects: list[Effect] = []
    made: dict[str, Vector] = {}
    if action.summary:
        born, made = born_summary(ctx, action, vectors, at=now)
        effects += born
    effects += [MemoryChange(rows[one.memory_id], changed(rows[one.memory_id], one, at=now)) for one in action.rows]
    match action.type:
        case "merge" | "fold":
            effects = merged(ctx, tx, action, changes=effects, rows=rows, conflicts=known.values())
        case "summarize":
            if held := held_back(action, known.values(), now):
                raise _StaleActionError(held)
            effects = behind_summary(effects)
            effects += relinks(tx, action.links, action.unlinks, effects)
        case "mark":
            effects += marked(ctx, action, rows=rows, known=known)
        case _:
            effects += conflict_changes(ctx, action.flags, action.settles, rows=rows, known=known)
    entry = replace(
        ctx.entry(VERB, action.type, at=now),
        memory_id=about(action, effects),
        memory_ids=tuple(dict.fromkeys((*action.targets, *touched(effects)))),
        reasons=(
            Reason(action.rationale.rule, "; ".join(action.rationale.reasons)),
            Reason("plan", f"{_mark(plan)} action {action.id}"),
        ),
        conflict_keys=_named(effects),
        effects=tuple(effects),
        run_id=run_id,
    )
    return tx.apply(entry, vectors=made)


def _mark(plan: Plan) -> str:
    """The mark by which the journal identifies entries of this plan."""
    return f"{plan.plan_id} {plan.config_hash}"


def _rows(tx: Tx, action: Action) -> dict[str, Memory]:
    """The memories that the action reads or changes, and both sides of the conflicts it opens."""
    ids = dict.fromkeys((*action.expect, *(one for flag in action.flags for one in (flag.a, flag.b))))
    return {row.id: row for row in tx.find(Filter(ids=tuple(ids), statuses=ALL_STATUSES))}


def _refuse_stale(
    tx: Tx, plan: Plan, action: Action, rows: Mapping[str, Memory], known: Mapping[str, Conflict]
) -> None:
    """Raise when the action is already done, or when a memory it was planned on has changed."""
    after = {one.memory_id: one.after for one in action.rows}
    done = [one for one, said in after.items() if one in rows and holds(rows[one], said)]
    if action.type in ("flag_contradiction", "mark"):
        if all(key in known for key in _keys(action)):
            raise _DoneError("the pair is flagged already")
        if any(key not in known or known[key].resolution is not None for key in action.settles):
            raise _StaleActionError("the contradiction of the pair was settled since")
    elif there := summed_up(tx, action):
        raise _DoneError(f"memory {there} sums them up already")
    elif action.type != "summarize" and after and len(done) == len(after):
        raise _DoneError("the memories are so already")
    for memory_id, version in action.expect.items():
        row = rows.get(memory_id)
        if row is None:
            raise _StaleActionError(f"memory {memory_id} does not exist any more")
        if row.version != version and not (action.type in _AFTER_OTHERS and _own_doing(tx, plan, row, version)):
            raise _StaleActionError(
                f"memory {memory_id} has changed since: version {row.version}, planned on {version}"
            )
    _refuse_forged(action, rows)
    if action.type in ("merge", "fold"):
        held = apart(known.values(), {}, folding=action.type == "fold")
        for one in action.targets:
            for other in held.get(one, frozenset()) & {*action.targets}:
                raise _StaleActionError(f"since then {one} and {other} are held apart by a conflict")


def _refuse_forged(action: Action, rows: Mapping[str, Memory]) -> None:
    """Check what a plan says about its memories, because a plan file may have been edited."""
    for one in action.rows:
        if not holds(rows[one.memory_id], one.before):
            raise _StaleActionError(f"memory {one.memory_id} is not what the plan says it was")
    if action.type in ("merge", "fold"):
        for gone in (row for name in action.targets if (row := rows[name]).status != "active"):
            raise _StaleActionError(f"memory {gone.id} is {gone.status}")


def _own_doing(tx: Tx, plan: Plan, row: Memory, version: int) -> bool:
    """Whether only this plan has changed a memory since: a flag that failed alone can be opened later.

    A fold comes after the merge that its head or its wording remains of.
    """
    left = row.version
    for entry in reversed(tx.journal(memory_ids=(row.id,), newest=row.version - version + _MARGIN)):
        changes = [item for item in entry.effects if isinstance(item, MemoryChange) and row.id in _ends(item)]
        if left == version or not changes:
            continue
        if not any(reason.rule == "plan" and reason.detail.startswith(_mark(plan)) for reason in entry.reasons):
            return False
        left -= len(changes)
    return left == version


def _ends(change: MemoryChange) -> set[str]:
    return {end.id for end in (change.before, change.after) if end is not None}


def _keys(action: Action) -> tuple[str, ...]:
    return tuple(flags.key_of(flag.a, flag.b, flag.kind) for flag in action.flags)


def _named(effects: Sequence[Effect]) -> tuple[str, ...]:
    ends = [end for item in effects if isinstance(item, ConflictChange) for end in (item.before, item.after)]
    return tuple(sorted({end.key for end in ends if end is not None}))


# --------------------------------------------------------------------------------------------
# Undoing a run


def undo_run(ctx: Context, run_id: str, *, force_except: bool = False, progress: Told | None = None) -> UndoReport:
    """Undo a whole run in one transaction, newest entry first.

    Args:
        ctx: The store.
        run_id: The run id of its report and journal entries; `last` for the newest run that is not undone.
        force_except: Undo what is possible; keep entries that later changes depend on.
        progress: Called before each entry with the number done and the total; nothing is taken back before the end.

    Raises:
        NotFound: No such run in this namespace, or nothing of it is left to undo.
        UndoBlocked: Later changes depend on it; lists them. Nothing was changed.
    """
    run_id = last_run(ctx) if run_id == LAST else run_id
    tell = progress if progress is not None else _quiet
    vectors = Embeddings(ctx.embedder)
    unfit: dict[int, tuple[int, ...]] = {}
    while True:
        try:
            return writing(
                ctx,
                lambda tx: _undo_run(
                    ctx, tx, run_id, force_except=force_except, vectors=vectors, unfit=unfit, tell=tell
                ),
            )
        except _UnfitError as stale:
            if not force_except:
                raise UndoBlocked(str(stale), entries=(), where=run_id) from stale
            unfit[stale.seq] = ()


def _quiet(done: int, whole: int) -> None:
    """Nobody looks."""


class _UnfitError(Exception):
    """An entry does not fit the stored rows; its transaction must be rolled back."""

    def __init__(self, seq: int, why: str) -> None:
        super().__init__(f"entry {seq} no longer fits: {why}")
        self.seq = seq


def _undo_run(
    ctx: Context,
    tx: Tx,
    run_id: str,
    *,
    force_except: bool,
    vectors: Embeddings,
    unfit: Mapping[int, tuple[int, ...]],
    tell: Told,
) -> UndoReport:
    of_run = tx.journal(run_id=run_id)
    since = _Since(tx.journal(after=of_run[0].seq - 1) if of_run else ())
    entries = [item for item in of_run if item.effects and not since.is_undone(item.seq)]
    if not entries:
        raise NotFound(f"no run {run_id!r} to take back", where=ctx.namespace, todo="List the runs to see their ids")
    undone: list[int] = []
    blocked: dict[int, tuple[int, ...]] = dict(unfit)
    for at, entry in enumerate(sorted(entries, key=lambda item: -item.seq)):
        tell(at, len(entries))
        if entry.seq in unfit:
            continue
        if later := since.standing_on(entry):
            blocked[entry.seq] = later
            continue
        taken = taken_back(ctx, entry, run_id=f"undo-{run_id}", reasons=(Reason("undo_run", run_id),))
        try:
            tx.apply(taken, vectors=lost_vectors(tx, taken.effects, vectors))
        except Stale as stale:
            raise _UnfitError(entry.seq, str(stale)) from stale
        since.take_back(entry.seq)
        undone.append(entry.seq)
    if blocked and not force_except:
        names = "; ".join(f"entry {seq} by {', '.join(map(str, later))}" for seq, later in sorted(blocked.items()))
        raise UndoBlocked(
            f"later changes stand in the way: {names}",
            entries=sorted({one for entries in blocked.values() for one in entries}, reverse=True),
            where=run_id,
            todo="Undo those first, or take back the rest with force_except (--force-except)",
        )
    return UndoReport(run_id=run_id, undone=tuple(undone), blocked=blocked)


class _Since:
    """The journal from a run's first entry on, with dependencies, read once for all entries of the run.

    Gives the same answers as `journal.refuse_if_blocked` gives for one entry.
    """

    def __init__(self, entries: Sequence[JournalEntry]) -> None:
        self._entries = {item.seq: item for item in entries}
        self._of: defaultdict[str, list[int]] = defaultdict(list)
        self._gone: set[int] = set()
        for item in reversed(entries):
            if item.undoes and item.seq not in self._gone:
                self._gone.add(item.undoes)
            ids = item.memory_ids if item.verb == "erase" else touched(item.effects)
            for memory_id in ids:
                self._of[memory_id].append(item.seq)  # newest first

    def is_undone(self, seq: int) -> bool:
        """Whether an entry is undone, taking undos of undos into account."""
        return seq in self._gone

    def take_back(self, seq: int) -> None:
        """Record that the entry is now undone."""
        self._gone.add(seq)

    def standing_on(self, entry: JournalEntry) -> tuple[int, ...]:
        """Later entries that depend on this one, newest first."""
        later: dict[int, None] = {}
        for memory_id in touched(entry.effects):
            for seq in self._of[memory_id]:
                if seq <= entry.seq:
                    break
                later[seq] = None
        found = []
        for seq in sorted(later, reverse=True):
            item = self._entries[seq]
            # The undo of an older entry blocks; a later entry and its undo cancel out.
            cancelled = seq in self._gone or item.undoes > entry.seq
            if item.verb == "erase" or not cancelled:
                found.append(seq)
        return tuple(found)
