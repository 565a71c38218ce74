"""Which statements of a transcript are kept: what is left of the sentences, without what the head on chatter refuses.

Nobody asked to keep these texts, so the head refuses already what the gate would store with low importance. As in the
gate, it speaks about short texts that are no instruction and hold no code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from wellkept.core.gate.worth_keeping import is_instruction, is_small_talk
from wellkept.core.transcripts.statements import Statement
from wellkept.core.transcripts.turns import Turn
from wellkept.engine.base.context import Context
from wellkept.engine.models.embedding import Embeddings
from wellkept.errors import InvalidInput
from wellkept.frozen import frozen
from wellkept.models.port import chatter_of

MOST_TURNS = 500_000
_BATCH = 64


@frozen
class Heard:
    """The turns of a transcript, and what cannot be read of it.

    Attributes:
        turns: The turns, in their order.
        unread: What cannot be read; names file, line and what to do.
    """

    turns: tuple[Turn, ...]
    unread: tuple[InvalidInput, ...]


def heard(said: Iterable[Turn | InvalidInput]) -> Heard:
    """Read a transcript to its end, before anything is done with it.

    Raises:
        InvalidInput: It is damaged, or has more than `MOST_TURNS` turns.
    """
    turns: list[Turn] = []
    unread: list[InvalidInput] = []
    for one in said:
        if isinstance(one, Turn):
            turns.append(one)
        else:
            unread.append(one)
        if len(turns) + len(unread) > MOST_TURNS:
            raise InvalidInput(f"holds more than {MOST_TURNS} turns", where="transcript", todo="Divide it")
    return Heard(tuple(turns), tuple(unread))


def without_chatter(
    ctx: Context,
    statements: Sequence[Statement],
    *,
    known: Sequence[bool],
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[Statement], tuple[str, ...]]:
    """The statements, those that the head takes for chatter with that as the reason why they are not kept.

    Args:
        ctx: The store, for its embedder.
        statements: The statements.
        known: Which of them are written already; the head is not asked about those.
        progress: Called with how many statements the head has seen, and how many it is to see.

    Returns:
        The statements in their order, and what is degraded: `chatter` if the head could not be asked.
    """
    found = list(statements)
    head = chatter_of(ctx.embedder)
    asked = [at for at, one in enumerate(found) if not known[at] and _may_be_chatter(one.text)]
    if head is None or not asked:
        return found, ("chatter",) if asked else ()
    for start in range(0, len(asked), _BATCH):
        part = asked[start : start + _BATCH]
        vectors = Embeddings(ctx.embedder, on_failure="Chatter is not recognised")
        vectors.fetch([found[at].text for at in part])
        if vectors.failure is not None:
            return found, ("chatter",)
        for at in part:
            vector = vectors.vector(found[at].text)
            if vector is not None and head.probability(found[at].text, vector) >= head.low_at:
                found[at] = replace(found[at], why="chatter")
        if progress is not None:
            progress(min(start + _BATCH, len(asked)), len(asked))
    return found, ()


def _may_be_chatter(text: str) -> bool:
    return is_small_talk(text) and not is_instruction(text)
