"""Connections to the workers of a cluster: they plan what concerns one namespace, so that the coordinator need not.

A worker with synchronised metadata plans statements as the coordinator does, but knows only the divided and the copied
tables; jobs, queued writes and tokens stay on the coordinator. The lock of a namespace is a row, which is the same one
whoever asks for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from wellkept.errors import StorageError, StorePathError
from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.server.connections import Connections
from wellkept.storage.postgres.session import Connection, Session

_AWAY_SECONDS = 10.0
"""How long a worker that could not be reached is not tried again."""
_PORT = "5432"


def apart(conninfo: str, session: Session) -> tuple[str, tuple[str, ...]]:
    """The address without the workers of the cluster, and one address for each worker that can plan statements.

    A worker is used only if the address names it, by the name and port that the cluster knows it by.

    Args:
        conninfo: The address, perhaps of several servers.
        session: A transaction on one of them; the store is divided over a cluster.

    Raises:
        StorePathError: The address names workers only.
    """
    parts = conninfo_to_dict(conninfo)
    hosts = str(parts.get("host") or "").split(",")
    ports = [port or _PORT for port in str(parts.get("port") or "").split(",")]
    if len(hosts) == 1 or parts.get("hostaddr"):
        return conninfo, ()
    named = list(zip(hosts, ports if len(ports) > 1 else ports * len(hosts), strict=True))
    plans = {(host, port): synced for host, port, synced in session.rows("spread.workers")}
    others = [one for one in named if one not in plans]
    if not others:
        raise StorePathError(
            "the address names workers of a cluster only", where=session.where, todo="Name the coordinator first"
        )
    return _with(conninfo, others), tuple(_with(conninfo, [one]) for one in named if plans.get(one))


def _with(conninfo: str, servers: Sequence[tuple[str, str]]) -> str:
    return make_conninfo(
        conninfo, host=",".join(host for host, _ in servers), port=",".join(port for _, port in servers)
    )


class Workers:
    """The connections to the workers; each namespace has one of these, so that its plans are made there once.

    Args:
        pools: One for each worker; none without a cluster.
        now: A monotonic clock, in seconds.
    """

    def __init__(self, pools: Sequence[Connections], *, now: Callable[[], float] = time.monotonic) -> None:
        self._pools = tuple(pools)
        self._now = now
        self._away: dict[int, float] = {}

    def take(self, namespace: str) -> tuple[Connections, Connection] | None:
        """A connection for a namespace, and the pool that takes it back; None if the coordinator has to do.

        Raises:
            Busy: No connection became free in time.
            StorageError: The worker refuses the login, or the store is closed.
        """
        if not self._pools:
            return None
        at = number_of(namespace) % len(self._pools)
        if self._now() < self._away.get(at, 0.0):
            return None
        try:
            return self._pools[at], self._pools[at].take()
        except StorageError as error:
            if not error.transient:
                raise
        self._away[at] = self._now() + _AWAY_SECONDS  # its namespaces are elsewhere, most of them
        return None

    def close(self) -> None:
        """Close all of them."""
        for pool in self._pools:
            pool.close()
