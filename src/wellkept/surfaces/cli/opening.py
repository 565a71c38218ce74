"""From settings to an opened store: which embedder, and that nothing is made by merely reading."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import wellkept
from wellkept.config import Settings, default_db
from wellkept.core.calibration import UNCALIBRATED, Calibration
from wellkept.errors import ModelUnavailable, StorePathError, WellkeptError
from wellkept.models.registry import load_embedder, load_judge
from wellkept.surfaces.waiting import in_file

if TYPE_CHECKING:
    from wellkept.engine.store import MemoryStore
    from wellkept.models.port import Embedded, Embedder
    from wellkept.storage.port import Storage
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
        StorePathError: The store is kept in no file, or there is none.
        WellkeptError: Why it cannot be opened.
    """
    file = settings.file
    if file is None or not file.exists():
        raise StorePathError("there is no such store", where=settings.db, todo="Name its file with --db")
    embedder = load_embedder(settings.embedder, api_key=settings.embedder_key or None)
    storage = open_file(settings, file)
    try:
        if storage.header().embedder != embedder.id:
            storage.configure(embedder=embedder.id, dim=embedder.dim, policy=settings.policy.hash)
        return _bound(storage, settings, embedder)
    except WellkeptError:
        storage.close()
        raise


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
    return wellkept.open(
        url,
        policy=settings.policy,
        embedder=embedder,
        relation_model=settings.relation_model,
        judge=load_judge(settings.judge, api_key=settings.judge_key or None),
        reranker=settings.reranker,
        namespace=settings.namespace,
        actor=settings.actor,
    )
