"""Differences of order and scope: which event comes first, and which word "only" limits.

All are vetoes and no conflicts: they forbid to call two texts the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from wellkept.core.differences.alignment import Pair
from wellkept.core.differences.word_sets import PREFIX, shared_words
from wellkept.core.reading.events import Course, Limit, Order, courses
from wellkept.types import Difference

_LEAST_SHARED = 2
"""Least number of common words from which two orders are the same."""
_SHARED = 0.5
"""Share of an order's words that must change places."""
_NEARLY_ALL = 0.7
"""Share of common words from which the places of "only" are compared."""


# --------------------------------------------------------------------------------------------
# Order


def order_veto(a: Course, b: Course) -> list[Difference]:
    """ "Run the tests before merging" and "Merge before running the tests": the events changed places."""
    for ours, theirs in _nearest_orders(a, b):
        if _is_crossed(ours, theirs):
            return [Difference("order", ours.link, theirs.link)]
    return _condition_veto(a, b)


def _condition_veto(a: Course, b: Course) -> list[Difference]:
    """ "Close the issue when the patch is merged" and "Merge the patch when the issue is closed".

    "Merge only when the tests pass" and "When you merge, the tests must pass" are left to the model.
    """
    if bool(a.limit) != bool(b.limit):
        return []
    for ours in a.conditions:
        for theirs in b.conditions:
            if ours.words == theirs.words and _is_crossed(ours, theirs):
                return [Difference("order", ours.link, theirs.link)]
    return []


def _is_crossed(ours: Order, theirs: Order) -> bool:
    """Whether the earlier event of one order is the later event of the other, and the reverse."""
    both = shared_words(ours.earlier, theirs.later) and shared_words(ours.later, theirs.earlier)
    crossed = _crossed(ours, theirs)
    enough = crossed >= _SHARED * min(ours.weight, theirs.weight)
    return bool(both) and enough and crossed > _straight(ours, theirs)


def agreed_links(pair: Pair) -> frozenset[str]:
    """The links of orders that agree: in "X before Y" and "Y after X" the links are no antonyms."""
    return frozenset(
        word
        for ours, theirs in _nearest_orders(*courses(pair.a.text, pair.b.text))
        if _straight(ours, theirs) >= max(_LEAST_SHARED, _crossed(ours, theirs) + 1)
        for order in (ours, theirs)
        for word in order.words
    )


def _nearest_orders(a: Course, b: Course) -> Iterator[tuple[Order, Order]]:
    """Each order of one text with the order of the other text that shares most words with it."""

    def nearness(ours: Order, theirs: Order) -> tuple[int, int]:
        straight = _straight(ours, theirs)
        return max(straight, _crossed(ours, theirs)), straight

    for ours in a.orders:
        if b.orders:
            yield ours, max(b.orders, key=partial(nearness, ours))


def _straight(a: Order, b: Order) -> int:
    return shared_words(a.earlier, b.earlier) + shared_words(a.later, b.later)


def _crossed(a: Order, b: Order) -> int:
    return shared_words(a.earlier, b.later) + shared_words(a.later, b.earlier)


# --------------------------------------------------------------------------------------------
# Scope of "only"


def scope_veto(a: Course, b: Course) -> list[Difference]:
    """ "Only admins can delete projects" and "Admins can only delete projects": "only" limits another word."""
    x, y = a.limit, b.limit
    if x is None or y is None:
        return []
    ours, theirs = frozenset(x.keys), frozenset(y.keys)
    if shared_words(ours, theirs) < _NEARLY_ALL * max(len(ours), len(theirs)):
        return []
    same_focus = x.focus[:PREFIX] == y.focus[:PREFIX]
    agree = x.link == y.link if same_focus else _reaches(x, y) or _reaches(y, x)
    return [] if agree else [Difference("scope", _text(x), _text(y))]


def _reaches(limit: Limit, other: Limit) -> bool:
    """Whether the one "only" may limit the focus of the other: "Only deploy on Fridays", "Deploy only on Fridays"."""
    return limit.loose and any(key[:PREFIX] == other.focus[:PREFIX] for key in limit.keys[limit.at :])


def _text(limit: Limit) -> str:
    return " ".join(filter(None, (limit.word, limit.link, limit.beside)))
