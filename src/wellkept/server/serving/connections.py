"""The connections of a server: none is waited for without end, and those that wait do not keep others out.

The server waits for a peer while the head or the body of a request is on its way, between two requests,
and while an answer is taken. Each of these waits has a deadline. How many connections may wait for a
request is bounded too, and so is how many may wait for a body: the one that has waited longest is closed
for a new one. The two are counted apart, since a body is asked for only after its sender was admitted.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a server waits for its peers, and for how many.

    Attributes:
        head: Seconds from the beginning of a connection, or of a request, to the end of its head.
        body: Seconds for a body to arrive or an answer to be taken, beside what `rate` allows.
        rate: Bytes that give a body or an answer one more second.
        idle: Seconds between two requests.
        waiting: The most connections that wait for a request, and the most that wait for a body.
    """

    head: float = 10.0
    body: float = 10.0
    rate: int = 16 * 1024
    idle: int = 30
    waiting: int = 1_000


@dataclass(frozen=True, slots=True)
class Waiting:
    """All connections of a server that wait for their peers, those that have waited longest first.

    Attributes:
        requests / bodies: What they wait for.
    """

    requests: dict[Connection, None] = field(default_factory=dict)
    bodies: dict[Connection, None] = field(default_factory=dict)


class Connection(H11Protocol):
    """One connection, with a deadline for everything the client still has to send or read.

    Args:
        patience: How long it waits.
        waiting: Shared by all connections.
        **parts: As uvicorn passes them.
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
        """A client has connected; the head of a request is due."""
        super().connection_made(transport)
        self._look(begun=True)

    def data_received(self, data: bytes) -> None:
        """Some of a request has arrived."""
        self._received += len(data)
        super().data_received(data)
        self._look(begun=True)

    def on_response_complete(self) -> None:
        """An answer was given; the peer may ask again, and has to take it."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._wait_until_taken()
        else:
            self._look(begun=False)

    def pause_writing(self) -> None:
        """The peer takes an answer more slowly than it is given."""
        super().pause_writing()
        self._wait_until_taken()

    def resume_writing(self) -> None:
        """It has taken most of it."""
        super().resume_writing()
        if self._leaving is not None and not self.transport.is_closing():
            self._leaving.cancel()
            self._leaving = None

    def timeout_keep_alive_handler(self) -> None:
        """No further request has come in time."""
        self.cut()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._settle()
        super().connection_lost(exc)
        if self._leaving is not None:
            self._leaving.cancel()

    def cut(self) -> None:
        """End the connection now; what its peer has not taken by now is lost."""
        self._settle()
        self.transport.abort()

    def _look(self, *, begun: bool) -> None:
        """Set or lift the deadline, by what the peer owes now.

        Args:
            begun: Something has arrived, so that a head has to follow in time. Else the time between requests counts.
        """
        if self.transport.is_closing():
            return
        request = cast("RequestResponseCycle | None", self.cycle)  # none before the first
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
        """Wait for the rest of a head or body, or give up."""
        allowed = self._patience.head
        if self._request is not None:
            allowed = self._patience.body + self._received / self._patience.rate
        left = self._since + allowed - self.loop.time()
        if self._request is not None and self.flow.read_paused:  # the wait is ours: we do not read on
            left = max(left, self._patience.body)
        if left > 0:
            self._arriving = self.loop.call_later(left, self._expect)
        else:
            self.cut()

    def _settle(self) -> None:
        """Nothing is owed any more."""
        self._waiting.requests.pop(self, None)
        self._waiting.bodies.pop(self, None)
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None

    def _wait_until_taken(self) -> None:
        if self._leaving is None:
            size = self.transport.get_write_buffer_size()
            self._leaving = self.loop.call_later(self._patience.body + size / self._patience.rate, self.cut)
