"""How often the store is wrong here: what answers have checked, and what people said about decisions drawn at random.

The verdicts are stored in the journal, so the rate gets narrower with each sample and every process knows it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from starlette.responses import Response

from wellkept.engine.base.secrets import new_secret
from wellkept.engine.history import verdicts
from wellkept.engine.history.verdicts import Stratum
from wellkept.frozen import frozen
from wellkept.server.page.frame import Visit, memories_by_id
from wellkept.types import Rightness

DRAWN = 20
_MOST_PAIRS = 5_000
_Z = 1.959964
_ACTS = {"fold": "kept as another wording", "mark": "marked as outdated"}
_RELATIONS = {("restated", "right"): "same", ("duplicate", "right"): "same", ("restated", "wrong"): "distinct",
              ("duplicate", "wrong"): "distinct", ("superseded", "right"): "conflict",
              ("superseded", "wrong"): "distinct", ("evolved", "right"): "refines"}  # fmt: skip


@frozen
class Drawn:
    """One decision: its entry, the text that was written, and the text that it was compared with."""

    entry: Any
    new: str
    old: str


def wilson(wrong: int, judged: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson's score interval).

    Example:
        >>> low, high = wilson(1, 20)
        >>> round(low, 3), round(high, 3)
        (0.009, 0.236)
    """
    if not judged:
        return 0.0, 1.0
    share, squared = wrong / judged, _Z * _Z
    middle = (share + squared / (2 * judged)) / (1 + squared / judged)
    half = _Z * math.sqrt(share * (1 - share) / judged + squared / (4 * judged**2)) / (1 + squared / judged)
    return max(0.0, middle - half), min(1.0, middle + half)


def stratified(strata: Iterable[Stratum]) -> tuple[float, float, float]:
    """The error rate over strata, each with the weight of its size, and its 95 % interval.

    The interval joins Wilson's intervals of the strata by their squared distances from the estimate (MOVER). A stratum
    of which nothing was judged is left out, and with it its weight.

    Example:
        >>> rate, low, high = stratified([Stratum("created", 90, 10, 0), Stratum("restated", 10, 10, 5)])
        >>> round(rate, 3), round(low, 3), round(high, 3)
        (0.05, 0.024, 0.301)
    """
    known = [one for one in strata if one.judged]
    whole = sum(one.size for one in known)
    if not whole:
        return 0.0, 0.0, 1.0
    rate = down = up = 0.0
    for one in known:
        weight, share = one.size / whole, one.wrong / one.judged
        low, high = wilson(one.wrong, one.judged)
        rate += weight * share
        down += (weight * (share - low)) ** 2
        up += (weight * (high - share)) ** 2
    return rate, max(0.0, rate - math.sqrt(down)), min(1.0, rate + math.sqrt(up))


def show(visit: Visit) -> Response:
    """The rates that answers and verdicts have shown, and a new sample."""
    ctx = visit.store()._ctx
    sample = _read(visit, [one.seq for one in verdicts.draw(ctx, DRAWN, seed=new_secret())])
    return visit.show("errors.html", **_checked(visit), sample=_drawn(visit, sample), result=_result(visit))


def judged(visit: Visit) -> Response:
    """Store the verdicts of a form."""
    done = verdicts.judge(visit.store("write")._ctx, _sent(visit))
    note = "" if done else "Nothing was chosen that is not stored already."
    return visit.back(note=note or "Stored. The rate now counts these answers too.")


def pairs(visit: Visit) -> Response:
    """The judged decisions as labelled pairs for `wellkept eval pairs`; what names no pair is left out."""
    said = dict(list(verdicts.judged(visit.store()._ctx).items())[-_MOST_PAIRS:])
    lines = []
    for one in _drawn(visit, _read(visit, sorted(said))):
        relation = _RELATIONS.get((one.entry.outcome, said[one.entry.seq].verdict))
        if relation and one.old and one.new:
            pair = {"id": f"entry-{one.entry.seq}", "old": one.old, "new": one.new, "relation": relation}
            lines.append(json.dumps(pair) + "\n")
    headers = {"Content-Disposition": 'attachment; filename="pairs.jsonl"'}
    return Response("".join(lines), media_type="application/x-ndjson", headers=headers)


def _result(visit: Visit) -> dict[str, Any] | None:
    """The error rate by all stored verdicts; None when there are none."""
    ctx = visit.store()._ctx
    said = verdicts.judged(ctx)
    if not said:
        return None
    strata = verdicts.strata(ctx)
    rate, low, high = stratified(strata)
    return {
        "rate": rate,
        "low": low,
        "high": high,
        "strata": strata,
        "judged": sum(one.judged for one in strata),
        "wrong": sum(one.wrong for one in strata),
        "unsure": sum(one.verdict == "unsure" for one in said.values()),
        "left_out": [one.outcome for one in strata if not one.judged],
    }


def _checked(visit: Visit) -> dict[str, Any]:
    report = visit.run("asking")
    acts = []
    for act, count in report.checked.items():
        if count:
            wrong = report.wrong.get(act, 0)
            low, high = wilson(wrong, count)
            figures = {"checked": count, "wrong": wrong, "rate": wrong / count, "low": low, "high": high}
            acts.append({"label": _ACTS.get(act, act), **figures})
    return {"acts": acts, "open": report.open}


def _sent(visit: Visit) -> dict[int, Rightness]:
    """The verdicts of the form, by entry."""
    found: dict[int, Rightness] = {}
    for name, values in visit.form.items():
        number = name.removeprefix("v")
        if name.startswith("v") and number.isascii() and number.isdecimal() and len(number) < 18:
            found[int(number)] = verdicts.verdict_of(values[0])
    return found


# --------------------------------------------------------------------------------------------
# What a decision was about


def _drawn(visit: Visit, entries: Sequence[Any]) -> list[Drawn]:
    beside = {one.seq: next((match.memory_id for match in one.matches if match.memory_id), "") for one in entries}
    rows = memories_by_id(visit, [*(one.memory_id for one in entries if one.memory_id), *filter(None, beside.values())])
    found = []
    for one in entries:
        held, other = _then(visit, rows.get(one.memory_id), one.seq), rows.get(beside[one.seq])
        new = one.dropped.content if one.dropped is not None and one.dropped.content else held.content if held else ""
        old = other.content if other is not None and other.content != new else ""
        if not old and held is not None and held.content != new:
            old = held.content
        found.append(Drawn(one, new, old))
    return found


def _then(visit: Visit, row: Any, seq: int) -> Any:
    """A memory as an entry left it."""
    if row is None or row.version == 1:
        return row
    versions = visit.run("history", memory_id=row.id, limit=1_000).versions
    return next((one.memory for one in versions if one.seq == seq), None) or row


def _read(visit: Visit, wanted: Iterable[int]) -> list[Any]:
    """Entries as the journal shows them, in this order."""
    read = ((seq, visit.run("journal", after=seq - 1, limit=1).entries) for seq in wanted)
    return [part[0] for seq, part in read if part and part[0].seq == seq]
