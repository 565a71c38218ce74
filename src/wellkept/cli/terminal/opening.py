"""Opens the store of the settings: chooses the embedder, and creates nothing for a command that only reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import wellkept
from wellkept.config import Settings, default_db, is_server, table_of_places
from wellkept.engine.models.no_embedder import Unloaded
from wellkept.errors import NoStore, StorePathError, UnknownBackend, WellkeptError
from wellkept.models.registry import load_embedder, load_judge
from wellkept.operations.queued_writes import in_file

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.models.port import Embedder
    from wellkept.storage.placement import PlacedStorage
    from wellkept.storage.port import Storage
    from wellkept.storage.postgres import PostgresStorage
    from wellkept.storage.postgres.server.inspection import Look
    from wellkept.storage.sqlite import SqliteStorage
    from wellkept.types import Header

Note = Callable[[str], None]


def open_store(settings: Settings, *, writes: bool, model: bool, note: Note) -> MemoryStore:
    """Open the configured store.

    Args:
        settings: The effective settings.
        writes: Whether the file may be created. Without it, a missing file is read as an empty store.
        model: Whether new text will be embedded; otherwise no model is loaded.
        note: Called with messages for the user.

    Raises:
        WellkeptError: The store cannot be opened.
    """
    file = settings.file
    if file is None and not _lasts(settings.db):
        return _bound(settings.db, settings, configured_embedder(settings))
    try:
        storage = _opened(settings, make=writes)
    except NoStore as none:
        note(f"There is no store at {none.where} yet")
        return _bound("memory:", settings, load_embedder("hashing"))
    with _closing_on_error(storage):
        header = storage.header()
        embedder = Unloaded(header) if header.embedder and not model else embedder_for(settings, header)
        # What only shows stored rows compares no texts: the relation model's weights need not be checked.
        judging = "none" if not writes and not model else settings.relation_model
        store = _bound(storage, settings, embedder, relation_model=judging)
        return store if file is None else in_file(store, file)


def open_scratch(settings: Settings, like: MemoryStore | None = None) -> MemoryStore:
    """Open an empty store in memory with the configured models, or with the embedder of another store."""
    return _bound("memory:", settings, configured_embedder(settings) if like is None else like._ctx.embedder)


def open_for_reembedding(settings: Settings) -> MemoryStore:
    """Open a store with the configured embedder and discard its previous vectors.

    Raises:
        StorePathError: The store does not exist or is in memory.
        WellkeptError: The store cannot be opened.
    """
    storage = _existing(settings)
    with _closing_on_error(storage):
        embedder = configured_embedder(settings)
        if storage.header().embedder != embedder.id:
            storage.configure(embedder=embedder.id, dim=embedder.dim, policy=settings.policy.hash)
        return _bound(storage, settings, embedder)


def open_with_its_own(settings: Settings) -> MemoryStore:
    """Open a store under its recorded embedder without loading a model, for work that embeds nothing.

    Raises:
        StorePathError: The store does not exist or is in memory.
        WellkeptError: The store cannot be opened.
    """
    storage = _existing(settings)
    with _closing_on_error(storage):
        return _bound(storage, settings, Unloaded(storage.header()))


@contextmanager
def _closing_on_error(storage: Storage) -> Iterator[None]:
    """Close the storage if the store cannot be opened on it."""
    try:
        yield
    except WellkeptError:
        storage.close()
        raise


def _lasts(db: str) -> bool:
    """Whether an address that names no file names databases, and no store in memory."""
    return is_server(db) or table_of_places(db) is not None


def _existing(settings: Settings) -> Storage:
    """The storage of an existing store: a file, or a database on a server."""
    if settings.file is None and not _lasts(settings.db):
        raise StorePathError(
            "a store in memory ends with the process", where=settings.db, todo="Name a store with --db"
        )
    return _opened(settings, make=False)


def _opened(settings: Settings, *, make: bool) -> Storage:
    file, table = settings.file, table_of_places(settings.db)
    if table is not None:
        return open_places(table, make=make)
    if file is None:
        return open_database(settings.db, token=settings.token, make=make)
    if not make and not file.exists():
        raise NoStore("there is no such store", where=str(file), todo="Name it with --db")
    return open_file(settings, file)


def open_database(db: str, *, token: str = "", make: bool = True) -> PostgresStorage:
    """Open the storage of a store on a database server.

    Args:
        db: Its address.
        token: The secret of a token, if the login requires one.
        make: Whether to create a missing store.

    Raises:
        NoStore: The store does not exist and `make` is not set.
        UnknownBackend: The driver is not installed.
        StorageError: The database cannot be used.
    """
    with _driver():
        from wellkept.storage.postgres import PostgresStorage
    return PostgresStorage(db, token=token, make=make)


def open_places(table: Path, *, make: bool = True) -> PlacedStorage:
    """Open the storage of a store over several databases.

    Args:
        table: The file with the table of places.
        make: Whether to create the store if none of the databases has one.

    Raises:
        ConfigError: The table of places is wrong.
        NoStore: The store does not exist and `make` is not set.
        UnknownBackend: The driver is not installed.
        StorageError: Databases cannot be used; names them.
    """
    with _driver():
        from wellkept.storage.placement import PlacedStorage
    return PlacedStorage(table, make=make)


def look_at_database(db: str) -> Look:
    """A connection that only inspects a database, with or without a store.

    Raises:
        UnknownBackend: The driver is not installed.
        StorageError: The database cannot be reached.
    """
    with _driver():
        from wellkept.storage.postgres.server.inspection import Look
    return Look(db)


@contextmanager
def _driver() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise UnknownBackend(
            f"the driver {error.name!r} is not installed", where="postgresql://", todo="Install wellkept[postgres]"
        ) from error


def open_file(settings: Settings, file: Path) -> SqliteStorage:
    """Open the storage of a file. Only the default folder is created when missing, no other."""
    from wellkept.storage.sqlite import SqliteStorage

    if file == default_db():
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorePathError(
                f"the folder cannot be made: {error.strerror}", where=str(file.parent), todo="Name a store with --db"
            ) from error
    return SqliteStorage(file, durability=settings.durability)


def embedder_for(settings: Settings, header: Header) -> Embedder:
    """The configured embedder; `auto` selects the lexical one for a store created with it."""
    if settings.embedder == "auto" and header.embedder:
        lexical = load_embedder("hashing")
        if header.embedder == lexical.id:
            return lexical
    return configured_embedder(settings)


def configured_embedder(settings: Settings) -> Embedder:
    """The embedder named in the settings."""
    return load_embedder(settings.embedder, api_key=settings.embedder_key or None)


def _bound(url: str | Storage, settings: Settings, embedder: Embedder, *, relation_model: str = "") -> MemoryStore:
    return wellkept.open(
        url,
        policy=settings.policy,
        embedder=embedder,
        relation_model=relation_model or settings.relation_model,
        judge=load_judge(settings.judge, api_key=settings.judge_key or None),
        reranker=settings.reranker,
        namespace=settings.namespace,
        actor=settings.actor,
    )
