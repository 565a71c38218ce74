"""What is taken from a transcript: the rows to write, and what is left out, with the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from datetime import datetime

from wellkept.core.transcripts.statements import all_statements
from wellkept.core.transcripts.turns import Turn
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import moment
from wellkept.engine.ingest.choosing import Heard, without_chatter
from wellkept.engine.ingest.import_rows import Origin, are_written, statement_rows, unread_rows
from wellkept.engine.transfer.import_lines import Row
from wellkept.engine.transfer.importer import Importer
from wellkept.errors import InvalidField
from wellkept.frozen import frozen
from wellkept.types import ImportReport

Progress = Callable[[int, int], None]
BUDGET = "budget"
"""The degradation to report when a budget was too small."""


@frozen(kw_only=True)
class Harvest:
    """The result of reading a transcript.

    Attributes:
        turns: Number of turns read.
        rows: What is to be written, in order, after what cannot be read.
        left_out: Number of sentences that are not kept, by reason.
        degraded: What could not be asked.
    """

    turns: int
    rows: tuple[Row, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()

    @property
    def kept(self) -> int:
        """Number of rows that can be written."""
        return sum(row.new is not None for row in self.rows)

    @property
    def is_whole(self) -> bool:
        """Whether everything was read, and the budget allowed to ask about all of it."""
        return self.kept == len(self.rows) and BUDGET not in self.degraded


def selected(
    turns: Sequence[Turn], *, speakers: Collection[str] = (), since: str = "", limit: int | None = None
) -> tuple[Turn, ...]:
    """The turns of these speakers, in any case, from a time on; the first ones up to a limit.

    Raises:
        InvalidField: The time is none, or nobody of this name speaks.
    """
    names = {turn.speaker.casefold() for turn in turns}
    wanted = {speaker.casefold() for speaker in speakers}
    if turns and (missing := sorted(wanted - names)):
        heard = ", ".join(sorted({turn.speaker for turn in turns if turn.speaker})[:10]) or "nobody with a name"
        raise InvalidField(f"{missing[0]!r} does not speak", where="speaker", todo=f"It speaks: {heard}")
    start = moment("since", since or None)
    kept = [
        turn
        for turn in turns
        if (not wanted or turn.speaker.casefold() in wanted)
        and (start is None or bool(turn.at) and datetime.fromisoformat(turn.at) >= start)
    ]
    return tuple(kept[:limit])


def statements_of(ctx: Context, heard: Heard, origin: Origin, *, progress: Progress | None = None) -> Harvest:
    """The statements worth keeping, chosen without a language model.

    Args:
        ctx: The store; it is only read.
        heard: The transcript.
        origin: Where it comes from.
        progress: Called with how many statements were looked at, and of how many.
    """
    found = list(all_statements(heard.turns))
    whole = [one for one in found if one.why is None]
    rows = list(statement_rows(whole, origin, ctx.policy))
    judged, degraded = without_chatter(ctx, whole, known=are_written(ctx, rows), progress=progress)
    kept = (row for row, one in zip(rows, judged, strict=True) if one.why is None)
    return Harvest(
        turns=len(heard.turns),
        rows=(*unread_rows(heard.unread), *kept),
        left_out=dict(Counter(one.why for one in (*found, *judged) if one.why is not None)),
        degraded=degraded,
    )


def taken_in(ctx: Context, harvest: Harvest, *, progress: Callable[[int], None] | None = None) -> ImportReport:
    """Write the rows through the gate, as one run that can be undone; what was written before is not written again.

    Args:
        ctx: The store.
        harvest: What to write.
        progress: Called after each batch with the number of rows written.
    """
    importer = Importer(ctx, f"ingest-{ctx.new_id()}", progress=progress)
    for row in harvest.rows:
        importer.take(row, ctx.namespace)
    return importer.report()
