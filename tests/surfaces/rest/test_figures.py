"""Each figure of `/metrics` follows its counted objects up and down (issue 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from stores import LASTING, Desk, desk
from wellkept.errors import ModelUnavailable
from wellkept.server.rest import create_app

Act = Callable[["Scene"], Any]
LIMIT, OTHER_LIMIT = "The limit is 0.85.", "The limit is 0.95."
LATER = {"Wellkept-Queue": "on", "Wellkept-Session": "chat 7"}


@dataclass
class Scene:
    """A server, and the store behind it."""

    http: TestClient
    table: Desk

    def keep(self, content: str, headers: dict[str, str] | None = None, **fields: Any) -> Any:
        answer = self.http.post("/v1/memories", json={"content": content, **fields}, headers=headers)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def figures(self) -> dict[str, float]:
        """Every sample, under its name and labels as they are written."""
        text = self.http.get("/metrics").text
        return {
            sample.name + "".join(f" {key}={value}" for key, value in sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    table = desk(LASTING, tmp_path)
    with table.store, TestClient(create_app(table.store), base_url="http://127.0.0.1") as http:
        yield Scene(http, table)


def outage(scene: Scene) -> None:
    scene.table.fake.fail_with = ModelUnavailable("down", where="", todo="")
    scene.keep("Stored unchecked.", kind="lesson")
    scene.table.fake.fail_with = None


def conflicting(scene: Scene) -> None:
    scene.table.near(LIMIT, OTHER_LIMIT, 0.97)
    scene.keep(LIMIT, kind="lesson")
    scene.keep(OTHER_LIMIT, kind="lesson")


def settle(scene: Scene) -> None:
    for conflict in scene.http.get("/v1/conflicts").json()["conflicts"]:
        told = scene.http.post(f"/v1/conflicts/{conflict['key']}/resolve", json={"resolution": "dismissed"})
        assert told.status_code == 200


def put_off(scene: Scene) -> None:
    assert scene.keep("It opens at nine.", headers=LATER, kind="thesis")["outcome"] == "queued"


def flush(scene: Scene) -> None:
    scene.http.post("/v1/queue/flush", json={}, headers={"Wellkept-Session": "chat 7"})


def forget(scene: Scene) -> None:
    (row, *_) = scene.table.store.list()
    scene.http.post(f"/v1/memories/{row.id}/forget", json={})


def nothing(scene: Scene) -> None:
    pass


@pytest.mark.parametrize(
    ("figure", "before", "act", "by"),
    [
        ("wellkept_outcomes_total outcome=created", nothing, lambda scene: scene.keep(LIMIT), 1),
        ("wellkept_outcomes_total outcome=duplicate", conflicting, lambda scene: scene.keep(LIMIT, kind="lesson"), 1),
        ("wellkept_outcomes_total outcome=archived", conflicting, forget, 1),
        ("wellkept_memories status=active", nothing, conflicting, 2),
        ("wellkept_memories status=active", conflicting, forget, -1),
        ("wellkept_memories status=archived", conflicting, forget, 1),
        ("wellkept_open_conflicts", nothing, conflicting, 1),
        ("wellkept_open_conflicts", conflicting, settle, -1),
        ("wellkept_unchecked_memories", nothing, outage, 1),
        ("wellkept_unchecked_memories", outage, lambda scene: scene.table.store.sweep(), -1),
        ("wellkept_queue_depth", nothing, put_off, 1),
        ("wellkept_queue_depth", put_off, flush, -1),
        ("wellkept_requests_total operation=remember status=201", nothing, conflicting, 2),
        (
            "wellkept_requests_total operation=get status=404",
            nothing,
            lambda scene: scene.http.get("/v1/memories/x"),
            1,
        ),
        ("wellkept_requests_total operation=other status=404", nothing, lambda scene: scene.http.get("/nothing"), 1),
        ("wellkept_request_seconds_count operation=remember", nothing, conflicting, 2),
        ("wellkept_request_seconds_bucket le=+Inf operation=remember", nothing, conflicting, 2),
    ],
)
def test_a_figure_moves_with_what_it_counts(scene: Scene, figure: str, before: Act, act: Act, by: int) -> None:
    before(scene)
    was = scene.figures()
    act(scene)
    assert scene.figures().get(figure, 0.0) - was.get(figure, 0.0) == by


def test_a_request_takes_time_and_the_sum_of_it_only_grows(scene: Scene) -> None:
    sums = []
    for _ in range(3):
        scene.http.get("/v1/stats")
        sums.append(scene.figures()["wellkept_request_seconds_sum operation=stats"])
    assert 0 < sums[0] < sums[1] < sums[2]


def test_the_figures_sum_over_namespaces_and_name_none(scene: Scene) -> None:
    """I8: totals are shown only with access to all namespaces; the figures never name a namespace."""
    was = scene.figures()
    for name in ("acme/one", "umbrella/two"):
        scene.keep(LIMIT, headers={"Wellkept-Namespace": name})
    now = scene.figures()
    assert now["wellkept_memories status=active"] - was.get("wellkept_memories status=active", 0.0) == 2
    assert not any(word in key for key in now for word in ("acme", "umbrella"))
