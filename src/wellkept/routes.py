"""The HTTP route of each operation, defined once for the server and the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from wellkept.frozen import frozen

Method: TypeAlias = Literal["GET", "POST", "PATCH", "PUT", "DELETE"]


@frozen
class Route:
    """The HTTP route of an operation.

    Attributes:
        method: For GET and DELETE, fields that are not in the path are query parameters (an object or a list
            of objects as JSON text); otherwise they are the JSON body.
        path: Its parameters, in braces, are fields of the input.
    """

    method: Method
    path: str

    @property
    def parameters(self) -> tuple[str, ...]:
        """The fields that are part of the path.

        Example:
            >>> ROUTES["get"].parameters
            ('memory_id',)
        """
        return tuple(part.partition("}")[0] for part in self.path.split("{")[1:])


ROUTES: Mapping[str, Route] = {
    "remember": Route("POST", "/v1/memories"),
    "remember_many": Route("POST", "/v1/memories/batch"),
    "check": Route("POST", "/v1/check"),
    "revise": Route("PATCH", "/v1/memories/{memory_id}"),
    "recall": Route("POST", "/v1/recall"),
    "pack": Route("POST", "/v1/pack"),
    "get": Route("GET", "/v1/memories/{memory_id}"),
    "list": Route("GET", "/v1/memories"),
    "history": Route("GET", "/v1/history/{memory_id}"),
    "journal": Route("GET", "/v1/journal"),
    "conflicts": Route("GET", "/v1/conflicts"),
    "neighbors": Route("GET", "/v1/links/{memory_id}"),
    "subgraph": Route("POST", "/v1/links/subgraph"),
    "stats": Route("GET", "/v1/stats"),
    "supersede": Route("POST", "/v1/memories/{old_id}/supersede"),
    "forget": Route("POST", "/v1/memories/{memory_id}/forget"),
    "restore": Route("POST", "/v1/memories/{memory_id}/restore"),
    "split": Route("POST", "/v1/memories/{memory_id}/split"),
    "resolve": Route("POST", "/v1/conflicts/{key}/resolve"),
    "link": Route("POST", "/v1/links"),
    "unlink": Route("DELETE", "/v1/links"),
    "undo": Route("POST", "/v1/undo"),
    "erase": Route("DELETE", "/v1/memories/{memory_id}"),
    "questions": Route("GET", "/v1/questions"),
    "answer": Route("POST", "/v1/answers"),
    "undo_answers": Route("POST", "/v1/answers/undo"),
    "asking": Route("GET", "/v1/asking"),
    "forget_lessons": Route("DELETE", "/v1/asking/lessons"),
    "judge": Route("POST", "/v1/journal/{entry}/verdict"),
    "record_decision": Route("POST", "/v1/decisions"),
    "record_turn": Route("POST", "/v1/turns"),
    "start_episode": Route("POST", "/v1/episodes"),
    "end_episode": Route("POST", "/v1/episodes/{episode_id}/end"),
    "queue_remember": Route("POST", "/v1/queue"),
    "queue_pending": Route("GET", "/v1/queue"),
    "queue_drop": Route("DELETE", "/v1/queue/{queued_id}"),
    "queue_flush": Route("POST", "/v1/queue/flush"),
    "verify": Route("GET", "/v1/verify"),
    "plan": Route("POST", "/v1/plans"),
    "execute": Route("POST", "/v1/plans/execute"),
    "runs": Route("GET", "/v1/runs"),
    "undo_run": Route("POST", "/v1/runs/{run_id}/undo"),
}
"""The routes by the name of the operation; an operation without an entry is not available over HTTP."""
