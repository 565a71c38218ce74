"""Retrieval sets are known by their fields, and what their questions name wrongly is repaired and counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from wellkept.errors import InvalidInput
from wellkept.evaluation.retrieval_reading import Collection, Unit, read_collection, repaired_ids

DATE = "9:05 am on 3 March, 2024"
TURNS: list[dict[str, Any]] = [
    {"conv": "c1", "session": 1, "date": DATE, "dia_id": "D1:1", "speaker": "Ana", "text": "I moved.", "caption": None},
    {"conv": "c1", "session": 1, "date": DATE, "dia_id": "D1:2", "speaker": "Ben", "text": "Look!", "caption": "a cat"},
    {"conv": "c2", "session": 1, "date": DATE, "dia_id": "D1:1", "speaker": "Kim", "text": "Hello.", "caption": None},
]
OBSERVATIONS = [{"conv": "c1", "session": 1, "speaker": "Ana", "text": "Ana has moved.", "dia_ids": ["D1:1", "D1:2"]}]
ASKED = {"id": "q", "conv": "c1", "question": "Who moved?", "category": 2, "evidence": ["D1:1"]}
MESSAGES = [
    {"conv": "b", "id": 0, "role": "user", "session": 1, "text": "The quota is 900."},
    {"conv": "b", "id": 1, "role": "assistant", "session": 1, "text": "Noted."},
]
BEAM_ASKED = {"id": "q", "conv": "b", "question": "Which quota?", "type": "knowledge_update", "evidence": [0]}


def lines(rows: Sequence[Any]) -> list[bytes]:
    return [json.dumps(row).encode() for row in rows]


def read(*files: Sequence[Any], unit: Unit | None = None, dates: bool = True, limit: int | None = None) -> Collection:
    named = [(f"{number}.jsonl", lines(rows)) for number, rows in enumerate(files, 1)]
    return read_collection("set", named, unit=unit, dates=dates, limit=limit)


def texts(collection: Collection, conversation: str) -> list[str]:
    return [document.text for document in collection.documents[conversation]]


def test_turns_carry_date_speaker_and_caption_and_conversations_stay_apart() -> None:
    found = read([ASKED], TURNS)
    assert (found.format, found.unit) == ("locomo", "turns")
    assert texts(found, "c1") == [f"({DATE}) Ana: I moved.", f"({DATE}) Ben: Look! [a cat]"]
    assert texts(found, "c2") == [f"({DATE}) Kim: Hello."]
    assert found.documents["c1"][0].at == datetime(2024, 3, 3, 9, 5, tzinfo=UTC)


def test_without_dates_the_texts_begin_with_the_speaker() -> None:
    assert texts(read(TURNS, [ASKED], dates=False), "c1")[0] == "Ana: I moved."


def test_observations_say_the_turns_they_come_from_and_take_their_date() -> None:
    found = read(TURNS, OBSERVATIONS, [ASKED], unit="observations")
    [document] = found.documents["c1"]
    assert document.sources == ("D1:1", "D1:2")
    assert document.text == f"({DATE}) Ana has moved."
    assert texts(read(TURNS, OBSERVATIONS, [ASKED], unit="observations", dates=False), "c1") == ["Ana has moved."]


def test_messages_are_found_by_number_and_may_be_those_of_the_user_alone() -> None:
    found = read(MESSAGES, [BEAM_ASKED])
    assert (found.format, found.unit, found.questions[0].evidence) == ("beam", "messages", ("0",))
    assert [document.sources for document in found.documents["b"]] == [("0",), ("1",)]
    assert texts(read(MESSAGES, [BEAM_ASKED], unit="user-messages"), "b") == ["The quota is 900."]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (["D8:6; D9:17"], ("D8:6", "D9:17")),
        (["D9:1 D4:4 D4:6"], ("D9:1", "D4:4", "D4:6")),
        (["D:11:26"], ("D11:26",)),
        (["D30:05"], ("D30:5",)),
        (["D"], ()),
        (["D1:1", "D1:1"], ("D1:1",)),
        ([], ()),
    ],
)
def test_evidence_is_read_as_it_is_meant(written: list[str], meant: tuple[str, ...]) -> None:
    assert repaired_ids(written) == meant


def test_evidence_that_names_no_turn_is_left_out_and_the_repair_is_counted() -> None:
    found = read(TURNS, [{**ASKED, "evidence": ["D1:1", "D7:7"]}, {**ASKED, "id": "r"}])
    assert [question.evidence for question in found.questions] == [("D1:1",), ("D1:1",)]
    assert found.repaired == 1


def test_questions_without_evidence_are_left_out_and_counted() -> None:
    found = read(TURNS, [ASKED, {**ASKED, "id": "empty", "evidence": []}])
    assert [question.id for question in found.questions] == ["q"]
    assert found.without_evidence == 1  # not a recall of 1, as the official code has it


def test_categories_have_the_names_of_the_official_code() -> None:
    asked = [{**ASKED, "id": str(number), "category": number} for number in range(1, 6)]
    names = [question.group for question in read(TURNS, asked).questions]
    assert names == ["multi_hop", "temporal", "open_domain", "single_hop", "adversarial"]


def test_a_limit_takes_questions_from_all_over_the_set_and_keeps_all_documents() -> None:
    found = read(TURNS, [{**ASKED, "id": str(number)} for number in range(10)], limit=2)
    assert [question.id for question in found.questions] == ["0", "5"]
    assert len(found.documents["c1"]) == 2


@pytest.mark.parametrize(
    ("files", "unit", "part"),
    [
        ([TURNS], None, "no questions"),
        ([[ASKED]], None, "no documents"),
        ([TURNS, [ASKED]], "observations", "holds no observations"),
        ([TURNS, [ASKED]], "messages", "holds no messages"),
        ([TURNS, MESSAGES, [ASKED]], None, "two sets"),
        ([[*TURNS, ASKED]], None, "two formats"),
        ([TURNS, [{**ASKED, "category": 6}]], None, "no category"),
        ([TURNS, [{**ASKED, "evidence": "D1:1"}]], None, "no list"),
        ([TURNS, [{**ASKED, "question": " "}]], None, "no text"),
        ([TURNS, [{**ASKED, "evidence": []}]], None, "no question with evidence"),
        ([TURNS, [ASKED], [{"a": 1}]], None, "no known format"),
        ([TURNS, [ASKED], ["text"]], None, "JSON str"),
        ([OBSERVATIONS, [ASKED], []], "observations", "holds no lines"),
        ([[{**OBSERVATIONS[0], "dia_ids": []}], [ASKED]], "observations", "no list of turn ids"),
    ],
)
def test_what_cannot_be_used_is_an_error_that_says_so(files: list[list[Any]], unit: Unit | None, part: str) -> None:
    with pytest.raises(InvalidInput, match=part):
        read(*files, unit=unit)


@pytest.mark.parametrize("raw", [b"{", b"\xff\xfe", b"[1"])
def test_a_broken_line_is_named_with_its_file(raw: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"turns\.jsonl, line 2"):
        read_collection("set", [("turns.jsonl", [*lines(TURNS[:1]), raw])])
