"""Newer before older: the order of hits after the moves, and the reason on each hit that was moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wellkept.frozen import frozen
from wellkept.types import Hit, Move

LEAST_SHARE = 0.2
"""Least share of the older one's score that a newer one must have which a conflict or a mark lists."""
FAR_BETTER = 0.6
"""Difference of two scores beyond which a possible update that nothing lists moves nothing: the question is about what
only the older says."""
VERBATIM_AT = 0.9
"""Cosine at which a hit says what the query says; a possible update that nothing lists does not outrank it."""


@frozen
class Pair:
    """Two hits about the same thing, of which the newer comes first.

    Attributes:
        newer: Id of the newer.
        move: What is said of the newer when it is moved; `move.over` is the older.
    """

    newer: str
    move: Move

    @property
    def older(self) -> str:
        """Id of the older."""
        return self.move.over


def reordered(hits: Sequence[Hit], pairs: Sequence[Pair]) -> list[Hit]:
    """The hits, the newer of each pair before the older; a hit that passed its older one says so in `Hit.moved`.

    Args:
        hits: Hits, best first.
        pairs: The pairs to order, one after the other; a pair with a missing end has no effect.

    Example:
        >>> from datetime import UTC, datetime
        >>> from wellkept.types import Memory
        >>> day = datetime(2026, 3, 1, tzinfo=UTC)
        >>> old, new = (Hit(Memory(id=key, namespace="n", content=key, created_at=day, updated_at=day), score, {})
        ...             for key, score in (("old", 0.9), ("new", 0.8)))
        >>> [(hit.memory.id, hit.moved) for hit in reordered([old, new], [Pair("new", Move("old", "outdates"))])]
        [('new', Move(over='old', why='outdates', probability=None)), ('old', None)]
    """
    by_id = {hit.memory.id: hit for hit in hits}
    before = {key: place for place, key in enumerate(by_id)}
    order = newer_first({key: hit.score for key, hit in by_id.items()}, [(one.older, one.newer) for one in pairs])
    after = {key: place for place, key in enumerate(order)}
    passed = [
        one
        for one in pairs
        if {one.older, one.newer} <= by_id.keys()
        and before[one.newer] > before[one.older]
        and after[one.newer] < after[one.older]
    ]
    # Of several, the best one that was passed explains the place.
    moves = {one.newer: one.move for one in sorted(passed, key=lambda one: before[one.older], reverse=True)}
    return [replace(by_id[key], moved=moves[key]) if key in moves else by_id[key] for key in order]


def newer_first(
    scores: Mapping[str, float], pairs: Sequence[tuple[str, str]], *, least: float = LEAST_SHARE
) -> list[str]:
    """Ids by score, but the newer of a pair about the same thing precedes the older.

    Args:
        scores: Score of each id, best first.
        pairs: (older, newer) to order, one after the other; the last has the last word.
        least: The newer one moves only if its score is at least this share of the older one's.

    Example:
        >>> newer_first({"a": 0.9, "x": 0.8, "b": 0.7}, [("a", "b")])
        ['b', 'a', 'x']
        >>> newer_first({"a": 0.9, "x": 0.8, "b": 0.1}, [("a", "b")])
        ['a', 'x', 'b']
    """
    order = list(scores)
    for older, newer in pairs:
        if older not in scores or newer not in scores or scores[newer] < least * scores[older]:
            continue
        if order.index(newer) > order.index(older):
            order.remove(newer)
            order.insert(order.index(older), newer)
    return order
