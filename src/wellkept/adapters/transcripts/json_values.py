"""Values of JSON files: the elements of one array, one after the other, and the lines of a session log.

Only one element at a time becomes objects, so that a large export needs little more memory than its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from wellkept.adapters.transcripts.archives import lines_of, text_of
from wellkept.engine.base.numbered_lines import LONGEST, numbered
from wellkept.engine.transfer.import_lines import too_long
from wellkept.errors import InvalidInput
from wellkept.parsing import MAX_NESTING, decoded_json, parsed_json

_SPACE = re.compile(r"[ \t\r\n]*")
_AGAIN = "Download the export again; nothing of it is taken in"


def elements(data: bytes, where: str) -> Iterator[Any]:
    """The elements of the array in a JSON file; a file with one object has that as its only element.

    Args:
        data: The file.
        where: Its name, for errors.

    Raises:
        InvalidInput: It is no such JSON; names the element and the line.
    """
    text = text_of(data, where)
    at = _next(text, 0)
    if text[at : at + 1] != "[":
        yield parsed_json(text, where=where, todo=_AGAIN)
        return
    at = _next(text, at + 1)
    number = 0
    while text[at : at + 1] != "]":
        number += 1
        try:
            value, at = decoded_json(text, at)
        except ValueError as error:
            raise _wrong(text, at, where, number, str(error)) from error
        at = _next(text, at)
        sign = text[at : at + 1]
        if sign not in (",", "]") or not sign:
            raise _wrong(text, at, where, number, "it ends before the array does")
        yield value
        if sign == ",":
            at = _next(text, at + 1)


def objects_by_line(data: bytes, where: str) -> Iterator[tuple[int, Mapping[str, Any] | InvalidInput]]:
    """The objects of a file with one JSON object a line, each with its line; an error for a line that is none."""
    for number, raw in numbered(lines_of(data), where):
        place = f"{where}, line {number}"
        wrong = too_long(raw)
        if wrong is not None:
            yield number, InvalidInput(wrong.what, where=place, todo=f"Remove the line; {LONGEST >> 20} MiB are read")
            continue
        try:
            value = parsed_json(raw, where=place, todo="Mend or remove the line")
        except InvalidInput as error:
            yield number, error
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            yield number, InvalidInput("is no JSON object", where=place, todo="Mend or remove the line")


def _next(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _wrong(text: str, at: int, where: str, number: int, why: str) -> InvalidInput:
    line = text.count("\n", 0, at) + 1
    why = why if why != f"more than {MAX_NESTING} levels of nesting" else f"it has {why}"
    return InvalidInput(f"element {number} is not JSON: {why}", where=f"{where}, line {line}", todo=_AGAIN)
