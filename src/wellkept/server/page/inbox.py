"""The inbox: what wants a person. Conflicts, probable updates, possible repeats and questions, one card each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from wellkept.engine.history.verdicts import unjudged
from wellkept.errors import IllegalTransition, InvalidField, NotFound
from wellkept.frozen import frozen
from wellkept.parsing import number_within
from wellkept.server.page.acts import resolved
from wellkept.server.page.frame import Visit, memories_by_id

AT_ONCE = 20
"""Cards on one page."""
MOST_OF_A_BATCH = 200
CHOICES: Mapping[str, Sequence[tuple[str, str]]] = {
    "contradiction": (
        ("keep_new", "Keep the newer"),
        ("keep_old", "Keep the older"),
        ("keep_both", "Keep both"),
        ("dismissed", "No conflict"),
    ),
    "duplicate": (
        ("merge", "Merge them"),
        ("keep_new", "Keep the newer"),
        ("keep_old", "Keep the older"),
        ("dismissed", "Not a repeat"),
    ),
    "outdated": (
        ("keep_new", "Yes, it replaces it"),
        ("keep_old", "Keep the older"),
        ("keep_both", "Both hold"),
        ("dismissed", "Not an update"),
    ),
}
"""The buttons of a conflict: resolution and label. The first is what the gate takes for likely."""
SORTS = (("", "All"), ("question", "Questions"), ("contradiction", "Conflicts"), ("outdated", "Updates"),
         ("duplicate", "Repeats"), ("plan", "Plans"), ("failed", "Failed writes"),
         ("rejected", "Not stored"))  # fmt: skip
BATCHES = ("contradiction", "outdated", "duplicate")
MOST_REJECTED = 50
"""Newest texts that were not stored and about which nobody has said anything."""
_CHECKED = {
    "fold": "To check: it was kept as another wording of 1. Does it say the same?",
    "mark": "To check: it was taken for an update of an older memory. Is that right?",
}


@frozen
class Card:
    """One open item.

    Attributes:
        sort: `question`, the kind of a conflict, `plan`, `failed` (a queued write) or `rejected` (a journal entry).
        item: The question, conflict, plan, queued write or entry.
        older / newer: The memories of a conflict; None when one no longer exists.
    """

    sort: str
    item: Any
    older: Any = None
    newer: Any = None


def show(visit: Visit) -> Response:
    """The cards of one page: plans and questions first."""
    asked = visit.run("questions", limit=1_000)
    flagged = visit.run("conflicts", limit=1_000)
    plans = visit.frame.plans.waiting(visit.namespace) if visit.may("admin") else []
    every: list[tuple[str, Any]] = [("plan", one) for one in plans]
    every += [("question", one) for one in asked.questions]
    every += [(one.kind, one) for one in sorted(flagged.conflicts, key=_first)]
    every += [("failed", one) for one in visit.run("queue_pending", limit=1_000).pending if one.error]
    every += [("rejected", one) for one in _rejected(visit)]
    counts = {name: sum(sort == name for sort, _ in every) if name else len(every) for name, _ in SORTS}
    wanted = visit.asked("sort")
    chosen = [one for one in every if wanted in ("", one[0])]
    start = min(visit.number("from"), max(0, len(chosen) - 1))
    part = chosen[start : start + AT_ONCE]
    ends = [end for sort, item in part if sort in CHOICES for end in (item.a, item.b)]
    rows = memories_by_id(visit, ends)
    cards = [
        Card(sort, item, rows.get(item.a), rows.get(item.b)) if sort in CHOICES else Card(sort, item)
        for sort, item in part
    ]
    return visit.show(
        "inbox.html",
        cards=cards,
        counts=counts,
        sorts=SORTS,
        wanted=wanted,
        start=start,
        following=start + AT_ONCE if start + AT_ONCE < len(chosen) else 0,
        earlier=max(0, start - AT_ONCE),
        more=asked.more or flagged.more,
        choices=CHOICES,
        checked=_CHECKED,
        batches=BATCHES,
        empty=not every and not visit.run("journal", newest=1).entries,
    )


def _rejected(visit: Visit) -> list[Any]:
    """The newest texts that were not stored, newest first; a text is left out once it is judged or was restored."""
    numbers = unjudged(visit.store()._ctx, "rejected")[-MOST_REJECTED:]
    entries = [visit.run("journal", after=seq - 1, limit=1).entries[0] for seq in reversed(numbers)]
    dropped = [one for one in entries if one.dropped is not None and one.dropped.content]
    rows = memories_by_id(visit, [one.dropped.id for one in dropped])
    return [one for one in dropped if one.dropped.id not in rows]


def _first(conflict: Any) -> tuple[int, float, str]:
    """Contradictions first, then what is most probable."""
    order = {"contradiction": 0, "outdated": 1, "duplicate": 2}
    return order.get(conflict.kind, 3), -(conflict.probability or conflict.similarity or 0.0), conflict.key


# --------------------------------------------------------------------------------------------
# Many at once


def preview(visit: Visit) -> Response:
    """What would be settled: the conflicts of one sort from a probability on. Nothing is decided yet."""
    sort, least = visit.asked("sort"), _share(visit.asked("least") or "0.9")
    if sort not in CHOICES:
        raise InvalidField("there is no such sort", where="sort", todo=f"Use one of: {', '.join(CHOICES)}")
    found = [
        one
        for one in visit.run("conflicts", limit=1_000).conflicts
        if one.kind == sort and (one.probability or one.similarity or 0.0) >= least
    ]
    part = sorted(found, key=_first)[:MOST_OF_A_BATCH]
    rows = memories_by_id(visit, [end for one in part for end in (one.a, one.b)])
    cards = [Card(sort, one, rows.get(one.a), rows.get(one.b)) for one in part]
    left = len(found) - len(part)
    return visit.show("batch.html", room="inbox", cards=cards, sort=sort, least=least, choices=CHOICES[sort], left=left)


def batch(visit: Visit) -> Response:
    """Settle the chosen conflicts, one transaction each; what somebody else settled meanwhile is left alone."""
    keys = list(dict.fromkeys(visit.form.get("key") or ()))[:MOST_OF_A_BATCH]
    entries = []
    left = 0
    for key in keys:
        try:
            entries.append(resolved(visit, key, visit.sent("resolution")))
        except (IllegalTransition, NotFound):
            left += 1
    note = f"{len(entries)} settled" + (f", {left} left: they were settled already" if left else "")
    return visit.back(note=note + ". The journal has a button for each that takes it back.")


def _share(text: str) -> float:
    share = number_within(text, 0, 1)
    if share is None:
        raise InvalidField(f"{text[:20]!r} is no share", where="least", todo="Use a number from 0 to 1, such as 0.9")
    return share
