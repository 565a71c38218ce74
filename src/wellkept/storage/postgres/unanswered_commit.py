"""A commit whose answer is lost: it is asked whether it was applied."""

from __future__ import annotations

import logging
from collections.abc import Callable

from wellkept.errors import StorageError
from wellkept.storage.postgres.failures import Lost, undone
from wellkept.storage.postgres.session import Session

log = logging.getLogger("wellkept")


def commit(session: Session, namespace: str, *, is_kept: Callable[[], bool], where: str) -> None:
    """Commit; if the answer is lost or tells nothing, find out whether the commit was applied.

    Args:
        session: The connection with the open transaction.
        namespace: Its namespace, for the log.
        is_kept: Asks, on another connection, whether the transaction's newest entry is in the journal.
        where: The database, for errors.

    Raises:
        Lost: `transient` if it certainly was not applied; otherwise the result is unknown.
    """
    try:
        session.run("commit")
        return
    except Lost as lost:
        unclear = lost
    log.warning("A commit in %r was not answered (%s); asking whether it arrived", namespace, unclear)
    try:
        kept = is_kept()
    except StorageError as error:
        raise unclear from error
    if not kept:
        raise undone(where) from unclear
