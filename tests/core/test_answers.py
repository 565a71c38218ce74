"""What an answer may be, and what it does in every situation: a table of answers and one of situations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest

from letter import to_the_letter
from wellkept.core.asking.answer_effects import ANSWERED, Material, effects_of
from wellkept.core.asking.answer_text import LONGEST, answer_of, choices_of, standard_form
from wellkept.core.records.conflicts import key_of
from wellkept.core.records.effects import invert, same_record
from wellkept.core.records.lifecycle import born_wording
from wellkept.errors import InvalidAnswer
from wellkept.policy import Policy
from wellkept.types import Conflict, ConflictChange, Effect, Link, LinkChange, Memory, MemoryChange

THEN = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOW = THEN + timedelta(hours=1)
NUMBERS = (1, 2, 3)

# ---- the grammar ----

READ = [
    ("new", "new"),
    (" NEW. ", "new"),
    ("repeats 1", "repeats 1"),
    ("Repeats 2, 1", "repeats 1,2"),
    ("repeats 1 2 1", "repeats 1,2"),
    ("repeats 01", "repeats 1"),
    ("replaces 3", "replaces 3"),
    ("replaces 1,2,3.", "replaces 1,2,3"),
    ("Replaces part of 2, 1.", "replaces part of 1,2"),
    ("outdated_by 2", "outdated by 2"),
    ("adds   to 1", "adds to 1"),
    ("keep both 1", "keep both 1"),
    ("not worth keeping", "not worth keeping"),
    ("replaces 1 and repeats 2", "repeats 2 and replaces 1"),
    ("repeats 2 and outdated by 1", "repeats 2 and outdated by 1"),
    ("keep both 1 and repeats 2", "repeats 2 and keep both 1"),
    ("adds to 1 and replaces 2,3", "replaces 2,3 and adds to 1"),
    ("keep both 3 and replaces 1", "replaces 1 and keep both 3"),
    ("replaces part of 1 and repeats 2", "repeats 2 and replaces part of 1"),
    ("replaces part of 3 and replaces 1", "replaces 1 and replaces part of 3"),
    ("adds to 2 and replaces part of 1", "replaces part of 1 and adds to 2"),
    ("keep both 2 and replaces part of 1", "replaces part of 1 and keep both 2"),
    ("keep both 3 and adds to 1", "adds to 1 and keep both 3"),
]
WRONG = [
    ("", "nothing is no answer"),
    (" . ", "nothing is no answer"),
    ("yes", "'yes' is no answer"),
    ("newer", "'newer' is no answer"),
    ("repeats", "needs the number of a candidate"),
    ("repeats , ", "is no answer"),
    ("replaces part of", "needs the number of a candidate"),
    ("replaces part 1", "is no answer"),
    ("repeats part of 1", "is no answer"),
    ("repeats 4", "there is no candidate 4"),
    ("repeats 0", "there is no candidate 0"),
    ("repeats 0001", "there is no candidate 0001"),
    ("repeats -1", "is no answer"),
    ("repeats ¹", "is no answer"),
    ("repeats " + "9" * 150, "there is no candidate 99999999;"),
    ("repeats one", "is no answer"),
    ("repeats 1;2", "is no answer"),
    ("new 1", "takes no number"),
    ("not worth keeping 1", "takes no number"),
    ("outdated by 1,2", "takes one number"),
    ("adds to 1,2", "takes one number"),
    ("keep both 1,2", "takes one number"),
    ("repeats 1 and replaces 1", "stands in both statements"),
    ("repeats 1 and repeats 2", "cannot both hold"),
    ("new and repeats 1", "cannot both hold"),
    ("repeats 1 and not worth keeping", "cannot both hold"),
    ("repeats 1 and adds to 2", "cannot both hold"),
    ("replaces 1 and outdated by 2", "cannot both hold"),
    ("outdated by 1 and adds to 2", "cannot both hold"),
    ("outdated by 1 and replaces part of 2", "cannot both hold"),
    ("replaces part of 1 and replaces 1", "stands in both statements"),
    ("outdated by 1 and keep both 2", "cannot both hold"),
    ("repeats 1 and replaces 2 and adds to 3", "at most two statements"),
    ("repeats 1 and", "is no answer"),
    ("and repeats 1", "is no answer"),
    ("new" + " " * LONGEST, "over 200 characters"),
    ("repeats 1\nreplaces 2", "is no answer"),
]


@pytest.mark.parametrize(("text", "form"), READ)
def test_an_answer_is_read_however_it_is_written(text: str, form: str) -> None:
    parts = answer_of(text, NUMBERS)
    assert standard_form(parts) == form
    assert answer_of(form, NUMBERS) == parts


@pytest.mark.parametrize(("text", "what"), WRONG)
def test_a_wrong_answer_says_what_is_wrong_and_lists_the_answers(text: str, what: str) -> None:
    with pytest.raises(InvalidAnswer, match=what) as caught:
        answer_of(text, NUMBERS)
    assert "not worth keeping" in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("numbers", [(), (1,), (1, 2, 4)])
def test_every_choice_of_a_form_is_an_answer(numbers: tuple[int, ...]) -> None:
    found = choices_of(numbers)
    assert (found[0], found[-1], len(found)) == ("new", "not worth keeping", 2 + 6 * len(numbers))
    assert all(len(answer_of(text, numbers)) == 1 for text in found)


# ---- what it does ----


def memory(name: str, text: str = "", **values: Any) -> Memory:
    made = {"namespace": "n", "kind": "fact", "created_at": THEN, "updated_at": THEN} | values
    return Memory(id=name, content=text or f"Text of {name}.", **made)


def mark(old: str, new: str, kind: str = "outdated", **values: Any) -> Conflict:
    made = {"reason": "value_diff", "similarity": 0.8, "created_at": THEN, "expires_at": THEN + timedelta(days=30)}
    return Conflict(key=key_of(old, new, kind), a=old, b=new, kind=kind, **(made | values))  # type: ignore[arg-type]


def situation(**values: Any) -> Material:
    made: dict[str, Any] = {
        "memory": memory("new"),
        "head": None,
        "numbers": {1: (memory("a"),), 2: (memory("b"),), 3: (memory("c"),)},
        "wordings": (),
        "links": (),
        "conflicts": (),
        "policy": Policy().for_kind("fact"),
        "supersedes": False,
        "opposites": Policy().opposites,
        "now": NOW,
    }
    return Material(**(made | values))


def folded() -> Material:
    """The memory is a wording of the first candidate; an act that is checked."""
    head = memory("a", confirmations=1, last_confirmed_at=THEN)
    behind, link = born_wording(memory("new"), head, at=THEN)
    others = {1: (head,), 2: (memory("b"),), 3: (memory("c"),)}
    return situation(memory=behind, head=head, numbers=others, links=(link,))


def with_wordings() -> Material:
    behind, link = born_wording(memory("said"), memory("new"), at=THEN)
    return situation(memory=memory("new", confirmations=1, last_confirmed_at=THEN), wordings=(behind,), links=(link,))


SITUATIONS: dict[str, Material] = {
    "nothing is noted": situation(),
    "the gate has set a mark": situation(
        conflicts=(mark("a", "new", probability=0.9),), links=(Link("new", "a", "may_update", THEN),)
    ),
    "a mark and an open conflict": situation(
        conflicts=(mark("a", "new", probability=0.9), mark("b", "new", "contradiction"), mark("c", "new", "duplicate")),
        links=(Link("new", "b", "may_restate", THEN), Link("c", "new", "may_update", THEN)),
    ),
    "the mark says the opposite": situation(conflicts=(mark("new", "a", probability=0.9),)),
    "a conflict was settled before": situation(
        conflicts=(mark("a", "new", "contradiction", resolution="keep_both", resolved_at=THEN),)
    ),
    "it is a wording": folded(),
    "it has wordings of its own": with_wordings(),
    "everything is pinned": situation(
        memory=memory("new", pinned=True),
        numbers={1: (memory("a", pinned=True),), 2: (memory("b", pinned=True),), 3: (memory("c"),)},
    ),
    "several candidates have one number": situation(
        numbers={1: (memory("a"), memory("a2")), 2: (memory("b"), memory("b2")), 3: (memory("c"),)},
        conflicts=(mark("a2", "new", "contradiction"), mark("b2", "new", probability=0.9)),
        links=(Link("a2", "a", "may_restate", THEN), Link("new", "a2", "may_restate", THEN)),
    ),
    "other kinds": situation(
        memory=memory("new", kind="episode"),
        policy=Policy().for_kind("episode"),
        numbers={1: (memory("a", kind="lesson"),), 2: (memory("b", kind="thesis"),), 3: (memory("c"),)},
    ),
    "other kinds with marks": situation(
        numbers={1: (memory("a", kind="lesson"),), 2: (memory("b", kind="thesis"),), 3: (memory("c"),)},
        conflicts=(mark("a", "new", probability=0.9), mark("b", "new", "contradiction")),
    ),
    "the policy to the letter": situation(policy=to_the_letter().for_kind("fact")),
    "a kind that evolves": situation(
        policy=Policy().for_kind("knowledge"),
        memory=memory("new", kind="lesson"),
        numbers={number: (memory(name, kind="lesson"),) for number, name in ((1, "a"), (2, "b"), (3, "c"))},
    ),
}
SITUATIONS |= {f"{name}, and superseding is allowed": replace(one, supersedes=True) for name, one in SITUATIONS.items()}
EVERY = list(dict.fromkeys([form for _, form in READ] + ["repeats 2", "repeats 3 and replaces 1", "outdated by 1"]))


class Records:
    """Rows, links and conflicts; an effect whose `before` is not what is there fails."""

    def __init__(self, material: Material) -> None:
        rows = [material.memory, *material.wordings, *(row for rows in material.numbers.values() for row in rows)]
        self.rows = {row.id: row for row in rows}
        self.links = {(one.src, one.dst, one.rel): one for one in material.links}
        self.conflicts = {one.key: one for one in material.conflicts}
        self.aliases: set[tuple[str, str]] = set()

    def take(self, effects: Sequence[Effect]) -> Records:
        for effect in effects:
            match effect:
                case MemoryChange(before, after):
                    one = (before or after).id  # type: ignore[union-attr]
                    assert same_record(self.rows.get(one), before), one
                    self._put(self.rows, one, after)
                case LinkChange(before_link, after_link):
                    link = before_link or after_link
                    assert link is not None
                    edge = (link.src, link.dst, link.rel)
                    assert self.links.get(edge) == before_link, edge
                    self._put(self.links, edge, after_link)
                case ConflictChange(before_conflict, after_conflict):
                    item = before_conflict or after_conflict
                    assert item is not None
                    assert self.conflicts.get(item.key) == before_conflict, item
                    self._put(self.conflicts, item.key, after_conflict)
                case _:
                    found = (effect.memory_id, effect.hash)
                    assert (found in self.aliases) != effect.present
                    (self.aliases.add if effect.present else self.aliases.remove)(found)
        return self

    @staticmethod
    def _put(shelf: dict[Any, Any], key: Any, value: Any) -> None:
        if value is None:
            del shelf[key]
        else:
            shelf[key] = value

    def open(self) -> set[tuple[str, str, str]]:
        return {(one.a, one.b, one.kind) for one in self.conflicts.values() if one.resolution is None}

    def state(self) -> Any:
        return self.rows, self.links, self.conflicts, self.aliases


def answered(material: Material, text: str) -> Records:
    return Records(material).take(effects_of(answer_of(text, material.numbers), material))


@pytest.mark.parametrize(("name", "text"), list(product(SITUATIONS, EVERY)))
def test_every_answer_leaves_every_situation_sound(name: str, text: str) -> None:
    """Effects fit, can be taken back, lose no text, and settle what was open between the memory and the candidates."""
    material = SITUATIONS[name]
    parts = answer_of(text, material.numbers)
    effects = effects_of(parts, material)
    before, after = Records(material), Records(material).take(effects)
    assert Records(material).take(effects).take([invert(one) for one in reversed(effects)]).state() == before.state()
    for one, row in before.rows.items():
        assert row.content in after.rows[one].content
        assert after.rows[one].pinned or not row.pinned or after.rows[one].status != "active"
    for row in after.rows.values():
        assert (row.status in ("superseded", "wording")) == bool(row.superseded_by) == (row.superseded_at is not None)
        if row.superseded_by:
            assert after.rows[row.superseded_by].status in ("active", "superseded", "archived")
            rel = ("supersedes", row.superseded_by, row.id) if row.status == "superseded" else None
            rel = rel or ("restates", row.id, row.superseded_by)
            assert (rel[1], rel[2], rel[0]) in after.links
        marks = [one for one in after.conflicts.values() if one.reason == ANSWERED and one.resolution is None]
        assert all(after.rows[end].status != "wording" for one in marks for end in (one.a, one.b))
        steps, seen = row, set()
        while steps.superseded_by:
            assert steps.id not in seen
            seen.add(steps.id)
            steps = after.rows[steps.superseded_by]
    for src, dst, rel in after.links:
        if rel == "restates":
            assert after.rows[src].superseded_by == dst
    if text != "not worth keeping":
        made = {(one.a, one.b) for one in after.conflicts.values() if one.reason == ANSWERED}
        assert {(a, b) for a, b, _ in after.open() if "new" in (a, b)} <= made
        assert not [edge for edge in after.links if "new" in edge[:2] and edge[2] in ("may_update", "may_restate")]


def settled(records: Records) -> dict[tuple[str, str, str], str]:
    return {(one.a, one.b, one.kind): one.resolution or "open" for one in records.conflicts.values()}


MARKED = "the gate has set a mark"
BUSY = "a mark and an open conflict"
SURE = ", and superseding is allowed"
OUTCOMES: list[tuple[str, str, dict[str, str], dict[tuple[str, str, str], str], set[tuple[str, str, str]]]] = [
    ("nothing is noted", "new", {}, {}, set()),
    (MARKED, "new", {}, {("a", "new", "outdated"): "dismissed"}, set()),
    (MARKED, "replaces 1", {}, {("a", "new", "outdated"): "open"}, set()),
    (MARKED, "outdated by 1", {}, {("new", "a", "outdated"): "open"}, set()),
    (MARKED + SURE, "replaces 1", {"a": "superseded by new"}, {("a", "new", "outdated"): "keep_new"},
     {("new", "a", "supersedes")}),
    (MARKED + SURE, "outdated by 1", {"new": "superseded by a"}, {("a", "new", "outdated"): "keep_old"},
     {("a", "new", "supersedes")}),
    (MARKED, "keep both 1", {}, {("a", "new", "outdated"): "keep_both", ("a", "new", "contradiction"): "keep_both"},
     {("new", "a", "contradicts")}),
    ("nothing is noted", "replaces part of 1", {}, {("a", "new", "contradiction"): "keep_both"},
     {("new", "a", "updates_part")}),
    (MARKED + SURE, "replaces part of 1", {},
     {("a", "new", "outdated"): "keep_both", ("a", "new", "contradiction"): "keep_both"},
     {("new", "a", "updates_part")}),
    (BUSY, "repeats 2 and replaces part of 1", {"new": "wording by b"},
     {("a", "new", "outdated"): "keep_both", ("b", "new", "contradiction"): "dismissed",
      ("c", "new", "duplicate"): "dismissed", ("a", "b", "contradiction"): "keep_both"},
     {("new", "b", "restates"), ("b", "a", "updates_part")}),
    (MARKED, "repeats 1", {"new": "wording by a"}, {("a", "new", "outdated"): "dismissed"},
     {("new", "a", "restates")}),
    (BUSY, "repeats 2 and replaces 1", {"new": "wording by b"},
     {("a", "new", "outdated"): "keep_new", ("b", "new", "contradiction"): "dismissed",
      ("c", "new", "duplicate"): "dismissed", ("a", "b", "outdated"): "open"}, {("new", "b", "restates")}),
    (BUSY + SURE, "repeats 2 and replaces 1", {"new": "wording by b", "a": "superseded by b"},
     {("a", "new", "outdated"): "keep_new", ("b", "new", "contradiction"): "dismissed",
      ("c", "new", "duplicate"): "dismissed"}, {("new", "b", "restates"), ("b", "a", "supersedes")}),
    (BUSY, "repeats 2 and outdated by 1", {"new": "wording by b"},
     {("a", "new", "outdated"): "keep_old", ("b", "new", "contradiction"): "dismissed",
      ("c", "new", "duplicate"): "dismissed", ("b", "a", "outdated"): "open"}, {("new", "b", "restates")}),
    ("it is a wording", "new", {"new": "active by "}, {("a", "new", "duplicate"): "keep_both"}, set()),
    ("it is a wording", "repeats 1", {}, {}, {("new", "a", "restates")}),
    ("it is a wording", "repeats 2", {"new": "wording by b"}, {("a", "new", "duplicate"): "keep_both"},
     {("new", "b", "restates")}),
    ("it is a wording", "not worth keeping", {"new": "archived by "}, {("a", "new", "duplicate"): "keep_both"}, set()),
    ("it has wordings of its own", "repeats 1", {"new": "wording by a", "said": "wording by a"}, {},
     {("new", "a", "restates"), ("said", "a", "restates")}),
    ("several candidates have one number", "replaces 2", {},
     {("a2", "new", "contradiction"): "dismissed", ("b2", "new", "outdated"): "open", ("b", "new", "outdated"): "open"},
     {("a2", "a", "may_restate")}),
    ("other kinds with marks", "adds to 1", {},
     {("a", "new", "outdated"): "dismissed", ("b", "new", "contradiction"): "dismissed"}, {("new", "a", "refines")}),
    ("a kind that evolves", "adds to 1", {"new": "wording by a"}, {}, {("new", "a", "restates")}),
    ("everything is pinned" + SURE, "outdated by 1", {"new": "superseded by a"}, {}, {("a", "new", "supersedes")}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "moved", "items", "links"), OUTCOMES)
def test_an_answer_does_what_it_says(
    name: str, text: str, moved: dict[str, str], items: dict[Any, str], links: set[tuple[str, str, str]]
) -> None:
    before, after = Records(SITUATIONS[name]), answered(SITUATIONS[name], text)
    placed = {one: f"{row.status} by {row.superseded_by}" for one, row in after.rows.items()}
    assert {one: said for one, said in placed.items() if said != _placed(before, one)} == moved
    assert settled(after) == items
    assert set(after.links) == links


def _placed(records: Records, one: str) -> str:
    return f"{records.rows[one].status} by {records.rows[one].superseded_by}"


def test_a_fold_is_confirmed_by_everything_that_said_it_before() -> None:
    after = answered(situation(memory=memory("new", confirmations=2, pinned=True)), "repeats 1,2")
    assert [after.rows[one].confirmations for one in ("a", "b", "c")] == [3, 1, 0]
    assert after.rows["a"].pinned


def test_a_memory_that_grows_keeps_the_added_text_and_its_tags() -> None:
    material = SITUATIONS["a kind that evolves"]
    after = answered(replace(material, memory=replace(material.memory, tags=("t",))), "adds to 1")
    assert after.rows["a"].content.endswith(material.memory.content)
    assert (after.rows["a"].tags, after.rows["a"].embedding) == (("t",), "")
    assert {memory_id for memory_id, _ in after.aliases} == {"a"}


@pytest.mark.parametrize(("name", "text"), list(product(SITUATIONS, EVERY)))
def test_the_same_answer_to_what_it_has_left_changes_nothing_more(name: str, text: str) -> None:
    """What stands as the answer says is left alone, so an answer has no second effect."""
    material = SITUATIONS[name]
    after = answered(material, text)
    rows = after.rows
    numbers = {number: tuple(rows[one.id] for one in found) for number, found in material.numbers.items()}
    active = all(one.status == "active" for found in numbers.values() for one in found)
    memory_now = rows[material.memory.id]
    if memory_now.status != "active" or not active or "adds to" in text:
        return
    again = replace(
        material, memory=memory_now, head=None, numbers=numbers, links=tuple(after.links.values()),
        conflicts=tuple(after.conflicts.values()), wordings=(),
    )  # fmt: skip
    assert effects_of(answer_of(text, material.numbers), again) == ()


def test_a_wording_whose_head_is_gone_is_a_memory_of_its_own_again() -> None:
    left = memory("new", status="wording", superseded_by="gone", superseded_at=THEN)
    (change, *rest) = effects_of(answer_of("new", NUMBERS), situation(memory=left))
    assert isinstance(change, MemoryChange) and change.after is not None
    assert (change.after.status, change.after.superseded_by, rest) == ("active", "", [])


def test_what_replaces_a_pinned_memory_is_pinned_too() -> None:
    numbers = {1: (memory("a", pinned=True),)}
    effects = effects_of(answer_of("replaces 1", (1,)), situation(numbers=numbers, supersedes=True))
    changed = {one.after.id: one.after for one in effects if isinstance(one, MemoryChange) and one.after is not None}
    assert (changed["new"].pinned, changed["a"].superseded_by) == (True, "new")
