"""What another process writes between the look and the lock is seen by every item of a run (I3)."""

from __future__ import annotations

import pytest

from stores import desk
from wellkept.testing.embedder import FakeEmbedder

ITEMS = [{"content": "one", "kind": "note"}, {"content": "Use ruff for linting.", "kind": "note"}]


class Meanwhile(FakeEmbedder):
    """Runs a concurrent action while the texts are embedded."""

    then = None

    def embed(self, texts):
        act, self.then = self.then, None
        if act is not None:
            act()
        return super().embed(texts)


@pytest.mark.parametrize("key", ["", "k1"])
def test_a_later_item_of_a_run_sees_what_another_writer_stored_meanwhile(tmp_path, key):
    """I3, I5: also behind an item that this run itself has written."""
    fake = Meanwhile(dim=64)
    ours, theirs = desk("sqlite", tmp_path, fake=fake), desk("sqlite", tmp_path)
    items = [ITEMS[0], {**ITEMS[1], "idempotency_key": key}]
    fake.then = lambda: theirs.store.remember(**items[1])
    batch = ours.store.remember_many(items)
    assert [result.outcome for result in batch.results] == ["created", "duplicate"]
    assert [row.content for row in ours.store.list()] == ["Use ruff for linting.", "one"]
    for table in (ours, theirs):
        table.store.close()
