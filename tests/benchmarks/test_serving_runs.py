"""`python -m benchmarks.serving` in the smallest form: all figures are there, and the load has the declared mix."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def benchmarks_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(ROOT))
    yield
    for name in set(sys.modules) - before:
        if name.split(".")[0] == "benchmarks":
            del sys.modules[name]


def test_a_third_of_the_load_repeats_and_a_tenth_contradicts() -> None:
    """Issue 6."""
    from benchmarks.load import mixed

    given = mixed(10_000)
    contents = Counter(write.content for write in given)
    repeats = sum(count - 1 for count in contents.values()) / len(given)
    contradicting = sum(len(content.split()[-2]) == 5 for content in contents if content.startswith("Depot"))
    assert 0.30 < repeats < 0.36
    assert 0.08 < contradicting / len(given) < 0.12
    assert len({write.key for write in given}) == len(given)


def test_what_was_lost_or_is_there_twice_is_found(tmp_path: Path) -> None:
    """A measurement that loses writes must not print how fast it was."""
    from benchmarks.load import Told, Write, problems

    import wellkept

    writes = [Write("Depot 1 holds 5 crates.", "lesson", "a"), Write("Depot 1 holds 7 crates.", "lesson", "b")]
    db = tmp_path / "a.db"
    with wellkept.open(str(db), embedder="hashing", relation_model="none", namespace="n") as store:
        told = []
        for write in writes:
            result = store.remember(write.content, kind=write.kind)
            assert result.memory is not None
            told.append(Told(write, result.memory.id, result.outcome, 0.1))
    assert problems(db, told, writes, namespace="n") == []
    with wellkept.open(str(db), embedder="hashing", relation_model="none", namespace="n") as store:
        store.remember(writes[0].content, kind="lesson", on_conflict="ignore")
        store.erase(told[1].memory_id)
    found = problems(db, told, writes, namespace="n")
    assert any(text.startswith("1 rows too many") for text in found)
    assert any(text.startswith("lost: Depot 1 holds 7") for text in found)


@pytest.mark.soak
def test_a_quick_run_prints_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks.serving import main

    assert main(["--quick", "--json"]) == 0
    figures = {figure["name"]: figure["value"] for figure in json.loads(capsys.readouterr().out)["figures"]}
    for name in ("remember", "recall"):
        assert {f"{name}_ratio_p50", f"{name}_ratio_p99", f"{name}_rate_ratio"} <= figures.keys()
    assert {
        "load_p50",
        "load_p99",
        "load_rate",
        "load_rate_ratio",
        "load_ratio_p50",
        "load_ratio_p99",
    } <= figures.keys()
    assert figures["load_felt"] > 0
    assert 0.2 < figures["load_repeats"] < 0.45
