"""The page for people: what the store believes, why, what changed, and how to take it back.

Rooms are rendered on the server and work without scripts. A browser holds a session, which stands for a token; every
decision runs the same operation, with the same scope, as a request to REST.
"""

from __future__ import annotations

from wellkept.server.page.routes import with_page
from wellkept.server.page.sessions import Sessions

__all__ = ["Sessions", "with_page"]
