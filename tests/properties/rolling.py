"""A long random sequence of calls on a store from one seed: writes, edits, batches, plans and queries.

Unlike the searches in this folder it does not shrink counterexamples. It is one long sequence, so that journals grow,
rows change many times, and plans meet the results of earlier plans.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from properties.acts import (
    ANSWERS,
    CHANGES,
    COSINES,
    EXTRAS,
    OFTEN,
    RESOLUTIONS,
    TEXTS,
    Act,
    Raised,
    perform,
    stored,
)
from scenarios.world import World
from wellkept.errors import WellkeptError
from wellkept.types import ALL_STATUSES, Filter

WEIGHTS = {
    "remember": 30, "repeat": 8, "check": 6, "batch": 3, "supersede": 4, "restore": 5, "forget": 4, "link": 4,
    "unlink": 2, "revise": 5, "resolve": 4, "undo": 5, "erase": 1, "recall": 8, "get": 4, "filter": 4, "history": 2,
    "neighbors": 2, "plan": 1, "execute": 1, "undo_run": 1, "expire": 1,
}  # fmt: skip
_NUMBERED = ("Room {} is on the north side.", "Valve {} opens to the left.", "Build {} went out on Friday.")
_PERIOD = 250
"""So many operations are done in one namespace before the next one is gone to."""


def rolled(seed: int, count: int) -> Iterator[tuple[str, Act]]:
    """So many operations, each with the namespace it is done in; the same for the same number."""
    chance = random.Random(seed)
    verbs, weights = list(WEIGHTS), list(WEIGHTS.values())
    for number in range(count):
        verb = chance.choices(verbs, weights)[0]
        act = Act(verb, chance.randrange(40), chance.randrange(40), *_said(chance, verb))
        yield f"life/{number // _PERIOD % 4}", act


def _said(chance: random.Random, verb: str) -> tuple[str, Any, Any]:
    """Text, fields and the word of an act."""
    match verb:
        case "remember" | "check":
            fields = {"kind": chance.choice(OFTEN), **chance.choice(EXTRAS)}
            return _text(chance), fields, chance.choice(ANSWERS)
        case "batch":
            return "", [{"content": _text(chance), "kind": chance.choice(OFTEN)} for _ in range(4)], None
        case "repeat":
            return "", {}, chance.choice(ANSWERS)
        case "revise":
            return "", chance.choice(CHANGES), None
        case "resolve":
            return "", {}, chance.choice(RESOLUTIONS)
        case "link":
            return "", {}, chance.choice(("related", "refines"))
        case _:
            return chance.choice(TEXTS), {}, None


def _text(chance: random.Random) -> str:
    if chance.random() < 0.5:
        return chance.choice(TEXTS)
    return chance.choice(_NUMBERED).format(chance.randrange(60))


def done(here: World, namespace: str, act: Act) -> Any:
    """Do it there; what comes back, errors as values, is to be the same on every backend.

    Of a recall all ranked answers with their scores, of a plan its id and actions.
    """
    store = here.store.in_namespace(namespace)
    if act.verb not in _MORE:
        return perform(store, act)
    try:
        return _MORE[act.verb](store, act)
    except WellkeptError as error:
        return Raised(type(error).__name__, str(error), getattr(error, "entries", ()))


def _filtered(store: Any, act: Act) -> Any:
    where = (
        Filter(statuses=ALL_STATUSES),
        Filter(kinds=("fact", "lesson")),
        Filter(subject="006"),
        Filter(tags=("infra",)),
        Filter(unchecked=True),
        Filter(statuses=("superseded", "archived")),
    )[act.a % 6]
    return [row.id for row in store.list(where, limit=act.b or None)]


def _about(store: Any, act: Act, verb: str) -> Any:
    rows = stored(store)
    return getattr(store, verb)(rows[act.a % len(rows)].id) if rows else None


def _history(store: Any, act: Act) -> Any:
    """Of a memory without content the journal need not tell which version it was; see `scenarios.world`."""
    versions = _about(store, act, "history") or ()
    return [
        (one.seq, one.verb, one.outcome) if one.memory is not None and one.memory.status == "erased" else one
        for one in versions
    ]


def _executed(store: Any, act: Act) -> Any:
    plan = store.plan()
    report = store.execute(plan)
    return plan.plan_id, [(result.action_id, result.state) for result in report.results]


def _planned(store: Any, act: Act) -> Any:
    plan = store.plan()
    return plan.plan_id, plan.actions


def _run_undone(store: Any, act: Act) -> Any:
    runs = sorted({entry.run_id for entry in store.journal() if entry.run_id})
    return store.undo_run(runs[act.a % len(runs)]) if runs else None


_MORE = {
    "batch": lambda store, act: store.remember_many(act.fields),
    "filter": _filtered,
    "history": _history,
    "neighbors": lambda store, act: _about(store, act, "neighbors"),
    "plan": _planned,
    "execute": _executed,
    "undo_run": _run_undone,
    "expire": lambda store, act: store.expire_conflicts(),
}

__all__ = ["COSINES", "WEIGHTS", "done", "rolled"]
