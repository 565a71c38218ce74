"""Groups repeats: adds the store's and the relation model's knowledge to the rules of `core.recall.grouping`.

The model is asked outside transactions about few pairs. When it fails, paraphrases are not grouped and the
result reports it in `degraded`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from wellkept.core.recall.grouping import BY_WORDS, Pair, grouped, open_pairs
from wellkept.core.records.conflicts import is_reviewed
from wellkept.core.records.vectors import cosines
from wellkept.engine.base.context import Context
from wellkept.engine.base.opinions import Opinions
from wellkept.engine.recall.recorded_relations import Recorded
from wellkept.frozen import frozen
from wellkept.storage.port import Tx
from wellkept.types import MAY_RESTATE, Conflict, Degradation, Hit, Memory, Opinion
from wellkept.types.packs import Group

MOST_ASKED = 24
"""Maximum number of pairs per recall; a group of five paraphrases takes ten."""

_LEAST_AMONG = 10
_ALIKE: Sequence[str] = ("decision", "episode")


@frozen
class Known:
    """What the store knows about pairs of hits.

    Attributes:
        apart: Pairs of ids that contradict each other, including resolved conflicts; dismissed conflicts
            do not count. Also pairs that somebody keeps apart, such as a wording that was split off.
        near: Pairs of ids with similar vectors; the model is asked only about these.
        disputes: Contradictions whose newer side comes first.
        alike: Pairs of ids that the gate has linked as possible restatements.
    """

    apart: frozenset[frozenset[str]] = frozenset()
    near: frozenset[frozenset[str]] = frozenset()
    disputes: tuple[Conflict, ...] = ()
    alike: frozenset[frozenset[str]] = frozenset()


def known(ctx: Context, tx: Tx, hits: Sequence[Hit], recorded: Recorded, *, for_model: bool) -> Known:
    """What this view of the store knows about the hits.

    Args:
        ctx: The store.
        tx: The view.
        hits: The hits.
        recorded: Their conflicts and links.
        for_model: Whether the relation model will be asked, so that similarities are needed.
    """
    rows = {hit.memory.id: hit.memory for hit in hits}
    if len(rows) < 2:
        return Known()
    every = recorded.conflicts
    found = [item for item in every if item.kind == "contradiction"]
    apart = frozenset(frozenset((item.a, item.b)) for item in found if item.resolution not in ("dismissed", "merge"))
    apart |= {frozenset((item.a, item.b)) for item in every if is_reviewed(item) and item.resolution == "keep_both"}
    disputes = tuple(item for item in found if not is_reviewed(item) or item.resolution == "keep_new")
    links = (link for link in recorded.links if link.rel == MAY_RESTATE)
    alike = frozenset(frozenset((link.src, link.dst)) for link in links if {link.src, link.dst} <= rows.keys())
    if not for_model or ctx.relation_model is None:
        return Known(apart, disputes=disputes, alike=alike)
    stored = tx.vectors([row.embedding for row in rows.values() if row.embedding])
    held = [row for row in rows.values() if row.embedding in stored]
    near = _near(ctx, held, np.asarray([stored[row.embedding] for row in held])) if held else ()
    return Known(apart, frozenset(near), disputes, alike)


def each_once(
    ctx: Context, hits: Sequence[Hit], seen: Known, opinions: Opinions | None, *, limit: int
) -> tuple[tuple[Group, ...], tuple[Degradation, ...]]:
    """All hits as groups, and the degraded components.

    Twice as many hits as groups wanted are compared, and more only until there are enough groups; later hits
    are not grouped.

    Args:
        hits: Best first.
        seen: What the store knows about them.
        opinions: The relation model's opinions, for paraphrases; not to be used inside a transaction. None
            to group by words alone.
        limit: Number of groups wanted.
    """
    among = max(2 * limit, _LEAST_AMONG)
    opposites = ctx.policy.opposites
    told: dict[Pair, Opinion] = {}
    if opinions is not None and opinions.available and seen.near:
        first = islice(open_pairs(hits[:among], apart=seen.apart, near=seen.near, opposites=opposites), MOST_ASKED)
        asked = [(older.content, newer.content) for older, newer in first]
        opinions.ask(asked)
        told = opinions.told(asked)
    known_kinds = ctx.policy.kinds  # a row may have a kind that the policy no longer contains
    kinds = dict.fromkeys(hit.memory.kind for hit in hits)
    policies = {kind: found for kind in kinds if (found := known_kinds.get(kind) or known_kinds.get("*")) is not None}
    sure_at: dict[str, float] = {}
    if opinions is not None and told:
        sure_at = {kind: opinions.bounds(policy.risk).skip for kind, policy in policies.items()}
    by_words = {kind: BY_WORDS[policy.preset] for kind, policy in policies.items() if policy.preset in _ALIKE}
    missing = opinions is not None and not opinions.complete and len(hits) > 1
    degraded: tuple[Degradation, ...] = ("relation",) if missing else ()
    while True:
        groups = grouped(
            hits[:among],
            opinions=told,
            sure_at=sure_at,
            apart=seen.apart,
            alike=seen.alike,
            by_words=by_words,
            disputes=seen.disputes,
            opposites=opposites,
        )
        if len(groups) >= limit or among >= len(hits):
            return (*groups, *(Group(hit, (), hit.score, hit.conflicts) for hit in hits[among:])), degraded
        among *= 2


def _near(ctx: Context, rows: Sequence[Memory], vectors: NDArray[np.float32]) -> set[frozenset[str]]:
    """Pairs similar enough to ask about: below this similarity repeats are too rare."""
    from wellkept.core.judging.what_to_ask import CLOSE_AT

    floor = ctx.scale.calibration.cosine(CLOSE_AT)
    near = set()
    for place, row in enumerate(rows):
        close = cosines(vectors[place], vectors) >= floor
        near |= {frozenset((row.id, rows[other].id)) for other in np.flatnonzero(close).tolist() if other != place}
    return near
