"""E2: an export is a backup, so every store made by public verbs can be imported again."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from wellkept.errors import IdempotencyMismatch, InvalidInput
from wellkept.policy import Policy

HAND, TEAM = "Deploys are started by hand", "Releases go through the platform team"
ROOM = "A room in the cellar holds the servers"
SMALL = replace(Policy(), max_content_chars=60)


def long_texts_in_conflict(make):
    """The caller's own judge has both texts kept as the difference."""
    old, new = "The build runs in a container. " * 40, "A container is where the build runs. " * 40
    table = make(contradiction_fn=lambda *_: True)
    table.near(old, new, 0.9)
    table.store.remember(old)
    (conflict,) = table.store.remember(new).conflicts
    assert sum(len(item.old + item.new) for item in conflict.differences) > 2_000
    return table


def evolved(make, first, second):
    table = make()
    table.near(HAND, TEAM, 0.8)
    table.store.remember(HAND, kind="knowledge", **first)
    row = table.store.remember(TEAM, kind="knowledge", **second)
    assert row.outcome == "evolved"
    return table, row.memory


def much_metadata(make):
    table, row = evolved(make, {"metadata": {"a": "x" * 40_000}}, {"metadata": {"b": "y" * 40_000}})
    assert len(json.dumps(dict(row.metadata))) > 64_000
    return table


def many_tags(make):
    table, row = evolved(
        make, {"tags": [f"a{number}" for number in range(900)]}, {"tags": [f"b{number}" for number in range(900)]}
    )
    assert len(row.tags) == 1_800
    return table


def an_end_before_the_event(make):
    """Each said one of the two."""
    table, row = evolved(make, {"event_end": "2020-01-01"}, {"event_time": "2021-01-01"})
    assert row.event_end < row.event_time
    return table


def an_evolved_text_that_another_absorbs(make):
    """The update is then longer than one text may be."""
    table = make(policy=SMALL)
    table.near(HAND, ROOM, 0.9)
    table.near(HAND, TEAM, 0.8)
    table.near(ROOM, TEAM, 0.72)
    table.store.remember(ROOM, kind="knowledge")
    flagged = table.store.remember(HAND, kind="knowledge", on_conflict="warn", contradiction_fn=lambda *_: True)
    (conflict,) = flagged.conflicts
    assert table.store.remember(TEAM, kind="knowledge").outcome == "evolved"
    table.store.resolve(conflict.key, "merge")
    assert any(len(item.text) > SMALL.max_content_chars for row in table.store.list() for item in row.updates)
    return table


def names_that_wait(make):
    """A joiner is part of Persian words; a name of 200 characters has brackets around it."""
    table = make()
    table.store.remember("See [[\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645]] and [[" + "n" * 200 + "]].")
    return table


@pytest.mark.parametrize(
    "filled",
    [
        long_texts_in_conflict, much_metadata, many_tags, an_end_before_the_event,
        an_evolved_text_that_another_absorbs, names_that_wait,
    ],
)  # fmt: skip
def test_what_the_verbs_make_is_imported_again_to_the_letter(make, tmp_path, filled):
    table = filled(make)
    table.store.export(tmp_path / "a.jsonl")
    other = make(name="other.db", fake=table.fake, **{k: v for k, v in table.options.items() if k == "policy"})
    other.store.import_(tmp_path / "a.jsonl")
    other.store.export(tmp_path / "b.jsonl")
    first, second = ((tmp_path / name).read_text("utf-8").splitlines()[1:] for name in ("a.jsonl", "b.jsonl"))
    assert second == first
    assert other.store.verify() == ()


def test_a_memory_that_differs_from_the_stored_one_is_refused_with_its_line(table, tmp_path):
    table.store.remember("Coffee is downstairs")
    row = table.store.remember("Tea is upstairs").memory
    table.store.export(tmp_path / "a.jsonl")
    table.store.revise(row.id, title="changed since")
    lines = (tmp_path / "a.jsonl").read_text("utf-8").splitlines()
    number = next(place for place, line in enumerate(lines, 1) if row.id in line)
    with pytest.raises(IdempotencyMismatch, match=f"line {number}"):
        table.store.import_(tmp_path / "a.jsonl")


def test_a_memory_that_none_there_or_in_the_file_supersedes_is_refused_with_its_line(table, tmp_path):
    old, new = (table.store.remember(text).memory for text in ("Tea is upstairs", "Tea is in the kitchen now"))
    table.store.supersede(old.id, new.id)
    table.store.export(tmp_path / "a.jsonl")
    lines = (tmp_path / "a.jsonl").read_text("utf-8").splitlines()
    left = [line for line in lines if json.loads(line).get("memory", {}).get("id") != new.id]
    (tmp_path / "b.jsonl").write_text("\n".join(left), encoding="utf-8")
    elsewhere = table.store.in_namespace("elsewhere")
    with pytest.raises(InvalidInput, match=r"does not exist \(line 2: superseded_by\)"):
        elsewhere.import_(tmp_path / "b.jsonl")
    assert elsewhere.journal() == ()
    assert dict(elsewhere.import_(tmp_path / "a.jsonl").counts) == {"created": 2}
    assert elsewhere.verify() == ()
