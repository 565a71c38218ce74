"""Sends a large answer in pieces, so that joining and sending it does not block the event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator

from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse

from wellkept.operations.shapes import json_pieces


def sent(answer: BaseModel, *, status: int = 200) -> Response:
    """A record as a response; the pieces of a large one are sent one after the other, at the speed of the client."""
    pieces = json_pieces(answer)
    if len(pieces) == 1:
        return Response(pieces[0], status_code=status, media_type="application/json")
    size = {"Content-Length": str(sum(map(len, pieces)))}
    return StreamingResponse(_one_by_one(pieces), status_code=status, headers=size, media_type="application/json")


async def _one_by_one(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
