"""Erasing: the one verb that removes content, and removes it from everywhere (I1)."""

from __future__ import annotations

import json

import pytest

from letter import to_the_letter
from wellkept.core.records.codec import dumps, to_plain
from wellkept.errors import IllegalTransition, NotFound
from wellkept.policy import Policy
from wellkept.types import ALL_STATUSES, Filter, NewMemory

SECRET = "zebrafinch"
"""A word that stands in every text, title, tag and field that must be gone."""
UMLAUT = "Grünfink„Ж"
TEXT = f"The password of the {SECRET} {UMLAUT} account is hunter2"


def traces(table):
    """Everything the store tells about itself, as one text."""
    store = table.store
    parts = [dumps(to_plain(row)) for row in store.list(Filter(statuses=ALL_STATUSES))]
    parts += [dumps(to_plain(entry)) for entry in store.journal()]
    parts += [dumps(to_plain(item)) for item in store.conflicts(settled=True)]
    for row in store.list(Filter(statuses=ALL_STATUSES)):
        parts += [dumps(to_plain(version)) for version in store.history(row.id)]
    target = table.folder / "out.jsonl"
    store.export(target)
    parts.append(target.read_text("utf-8"))
    target.unlink()
    return "\n".join(parts)


def raw_bytes(table):
    """The bytes of the database and of its log; nothing for a store in memory."""
    if table.path is None:
        return b""
    files = sorted(table.path.parent.glob(table.path.name + "*"))
    assert table.path in files
    return b"\n".join(file.read_bytes() for file in files)


def assert_gone(table, *words):
    told = traces(table)
    held = raw_bytes(table)
    for word in words:
        assert word not in told
        assert word.encode() not in held
        assert json.dumps(word)[1:-1].encode() not in held
        assert word.casefold().encode() not in held.lower()


def secret(table, **fields):
    values = {
        "title": f"{SECRET} title", "summary": f"{SECRET} summary", "subject": f"{SECRET} subject",
        "attribute": f"{SECRET} attribute", "tags": [f"{SECRET} tag"], "source": f"{SECRET} source",
        "metadata": {f"{SECRET} key": f"{SECRET} value"}, "trigger": f"{SECRET} trigger",
        "signals": {"s": f"{SECRET} signal"}, "provenance": [f"{SECRET} provenance"], "agent": f"{SECRET} agent",
    }  # fmt: skip
    return table.store.remember(TEXT, **{**values, **fields}).memory


def test_nothing_that_was_said_is_left_anywhere(table):
    """I1: rows, search, history, journal, conflicts, export, and the bytes of the files."""
    row = secret(table)
    table.store.remember("A text about something else")
    assert SECRET in traces(table)
    entry = table.store.erase(row.id)
    assert entry == table.store.journal()[-1].seq
    assert_gone(table, SECRET, UMLAUT, "hunter2")
    assert table.store.recall(f"password {SECRET}") == () or SECRET not in str(table.store.recall(f"password {SECRET}"))


def test_a_tombstone_remains(table):
    row = secret(table, kind="lesson")
    table.clock.advance(days=1)
    table.store.erase(row.id)
    left = table.store.get(row.id)
    assert (left.id, left.kind, left.status, left.created_at) == (row.id, "lesson", "erased", row.created_at)
    assert (left.content, left.title, left.subject, left.tags, left.metadata, left.embedding) == (
        "",
        "",
        "",
        (),
        {},
        "",
    )
    assert left.updated_at == table.clock() and left.version == row.version + 1
    assert table.store.list() == ()
    assert [item.memory for item in table.store.history(row.id)][-1].status == "erased"


def test_erasing_twice_is_nothing_and_erasing_nobody_is_an_error(table):
    row = secret(table)
    table.store.erase(row.id)
    before = table.snapshot()
    assert table.store.erase(row.id) == 0
    assert table.snapshot() == before
    with pytest.raises(NotFound):
        table.store.erase("00000000-gone")


def test_the_same_text_afterwards_is_new(table):
    """Its hashes went with it."""
    row = secret(table)
    table.store.erase(row.id)
    again = table.store.remember(TEXT)
    assert again.outcome == "created"
    assert again.memory.id != row.id
    assert table.store.get(row.id).status == "erased"


def test_former_versions_of_a_grown_memory_go_too(table):
    """B-7 keeps old texts in the journal; erasing takes them."""
    table.near("Deploys are started by hand", f"Ask the {SECRET} team first", 0.8)
    row = table.store.remember("Deploys are started by hand", kind="knowledge").memory
    grown = table.store.remember(f"Ask the {SECRET} team first", kind="knowledge")
    assert grown.outcome == "evolved"
    table.store.revise(row.id, content="Deploys are automatic", title="harmless")
    assert SECRET in traces(table)
    table.store.erase(row.id)
    assert_gone(table, SECRET, "started by hand", "automatic")


@pytest.mark.parametrize(("policy", "outcome"), [(Policy(), "restated"), (to_the_letter(), "duplicate")])
def test_texts_kept_or_dropped_as_its_repeats_go_too(make, policy, outcome):
    """A wording, or a dropped text, says the same as the erased one."""
    table = make(policy=policy)
    old = f"The {SECRET} build runs in a container"
    new = f"A container is where the {SECRET} build runs"
    table.near(NewMemory(content=old, kind="lesson"), NewMemory(content=new, kind="lesson"), 0.97)
    row = table.store.remember(old, kind="lesson").memory
    repeat = table.store.remember(new, kind="lesson")
    assert (repeat.outcome, repeat.memory.id) == (outcome, row.id)
    text = repeat.dropped or next(one.id for one in table.store.list(Filter(statuses=("wording",))))
    assert SECRET in traces(table)
    table.store.erase(row.id)
    assert_gone(table, SECRET)
    with pytest.raises((NotFound, IllegalTransition)):
        table.store.restore(text)


