"""Limits of a request: size, nesting and rate. Independent of any server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from wellkept.errors import InvalidField
from wellkept.frozen import frozen
from wellkept.parsing import JSON_STRINGS

MIB = 1 << 20
_OPENING = b"[{"
_NOT_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
_MOST_BUCKETS = 10_000


@frozen(kw_only=True)
class Limits:
    """The limits of a server.

    Attributes:
        body_bytes: Maximum size of a body, in bytes.
        import_bytes: The same for an import, which is read to a temporary file first.
        json_depth: Maximum nesting of lists and objects.
        json_values: Maximum number of values in them. While they are parsed, no other request is served.
        rate: Sustained requests per second for one token; None for no limit. A server without tokens cannot
            distinguish clients and has no rate limit.
        burst: Maximum number of requests at once.
        at_once: Maximum number of requests processed at the same time; further ones are answered with 503.
        hosts: Accepted host names, besides those of loopback; `*` for any.
        origins: Origins, such as `https://memory.example.org`, whose pages may send requests, besides
            the server's own.
        clock: Monotonic clock in seconds, for tests.

    Example:
        >>> Limits(rate=5).burst
        200
    """

    body_bytes: int = MIB
    import_bytes: int = 16 * MIB
    json_depth: int = 32
    json_values: int = 50_000
    rate: float | None = 100.0
    burst: int = 200
    at_once: int = 1_000
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        for name in ("body_bytes", "import_bytes", "json_depth", "json_values", "burst", "at_once"):
            if getattr(self, name) < 1:
                raise InvalidField(f"{getattr(self, name)} is not a whole number above 0", where=name)
        if self.rate is not None and not self.rate > 0:
            raise InvalidField(f"{self.rate} is not above 0", where="rate", todo="Use None for no limit")


class Buckets:
    """One token bucket per key: it holds `burst` requests and refills at `rate` per second.

    Example:
        >>> now = [0.0]
        >>> buckets = Buckets(rate=2, burst=1, clock=lambda: now[0])
        >>> buckets.wait("a"), buckets.wait("a"), buckets.wait("b")
        (0.0, 0.5, 0.0)
        >>> now[0] = 0.5
        >>> buckets.wait("a")
        0.0
    """

    def __init__(self, *, rate: float, burst: int, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[str, tuple[float, float]] = {}

    def wait(self, key: str) -> float:
        """Take one request from a bucket; returns 0, or the seconds to wait when the bucket is empty."""
        with self._lock:
            now = self._clock()
            left, since = self._held.get(key, (float(self._burst), now))
            left = min(self._burst, left + max(0.0, now - since) * self._rate)
            if left < 1:
                self._held[key] = (left, now)
                return (1 - left) / self._rate
            self._held[key] = (left - 1, now)
            if len(self._held) > _MOST_BUCKETS:
                self._forget_the_full(now)
            return 0.0

    def _forget_the_full(self, now: float) -> None:
        """Remove full buckets, which equal new ones, so that memory is bounded by the recently active keys."""
        full = [key for key, (left, since) in self._held.items() if left + (now - since) * self._rate >= self._burst]
        for key in full:
            del self._held[key]


def depth(raw: bytes, most: int) -> int:
    """The nesting depth of the brackets in a JSON text; counting stops at `most` + 1.

    It runs before parsing, to protect the parser from deep recursion. Brackets inside strings are ignored; invalid
    JSON is left to the parser to reject.

    Example:
        >>> depth(b'{"a": [1, "[[["]}', 10), depth(b"[" * 100_000, 10)
        (2, 11)
    """
    brackets = JSON_STRINGS.sub(b"", raw).translate(None, _NOT_BRACKETS)
    level = deepest = 0
    for bracket in brackets:
        if bracket in _OPENING:
            level += 1
            if level > deepest:
                deepest = level
                if deepest > most:
                    break
        else:
            level -= 1
    return deepest
