"""Behind a pooler each transaction runs in another session of the server, so nothing may be left in a session.

Transactions set what they need for themselves. What remains is the driver's habit of naming statements that
it runs often: the next session does not know the name.
"""

from __future__ import annotations

from wellkept.storage.postgres.session import Connection
from wellkept.storage.postgres.sql import queries


def leaves_nothing(connection: Connection) -> Connection:
    """The connection, made to leave nothing in a session if it leads to a pooler."""
    if _leads_to_pooler(connection):
        connection.prepare_threshold = None
    return connection


def _leads_to_pooler(connection: Connection) -> bool:
    """A pooler tells itself by the number of the process on the other side: it gives one of its own, so that a
    request to cancel comes to the pooler.
    """
    row = connection.execute(queries()["opening.process"].encode()).fetchone()
    return row is None or row[0] != connection.info.backend_pid
