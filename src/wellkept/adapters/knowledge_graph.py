"""The `memory.jsonl` of the MCP reference server: each observation becomes a memory about its entity.

A relation becomes a memory in words, with its parts in the metadata. The file has no times; later lines are newer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from wellkept.adapters.foreign_records import Foreign, Found, Unread
from wellkept.core.text.forms import content_hash, decode
from wellkept.engine.base.files import opened
from wellkept.engine.base.numbered_lines import numbered
from wellkept.engine.transfer.import_lines import too_long
from wellkept.errors import InvalidInput, InvalidText
from wellkept.parsing import parsed_json

NAMES = ("memory.jsonl", "memory.json")


def is_line(value: object) -> bool:
    """Whether a JSON value is an entity or a relation of the graph."""
    if not isinstance(value, Mapping):
        return False
    match value.get("type"):
        case "entity":
            return isinstance(value.get("name"), str) and isinstance(value.get("observations"), list)
        case "relation":
            return all(isinstance(value.get(name), str) for name in ("from", "to", "relationType"))
        case _:
            return False


def memories(file: Path) -> Iterator[Found]:
    """The observations and relations of a graph, in file order.

    Raises:
        StorePathError: The file cannot be read.
    """
    with opened(file) as lines:
        for number, raw in numbered(lines, str(file)):
            cut = too_long(raw)
            yield from [Unread(raw=repr(raw[:200]), why=cut)] if cut is not None else _of_line(f"line {number}", raw)


def _of_line(where: str, raw: bytes) -> Iterable[Found]:
    try:
        text = decode(raw).strip()
        value: Any = parsed_json(text, where=where, todo="Correct the line") if text else None
    except InvalidText as error:
        return [Unread(raw=repr(raw[:200]), why=error)]
    except InvalidInput as error:
        return [Unread(raw=text, why=error)]
    if not text:
        return []
    if not is_line(value):
        return [Unread(raw=text, why=InvalidInput("is neither an entity nor a relation", where=where))]
    if value["type"] == "relation":
        return [_relation(value)]
    return [_observation(value, at, text, where) for at, text in enumerate(value["observations"], start=1)]


def _observation(entity: Mapping[str, Any], at: int, text: object, where: str) -> Found:
    name = entity["name"]
    if not isinstance(text, str):
        why = InvalidInput(f"observation {at} of {name[:60]!r} is not text", where=where)
        return Unread(raw=str(text), why=why)
    kind = entity.get("entityType")
    return Foreign(
        # Not by position, because removing one observation would rename the later ones. Not by text, because
        # ids are shown in plans, where secrets are hidden.
        id=f"{name}#{content_hash(text)[:10]}",
        text=text,
        title=name,
        subject=name,
        tags=(kind,) if isinstance(kind, str) and kind.strip() else (),
        metadata={"entity": name, "entity_type": kind},
    )


def _relation(relation: Mapping[str, Any]) -> Found:
    start, end, word = relation["from"], relation["to"], relation["relationType"]
    return Foreign(
        id=f"{start} {word} {end}",
        text=f"{start} {word.replace('_', ' ')} {end}",
        title=start,
        subject=start,
        tags=("relation",),
        metadata={"relation": {"from": start, "to": end, "type": word}},
    )
