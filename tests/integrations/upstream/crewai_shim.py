"""Puts `WellkeptStorage` where CrewAI's own tests expect its LanceDB storage; a plugin for their pytest run."""

from __future__ import annotations

from typing import Any

import crewai.memory.storage.lancedb_storage as module

import wellkept
from wellkept.integrations.crewai import WellkeptStorage

_OPEN: dict[str, wellkept.MemoryStore] = {}


class LanceDBStorage(WellkeptStorage):
    """Opened as the LanceDB storage is; two storages of one path share their records."""

    def __init__(self, path: Any = None, **options: Any) -> None:
        name = str(path or "")
        if not name or name not in _OPEN:
            _OPEN[name] = wellkept.open(f"{name}.db" if name else "memory:", embedder="hashing")
        super().__init__(_OPEN[name])


module.LanceDBStorage = LanceDBStorage  # type: ignore[misc]
