"""A proxy between a store and its server on loopback that cuts connections on request or exactly at a commit.

It can stand for the coordinator of a cluster too, whose own connection to the server of the namespace is cut: the
client keeps its connection and gets an error instead of an answer.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

At = Literal["", "before", "unanswered", "unread", "error before", "error unanswered", "error unread"]
"""Where a connection is cut: not at all; before the server gets the commit; when it has committed and its answer is
on the way; at once after the commit was sent, whatever the server makes of it. With "error", it is the connection
behind the coordinator that is cut at this point, and an error is the answer to the commit."""

_COMMIT = b"Q\x00\x00\x00\x0bCOMMIT\x00"
_ROLLBACK = b"Q\x00\x00\x00\x0dROLLBACK\x00"
_WRITING = b"READ COMMITTED"
_READY = b"Z\x00\x00\x00\x05"
_IDLE = b"Z\x00\x00\x00\x05I"


def error_answer(state: str, text: str) -> bytes:
    """An error as the server's answer to a whole transaction."""
    fields = "".join(f"{kind}{value}\0" for kind, value in (("S", "ERROR"), ("V", "ERROR"), ("C", state), ("M", text)))
    body = fields.encode() + b"\0"
    return b"E" + (len(body) + 4).to_bytes(4, "big") + body + _IDLE


INTERNAL = error_answer("XX000", "failure on connection marked as essential: postgres@worker:5432")
REMOTE = error_answer(
    "08006", "connection to the remote node postgres@worker:5432 failed with the following error: EOF"
)


class Proxy:
    """Forwards to the server of a URL.

    Attributes:
        url: Its own URL, otherwise the same.
        at_commit: Asked at every commit; may be set at any time.
        error: The answer where an error is one.
        cuts: How often a connection was cut at a commit.
        trips: How often the server was ready for more since the last writing transaction began.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self.url = urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{port}"))
        self.at_commit: Callable[[], At] = lambda: ""
        self.error = INTERNAL
        self.refusing = False
        self.cuts = 0
        self.trips = 0
        self.told_early = False
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut(self) -> None:
        """Cut every connection."""
        with self._lock:
            now, self._open = self._open, set()
        for one in now:
            _end(one)

    def stop(self) -> None:
        """End everything."""
        _end(self._listening)
        self.cut()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self.refusing:
                    _end(client)
                    continue
                self._serve(client)

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(self._target, timeout=10)
        except OSError:
            _end(client)
            return
        for one in (client, server):
            one.settimeout(None)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._open |= {client, server}
        silent, replaced = threading.Event(), threading.Event()
        for act in (self._there, self._back):
            thread = threading.Thread(target=act, args=(client, server, silent, replaced), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _there(
        self, client: socket.socket, server: socket.socket, silent: threading.Event, replaced: threading.Event
    ) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 16):
                at = self.at_commit() if data.endswith(_COMMIT) else ""  # after what the driver sent without waiting
                if _WRITING in data:
                    self.trips = 0
                if at:
                    self.cuts += 1
                if at == "before":
                    break
                if at == "unanswered":
                    silent.set()
                if at.startswith("error"):
                    replaced.set()  # before the answer can be there
                    if at == "error unread":
                        self.told_early = True
                        client.sendall(self.error)
                    data = data.removesuffix(_COMMIT) + _ROLLBACK if at == "error before" else data
                server.sendall(data)
                if at == "unread":
                    break
        if not silent.is_set():
            self._both(client, server)

    def _back(
        self, client: socket.socket, server: socket.socket, silent: threading.Event, replaced: threading.Event
    ) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                self.trips += data.count(_READY)
                if silent.is_set():  # the commit is done, and nobody hears of it
                    break
                if replaced.is_set():
                    while _IDLE not in data:
                        data += server.recv(1 << 16)
                    replaced.clear()
                    if not self.told_early:
                        client.sendall(self.error)
                    self.told_early = False
                    data = data.partition(_IDLE)[2]
                client.sendall(data)
        silent.clear()
        self._both(client, server)

    def _both(self, *ends: socket.socket) -> None:
        for one in ends:
            with self._lock:
                self._open.discard(one)
            _end(one)


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
