"""Ask: what an agent would get for a question, now, at another time, and under another policy beside it."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from wellkept.engine.replay.replay import as_if
from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import InvalidField
from wellkept.operations.registry import call
from wellkept.policy import Policy
from wellkept.server.page import work
from wellkept.server.page.frame import Visit
from wellkept.server.page.jobs import Shown, Tell
from wellkept.server.page.memories import bars_of

BUDGETS = (400, 800, 1_600, 4_000)
EXAMPLE = '[kinds.fact]\non_same_subject = "none"\non_conflict = "warn"\n'
MOST_REPLAYED = 20_000
"""Longest journal that is decided anew for one question."""
_MOST_POLICY = 20_000
_MOST_DIFFERENCES = 50


def show(visit: Visit) -> Response:
    """The hits and the pack for a question; nothing counts as used."""
    query, as_of = visit.asked("q"), visit.asked("as_of")
    if as_of and not query:
        raise InvalidField("there is no question", where="q", todo="Write what an agent would ask")
    return visit.show("ask.html", **_asked(visit, query, as_of, visit.number("budget") or 800))


def beside(visit: Visit) -> Response:
    """The same question in the store that another policy would have made of the same writes."""
    query, text = visit.sent("q"), visit.sent("policy")
    if not query:
        raise InvalidField("there is no question", where="q", todo="Write what an agent would ask")
    if len(text) > _MOST_POLICY:
        raise InvalidField("is too long", where="policy", todo=f"Use at most {_MOST_POLICY:,} characters")
    policy, store = Policy.from_toml(text), visit.store()
    count = visit.run("journal", newest=1).entries
    if count and count[0].seq > MOST_REPLAYED:
        todo = f"Run `wellkept replay`: here at most {MOST_REPLAYED:,} entries are decided anew"
        raise InvalidField("the journal is too long for this page", where="policy", todo=todo)

    def replay(tell: Tell) -> Shown:
        report, ctx = as_if(store._ctx, policy, progress=lambda done, whole: tell("entries", done, whole))
        found: Any = call(MemoryStore(ctx), "recall", {"query": query, "limit": 10, "explain": True, "touch": False})
        other = {
            "hits": [{"hit": hit, "bars": bars_of(hit)} for hit in found.hits],
            "report": report,
            "differences": report.differences[:_MOST_DIFFERENCES],
        }
        return lambda shown: shown.show(
            "ask.html", room="ask", **{**_asked(shown, query, "", 800), "other": other, "policy": text}
        )

    return work.start(visit, "Deciding every write anew", replay)


def _asked(visit: Visit, query: str, as_of: str, budget: int) -> dict[str, Any]:
    values: dict[str, Any] = {"query": query, "as_of": as_of, "budget": budget, "budgets": BUDGETS}
    values |= {"hits": None, "left_out": (), "pack": None, "other": None, "policy": "", "example": EXAMPLE}
    if query:
        when = {"as_of": as_of} if as_of else {}
        found = visit.run("recall", query=query, limit=10, explain=True, touch=False, **when)
        values["hits"] = [{"hit": hit, "bars": bars_of(hit)} for hit in found.hits]
        values["left_out"] = found.left_out[:10]
        if not as_of:
            values["pack"] = visit.run("pack", query=query, budget_tokens=budget, touch=False)
    return values
