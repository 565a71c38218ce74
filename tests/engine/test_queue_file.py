"""The queue file: acknowledged writes survive a crash, and writes that are done are removed (S0-45, I1, I5)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from stores import desk
from wellkept.engine.base import queue_ledger
from wellkept.engine.base.queue_ledger import FileLedger
from wellkept.errors import ReadOnly
from wellkept.policy import Policy
from wellkept.types import NewMemory


def contents(table):
    return [memory.content for memory in table.store.list()]


def queue_file(table) -> Path:
    return table.path.with_name(table.path.name + ".queue")


def test_a_process_that_died_between_the_write_and_its_mark_writes_nothing_twice(tmp_path):
    """I5: the key of a queued write makes its second turn a no-op."""
    table = desk("sqlite", tmp_path)
    table.store.queue.remember("one", kind="thesis")
    kept = queue_file(table).read_bytes()
    table.store.queue.flush()
    queue_file(table).write_bytes(kept)
    told = table.store.queue.flush()
    assert "Already done" in told.results[0].message
    assert contents(table) == ["one"]
    table.store.close()


def test_a_write_that_was_taken_back_does_not_come_out_of_the_queue_again(tmp_path):
    """I5: a process died between the write and its mark, and before the next flush the write was undone."""
    table = desk("sqlite", tmp_path)
    table.store.queue.remember("one", kind="thesis")
    table.store.queue.remember("two", kind="thesis")
    kept = queue_file(table).read_bytes()
    table.store.undo(table.store.queue.flush().results[0].entry)
    queue_file(table).write_bytes(kept)
    assert [result.memory.content for result in table.store.queue.flush().results] == ["two"]
    assert contents(table) == ["two"] and table.store.queue.pending() == ()
    table.store.close()


def test_a_put_that_is_refused_keeps_none_of_its_writes(tmp_path, monkeypatch):
    """A write refused because of a full disk is repeated, so its first half must not remain (I5)."""
    table = desk("sqlite", tmp_path)
    table.store.queue.remember("before", kind="thesis")
    whole = queue_ledger.write

    def half(handle, text):
        whole(handle, text[: len(text) * 2 // 3])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(queue_ledger, "write", half)
        with pytest.raises(ReadOnly, match="No space left"):
            table.store.queue.put([NewMemory(content=f"thesis {number}", kind="thesis") for number in range(3)])
    assert [one.statement["content"] for one in table.store.queue.pending()] == ["before"]
    table.store.close()


@pytest.mark.skipif(os.name != "posix", reason="a folder cannot be synced there")
def test_a_new_file_is_on_the_disk_with_its_name(tmp_path, monkeypatch):
    """S0-45: a file whose name is lost in a power cut is lost."""
    ledger = FileLedger(tmp_path / "q")
    table = desk("memory", tmp_path)
    object.__setattr__(table.store._ctx, "ledger", ledger)
    synced, sync = [], os.fsync

    def watched(handle):
        synced.append(os.fstat(handle).st_ino)
        sync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    folder = tmp_path.stat().st_ino
    table.store.queue.remember("one", kind="thesis", links=["nobody"])
    assert synced == [(tmp_path / "q").stat().st_ino, folder]
    table.store.queue.remember("two", kind="thesis")
    synced.clear()
    table.store.queue.flush()  # puts a new file into the place of the old one
    assert synced[-2:] == [(tmp_path / "q").stat().st_ino, folder]


def test_a_line_cut_off_by_a_crash_is_none_and_spoils_no_other(tmp_path):
    """A write that was not acknowledged may be missing; what follows it may not."""
    table = desk("sqlite", tmp_path)
    queue = table.store.queue
    queue.remember("one", kind="thesis")
    with queue_file(table).open("ab") as file:
        file.write(b'{"put":{"id":"x","content')
    queue.remember("two", kind="thesis")
    queue.flush()
    assert contents(table) == ["one", "two"]
    table.store.close()


@pytest.mark.parametrize(
    "line",
    [b"[]", b"3", b'{"put":{}}', b'{"put":3}', b"\xff\xfe", b'{"done":"nobody"}', b"[" * 5000,
     b'{"put":{"id":"x","namespace":"n","attempts":' + b"9" * 5000 + b"}}"],
)  # fmt: skip
def test_a_damaged_line_is_passed_over(tmp_path, line):
    table = desk("sqlite", tmp_path)
    queue_file(table).write_bytes(line + b"\n")
    table.store.queue.remember("one", kind="thesis")
    assert len(table.store.queue.flush().results) == 1
    table.store.close()


@pytest.mark.parametrize(
    "damage",
    [{"attempts": "x"}, {"id": []}, {"namespace": 3}, {"session": {}}, {"actor": None}, {"at": 3}, {"statement": "x"},
     {"on_conflict": "bogus"}, {"on_conflict": []}, {"namespace": "/"}, {"statement": {"content": 5}},
     {"at": "0001-01-01T00:00:00+14:00"}, {"at": "9999-12-31T23:59:59-14:00"}, {"at": "9999-12-31T23:59:59Z"},
     {"statement": {"content": "x", "metadata": json.loads("[" * 150 + "]" * 150)}}],
)  # fmt: skip
def test_a_line_with_a_damaged_field_keeps_no_other_from_being_written(tmp_path, damage):
    """I1: neither the flush nor the next `open` may fail for it."""
    table = desk("sqlite", tmp_path)
    table.store.queue.remember("bad", kind="thesis")
    table.store.queue.remember("good", kind="thesis")
    bad, good = map(json.loads, queue_file(table).read_text().splitlines())
    table.store.close()
    bad["put"].update(damage)
    queue_file(table).write_text("".join(json.dumps(line) + "\n" for line in (bad, good)))
    again = desk("sqlite", tmp_path)
    assert contents(again) == ["good"]
    # What names its place is listed there, with what was said, and can be dropped; also when it was rewritten.
    listed = again.store.queue.failed()
    assert len(listed) == (0 if {"id", "namespace"} & set(damage) else 1)
    for one in listed:
        assert one.error and one.statement["content"]
        again.store.queue.drop(one.id)
    assert again.store.queue.pending() == ()
    again.store.close()


def test_the_file_holds_no_text_once_all_is_written_and_is_for_its_owner_only(tmp_path):
    """A text that is erased later must not remain here (I1)."""
    table = desk("sqlite", tmp_path)
    table.store.queue.remember("My PIN is 4711.", kind="note")
    if os.name == "posix":
        assert queue_file(table).stat().st_mode & 0o777 == 0o600
    table.store.queue.flush()
    assert queue_file(table).read_bytes() == b""
    table.store.close()


def test_what_is_written_leaves_the_file_although_another_write_waits_on(tmp_path):
    """A text that is erased later must not remain here (I1), even if another write always fails."""
    table = desk("sqlite", tmp_path)
    table.store.queue.remember("fails", kind="thesis", links=["nobody"])
    table.store.queue.remember("My PIN is 4711.", kind="note")
    table.store.queue.flush()
    assert b"4711" not in queue_file(table).read_bytes()
    assert [(one.statement["content"], one.attempts) for one in table.store.queue.pending()] == [("fails", 1)]
    table.store.close()


def test_what_a_crash_left_between_mark_and_end_of_a_flush_leaves_the_file_at_the_next_open(tmp_path):
    table = desk("sqlite", tmp_path)
    table.store.queue.remember("My PIN is 4711.", kind="note")
    table.store._ctx.ledger.settle([table.store.queue.pending()[0].id], {}, namespace="default")
    assert b"4711" in queue_file(table).read_bytes()
    table.store.close()
    desk("sqlite", tmp_path).store.close()
    assert queue_file(table).read_bytes() == b""


def test_a_flush_reads_the_file_as_often_for_many_conversations_as_for_one(tmp_path, monkeypatch):
    """Its time grows linearly with the number of queued writes."""
    table = desk("sqlite", tmp_path)
    read, whole = [], queue_ledger._whole
    monkeypatch.setattr(queue_ledger, "_whole", lambda handle: read.append(handle) or whole(handle))
    counts = []
    for conversations in (1, 20):
        read.clear()
        for number in range(conversations):
            table.store.in_session(f"chat {number}").queue.remember(f"{conversations} {number}", kind="thesis")
        assert len(table.store.queue.flush().results) == conversations
        counts.append(len(read))
    assert counts[0] == counts[1]
    table.store.close()


def test_a_flush_tells_its_results_although_the_file_cannot_be_made_smaller(tmp_path, monkeypatch):
    table = desk("sqlite", tmp_path)
    table.store.queue.remember("fails", kind="thesis", links=["nobody"])
    table.store.queue.remember("one", kind="thesis")

    def full(*paths):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        told = table.store.queue.flush()
    assert (len(told.results), len(told.failed)) == (1, 1)
    assert not list(tmp_path.glob("*.new"))
    assert [one.statement["content"] for one in table.store.queue.pending()] == ["fails"]
    table.store.close()


def test_a_file_that_is_mostly_done_is_written_anew_although_something_failed(tmp_path):
    """A write that can only fail must not make the file grow for ever."""
    ledger = FileLedger(tmp_path / "q")
    table = desk("memory", tmp_path)
    from dataclasses import replace

    object.__setattr__(table.store._ctx, "ledger", ledger)
    queue = table.store.queue
    queue.remember("fails", kind="thesis", links=["nobody"])
    one = ledger.waiting()[0]
    ledger.put([replace(one, id=str(number), statement={"content": "x" * 1000}) for number in range(400)])
    ledger.settle([str(number) for number in range(400)], {}, namespace="default")
    ledger.tidy()
    assert (tmp_path / "q").stat().st_size < 2_000
    assert ledger.waiting() == (one,)
    assert [json.loads(line)["put"]["id"] for line in (tmp_path / "q").read_text().splitlines()] == [one.id]


def test_writes_meant_for_another_store_of_the_same_name_stay_where_they_are(tmp_path):
    """I8: the queue file of a former store is not written into a new store of the same name."""
    first = desk("sqlite", tmp_path)
    first.store.queue.remember("one", kind="thesis")
    first.store.close()
    for file in tmp_path.glob("memory.db*"):
        if not file.name.endswith(".queue"):
            file.unlink()
    second = desk("sqlite", tmp_path)
    assert contents(second) == [] and second.store.queue.pending() == ()
    second.store.close()


def test_a_policy_that_no_longer_knows_the_kind_makes_a_listed_failure(tmp_path):
    first = desk("sqlite", tmp_path, policy=Policy.from_toml('[kinds.rumour]\npreset = "append_only"\n'))
    first.store.queue.remember("one", kind="rumour")
    first.store.close()
    second = desk("sqlite", tmp_path)
    assert [one.error.split(":")[0] for one in second.store.queue.failed()] == ["UnknownKind"]
    second.store.close()


def test_every_field_of_a_write_comes_back_from_the_file(tmp_path):
    """S0-28."""
    table = desk("sqlite", tmp_path)
    given = {
        "title": "T", "subject": "006", "attribute": "status", "tags": ["a", "b"], "importance": 0.9,
        "confidence": 0.4, "polarity": -1, "event_time": "2026-01-01T00:00:00+00:00", "source": "desk",
        "metadata": {"k": [1, {"ä": None}]}, "trigger": "when it rains", "signals": {"btc": 1.5}, "pinned": True,
        "expires_at": "2030-01-01T00:00:00+00:00",
    }  # fmt: skip
    new = NewMemory(
        content="one\n二", kind="thesis", **{**given, "tags": ("a", "b"), "event_time": None, "expires_at": None}
    )
    table.store.queue.remember(new, **{name: given[name] for name in ("event_time", "expires_at")})
    direct = table.store.in_namespace("direct").remember("one\n二", kind="thesis", **given).memory
    queued = table.store.queue.flush().results[0].memory
    same = [name for name in NewMemory.__dataclass_fields__ if hasattr(direct, name)]
    assert {name: getattr(queued, name) for name in same} == {name: getattr(direct, name) for name in same}
    table.store.close()
