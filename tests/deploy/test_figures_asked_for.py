"""The Grafana board and the alerts ask for figures that a server really gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

import wellkept
from deploy.queries import alerts, board, grouped, queries, selected
from wellkept.server.rest import create_app
from wellkept.types import Outcome

QUERIES = queries()
OF_PROMETHEUS = {"up": {"job", "instance"}}
"""What Prometheus itself says of each server."""
BY_PROMETHEUS = {"job", "instance"}
"""Labels that Prometheus adds to every figure."""


@pytest.fixture(scope="module")
def given() -> Iterator[dict[str, set[str]]]:
    """The labels of every sample that a server gives."""
    with wellkept.open("memory:", embedder="hashing", relation_model="none") as store:
        with TestClient(create_app(store), base_url="http://127.0.0.1") as http:
            http.post("/v1/memories", json={"content": "Tea is upstairs."})
            text = http.get("/metrics").text
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    yield found | OF_PROMETHEUS


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_names_figures_and_labels_that_a_server_gives(name: str, given: dict[str, set[str]]) -> None:
    asked = list(selected(QUERIES[name]))
    assert asked
    for metric, matchers in asked:
        assert metric in given, f"{name}: no server gives {metric}"
        assert set(matchers) <= given[metric] | BY_PROMETHEUS, f"{name}: {metric} has no such label"
    known = {label for metric, _ in asked for label in given[metric]}
    assert grouped(QUERIES[name]) <= known | BY_PROMETHEUS, name


def test_a_query_that_asks_for_what_is_not_there_would_be_noticed(given: dict[str, set[str]]) -> None:
    [(metric, matchers)] = selected('sum by (verb) (rate(wellkept_request_total{colour="red"}[5m]))')
    assert metric not in given and set(matchers) == {"colour"}
    assert grouped("sum by (verb) (rate(wellkept_requests_total[5m]))") == {"verb"}
    with pytest.raises(ValueError, match=r"."):
        list(selected("sum by (wellkept_requests_total"))


@pytest.mark.parametrize("name", QUERIES)
def test_outcomes_that_a_query_names_exist(name: str) -> None:
    for metric, matchers in selected(QUERIES[name]):
        if metric == "wellkept_outcomes_total" and "outcome" in matchers:
            assert set(matchers["outcome"][1].split("|")) <= set(get_args(Outcome)), name


def test_every_figure_of_a_server_is_on_the_board_or_in_an_alert(given: dict[str, set[str]]) -> None:
    asked = {metric for query in QUERIES.values() for metric, _ in selected(query)}
    whole = {re.sub(r"_(total|bucket|count|sum|created)$", "", name) for name in given if name.startswith("wellkept_")}
    assert whole == {re.sub(r"_(total|bucket)$", "", name) for name in asked if name.startswith("wellkept_")}


def test_panels_do_not_lie_on_each_other_and_each_has_its_own_id() -> None:
    panels = board()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells) and max(x for x, _ in cells) < 24


def test_every_alert_says_how_urgent_it_is_and_what_it_means() -> None:
    for rule in alerts():
        assert rule["labels"]["severity"] in {"page", "ticket"} and rule["annotations"]["summary"] and rule["for"]
