"""What people say about past decisions: a sample to judge, the verdicts, and their count by outcome.

A sheet of verdicts is one entry of the journal, without effects. Of several verdicts on one decision the newest counts.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple, get_args

from wellkept.engine.base.context import Context
from wellkept.engine.base.retry import writing
from wellkept.errors import InvalidField, NotFound
from wellkept.frozen import frozen
from wellkept.storage.port import Tx
from wellkept.types import JournalEntry, Reason, Rightness

VERDICTS: tuple[Rightness, ...] = get_args(Rightness)
JUDGED = ("created", "duplicate", "restated", "evolved", "superseded", "reused", "rejected")
"""Outcomes of writes; whoever undoes or settles something needs no check."""
_WRITES = ("remember", "remember_many", "import", "flush", "record_decision", "record_turn", "start_episode")
_VERB, _OUTCOME = "judge", "judged"
_LEAST = 2
"""Decisions of each outcome that a sample has at least, where so many are left."""
_MOST_AT_ONCE = 200
_TRIES = 10


@frozen
class Stratum:
    """The decisions of one outcome: how many there are, how many of them were judged, and how many were wrong."""

    outcome: str
    size: int
    judged: int
    wrong: int


class Said(NamedTuple):
    """What somebody said about a decision, and the outcome of the decision."""

    verdict: Rightness
    outcome: str


def draw(ctx: Context, count: int, *, seed: str) -> list[JournalEntry]:
    """Decisions that nobody has judged, drawn at random from the whole journal, in random order.

    Each outcome gives at least two, the rest is in proportion to what is left of it.

    Args:
        ctx: The store.
        count: Number of decisions.
        seed: Decides which are drawn.
    """
    chance = random.Random(seed)
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        known = _verdicts(tx)
        left = {name: _without(tx.entries_with(name), known) for name in JUDGED}
        drawn = [one for name, wanted in _shares(left, count).items() for one in _some(tx, left[name], wanted, chance)]
    chance.shuffle(drawn)
    return drawn[:count]


def verdict_of(text: str) -> Rightness:
    """A verdict given as text.

    Raises:
        InvalidField: It is none of `VERDICTS`.

    Example:
        >>> verdict_of("right")
        'right'
    """
    found = next((one for one in VERDICTS if one == text), None)
    if found is None:
        raise InvalidField(f"{text[:40]!r} is no verdict", where="verdict", todo="Use right, wrong or unsure")
    return found


def judge(ctx: Context, verdicts: Mapping[int, Rightness]) -> int:
    """Store verdicts; what is stored already changes nothing.

    Args:
        ctx: The store.
        verdicts: Rightness by the number of the journal entry.

    Returns:
        The number of the new entry; 0 if nothing was new.

    Raises:
        InvalidField: There are too many.
        NotFound: An entry does not exist or is no decision about a write.
    """
    if len(verdicts) > _MOST_AT_ONCE:
        raise InvalidField("too many verdicts at once", where="verdicts", todo=f"Send at most {_MOST_AT_ONCE}")
    return writing(ctx, lambda tx: _judge(ctx, tx, verdicts)) if verdicts else 0


def judged(ctx: Context) -> dict[int, Said]:
    """The verdicts that stand, by the number of the journal entry, in the order in which they were given."""
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        return _verdicts(tx)


def unjudged(ctx: Context, outcome: str) -> list[int]:
    """Numbers of the entries with an outcome about which nobody has said anything, ascending."""
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        known = _verdicts(tx)
        return _without(tx.entries_with(outcome), known)


def strata(ctx: Context) -> list[Stratum]:
    """Decisions, verdicts and errors by outcome, for each outcome that the journal has."""
    sizes: Counter[str] = Counter()
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        said = Counter(_verdicts(tx).values())
        for (_, outcome), count in tx.outcomes_by_day().items():
            sizes[outcome] += count
    right, wrong = ({name: said[Said(one, name)] for name in JUDGED} for one in ("right", "wrong"))
    return [Stratum(name, sizes[name], right[name] + wrong[name], wrong[name]) for name in JUDGED if sizes[name]]


def _judge(ctx: Context, tx: Tx, verdicts: Mapping[int, Rightness]) -> int:
    decisions = {one.seq: one.outcome for one in tx.journal(seqs=verdicts) if is_judged(one)}
    unknown = next((seq for seq in verdicts if seq not in decisions), None)
    if unknown is not None:
        raise NotFound(f"entry {unknown} is no decision about a write", where=tx.namespace, todo="Draw a new sample")
    known = _verdicts(tx)
    news = {seq: said for seq, said in verdicts.items() if known.get(seq) != (said, decisions[seq])}
    if not news:
        return 0
    reasons = tuple(Reason(f"judged_{said}", f"{seq} {decisions[seq]}") for seq, said in news.items())
    return tx.apply(replace(ctx.entry(_VERB, _OUTCOME), reasons=reasons))


def is_judged(entry: JournalEntry) -> bool:
    """Whether people are asked about this entry: it decided a write."""
    return entry.outcome in JUDGED and entry.verb in _WRITES


def _verdicts(tx: Tx) -> dict[int, Said]:
    found: dict[int, Said] = {}
    numbers = tx.entries_with(_OUTCOME)
    for entry in tx.journal(seqs=numbers) if numbers else ():
        for reason in entry.reasons if entry.verb == _VERB else ():
            said = next((one for one in VERDICTS if reason.rule == f"judged_{one}"), None)
            number, _, outcome = reason.detail.partition(" ")
            if said is not None:
                found.pop(int(number), None)
                found[int(number)] = Said(said, outcome)
    return found


def _without(numbers: list[int], known: Container[int]) -> list[int]:
    return [seq for seq in numbers if seq not in known]


def _shares(left: Mapping[str, Collection[int]], count: int) -> dict[str, int]:
    """How many decisions of each outcome are drawn, rare outcomes first."""
    whole = sum(map(len, left.values()))
    shares = {name: min(_LEAST, len(numbers)) for name, numbers in left.items()}
    spare = count - sum(shares.values())
    for name, numbers in sorted(left.items(), key=lambda one: -len(one[1])):
        more = min(len(numbers) - shares[name], max(0, round(spare * len(numbers) / max(1, whole))))
        shares[name] += more
    for name, numbers in sorted(left.items(), key=lambda one: -len(one[1])):  # what rounding has left over
        shares[name] += min(len(numbers) - shares[name], max(0, count - sum(shares.values())))
    return shares


def _some(tx: Tx, numbers: list[int], wanted: int, chance: random.Random) -> Iterable[JournalEntry]:
    """So many decisions about writes among these entries, at random."""
    found: list[JournalEntry] = []
    order = chance.sample(numbers, min(len(numbers), wanted * _TRIES))
    for start in range(0, len(order), max(1, wanted)):
        part = order[start : start + wanted]
        entries = {one.seq: one for one in tx.journal(seqs=part) if is_judged(one)}
        found += [entries[seq] for seq in part if seq in entries]
        if len(found) >= wanted:
            break
    return found[:wanted]
