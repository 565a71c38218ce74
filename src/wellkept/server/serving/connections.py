"""Connections of a server: every wait has a deadline, and waiting connections do not exclude others.

The server waits for a peer in the head or body of a request, between two requests, and while an answer is sent.
Each of these waits has a deadline. The number of connections that wait for a request is limited too, as is the
number that wait for a body: above the limit, the one that has waited longest is closed. The two are counted
separately, since a body is requested only after its sender was admitted.
"""

from __future__ import annotations

import asyncio
from dataclasses import field
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from wellkept.frozen import frozen


@frozen(kw_only=True)
class Patience:
    """Deadlines and limits of connections.

    Attributes:
        head: Seconds from the start of a connection, or of a request, to the end of its head.
        body: Seconds for a body to arrive or an answer to be sent, plus the time that `rate` allows.
        rate: Bytes of a body or an answer that extend its deadline by one second.
        idle: Seconds between two requests.
        waiting: Maximum number of connections that wait for a request, and of those that wait for a body.
    """

    head: float = 10.0
    body: float = 10.0
    rate: int = 16 * 1024
    idle: int = 30
    waiting: int = 1_000


@frozen
class Waiting:
    """All connections of a server that wait for their peers, the longest waiting first.

    Attributes:
        requests / bodies: Connections that wait for a request or for a body.
    """

    requests: dict[Connection, None] = field(default_factory=dict)
    bodies: dict[Connection, None] = field(default_factory=dict)


class Connection(H11Protocol):
    """One connection, with a deadline for everything that the client still has to send or read.

    Args:
        patience: Its deadlines and limits.
        waiting: Shared by all connections.
        **parts: Arguments from uvicorn.
    """

    def __init__(self, *, patience: Patience, waiting: Waiting, **parts: Any) -> None:
        super().__init__(**parts)
        self._patience = patience
        self._waiting = waiting
        self._request: RequestResponseCycle | None = None
        self._since = self.loop.time()
        self._received = 0
        self._arriving: asyncio.TimerHandle | None = None
        self._leaving: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected; start the deadline of the head."""
        super().connection_made(transport)
        self._look(begun=True)

    def data_received(self, data: bytes) -> None:
        """A part of a request has arrived."""
        self._received += len(data)
        super().data_received(data)
        self._look(begun=True)

    def on_response_complete(self) -> None:
        """The answer is complete; start the deadline of the next request, or of the peer reading the answer."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._wait_until_taken()
        else:
            self._look(begun=False)

    def pause_writing(self) -> None:
        """The peer reads an answer more slowly than it is written."""
        super().pause_writing()
        self._wait_until_taken()

    def resume_writing(self) -> None:
        """The peer has read most of the answer."""
        super().resume_writing()
        if self._leaving is not None and not self.transport.is_closing():
            self._leaving.cancel()
            self._leaving = None

    def timeout_keep_alive_handler(self) -> None:
        """No further request has arrived in time."""
        self.cut()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self._settle()
        super().connection_lost(exc)
        if self._leaving is not None:
            self._leaving.cancel()

    def cut(self) -> None:
        """Close the connection now; unread data is lost."""
        self._settle()
        self.transport.abort()

    def _look(self, *, begun: bool) -> None:
        """Set or clear the deadline, depending on what the peer has to send.

        Args:
            begun: Whether data has arrived, so that the deadline of a head applies instead of the idle time.
        """
        if self.transport.is_closing():
            return
        request = cast("RequestResponseCycle | None", self.cycle)  # none before the first request
        if request is not None and request.response_complete:
            request = None
        if request is not self._request:
            self._settle()
            self._request, self._received = request, 0
        if request is not None and not request.more_body:
            self._settle()
            return
        among = self._waiting.requests if request is None else self._waiting.bodies
        among.setdefault(self)
        if self._arriving is None and (begun or request is not None):
            self._since = self.loop.time()
            self._expect()
        if len(among) > self._patience.waiting:
            next(iter(among)).cut()

    def _expect(self) -> None:
        """Wait for the rest of a head or body, or close the connection."""
        allowed = self._patience.head
        if self._request is not None:
            allowed = self._patience.body + self._received / self._patience.rate
        left = self._since + allowed - self.loop.time()
        if self._request is not None and self.flow.read_paused:  # the server itself has paused reading
            left = max(left, self._patience.body)
        if left > 0:
            self._arriving = self.loop.call_later(left, self._expect)
        else:
            self.cut()

    def _settle(self) -> None:
        """Clear the deadline."""
        self._waiting.requests.pop(self, None)
        self._waiting.bodies.pop(self, None)
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None

    def _wait_until_taken(self) -> None:
        if self._leaving is None:
            size = self.transport.get_write_buffer_size()
            self._leaving = self.loop.call_later(self._patience.body + size / self._patience.rate, self.cut)
