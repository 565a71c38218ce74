"""Decodes pickled data without unpickling: opcodes become plain values, and nothing is called.

Qdrant's local mode stores points as pickles, and `pickle.loads` would execute code from an untrusted file. This decoder
supports the opcodes for data only. A class is represented by its name, an object by that name and its state. Protocols
2 to 5 are supported; other opcodes are refused.

The work is limited too: bytes, instructions, and hashed dictionary keys and set items. Keys must be text, bytes, small
integers or None, because hashing a nested tuple can take exponential time.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wellkept.errors import Corrupt, InvalidInput, SchemaTooNew
from wellkept.frozen import frozen

_FLOATS = re.compile(rb"(?:G.{8}){8,}", re.DOTALL)
_FLOAT = np.dtype([("code", "u1"), ("value", ">f8")])
_MOST_BYTES = 8 << 20
_MOST_INSTRUCTIONS = 300_000
_MOST_HASHED = 20_000
_MOST_VALUES = 200_000
_DEEPEST = 40
_TOO_LARGE = "a pickled value is too large or refers to itself"


@frozen
class Name:
    """The name of a class or function."""

    module: str
    name: str


@dataclass(slots=True, eq=False)
class Thing:
    """An object in the data: class name, arguments and state.

    Attributes:
        cls: The class.
        args: Arguments of its construction.
        state: State to set afterwards.
    """

    cls: Name
    args: tuple[Any, ...]
    state: Any = None


@dataclass(slots=True)
class _Machine:
    """The stack machine of the pickle format."""

    data: bytes
    at: int = 0
    stack: list[Any] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)
    hashed: int = 0

    def hashable(self, items: list[Any]) -> list[Any]:
        """Check that the items may be dictionary keys or set items.

        Raises:
            InvalidInput: A type is not permitted, or there are too many items in total.
        """
        self.hashed += len(items)
        if self.hashed > _MOST_HASHED:
            raise InvalidInput(_TOO_LARGE)
        for item in items:
            if not isinstance(item, str | bytes | None) and not (isinstance(item, int) and item.bit_length() <= 64):
                raise InvalidInput(f"unsupported type {type(item).__name__} as dictionary key or set item in a pickle")
        return items

    def take(self, count: int) -> bytes:
        part = self.data[self.at : self.at + count]
        if len(part) < count:
            raise Corrupt("a pickled value is truncated", todo="Restore the store from a backup")
        self.at += count
        return part

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def counted(self, form: str) -> bytes:
        return self.take(self.number(form))

    def line(self) -> str:
        end = self.data.find(b"\n", self.at)
        if end < 0:
            raise Corrupt("a pickled value is truncated", todo="Restore the store from a backup")
        return self.take(end + 1 - self.at)[:-1].decode("utf-8", "surrogateescape")

    def since_mark(self) -> list[Any]:
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def pop(self) -> Any:
        return self.stack.pop()

    def floats(self) -> bool:
        """Decode a run of floats, as in a vector, in one step; one by one would dominate the run time."""
        found = _FLOATS.match(self.data, self.at - 1)
        if found is None:
            return False
        self.stack += np.frombuffer(found.group(), dtype=_FLOAT)["value"].tolist()
        self.at = found.end()
        return True


def _text(data: bytes) -> str:
    # As in pickle, so that a lone surrogate is kept and refused with its row.
    return data.decode("utf-8", "surrogatepass")


def _float(m: _Machine) -> None:
    if not m.floats():
        m.stack.append(m.number(">d"))


def _tuple_of(count: int) -> Callable[[_Machine], None]:
    def make(m: _Machine) -> None:
        items = [m.pop() for _ in range(count)]
        m.stack.append(tuple(reversed(items)))

    return make


def _append(m: _Machine, items: list[Any]) -> None:
    target = m.stack[-1]
    if not isinstance(target, list):
        raise InvalidInput("a pickle appends to something that is not a list")
    target.extend(items)


def _add(m: _Machine, items: list[Any]) -> None:
    target = m.stack[-1]
    if not isinstance(target, set):
        raise InvalidInput("a pickle adds to something that is not a set")
    target.update(m.hashable(items))


def _set_items(m: _Machine, items: list[Any]) -> None:
    target = m.stack[-1]
    if not isinstance(target, dict):
        raise InvalidInput("a pickle sets items of something that is not a dictionary")
    target.update(zip(m.hashable(items[::2]), items[1::2], strict=True))


def _made(m: _Machine) -> None:
    args, cls = m.pop(), m.pop()
    if not isinstance(cls, Name) or not isinstance(args, tuple):
        raise InvalidInput("a pickled object is constructed in an unsupported way")
    m.stack.append(Thing(cls, args))


def _made_with_names(m: _Machine) -> None:
    m.pop()  # keyword arguments; no data class of the points uses them
    _made(m)


def _build(m: _Machine) -> None:
    state = m.pop()
    thing = m.stack[-1]
    if not isinstance(thing, Thing):
        raise InvalidInput("a pickled value is built in an unsupported way")
    thing.state = state


def _named(m: _Machine) -> None:
    name, module = m.pop(), m.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        raise InvalidInput("a pickled class has no name")
    m.stack.append(Name(module, name))


def _drop(value: object) -> None:
    """Discard a value."""


def _keep(m: _Machine, number: int) -> None:
    m.memo[number] = m.stack[-1]


_OPCODES: Mapping[int, Callable[[_Machine], None]] = {
    0x80: lambda m: _protocol(m.take(1)[0]),
    0x95: lambda m: _drop(m.take(8)),  # a frame is only a hint for buffering
    ord("N"): lambda m: m.stack.append(None),
    0x88: lambda m: m.stack.append(True),
    0x89: lambda m: m.stack.append(False),
    ord("K"): lambda m: m.stack.append(m.number("<B")),
    ord("M"): lambda m: m.stack.append(m.number("<H")),
    ord("J"): lambda m: m.stack.append(m.number("<i")),
    0x8A: lambda m: m.stack.append(int.from_bytes(m.counted("<B"), "little", signed=True)),
    ord("G"): _float,
    ord("U"): lambda m: m.stack.append(m.counted("<B").decode("latin-1")),
    ord("T"): lambda m: m.stack.append(m.counted("<I").decode("latin-1")),
    ord("C"): lambda m: m.stack.append(m.counted("<B")),
    ord("B"): lambda m: m.stack.append(m.counted("<I")),
    0x8E: lambda m: m.stack.append(m.counted("<Q")),
    0x8C: lambda m: m.stack.append(_text(m.counted("<B"))),
    ord("X"): lambda m: m.stack.append(_text(m.counted("<I"))),
    0x8D: lambda m: m.stack.append(_text(m.counted("<Q"))),
    ord(")"): lambda m: m.stack.append(()),
    ord("]"): lambda m: m.stack.append([]),
    ord("}"): lambda m: m.stack.append({}),
    0x8F: lambda m: m.stack.append(set()),
    0x85: _tuple_of(1),
    0x86: _tuple_of(2),
    0x87: _tuple_of(3),
    ord("t"): lambda m: m.stack.append(tuple(m.since_mark())),
    0x91: lambda m: m.stack.append(frozenset(m.hashable(m.since_mark()))),
    ord("("): lambda m: m.marks.append(len(m.stack)),
    ord("0"): lambda m: _drop(m.pop()),
    ord("1"): lambda m: _drop(m.since_mark()),
    ord("2"): lambda m: m.stack.append(m.stack[-1]),
    ord("a"): lambda m: _append(m, [m.pop()]),
    ord("e"): lambda m: _append(m, m.since_mark()),
    0x90: lambda m: _add(m, m.since_mark()),
    ord("s"): lambda m: _set_items(m, [m.stack.pop(-2), m.pop()]),
    ord("u"): lambda m: _set_items(m, m.since_mark()),
    ord("q"): lambda m: _keep(m, m.number("<B")),
    ord("r"): lambda m: _keep(m, m.number("<I")),
    0x94: lambda m: _keep(m, len(m.memo)),
    ord("h"): lambda m: m.stack.append(m.memo[m.number("<B")]),
    ord("j"): lambda m: m.stack.append(m.memo[m.number("<I")]),
    ord("c"): lambda m: m.stack.append(Name(m.line(), m.line())),
    0x93: _named,
    0x81: _made,
    ord("R"): _made,
    0x92: _made_with_names,
    ord("b"): _build,
}
_STOP = ord(".")
_NEWEST = 5


def _protocol(number: int) -> None:
    if number > _NEWEST:
        raise SchemaTooNew(f"a pickle of protocol {number} is not read", todo="Update Wellkept")


def data_of(pickled: bytes) -> Any:
    """Decode a pickle to plain data, with `Thing` in place of objects.

    Raises:
        InvalidInput: It does more than hold data, or is too large.
        Corrupt: It is truncated or damaged.
        SchemaTooNew: Its protocol is newer than supported.

    Example:
        >>> import pickle
        >>> data_of(pickle.dumps({"text": "Tea is upstairs.", "tags": ["tea"]}))
        {'text': 'Tea is upstairs.', 'tags': ['tea']}
    """
    if len(pickled) > _MOST_BYTES:
        raise InvalidInput(_TOO_LARGE)
    machine = _Machine(pickled)
    left = _MOST_INSTRUCTIONS
    try:
        while (code := machine.take(1)[0]) != _STOP:
            left -= 1
            if left < 0:
                raise InvalidInput(_TOO_LARGE)
            step = _OPCODES.get(code)
            if step is None:
                raise InvalidInput(f"unsupported instruction {code:#04x} in a pickle")
            step(machine)
        return machine.pop()
    except (IndexError, KeyError, ValueError, AttributeError, TypeError, struct.error) as error:
        if isinstance(error, InvalidInput):
            raise
        raise Corrupt(f"a pickled value is damaged: {type(error).__name__}", todo="Restore the store") from error


def as_json(value: Any, left: list[int] | None = None, depth: int = 0) -> Any:
    """Plain data as JSON; an object becomes text if it is an id, else None.

    Raises:
        InvalidInput: It is too large, as in self-referencing data.
    """
    left = [_MOST_VALUES] if left is None else left
    if depth > _DEEPEST:
        raise InvalidInput(_TOO_LARGE)
    _charge(left, value)
    match value:
        case None | bool() | int() | float() | str():
            return value
        case dict():
            texts = {key: item for key, item in value.items() if isinstance(key, str)}
            for key in texts:
                _charge(left, key)
            return {key: as_json(item, left, depth + 1) for key, item in texts.items()}
        case list() | tuple():
            return [as_json(item, left, depth + 1) for item in value]
        case set() | frozenset():
            for item in value:
                _charge(left, item)
            return sorted(str(item) for item in value if isinstance(item, str | int))
        case Thing(cls=Name("uuid", "UUID"), state=dict() as state) if isinstance(state.get("int"), int):
            return uuid_text(state["int"])
        case _:
            return None


def _charge(left: list[int], value: object) -> None:
    """Subtract the size of a value from the budget; shared values count at each place."""
    size = len(value) // 64 if isinstance(value, str) else value.bit_length() // 256 if isinstance(value, int) else 0
    left[0] -= 1 + size
    if left[0] < 0:
        raise InvalidInput(_TOO_LARGE)


def uuid_text(number: int) -> str:
    """The text form of a UUID."""
    digits = f"{number:032x}"[-32:]
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
