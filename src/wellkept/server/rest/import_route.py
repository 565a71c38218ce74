"""`POST /v1/import`: reads JSON lines and answers with one JSON line for each, with progress and a final summary.

The body is first read to a temporary file, within its limit: answering while reading could deadlock with a
client that reads only after writing. Then the lines pass the gate in batches. Each batch is one transaction, and
its answer is sent after it is stored. Importing the same lines from the same source again changes
nothing.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import IO, Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import label
from wellkept.engine.base.numbered_lines import Line, numbered
from wellkept.engine.gate.write import Cause, remember_all
from wellkept.engine.transfer.exports import import_export, is_export, read_export, statement_of
from wellkept.engine.transfer.import_lines import ImportSpec, Row, rows
from wellkept.errors import InvalidInput, WellkeptError
from wellkept.policy import Policy
from wellkept.server.access.grants import allowed
from wellkept.server.rest.limits import MIB, Limits, depth
from wellkept.server.rest.problems import problem, responses, status_of
from wellkept.server.rest.request_checks import discard, grant_of, too_large
from wellkept.server.rest.schema import KEY_HEADER, NAMESPACE_HEADER, SESSION_HEADER
from wellkept.server.rest.store_of_request import IDEMPOTENCY, RequestStores, read_header
from wellkept.types import WriteResult

LINES = "application/x-ndjson"
_TAKEN = frozenset({LINES, "application/ndjson", "application/jsonl", "application/jsonlines"})
_MORE = MIB
"""Maximum length of a line in bytes; a longer line is truncated and rejected."""
_BATCH = 32
"""Rows per transaction; one row may take a tenth of a second, and its answer is sent after the transaction."""
_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A JSON line for each line: its result or error; `progress` between them; `report` at the end",
        "content": {LINES: {"schema": {"type": "string"}}},
    }
}
_BODY = {
    "parameters": [NAMESPACE_HEADER, SESSION_HEADER, KEY_HEADER],
    "requestBody": {
        "required": True,
        "description": "One memory per line, as the library's `import_` reads them, or an export.",
        "content": {LINES: {"schema": {}}},
    },
}


class Source(BaseModel):
    """The source of the lines."""

    model_config = ConfigDict(extra="forbid")

    source: str = Field("import", max_length=500, pattern=r"^[ -~]*$", description="Name of the source.")


def import_routes(stores: RequestStores, limits: Limits) -> APIRouter:
    """`/v1/import`."""
    router = APIRouter(tags=["import"])

    @router.post(
        "/v1/import",
        operation_id="import",
        name="import",
        summary="Import JSON lines",
        response_class=Response,
        responses={**responses(), **_ANSWER},
        openapi_extra=_BODY,
    )
    async def take(
        request: Request,
        asked: Annotated[Source, Query()],
    ) -> Response:
        """Import JSON lines through the gate. Invalid lines are reported by number and do not stop the rest."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in _TAKEN:
            return problem(415, "the content type is not JSON lines", where="Content-Type", todo=f"Send {LINES}")
        # Check permission first: no part of a body is stored for a caller without write access.
        grant = grant_of(request.scope.get("state", {}))
        store = await run_in_threadpool(stores.store_of, request.headers, grant, "write")
        named = read_header(request.headers, IDEMPOTENCY, escaped=False) or label("source", asked.source)
        spool = tempfile.TemporaryFile()  # closed by the iterator that reads it
        size = 0
        parts = request.stream()
        async for part in parts:
            size += len(part)
            if size > limits.import_bytes:
                spool.close()
                await discard(parts, limits.import_bytes)
                return too_large(limits.import_bytes)
            await run_in_threadpool(spool.write, part)
        spool.seek(0)
        spec = ImportSpec(source=label("source", asked.source), identity=f"rest:{named}")
        answer = answers(store._ctx, spool, spec, limits, size=size, restores=allowed(grant, store.namespace, "admin"))
        return StreamingResponse(answer, media_type=LINES)

    return router


def answers(
    ctx: Context, spool: IO[bytes], spec: ImportSpec, limits: Limits, *, size: int, restores: bool
) -> Iterator[bytes]:
    """Yield the lines of the answer; the import proceeds as they are consumed.

    Args:
        ctx: The target.
        spool: The body; closed at the end.
        spec: How lines become memories.
        limits: Limits on the nesting of a line.
        size: Size of the body in bytes, for the progress.
        restores: Whether rows of an export are restored with their ids; otherwise their texts pass the gate.
    """
    run_id = f"import-{ctx.new_id()}"
    writer = RowWriter(run_id)
    with spool:
        lines = numbered(spool, "body", most=_MORE)
        first = next(lines, (1, b""))
        exported = is_export(first[1])
        if exported and restores:
            yield from _export(ctx, _bounded_lines(lines, limits), run_id)
            return
        if exported:
            given = _statement_rows(_bounded_lines(lines, limits), spec, ctx.policy)
        else:
            given = rows(_bounded_lines(chain([first], lines), limits), spec, ctx.policy)
        waiting: list[Row] = []
        done = 0
        for row in given:
            waiting.append(row)
            if len(waiting) >= _BATCH:
                yield from writer.written(ctx, waiting)
                done += len(waiting)
                waiting = []
                yield _line({"progress": {"lines": done, "bytes": spool.tell(), "of": size}})
        yield from writer.written(ctx, waiting)
    yield _line({"report": writer.report() | ({"restored": False} if exported else {})})


