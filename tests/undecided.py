"""Writes that the gate cannot decide, and so asks about, without a model."""

from __future__ import annotations

from stores import Desk
from wellkept.policy import Policy
from wellkept.types import Question

ASKS = Policy(ask=100.0)
"""Every write that is not decided is asked about."""


def undecided(desk: Desk, old: str, new: str) -> Question:
    """Store both texts, of which the second may repeat or replace the first, and give the question about it."""
    desk.near(old, new, 0.9)
    desk.options["relation_model"].declare(old, new, same=0.3, conflict=0.3)
    desk.store.remember(old)
    question = desk.store.remember(new).question
    assert question is not None and question.candidates[0].memory.content == old
    return question


def offices(desk: Desk, count: int) -> list[Question]:
    """Several of them."""
    return [undecided(desk, f"Office {at} is in Berlin.", f"We moved office {at} elsewhere.") for at in range(count)]
