"""Whether an integration lets the event loop go on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from typing import Any, TypeVar

import pytest

from wellkept import MemoryStore

T = TypeVar("T")


async def beside_a_slow_store(monkeypatch: pytest.MonkeyPatch, verb: str, act: Awaitable[T]) -> T:
    """The result of an act during which a verb of the store waits for the event loop.

    If the act held the loop up, the verb would wait in vain.
    """
    moved, waited, real = threading.Event(), list[bool](), getattr(MemoryStore, verb)

    def slow(self: MemoryStore, *args: Any, **options: Any) -> Any:
        waited.append(moved.wait(30))
        return real(self, *args, **options)

    monkeypatch.setattr(MemoryStore, verb, slow)
    asyncio.get_running_loop().call_later(0.01, moved.set)
    result = await act
    assert waited and all(waited), f"{verb} held up the event loop" if waited else f"{verb} was not called"
    monkeypatch.setattr(MemoryStore, verb, real)
    return result
