"""A store with vectors of an earlier release: it names the remedy, stays readable, and is then repaired."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import wellkept
from wellkept.cli.app import app
from wellkept.errors import EmbedderMismatch
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.port import Embedded

EARLIER = "minilm-l6-v2-int8@8199be6f/mean/256"
TEXTS = ("Backups run every night.", "The office is in Berlin.")


class EarlierEmbedder(MiniLmEmbedder):
    """The embedder under the id that its weights had before, with vectors that differ a little."""

    id = EARLIER
    chatter = None  # the head on chatter is fitted to the vectors of the present weights

    def embed(self, texts):
        return [
            Embedded(vector=answer.vector[::-1].copy(), chunks=answer.chunks, spelled=answer.spelled)
            for answer in super().embed(texts)
        ]


@pytest.mark.file
def test_a_store_of_an_earlier_release_is_embedded_again_and_keeps_all_it_holds(tmp_path) -> None:
    path = tmp_path / "agent.db"
    with wellkept.open(path, embedder=EarlierEmbedder()) as store:
        ids = [store.remember(text, kind="note").id for text in TEXTS]
        journal = [entry.verb for entry in store.journal()]
    with pytest.raises(EmbedderMismatch) as caught:
        wellkept.open(path)
    assert EARLIER in caught.value.what and "wellkept reembed" in caught.value.todo
    for command in ("list", "reembed"):
        assert CliRunner().invoke(app, ["--db", str(path), command]).exit_code == 0
    with wellkept.open(path) as store:
        assert [store.get(of).content for of in ids] == list(TEXTS)
        assert store.recall("Do backups run at night?", limit=1)[0].memory.id == ids[0]
        assert [entry.verb for entry in store.journal()] == [*journal, "reembed"]
        assert store.remember("backups run every NIGHT", kind="note").outcome == "duplicate"
