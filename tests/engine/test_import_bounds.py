"""E9, N9: an import keeps only a bounded part of any file in memory, and reported lines are written."""

from __future__ import annotations

import io
import json
import os
import random
import time
import tracemalloc

import pytest

import wellkept
from wellkept.engine.base import files, numbered_lines
from wellkept.engine.base.numbered_lines import LONGEST
from wellkept.engine.transfer.import_lines import MAX_VALUES, ImportSpec
from wellkept.errors import InvalidInput, NotFound, StorePathError

MIB = 1 << 20


@pytest.fixture
def store():
    with wellkept.open("memory:", embedder="hashing", relation_model="none") as opened:
        yield opened


class Endless:
    """A file of one byte many times over, which nobody has to keep."""

    def __init__(self, byte: bytes, size: int) -> None:
        self._block, self._left = byte * MIB, size

    def read(self, size: int) -> bytes:
        size = min(size, self._left, MIB)
        self._left -= size
        return self._block[:size]


def kept_in(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("block", [1, 2, 3, 7, 64])
def test_lines_and_their_numbers_are_those_of_python_whatever_the_blocks_are(block, monkeypatch):
    monkeypatch.setattr(numbered_lines, "_BLOCK", block)
    chance = random.Random(block)
    for _ in range(300):
        data = bytes(chance.choice(b"a b\n\n\r\x00") for _ in range(chance.randrange(40)))
        expected = [(number, line) for number, line in enumerate(io.BytesIO(data), start=1) if line.strip()]
        assert list(numbered_lines.numbered(io.BytesIO(data), "data")) == expected, data


@pytest.mark.parametrize(("byte", "count"), [(b"\0", 1), (b"x", 1), (b"\n", 0), (b"\r", 1), (b" ", 1)])
def test_a_hundred_megabytes_of_one_byte_take_a_bounded_time_and_memory(byte, count):
    tracemalloc.start()
    try:
        began = time.process_time()
        lines = list(numbered_lines.numbered(Endless(byte, 100 * MIB), "data"))
        took = time.process_time() - began
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(lines) <= count, peak < 4 * LONGEST, took < 10) == (True, True, True), (len(lines), peak, took)


def test_a_line_that_is_too_long_is_told_and_the_next_ones_are_read(table, tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_bytes(b'{"text": "One."}\n' + b"\0" * (LONGEST + 5) + b'\n\n{"text": "Four."}\n')
    report = table.store.import_(path)
    assert [row.content for row in table.store.list()] == ["One.", "Four."]
    assert [(error.index, error.error) for error in report.errors] == [(2, "InvalidInput")]
    assert os.path.getsize(report.rejects) < 10_000


def test_rejects_are_bounded_and_the_report_counts_all_of_them(table, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_MOST_REJECTS", 2_000)
    path = tmp_path / "bad.jsonl"
    path.write_text("no JSON\n" * 1_500, encoding="utf-8")
    report = table.store.import_(path)
    assert (report.failed, len(report.errors)) == (1_500, 1_000)
    kept = kept_in(report.rejects)
    assert os.path.getsize(report.rejects) < 3_000
    assert kept[0]["raw"] == "no JSON" and "not kept" in kept[-1]["message"]
    table.store.import_(path)  # they are still known for rejects of an import


def test_a_very_long_bad_line_is_kept_by_its_beginning(table, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text("x" * (2 * MIB) + "\n", encoding="utf-8")
    report = table.store.import_(path)
    [kept] = kept_in(report.rejects)
    assert (len(kept["raw"]), kept["cut"]) == (200, 2 * MIB)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_that_nobody_writes_to_is_refused_at_once(table, tmp_path):
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(StorePathError, match="pipe"):
        table.store.import_(pipe)


# --------------------------------------------------------------------------------------------
# Batches


def test_what_was_told_is_written_and_the_same_import_goes_on_from_there(table, tmp_path):
    """N9, I5: after a kill the committed part stays; the second run adds only the rest."""
    path = tmp_path / "in.jsonl"
    texts = [f"Fact number {number} about item{number}" for number in range(60)]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    told = []

    def kill(done, whole):
        told.append((done, whole, len(table.store.list())))
        if done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.store.import_(path, progress=kill)
    assert told and all(done == there and whole == 60 for done, whole, there in told)
    done = told[-1][0]
    report = table.store.import_(path)
    assert dict(report.counts) == {"replayed": done, "created": 60 - done}
    assert table.rows() == texts


def test_a_slow_batch_makes_the_next_one_smaller_and_a_quick_one_larger(table, tmp_path, monkeypatch):
    from wellkept.engine.transfer import importer

    clock = iter(float(10 * number) for number in range(10_000))
    monkeypatch.setattr(importer.time, "monotonic", lambda: next(clock))
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"text": f"About item{n}"}) + "\n" for n in range(20)), encoding="utf-8")
    seen = []
    table.store.import_(path, progress=lambda done, _: seen.append(done))
    assert seen == [8, 12, 14, 15, 16, 17, 18, 19, 20]


