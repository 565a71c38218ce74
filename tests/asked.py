"""Stores whose gate is not sure: pairs of texts that are asked about, by chosen opinions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import wellkept
from stores import Desk, desk
from wellkept.core.asking.budget import is_drawn
from wellkept.core.asking.state import Asking, state_of
from wellkept.core.judging.compare import compare
from wellkept.core.judging.list_head import FEATURES, ODDS_OF_THE_ACT, Head
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.core.records import conflicts as flags
from wellkept.engine.gate import acts
from wellkept.policy import Policy, Risk
from wellkept.testing.clock import CountingIds
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import ConflictChange, Memory, Question

Made = Callable[..., Desk]

OLD, NEW = "Ana leads billing.", "Billing is run by Bo."
THIRD = "Carl heads the billing team."
TEXTS = (OLD, NEW, THIRD)
COSINE = 0.8


class Unsure(FakeRelationModel):
    """Folds what is the same with probability .9, marks likewise, and is asked about below that."""

    def bounds(self, risk: Risk) -> Bounds:
        """Both acts by the odds of the opinion, from .9 on."""
        made = super().bounds(risk)
        fold = Head(tuple(float(place == ODDS_OF_THE_ACT) for place in range(FEATURES["fold"])), 0.0, 0.9, 0.9)
        mark = Head(tuple(float(place == ODDS_OF_THE_ACT) for place in range(FEATURES["mark"])), 0.0, 0.9, 0.9)
        return replace(made, fold=fold, mark=mark, flag=2.0, supersede=2.0)


class Drawn:
    """Ids of memories whose automatic acts are all checked."""

    def __init__(self) -> None:
        self._ids = CountingIds()

    def __call__(self) -> str:
        return next(one for one in iter(self._ids, "") if is_drawn(one))


def policy(ask: float = 100, **values: Any) -> Policy:
    """The default policy with this budget."""
    return replace(Policy(), ask=ask, **values)


def unsure(backend: Any, folder: Any, *, ask: float = 100, **options: Any) -> Desk:
    """A store that asks about each of `TEXTS` after the first."""
    model = options.setdefault("relation_model", Unsure())
    options.setdefault("policy", policy(ask))
    made = desk(backend, folder, **options)
    relate(made, model, TEXTS)
    return made


def relate(made: Desk, model: FakeRelationModel, texts: tuple[str, ...], *, conflict: float = 0.4) -> None:
    """Declare all pairs as near, and as probably no replacement."""
    for place, old in enumerate(texts):
        for new in texts[place + 1 :]:
            made.near(old, new, COSINE)
            model.declare(old, new, conflict=conflict)
            model.declare(new, old, conflict=conflict)


def state(store: wellkept.MemoryStore) -> Asking:
    """What the namespace remembers of its questions."""
    return state_of(text(store))


def text(store: wellkept.MemoryStore) -> str:
    """The same as it is stored."""
    ctx = store._ctx
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        return tx.asking()


def note(store: wellkept.MemoryStore, text: str) -> None:
    """Damage it."""
    ctx = store._ctx
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        tx.note_asking(text)


def asked(table: Desk) -> Question:
    """The question about the second of two texts."""
    table.store.remember(OLD, kind="fact")
    found = table.store.remember(NEW, kind="fact").question
    assert found is not None
    return found


def stands(table: Desk) -> Any:
    """Rows, links and conflicts: what an undo brings back."""
    return table.snapshot()[:3]


def opened(table: Desk) -> list[str]:
    return [one.id for one in table.store.questions()]


def flag(table: Desk, question: Question) -> str:
    """An open conflict between the memory in question and its candidate."""
    return flagged(table, question.candidates[0].memory, question.memory)


def flagged(table: Desk, old: Memory, new: Memory) -> str:
    """An open contradiction between two memories, as an upkeep job lists it."""
    ctx = table.store._ctx
    comparison = compare(new, old, cosine=None, similarity=None, opposites=ctx.policy.opposites)
    made = flags.between(old, new, comparison, kind="contradiction", moment=(ctx.clock(), 30.0))
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        acts.apply(ctx, tx, (ConflictChange(None, made),), verb="sweep", outcome="flagged", memory_id=new.id)
    return made.key


MANY = tuple(
    text
    for team in ("billing", "search", "mail", "maps", "chat")
    for text in (f"Ana leads {team}.", f"{team.title()} is run by Bo.", f"Carl heads the {team} team.")
)


def many(table: Desk) -> list[str]:
    model = table.options["relation_model"]
    for start in range(0, len(MANY), 3):
        relate(table, model, MANY[start : start + 3])
    return list(MANY)
