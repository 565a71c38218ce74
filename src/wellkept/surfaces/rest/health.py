"""Whether the process lives, and whether it can be sent work."""

from __future__ import annotations

import threading
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from wellkept.engine.store import MemoryStore
from wellkept.errors import NotPermitted, StorageError
from wellkept.surfaces.rest.problems import MEDIA_TYPE, problem


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


class Alive(BaseModel):
    """The process answers."""

    status: Literal["ok"] = "ok"


def health_routes(store: MemoryStore, health: Health) -> APIRouter:
    """`/healthz` and `/readyz`, open to everyone: they tell nothing of what is stored."""
    router = APIRouter(tags=["health"])
    unready: dict[int | str, dict[str, Any]] = {
        503: {
            "description": "The store does not answer, or the server is stopping",
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
        }
    }

    @router.get("/healthz", operation_id="healthz", response_model=Alive, summary="Whether the process lives")
    async def healthz() -> Alive:
        """Whether the process lives. It does not look at the store."""
        return Alive()

    @router.get(
        "/readyz",
        operation_id="readyz",
        response_model=Alive,
        responses=unready,
        summary="Whether requests can be served",
    )
    def readyz() -> Alive | Response:
        """Whether requests can be served: the store answers, and the server is not stopping."""
        if health.draining:
            return problem(503, "the server is stopping", todo="Send requests elsewhere")
        try:
            _ask(store)
        except StorageError as error:
            return problem(503, f"the store does not answer: {type(error).__name__}", todo="Look into the server's log")
        return Alive()

    return router


def _ask(store: MemoryStore) -> None:
    """Have the store read something; a server that acts for tokens only has what all of them share."""
    try:
        store.journal(newest=1)
    except NotPermitted:
        store.namespaces()
