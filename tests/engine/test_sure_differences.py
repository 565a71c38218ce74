"""One value replaced inside the same frame is a conflict however near the vectors lie, on every path."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import wellkept
from wellkept.core.consolidation.findings import MOST_IN_SLOT, of_one_frame
from wellkept.core.differences.find import differences
from wellkept.types import Memory

PAIRS = [
    ("Use ruff for linting", "Use flake8 for linting"),
    ("Use ruff for linting.", "Use flake8 for linting."),
    ("Use ruff for linting", "Use flake8 for linting."),
    ("Run tests with pytest", "Run tests with unittest"),
    ("Run tests with pytest.", "Run tests with unittest"),
    ("Use npm", "Use yarn"),
    ("Use bash", "Use fish"),
    ("Host: Berlin", "Host: Oslo"),
    ("indent: tabs", "indent: spaces"),
    ("Use mypy for types", "Use pyright for types"),
    ("Deploy with Terraform", "Deploy with Pulumi"),
    ("Build the image with docker", "Build the image with podman"),
    ("Tests laufen mit pytest", "Tests laufen mit unittest"),
    ("Lancer les tests avec pytest", "Lancer les tests avec unittest"),
]
TOOLS = [
    ("Deploy with Terraform", "Deploy with Pulumi"),
    ("Format code with black", "Format code with ruff"),
    ("Format code with prettier", "Format code with biome"),
    ("Lint with eslint", "Lint with biome"),
    ("Build the image with docker", "Build the image with podman"),
    ("Install the packages with pip", "Install the packages with uv"),
    ("Install the packages with npm", "Install the packages with pnpm"),
    ("Run the tests with jest", "Run the tests with vitest"),
    ("Bundle the app with webpack", "Bundle the app with vite"),
    ("Build with Jenkins", "Build with CircleCI"),
    ("Cache sessions with redis", "Cache sessions with valkey"),
    ("Déployer avec terraform", "Déployer avec pulumi"),
    ("Baue das Image mit docker", "Baue das Image mit podman"),
]
KINDS = ("lesson", "note", "knowledge")


@pytest.mark.parametrize("old, new", TOOLS)
def test_one_tool_in_the_place_of_another_of_its_group_is_a_sure_difference(old: str, new: str) -> None:
    for a, b in ((old, new), (new, old)):
        assert any(item.decisive for item in differences(a, b))


@pytest.mark.parametrize(
    "old, new",
    [
        ("Format code with black", "With black, format code"),
        ("Lint Python with ruff", "Lint JavaScript with eslint"),
        ("Format with black", "Lint with ruff"),
        ("Build with docker", "Deploy with podman"),
        ("Lint with ruff", "Lint with eslint"),
    ],
)
def test_tools_for_other_work_are_no_sure_difference(old: str, new: str) -> None:
    assert not any(item.decisive for item in differences(old, new))


@pytest.mark.parametrize("old, new", PAIRS)
def test_a_sure_difference_is_flagged_at_write_and_seen_at_recall(old: str, new: str) -> None:
    with wellkept.open("memory:") as store:
        for kind in KINDS:
            alone = store.in_namespace(kind)
            alone.remember(old, kind=kind)
            result = alone.remember(new, kind=kind)
            assert result.outcome == "created" and [item.kind for item in result.conflicts] == ["contradiction"]
            hits = alone.recall(new, limit=4)
            assert {hit.memory.content for hit in hits} == {old, new}
            assert all(len(hit.conflicts) == 1 for hit in hits)


@pytest.mark.parametrize("old, new", PAIRS)
def test_consolidation_flags_a_sure_difference_that_no_gate_has_seen(old: str, new: str) -> None:
    with wellkept.open("memory:") as store:
        for text in (old, new):
            store.remember(text, kind="lesson", on_conflict="ignore")
        assert [action.type for action in store.plan().actions] == ["flag_contradiction"]


@pytest.mark.parametrize(
    "old, new",
    [
        ("Use ruff for linting", "Use ruff for formatting"),
        ("Ana plays tennis with Bo", "Ana plays tennis with Carl"),
        ("Run tests with coverage", "Run tests with care"),
        ("Buy bread", "Buy milk"),
        ("Call Ana", "Call Bo"),
    ],
)
def test_what_may_both_hold_is_no_sure_difference(old: str, new: str) -> None:
    with wellkept.open("memory:") as store:
        store.remember(old, kind="lesson")
        found = store.remember(new, kind="lesson").conflicts
        assert not any(item.decisive for conflict in found for item in conflict.differences)


def _row(number: int, text: str) -> Memory:
    at = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=number)
    return Memory(id=f"m{number:04}", namespace="n", content=text, created_at=at, updated_at=at)


def test_texts_that_differ_in_one_word_are_paired_with_their_nearest_in_time() -> None:
    told = ["Use ruff for linting", "use flake8 for linting.", "Use flake8 for typing", "Linting", "Use ruff, please"]
    pairs = of_one_frame([_row(number, text) for number, text in enumerate(told)])
    assert [(old.id, new.id) for old, new in pairs] == [("m0000", "m0001"), ("m0001", "m0002")]
    crowd = of_one_frame([_row(number, f"Use tool{number}") for number in range(300)])
    assert len(crowd) == sum(min(number, MOST_IN_SLOT) for number in range(300))
    assert of_one_frame([]) == []
