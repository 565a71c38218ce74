"""`wellkept.frozen` makes what `dataclass(frozen=True, slots=True)` makes."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest

from wellkept.frozen import frozen


@dataclass(frozen=True, slots=True)
class Usual:
    """A frozen dataclass of the standard library."""

    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list)
    d: float = field(default=0.5, kw_only=True)
    secret: str = field(default="", repr=False, compare=False)
    twice: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", 2 * self.a)


@frozen
class Ours:
    """The same fields."""

    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list)
    d: float = field(default=0.5, kw_only=True)
    secret: str = field(default="", repr=False, compare=False)
    twice: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", 2 * self.a)


@frozen(kw_only=True)
class Base:
    """To inherit from."""

    one: int
    two: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return "a base"


@frozen
class Derived(Base):
    """One more field, given by place."""

    three: int = 3


@frozen
class Empty:
    """No field."""


CALLS: dict[str, Callable[[Any], Any]] = {
    "signature": lambda kind: [str(item) for item in inspect.signature(kind).parameters.values()],
    "all by place": lambda kind: asdict(kind(1, "x", [2])),
    "defaults": lambda kind: asdict(kind(1)),
    "a default of each object's own": lambda kind: kind(1).c is kind(1).c,
    "by name": lambda kind: asdict(kind(a=1, d=2.5)),
    "representation": lambda kind: repr(kind(1, secret="hidden")).partition("(")[2],
    "equal": lambda kind: (kind(1) == kind(1), kind(1) == kind(2), kind(1) != kind(2)),
    "equal but for what is not compared": lambda kind: kind(1, secret="x") == kind(1, secret="y"),
    "equal to something else": lambda kind: kind(1) == (1, "b", [], 0.5, 2),
    "a copy": lambda kind: copy.deepcopy(kind(1, c=[3])) == kind(1, c=[3]),
    "pickled": lambda kind: asdict(pickle.loads(pickle.dumps(kind(1, secret="x")))),
    "replaced": lambda kind: asdict(replace(kind(1), a=4)),
    "names": lambda kind: ([item.name for item in fields(kind)], kind.__match_args__, is_dataclass(kind)),
    "slots": lambda kind: (kind.__slots__, hasattr(kind(1), "__dict__")),
    "what is set": lambda kind: setattr(kind(1), "a", 2),
    "what is deleted": lambda kind: delattr(kind(1), "a"),
    "nothing": lambda kind: kind(),
    "too much by place": lambda kind: kind(1, "x", [], 2.0, "", 5),
    "a wrong name": lambda kind: kind(1, z=3),
    "a hash of lists": lambda kind: hash(kind(1)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_frozen_class_answers_as_one_of_the_standard_library(call: Callable[[Any], Any]) -> None:
    def told(kind: Any) -> Any:
        try:
            return call(kind)
        except (TypeError, AttributeError) as error:
            return type(error), str(error).replace("Ours", "Usual")

    assert told(Ours) == told(Usual)


def test_a_derived_class_has_the_fields_of_both_and_its_own_methods() -> None:
    made = Derived(7, one=1)
    assert (made.one, made.two, made.three) == (1, (), 7)
    assert repr(made) == "Derived(one=1, two=(), three=7)"
    assert repr(Base(one=1)) == "a base"
    assert made != Base(one=1)
    assert len({Base(one=1), Base(one=1), Base(one=2)}) == 2


def test_a_class_without_fields_has_equal_objects() -> None:
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())
    assert repr(Empty()) == "Empty()"


@frozen
class Plain:
    """A class with methods of its own."""

    a: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and abs(self.a) == abs(other.a)

    def __call__(self, word: str) -> str:
        return word * self.a


class Heir(Plain):
    """Of the usual kind."""

    def __init__(self, a: int, more: int) -> None:
        super().__init__(a + more)


def test_methods_of_the_class_stay_and_what_it_compares_has_a_hash() -> None:
    assert Plain(2) == Plain(-2)
    assert hash(Plain(2)) == hash(UsualOfOne(2))
    assert [str(inspect.signature(one)) for one in (Plain, Heir, Plain(1))] == [
        "(a: 'int')",
        "(a: 'int', more: 'int') -> 'None'",
        "(word: 'str') -> 'str'",
    ]
    assert Heir(1, 2).a == 3


@dataclass(frozen=True, slots=True)
class UsualOfOne:
    """One field."""

    a: int


def test_a_class_with_an_init_of_its_own_keeps_it() -> None:
    @frozen
    class Doubled:
        """Its `__init__` takes half."""

        a: int

        def __init__(self, half: int) -> None:
            object.__setattr__(self, "a", 2 * half)

    assert Doubled(2).a == 4
    assert str(inspect.signature(Doubled)) == "(half: 'int') -> 'None'"


def test_a_single_field_is_compared_as_in_a_tuple() -> None:
    @frozen
    class One:
        """One field."""

        a: object

    class Many:
        def __eq__(self, _other: object) -> Any:
            return [False, True]

    many = Many()
    assert (One(many) == One(many)) is True
    assert One(float("nan")) != One(float("nan"))


def test_a_frozen_dataclass_of_the_standard_library_may_derive_from_one() -> None:
    @dataclass(frozen=True)
    class More(Base):
        """The standard library's."""

        four: int = 4

    assert (More(one=1).four, More(one=1).one) == (4, 1)
    with pytest.raises(TypeError, match="non-frozen"):

        @dataclass
        class Changing(Base):  # type: ignore[misc]
            """It cannot change."""


def test_what_cannot_be_made_is_refused_with_the_class() -> None:
    with pytest.raises(TypeError, match="'b' follows default argument 'a'"):

        @frozen
        class Wrong:
            """The order of the fields is wrong."""

            a: int = 1
            b: int  # type: ignore[misc]

    with pytest.raises(TypeError, match="'a' of .*Never has a default"):

        @frozen
        class Never:
            """The default would never be set."""

            a: int = field(default=1, init=False)


def test_a_signature_is_there_before_the_first_object() -> None:
    @frozen
    class New:
        """Nothing was made of it."""

        a: int
        b: str = ""

    assert str(inspect.signature(New)) == "(a: 'int', b: 'str' = '')"


def test_match_takes_fields_by_place() -> None:
    match Ours(1, "x"):
        case Ours(a, "x"):
            assert a == 1
        case _:
            pytest.fail("no match")


def test_an_object_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        Ours(1).a = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="'z'"):
        Ours(1).z = 2  # type: ignore[attr-defined]
