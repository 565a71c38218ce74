"""The HTTP face: one route for each row of the table of operations, guarded, bounded, observed.

A request passes, from the outside in: the access log and the counters, the check of `Host` and
`Origin`, the token and its rate, the bounds of the body, and then the route of its operation, whose
work is done on a thread. Every refusal is a problem document (RFC 9457).
"""

from __future__ import annotations

from wellkept.server.rest.app import create_app
from wellkept.server.rest.limits import Limits

__all__ = ["Limits", "create_app"]
