"""Rebuild of data derived from the rows: the full text.

It contains no decision about a memory and has no history, so it is not journaled. The engine repairs decisions.
"""

from __future__ import annotations

from wellkept.storage.postgres.rows import words_of
from wellkept.storage.postgres.server.isolation import WRITE
from wellkept.storage.postgres.session import Session
from wellkept.storage.postgres.verify import flaws
from wellkept.storage.sql.verification import readable


def mend(session: Session, *, dry_run: bool) -> list[str]:
    """Rebuild the derived data that is wrong.

    Args:
        session: A connection inside a transaction with the exclusive store lock; a reading one for a dry run.
        dry_run: Only report.

    Returns:
        The repaired problems, with the messages of `Storage.verify`.
    """
    found = [flaw for flaw in flaws(session) if flaw.mend == "words"]
    if found and not dry_run:
        remake_words(session)
    return [flaw.text for flaw in found]


def remake_words(session: Session) -> None:
    """Rebuild the whole full text from the records."""
    for name, ns in session.rows("verify.namespaces"):
        session.enter(name, WRITE)
        session.run("clear.words", {"ns": ns})
        rows = []
        for place, memory_id, record in session.rows("mend.active", {"ns": ns}):
            memory = readable(record)
            if memory is not None:  # otherwise `verify` reports it; the other rows must still be found
                rows.append((ns, place, memory_id, words_of(memory, ns)))
        session.many("words.put", rows)
