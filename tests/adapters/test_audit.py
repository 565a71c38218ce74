"""An audit finds what consolidation would clean, in a store that is not ours (issue 4, 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import wellkept
from adapters import foreign_stores
from wellkept.adapters import read
from wellkept.core.consolidation.plan_file import plan_from, plan_text
from wellkept.engine.base.inputs import new_memory
from wellkept.engine.transfer.audit import Audit, Example, owned
from wellkept.engine.transfer.import_lines import ImportSpec, Row
from wellkept.errors import InvalidInput
from wellkept.policy import Policy
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel

OLD, NEW = "2026-01-01", "2026-02-01"


def rows_of(*texts: str | Mapping[str, Any]) -> Iterator[Row]:
    """Rows as a reader gives them."""
    for line, given in enumerate(texts, start=1):
        item = {"content": given} if isinstance(given, str) else dict(given)
        outer = {"id": item.pop("id", f"m{line}"), "owner": item.pop("owner", None)}
        yield Row(line, str(given), new_memory(item.pop("content"), item, Policy()), None, outer)


def looked_at(rows: Iterator[Row], *, in_order: bool = False, key: str = "owner", **models: Any) -> Audit:
    models.setdefault("embedder", "hashing")
    with wellkept.open("memory:", **models) as scratch:
        return scratch.audit(owned(rows, "base", key=key), in_order=in_order)


def examples(report: Audit, topic: str) -> list[Example]:
    return [one for one in report.examples if one.topic == topic]


def test_repeats_are_counted_beyond_the_first_in_any_spelling() -> None:
    """S1-19."""
    report = looked_at(rows_of("Tea is upstairs.", "tea is upstairs", "TEA IS UPSTAIRS!", "Cups are downstairs."))
    assert (report.memories, report.exact, report.near, report.conflicts) == (4, 2, 0, 0)
    assert examples(report, "exact")[0].ids == ("m1", "m2", "m3")
    assert report.plans[0].planned["merge"] == 1


@pytest.mark.parametrize(("same", "found"), [(0.99, 1), (0.5, 0)])
def test_repeats_in_other_words_are_those_that_the_model_is_sure_of(same: float, found: int) -> None:
    """I2: nearness alone is none."""
    pair = ("Reviews need two approvals.", "Two people must approve every review.")
    model = FakeRelationModel()
    for old, new in (pair, pair[::-1]):
        model.declare(old, new, same=same)
    embedder = FakeEmbedder({pair: 0.97})
    report = looked_at(rows_of("reviews need two approvals", *pair), embedder=embedder, relation_model=model)
    assert (report.exact, report.near) == (1, found)
    assert len(examples(report, "near")) == found


REPEAT = ("The build takes nine minutes.", "the build takes nine minutes")
CONFLICT = ("Deploys happen on Monday.", "Deploys happen on Friday.")


@pytest.mark.parametrize(
    ("times", "in_order", "stale"),
    [
        ((OLD, NEW), False, 1),
        ((OLD, OLD), False, 0),
        ((OLD, None), True, 0),
        ((None, None), False, 0),
        ((None, None), True, 1),
    ],
    ids=["dated", "the same date", "one undated", "undated", "undated, in the order of saying"],
)
def test_a_statement_is_stale_when_a_later_one_surely_replaced_it(
    times: Sequence[str | None], *, in_order: bool, stale: int
) -> None:
    given = [{"content": text, "recorded_at": at} for text, at in zip(CONFLICT, times, strict=True)]
    report = looked_at(rows_of(*given), in_order=in_order)
    assert (report.conflicts, report.stale) == (1, stale)
    (shown,) = examples(report, "stale" if stale else "conflict")
    assert shown.texts == CONFLICT
    assert "Monday" in shown.why


def test_the_older_statement_is_stale_wherever_it_stands() -> None:
    given = [{"content": CONFLICT[0], "recorded_at": NEW}, {"content": CONFLICT[1], "recorded_at": OLD}]
    (shown,) = examples(looked_at(rows_of(*given)), "stale")
    assert shown.ids == ("m2", "m1")


def test_junk_is_counted_once_and_takes_no_part_in_the_rest() -> None:
    report = looked_at(rows_of("ok, thanks", "ok, thanks", "Tea is upstairs."))
    assert (report.memories, report.junk, report.exact) == (3, 2, 0)
    assert examples(report, "junk")[0].why == "only an acknowledgement"


def test_what_two_owners_say_is_no_repeat() -> None:
    """I8."""
    rows = [{"content": "Tea is upstairs.", "owner": name} for name in ("ana", "bo", "bo")]
    report = looked_at(rows_of(*rows))
    assert report.exact == 1
    assert report.namespaces == {"base/ana": 1, "base/bo": 2}
    assert looked_at(rows_of(*rows), key="").exact == 2


@pytest.mark.parametrize("owner", ["a//b", 7.5, "x" * 300, ["ana"]])
def test_an_owner_that_can_be_no_namespace_makes_a_bad_row(owner: object) -> None:
    report = looked_at(rows_of({"content": "Tea is upstairs.", "owner": owner}, "Cups are downstairs."))
    assert (report.memories, len(report.unreadable)) == (1, 1)


def test_rows_that_are_no_memories_are_told_with_their_places(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Tea is upstairs."}\n{"note": "no text"}\nnot json\n')
    report = looked_at(read(path))
    assert [(error.index, error.error) for error in report.unreadable] == [(2, "InvalidField"), (3, "InvalidInput")]
    assert not report.clean


def test_ids_of_the_source_name_the_memories_in_the_plan_even_if_they_are_odd() -> None:
    rows = [{"content": "Tea is upstairs.", "id": name} for name in ("a", "a", "b\n", 7, None)]
    report = looked_at(rows_of(*rows))
    (action,) = report.plans[0].actions
    assert sorted(action.targets) == ["7", "a", "a~2", "b", "line-5"]


def test_the_plan_of_an_audit_is_a_plan_file_and_the_same_again() -> None:
    """S1-5: made of ids and texts, not of the time of looking."""
    plans = [looked_at(rows_of("Tea is upstairs.", "tea is upstairs")).plans[0] for _ in range(2)]
    assert plan_text(plans[0]) == plan_text(plans[1])
    assert plan_from(plan_text(plans[0])) == plans[0]


def test_an_old_memory_is_not_archived_for_what_nobody_knows() -> None:
    """S1-36 archives memories that are never read; for an imported memory that is unknown."""
    report = looked_at(rows_of({"content": "Tea is upstairs.", "recorded_at": "2001-01-01"}))
    assert report.plans[0].actions == ()
    assert report.clean


def test_an_audit_wants_a_store_of_its_own() -> None:
    with wellkept.open("memory:", embedder="hashing") as store:
        store.remember("Tea is upstairs.")
        with pytest.raises(InvalidInput, match="is not empty"):
            store.audit(owned(rows_of("Cups."), "default"))


def test_what_could_not_run_is_said() -> None:
    """I7."""
    report = looked_at(rows_of("Tea is upstairs."), relation_model="none")
    assert set(report.degraded) == {"relation", "lexical"}


@pytest.mark.parametrize(
    "make", [foreign_stores.mem0, foreign_stores.mcp_memory_service, foreign_stores.chroma, foreign_stores.mem0_history]
)
def test_every_tools_store_shows_its_repeat_its_stale_statement_and_its_junk(make: Any, tmp_path: Path) -> None:
    report = looked_at(read(make(tmp_path / "store")))
    found = [example.texts for topic in ("exact", "stale", "junk") for example in examples(report, topic)]
    assert (any(text[:2] == REPEAT for text in found), CONFLICT in found, ("ok, thanks",) in found) == (
        True,
        True,
        True,
    )
    assert (report.stale, report.junk, report.near) == (1, 1, 0)


def test_taking_over_goes_through_the_gate_and_twice_is_once(tmp_path: Path) -> None:
    """I5, and the ids of the source stay as provenance."""
    path = foreign_stores.mem0(tmp_path / "mem0")
    with wellkept.open("memory:", embedder="hashing") as store:
        first = store.take_over(owned(read(path), store.namespace))
        entries = store.in_namespace("default/alice").stats().journal
        again = store.take_over(owned(read(path), store.namespace))
        assert first.counts["duplicate"] == 1  # the other spelling
        assert first.counts["rejected"] == 1  # the junk
        assert again.counts == {"replayed": 9}
        assert store.in_namespace("default/alice").stats().journal == entries
        kept = store.in_namespace("default/alice").list()
        assert all(memory.provenance[0].startswith("mem0:") for memory in kept)
        assert kept[0].created_at < kept[-1].created_at
        assert store.namespaces() == ("default/alice", "default/bob")


def test_rows_that_are_not_taken_are_handed_back(tmp_path: Path) -> None:
    bad: list[Mapping[str, Any]] = []
    with wellkept.open("memory:", embedder="hashing") as store:
        rows = owned(read(foreign_stores.chroma(tmp_path / "c"), spec=ImportSpec()), store.namespace)
        report = store.take_over(rows, reject=bad.append)
    assert [row["message"] for row in bad] == ["has a vector but no document (bare)."]
    assert len(report.errors) == 1
