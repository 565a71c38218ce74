"""Texts from outside as JSON and TOML: a value or a typed error, and the same on every Python."""

import json

import pytest

from wellkept.errors import Corrupt, InvalidInput, InvalidPolicy
from wellkept.parsing import MAX_NESTING, parsed_json, parsed_toml


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ('{"a": [1, "[[["]}', {"a": [1, "[[["]}),
        (b'\xef\xbb\xbf"\xc3\xa4"', "ä"),
        (json.dumps("[" * 10_000), "[" * 10_000),
        (json.dumps([[]] * 10_000), [[]] * 10_000),
    ],
)
def test_what_is_json_is_read(text: str | bytes, value: object) -> None:
    assert parsed_json(text) == value


def test_nesting_up_to_the_bound_is_read() -> None:
    assert parsed_json(nested(MAX_NESTING)) == json.loads(nested(MAX_NESTING))
    assert parsed_toml(f"a = {nested(MAX_NESTING - 1)}")["a"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "NaN", "[-Infinity]", b"\xff\xfe", "1" * 5000, nested(MAX_NESTING + 1), "[" * 300_000, '{"":' * 300_000],
)
def test_what_is_not_json_is_a_typed_error(text: str | bytes) -> None:
    with pytest.raises(InvalidInput, match="not JSON") as told:
        parsed_json(text, where="line 3", todo="Mend the line")
    assert (told.value.where, told.value.todo) == ("line 3", "Mend the line")


@pytest.mark.parametrize(
    "text", ["a", "a = [", "a = " + "[" * 5000 + "]" * 5000, "a = " + "{a=" * 5000, "a." * 300 + "a=1"]
)
def test_what_is_not_toml_is_a_typed_error(text: str) -> None:
    with pytest.raises(InvalidPolicy, match="not TOML"):
        parsed_toml(text, error=InvalidPolicy)


def test_the_error_is_the_one_that_the_caller_names() -> None:
    with pytest.raises(Corrupt, match="not JSON"):
        parsed_json("[" * 300_000, error=Corrupt)
