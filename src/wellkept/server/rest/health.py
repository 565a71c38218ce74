"""Whether the process lives, and whether it can be sent work."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Literal

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import NotPermitted, StorageError
from wellkept.server.rest.problems import MEDIA_TYPE, problem
from wellkept.server.rest.store_of_request import context_of

_PATIENCE = 1.0


class Health:
    """What is known of a server; `drain` is called when it begins to stop.

    Example:
        >>> health = Health()
        >>> health.drain()
        >>> health.draining
        True
    """

    def __init__(self) -> None:
        self._draining = threading.Event()

    @property
    def draining(self) -> bool:
        """Whether it is stopping: what has begun is finished, nothing new should be sent."""
        return self._draining.is_set()

    def drain(self) -> None:
        """Say from now on that nothing new should be sent."""
        self._draining.set()


class Readiness:
    """Whether a store answers, asked on a thread that no request has: those may all wait for a database that is gone.

    Args:
        store: What is asked.
        seconds: How long its answer is waited for.
    """

    def __init__(self, store: MemoryStore, *, seconds: float = _PATIENCE) -> None:
        self._store = store
        self._seconds = seconds
        self._own = CapacityLimiter(1)
        self._asking: asyncio.Task[str] | None = None

    async def trouble(self) -> str:
        """What is wrong, in a word; empty when the store answers.

        One question at a time, and whoever comes meanwhile shares its answer: anybody may ask without a token,
        and a store that says nothing must not get a thread for each who does.
        """
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
        answered, _ = await asyncio.wait({self._asking}, timeout=self._seconds)
        return "no answer in time" if not answered else self._asking.result()

    async def _ask(self) -> str:
        try:
            # Abandoned when the server ends: nobody reads the answer any more.
            await to_thread.run_sync(_ask, self._store, limiter=self._own, abandon_on_cancel=True)
        except StorageError as error:
            return type(error).__name__
        return ""


class Alive(BaseModel):
    """The process answers."""

    status: Literal["ok"] = "ok"


def health_routes(store: MemoryStore, health: Health) -> APIRouter:
    """`/healthz` and `/readyz`, open to everyone: they tell nothing of what is stored."""
    router = APIRouter(tags=["health"])
    readiness = Readiness(store)
    unready: dict[int | str, dict[str, Any]] = {
        503: {
            "description": "The store does not answer, or the server is stopping",
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
        }
    }

    @router.get("/healthz", operation_id="healthz", response_model=Alive, summary="Whether the process is alive")
    async def healthz() -> Alive:
        """Whether the process is alive. It does not check the store."""
        return Alive()

    @router.get(
        "/readyz",
        operation_id="readyz",
        response_model=Alive,
        responses=unready,
        summary="Whether requests can be served",
    )
    async def readyz() -> Alive | Response:
        """Whether requests can be served: the store answers, and the server is not stopping."""
        if health.draining:
            return problem(503, "the server is stopping", todo="Send requests elsewhere")
        trouble = await readiness.trouble()
        if trouble:
            return problem(503, f"the store does not answer: {trouble}", todo="See the server's log")
        return Alive()

    return router


def _ask(store: MemoryStore) -> None:
    """Have the store read something, once: it is its state now that is asked for, not whether it comes back.

    A server that acts for tokens only has what all of them share.
    """
    ctx = context_of(store)
    try:
        with ctx.storage.begin(ctx.namespace, write=False) as tx:
            tx.journal(newest=1)
    except NotPermitted:
        store.namespaces()
