"""Storage over several databases: each transaction goes to the database of its namespace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import RLock

from wellkept.errors import ConfigError, Elsewhere, EmbedderMismatch, NoStore, StorageError, WellkeptError
from wellkept.storage.ledger import Ledger
from wellkept.storage.placement.file import TableFile
from wellkept.storage.port import Insist, Tx, Usage
from wellkept.storage.postgres import PostgresStorage
from wellkept.types import Header


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
        self._insist: Insist | None = None
        self._embedder = ""
        try:
            self._open_all(make=make)
            self._agree()
        except WellkeptError:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"PlacedStorage({str(self.file.path)!r})"

    # ---- the databases ----

    def at(self, name: str) -> PostgresStorage:
        """The storage of a database of the table; opened at its first use.

        Raises:
            StorageError: It cannot be used.
        """
        url = self.file.table().databases[name]
        with self._lock:
            if url not in self._open:
                self._open[url] = self._opened(url, make=True)
                if self._embedder:  # the table got a new database
                    self._agree()
                    self._open[url].bind(self._embedder)
            return self._open[url]

    def databases(self) -> dict[str, PostgresStorage]:
        """All databases by name, in the order of the table."""
        return {name: self.at(name) for name in self.file.table().databases}

    def _opened(self, url: str, *, make: bool) -> PostgresStorage:
        storage = PostgresStorage(url, make=make)
        if self._insist is not None:
            storage.insist = self._insist
        return storage

    def _open_all(self, *, make: bool) -> None:
        """Open every database; one without a store gets one, unless all are without and `make` is false."""
        table = self.file.table()
        failed: dict[str, StorageError] = {}
        for name, url in table.databases.items():
            try:
                self._open[url] = self._opened(url, make=make)
            except StorageError as error:
                failed[name] = error
        lacking = [name for name, error in failed.items() if isinstance(error, NoStore)]
        if len(lacking) == len(table.databases):
            raise NoStore("there is no such store", where=str(self.file.path), todo="Name it with --db")
        for name in lacking:
            self._open[table.databases[name]] = self._opened(table.databases[name], make=True)
            del failed[name]
        if failed:
            reasons = "; ".join(f"{name!r}: {error.what} ({error.where})" for name, error in failed.items())
            raise StorageError(
                f"{len(failed)} of {len(table.databases)} databases cannot be used: {reasons}",
                where=str(self.file.path),
                todo="Start with all of them; a running process needs those that it uses",
            )

    def _agree(self) -> None:
        """Check that they are different databases of one embedder; one without any takes that of the others."""
        headers = {name: storage.header() for name, storage in self.databases().items()}
        names: dict[str, str] = {}
        for name, header in headers.items():
            other = names.setdefault(header.store_id, name)
            if other != name:  # a move would take one for a copy of the other, and empty it
                raise ConfigError(
                    f"{other!r} and {name!r} are one database under two addresses",
                    where=str(self.file.path),
                    todo="Keep one of the two names",
                )
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
        for _, known in by_embedder.values():
            for name, header in headers.items():
                if not header.embedder:
                    self.at(name).configure(embedder=known.embedder, dim=known.dim, policy=known.policy)

    # ---- the port ----

    def header(self) -> Header:
        """See `Storage.header`; the id is that of the first database, the namespaces are those of all."""
        headers = [storage.header() for storage in self.databases().values()]
        return replace(headers[0], namespaces=tuple(sorted({name for one in headers for name in one.namespaces})))

    def configure(self, *, embedder: str, dim: int, policy: str) -> None:
        """See `Storage.configure`."""
        for storage in self.databases().values():
            storage.configure(embedder=embedder, dim=dim, policy=policy)

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
        with ExitStack() as stack:
            yield self._entered(stack, namespace, write=write)

    def _entered(self, stack: ExitStack, namespace: str, *, write: bool) -> Tx:
        name = self.file.table().place_of(namespace).database
        asked = set()
        while True:
            asked.add(name)
            try:
                tx = stack.enter_context(self.at(name).begin(namespace, write=write))
                break
            except Elsewhere as error:  # it was moved, and this may be the table of another machine
                name = error.database
                if name in asked or name not in self.file.table().databases:
                    raise
        if not tx.seq:
            self._check_new(namespace, at=name)
        return tx

    def _check_new(self, namespace: str, *, at: str) -> None:
        """Look for a namespace that is not where the table says: without this a changed table would hide it."""
        if found := [name for name in self.found_at(namespace) if name != at]:
            raise Elsewhere(
                f"namespace {namespace!r} lives in database {found[0]!r}, and the table of places says {at!r}",
                where=str(self.file.path),
                todo="Move it: wellkept db move NAMESPACE DATABASE; or set its place: wellkept db place NAMESPACE --in",
                database=found[0],
            )

    def found_at(self, namespace: str) -> list[str]:
        """The databases that hold a namespace: none, one, or two while it is being moved."""
        found = []
        for name, storage in self.databases().items():
            try:
                with storage.begin(namespace, write=False) as tx:
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
        return self.at(self.file.table().place_of(namespace).database).strayed(namespace)

    def count_use(self, namespace: str, usage: Mapping[str, Usage]) -> None:
        """See `Counting.count_use`."""
        self.at(self.file.table().place_of(namespace).database).count_use(namespace, usage)

    def ledger(self) -> Ledger:
        """See `Deferring.ledger`: queued writes wait in the first database, and are written where they belong."""
        return next(iter(self.databases().values())).ledger()

    def close(self) -> None:
        """See `Storage.close`."""
        for storage in self._open.values():
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
