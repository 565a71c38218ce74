"""I8 to the byte: an answer does not depend on whether what a request names exists in another namespace.

Two stores that differ only in another namespace: in one, the ids, keys, runs and plans of a request exist in the other
namespace; in the second they do not exist. Clock and ids are the same in both.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from raising import raise_question
from stores import LIGHT, desk
from surfaces.serving.asking import Known, asked, learn, send
from wellkept.operations.registry import OPERATIONS, Operation
from wellkept.server.access import Tokens
from wellkept.server.rest import Limits, create_app

ROUTED = [row for row in OPERATIONS if row.route is not None]
OURS, THEIRS = "acme/a", "birch/b"
UNHURRIED = Limits(rate=None)
NEIGHBOUR = ("remember",) * 8 + (
    "conflicts", "start_episode", "queue_remember", "plan", "execute", "journal"
)  # fmt: skip


@dataclass
class Ids:
    """Sequential ids; those of the other namespace have a different first digit in each store."""

    first: str
    made: int = 0

    def __call__(self) -> str:
        self.made += 1
        return f"{self.first}19b796d-0000-7000-8000-{self.made:012x}"


@dataclass
class House:
    """A server whose neighbour has been busy."""

    http: TestClient
    ours: dict[str, str]
    they: Known

    def ask(self, row: Operation, fields: dict[str, Any]) -> Any:
        return send(self.http, row, fields, **self.ours)


def furnished(folder: Path, first: str, stack: ExitStack) -> House:
    folder.mkdir()
    ids = Ids(first)
    table = desk(LIGHT, folder, new_id=ids)
    tokens = Tokens(folder / "tokens.json")
    made = {
        namespace: {
            "Authorization": f"Bearer {tokens.create(name='one', namespaces=[namespace], scopes=['admin'])[1]}",
            "Wellkept_Namespace": namespace,
        }
        for namespace in (OURS, THEIRS)
    }
    http = stack.enter_context(
        TestClient(create_app(table.store, tokens=tokens, limits=UNHURRIED), base_url="http://127.0.0.1")
    )
    they, rng = Known("bronze"), random.Random(1)
    for name in NEIGHBOUR:
        row = next(row for row in ROUTED if row.name == name)
        answer = send(http, row, asked(row, rng, they), **made[THEIRS])
        assert answer.status_code < 300, answer.text
        learn(they, row, answer.json())
    they.questions = [raise_question(table.store.in_namespace(THEIRS), *they.ids[:2])]
    ids.first, ids.made = "0", 1_000
    return House(http, made[OURS], they)


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, House]]:
    """For all tests in turn: the same is asked of both, so our namespace stays the same in both."""
    folder = tmp_path_factory.mktemp("houses")
    with ExitStack() as stack:
        yield furnished(folder / "there", "a", stack), furnished(folder / "nowhere", "b", stack)


@pytest.mark.parametrize("row", ROUTED, ids=lambda row: row.name)
def test_what_another_namespace_holds_gives_the_answer_that_nothing_gives(
    houses: tuple[House, House], row: Operation
) -> None:
    there, nowhere = houses
    assert not {*there.they.ids, *there.they.episodes, *there.they.queued} & {*nowhere.they.ids}
    for seed in range(6):
        fields = asked(row, random.Random(seed), there.they)
        answers = [house.ask(row, fields) for house in houses]
        assert answers[0].status_code == answers[1].status_code < 500
        assert answers[0].content == answers[1].content, row.name


def test_the_requests_name_what_is_really_there(houses: tuple[House, House]) -> None:
    """Otherwise the comparison above would compare nothing with nothing."""
    they = houses[0].they
    assert they.ids
    assert they.episodes
    assert they.queued
    assert they.plan
    assert they.questions
    for known in houses[1].they.ids, houses[1].they.queued:
        assert all(one.startswith("b") for one in known)
