"""Puts `WellkeptSession` where the OpenAI Agents SDK's own tests expect its SQLite session; a plugin for pytest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import agents
import agents.memory
from agents.memory.session_settings import coerce_session_settings

import wellkept
from wellkept.integrations.openai_agents import WellkeptSession

_OPEN: dict[str, wellkept.MemoryStore] = {}


class SQLiteSession(WellkeptSession):
    """Opened as the SQLite session is; two sessions of one file share its store."""

    def __init__(
        self, session_id: str, db_path: str | Path = ":memory:", *tables: str, session_settings: Any = None
    ) -> None:
        name = str(db_path)
        memory = name == ":memory:"
        if memory or name not in _OPEN:
            store = wellkept.open("memory:" if memory else name, embedder="hashing")
            _OPEN[name] = store
        settings = None if session_settings is None else coerce_session_settings(session_settings)
        super().__init__(session_id, _OPEN[name], session_settings=settings)

    def close(self) -> None:
        """The store stays open for the other sessions of the file."""


agents.SQLiteSession = agents.memory.SQLiteSession = SQLiteSession  # type: ignore[misc]
