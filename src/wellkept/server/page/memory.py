"""A memory's own page: its text and wordings, its history, what it replaced, its links, conflicts and decisions."""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

from starlette.responses import Response

from wellkept.frozen import frozen
from wellkept.server.page.acts import CONFIRMATION
from wellkept.server.page.frame import PAGE, Visit, memories_by_id
from wellkept.types.showing import line

_DRAWN = 10
_WIDE, _HIGH = 640, 300
_LABEL = 22
_OWN_PLACE = frozenset({"restates", "supersedes"})
"""Relations that are told elsewhere on the page, as wordings and as the chain of replacements."""


@frozen
class Node:
    """One memory in the drawing of links: its place, its label, and the relation that leads to it."""

    memory: Any
    x: int
    y: int
    label: str
    rel: str
    inwards: bool

    @property
    def middle(self) -> tuple[int, int]:
        """Where the name of the relation stands."""
        return (_WIDE // 2 + self.x) // 2, (_HIGH // 2 + self.y) // 2


def show(visit: Visit) -> Response:
    """One memory; looking at it does not count as use."""
    row = visit.run("get", memory_id=visit.request.path_params["memory_id"], touch=False)
    around = visit.run("neighbors", memory_id=row.id, limit=200)
    chain = visit.run("neighbors", memory_id=row.id, rel="supersedes", depth=20, limit=100)
    wordings = [one.memory for one in around.neighbors if one.rel == "restates" and one.direction == "in"]
    head = memories_by_id(visit, [row.superseded_by]).get(row.superseded_by) if row.superseded_by else None
    conflicts = visit.run("conflicts", memory_id=row.id, settled=True, limit=PAGE).conflicts
    linked = [one for one in around.neighbors if one.rel not in _OWN_PLACE]
    line_of = {one.memory.id: one.memory for one in chain.neighbors} | {row.id: row}
    return visit.show(
        "memory.html",
        room="memories",
        row=row,
        head=head,
        wordings=[one for one in wordings if one.status == "wording"],
        steps=_steps(visit, row.id),
        chain=sorted(line_of.values(), key=lambda one: (one.created_at, one.id)),
        linked=linked,
        nodes=_nodes(linked[:_DRAWN]),
        size=(_WIDE, _HIGH),
        conflicts=conflicts,
        others=memories_by_id(visit, [end for one in conflicts for end in (one.a, one.b)]),
        confirmation=CONFIRMATION,
    )


def _steps(visit: Visit, memory_id: str) -> list[dict[str, Any]]:
    """The states of a memory, newest first, each with the text before it."""
    versions = visit.run("history", memory_id=memory_id, limit=500).versions
    steps: list[dict[str, Any]] = []
    before = None
    for version in versions:
        state = version.memory
        changed = before is not None and state is not None and before.content != state.content
        steps.append({"version": version, "before": before.content if changed and before is not None else None})
        before = state if state is not None else before
    return steps[::-1]


def _nodes(linked: list[Any]) -> list[Node]:
    """Neighbours on an ellipse around the memory."""
    nodes = []
    for place, one in enumerate(linked):
        turn = 2 * pi * place / max(1, len(linked))
        x = round(_WIDE / 2 + (_WIDE / 2 - 110) * cos(turn))
        y = round(_HIGH / 2 + (_HIGH / 2 - 36) * sin(turn))
        name = one.memory.title or one.memory.content
        nodes.append(Node(one.memory, x, y, line(name, _LABEL), line(one.rel, 16), one.direction == "in"))
    return nodes
