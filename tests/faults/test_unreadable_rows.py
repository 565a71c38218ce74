"""A file in which the rows of one namespace cannot be read: all other namespaces, and the store as a whole, go on."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from stores import desk
from wellkept.engine.base.paging import pages
from wellkept.engine.upkeep.job_queue import queue_of
from wellkept.engine.upkeep.jobs import errands
from wellkept.engine.upkeep.worker import work
from wellkept.errors import Corrupt, WellkeptError
from wellkept.types import ALL_STATUSES, Filter

HERS, HIS = "hers", "default"
NESTED = "[" * 300_000
DAMAGE = {
    "memories nested deeply": f"UPDATE memory SET record = '{NESTED}'",
    "a memory that is a list": "UPDATE memory SET record = '[]'",
    "a memory with a field too many": "UPDATE memory SET record = json_set(record, '$.colour', 'red')",
    "a content that is a number": "UPDATE memory SET record = json_set(record, '$.content', 5)",
    "a status nobody knows": "UPDATE memory SET record = json_set(record, '$.status', 'zombie')",
    "a polarity of 99": "UPDATE memory SET record = json_set(record, '$.polarity', 99)",
    "a confidence that is a text": "UPDATE memory SET record = json_set(record, '$.confidence', 'x')",
    "a confidence beyond all numbers": "UPDATE memory SET record = replace(record, '{', '{\"confidence\":1e999,')",
    "tags that are numbers": "UPDATE memory SET record = json_set(record, '$.tags', json('[1]'))",
    "updates that are none": "UPDATE memory SET record = json_set(record, '$.updates', json('[{}, 3]'))",
    "a time without room": "UPDATE memory SET record = json_set(record, '$.created_at', '0001-01-01T00:00:00+14:00')",
    "a time of another column": "UPDATE memory SET created = 4102444800000000",
    "a use at no time": "UPDATE memory SET last_accessed_at = 'noon'",
    "a stability beyond all numbers": "UPDATE memory SET stability = 9e999",
    "vectors of another length": "UPDATE vector SET vec = x'00'",
    "vectors without length": "UPDATE vector SET vec = zeroblob(length(vec))",
    "vectors that are not finite": "UPDATE vector SET vec = CAST(x'007e' || substr(vec, 3) AS BLOB)",
    "entries nested deeply": f"UPDATE journal SET record = '{NESTED}'",
    "entries that are lists": "UPDATE journal SET record = '[]'",
    "effects that are none": "UPDATE journal SET record = json_set(record, '$.effects', json('[3, {}]'))",
    "a verb that is a number": "UPDATE journal SET record = json_set(record, '$.verb', 3)",
    "a conflict nested deeply": f"INSERT INTO conflict SELECT ns, 'k', 'a', 'b', 0, '{NESTED}' FROM memory",
    "a link at no time": "INSERT INTO link SELECT ns, id, id, 'related', 'noon' FROM memory",
    "a counter moved back": "UPDATE namespace SET seq = 0",
    "a counter at its end": "UPDATE namespace SET seq = 9223372036854775807",
}


@pytest.mark.parametrize("name", DAMAGE)
def test_rows_that_cannot_be_read_stop_nothing_in_another_namespace(tmp_path: Path, name: str) -> None:
    """E3: open, recall, writes, the queue, workers, `verify` and `undo`; and `verify` tells of it."""
    table = desk("sqlite", tmp_path)
    table.store.in_namespace(HERS).remember("The boiler is in the cellar.")
    table.store.close()
    assert table.path is not None
    with sqlite3.connect(table.path) as file:
        file.execute(DAMAGE[name])
    file.close()
    his = desk("sqlite", tmp_path).store
    made = his.remember("The ferns need water.")
    his.queue.remember("waits", kind="thesis")
    assert len(his.queue.flush().results) == 1
    assert [hit.memory.content for hit in his.recall("ferns")][:1] == ["The ferns need water."]
    told = list(work(his._ctx, queue_of(his._ctx), errands(), stop=threading.Event(), once=True))
    assert {one.state for one in told if one.namespace == HIS} == {"done"}
    assert any(HERS in problem.what for problem in his.verify())
    his.undo(made.entry)
    hers = his.in_namespace(HERS)
    assert isinstance(hers.verify(), tuple)
    for act in (lambda: hers.recall("boiler"), hers.list, hers.journal, hers.conflicts, hers.stats):
        try:
            act()
        except WellkeptError as error:  # a typed error, and no other one
            assert str(error)
    his.close()


def test_pages_that_would_never_end_are_refused(tmp_path: Path) -> None:
    """The ordering column and the record have different times."""
    table = desk("sqlite", tmp_path)
    for number in range(3):
        table.store.remember(f"thesis {number}", kind="thesis")
    assert table.path is not None
    with table.store._ctx.storage.begin(HIS, write=False) as tx:
        assert sum(len(page) for page in pages(tx, Filter(statuses=ALL_STATUSES), size=1)) == 3
    with sqlite3.connect(table.path) as file:
        file.execute("UPDATE memory SET created = 4102444800000000")
    file.close()
    with table.store._ctx.storage.begin(HIS, write=False) as tx, pytest.raises(Corrupt, match="stored times"):
        list(pages(tx, Filter(statuses=ALL_STATUSES), size=1))
    table.store.close()
