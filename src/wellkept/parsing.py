"""Parsing of JSON, TOML and numbers from files, requests and rows: a value or a typed error for any text."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from wellkept.errors import InvalidInput, WellkeptError

MAX_NESTING = 200
"""Maximum nesting of lists and objects. Python's own limit depends on its version and on the current stack depth."""


JSON_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
"""The strings of a JSON text; their contents are skipped when structural characters are counted."""


def json_values(raw: bytes) -> int:
    """The minimum number of values in the lists and objects of a JSON text, counted without parsing it.

    Example:
        >>> json_values(b'{"a": [1, 2, "3, 4"]}')
        4
    """
    signs = (b",", b"[", b"{")
    count, end = 0, 0
    for text in JSON_STRINGS.finditer(raw):
        count += sum(raw.count(sign, end, text.start()) for sign in signs)
        end = text.end()
    return count + sum(raw.count(sign, end) for sign in signs)


def parsed_json(
    text: str | bytes, *, where: str = "", todo: str = "", error: type[WellkeptError] = InvalidInput
) -> Any:
    """Parse a JSON text.

    NaN and infinities are rejected, because JSON has none, and so is nesting deeper than `MAX_NESTING`.

    Args:
        text: The text, or its bytes in UTF-8 with or without a byte order mark.
        where: The file, line or field named in the error.
        todo: The remedy named in the error.
        error: The error to raise. `InvalidInput`, the default, is a `ValueError`.

    Raises:
        WellkeptError: `error`, when the text is not JSON.

    Example:
        >>> parsed_json('{"a": [1]}')
        {'a': [1]}
        >>> parsed_json("[" * 300_000, where="line 3")
        Traceback (most recent call last):
        wellkept.errors.InvalidInput: not JSON: more than 200 levels of nesting (line 3).
    """
    try:
        text = text if isinstance(text, str) else text.decode("utf-8-sig")
        value = _JSON.decode(text)
        _check_nesting(text, value, opening="[{")
    except (ValueError, RecursionError) as why:
        raise error(f"not JSON: {_reason(why)}", where=where, todo=todo) from why
    return value


def object_of(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is; None for any other text.

    Example:
        >>> object_of('{"a": 1}'), object_of("[1]"), object_of("{")
        ({'a': 1}, None, None)
    """
    try:
        plain = parsed_json(text)
    except ValueError:
        return None
    return plain if isinstance(plain, dict) else None


def decoded_json(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins at a place of a text, and the place behind it.

    Raises:
        ValueError: There is no JSON value, or it is nested more than `MAX_NESTING` deep.

    Example:
        >>> decoded_json('[1, 2] tail', 1)
        (1, 2)
    """
    try:
        value, end = _JSON.raw_decode(text, at)
        _check_nesting(text[at:end], value, opening="[{")
    except RecursionError as why:
        raise ValueError(_reason(why)) from why
    return value, end


def parsed_toml(
    text: str, *, where: str = "", todo: str = "Correct the syntax", error: type[WellkeptError] = InvalidInput
) -> dict[str, Any]:
    """Parse a TOML text to a table; arguments and errors are those of `parsed_json`.

    Example:
        >>> parsed_toml("a = [1]")
        {'a': [1]}
    """
    import tomllib

    try:
        if _LONG_KEY.search(text):  # tomllib takes quadratic time for such a key
            raise RecursionError
        value = tomllib.loads(text)
        _check_nesting(text, value, opening="[{.")
    except (ValueError, RecursionError) as why:
        raise error(f"not TOML: {_reason(why)}", where=where, todo=todo) from why
    return value


def number_within(said: str | float, least: float, most: float) -> float | None:
    """The number that a text or a number says, if it is in this range; None otherwise.

    Example:
        >>> number_within("0.5", 0, 1), number_within("2", 0, 1), number_within("half", 0, 1)
        (0.5, None, None)
    """
    try:
        number = float(said)
    except (ValueError, OverflowError):
        return None
    return number if least <= number <= most else None


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number of JSON")


_LONG_KEY = re.compile(
    rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_NESTING}}}""", re.ASCII
)
"""Matches a key of more than `MAX_NESTING` parts; the pattern does not backtrack, so it takes linear time."""
_JSON = json.JSONDecoder(parse_constant=_no_constant)


def _check_nesting(text: str, value: Any, *, opening: str) -> None:
    """Raise when a value is nested too deeply; a text with few opening brackets is not traversed."""
    if sum(map(text.count, opening)) <= MAX_NESTING:
        return
    level = [value]
    for _ in range(MAX_NESTING + 1):
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return
        level = [part for item in level for part in (item.values() if isinstance(item, dict) else item)]
    raise RecursionError


def _reason(why: ValueError | RecursionError) -> str:
    match why:
        case RecursionError():
            return f"more than {MAX_NESTING} levels of nesting"
        case UnicodeDecodeError():
            return f"byte {why.start} is not UTF-8"
        case _:
            return str(why)
