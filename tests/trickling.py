"""A server on this machine that sends its answers one byte after the other."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

QUICK = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n"
HEADERS = b"HTTP/1.1 200 OK\r\nx-long: " + b"x" * 2_000
BODY = b"HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\n"
ENDLESS = b"HTTP/1.1 200 OK\r\n\r\n"
"""A body that lasts as long as the connection: cut off, it looks whole."""


@contextmanager
def trickling(at_once: bytes, *, first: bytes = b"") -> Iterator[str]:
    """The address of a server that sends each byte within the timeout of a single read.

    Args:
        at_once: The part of an answer that it sends without delay; the rest is spaces.
        first: The body of the answer to the first request, which it sends at once, on a connection that stays open.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        left = [first] if first else []

        def serve(peer: socket.socket) -> None:
            with peer, suppress(OSError):
                while peer.recv(65_536):
                    if left:
                        body = left.pop()
                        peer.sendall(QUICK % len(body) + body)
                        continue
                    peer.sendall(at_once[:-1_000] if at_once is HEADERS else at_once)
                    for _ in range(1_000):
                        peer.sendall(b" " if at_once is not HEADERS else b"x")
                        time.sleep(0.02)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
