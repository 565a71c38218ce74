"""What of a conversation is sent to a model, and the form of the answer that is asked for."""

from __future__ import annotations

import pytest

from wellkept.core.transcripts.facts import passages, schema
from wellkept.core.transcripts.statements import all_statements
from wellkept.core.transcripts.turns import Turn


@pytest.mark.parametrize("text", ["", " \n", "!" * 5_000])
def test_a_turn_that_says_nothing_is_sent_to_nobody(text: str) -> None:
    assert list(passages([Turn(conversation="c", place="1", text=text)])) == []


def test_where_nobody_speaks_nothing_is_sent_and_nothing_is_stated() -> None:
    assert list(passages([])) == [] and list(all_statements([])) == []


def test_an_answer_is_a_list_of_facts_and_nothing_else() -> None:
    asked = schema()
    assert (asked["required"], asked["additionalProperties"]) == (["facts"], False)
    fact = asked["properties"]["facts"]["items"]
    assert set(fact["required"]) == set(fact["properties"]) == {"text", "lines"} and not fact["additionalProperties"]
