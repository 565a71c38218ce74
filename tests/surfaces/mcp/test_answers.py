"""Answers fit into a context window: truncated and kept parts, with a notice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from examples import examples
from surfaces.mcp.servers import talk
from wellkept.server.mcp.answers import MAX_BYTES, SHORTENED, bare, size, sized


def hit(number: int, text: str) -> dict[str, Any]:
    return {"memory": {"id": f"01a2027f-bd9e-766b-b666-{number:012d}", "content": text, "tags": []}, "score": 0.5}


def test_an_answer_that_fits_is_not_touched() -> None:
    answer = {"hits": [hit(number, "short") for number in range(20)]}
    assert sized(answer) == answer


def test_texts_are_cut_before_hits_are_left_out_and_ids_stay_whole() -> None:
    answer = {"hits": [hit(number, "a long text " * 400) for number in range(10)]}
    cut = sized(answer)
    assert size(cut) <= MAX_BYTES
    assert [item["memory"]["id"] for item in cut["hits"]] == [item["memory"]["id"] for item in answer["hits"]]
    assert all("more characters" in item["memory"]["content"] for item in cut["hits"])
    assert "memory://" in cut[SHORTENED]


def test_the_best_hits_stay_and_the_note_counts_the_rest() -> None:
    answer = {"hits": [hit(number, "words " * 30) for number in range(1000)]}
    cut = sized(answer)
    shown = len(cut["hits"])
    assert 20 < shown < 1000 and size(cut) <= MAX_BYTES
    assert cut["hits"][0]["memory"]["id"] == answer["hits"][0]["memory"]["id"]
    assert f"hits: the first {shown} of 1000" in cut[SHORTENED]


@pytest.mark.parametrize("letter", ["a", "ü", "部", "😀"])
def test_one_huge_text_of_any_script_is_cut_between_characters(letter: str) -> None:
    # I10
    cut = sized({"id": "m1", "content": letter * 100_000})
    assert cut["id"] == "m1" and size(cut) <= MAX_BYTES
    kept, _, rest = cut["content"].partition("…")
    assert kept and set(kept) == {letter}
    assert rest == f" [{100_000 - len(kept)} more characters]"


def test_an_open_mapping_with_very_many_keys_ends_early() -> None:
    cut = sized({"id": "m1", "metadata": {f"key {number}": number for number in range(5_000)}})
    assert size(cut) <= MAX_BYTES and cut["id"] == "m1"
    assert "metadata: the first" in cut[SHORTENED]


def test_what_says_nothing_is_left_out_of_the_text_but_zero_and_no_are_said() -> None:
    assert bare({"a": "", "b": [], "c": None, "d": 0, "e": False, "f": {"g": {}}}) == {"d": 0, "e": False}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=12), inner, max_size=30),
    max_leaves=120,
)


@examples(20, 60, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # shrinking these takes minutes
@given(st.dictionaries(st.sampled_from(["hits", "content", "left_out", "nodes"]), VALUES, min_size=1))
def test_any_answer_keeps_its_keys_and_its_kinds_of_values(answer: dict[str, Any]) -> None:
    cut = sized(answer, most=1_500)
    assert set(cut) - {SHORTENED} == set(answer)
    assert all(type(cut[key]) is type(answer[key]) for key in answer)
    json.dumps(cut)
    if size(answer) <= 1_500:
        assert cut == answer
    else:
        assert size(cut) <= size(answer) + 800 and SHORTENED in cut


def test_a_cut_answer_still_has_the_shape_the_tool_promises() -> None:
    import jsonschema

    import wellkept
    from wellkept.server.mcp.server import create_server

    with wellkept.open("memory:", embedder="hashing", relation_model="none") as store:
        store.remember_many(
            [f"Note {number}: " + "many words here " * 60 for number in range(60)], on_conflict="ignore"
        )
        server = create_server(store, toolset="full")

        async def talking(client: Any) -> Any:
            listed = await client.list_tools()
            answers = {
                "recall": await client.call_tool("recall", {"query": "note", "limit": 60}),
                "list": await client.call_tool("list", {}),
                "subgraph": await client.call_tool("subgraph", {"ids": [memory.id for memory in store.list()]}),
            }
            return {tool.name: tool.output_schema for tool in listed.tools}, answers

        schemas, answers = talk(server, "auto", talking)
    for name, answer in answers.items():
        assert not answer.is_error, answer
        jsonschema.validate(answer.structured_content, schemas[name])
        assert SHORTENED in answer.structured_content, name
        assert size(answer.structured_content) <= MAX_BYTES, name
        assert len(answer.content[0].text.encode()) <= MAX_BYTES
