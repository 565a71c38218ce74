"""The document's rules for texts equal those of the library, in every script (I10).

Issue 6: the OpenAPI document is true of the server.
"""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from wellkept.core.text.forms import check_text, is_line
from wellkept.engine.base.inputs import label, moment
from wellkept.errors import ContentTooLarge, EmptyContent, InvalidField, InvalidInput, InvalidText, WellkeptError
from wellkept.server.rest.conforming import check_fields, check_text_value
from wellkept.server.rest.narrowing import LINE, MOMENT, TEXT, VISIBLE

STRANGE = "\x00\t\n\x1f \x7f\x85\xa0\xad\u061c\u1680\u200b\u200d\u2028\u202e\u2066\u3000\ufe0f\ufeff\ufffe\U0001ffff"
texts = st.text(st.sampled_from(STRANGE + "aé张ش\u0300") | st.characters(exclude_categories=["Cs"]), max_size=6)


def takes(check: Any) -> bool:
    try:
        return check() is not False
    except WellkeptError:
        return False


@examples(100, 400, deadline=None)
@given(texts)
def test_a_text_is_kept_by_the_library_where_the_document_allows_it(text: str) -> None:
    assert takes(lambda: check_text_value("x", text, VISIBLE)) == takes(lambda: check_text(text, limit=100))
    # A label of nothing but blanks is none; which control characters count as blanks is no promise.
    if text.strip() or not text.strip(" \t\n\r\xa0\u1680\u2028\u3000"):
        assert takes(lambda: check_text_value("x", text, TEXT)) == takes(lambda: label("x", text))


@examples(100, 400, deadline=None)
@given(texts)
def test_a_relation_is_a_line_where_the_document_allows_it(text: str) -> None:
    assert takes(lambda: check_text_value("rel", text, LINE)) == takes(lambda: is_line(text))


@examples(100, 400, deadline=None)
@given(st.from_regex(re.compile(MOMENT["pattern"], re.ASCII), fullmatch=True))
def test_a_time_of_the_documents_form_is_a_time(text: str) -> None:
    assert moment("at", text.rstrip("\n")) is not None


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("2026-03-04", True),
        ("2026-03-04T09:30", True),
        ("2026-03-04 09:30:00.123456+05:30", True),
        ("2024-02-29", True),
        ("2000-02-29T00:00:00Z", True),
        ("2023-02-29", False),
        ("1900-02-29", False),
        ("2026-02-30", False),
        ("2026-04-31", False),
        ("2026-13-01", False),
        ("0001-01-01T00:00:00+01:00", False),
        ("9999-12-31T23:59:59-01:00", False),
        ("2026-03-04T24:00", False),
        ("2026-03-04T09:30:60Z", False),
        ("", False),
        ("yesterday", False),
        ("2026-03-04\n", False),
    ],
)
def test_which_times_are_allowed(text: str, *, allowed: bool) -> None:
    assert takes(lambda: check_text_value("at", text, MOMENT)) == allowed


SCHEMA: dict[str, Any] = {
    "properties": {
        "title": {"type": "string", "maxLength": 5, **TEXT},
        "tags": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 3}},
        "count": {"anyOf": [{"type": "integer", "maximum": 9}, {"type": "null"}]},
        "where": {"anyOf": [{"$ref": "#/components/schemas/Asked.Where"}, {"type": "null"}]},
        "plan": {"type": "object", "required": ["format"], "properties": {"format": {"const": "p"}}},
    },
    "$defs": {"Where": {"type": "object", "properties": {"after": {"prefixItems": [{"type": "string", **MOMENT}]}}}},
}


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"title": "tea", "tags": ["a", "b"], "count": 9, "where": None, "plan": {"format": "p"}}, None),
        ({"title": "x" * 6}, ContentTooLarge),
        ({"title": "a\x00"}, InvalidText),
        ({"title": "\u200b"}, EmptyContent),
        ({"tags": ["a", "b", "c"]}, InvalidField),
        ({"tags": ["a", "long"]}, ContentTooLarge),
        ({"tags": ["a", 7]}, InvalidField),
        ({"count": 10}, InvalidField),
        ({"count": None}, None),
        ({"where": {"after": ["yesterday", "x"]}}, InvalidField),
        ({"where": {"after": ["2026-03-04", "x"]}}, None),
        ({"plan": {}}, InvalidField),
        ({"plan": {"format": "q"}}, InvalidField),
        ({"unknown": object()}, None),
    ],
)
def test_a_field_is_held_to_its_schema(fields: dict[str, Any], refused: type[InvalidInput] | None) -> None:
    if refused is None:
        check_fields(fields, SCHEMA)
    else:
        with pytest.raises(refused) as told:
            check_fields(fields, SCHEMA)
        assert "yesterday" not in str(told.value)


@pytest.mark.parametrize("schema", [VISIBLE, TEXT, LINE])
@pytest.mark.parametrize("text", [" " * 1_000_000, "a" * 1_000_000 + "\x00", "\u200b" * 1_000_000, " \u200b" * 500_000])
def test_no_text_takes_long_to_look_at(schema: Any, text: str) -> None:
    """A pattern that tries again from every place would take hours here."""
    began = time.process_time()
    takes(lambda: check_text_value("x", text, schema))
    assert time.process_time() - began < 2
