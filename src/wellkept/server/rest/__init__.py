"""The REST server: one route per row of the table of operations, with access control, limits and metrics.

A request passes these layers, from the outside in: access log and metrics; checks of `Host` and `Origin`; token
and rate limit; limits of the body; the route of its operation, which runs in a thread. Every error is a problem
document (RFC 9457).
"""

from __future__ import annotations

from wellkept.server.rest.app import create_app
from wellkept.server.rest.limits import Limits

__all__ = ["Limits", "create_app"]
