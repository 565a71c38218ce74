"""Cache of recent opinions of the relation model, because `check` often precedes `remember`.

Keys contain the namespace, so that response times reveal nothing about texts of another namespace. They are
digests, so that a pair takes the same few bytes however long its texts are.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from wellkept.types import Opinion

MOST = 4096


class RecentOpinions:
    """The newest few thousand opinions of a store; thread-safe.

    Example:
        >>> recent = RecentOpinions()
        >>> recent.note("acme", ("Tea at four.", "Tea at five."), None)
        >>> recent.known("acme", ("Tea at four.", "Tea at five."))
        (None,)
        >>> recent.known("other", ("Tea at four.", "Tea at five."))
        ()
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opinions: OrderedDict[bytes, Opinion | None] = OrderedDict()

    def known(self, namespace: str, pair: tuple[str, str]) -> tuple[Opinion | None] | tuple[()]:
        """The opinion about a pair in this namespace, in a tuple; an empty tuple if the pair is unknown."""
        key = _key(namespace, pair)
        with self._lock:
            if key not in self._opinions:
                return ()
            self._opinions.move_to_end(key)
            return (self._opinions[key],)

    def note(self, namespace: str, pair: tuple[str, str], opinion: Opinion | None) -> None:
        """Store an opinion; None when the model could not read the pair."""
        key = _key(namespace, pair)
        with self._lock:
            self._opinions[key] = opinion
            self._opinions.move_to_end(key)
            if len(self._opinions) > MOST:
                self._opinions.popitem(last=False)


def _key(namespace: str, pair: tuple[str, str]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for text in (namespace, *pair):
        part = text.encode("utf-8", "surrogatepass")
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()
