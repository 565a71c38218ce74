"""Imports rows through the gate in batches; each batch is written before the next one is read.

An import is a series of ordinary writes; all its journal entries carry its run id.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from wellkept.engine.base.context import Context
from wellkept.engine.gate.write import CHUNK, Cause, remember_all
from wellkept.engine.transfer.import_lines import Row, shown
from wellkept.engine.transfer.source_relations import Related, relate
from wellkept.errors import InvalidInput, WellkeptError
from wellkept.types import ImportReport, ItemError, WriteResult

Progress: TypeAlias = Callable[[int], None]
Reject: TypeAlias = Callable[[Mapping[str, Any]], None]

MAX_ERRORS = 1_000
"""Maximum number of rejected lines listed in a report; all are counted."""
_FIRST = 8
_SHORT, _LONG = 0.5, 2.0
"""Target duration of a batch in seconds; the batch size is adjusted, so that progress is visible and kept."""


class Importer:
    """Writes rows through the gate in batches and counts the outcomes.

    Args:
        ctx: The store; `take` names the namespace of each row.
        run_id: Recorded in each journal entry.
        reject: Called with each rejected line.
        progress: Called after each batch with the number of rows read.
    """

    def __init__(
        self, ctx: Context, run_id: str, *, reject: Reject | None = None, progress: Progress | None = None
    ) -> None:
        self._ctx = ctx
        self._cause = Cause("import", run_id)
        self._reject = reject
        self._progress = progress
        self._size = _FIRST
        self._waiting: list[Row] = []
        self._related = Related()
        self._namespace = ctx.namespace
        self._counts: Counter[str] = Counter()
        self._errors: list[ItemError] = []
        self._failures = 0
        self._read = 0
        self._conflicts = 0
        self._started = time.monotonic()

    def take(self, row: Row, namespace: str) -> None:
        """Add a row for this namespace."""
        if namespace != self._namespace or len(self._waiting) >= self._size:
            self.flush()
            self._namespace = namespace
        self._read += 1
        if row.error is not None or row.new is None:
            self._failed(row, row.error or InvalidInput("is not a memory"))
            return
        self._waiting.append(row)

    def flush(self) -> None:
        """Write the collected rows."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            began = time.monotonic()
            self._write(waiting)
            took = time.monotonic() - began
            if took < _SHORT:
                self._size = min(CHUNK, 2 * self._size)
            elif took > _LONG:
                self._size = max(1, self._size // 2)
        if self._progress is not None:
            self._progress(self._read)

    def report(self, rejects: str = "") -> ImportReport:
        """The report, after a last `flush`."""
        self.flush()
        relate(self._ctx, self._related, self._cause.run_id, last=True)
        return ImportReport(
            run_id=self._cause.run_id,
            read=self._read,
            counts=dict(self._counts),
            conflicts=self._conflicts,
            errors=tuple(self._errors),
            rejects=rejects if self._failures else "",
            seconds=round(time.monotonic() - self._started, 3),
            failed=self._failures,
        )

    def _write(self, waiting: list[Row]) -> None:
        ctx = replace(self._ctx, namespace=self._namespace)
        results = remember_all(ctx, [row.new for row in waiting if row.new is not None], self._cause)
        for row, result in zip(waiting, results, strict=True):
            if isinstance(result, WriteResult):
                replayed = bool(result.reasons) and result.reasons[0].rule == "replay"
                self._counts["replayed" if replayed else result.outcome] += 1
                self._conflicts += sum(conflict.resolution is None for conflict in result.conflicts)
                self._related.note(self._namespace, row, result)
            else:
                self._failed(row, result)
        relate(self._ctx, self._related, self._cause.run_id)

    def _failed(self, row: Row, error: WellkeptError) -> None:
        self._failures += 1
        name = type(error).__name__
        if len(self._errors) < MAX_ERRORS:
            self._errors.append(ItemError(row.line, shown(row.raw), name, str(error)))
        if self._reject is not None:
            self._reject({"line": row.line, "error": name, "message": str(error), "raw": row.raw})
