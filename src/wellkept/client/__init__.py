"""Python client of `wellkept serve`: the verbs of `MemoryStore` over HTTP, sync and async."""

from __future__ import annotations

from wellkept.client.asynchronous import AsyncClient
from wellkept.client.sync import Client

__all__ = ["AsyncClient", "Client"]
