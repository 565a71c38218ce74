"""Pickles are read as data: the same values as `pickle` gives, and nothing they ask for is done (issue 4, 8)."""

from __future__ import annotations

import os
import pickle
import struct
import uuid
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.adapters.pickles import Name, Thing, as_json, data_of
from wellkept.errors import Corrupt, InvalidInput, SchemaTooNew, WellkeptError

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text(), inner)
        | st.tuples(inner, inner, inner)
        | st.sets(st.integers(-(2**63), 2**63 - 1) | st.text())
    ),
    max_leaves=12,
)


LIKE_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner, inner),
    max_leaves=12,
)


@given(value=PLAIN, protocol=st.integers(4, 5))
def test_data_is_what_pickle_would_give(value: Any, protocol: int) -> None:
    assert data_of(pickle.dumps(value, protocol)) == value


@given(value=LIKE_JSON, protocol=st.integers(2, 3))
def test_older_protocols_are_read_too(value: Any, protocol: int) -> None:
    """They have no instructions for sets and bytes; what JSON can hold is all a payload has."""
    assert data_of(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("count", [1, 7, 8, 9, 1536])
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_vector_is_read_to_its_last_number(count: int, protocol: int) -> None:
    value = {"vector": [at / 7 for at in range(count)], "after": 1.5}
    assert data_of(pickle.dumps(value, protocol)) == value


def test_values_that_are_shared_stay_shared() -> None:
    inner = ["a"]
    found = data_of(pickle.dumps([inner, inner]))
    assert found[0] is found[1]


class Harmful:
    """Asks for a folder to be made when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_nothing_is_called(protocol: int, tmp_path: Path) -> None:
    target = tmp_path / "made"
    harmful = pickle.dumps({"text": "Tea", "x": Harmful(target)}, protocol)
    found = data_of(harmful)
    assert not target.exists()
    assert isinstance(found["x"], Thing)
    assert found["x"].args == (str(target),)
    assert as_json(found) == {"text": "Tea", "x": None}
    pickle.loads(harmful)
    assert target.exists()  # it would have been


def test_an_object_is_a_name_with_its_state() -> None:
    found = data_of(pickle.dumps(uuid.UUID(int=5)))
    assert found.cls == Name("uuid", "UUID")
    assert as_json({"id": found}) == {"id": "00000000-0000-0000-0000-000000000005"}


REFUSED: list[tuple[str, bytes, type[WellkeptError]]] = [
    ("nothing", b"", Corrupt),
    ("no end", b"\x80\x04K\x01", Corrupt),
    ("text cut off", b"\x80\x04\x8c\x10abc", Corrupt),
    ("an empty stack", b"\x80\x04.", Corrupt),
    ("a mark that is not there", b"\x80\x04e.", Corrupt),
    ("memo that is not there", b"\x80\x04h\x05.", Corrupt),
    ("an unhashable key", b"\x80\x04}]K\x01s.", InvalidInput),
    ("a tuple as a key", b"\x80\x04})K\x01s.", InvalidInput),
    ("a tuple in a set", b"\x80\x04\x8f()\x90.", InvalidInput),
    ("a tuple in a frozen set", b"\x80\x04()\x91.", InvalidInput),
    ("items set in a set, which would hash pairs", b"\x80\x04\x8fK\x01)s.", InvalidInput),
    ("a list extended by a set's instruction", b"\x80\x04](K\x01\x90.", InvalidInput),
    ("a text appended to", b"\x80\x04\x8c\x01aK\x01a.", InvalidInput),
    ("a tuple of more than there is", b"\x80\x04K\x01\x87.", Corrupt),
    ("a key of many bytes", b"\x80\x04}\x8a\x09" + b"\x01" * 9 + b"Ns.", InvalidInput),
    ("a newer protocol", b"\x80\x06N.", SchemaTooNew),
    ("protocol 0", pickle.dumps(["a", 1], 0), InvalidInput),
    ("an extension code", b"\x80\x04\x82\x01.", InvalidInput),
    ("a persistent id", b"\x80\x04K\x01Q.", InvalidInput),
    ("a call of what is no class", b"\x80\x04K\x01)R.", InvalidInput),
    ("a huge length", b"\x80\x04\x8d" + struct.pack("<Q", 2**62) + b"a.", Corrupt),
    ("an ordered dict", pickle.dumps(OrderedDict(a=1)), InvalidInput),
]


@pytest.mark.parametrize(("data", "error"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_is_no_data_is_refused(data: bytes, error: type[WellkeptError]) -> None:
    with pytest.raises(error):
        data_of(data)


@given(data=st.binary(max_size=60))
def test_any_bytes_end_in_a_value_or_a_typed_error(data: bytes) -> None:
    try:
        data_of(b"\x80\x04" + data)
    except WellkeptError:
        return


def test_a_huge_memo_number_takes_no_memory() -> None:
    """The C unpickler makes room for every number below it."""
    assert data_of(b"\x80\x04K\x01r" + struct.pack("<I", 2**31 - 1) + b".") == 1


def test_data_that_holds_itself_or_grows_without_end_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InvalidInput, match="refers to itself"):
        as_json(data_of(pickle.dumps(loop)))
    bomb: Any = ["x" * 1000] * 100
    for _ in range(6):
        bomb = [bomb] * 100
    with pytest.raises(InvalidInput, match="too large"):
        as_json(data_of(pickle.dumps(bomb)))
