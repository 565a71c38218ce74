"""Parses lines of any JSON into memories, or an error for each invalid line.

Each line gets an idempotency key from the source (its given name, or the file's path), its content, and how often
that content occurred in the source before. So importing the same source again changes nothing, while the same
text in another source is a new statement.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from wellkept.core.text.forms import content_hash, decode, excerpt
from wellkept.engine.base.inputs import MAX_COUNT, moment, new_memory
from wellkept.engine.base.numbered_lines import LONGEST, Line
from wellkept.engine.gate.idempotency import payload_of
from wellkept.errors import InvalidField, InvalidInput, InvalidText, WellkeptError
from wellkept.frozen import frozen
from wellkept.parsing import json_values, parsed_json
from wellkept.policy import Policy
from wellkept.types import ImportedMemory, NewMemory

_CONTENT_NAMES = ("content", "text", "memory")
MAX_VALUES = 500_000
"""Maximum number of values in the lists and objects of one line, because each becomes an object."""
_KEPT = 200
_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*(?:$|[\[{\"\]])")
_ALIASES = {"created_at": "recorded_at"}
_PAST = tuple(name for name in ImportedMemory.__dataclass_fields__ if name not in NewMemory.__dataclass_fields__)
FIELDS = (*NewMemory.__dataclass_fields__, *_PAST, *_ALIASES)
"""Target fields of a mapping: the fields of a memory, and its usage in the source."""


@frozen(kw_only=True)
class ImportSpec:
    """How lines become memories.

    Args:
        source: Name of the source, kept with each memory. By default the file's name; idempotency keys then
            use the whole path, so that two files with the same name are two sources. With your own name, a
            file may be moved and stays the same source.
        mapping: Field of a memory to key of the line; dots reach into objects. Fields not mapped are taken
            from keys of the same name; the text from `content`, `text` or `memory`. Only when mapped:
            `access_count`, `last_accessed_at`, `updated_at`, and `created_at`, which is another name of
            `recorded_at`.
        fixed: Field of a memory to a value for all lines.
        scale: The lowest and the highest importance in the source, which become 0 and 1.
        items: Key of a list inside each line, each of whose objects is one memory.
        plain: Lines are texts, not JSON.
        limit: Read at most this many lines.
        identity: Identifies the source in idempotency keys; derived from the above.
    """

    source: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    scale: tuple[float, float] = (0.0, 1.0)
    items: str = ""
    plain: bool = False
    limit: int | None = None
    identity: str = ""

    def __post_init__(self) -> None:
        low, high = self.scale
        if not -math.inf < low < high < math.inf:
            raise InvalidField(f"{low}..{high} is not a scale", where="scale", todo="Name a lower and a higher number")

    def of_file(self, path: Path) -> ImportSpec:
        """The specification completed for this file: source name and identity."""
        if self.source:
            return replace(self, identity=self.identity or self.source)
        return replace(self, source=path.name, identity=self.identity or str(path.resolve()))


@frozen(kw_only=True)
class Relations:
    """Relations of a memory in its source, with the ids of the source.

    Attributes:
        id: Its own id.
        superseded_by: The memory that replaced it; else empty.
        superseded_at: When it was replaced; None when the source does not say.
        links: Target id and relation of each link.
    """

    id: str
    superseded_by: str = ""
    superseded_at: datetime | None = None
    links: tuple[tuple[str, str], ...] = ()


@frozen
class Row:
    """One parsed memory of a source, or its error."""

    line: int
    raw: str
    new: NewMemory | None
    error: WellkeptError | None = None
    outer: Mapping[str, Any] = field(default_factory=dict)
    relations: Relations | None = None


def rows(lines: Iterable[Line], spec: ImportSpec, policy: Policy) -> Iterator[Row]:
    """Parse lines one by one; an invalid line gives a row with an error."""
    seen: Counter[str] = Counter()
    for place, (number, raw) in enumerate(lines):
        if spec.limit is not None and number > spec.limit:
            return
        wrong = too_long(raw, plain=spec.plain) or (None if place else misread(raw, plain=spec.plain))
        if wrong is not None:
            yield Row(number, raw[:_KEPT].decode("utf-8", "backslashreplace").strip("\r\n"), None, wrong)
            continue
        try:
            text = decode(raw).strip("\r\n")
        except InvalidText as error:
            yield Row(number, repr(raw[:_KEPT]), None, error)
            continue
        if not text.strip():
            continue
        try:
            objects = [({"content": text}, {})] if spec.plain else _objects(text, spec)
        except WellkeptError as error:
            yield Row(number, text, None, error)
            continue
        for item, outer in objects:
            yield _row(number, item, outer, spec=spec, policy=policy, seen=seen)


def too_long(raw: bytes, *, plain: bool = False) -> InvalidInput | None:
    """The error of a line that is not parsed: it is too long, or has more values than any memory."""
    if len(raw) > LONGEST:
        return InvalidInput(f"the line is longer than {LONGEST >> 20} MiB", todo="Write one memory a line")
    if not plain and len(raw) > MAX_VALUES and json_values(raw) > MAX_VALUES:
        return InvalidInput(f"the line holds more than {MAX_VALUES} values", todo="Write one memory a line")
    return None


def misread(first: bytes, *, plain: bool) -> InvalidInput | None:
    """An error of the whole file, detected in the first line: UTF-16, or one JSON array."""
    # Without a byte order mark, UTF-16 shows as one NUL next to the first ASCII character of JSON.
    if first[:2] in (b"\xff\xfe", b"\xfe\xff") or (len(first) > 1 and (first[0] == 0) != (first[1] == 0)):
        return InvalidText("the file looks like UTF-16", todo="Convert it to UTF-8")
    if not plain and _ARRAY.match(first):
        return InvalidInput("this is a JSON array", todo="Write one object a line, without brackets and commas")
    return None


def _objects(text: str, spec: ImportSpec) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    data = parsed_json(text, todo="Mend the line, or import plain text lines")
    if not isinstance(data, dict):
        raise InvalidInput(f"is a JSON {type(data).__name__}, not an object", todo="Write one object a line")
    if not spec.items:
        return [(data, data)]
    inner = _reach(data, spec.items)
    if not isinstance(inner, list) or not all(isinstance(item, dict) for item in inner):
        raise InvalidInput(f"has no list of objects at {spec.items!r}", todo="Name the key of the list")
    return [(item, data) for item in inner]


def _row(
    number: int,
    item: Mapping[str, Any],
    outer: Mapping[str, Any],
    *,
    spec: ImportSpec,
    policy: Policy,
    seen: Counter[str],
) -> Row:
    raw = json.dumps(item, ensure_ascii=False)
    try:
        values = _values(item, spec)
        content = values.pop("content", None)
        if content is None:
            wanted = spec.mapping.get("content", " or ".join(_CONTENT_NAMES))
            raise InvalidField(f"has no {wanted}", where="content", todo="Map it: --map content=KEY")
        values.setdefault("source", spec.source)
        past = {name: values.pop(name) for name in _PAST if name in values}
        new = _with_past(new_memory(content, values, policy), past)
        name = payload_of(new)
        seen[name] += 1
        key = content_hash(f"{spec.identity or spec.source}\x1f{name}\x1f{seen[name]}")[:40]
        return Row(number, raw, replace(new, idempotency_key=f"import:{key}"), None, outer)
    except WellkeptError as error:
        return Row(number, raw, None, error, outer)


def _with_past(new: NewMemory, past: Mapping[str, Any]) -> NewMemory:
    """The statement with its usage in the source."""
    used = past.get("access_count", 0)
    if type(used) is not int or not 0 <= used <= MAX_COUNT:
        raise InvalidField(f"{str(used)[:40]!r} is not a count", where="access_count", todo="Use a whole number from 0")
    read, changed = (moment(name, past.get(name)) for name in ("last_accessed_at", "updated_at"))
    if not used and read is None and changed is None:
        return new
    said = {name: getattr(new, name) for name in NewMemory.__dataclass_fields__}
    return ImportedMemory(**said, access_count=used, last_accessed_at=read, updated_at=changed)


def _scaled(value: Any, scale: tuple[float, float]) -> float:
    """An importance of the source, scaled to 0 to 1.

    Raises:
        InvalidField: It is not a number within the scale.
    """
    low, high = scale
    if type(value) not in (int, float) or not low <= value <= high:
        what = f"{str(value)[:40]!r} is not a number from {low:g} to {high:g}"
        raise InvalidField(what, where="importance", todo="Say the scale of the source: --scale LOW..HIGH")
    return float((value - low) / (high - low))


def _values(item: Mapping[str, Any], spec: ImportSpec) -> dict[str, Any]:
    known = NewMemory.__dataclass_fields__
    values = {name: item[name] for name in known if name in item and item[name] is not None}
    for asked, key in spec.mapping.items():
        if asked not in FIELDS:
            raise InvalidField("unknown field", where=asked, todo=f"Map one of: {', '.join(sorted(FIELDS))}")
        name = _ALIASES.get(asked, asked)
        value = _reach(item, key)
        if value is not None:
            values[name] = value
        else:
            values.pop(name, None)
    if "content" not in values:
        found = next((item[name] for name in _CONTENT_NAMES if isinstance(item.get(name), str)), None)
        if found is not None:
            values["content"] = found
    if "importance" in values:
        values["importance"] = _scaled(values["importance"], spec.scale)
    values.update((_ALIASES.get(name, name), value) for name, value in spec.fixed.items())
    return values


def _reach(item: Mapping[str, Any], key: str) -> Any:
    if key in item:
        return item[key]
    value: Any = item
    for step in key.split("."):
        if not isinstance(value, Mapping) or step not in value:
            return None
        value = value[step]
    return value


def shown(text: str) -> str:
    """The beginning of a rejected text, safe to print."""
    return excerpt(text, 50).encode("utf-8", "replace").decode("utf-8")
