"""The retriever gives memories as documents; the suite of `langchain-tests` is run by `make test-upstream`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import wellkept
from stores import EACH_BACKEND, desk
from wellkept.integrations.langchain import WellkeptRetriever


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_documents_are_memories_best_first(backend: str, tmp_path: Path) -> None:
    memories = desk(backend, tmp_path).store
    row = memories.remember("Tea is upstairs.", kind="note", tags=["home"], metadata={"from": "chat"}).memory
    for place in ("kitchen", "cellar"):
        memories.remember(f"Tea boxes lie in the {place}.", kind="note")
    assert row is not None
    retriever = WellkeptRetriever(memories=memories, k=2, min_score=0)
    found = retriever.invoke("tea upstairs")
    assert (found[0].id, found[0].page_content, len(found)) == (row.id, "Tea is upstairs.", 2)
    assert {"from": "chat", "kind": "note", "tags": ["home"]}.items() <= found[0].metadata.items()
    assert len(retriever.invoke("tea", k=3)) == 3 == len(asyncio.run(retriever.ainvoke("tea", k=3)))
    only = WellkeptRetriever(memories=memories, where=wellkept.Filter(tags=("home",)), min_score=0)
    assert [document.id for document in only.invoke("tea")] == [row.id]
