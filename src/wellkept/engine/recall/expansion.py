"""Memories linked to the hits, added after them."""

from __future__ import annotations

from dataclasses import dataclass, field

from wellkept.core.recall import expansion
from wellkept.engine.recall import candidates
from wellkept.engine.recall.question import Question
from wellkept.storage.port import Tx
from wellkept.types import ALL_STATUSES, Filter, Hit, LeftOut, Link, Memory


@dataclass(slots=True)
class Added:
    """Result of an expansion: hits, linked memories that may not be shown, and dangling ids."""

    hits: list[Hit] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    dangling: list[str] = field(default_factory=list)


NOTHING = Added()
"""Result without an expansion; never modified."""


def expanded(tx: Tx, hits: list[Hit], q: Question) -> Added:
    """New memories outwards from the hits, nearest step first, each once, up to the cap.

    The filter of the query does not apply to them: an example links to its rule, which is of another kind.
    Hidden memories stay hidden; a superseded memory is replaced by its successor.
    """
    added, spec = Added(), q.expand
    if spec is None:
        return added
    edge = [key for hit in hits for key in hit.ids]  # links of a repeat count as links of its hit
    shown = set(edge)
    seen = set(shown)
    for _ in range(spec.depth):
        reached = expansion.step(edge, tx.links(edge), spec, seen) if edge else {}
        seen |= reached.keys()
        edge = []
        for row, link in _rows(tx, reached, q, added):
            edge.append(row.id)
            seen.add(row.id)
            if row.id in shown:
                continue
            if len(added.hits) == spec.cap:
                added.left_out.append(LeftOut(row, f"beyond the {spec.cap} that links may add", spec.score))
                continue
            shown.add(row.id)
            place = len(hits) + len(added.hits) + 1
            added.hits.append(Hit(row, float(spec.score), {}, degraded=q.degraded, rank=place, via=link))
        if len(added.hits) == spec.cap and not q.explain:
            break
    return added


def _rows(tx: Tx, reached: dict[str, Link], q: Question, added: Added) -> list[tuple[Memory, Link]]:
    """The memories that may be shown, in the order they are reached."""
    rows = {row.id: row for row in candidates.find(tx, Filter(ids=tuple(reached), statuses=ALL_STATUSES), q)}
    added.dangling += [key for key in reached if key not in rows]
    replaced = [row for row in rows.values() if row.status == "superseded" and row.status not in q.statuses]
    heads = candidates.heads(tx, replaced, q) if replaced else {}
    successors = candidates.successors_of(tx, rows.values(), q)
    found = []
    for key, link in reached.items():
        if key not in rows:
            continue
        row = heads.get(key, rows[key])
        why = candidates.obstacle(row, q, successors)
        if row.id != key or why:
            added.left_out.append(LeftOut(rows[key], candidates.obstacle(rows[key], q, successors)))
        if not why:
            found.append((row, link))
    return found
