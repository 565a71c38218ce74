"""LangChain: a retriever whose documents are memories."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from wellkept.integrations.frameworks import need
from wellkept.types import Filter, Hit, RecallMode

need("langchain")

from langchain_core.documents import Document  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402

if TYPE_CHECKING:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun


class WellkeptRetriever(BaseRetriever):
    """Current memories relevant to a query, as documents: id and text, with kind, date and score as metadata.

    Attributes:
        memories: An open store.
        k: Number of documents; `invoke` takes it too.
        where: Only memories that match this filter.
        mode: How they are ranked, as in `recall`.
        min_score: Least relevance; by default that of `recall`.

    Example:
        >>> import wellkept
        >>> from wellkept.integrations.langchain import WellkeptRetriever
        >>> with wellkept.open("memory:", embedder="hashing") as memories:
        ...     _ = memories.remember("The test database listens on port 5433.", kind="fact")
        ...     found = WellkeptRetriever(memories=memories).invoke("port of the test database")
        >>> found[0].page_content, found[0].metadata["kind"]
        ('The test database listens on port 5433.', 'fact')
    """

    memories: Any
    k: int = 5
    where: Filter | None = None
    mode: RecallMode = "default"
    min_score: float | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self._documents(query, k)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return await asyncio.to_thread(self._documents, query, k)

    def _documents(self, query: str, k: int | None) -> list[Document]:
        limit = self.k if k is None else k
        least = {} if self.min_score is None else {"min_score": self.min_score}
        hits = self.memories.recall(query, limit=limit, where=self.where, mode=self.mode, **least)
        return [_document(hit) for hit in hits]


def _document(hit: Hit) -> Document:
    row = hit.memory
    said = {
        "kind": row.kind,
        "subject": row.subject,
        "tags": list(row.tags),
        "created_at": row.created_at.isoformat(),
        "score": hit.score,
        "conflicts": [conflict.reason for conflict in hit.conflicts],
    }
    return Document(id=row.id, page_content=row.content, metadata={**row.metadata, **said})
