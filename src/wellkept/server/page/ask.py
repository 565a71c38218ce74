"""Ask: what an agent would get for a question, now or at another time."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from wellkept.errors import InvalidField
from wellkept.server.page.frame import Visit
from wellkept.server.page.memories import bars_of

BUDGETS = (400, 800, 1_600, 4_000)


def show(visit: Visit) -> Response:
    """The hits and the pack for a question; nothing counts as used."""
    query, as_of = visit.asked("q"), visit.asked("as_of")
    budget = visit.number("budget") or 800
    values: dict[str, Any] = {"query": query, "as_of": as_of, "budget": budget, "budgets": BUDGETS}
    values |= {"hits": None, "left_out": (), "pack": None}
    if query:
        when = {"as_of": as_of} if as_of else {}
        found = visit.run("recall", query=query, limit=10, explain=True, touch=False, **when)
        values["hits"] = [{"hit": hit, "bars": bars_of(hit)} for hit in found.hits]
        values["left_out"] = found.left_out[:10]
        if not as_of:
            values["pack"] = visit.run("pack", query=query, budget_tokens=budget, touch=False)
    elif as_of:
        raise InvalidField("there is no question", where="q", todo="Write what an agent would ask")
    return visit.show("ask.html", **values)