def test_excerpts_in_conflicts_go_too(table):
    old, new = f"Use {SECRET} for linting", "Use flake8 for linting"
    table.near(old, new, 0.9)
    row = table.store.remember(old).memory
    other = table.store.remember(new)
    assert len(other.conflicts) == 1
    table.store.erase(row.id)
    assert_gone(table, SECRET)
    assert table.store.conflicts(settled=True) == ()
    assert table.store.get(other.memory.id).content == new


def test_titles_and_words_in_what_others_journaled_about_it_go_too(table):
    """Matches of other memories' entries quote the erased one."""
    old, near = f"Rotate the {SECRET} keys every quarter", "Signing keys are changed four times a year"
    clash = "Rotate the flamingo keys every quarter"
    for one, other, cosine in ((old, near, 0.92), (old, clash, 0.99), (near, clash, 0.91)):
        table.near(NewMemory(content=one, kind="lesson"), NewMemory(content=other, kind="lesson"), cosine)
    row = table.store.remember(old, kind="lesson", title="").memory
    linked = table.store.remember(near, kind="lesson")
    clashing = table.store.remember(clash, kind="lesson")
    assert any(match.memory_id == row.id for match in linked.matches)
    assert SECRET in str(clashing.matches)
    table.store.erase(row.id)
    assert_gone(table, SECRET)
    assert {item.memory.id for item in table.store.neighbors(linked.memory.id)} <= {clashing.memory.id}
    assert table.store.get(clashing.memory.id).content == clash


def test_a_superseded_and_its_successor_are_erased_one_by_one(table):
    old = table.store.remember(f"status {SECRET}", kind="fact", subject="006").memory
    new = table.store.remember("is shipped", kind="fact", subject="006").memory
    table.store.erase(old.id)
    assert_gone(table, SECRET)
    assert table.store.get(new.id).content == "is shipped"
    table.store.erase(new.id)
    assert_gone(table, SECRET, "shipped")


@pytest.mark.parametrize("verb", ["restore", "revise", "undo", "forget", "supersede"])
def test_nothing_brings_erased_content_back(table, verb):
    created = table.store.remember(TEXT)
    other = table.store.remember("A text about something else").memory
    row = created.memory
    table.store.revise(row.id, title=f"{SECRET} title")
    table.store.erase(row.id)
    before = table.snapshot()
    with pytest.raises(IllegalTransition):
        match verb:
            case "restore":
                table.store.restore(row.id)
            case "revise":
                table.store.revise(row.id, content="x")
            case "undo":
                table.store.undo(created.entry)
            case "forget":
                table.store.forget(row.id)
            case "supersede":
                table.store.supersede(row.id, other.id)
    assert table.snapshot() == before


def test_an_erasure_itself_cannot_be_taken_back(table):
    row = secret(table)
    entry = table.store.erase(row.id)
    with pytest.raises(IllegalTransition):
        table.store.undo(entry)


def test_an_imported_text_is_erased_like_any_other(table, tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"content": TEXT}) + "\n", "utf-8")
    table.store.import_(source)
    source.unlink()
    (row,) = table.store.list()
    table.store.erase(row.id)
    assert_gone(table, SECRET, UMLAUT)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (f"The {SECRET} export is done, as ever", {"kind": "decision", "automatic": True, "frame": "question"}),
        (f"{SECRET} {SECRET}", {"kind": "note"}),
    ],
)
def test_a_text_that_was_refused_can_be_erased_too(table, text, fields):
    """I1: a refused text is in the journal, so erasing must remove it."""
    table.store.remember("a fine note", kind="note")
    if fields["kind"] == "note":
        table.store.remember(text, kind="note")
        dropped = table.store.remember(text.upper(), kind="note").dropped
    else:
        dropped = table.store.remember(text, **fields).dropped
    words = [text.upper()] if fields["kind"] == "note" else [SECRET]
    assert words[0] in traces(table)
    entry = table.store.erase(dropped)
    assert entry == table.store.journal()[-1].seq
    told, held = traces(table), raw_bytes(table)
    assert words[0] not in told and words[0].encode() not in held
    with pytest.raises(NotFound):
        table.store.restore(dropped)
    assert table.store.verify() == ()


def test_others_are_left_as_they_are(table):
    kept = table.store.remember("A text about something else").memory
    row = secret(table)
    table.store.link(kept.id, row.id)
    table.store.erase(row.id)
    assert table.store.get(kept.id, touch=False) == kept
    assert table.store.neighbors(kept.id) == ()
    assert table.store.verify() == ()
    assert [hit.memory.id for hit in table.store.recall("something else")] == [kept.id]


def test_two_memories_of_the_same_text_do_not_take_each_other_along(table):
    """The vector is shared by text; erasing one keeps the other findable."""
    first = table.store.remember("Signal at noon", kind="signal").memory
    second = table.store.remember("Signal at noon", kind="signal").memory
    table.store.erase(first.id)
    assert [hit.memory.id for hit in table.store.recall("Signal at noon")] == [second.id]
    assert "cosine" in table.store.recall("Signal at noon")[0].parts
    assert table.store.verify() == ()
