"""From settings to an opened store: which embedder, and that nothing is made by merely reading."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import wellkept
from wellkept.config import Settings, default_db
from wellkept.core.calibration import UNCALIBRATED, Calibration
from wellkept.errors import ModelUnavailable, StorePathError, UnknownBackend, WellkeptError
from wellkept.models.registry import load_embedder, load_judge
from wellkept.surfaces.waiting import in_file

if TYPE_CHECKING:
    from wellkept.engine.store import MemoryStore
    from wellkept.models.port import Embedded, Embedder
    from wellkept.storage.port import Storage
    from wellkept.storage.postgres import PostgresStorage
    from wellkept.types import Header

Note = Callable[[str], None]


class Absent:
    """Stands for the embedder of a store while a command runs that embeds nothing.

    So listing or undoing needs no model, and works when the store's own cannot be loaded (I7).
    """

    calibration: Calibration = UNCALIBRATED
    lexical = False

    def __init__(self, header: Header) -> None:
        self.id = header.embedder
        self.dim = header.dim

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Never answers.

        Raises:
            ModelUnavailable: Always.
        """
        raise ModelUnavailable("no embedder was loaded for this command", where=self.id, todo="Report this")


def open_store(settings: Settings, *, writes: bool, model: bool, note: Note) -> MemoryStore:
    """Open the store the settings name.

    Args:
        settings: What is in force.
        writes: Whether the file may be made. A reader of a file that is not there sees an empty store.
        model: Whether new text will be embedded; if not, no model is loaded.
        note: Called with what the user should know.

    Raises:
        WellkeptError: Why it cannot be opened.
    """
    file = settings.file
    if file is None:
        return _bound(settings.db, settings, load_embedder(settings.embedder, api_key=settings.embedder_key or None))
    if not writes and not file.exists():
        note(f"There is no store at {file} yet")
        return _bound("memory:", settings, load_embedder("hashing"))
    storage = open_file(settings, file)
    try:
        header = storage.header()
        embedder = Absent(header) if header.embedder and not model else embedder_for(settings, header)
        return in_file(_bound(storage, settings, embedder), file)
    except WellkeptError:
        storage.close()
        raise


def open_for_reembedding(settings: Settings) -> MemoryStore:
    """Open a store with whatever embedder is set, giving up the vectors of the one it had.

    Raises:
        StorePathError: There is no such store, or it ends with this process.
        WellkeptError: Why it cannot be opened.
    """
    storage = _existing(settings)
    try:
        embedder = load_embedder(settings.embedder, api_key=settings.embedder_key or None)
        if storage.header().embedder != embedder.id:
            storage.configure(embedder=embedder.id, dim=embedder.dim, policy=settings.policy.hash)
        return _bound(storage, settings, embedder)
    except WellkeptError:
        storage.close()
        raise


def open_with_its_own(settings: Settings) -> MemoryStore:
    """Open a store with whatever embedder it has, for work that asks it for nothing: no model is loaded.

    Raises:
        StorePathError: There is no such store, or it ends with this process.
        WellkeptError: Why it cannot be opened.
    """
    storage = _existing(settings)
    try:
        return _bound(storage, settings, Absent(storage.header()))
    except WellkeptError:
        storage.close()
        raise


def _existing(settings: Settings) -> Storage:
    """The storage of a store that is there: a file, or a database on a server."""
    file = settings.file
    if file is not None and file.exists():
        return open_file(settings, file)
    if file is not None or not _is_server(settings.db):
        raise StorePathError("there is no such store", where=settings.db, todo="Name it with --db")
    return open_database(settings.db, token=settings.token)


def _is_server(db: str) -> bool:
    return db.startswith(("postgresql://", "postgres://"))


def open_database(db: str, *, token: str = "") -> PostgresStorage:
    """The store in a database on a server as storage.

    Raises:
        UnknownBackend: The driver is not installed.
        StorageError: The database cannot be used.
    """
    try:
        from wellkept.storage.postgres import PostgresStorage
    except ModuleNotFoundError as error:
        raise UnknownBackend(
            f"the driver {error.name!r} is not installed", where="postgresql://", todo="Install wellkept[postgres]"
        ) from error
    return PostgresStorage(db, token=token)


def open_file(settings: Settings, file: Path) -> Storage:
    """The store's file as storage; the folder of the default place is made, no other."""
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
    """The embedder asked for; `auto` follows a store that was made with the lexical one."""
    if settings.embedder == "auto" and header.embedder:
        lexical = load_embedder("hashing")
        if header.embedder == lexical.id:
            return lexical
    return load_embedder(settings.embedder, api_key=settings.embedder_key or None)


def _bound(url: str | Storage, settings: Settings, embedder: Embedder) -> MemoryStore:
    is_server = isinstance(url, str) and url.startswith(("postgresql://", "postgres://"))
    return wellkept.open(
        url,
        token=settings.token if is_server else "",
        policy=settings.policy,
        embedder=embedder,
        relation_model=settings.relation_model,
        judge=load_judge(settings.judge, api_key=settings.judge_key or None),
        reranker=settings.reranker,
        namespace=settings.namespace,
        actor=settings.actor,
    )
