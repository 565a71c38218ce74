"""Storage over several databases: each transaction goes to the database of its namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import TypeVar

from wellkept.errors import ConfigError, Elsewhere, EmbedderMismatch, NoStore, StorageError
from wellkept.storage.ledger import Ledger
from wellkept.storage.placement.file import TableFile
from wellkept.storage.placement.table import Table
from wellkept.storage.port import Insist, Tx, Usage
from wellkept.storage.postgres import PostgresStorage
from wellkept.types import Header

_T = TypeVar("_T")


class PlacedStorage:
    """A store whose namespaces live in several PostgreSQL databases; see `storage.port.Storage`.

    A namespace is in one database only: a new one is looked for in all of them, and one that was moved is refused by
    its former database, whatever table of places a process has read.

    Args:
        path: The file with the table of places; it is read again whenever it changes.
        make: Whether to create the store if none of the databases has one.

    Attributes:
        file: The table of places.

    Raises:
        ConfigError: The table of places is wrong.
        EmbedderMismatch: The databases hold vectors of different embedders.
        NoStore: None of the databases has a store, and `make` is false.
        StorageError: Databases cannot be used; each is named with its reason.

    Example:
        >>> store = PlacedStorage(Path("/srv/wellkept/places.toml"))  # doctest: +SKIP
    """

    def __init__(self, path: Path, *, make: bool = True) -> None:
        self.file = TableFile(path)
        self._lock = RLock()
        self._open: dict[str, PostgresStorage] = {}
        self._headers: dict[str, Header] = {}
        self._insist: Insist | None = None
        self._embedder = ""
        table = self.file.table()
        # For as long as this process runs, whatever the order in the table is by then: queued writes name its id.
        self._first = next(iter(table.databases.values()))
        self._join(table, self._opened_all(table, make=make))

    def __repr__(self) -> str:
        return f"PlacedStorage({str(self.file.path)!r})"

    # ---- the databases ----

    def at(self, name: str) -> PostgresStorage:
        """The storage of a database of the table; opened at its first use.

        Raises:
            ConfigError: The table has no such database, or the database does not fit the others.
            StorageError: It cannot be used.
        """
        return self._at(self.file.table(), name)

    def databases(self) -> dict[str, PostgresStorage]:
        """All databases by name, in the order of the table."""
        table = self.file.table()
        return {name: self._at(table, name) for name in table.databases}

    def _at(self, table: Table, name: str) -> PostgresStorage:
        url = table.databases.get(name)
        if url is None:
            raise ConfigError(
                f"the table of places has no database {name!r}", where=str(self.file.path), todo="Repeat the call"
            )
        found = self._open.get(url)  # nobody waits here for a new database that cannot be reached
        if found is not None:
            return found
        with self._lock:
            if url not in self._open:
                self._join(table, {url: self._opened(url, make=True)})
            return self._open[url]

    def _opened(self, url: str, *, make: bool) -> PostgresStorage:
        storage = PostgresStorage(url, make=make)
        if self._insist is not None:
            storage.insist = self._insist
        return storage

    def _opened_all(self, table: Table, *, make: bool) -> dict[str, PostgresStorage]:
        """Every database by address; one without a store gets one, unless all are without and `make` is false."""
        made: dict[str, PostgresStorage] = {}
        failed: dict[str, StorageError] = {}
        with _closing(made):
            for name, url in table.databases.items():
                try:
                    made[url] = self._opened(url, make=make)
                except StorageError as error:
                    failed[name] = error
            lacking = [name for name, error in failed.items() if isinstance(error, NoStore)]
            if len(lacking) == len(table.databases):
                raise NoStore("there is no such store", where=str(self.file.path), todo="Name it with --db")
            for name in lacking:
                made[table.databases[name]] = self._opened(table.databases[name], make=True)
                del failed[name]
            if failed:
                reasons = "; ".join(f"{name!r}: {error.what} ({error.where})" for name, error in failed.items())
                raise StorageError(
                    f"{len(failed)} of {len(table.databases)} databases cannot be used: {reasons}",
                    where=str(self.file.path),
                    todo="Start with all of them; a running process needs those that it uses",
                )
        return made

    def _join(self, table: Table, made: dict[str, PostgresStorage]) -> None:
        """Use further databases, if they are different ones of one embedder; one without any takes that of the others.

        Those that are in use already are not asked again: they may be away.
        """
        with _closing(made):
            headers = {url: storage.header_for("") for url, storage in made.items()}
            known = self._headers | headers
            by_name = {name: known[url] for name, url in table.databases.items() if url in known}
            self._check_distinct(by_name)
            model = self._one_embedder(by_name)
            for url, storage in made.items():
                if model is not None and not headers[url].embedder:
                    storage.configure(embedder=model.embedder, dim=model.dim, policy=model.policy)
                if self._embedder:
                    storage.bind(self._embedder)
        self._headers |= headers
        self._open |= made

    def _check_distinct(self, headers: Mapping[str, Header]) -> None:
        names: dict[str, str] = {}
        for name, header in headers.items():
            other = names.setdefault(header.store_id, name)
            if other != name:  # a move would take one for a copy of the other, and empty it
                raise ConfigError(
                    f"{other!r} and {name!r} are one database under two addresses",
                    where=str(self.file.path),
                    todo="Keep one of the two names",
                )

    def _one_embedder(self, headers: Mapping[str, Header]) -> Header | None:
        """The header of a database with an embedder."""
        by_embedder: dict[str, tuple[str, Header]] = {}
        for name, header in headers.items():
            if header.embedder:
                by_embedder.setdefault(header.embedder, (name, header))
        if len(by_embedder) > 1:
            listed = ", ".join(f"{name!r} has {embedder!r}" for embedder, (name, _) in by_embedder.items())
            raise EmbedderMismatch(
                f"the databases hold vectors of different embedders: {listed}",
                where=str(self.file.path),
                todo="Move each to the same embedder first: wellkept --db ADDRESS reembed",
            )
        return next((header for _, header in by_embedder.values()), None)

    # ---- the port ----

    def database_of(self, namespace: str) -> str:
        """See `Placing.database_of`."""
        return self.file.table().place_of(namespace).database

    def header(self) -> Header:
        """See `Storage.header`; the id is that of the first database, the namespaces are those of all."""
        names = {name for storage in self.databases().values() for name in storage.header().namespaces}
        return replace(self.header_for(""), namespaces=tuple(sorted(names)))

    def header_for(self, namespace: str) -> Header:
        """See `Describing.header_for`; asks the database of the namespace only."""
        table = self.file.table()
        storage = self._at(table, table.place_of(namespace).database) if namespace else self._open[self._first]
        return replace(storage.header_for(namespace), store_id=self._headers[self._first].store_id)

    def configure(self, *, embedder: str, dim: int, policy: str) -> None:
        """See `Storage.configure`."""
        for storage in self.databases().values():
            storage.configure(embedder=embedder, dim=dim, policy=policy)
        for url, header in list(self._headers.items()):
            self._headers[url] = replace(header, embedder=embedder, dim=dim, policy=policy)

    def bind(self, embedder: str) -> None:
        """See `Binding.bind`."""
        self._embedder = embedder
        for storage in self.databases().values():
            storage.bind(embedder)

    @contextmanager
    def begin(self, namespace: str, *, write: bool) -> Iterator[Tx]:
        """See `Storage.begin`.

        Raises:
            Busy: Another writer held the namespace for too long, or it is being moved.
            Elsewhere: The namespace is in another database than the table says.
        """
        new_in = name = ""
        while True:
            try:
                with ExitStack() as stack:
                    name, tx = self._followed(
                        namespace, lambda storage: stack.enter_context(storage.begin(namespace, write=write))
                    )
                    if not tx.seq and name != new_in:
                        raise _Unknown
                    yield tx
                    return
            except _Unknown:  # no connection is held now: with one of each pool, many callers would wait for each other
                self._check_new(namespace, at=name)
                new_in = name
            except StorageError as error:  # while it is read or written, or at its commit
                error.database = error.database or name
                raise

    def _followed(self, namespace: str, act: Callable[[PostgresStorage], _T]) -> tuple[str, _T]:
        """Act in the database of a namespace, also if it was moved; returns the name of the database too."""
        table = self.file.table()
        name = table.place_of(namespace).database
        asked = set()
        while True:
            asked.add(name)
            try:
                with _naming(name):
                    return name, act(self._at(table, name))
            except Elsewhere as error:  # the table may be that of another machine
                name = error.database
                if name in asked or name not in table.databases:
                    raise

    def _check_new(self, namespace: str, *, at: str) -> None:
        """Look for a namespace that is not where the table says: without this a changed table would hide it."""
        if found := self.found_at(namespace, besides=at):
            raise Elsewhere(
                f"namespace {namespace!r} lives in database {found[0]!r}, and the table of places says {at!r}",
                where=str(self.file.path),
                todo="Move it: wellkept db move NAMESPACE DATABASE; or set its place: wellkept db place NAMESPACE --in",
                database=found[0],
            )

    def found_at(self, namespace: str, *, besides: str = "") -> list[str]:
        """The databases that hold a namespace: none, one, or two while it is being moved; one may be left out."""
        found = []
        table = self.file.table()
        for name in table.databases:
            if name == besides:
                continue
            try:
                with _naming(name), self._at(table, name).begin(namespace, write=False) as tx:
                    if tx.seq:
                        found.append(name)
            except Elsewhere:
                continue
        return found

    def verify(self) -> list[str]:
        """See `Storage.verify`."""
        return [f"database {name!r}: {one}" for name, held in self.databases().items() for one in held.verify()]

    def mend(self, *, dry_run: bool) -> list[str]:
        """See `Mending.mend`."""
        every = self.databases().items()
        return [f"database {name!r}: {one}" for name, held in every for one in held.mend(dry_run=dry_run)]

    def strayed(self, namespace: str) -> list[str]:
        """See `Mending.strayed`."""
        return self._followed(namespace, lambda storage: storage.strayed(namespace))[1]

    def count_use(self, namespace: str, usage: Mapping[str, Usage]) -> None:
        """See `Counting.count_use`."""
        self._followed(namespace, lambda storage: storage.count_use(namespace, usage))

    def ledger(self) -> Ledger:
        """See `Deferring.ledger`: queued writes wait in the first database, and are written where they belong."""
        return self._open[self._first].ledger()

    def close(self) -> None:
        """See `Storage.close`."""
        for storage in list(self._open.values()):
            storage.close()

    # ---- lost connections ----

    @property
    def busy_seconds(self) -> float:
        """See `Recovering.busy_seconds`."""
        return next(iter(self._open.values())).busy_seconds

    @property
    def insist(self) -> Insist:
        """See `Recovering.insist`."""
        return next(iter(self._open.values())).insist

    @insist.setter
    def insist(self, insist: Insist) -> None:
        self._insist = insist
        for storage in self._open.values():
            storage.insist = insist

    def commits(self) -> int:
        """See `Recovering.commits`."""
        return sum(storage.commits() for storage in list(self._open.values()))


class _Unknown(Exception):
    """The database that was asked knows no namespace of this name."""


@contextmanager
def _naming(database: str) -> Iterator[None]:
    """Name the database in an error of it; one that says where a namespace is names that one."""
    try:
        yield
    except StorageError as error:
        error.database = error.database or database
        raise


@contextmanager
def _closing(made: Mapping[str, PostgresStorage]) -> Iterator[None]:
    """Close databases that were opened if an error keeps them from being used."""
    try:
        yield
    except BaseException:
        for storage in made.values():
            storage.close()
        raise
