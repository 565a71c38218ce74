"""Handlers: convert an input to a call of the library's verb, and its result to the output. They decide nothing.

Modules needed only for plans are loaded on demand, because an MCP client waits for the list of tools.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from wellkept.core.consolidation.rules import DEFAULT_RULES, Consolidation, rules_from_toml
from wellkept.engine.base.inputs import MAX_LIMIT, moment
from wellkept.errors import InvalidPlan
from wellkept.operations import inputs, outputs
from wellkept.operations.pages import items_after, page
from wellkept.operations.parts import ConfigFields, ExpandFields, FilterFields, ScopeFields, WeightFields
from wellkept.operations.shapes import as_output
from wellkept.operations.undone import changes_of
from wellkept.types import ExpandSpec, Filter, HybridWeights, Scope

if TYPE_CHECKING:
    from datetime import datetime

    from wellkept.engine.verbs.store import MemoryStore


def verb(name: str, output: type[BaseModel]) -> Callable[[MemoryStore, BaseModel], BaseModel]:
    """Make the handler that calls the library's verb of this name; `queue_flush` is `store.queue.flush`.

    Each given field becomes a parameter of the verb; the defaults of the library apply to the others. A result
    that is not a record becomes the only field of the output.
    """

    def handler(store: MemoryStore, given: BaseModel) -> BaseModel:
        answer = attrgetter(name.replace("queue_", "queue."))(store)(**_parameters(given))
        return as_output(output, answer if is_dataclass(answer) else dict.fromkeys(output.model_fields, answer))

    return handler


def _parameters(given: BaseModel) -> dict[str, Any]:
    """The given fields as parameters of the verb."""
    values = {field: getattr(given, field) for field in type(given).model_fields if field in given.model_fields_set}
    return {
        field: _RECORDS[type(value)](value) if type(value) in _RECORDS else value for field, value in values.items()
    }


# --------------------------------------------------------------------------------------------
# Reading


def recall(store: MemoryStore, given: inputs.Recall) -> BaseModel:
    """`recall`."""
    found = store.recall(**_parameters(given))
    hits, more = page(found, given.limit + len(found))
    left, unsaid = page(found.left_out, MAX_LIMIT)
    return as_output(
        outputs.Recalled, {"hits": hits, "left_out": left, "dangling": found.dangling, "more": more or unsaid}
    )


def listing(store: MemoryStore, given: inputs.Listing) -> BaseModel:
    """`list`."""
    from wellkept.core.records.fits import is_backward
    from wellkept.engine.base.retry import repeated
    from wellkept.engine.lookup.read import walk
    from wellkept.engine.lookup.wordings_and_marks import standing

    ctx, where = store._ctx, filter_of(given.where) or Filter()
    found, more = repeated(ctx, lambda: page(walk(ctx, where, at_once=given.limit + 1), given.limit))
    if is_backward(where):
        found.reverse()
    beside = repeated(ctx, lambda: standing(ctx, found))
    wordings = {head: len(rows) for head, rows in beside.wordings.items()}
    answer = {"memories": found, "marks": beside.marks, "wordings": wordings, "more": more}
    return as_output(outputs.Memories, answer)


def history(store: MemoryStore, given: inputs.History) -> BaseModel:
    """`history`."""
    found, more = page((one for one in store.history(given.memory_id) if one.seq > given.after), given.limit)
    return as_output(outputs.Versions, {"versions": found, "more": more})


def journal(store: MemoryStore, given: inputs.Journal) -> BaseModel:
    """`journal`."""
    from wellkept.engine.base.retry import repeated
    from wellkept.engine.history.journal import walk

    ctx = store._ctx
    found, more = repeated(ctx, lambda: page(walk(ctx, newest=given.newest, after=given.after), given.limit))
    return as_output(outputs.Entries, {"entries": found, "more": more})


def conflicts(store: MemoryStore, given: inputs.Conflicts) -> BaseModel:
    """`conflicts`."""
    found = store.conflicts(given.memory_id, settled=given.settled, threshold=given.threshold)
    if given.after:  # the conflict may be settled in the meantime
        every = store.conflicts(given.memory_id, settled=True, threshold=given.threshold)
        later = {one.key for one in items_after(every, given.after, lambda one: one.key)}
        found = tuple(one for one in found if one.key in later)
    shown, more = page(found, given.limit)
    return as_output(outputs.Conflicts, {"conflicts": shown, "more": more})


def neighbors(store: MemoryStore, given: inputs.Neighbors) -> BaseModel:
    """`neighbors`."""
    found = store.neighbors(given.memory_id, rel=given.rel, direction=given.direction, depth=given.depth)
    shown, more = page(items_after(found, given.after, lambda one: one.memory.id), given.limit)
    return as_output(outputs.Neighbors, {"neighbors": shown, "dangling": found.dangling, "more": more})


def runs(store: MemoryStore, given: inputs.RunList) -> BaseModel:
    """`runs`."""
    shown, more = page(items_after(store.runs(), given.after, lambda one: one.run_id), given.limit)
    return as_output(outputs.Runs, {"runs": shown, "more": more})


# --------------------------------------------------------------------------------------------
# Changing


def undo(store: MemoryStore, given: inputs.Undo) -> BaseModel:
    """`undo`."""
    made = store.undo(given.entry)
    return as_output(outputs.Undone, {"entry": made, "undone": given.entry, "changes": changes_of(store, made)})


# --------------------------------------------------------------------------------------------
# Plans and runs


def plan(store: MemoryStore, given: inputs.PlanFields) -> BaseModel:
    """`plan`, in the format of `execute` and `wellkept apply`."""
    from wellkept.core.consolidation.plan_file import plan_text

    made = store.plan(**_parameters(given))
    return outputs.PlanFile.model_validate_json(plan_text(made))


def execute(store: MemoryStore, given: inputs.Execute) -> BaseModel:
    """`execute`. The plan is untrusted: it is validated as it is read."""
    from wellkept.core.consolidation.plan_file import plan_from
    from wellkept.engine.consolidation.reports import summary_of

    try:
        text = json.dumps(given.plan)
    except (ValueError, RecursionError) as error:
        raise InvalidPlan("is not a plan", where="plan", todo="Pass one as returned by `plan`") from error
    report = store.execute(plan_from(text), only=given.only, skip=given.skip, dry_run=given.dry_run)
    return as_output(outputs.Run, summary_of(report))


def _config(given: ConfigFields) -> Consolidation:
    rules = DEFAULT_RULES if given.rules is None else rules_from_toml(given.rules, origin="config.rules")
    return Consolidation(
        rules=rules, trigger=given.trigger, ask_at=given.ask_at, look_at=given.look_at, nearest=given.nearest
    )


# --------------------------------------------------------------------------------------------
# Parts


def filter_of(given: FilterFields | None) -> Filter | None:
    """Convert to the library's filter.

    Raises:
        InvalidField: A time in it cannot be parsed.
    """
    if given is None:
        return None
    values = _values(given, "where")
    for name in ("after", "before"):
        values[name] = _place(f"where.{name}", values[name])
    return Filter(**values)


def _values(given: FilterFields | ScopeFields, where: str) -> dict[str, Any]:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in given.model_dump().items()
    }
    for name in ("created_from", "created_to"):
        values[name] = moment(f"{where}.{name}", values[name])
    return values


def _place(name: str, given: list[str] | None) -> tuple[datetime, str] | None:
    if given is None:
        return None
    at = moment(name, given[0])
    return None if at is None else (at, given[1])


def _expand(given: ExpandFields) -> ExpandSpec:
    return ExpandSpec(rels=tuple(given.rels), depth=given.depth, cap=given.cap, score=given.score)


_RECORDS: Mapping[type, Callable[[Any], object]] = {
    FilterFields: filter_of,
    ExpandFields: _expand,
    ScopeFields: lambda given: Scope(**_values(given, "scope")),
    ConfigFields: _config,
    WeightFields: lambda given: HybridWeights(**given.model_dump()),
}
"""Converters of nested objects to values of the library."""
