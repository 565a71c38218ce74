"""Differences of conditions: "unless", "except", "only if", "until", and a condition in the place of its effect."""

from __future__ import annotations

from wellkept.core.differences.alignment import SPAN, Frame, Pair
from wellkept.core.differences.roles_and_order import is_crossed
from wellkept.core.reading.events import Course
from wellkept.core.reading.tokens import Clause, Features
from wellkept.core.text.forms import excerpt
from wellkept.types import Difference


def changes_condition(item: Frame) -> bool:
    """Whether two aligned clauses name conditions of different classes."""
    return _classes(item.a) != _classes(item.b)


def _classes(clause: Clause) -> frozenset[str]:
    """The classes of conditions that a clause names: `exception`, `if`, `until`, `only`."""
    return frozenset(group for group, _, _ in clause.conditions)


def condition_veto(pair: Pair) -> list[Difference]:
    """A condition that only one text states."""
    cues_a, cues_b = _added_conditions(pair.a, pair.b), _added_conditions(pair.b, pair.a)
    if not cues_a and not cues_b:
        return []
    return [Difference("condition", excerpt(", ".join(cues_a), SPAN), excerpt(", ".join(cues_b), SPAN))]


def _added_conditions(own: Features, other: Features) -> list[str]:
    """Conditions of a class that the other text has not: all exceptions, others only about words it has not."""
    classes = {group for clause in other.clauses for group in _classes(clause)}
    found = []
    for clause in own.clauses:
        for group, at, cue in clause.conditions:
            if group in classes:
                continue
            scope = clause.keys[at : at + 6]
            if group == "exception" or any(key not in other.keys for key in scope):
                words = " ".join(clause.tokens[place].text for place in clause.content[at : at + 4])
                found.append(f"{cue} {words}".strip())
    return found[:4]


def condition_order_veto(a: Course, b: Course) -> list[Difference]:
    """A condition and its consequence that changed places.

    "Close the issue when the patch is merged" and "Merge the patch when the issue is closed" differ.
    "Merge only when the tests pass" and "When you merge, the tests must pass" are left to the model.
    """
    if bool(a.limit) != bool(b.limit):
        return []
    for ours in a.conditions:
        for theirs in b.conditions:
            if ours.words == theirs.words and is_crossed(ours, theirs):
                return [Difference("order", ours.link, theirs.link)]
    return []
