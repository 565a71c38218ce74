"""How often the store is wrong here: what answers have checked, and a sample of decisions to judge by hand.

Nothing about a sample is stored: the numbers of its entries and the verdicts are in the form.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from wellkept.engine.base.secrets import new_secret
from wellkept.server.page.frame import Visit, memories_by_id

DRAWN = 20
JUDGED = ("created", "duplicate", "restated", "evolved", "superseded", "reused", "rejected")
"""Outcomes of writes; whoever undoes or settles something needs no check."""
_WRITES = ("remember", "remember_many", "import", "flush", "record_decision", "record_turn", "start_episode")
_WINDOWS, _WINDOW = 20, 15
_Z = 1.959964
_ACTS = {"fold": "kept as another wording", "mark": "marked as outdated"}
_RELATIONS = {("restated", "right"): "same", ("duplicate", "right"): "same", ("restated", "wrong"): "distinct",
              ("duplicate", "wrong"): "distinct", ("superseded", "right"): "conflict",
              ("superseded", "wrong"): "distinct", ("evolved", "right"): "refines"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stratum:
    """One outcome: its decisions in the store, and of these the judged and the wrong ones."""

    outcome: str
    size: int
    judged: int
    wrong: int


@dataclass(frozen=True, slots=True)
class Drawn:
    """One drawn decision: its entry, the text that was written, and the text that it was compared with."""

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
    """The rates that answers have shown, and a new sample."""
    return visit.show("errors.html", **_checked(visit), sample=_sample(visit), result=None, verdicts={})


def judged(visit: Visit) -> Response:
    """The error rate of a judged sample."""
    verdicts = _verdicts(visit)
    entries = {one.seq: one for one in _read(visit, verdicts)}
    sizes = _sizes(visit)
    strata = []
    for outcome in JUDGED:
        said = Counter(verdict for seq, verdict in verdicts.items() if entries[seq].outcome == outcome)
        if sizes.get(outcome):
            strata.append(Stratum(outcome, sizes[outcome], said["right"] + said["wrong"], said["wrong"]))
    rate, low, high = stratified(strata)
    result = {
        "rate": rate,
        "low": low,
        "high": high,
        "strata": strata,
        "judged": sum(one.judged for one in strata),
        "wrong": sum(one.wrong for one in strata),
        "unsure": sum(verdict == "unsure" for verdict in verdicts.values()),
    }
    return visit.show("errors.html", **_checked(visit), sample=[], result=result, verdicts=verdicts)


def pairs(visit: Visit) -> Response:
    """The judged decisions as labelled pairs for `wellkept eval pairs`; what names no pair is left out."""
    verdicts = _verdicts(visit)
    lines = []
    for one in _drawn(visit, _read(visit, verdicts)):
        relation = _RELATIONS.get((one.entry.outcome, verdicts[one.entry.seq]))
        if relation and one.old and one.new:
            pair = {"id": f"entry-{one.entry.seq}", "old": one.old, "new": one.new, "relation": relation}
            lines.append(json.dumps(pair) + "\n")
    headers = {"Content-Disposition": 'attachment; filename="pairs.jsonl"'}
    return Response("".join(lines), media_type="application/x-ndjson", headers=headers)


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


def _sizes(visit: Visit) -> dict[str, int]:
    return {name: count for name, count in visit.run("stats").outcomes.items() if name in JUDGED}


# --------------------------------------------------------------------------------------------
# Drawing


def _sample(visit: Visit) -> list[Drawn]:
    """Decisions drawn at random: some of each outcome, the rest in proportion."""
    draw = new_secret()
    pool = [one for one in _pool(visit, draw) if one.outcome in JUDGED and one.verb in _WRITES]
    pool.sort(key=lambda one: _lot(draw, one.seq))
    by_outcome: dict[str, list[Any]] = {}
    for one in pool:
        by_outcome.setdefault(one.outcome, []).append(one)
    chosen = [one for part in by_outcome.values() for one in part[:2]][:DRAWN]
    taken = {one.seq for one in chosen}
    chosen += [one for one in pool if one.seq not in taken][: DRAWN - len(chosen)]
    return _drawn(visit, sorted(chosen, key=lambda one: _lot(draw, one.seq)))


def _pool(visit: Visit, draw: str) -> Sequence[Any]:
    """The entries to draw from: all of a short journal, otherwise windows at random places."""
    count = visit.run("stats").journal
    if count <= _WINDOWS * _WINDOW:
        return visit.run("journal", limit=max(1, count)).entries  # type: ignore[no-any-return]
    starts = {int(_lot(draw, -place), 16) % -(-count // _WINDOW) * _WINDOW for place in range(1, _WINDOWS + 1)}
    return [one for start in sorted(starts) for one in visit.run("journal", after=start, limit=_WINDOW).entries]


def _lot(draw: str, number: int) -> str:
    return hashlib.sha256(f"{draw} {number}".encode()).hexdigest()


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


def _verdicts(visit: Visit) -> Mapping[int, str]:
    """The verdicts of the form by entry."""
    found: dict[int, str] = {}
    for name, values in visit.form.items():
        number = name.removeprefix("v")
        if name.startswith("v") and number.isascii() and number.isdecimal() and len(number) < 18:
            if values[0] in ("right", "wrong", "unsure") and len(found) < DRAWN:
                found[int(number)] = values[0]
    known = {one.seq for one in _read(visit, found)}
    return {seq: verdict for seq, verdict in found.items() if seq in known}


def _read(visit: Visit, wanted: Iterable[int]) -> list[Any]:
    read = (visit.run("journal", after=seq - 1, limit=1).entries for seq in wanted)
    return [part[0] for seq, part in zip(wanted, read, strict=True) if part and part[0].seq == seq]
