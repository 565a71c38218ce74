"""Removes a second copy of a namespace that no move made, after it was saved in another store.

Two databases each hold a namespace when two processes with different tables of places have made it at the same moment.
Their journals cannot be joined, so one of them is kept, and the other one is saved with its journal and compared by
hashes. Nobody writes in it meanwhile: from then on it tells where the namespace is.
"""

from __future__ import annotations

from dataclasses import replace

from wellkept.engine.transfer.fingerprints import PAGE, pages_of_rows, pairs_of
from wellkept.engine.transfer.migrate import Progress, check_sound, check_target, copy_namespace, foreign, occupied
from wellkept.engine.transfer.move import Database, alone_in_both, empty, is_ready, seq_of
from wellkept.errors import IllegalTransition, NotFound
from wellkept.frozen import frozen
from wellkept.storage.port import OPEN, Closed, Storage

_SHOWN = 5


@frozen(kw_only=True)
class SecondCopy:
    """What the second copy of a namespace holds.

    Attributes:
        kept: The name of the database whose copy is kept.
        database: The name of the database that holds the second copy.
        entries: Number of its journal entries.
        memories: Number of its active memories.
        missing: How many of them the kept copy has in no wording.
        texts: The first of these texts.
        removed: Whether the copy was saved and removed.
    """

    namespace: str
    kept: str
    database: str
    entries: int
    memories: int
    missing: int
    texts: tuple[str, ...] = ()
    removed: bool = False


def describe(kept: Database, second: Database, namespace: str) -> SecondCopy:
    """What a second copy holds, and what of it the kept one lacks; nothing is changed.

    Raises:
        NotFound: The second database holds none.
        IllegalTransition: The kept one is not there or is closed, or one of both is being moved.
    """
    if not seq_of(second, namespace):
        raise NotFound(
            f"database {second.name!r} holds no copy", where=namespace, todo="Look where it is: wellkept db place"
        )
    if not is_ready(kept, namespace) or kept.storage.closed(namespace) != OPEN:
        raise IllegalTransition(
            f"the copy to keep, in database {kept.name!r}, is not there or not open",
            where=namespace,
            todo="Let it live where it is whole: wellkept db place NAMESPACE --in DATABASE; finish a move first",
        )
    if away := second.storage.closed(namespace).moving:
        raise IllegalTransition(
            f"it is being moved to database {away!r}", where=namespace, todo="Finish that, or give it up: --back"
        )
    with (
        kept.storage.for_moving().begin(namespace, write=False) as ours,
        second.storage.for_moving().begin(namespace, write=False) as theirs,
    ):
        held = {digest for digest, _ in pairs_of(ours)}
        known = {memory_id for digest, memory_id in pairs_of(theirs) if digest in held}
        memories = missing = 0
        texts: list[str] = []
        for rows in pages_of_rows(theirs, PAGE):
            active = [row for row in rows if row.status == "active"]
            lacking = [row.content for row in active if row.id not in known]
            memories, missing = memories + len(active), missing + len(lacking)
            texts += lacking[: _SHOWN - len(texts)]
        return SecondCopy(
            namespace=namespace,
            kept=kept.name,
            database=second.name,
            entries=theirs.seq,
            memories=memories,
            missing=missing,
            texts=tuple(texts),
        )


def remove(
    kept: Database, second: Database, namespace: str, *, save: Storage, progress: Progress | None = None
) -> SecondCopy:
    """Save a second copy in a store, compare that by hashes, and remove the copy.

    Args:
        kept: The database whose copy is kept; it is not changed.
        second: The database whose copy is removed.
        namespace: The namespace.
        save: Where the copy is saved with its journal: a store without this namespace, or with an earlier state of it.
        progress: Called with the progress.

    Raises:
        NotFound, IllegalTransition: As `describe`.
        Busy: Another process is moving the namespace.
        StorageError: The store holds other data, or a database failed; nothing was removed.
        Corrupt: The copy is damaged, or the saved one differs; nothing was removed.
    """
    with alone_in_both(second, kept, namespace) as (there, _):
        describe(kept, second, namespace)
        was, closed = second.storage.closed(namespace), Closed(moved=kept.name)
        source = second.storage.for_moving()
        check_sound(source, (namespace,))
        header = source.header()
        check_target(header, save.header(), others=())
        if told := foreign(source, save, namespace):
            raise occupied([told])
        if header.embedder and not save.header().namespaces:
            save.configure(embedder=header.embedder, dim=header.dim, policy=header.policy)
        there.close_for(closed, was=was)  # from now on nobody writes in it
        try:
            found = describe(kept, second, namespace)
            copy_namespace(source, save, namespace, progress=progress)
            empty(second, namespace, closed, entries=found.entries, todo="Start again")
        except BaseException:
            there.close_for(was, was=closed)
            raise
    return replace(found, removed=True)
