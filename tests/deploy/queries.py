"""The queries of the Grafana board and of the alerts, and the metrics and labels that each asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser as promql
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"


def board() -> dict[str, Any]:
    """The Grafana board."""
    return dict(json.loads((DEPLOY / "grafana.json").read_text("utf-8")))


def alerts() -> list[dict[str, Any]]:
    """The rules that alert."""
    groups = yaml.safe_load((DEPLOY / "alerts.yaml").read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def queries() -> dict[str, str]:
    """Every query by the name of its panel or alert."""
    panels = {
        f"{panel['title']} {target['refId']}": target["expr"].replace("$__rate_interval", "5m")
        for panel in board()["panels"]
        for target in panel["targets"]
    }
    return panels | {rule["alert"]: rule["expr"] for rule in alerts()}


def selected(query: str) -> Iterator[tuple[str, dict[str, tuple[str, str]]]]:
    """Each metric that a query asks for, with operator and value of each label that it names.

    Raises:
        ValueError: It is no query.
    """
    yield from _in(promql.parse(query))


def grouped(query: str) -> set[str]:
    """The labels that a query groups by."""
    return set(_groups(promql.parse(query)))


def _in(part: Any) -> Iterator[tuple[str, dict[str, tuple[str, str]]]]:
    if isinstance(part, promql.VectorSelector):
        yield part.name or "", {one.name: (str(one.op), one.value) for one in part.matchers.matchers}
    for inner in _parts(part):
        yield from _in(inner)


def _groups(part: Any) -> Iterator[str]:
    if isinstance(part, promql.AggregateExpr) and part.modifier is not None:
        yield from part.modifier.labels
    for inner in _parts(part):
        yield from _groups(inner)


def _parts(part: Any) -> list[Any]:
    found = [getattr(part, name, None) for name in ("expr", "lhs", "rhs", "vector_selector", "param")]
    return [one for one in (*found, *(getattr(part, "args", None) or ())) if one is not None]
