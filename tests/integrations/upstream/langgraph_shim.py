"""Puts `WellkeptStore` where LangGraph's own tests expect its SQLite store; a plugin for their pytest run.

`make test-upstream` runs those tests, which are in the sdist of `langgraph-checkpoint-sqlite`, in an environment of
their own. Names of the SQLite store that have no meaning here are absent or empty, so what tests them fails and is
counted.
"""

from __future__ import annotations

import sys
import types
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import wellkept
from wellkept.core.judging.calibration import IDENTITY
from wellkept.integrations.langgraph import LangChainEmbedder, WellkeptStore


class SqliteStore(WellkeptStore):
    """Opened as the SQLite store is; cosine alone ranks, because the tests compare scores with it."""

    index_config: Any = None
    embeddings: Any = None

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str, *, index: Any = None, ttl: Any = None) -> Iterator[Any]:
        model = LangChainEmbedder(index["embed"], index["dims"], calibration=IDENTITY) if index else "hashing"
        url = "memory:" if conn_string == ":memory:" else Path(conn_string)
        with wellkept.open(url, embedder=model) as memories:
            fields = (index or {}).get("text_fields") or ()
            store = cls(memories, fields=fields, mode="semantic" if index else "default", ttl=ttl)
            store.index_config, store.embeddings = index, index and index["embed"]
            yield store
            store.stop_ttl_sweeper()


class AsyncSqliteStore(SqliteStore):
    """The same with the verbs of the asynchronous store awaited."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str, **options: Any) -> AsyncIterator[Any]:
        with SqliteStore.from_conn_string.__func__(cls, conn_string, **options) as store:
            yield store

    async def setup(self) -> None:
        pass

    async def sweep_ttl(self) -> int:
        return super().sweep_ttl()

    async def start_ttl_sweeper(self, interval: float | None = None) -> None:
        super().start_ttl_sweeper(interval)

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        return SqliteStore.stop_ttl_sweeper(self, timeout)


def _module(name: str, **names: Any) -> None:
    module = types.ModuleType(name)
    module.__path__ = []  # type: ignore[attr-defined]
    module.__dict__.update(names)
    sys.modules[name] = module


def _absent(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("a part of the SQLite store that has no meaning here")


_module("langgraph.store.sqlite", SqliteStore=SqliteStore, AsyncSqliteStore=AsyncSqliteStore)
_module("langgraph.store.sqlite.aio", AsyncSqliteStore=AsyncSqliteStore)
_module(
    "langgraph.store.sqlite.base",
    NS_MATCH_FUNCTION="",
    BaseSqliteStore=_absent,
    SqliteIndexConfig=dict,
    SqliteStore=SqliteStore,
    _escape_glob_literal=_absent,
    _namespace_match_pattern=_absent,
)
