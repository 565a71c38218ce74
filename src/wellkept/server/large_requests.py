"""Limit of concurrent large requests.

Requests run in threads, which share the interpreter. Many concurrent comparisons of long texts would delay
small requests and the event loop.
"""

from __future__ import annotations

LARGE = 16 * 1024
"""Size from which a request is large, in characters or bytes."""
LARGE_AT_ONCE = 4
"""Threads for large requests; the other threads stay free for small ones."""
