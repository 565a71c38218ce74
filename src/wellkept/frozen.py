"""Frozen dataclasses that cost little to import.

The standard library compiles six methods of each frozen dataclass when its module is imported, which takes more than a
millisecond. A process that runs one command imports a hundred and makes objects of a few. Here all classes share the
methods that compare, hash, print and copy, and `__init__` is compiled when the first object is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields, is_dataclass
from inspect import Signature, signature
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform, overload

_T = TypeVar("_T")


@overload
def frozen(cls: type[_T], /) -> type[_T]: ...
@overload
def frozen(*, kw_only: bool = False, eq: bool = True) -> Callable[[type[_T]], type[_T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(
    cls: type[_T] | None = None, /, *, kw_only: bool = False, eq: bool = True
) -> type[_T] | Callable[[type[_T]], type[_T]]:
    """Make a class a frozen dataclass with slots, like `dataclass(frozen=True, slots=True)`.

    `fields`, `replace`, `asdict`, `copy`, `pickle` and `match` work as with any other, and methods of the class stay. A
    field with `init=False` has no default: `__post_init__` sets it. `InitVar` is not supported.

    Args:
        kw_only: All fields are given by name.
        eq: Objects with equal fields are equal, and print their fields; otherwise each is equal to itself alone.

    Raises:
        TypeError: A field without a default follows one with a default, or one with `init=False` has a default.

    Example:
        >>> from dataclasses import replace
        >>> from wellkept.frozen import frozen
        >>> @frozen
        ... class Place:
        ...     "A place on a map."
        ...     east: int
        ...     north: int = 0
        >>> replace(Place(1), north=2)
        Place(east=1, north=2)
    """

    def made(given: type[_T]) -> type[_T]:
        return _frozen(given, _SHARED if eq else _UNCOMPARED, kw_only=kw_only)

    return made if cls is None else made(cls)


def _frozen(given: type[Any], methods: Mapping[str, Any], *, kw_only: bool) -> type[Any]:
    own = {name for name, value in vars(given).items() if (name, value) != ("__hash__", None)}
    # A derived class has to say that it is frozen; to say so costs two more methods.
    derived = any(map(is_dataclass, given.__bases__))
    cls: Any = dataclass(init=False, repr=False, eq=False, frozen=derived, slots=True, kw_only=kw_only)(given)
    cls.__dataclass_params__.frozen = True
    _check(cls)
    names = [item.name for item in fields(cls) if item.compare]
    cls._compared = staticmethod(attrgetter(*names) if len(names) > 1 else _few(names))
    for name in methods.keys() - own:
        setattr(cls, name, methods[name])
    if "__init__" not in own:
        cls.__init__, cls.__signature__ = _compiling(cls), _Signature()
    made: type[Any] = cls
    return made


def _check(cls: type[Any]) -> None:
    """Refuse what `__init__` could not do."""
    optional = ""
    for item in fields(cls):
        has_default = item.default is not MISSING or item.default_factory is not MISSING
        if has_default and not item.init:
            raise TypeError(f"field {item.name!r} of {cls.__qualname__} has a default and is not given")
        if item.init and not item.kw_only:
            if optional and not has_default:
                raise TypeError(f"non-default argument {item.name!r} follows default argument {optional!r}")
            optional = item.name if has_default else ""


def _few(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Like `attrgetter`, which gives no tuple for one name."""
    return lambda made: tuple(getattr(made, name) for name in names)


def _compiling(cls: Any) -> Callable[..., None]:
    """The `__init__` until the first object is made."""

    def first(made: Any, /, *args: Any, **more: Any) -> None:
        cls.__init__ = _init_of(cls)
        cls.__init__(made, *args, **more)

    return first


def _init_of(cls: Any) -> Any:
    """The `__init__` of a dataclass, which sets its slots."""
    known: dict[str, Any] = {"_missing": _MISSING}
    by_place: list[str] = []
    by_name: list[str] = []
    body: list[str] = []
    for item in fields(cls):
        name, value, default = item.name, item.name, ""
        if item.default_factory is not MISSING:
            known[f"_new_{name}"], default = item.default_factory, "=_missing"
            value = f"{name} if {name} is not _missing else _new_{name}()"
        elif item.default is not MISSING:
            known[f"_default_{name}"], default = item.default, f"=_default_{name}"
        if item.init:
            (by_name if item.kw_only else by_place).append(name + default)
            known[f"_set_{name}"] = getattr(cls, name).__set__
            body.append(f"_set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(["self", *by_place, *(["*", *by_name] if by_name else [])])
    exec(f"def __init__({parameters}):\n    " + "\n    ".join(body or ["pass"]), known)
    init = known["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    init.__annotations__ = {item.name: item.type for item in fields(cls) if item.init}
    return init


class _Missing:
    """Stands for a value that is made for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_MISSING = _Missing()


# The methods of all classes.


def _equal(one: Any, other: Any) -> Any:
    return one._compared(one) == one._compared(other) if other.__class__ is one.__class__ else NotImplemented


def _hashed(made: Any) -> int:
    return hash(made._compared(made))


@recursive_repr()
def _printed(made: Any) -> str:
    values = ", ".join(f"{item.name}={getattr(made, item.name)!r}" for item in fields(made) if item.repr)
    return f"{made.__class__.__qualname__}({values})"


def _refuse_to_set(_made: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_made: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(made: Any) -> list[Any]:
    return [getattr(made, item.name) for item in fields(made)]


def _restore(made: Any, state: list[Any]) -> None:
    for item, value in zip(fields(made), state, strict=True):
        object.__setattr__(made, item.name, value)


class _Signature:
    """The signature of a class, which is not known before `__init__` is compiled."""

    def __get__(self, made: object, cls: type[Any]) -> Signature:
        owner = next(one for one in cls.__mro__ if "__init__" in vars(one))
        if made is not None or vars(owner).get("__signature__") is not self:
            raise AttributeError("__signature__")  # an object, or a class with an `__init__` of its own
        whole = signature(_init_of(owner))
        return whole.replace(parameters=list(whole.parameters.values())[1:])


_UNCOMPARED: dict[str, Any] = {
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _state,
    "__setstate__": _restore,
}
_SHARED = _UNCOMPARED | {"__eq__": _equal, "__hash__": _hashed, "__repr__": _printed}
