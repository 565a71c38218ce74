"""A store with repeats and contradictions in it, and a relation model that learns of them only afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import Any

from scenarios.world import World
from wellkept import Plan, RunReport
from wellkept.core.records import conflicts as flags
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import Action, Comparison, JournalEntry, Memory

Worlds = Callable[..., World]

TEA = (
    "Tea is kept in the upper cupboard.",
    "The upper cupboard is where tea is kept.",
    "In the upper cupboard there is tea.",
)
NO_TEA = "Tea is not kept in the upper cupboard."
BUS = ("The bus to town leaves at noon.", "At noon the town bus leaves.")
ALL_NEAR: Mapping[tuple[str, str], float] = {pair: 0.97 for pair in combinations((*TEA, NO_TEA), 2)} | {BUS: 0.96}


def fill(here: World, texts: Iterable[Any], *, apart: float = 60, **fields: Any) -> list[Memory]:
    """Write the texts one minute apart; nothing is judged a repeat on the way in."""
    rows = []
    for item in texts:
        given = {"content": item} if isinstance(item, str) else dict(item)
        result = here.write(given, on_conflict="ignore", **fields)
        assert result.outcome == "created", (item, result.reasons)
        assert result.memory is not None
        rows.append(result.memory)
        here.clock.advance(seconds=apart)
    return rows


def model(here: World) -> FakeRelationModel:
    """The relation model behind the store."""
    found = here.store._ctx.relation_model
    assert isinstance(found, FakeRelationModel)
    return found


def all_the_same(here: World, *groups: Iterable[str], **shares: float) -> None:
    """From now on the model says *same* of every pair inside each group, in either order."""
    for group in groups:
        for a, b in combinations(list(group), 2):
            for old, new in ((a, b), (b, a)):
                model(here).declare(old, new, **(shares or {"same": 1.0}))


def flag_by_hand(here: World, old: Memory, new: Memory) -> None:
    """Open a contradiction between two memories, as a judge of the caller's own would."""
    told = Comparison("conflict", 0.9, None, (), "custom_fn")
    found = flags.between(old, new, told, kind="contradiction", moment=(here.clock(), 30))
    ctx = here.store._ctx
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        effects = (flags.opened(found),)
        ids = (old.id, new.id)
        tx.apply(JournalEntry(at=here.clock(), verb="judge", outcome="flagged", memory_ids=ids, effects=effects))


def of_type(plan: Plan, name: str) -> list[Action]:
    """The plan's actions of one type."""
    return [action for action in plan.actions if action.type == name]


def counted(plan: Plan) -> dict[str, int]:
    """How many actions of each type a plan has, without the types of which it has none."""
    return {name: count for name, count in plan.planned.items() if count}


def states(report: RunReport) -> list[tuple[str, str]]:
    """What became of each action."""
    return [(result.type, result.state) for result in report.results]


def texts(rows: Iterable[Memory]) -> list[str]:
    """Contents by age."""
    return [row.content for row in rows]
