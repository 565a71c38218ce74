"""The job queue in the database: jobs are taken with `SKIP LOCKED` under a lease, and a turn number shows its holder.

Each method is one short transaction that locks no namespace, so readers and writers of memories never wait for a
worker. See `storage.port.JobQueue`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from wellkept.errors import Busy
from wellkept.parsing import object_of
from wellkept.storage.postgres.rows import bounded, number_of
from wellkept.storage.postgres.session import Begun
from wellkept.types.jobs import WHOLE_STORE, Cadence, QueuedJob, QueueState
from wellkept.types.words import Json


class PostgresJobs:
    """The job queue of a store; the columns of `job.list` and `job.claim` are the fields of `QueuedJob`.

    Args:
        begun: Opens a connection inside a transaction that begins with the statement of that name.
    """

    def __init__(self, begun: Begun) -> None:
        self._begun = begun

    def look(self, cadences: Sequence[Cadence]) -> int:
        """See `JobQueue.look`."""
        found = 0
        for cadence in cadences:
            with self._begun("begin.write") as session:
                try:
                    session.run("job.look_alone")
                except Busy:
                    return found
                asked = {"kind": cadence.kind, "changes": cadence.changes, "every": cadence.every, "idle": cadence.idle}
                found += session.run("job.look", asked)
                session.run("commit")
        return found

    def claim(self, kinds: Sequence[str], *, holder: str, seconds: float, namespace: str = "") -> QueuedJob | None:
        """See `JobQueue.claim`."""
        asked = {"kinds": list(kinds), "holder": bounded(holder), "seconds": seconds, **_of(namespace)}
        with self._begun("begin.write") as session:
            row = session.row("job.claim", asked)
            session.run("commit")
        return None if row is None else _job(row)

    def renew(self, job: QueuedJob, *, seconds: float, progress: str = "") -> bool:
        """See `JobQueue.renew`."""
        return self._changed("job.renew", job, {"seconds": seconds, "progress": bounded(progress)})

    def finish(self, job: QueuedJob, *, seq: int, report: Mapping[str, Json]) -> bool:
        """See `JobQueue.finish`."""
        return self._changed("job.finish", job, {"seq": seq, "report": json.dumps(dict(report))})

    def leave(self, job: QueuedJob, *, after: float | None = 0.0, error: str = "", counted: bool = True) -> bool:
        """See `JobQueue.leave`."""
        how = {
            "state": "failed" if after is None else "due",
            "seconds": after or 0.0,
            "error": bounded(error),
            "uncounted": 0 if counted else 1,
        }
        return self._changed("job.leave", job, how)

    def put(self, kind: str, namespaces: Sequence[str]) -> None:
        """See `JobQueue.put`."""
        # In a fixed order, so that two callers with the same namespaces cannot deadlock.
        numbered = sorted((number_of(name), name) for name in set(namespaces))
        with self._begun("begin.write") as session:
            session.many("job.put", [{"ns": ns, "kind": kind, "name": name} for ns, name in numbered])
            session.run("commit")

    def note(self, kind: str, namespace: str) -> None:
        """See `JobQueue.note`."""
        with self._begun("begin.write") as session:
            session.run("job.note", {"ns": number_of(namespace), "kind": kind, "name": namespace})
            session.run("commit")

    def again(self, *, kinds: Sequence[str] = (), namespace: str = "") -> int:
        """See `JobQueue.again`."""
        with self._begun("begin.write") as session:
            count = session.run("job.again", {"kinds": list(kinds) or None, **_of(namespace)})
            session.run("commit")
        return count

    def jobs(
        self,
        *,
        states: Sequence[QueueState] = (),
        kinds: Sequence[str] = (),
        namespace: str = "",
        limit: int | None = None,
    ) -> list[QueuedJob]:
        """See `JobQueue.jobs`."""
        asked = {"states": list(states) or None, "kinds": list(kinds) or None, **_of(namespace)}
        with self._begun("begin.read") as session:
            return [_job(row) for row in session.rows("job.list", asked | {"limit": limit})]

    def _changed(self, statement: str, job: QueuedJob, values: Mapping[str, Any]) -> bool:
        """Update a job if this holder still has it; whether it was updated."""
        ours = {"ns": number_of(job.namespace), "kind": job.kind, "turn": job.turn}
        with self._begun("begin.write") as session:
            changed = session.run(statement, {**values, **ours})
            session.run("commit")
        return changed == 1


def _of(namespace: str) -> dict[str, str | None]:
    """Query parameters for one namespace; for all when the name is empty."""
    return {"name": namespace or None, "whole": WHOLE_STORE}


def _job(row: Sequence[Any]) -> QueuedJob:
    values = dict(zip(QueuedJob.__dataclass_fields__, row, strict=True))
    return QueuedJob(**{**values, "report": object_of(values["report"]) or {}})