class RowWriter:
    """Writes rows through the gate and reports the result of each."""

    def __init__(self, run_id: str) -> None:
        self._cause = Cause("import", run_id)
        self._counts: Counter[str] = Counter()
        self._read = self._failed = 0

    def written(self, ctx: Context, waiting: list[Row]) -> Iterator[bytes]:
        """Write a batch and yield one answer line per row, in order."""
        good = [row.new for row in waiting if row.new is not None and row.error is None]
        try:
            results = iter(remember_all(ctx, good, self._cause))
        except WellkeptError as error:  # an error of the store, not of a line, applies to the rest of the batch
            results = iter([error] * len(good))
        for row in waiting:
            self._read += 1
            if row.error is not None or row.new is None:
                yield self._error(row.line, row.error or InvalidInput("is not a memory"))
                continue
            match next(results):
                case WriteResult() as result:
                    yield self._result(row.line, result)
                case refused:
                    yield self._error(row.line, refused)

    def report(self) -> dict[str, Any]:
        """The summary of all lines."""
        counts = dict(sorted(self._counts.items()))
        return {"run_id": self._cause.run_id, "read": self._read, "counts": counts, "errors": self._failed}

    def _result(self, line: int, result: WriteResult) -> bytes:
        replayed = bool(result.reasons) and result.reasons[0].rule == "replay"
        self._counts["replayed" if replayed else result.outcome] += 1
        return _line(
            {
                "line": line,
                "outcome": result.outcome,
                "replayed": replayed,
                "id": result.memory.id if result.memory is not None else None,
                "entry": result.entry,
                "conflicts": [conflict.key for conflict in result.conflicts if conflict.resolution is None],
                "degraded": list(result.degraded),
            }
        )

    def _error(self, line: int, error: WellkeptError) -> bytes:
        self._failed += 1
        return _line({"line": line, "error": _reason(error)})


def _export(ctx: Context, lines: Iterator[Line], run_id: str) -> Iterator[bytes]:
    """Restore an export as a whole, in one transaction, or not at all."""
    export = read_export(lines, ctx.namespace, ctx.policy)
    wrong: list[tuple[int | None, WellkeptError]] = list(export.wrong)
    counts: dict[str, int] = {}
    if not wrong:
        try:
            counts = dict(import_export(ctx, export, run_id=run_id).counts)
        except WellkeptError as error:
            wrong = [(None, error)]
    for number, refused in wrong:
        yield _line({"line": number, "error": _reason(refused)})
    report = {"run_id": run_id, "read": export.read, "counts": counts, "errors": len(wrong), "restored": not wrong}
    yield _line({"report": report})


def _statement_rows(lines: Iterable[Line], spec: ImportSpec, policy: Policy) -> Iterator[Row]:
    """The statements of an export as rows of an import, and its other lines with the reason for their rejection."""
    refused: deque[Row] = deque()

    def statements() -> Iterator[Line]:
        for number, raw in lines:
            try:
                yield number, json.dumps(statement_of(raw)).encode()
            except InvalidInput as error:
                refused.append(Row(number, "", None, error))

    for row in rows(statements(), spec, policy):
        while refused:
            yield refused.popleft()
        yield row
    yield from refused


def _bounded_lines(lines: Iterable[Line], limits: Limits) -> Iterator[Line]:
    """The lines, with lines that are too long or too deeply nested replaced by invalid ones."""
    for number, raw in lines:
        if len(raw) > _MORE:
            yield number, b"(a line of more than 1 MiB)"
        elif depth(raw, limits.json_depth) > limits.json_depth:
            yield number, b"(a line that is nested too deeply)"
        else:
            yield number, raw


def _reason(error: WellkeptError) -> dict[str, Any]:
    if status_of(error) >= 500:  # internal to the server
        return {"type": type(error).__name__, "what": "it could not be written", "where": "", "todo": "Send it again"}
    return {"type": type(error).__name__, "what": error.what, "where": error.where, "todo": error.todo}


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"
