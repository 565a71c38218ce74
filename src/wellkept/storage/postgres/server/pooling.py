"""Poolers: each transaction may run in another server session, so a session must keep no state.

Each transaction makes its own settings. The driver's prepared statements must be turned off, because the next session
does not know them.
"""

from __future__ import annotations

from wellkept.storage.postgres.session import Connection
from wellkept.storage.postgres.sql import queries


def leaves_nothing(connection: Connection) -> Connection:
    """The connection, without prepared statements if it leads to a pooler."""
    if _leads_to_pooler(connection):
        connection.prepare_threshold = None
    return connection


def _leads_to_pooler(connection: Connection) -> bool:
    """Detect a pooler by the backend process id: a pooler returns its own number to receive cancel requests."""
    row = connection.execute(queries()["opening.process"].encode()).fetchone()
    return row is None or row[0] != connection.info.backend_pid
