"""Commands that copy a whole store: migrate, backup, restore-backup."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from wellkept.cli.terminal.groups import argument, flag, option
from wellkept.cli.terminal.render import bare
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session
from wellkept.config import Durability, Settings, is_server, store_file
from wellkept.errors import StorePathError, UnknownBackend
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from wellkept.cli.terminal.render import Parts
    from wellkept.engine.transfer.migrate import MoveReport
    from wellkept.storage.port import Storage
    from wellkept.storage.sqlite import SqliteStorage

_BUSY_SECONDS = 30.0


def migrate(
    run: Session,
    source: str = argument(metavar="SOURCE", help="Path or URL of the store that is copied."),
    target: str = argument(metavar="TARGET", help="Path or URL of the store it is copied to."),
    *,
    namespace: list[str] | None = option(
        metavar="NAME", help="Only this namespace, added to what the target holds; repeatable."
    ),
    dry_run: bool = flag("--dry-run", help="Show what would be copied, and write nothing."),
) -> None:
    """Copy a store to another backend, with its journal. If interrupted, the next start resumes the copy."""
    from wellkept.engine.transfer.migrate import migrate as move

    _refuse_same(source, target)
    here = _opened(run, source, reads=True)
    there = _opened(run, target, reads=dry_run)
    with run.phases("Copying") as done:
        # Namespaces are copied one after the other, each with its own number of entries.
        report = move(here, there, namespaces=namespace or (), dry_run=dry_run, progress=done)
    _tell_of_the_queue(run, source)
    run.show(report, lambda: _moved(report, target))


def backup(
    run: Session,
    file: Path = argument(metavar="FILE", help="File for the copy; it appears only when complete."),
    *,
    force: bool = flag("--force", help="Replace the file."),
) -> None:
    """Back up the store to a file while it is in use: a consistent snapshot, verified."""
    storage = file_storage(run, _own_file(run.settings))
    with run.busy("Copying"):
        copied = storage.backup(file, replace=force)
    held = f"{_held(copied.entries)}, {copied.size:,} bytes"
    run.show(copied, lambda: [f"{one_line(str(file))}: {held}; verified"])
    _tell_of_the_queue(run, run.settings.db)


def restore_backup(
    run: Session,
    file: Path = argument(metavar="FILE", help="A copy made by `wellkept backup`."),
) -> None:
    """Replace the store by a backup, also while processes use it; the previous store is kept next to it."""
    from wellkept.storage.sqlite import SqliteStorage
    from wellkept.storage.sqlite.copying import put_back

    own = _own_file(run.settings)
    with run.busy("Restoring"):
        done = put_back(
            own.absolute(),
            file.absolute(),
            prepare=lambda path: SqliteStorage(path).close(),
            busy_seconds=_BUSY_SECONDS,
        )
    kept = f"; the previous file is kept as {done.kept}" if done.kept else ""
    message = f"{own} is restored exactly: {_held(done.entries)}{kept}"
    run.show(done, lambda: [one_line(message, limit=2_000)])


def _own_file(settings: Settings) -> Path:
    if settings.file is not None:
        return settings.file
    raise UnknownBackend(
        "only a store in a file is copied this way", where=shown(settings.db), todo="Use pg_dump for a server"
    )


def _opened(run: Session, url: str, *, reads: bool) -> Storage:
    """The storage at an address, opened without an embedder; closed when the command ends."""
    file = store_file(url)
    if file is not None:
        if reads and not file.exists():
            return _absent(run, url)
        return file_storage(run, file, make=not reads)
    if not is_server(url):
        raise UnknownBackend(
            "a store in memory ends with the process",
            where=shown(url),
            todo="Use a path, sqlite:///path or postgresql://…",
        )
    from wellkept import _storage

    return run.closing(_storage(url))


def _absent(run: Session, url: str) -> Storage:
    """A stand-in for the target of a dry run: an empty in-memory store, so that no file is created."""
    from wellkept.storage.memory import DictStorage

    run.note(f"There is no store at {shown(url)} yet")
    return DictStorage()


def file_storage(
    run: Session, file: Path, *, make: bool = False, durability: Durability | None = None
) -> SqliteStorage:
    """The store in a file, opened without an embedder; closed when the command ends."""
    from wellkept.storage.sqlite import SqliteStorage

    if not make and not file.exists():
        raise StorePathError("there is no such store", where=str(file), todo="Check the path")
    return run.closing(SqliteStorage(file, durability=durability or run.settings.durability))


def _refuse_same(source: str, target: str) -> None:
    from wellkept.engine.base.files import same_file

    here, there = store_file(source), store_file(target)
    same = source == target if here is None or there is None else same_file(here, there)
    if same:
        raise StorePathError("source and target are the same store", where=shown(target), todo="Name another target")
    if here is not None and not here.exists():
        raise StorePathError("there is no such store", where=shown(source), todo="Check the path")


def _held(entries: Mapping[str, int]) -> str:
    return f"{count_of(len(entries), 'namespace')}, {count_of(sum(entries.values()), 'entry')}"


def _tell_of_the_queue(run: Session, url: str) -> None:
    file = store_file(url)
    queue = None if file is None else file.with_name(file.name + ".queue")
    if queue is not None and queue.exists() and queue.stat().st_size:
        run.note(f"Writes wait in {queue} and are not in the copy; `wellkept queue flush` writes them into the store")


def shown(url: str) -> str:
    """An address safe to print: without user and password.

    Example:
        >>> shown("postgresql://ana:secret@db.example:5432/memory?sslmode=require")
        'postgresql://db.example:5432/memory'
        >>> shown("postgresql://ana:with/slash@db.example/memory")
        'postgresql://…'
    """
    if "://" not in url or store_file(url) is not None:
        return one_line(url)
    hidden = one_line(url.partition("://")[0]) + "://…"
    try:
        parts = urlsplit(url)
    except ValueError:  # it is unknown which part is the password
        return hidden
    beyond = parts.path + parts.fragment + ("" if "=" in parts.query.partition("@")[0] else parts.query)
    if "@" in beyond:  # an unescaped character of the password ended the host name early
        return hidden
    return one_line(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}")


def _moved(report: MoveReport, target: str) -> Parts:
    if not report.namespaces:
        yield "The source holds nothing"
        return
    rows = []
    for each in report.namespaces:
        held = each.held
        counts = (each.entries, held.seq, held.memories, held.links, held.conflicts)
        rows.append((each.namespace, each.state, *map(str, counts), held.digest[:16]))
    yield bare(("namespace", "state", "copied", "entries", "memories", "links", "conflicts", "hash"), rows)
    if report.dry_run:
        yield "Dry run: nothing is written"
    else:
        yield f"{shown(target)} is identical: counts, order and a hash of all contents were compared"
    if report.others:
        yield f"Left unchanged there: {one_line(', '.join(report.others))}"
