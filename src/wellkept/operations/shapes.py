"""JSON shapes of the library's values as pydantic models, generated from the records.

A record has one serialised form, `core.records.codec.to_plain`. A model with repeated fields could differ from it
over time. So the models are generated from the dataclasses, with their names, types and docstrings.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic_core import to_json, to_jsonable_python

from wellkept.core.records.codec import EFFECT_TYPES, to_plain

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A time as serialised by the codec. It stays a text, to avoid parsing and serialising it again."""
PIECE = 256 * 1024
"""Size of the pieces in which an answer is sent, in bytes."""
_LONG = 50
"""Length above which a list is handled item by item."""


class Answer(BaseModel):
    """Base of every result: plain JSON values, with every field present."""

    model_config = ConfigDict(frozen=True, serialize_by_alias=True, defer_build=True)


@cache
def shape_of(record: type) -> type[Answer]:
    """The model of a record: every field is named, required and described as in the record's docstring.

    Args:
        record: A dataclass of the library.

    Example:
        >>> from wellkept.types import Reason
        >>> shape_of(Reason).model_json_schema()["required"]
        ['rule', 'detail']
    """
    hints = get_type_hints(record)
    explained = _explained(record)
    made: dict[str, Any] = {}
    if record in EFFECT_TYPES:
        made["type"] = (Literal[EFFECT_TYPES[record]], ...)
    for item in fields(record):
        made |= _field(item.name, hints[item.name], explained.get(item.name))
    return create_model(record.__name__, __base__=Answer, __doc__=_first_line(record), **made)


def answer(name: str, doc: str, **parts: Any) -> type[Answer]:
    """The model of an object with library values as fields.

    Args:
        name: Name of the model.
        doc: Its description, one sentence.
        **parts: The types of its fields in the library.

    Example:
        >>> answer("Counted", "A count.", count=int)(count=3).model_dump()
        {'count': 3}
    """
    made: dict[str, Any] = {}
    for key, hint in parts.items():
        made |= _field(key, hint)
    return create_model(name, __base__=Answer, __doc__=doc, **made)


def as_output(model: type[BaseModel], value: object) -> BaseModel:
    """Convert a value of the library to its JSON shape.

    Args:
        model: The shape.
        value: A record, or a mapping of field names to library values.
    """
    return _piecewise(model, to_plain(value, full=True))


def json_pieces(result: BaseModel) -> list[bytes]:
    """Serialise a result in pieces, long lists item by item, so that other threads can run between two items.

    A piece is not larger than `PIECE`, unless a single item is.

    Example:
        >>> json_pieces(answer("Counted", "Counts.", counts=tuple[int, ...])(counts=[3, 4]))
        [b'{"counts":[3,4]}']
    """
    pieces: list[bytes] = []
    waiting: list[bytes] = []
    size = 0
    for part in _parts(result):
        if size + len(part) > PIECE and waiting:
            pieces.append(b"".join(waiting))
            waiting, size = [], 0
        waiting.append(part)
        size += len(part)
    return [*pieces, b"".join(waiting)]


def json_object(result: BaseModel) -> dict[str, Any]:
    """The result as JSON values like `model_dump`, with lists and mappings converted item by item."""
    made: dict[str, Any] = {}
    for name, field in type(result).model_fields.items():
        value = getattr(result, name)
        match value:
            case list():
                plain: Any = [_plain_value(item) for item in value]
            case dict():
                plain = {key: _plain_value(item) for key, item in value.items()}
            case _:
                plain = _plain_value(value)
        made[field.alias or name] = plain
    return made


def _parts(result: BaseModel) -> Iterator[bytes]:
    before = b"{"
    for name, field in type(result).model_fields.items():
        value = getattr(result, name)
        yield before + _json(field.alias or name) + b":"
        match value:
            case list():
                yield b"["
                for place, item in enumerate(value):
                    yield (b"," if place else b"") + _json(item)
                yield b"]"
            case dict():
                yield b"{"
                for place, (key, item) in enumerate(value.items()):
                    yield (b"," if place else b"") + _json(str(key)) + b":" + _json(item)
                yield b"}"
            case _:
                yield _json(value)
        before = b","
    yield b"}" if before == b"," else b"{}"


def _plain_value(value: Any) -> Any:
    return to_jsonable_python(value, by_alias=True)


def _json(value: Any) -> bytes:
    return to_json(value, inf_nan_mode="null")


def _piecewise(model: type[BaseModel], plain: Mapping[str, Any]) -> BaseModel:
    """Validate a result from its JSON; items of long lists and mappings are validated one by one."""
    long = {name for name, part in plain.items() if _is_many(model, name) and len(part) > _LONG}
    if not long:
        return model.model_validate(plain)
    whole = model.model_validate({name: type(part)() if name in long else part for name, part in plain.items()})
    read: dict[str, Any] = {}
    for name in long:
        part, item = plain[name], _item(model, name)
        read[name] = (
            {key: item.validate_python(value) for key, value in part.items()}
            if isinstance(part, dict)
            else list(map(item.validate_python, part))
        )
    return whole.model_copy(update=read)


def _is_many(model: type[BaseModel], name: str) -> bool:
    field = model.model_fields.get(name)
    return field is not None and get_origin(field.annotation) in (list, dict)


@cache
def _item(model: type[BaseModel], name: str) -> TypeAdapter[Any]:
    """The validator of one item of a list or mapping."""
    return TypeAdapter(get_args(model.model_fields[name].annotation)[-1])


def _field(name: str, hint: Any, description: str | None = None) -> dict[str, Any]:
    """A field by its name; a name reserved by pydantic (`schema`) gets another name in Python only."""
    if hasattr(Answer, name):
        return {f"{name}_": (_wire(hint), Field(..., alias=name, description=description))}
    return {name: (_wire(hint), Field(..., description=description))}


def _wire(hint: Any) -> Any:
    """The type of the output of `to_plain` for a type."""
    if hint is datetime:
        return Time
    if is_dataclass(hint) and isinstance(hint, type):
        return shape_of(hint)
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return Union[tuple(_wire(part) for part in args)]  # noqa: UP007 - built at run time
    if origin is tuple and len(args) == 2 and args[1] is ...:
        return list[_wire(args[0])]  # type: ignore[misc]
    if origin is tuple:
        return tuple[tuple(_wire(part) for part in args)]  # type: ignore[misc]
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, _wire(args[1])]  # type: ignore[misc]
    return hint


def _explained(record: type) -> dict[str, str]:
    """The descriptions of the fields, from the docstrings of a record and its bases."""
    found: dict[str, str] = {}
    for base in reversed(record.__mro__):
        _, mark, rest = (base.__doc__ or "").partition("Attributes:\n")
        if not mark:
            continue
        name: tuple[str, ...] = ()
        for line in rest.splitlines():
            if not line.strip():
                break
            head, colon, text = line.strip().partition(":")
            if colon and len(line) - len(line.lstrip()) == 8:
                name = tuple(part.strip() for part in head.split("/"))
                found.update(dict.fromkeys(name, text.strip()))
            else:
                found.update({key: f"{found[key]} {line.strip()}" for key in name})
    return found


def _first_line(record: type) -> str:
    return (record.__doc__ or record.__name__).strip().splitlines()[0]
