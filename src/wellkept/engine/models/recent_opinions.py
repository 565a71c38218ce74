"""Cache of recent opinions of the relation model, because `check` often precedes `remember`.

Keys contain the namespace, so that response times reveal nothing about texts of another namespace. They are
digests, so that a key takes the same few bytes however long its texts are.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import TypeAlias

from wellkept.types import Opinion

Results: TypeAlias = tuple[Opinion | None, ...]
MOST = 2048


class RecentOpinions:
    """The newest results of a store; thread-safe.

    A key is the id of the model and the texts that were read together: an older and a newer one, or a new one before
    several older ones.

    Example:
        >>> recent = RecentOpinions()
        >>> recent.note("acme", ("Tea at four.", "Tea at five."), (None,))
        >>> recent.known("acme", ("Tea at four.", "Tea at five."))
        (None,)
        >>> recent.known("other", ("Tea at four.", "Tea at five.")) is None
        True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: OrderedDict[bytes, Results] = OrderedDict()

    def known(self, namespace: str, texts: Iterable[str]) -> Results | None:
        """The opinions under this key in this namespace; None if they are unknown."""
        key = _key(namespace, texts)
        with self._lock:
            if key not in self._results:
                return None
            self._results.move_to_end(key)
            return self._results[key]

    def note(self, namespace: str, texts: Iterable[str], opinions: Results) -> None:
        """Store the opinions of one reading; None among them for what the model could not read."""
        key = _key(namespace, texts)
        with self._lock:
            self._results[key] = opinions
            self._results.move_to_end(key)
            if len(self._results) > MOST:
                self._results.popitem(last=False)


def _key(namespace: str, texts: Iterable[str]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for text in (namespace, *texts):
        part = text.encode("utf-8", "surrogatepass")
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()
