"""How many large requests are worked on at the same time.

A request is worked on in a thread, and threads take turns: with many that compare long texts, a small
request and the loop that answers all of them would wait for each.
"""

from __future__ import annotations

LARGE = 16 * 1024
"""Characters or bytes from which a request is large."""
LARGE_AT_ONCE = 4
"""Threads for large requests; those for the others stay free."""
