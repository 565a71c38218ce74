"""Sessions of browsers: a cookie names a session, and a session stands for a token.

The cookie does not hold the token itself, because a browser sends the cookies of this host to every port of it.
Sessions are kept in memory: after a restart people sign in again. The token is looked up at each request, so a
session ends as soon as its token is revoked.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.requests import cookie_parser

from wellkept.engine.base.secrets import new_secret

MOST = 1_000
"""Most sessions at once; the one that was used least recently ends first."""
MOST_OF_ONE = 20
"""Most sessions of one token, so that none can end those of the others."""
IDLE_SECONDS = 12 * 3_600.0
INVITATION_SECONDS = 120.0
_MOST_COOKIES = 8_192


@dataclass(slots=True)
class _Held:
    secret: str
    until: float


class Sessions:
    """The sessions of one server process; safe to use from several threads.

    Args:
        clock: Monotonic clock in seconds, for tests.
        new_name: Makes names of sessions, for tests.

    Example:
        >>> sessions = Sessions()
        >>> name = sessions.enter("the secret of a token")
        >>> sessions.secret_of(name), sessions.secret_of("another")
        ('the secret of a token', '')
    """

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, new_name: Callable[[], str] = new_secret
    ) -> None:
        self._clock = clock
        self._new_name = new_name
        self._key = new_name().encode()
        self._lock = threading.Lock()
        self._held: dict[str, _Held] = {}
        self._invited: dict[str, _Held] = {}

    def enter(self, secret: str) -> str:
        """Begin a session for the secret of a token; returns its name, for the cookie."""
        name = self._new_name()
        with self._lock:
            self._drop_old()
            own = [key for key, held in self._held.items() if held.secret == secret]
            for key in own[: max(0, len(own) - MOST_OF_ONE + 1)]:
                del self._held[key]
            while len(self._held) >= MOST:
                del self._held[next(iter(self._held))]
            self._held[_digest(name)] = _Held(secret, self._clock() + IDLE_SECONDS)
        return name

    def secret_of(self, name: str) -> str:
        """The secret behind a session; empty for an unknown or ended one."""
        key, now = _digest(name), self._clock()
        with self._lock:
            held = self._held.pop(key, None)
            if held is None or held.until <= now:
                return ""
            held.until = now + IDLE_SECONDS
            self._held[key] = held  # the most recently used is the last one
            return held.secret

    def leave(self, name: str) -> None:
        """End a session."""
        with self._lock:
            self._held.pop(_digest(name), None)

    def invite(self, secret: str) -> str:
        """A code that begins one session for this secret, once and within two minutes."""
        code = self._new_name()
        with self._lock:
            self._invited[_digest(code)] = _Held(secret, self._clock() + INVITATION_SECONDS)
        return code

    def accept(self, code: str) -> str:
        """Begin the session of an invitation; returns its name, empty for a code that is unknown, used or too old."""
        with self._lock:
            held = self._invited.pop(_digest(code), None)
        return "" if held is None or held.until <= self._clock() else self.enter(held.secret)

    def form_token(self, name: str) -> str:
        """The text that every form of a session carries; pages of other sites cannot know it."""
        return hmac.new(self._key, name.encode(), hashlib.sha256).hexdigest()

    def is_form_token(self, name: str, given: str) -> bool:
        """Whether a form comes from a page of this session."""
        return hmac.compare_digest(self.form_token(name).encode(), given.encode("utf-8", "replace"))

    def _drop_old(self) -> None:
        now = self._clock()
        for kept in (self._held, self._invited):
            for key in [key for key, held in kept.items() if held.until <= now]:
                del kept[key]


def cookie_name(host: str) -> str:
    """The name of the cookie: cookies do not distinguish ports, and two servers may run on one machine.

    Example:
        >>> cookie_name("127.0.0.1:8642"), cookie_name("memory.example.org")
        ('wellkept_8642', 'wellkept')
    """
    port = host.rpartition(":")[2]
    return f"wellkept_{port[:5]}" if port != host and port.isascii() and port.isdecimal() else "wellkept"


def session_name(headers: Mapping[str, str]) -> str:
    """The session that a request names; empty for none.

    Example:
        >>> session_name({"host": "127.0.0.1:8642", "cookie": "wellkept_8642=abc"})
        'abc'
    """
    cookies = cookie_parser(headers.get("cookie", "")[:_MOST_COOKIES])
    return cookies.get(cookie_name(headers.get("host", "")), "")


def _digest(name: str) -> str:
    # Looked up by a digest, so that the time of the search says nothing about a name.
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()
