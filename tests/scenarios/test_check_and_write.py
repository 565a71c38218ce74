"""`check` predicts the write: random texts, titles, kinds and policies, with the packaged models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any, get_args

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wellkept
from examples import examples
from letter import to_the_letter
from surfaces.rest.serving import rest_app, served
from wellkept import MemoryStore, Policy, WriteResult
from wellkept.engine.gate.check_similar import check_similar
from wellkept.errors import ConflictError
from wellkept.policy import DEFAULT_KINDS
from wellkept.types import Match, OnConflict

TEXTS = (
    "Always set a stop loss before entering a leveraged position",
    "always set a stop loss before entering a leveraged position!",
    "Before you enter a leveraged position, always place a stop loss",
    "Never set a stop loss before entering a leveraged position",
    "Always set a stop loss before entering a leveraged position, unless the position is hedged",
    "Never trade during low-volume weekends",
    "Avoid trading on weekends when volume is low",
    "The retry limit is 3",
    "The retry limit is 5",
    "The limit for retries is three",
    "Use ruff for linting",
    "Use flake8 for linting.",
    "The deploy script needs Python 3.12 and runs every night",
    "The deploy script runs every night and needs Python 3.12",
    "Nutze niemals Produktionsdaten in Tests.",
    "In Tests werden nie Produktionsdaten genutzt.",
    "数据库端口是 5433。",
    "数据库的端口是 5433。",
    "Show me your current status",
    "ok",
)
TITLES = ("", "Stops", "Risk rules", "A title that has nothing to do with it")
LETTER = replace(Policy(), kinds={name: replace(kind, same_at=1.0) for name, kind in DEFAULT_KINDS.items()})
"""The bands of the seeds alone, without a repeat on the word of the relation model below them."""


def _under(mode: OnConflict) -> Policy:
    policy = Policy()
    for kind in DEFAULT_KINDS:
        policy = policy.with_conflict(kind, mode)
    return policy


POLICIES = {
    "default": Policy(),
    "letter": LETTER,
    "drop": to_the_letter(),
    **{mode: _under(mode) for mode in get_args(OnConflict)},
}
HOLDS = ("duplicate", "restated", "reused")
"""Outcomes of a text that the store holds already: none is listed anew."""
_numbers = count()


@pytest.fixture(scope="module")
def stores() -> Iterator[dict[str, MemoryStore]]:
    """A store for each policy; every example writes into its own namespace."""
    opened = {name: wellkept.open("memory:", policy=policy) for name, policy in POLICIES.items()}
    yield opened
    for store in opened.values():
        store.close()


statements = st.fixed_dictionaries({"content": st.sampled_from(TEXTS), "title": st.sampled_from(TITLES)})


def _shown(match: Match) -> tuple[Any, ...]:
    return match.memory_id, match.stage, match.relation, match.action, match.similarity, match.differences


def _told(result: WriteResult) -> tuple[Any, ...]:
    """The parts in which check and write must agree; the id of a new memory differs."""
    conflicts = [(item.a, item.kind, item.reason, item.resolution) for item in result.conflicts]
    links = [(link.dst, link.rel) for link in result.links]
    reasons = [reason.rule for reason in result.reasons]
    return result.outcome, [_shown(match) for match in result.matches], conflicts, links, reasons, result.degraded


@given(
    policy=st.sampled_from(sorted(POLICIES)),
    kind=st.sampled_from(sorted(DEFAULT_KINDS)),
    stored=st.lists(statements, min_size=1, max_size=3),
    new=statements,
)
@examples(20, 60)
def test_a_write_does_what_the_check_said(
    stores: dict[str, MemoryStore], policy: str, kind: str, stored: list[dict[str, str]], new: dict[str, str]
) -> None:
    """A check of the library, and the one of the host's own route."""
    store = stores[policy].in_namespace(f"example/{next(_numbers)}")
    for one in stored:
        store.remember(kind=kind, on_conflict="ignore", **one)
    before = len(store.list())
    checked = store.check(kind=kind, **new)
    asked = check_similar(store._ctx, new["content"], new["title"], kind=kind)
    try:
        written = store.remember(kind=kind, **new)
    except ConflictError as error:
        assert (checked.outcome, policy) == ("rejected", "raise")
        assert [item.a for item in checked.conflicts] == [item.a for item in error.conflicts]
        assert asked["recommendation"] != "duplicate_found"
        assert len(store.list()) == before
        return
    assert _told(checked) == _told(written)
    holds = written.outcome in HOLDS
    assert (asked["recommendation"] == "duplicate_found") == holds
    if holds and written.memory is not None:
        assert asked["matches"][0]["node_id"] == written.memory.id
        assert len(store.list()) == before


PAIRS = (
    ("Always set a stop loss before entering a leveraged position",
     "Before you enter a leveraged position, always place a stop loss"),
    ("Never trade during low-volume weekends", "Avoid trading on weekends when volume is low"),
    ("Write the rollback plan before the deployment.", "Prepare a rollback plan ahead of deploying."),
    ("Funding flips before the price does", "The price flips only after funding does"),
    ("The retry limit is 3", "The retry limit is 5"),
    ("Rotate the keys every quarter", "rotate the keys every quarter"),
    ("Rotate the keys every quarter", "Lunch is at noon"),
)  # fmt: skip


@pytest.mark.parametrize("subtype", ["custom:lesson", "custom:curiosity", "custom:thesis", "custom:knowledge"])
def test_posting_a_node_does_what_check_similar_recommends(stores: dict[str, MemoryStore], subtype: str) -> None:
    """S0-24, S0-31: over HTTP, with another title for each of the two."""
    store = stores["default"].in_namespace(f"posted/{subtype.partition(':')[2]}")
    with served(rest_app(store)) as url, httpx2.Client(base_url=url, timeout=30) as http:
        for at, texts in enumerate(PAIRS):
            for which, text in enumerate(texts):
                asked = {"content": text, "title": f"Title {at} {which}", "subtype": subtype}
                found = http.post("/v1/nodes/check-similar", json=asked).json()
                node = {"type": "concept", "subtype": subtype, "content_title": asked["title"], "content_body": text}
                made = http.post("/v1/nodes", json=node).json()
                assert (found["recommendation"] == "duplicate_found") == (made["outcome"] in HOLDS), text
                if made["outcome"] in HOLDS:
                    assert found["matches"][0]["node_id"] == made["id"]
