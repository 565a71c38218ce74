"""Of several answers at once one counts; every store object and process sees it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import wellkept
from asked import Made, asked, opened, unsure
from stores import LASTING
from wellkept.core.asking.budget import opened as opened_question
from wellkept.core.asking.state import Asking, state_text
from wellkept.errors import AlreadyAnswered, WellkeptError
from wellkept.types import Chance, QuestionRecord


@pytest.mark.parametrize("same", [True, False])
def test_of_two_answers_at_once_one_counts(make: Made, *, same: bool) -> None:
    table = make()
    question = asked(table)
    said = ["replaces 1"] * 8 if same else ["replaces 1", "new"] * 4
    got: list[Any] = []
    gate = threading.Barrier(len(said))

    def answer(one: str) -> None:
        gate.wait()
        try:
            got.append(table.store.answer(question.id, one).entry)
        except WellkeptError as error:
            got.append(type(error))

    threads = [threading.Thread(target=answer, args=(one,)) for one in said]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert len([entry for entry in got if entry == 3]) == 1
    assert set(got) <= ({3, 0} if same else {3, 0, AlreadyAnswered})
    assert len(table.store.journal()) == 3
    assert len([entry for entry in table.store.journal() if entry.answers]) == 1


def test_an_answer_from_another_store_object_is_seen(tmp_path: Path) -> None:
    first = unsure(LASTING, tmp_path)
    question = asked(first)
    second = unsure(LASTING, tmp_path)
    try:
        assert second.store.answer(question.id, "repeats 1").entry == 3
        assert opened(first) == []
        assert first.store.answer(question.id, "repeats 1").entry == 0
        assert first.store.undo_answers().undone == (3,)
        assert opened(second) == [question.id]
    finally:
        first.store.close()
        second.store.close()


ANSWERING = """
import sys, wellkept
from wellkept.errors import AlreadyAnswered
store = wellkept.open(sys.argv[1], embedder="hashing", relation_model="none")
print("ready", flush=True)
sys.stdin.readline()
try:
    print(store.answer("q3", sys.argv[2]).entry)
except AlreadyAnswered:
    print("refused")
store.close()
"""


@pytest.mark.skipif(LASTING != "sqlite", reason="the processes share a file")
def test_of_two_processes_that_answer_at_once_one_counts(tmp_path: Path) -> None:
    path = tmp_path / "shared.db"
    with wellkept.open(path, embedder="hashing", relation_model="none") as store:
        old, new = store.remember("The hall was built by Ana.").memory, store.remember("Bo has the keys.").memory
        assert old is not None
        assert new is not None
        record = QuestionRecord(memory_id=new.id, chances=(Chance(old.id, 0.4, 0.2, 1),), worth=0.4)
        with store._ctx.storage.begin("default", write=True) as tx:
            first = tx.journal(seqs=(2,))[0]
            tx.apply(replace(first, seq=0, effects=(), asks=record, idempotency_key=""))
            tx.note_asking(state_text(Asking().with_question(opened_question(record, 3))))
    command = [sys.executable, "-c", ANSWERING, str(path)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    said = ("repeats 1", "replaces 1", "new")
    running = [
        subprocess.Popen([*command, one], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        for one in said
    ]
    for one in running:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in running:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    got = sorted(one.communicate(timeout=120)[0].strip() for one in running)
    assert got == ["4", "refused", "refused"]
    with wellkept.open(path, embedder="hashing", relation_model="none") as store:
        assert len([entry for entry in store.journal() if entry.answers]) == 1
        assert store.verify() == ()