# --------------------------------------------------------------------------------------------
# Taking the last run back


def test_the_last_run_is_taken_back_and_then_the_one_before(table, tmp_path):
    """N11."""
    for number in range(2):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(json.dumps({"text": f"About item{number}"}) + "\n", encoding="utf-8")
        table.store.import_(path)
        table.store.import_(path)  # changes nothing, so it is no run
    table.store.remember("Said by an agent.")
    runs = table.store.runs()
    assert table.store.undo_run("last").run_id == runs[1].run_id
    assert table.store.undo_run("last").run_id == runs[0].run_id
    assert table.rows("active") == ["Said by an agent."]
    with pytest.raises(NotFound):
        table.store.undo_run("last")
    table.store.undo_run(f"undo-{runs[0].run_id}")
    assert table.store.undo_run("last").run_id == runs[0].run_id, "it stands again"


@pytest.mark.parametrize("inside", ["[],", "1,", '"",', '{"a":1},'])
def test_a_line_with_too_many_values_is_refused_by_name_and_the_next_one_is_read(store, tmp_path, inside):
    bad = '{"content": "x", "metadata": {"a": [' + inside * MAX_VALUES + "1]}}"
    (tmp_path / "lines.jsonl").write_text(f'{bad}\n{{"content": "Tea is upstairs."}}\n', encoding="utf-8")
    report = store.import_(tmp_path / "lines.jsonl")
    assert report.counts == {"created": 1}
    assert [error.message for error in report.errors] == [
        "the line holds more than 500000 values. Write one memory a line."
    ]
    header = '{"wellkept": 1, "namespace": "default", "seq": 1, "at": "2026-03-01T09:00:00+00:00"}'
    (tmp_path / "export.jsonl").write_text(f'{header}\n{{"memory": {bad}}}\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match="more than 500000 values"):
        store.import_(tmp_path / "export.jsonl")


def test_a_line_of_plain_text_has_no_values_to_count(store, tmp_path):
    (tmp_path / "notes.txt").write_text("," * (MAX_VALUES + 1) + "\n", encoding="utf-8")
    [error] = store.import_(tmp_path / "notes.txt", ImportSpec(plain=True)).errors
    assert error.error == "ContentTooLarge"


def test_the_largest_memory_that_can_be_written_comes_back_from_its_export(store, tmp_path):
    wide, labels = "\U0001f600", [f"{number:04d}" + "\U0001f600" * 496 for number in range(1_000)]
    values = {"k": [1] * 21_000}
    store.remember(
        f"word {wide} " * 25_000, kind="fact", summary=wide * 20_000, trigger=wide * 20_000, title=labels[0],
        tags=labels, provenance=labels, metadata=values, signals=values,
    )  # fmt: skip
    store.export(tmp_path / "export.jsonl")
    with wellkept.open(str(tmp_path / "other.db"), embedder="hashing", relation_model="none") as other:
        assert other.import_(tmp_path / "export.jsonl").counts == {"created": 1}
        assert other.list() == store.list()
