"""Commands that write texts: remember, remember-many, check, revise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from wellkept.cli.terminal import exits, render
from wellkept.cli.terminal.fields import (
    FileOption,
    IdArgument,
    OnConflictOption,
    StatementOptions,
    TextOptions,
    WriteOptions,
    bytes_of,
    given,
    text_from,
)
from wellkept.cli.terminal.groups import argument, flag
from wellkept.cli.terminal.session import Session
from wellkept.errors import InvalidInput, InvalidText, WellkeptError
from wellkept.parsing import parsed_json
from wellkept.types import BatchResult, ItemError, WriteResult
from wellkept.types.showing import count_of

_EXCERPT = 50


def remember(run: Session, *, text: TextOptions, on_conflict: OnConflictOption = None, write: WriteOptions) -> int:
    """Store a memory; detects duplicates, updates and conflicts."""
    content, fields = text.with_fields(write)
    result = run.store().remember(content, on_conflict=on_conflict, **fields)
    return wrote(run, result)


def check(
    run: Session,
    *,
    text: TextOptions,
    on_conflict: OnConflictOption = None,
    exit_code: bool = flag(
        "--exit-code", help="Exit with status 3 for a duplicate, update or conflict, 4 if it would be rejected."
    ),
    write: WriteOptions,
) -> int:
    """Show what `remember` would do with a text; nothing is written."""
    content, fields = text.with_fields(write)
    result = run.store(writes=False).check(content, on_conflict=on_conflict, **fields)
    run.show(result, lambda: render.written(result, checked=True))
    return _verdict(result) if exit_code else exits.OK


def remember_many(
    run: Session,
    file: Path = argument(default=Path("-"), metavar="FILE|-", help="JSON lines; - reads standard input."),
    *,
    lines: bool = flag("--lines", help="Each line is plain text, not JSON."),
    on_conflict: OnConflictOption = None,
) -> int:
    """Store many texts in order, one JSON object or string per line; repeating the batch changes nothing."""
    items, errors = _items(bytes_of(file), plain=lines)
    store = run.store()
    with run.busy(f"Writing {count_of(len(items), 'text')}"):
        result = store.remember_many(list(items.values()), on_conflict=on_conflict)
    whole = _replaced(result, list(items), errors)
    run.show(whole, lambda: render.batch(whole))
    return exits.FINDINGS if whole.errors else exits.OK


def revise(
    run: Session,
    memory_id: IdArgument,
    text: str | None = argument(default=None, metavar="TEXT|-", show_default=False, help="The new text."),
    *,
    file: FileOption = None,
    statement: StatementOptions,
) -> object:
    """Edit a stored memory; its history keeps the old text. An empty value clears a field."""
    changes = given(statement)
    if text is not None or file is not None:
        changes["content"] = text_from(text, file)
    if not changes:
        raise typer.BadParameter("Give a new text or a field to change", param_hint="TEXT")
    return run.store().revise(memory_id, **changes)


def wrote(run: Session, result: WriteResult) -> int:
    """Print the result of a write; a text rejected as not worth keeping sets the exit code."""
    run.show(result, lambda: render.written(result))
    return exits.REFUSED if result.outcome == "rejected" else exits.OK


def _verdict(result: WriteResult) -> int:
    if result.outcome == "rejected":
        return exits.REFUSED
    is_open = any(conflict.resolution is None for conflict in result.conflicts)
    return exits.FINDINGS if is_open or result.outcome not in ("created", "queued") else exits.OK


def _items(data: bytes, *, plain: bool) -> tuple[dict[int, str | Mapping[str, Any]], list[ItemError]]:
    """The item of each non-empty line by position, and the lines that cannot be parsed."""
    from wellkept.core.text.forms import excerpt
    from wellkept.engine.transfer.import_lines import misread

    items: dict[int, str | Mapping[str, Any]] = {}
    errors = []
    place = 0
    for raw in data.splitlines():
        if not raw.strip():
            continue
        try:
            wrong = misread(raw, plain=plain) if place == 0 else None
            if wrong is not None:
                raise wrong
            items[place] = _item(raw, plain=plain)
        except WellkeptError as error:
            shown = excerpt(raw.decode("utf-8", "replace"), _EXCERPT)
            errors.append(ItemError(place, shown, type(error).__name__, str(error)))
        place += 1
    return items, errors


def _item(raw: bytes, *, plain: bool) -> str | Mapping[str, Any]:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidText("is not UTF-8", where=f"byte {error.start}", todo="Convert the file to UTF-8") from error
    if plain:
        return text
    value = parsed_json(text, todo="Correct the line, or pass --lines for plain text")
    if isinstance(value, str | dict):
        return value
    raise InvalidInput(f"is a JSON {type(value).__name__}", todo="Write an object or a string")


def _replaced(result: BatchResult, places: list[int], errors: list[ItemError]) -> BatchResult:
    """The result of the valid items, with positions counted among all lines, and with the invalid lines."""
    if not errors:
        return result
    by_place = dict(zip(places, result.results, strict=True))
    moved = [replace(error, index=places[error.index]) for error in result.errors]
    ordered = tuple(by_place.get(place) for place in range(len(places) + len(errors)))
    return BatchResult(ordered, tuple(sorted([*moved, *errors], key=lambda error: error.index)), result.counts)
