"""Making anew what follows from the rows: the full text.

It is no decision about a memory, so it is not journaled: a full text is right or wrong, and it has no
history. Decisions are mended by the engine.
"""

from __future__ import annotations

from wellkept.errors import Corrupt
from wellkept.storage.memory_rows import memory_of
from wellkept.storage.postgres.rows import words_of
from wellkept.storage.postgres.server.isolation import WRITE
from wellkept.storage.postgres.session import Session
from wellkept.storage.postgres.verify import flaws


def mend(session: Session, *, dry_run: bool) -> list[str]:
    """Mend what can be made anew.

    Args:
        session: A connection inside a transaction that holds the store alone; a reader's for a dry run.
        dry_run: Only say what would be mended.

    Returns:
        The problems that were mended, in the words of `Storage.verify`.
    """
    found = [flaw for flaw in flaws(session) if flaw.mend == "words"]
    if found and not dry_run:
        remake_words(session)
    return [flaw.text for flaw in found]


def remake_words(session: Session) -> None:
    """Make the whole full text anew from the records."""
    for name, ns in session.rows("verify.namespaces"):
        session.enter(name, WRITE)
        session.run("clear.words", {"ns": ns})
        rows = []
        for place, memory_id, record in session.rows("mend.active", {"ns": ns}):
            try:
                memory = memory_of(record, 0, None, None)
            except Corrupt:  # `verify` names it; the others shall be found all the same
                continue
            rows.append((ns, place, memory_id, words_of(memory, ns)))
        session.many("words.put", rows)
