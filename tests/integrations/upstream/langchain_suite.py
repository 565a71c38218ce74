"""The standard tests of retrievers from `langchain-tests`, run by `make test-upstream`."""

from __future__ import annotations

from typing import Any

from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests

import wellkept
from wellkept.integrations.langchain import WellkeptRetriever

MEMORIES = wellkept.open("memory:", embedder="hashing")
for place in ("kitchen", "cellar", "attic", "garden"):
    MEMORIES.remember(f"The tea of the {place} lies in a {place} box.", kind="note")


class TestRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return WellkeptRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memories": MEMORIES, "min_score": 0}

    @property
    def retriever_query_example(self) -> str:
        return "tea box"
