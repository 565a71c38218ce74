"""Statements and facts as rows of an import, keyed so that the same conversation taken in again changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wellkept.core.text.forms import content_hash, excerpt
from wellkept.core.text.redaction import without_secrets
from wellkept.core.transcripts.facts import Fact
from wellkept.core.transcripts.statements import Statement
from wellkept.core.transcripts.turns import Turn
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import new_memory
from wellkept.engine.gate.idempotency import payload_of, replayed
from wellkept.engine.transfer.import_lines import Row
from wellkept.errors import IdempotencyMismatch, WellkeptError
from wellkept.frozen import frozen
from wellkept.policy import Policy
from wellkept.storage.port import Tx
from wellkept.types import NewMemory

IMPORTANCE = 0.4
"""Below that of what somebody asked to keep."""
_LABEL = 200
_SHOWN_LINES = 12
_QUOTED = 300


@frozen(kw_only=True)
class Origin:
    """Where a transcript comes from.

    Attributes:
        format: The name of its format.
        name: What makes its conversations distinct; empty if they have ids of their own.
        kind: The kind of the memories.
    """

    format: str
    name: str = ""
    kind: str = "note"


def statement_rows(kept: Iterable[Statement], origin: Origin, policy: Policy) -> Iterator[Row]:
    """The rows of statements."""
    yield from _rows(((one.content, [one.turn], {}) for one in kept), origin, policy)


def fact_rows(facts: Iterable[Fact], origin: Origin, policy: Policy) -> Iterator[Row]:
    """The rows of facts, with their source lines in the metadata."""
    items = ((fact.text, fact.turns, {"said": [_line(turn) for turn in fact.turns[:_SHOWN_LINES]]}) for fact in facts)
    yield from _rows(items, origin, policy)


def unread_rows(unread: Iterable[WellkeptError]) -> Iterator[Row]:
    """The rows of what cannot be read."""
    for error in unread:
        yield Row(0, error.where, None, error)


def are_written(ctx: Context, rows: Sequence[Row]) -> list[bool]:
    """Which rows an earlier run has written and nobody has taken back."""
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        return [row.new is not None and _is_written(tx, row.new) for row in rows]


def _is_written(tx: Tx, new: NewMemory) -> bool:
    try:
        return replayed(tx, new)[1] is not None
    except IdempotencyMismatch:
        return False  # told when it is written


def _rows(
    items: Iterable[tuple[str, Sequence[Turn], Mapping[str, Any]]], origin: Origin, policy: Policy
) -> Iterator[Row]:
    seen: Counter[str] = Counter()
    for number, (content, turns, about) in enumerate(items, start=1):
        try:
            new = new_memory(content, _fields(turns, about, origin), policy)
        except WellkeptError as error:
            yield Row(number, content, None, error)
            continue
        payload = payload_of(new)
        seen[payload] += 1
        key = content_hash(f"transcript:{origin.format}:{origin.name}\x1f{payload}\x1f{seen[payload]}")[:40]
        yield Row(number, content, replace(new, idempotency_key=f"import:{key}"), None)


def _fields(turns: Sequence[Turn], about: Mapping[str, Any], origin: Origin) -> dict[str, Any]:
    times = sorted(turn.at for turn in turns if turn.at)
    speakers = tuple(dict.fromkeys(turn.speaker for turn in turns if turn.speaker))
    places = tuple(dict.fromkeys(f"{turn.conversation}/{turn.place}" for turn in turns))
    return {
        "kind": origin.kind,
        "importance": IMPORTANCE,
        "source": excerpt(f"{origin.format}:{turns[0].conversation}", _LABEL),
        "provenance": [excerpt(f"{origin.format}:{place}", _LABEL) for place in places],
        "metadata": {**({"speakers": list(speakers)} if speakers else {}), **about},
        **({"recorded_at": times[-1]} if times else {}),
    }


def _line(turn: Turn) -> str:
    said = without_secrets(turn.text)
    return excerpt(f"{turn.speaker}: {said}" if turn.speaker else said, _QUOTED)
