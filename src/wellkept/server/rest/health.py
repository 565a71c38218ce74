"""Health checks: liveness, and readiness for requests."""

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

_PATIENCE = 1.0


class Health:
    """The state of a server; `drain` is called when it begins to stop.

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
        """Whether the server is stopping: running requests are finished, and no new ones should be sent."""
        return self._draining.is_set()

    def drain(self) -> None:
        """Report from now on that no new requests should be sent."""
        self._draining.set()


class Readiness:
    """Whether a store answers, checked outside the threads of requests, which may all wait for an unreachable database.

    Args:
        store: The store to check.
        seconds: Timeout of the check, in seconds.
    """

    def __init__(self, store: MemoryStore, *, seconds: float = _PATIENCE) -> None:
        self._store = store
        self._seconds = seconds
        self._own = CapacityLimiter(1)
        self._asking: asyncio.Task[str] | None = None

    async def trouble(self) -> str:
        """The problem in a word; empty when the store answers.

        Only one check runs at a time, and concurrent requests share its result: the check needs no token, and a store
        that does not answer must not occupy one thread per request.
        """
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
        answered, _ = await asyncio.wait({self._asking}, timeout=self._seconds)
        return "no answer in time" if not answered else self._asking.result()

    async def _ask(self) -> str:
        try:
            # Abandoned when the server stops, because the result is no longer needed.
            await to_thread.run_sync(_ask, self._store, limiter=self._own, abandon_on_cancel=True)
        except StorageError as error:
            return type(error).__name__
        return ""


class Alive(BaseModel):
    """The process is alive."""

    status: Literal["ok"] = "ok"


def health_routes(store: MemoryStore, health: Health) -> APIRouter:
    """`/healthz` and `/readyz`, available without a token; they disclose nothing about stored data."""
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
    """Make the store read something once, without retries, to find out its current state.

    A server that acts only for tokens reads just the data that all tokens share.
    """
    ctx = store._ctx
    try:
        with ctx.storage.begin(ctx.namespace, write=False) as tx:
            tx.journal(newest=1)
    except NotPermitted:
        store.namespaces()
