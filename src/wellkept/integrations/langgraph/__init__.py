"""LangGraph: a `BaseStore` whose items are memories.

Example:
    >>> import wellkept
    >>> from wellkept.integrations.langgraph import WellkeptStore
    >>> with wellkept.open("memory:", embedder="hashing") as memories:
    ...     store = WellkeptStore(memories)
    ...     store.put(("memories", "ada"), "editor", {"text": "Ada writes her code in Helix."})
    ...     [item.value["text"] for item in store.search(("memories",), query="which editor")]
    ['Ada writes her code in Helix.']
"""

from __future__ import annotations

from wellkept.integrations.frameworks import need

need("langgraph")

from wellkept.integrations.langgraph.embeddings import LangChainEmbedder  # noqa: E402
from wellkept.integrations.langgraph.store import WellkeptStore  # noqa: E402

__all__ = ["LangChainEmbedder", "WellkeptStore"]
