"""Questions over REST: the statuses of answers, and that the first answer counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from raising import raise_question
from stores import LIGHT, Desk, desk
from wellkept.policy import Policy
from wellkept.server.rest import create_app
from wellkept.testing.relations import FakeRelationModel

OLD, NEW = "Ana leads billing.", "Billing is run by Bo."


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Desk]:
    model = FakeRelationModel()
    model.declare(OLD, NEW, conflict=0.4)
    made = desk(LIGHT, tmp_path, relation_model=model, policy=Policy(ask=100))
    made.near(OLD, NEW, 0.8)
    yield made
    made.store.close()


@pytest.fixture
def http(table: Desk) -> Iterator[TestClient]:
    with TestClient(create_app(table.store), base_url="http://127.0.0.1") as client:
        client.post("/v1/memories", json={"content": OLD})
        yield client


def asked(http: TestClient) -> str:
    """The question about the second of two texts."""
    question = http.post("/v1/memories", json={"content": NEW}).json()["question"]
    assert [one["memory"]["content"] for one in question["candidates"]] == [OLD]
    return str(question["id"])


def test_the_answer_to_a_write_holds_the_question_as_the_list_does(http: TestClient) -> None:
    """One that asks nothing says so, alone and in a batch."""
    told = http.post("/v1/memories/batch", json={"items": [NEW, "Tea is upstairs."]}).json()["results"]
    listed = http.get("/v1/questions").json()
    assert listed == {"questions": [told[0]["question"]], "more": False}
    assert told[1]["question"] is None
    assert http.get("/v1/questions", params={"limit": 0}).json() == {"questions": [], "more": True}
    assert http.post("/v1/check", json={"content": NEW}).json()["question"] is None


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({"question": "q2", "text": "replaces 1"}, 200, ""),
        ({"text": "q2 replaces 1"}, 200, ""),
        ({"text": "q2 new", "by": "person"}, 200, ""),
        ({"question": "q2", "text": "perhaps"}, 422, "InvalidAnswer"),
        ({"question": "q2", "text": "replaces 3"}, 422, "InvalidAnswer"),
        ({"question": "q2", "text": "q2 new"}, 422, "InvalidAnswer"),
        ({"text": "new"}, 422, "InvalidAnswer"),
        ({"text": "q2 new; q2 new"}, 422, "InvalidAnswer"),
        ({"question": "2", "text": "new"}, 422, "InvalidField"),
        ({"text": "q2 new", "by": "nobody"}, 422, "InvalidField"),
        ({"text": 7}, 422, "InvalidField"),
        ({"question": "q2"}, 422, "InvalidField"),
        ({"question": "q1", "text": "new"}, 404, "NotFound"),
        ({"text": "q999 new"}, 404, "NotFound"),
    ],
)
def test_an_answer_has_the_status_of_what_became_of_it(
    http: TestClient, table: Desk, body: dict[str, Any], status: int, error: str
) -> None:
    asked(http)
    before = table.snapshot()
    told = http.post("/v1/answers", json=body)
    assert told.status_code == status, told.text
    if error:
        assert told.json()["type"].endswith(f":{error}")
        assert table.snapshot() == before


def test_the_first_answer_counts_and_another_one_is_409_until_it_is_taken_back(http: TestClient) -> None:
    question = asked(http)
    first = http.post("/v1/answers", json={"question": question, "text": "Replaces 1."}).json()
    again = http.post("/v1/answers", json={"question": question, "text": "replaces 1"}).json()
    assert [one["answered"][0]["entry"] for one in (first, again)] == [3, 0]
    other = http.post("/v1/answers", json={"question": question, "text": "new"})
    assert (other.status_code, other.json()["type"]) == (409, "urn:wellkept:error:AlreadyAnswered")
    assert http.get("/v1/asking").json()["open"] == 0
    assert http.post("/v1/answers/undo", json={"by": "agent"}).json()["undone"] == [3]
    assert http.get("/v1/asking").json()["open"] == 1
    assert http.post("/v1/answers", json={"question": question, "text": "new"}).status_code == 200


@pytest.mark.parametrize(("by", "status"), [("agent", "active"), ("person", "superseded")])
def test_what_a_person_says_is_replaced_is_superseded(http: TestClient, by: str, status: str) -> None:
    body = {"question": asked(http), "text": "replaces 1", "by": by}
    [done] = http.post("/v1/answers", json=body).json()["answered"]
    assert done["by"] == by
    found = http.get("/v1/memories", params={"where": '{"statuses": ["active", "superseded"]}'}).json()["memories"]
    assert {row["content"]: row["status"] for row in found}[OLD] == status


def test_of_many_answers_each_has_its_own_transaction_and_its_result_or_error(http: TestClient, table: Desk) -> None:
    question = asked(http)
    old, tea = (table.store.remember(text).id for text in ("Cups are downstairs.", "Tea is upstairs."))
    other = raise_question(table.store, tea, old)
    told = http.post("/v1/answers", json={"text": f"{question} repeats 2; q999 new; {other} new"})
    assert told.status_code == 200
    assert [one["question"] for one in told.json()["answered"]] == [other]
    assert [(one["question"], one["error"]) for one in told.json()["errors"]] == [
        (question, "InvalidAnswer"),
        ("q999", "NotFound"),
    ]
    assert [one["id"] for one in http.get("/v1/questions").json()["questions"]] == [question]


def test_lessons_are_forgotten_and_questions_stay(http: TestClient) -> None:
    asked(http)
    assert http.delete("/v1/asking/lessons").json() == {"forgotten": True}
    assert http.get("/v1/asking").json()["open"] == 1
