"""Commands for a store over several databases: where a namespace lives, and moving one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.cli.operating.moving_commands import file_storage, shown
from wellkept.cli.terminal.groups import argument, flag, option
from wellkept.cli.terminal.render import rows_of
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session
from wellkept.config import table_of_places
from wellkept.engine.base.inputs import check_namespace
from wellkept.errors import IllegalTransition, InvalidField, NotFound, StorageError, UnknownBackend
from wellkept.frozen import frozen
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from wellkept.cli.terminal.render import Parts
    from wellkept.engine.transfer.move import Database, MoveResult
    from wellkept.engine.transfer.second_copy import SecondCopy
    from wellkept.storage.placement import PlacedStorage


@frozen(kw_only=True)
class Placed:
    """Where one namespace lives.

    Attributes:
        namespace: The namespace, or a path that ends in `/`.
        database: The database that the table of places says.
        by: The entry of the table that says so; empty if the hash of the name does.
        found: The databases that hold it; empty for a namespace without memories.
        moving: The database to which it is being moved; empty without a move.
    """

    namespace: str
    database: str
    by: str
    found: tuple[str, ...]
    moving: str = ""


def place(
    run: Session,
    name: str | None = argument(
        default=None,
        metavar="NAMESPACE",
        show_default=False,
        help="The namespace, or a path such as acme/; else all.",
    ),
    *,
    into: str | None = option(
        "--in", metavar="DATABASE", help="Let it, or new namespaces below the path, live in this database."
    ),
) -> None:
    """Show or set which of several databases a namespace lives in."""
    storage = _store(run)
    if name is None:
        if into is not None:
            raise InvalidField("names no namespace", where="--in", todo="Write: db place NAMESPACE --in DATABASE")
        found = [_placed(storage, each) for each in storage.header().namespaces]
        run.show(found, lambda: _table(found, storage))
        return
    key = check_namespace(name.removesuffix("/")) + ("/" if name.endswith("/") else "")
    if into is not None:
        _check_database(storage, into)
        _refuse_hidden(storage, key, into)
        storage.file.change(lambda table: table.with_place(key, into))
    result = _placed(storage, key)
    run.show(result, lambda: [_sentence(result)])


def move(
    run: Session,
    name: str = argument(metavar="NAMESPACE", help="The namespace; others below it stay where they are."),
    database: str | None = argument(
        default=None, metavar="DATABASE", show_default=False, help="The database it shall live in."
    ),
    *,
    back: bool = flag("--back", help="Give up a move that was interrupted."),
    clean: bool = flag("--clean", help="Remove the copies that finished moves have left."),
) -> None:
    """Move a namespace to another of several databases while it is in use; if interrupted, start it again."""
    if back + clean + (database is not None) != 1:
        raise InvalidField("needs one of DATABASE, --back and --clean", where="db move", todo="Name one of them")
    storage, namespace = _store(run), check_namespace(name)
    result = _moved(run, storage, namespace, database) if database is not None else None
    if back:
        result = _given_up(storage, namespace)
    results = _cleaned(storage, namespace) if clean else [result] if result is not None else []
    run.show_each(results, lambda: [_told(each) for each in results] or ["There is no copy to remove"])


def remove_copy(
    run: Session,
    name: str = argument(metavar="NAMESPACE", help="The namespace."),
    database: str = argument(metavar="DATABASE", help="The database that holds the copy to remove."),
    *,
    save: Path | None = option("--save", metavar="FILE", help="Save the copy in this store, then remove it."),
) -> None:
    """Show what a second copy of a namespace holds that no move made; save it in a file and remove it with --save."""
    from wellkept.engine.transfer.second_copy import describe, remove

    storage, namespace = _store(run), check_namespace(name)
    _check_database(storage, database)
    kept = storage.file.table().place_of(namespace).database
    if kept == database:
        raise IllegalTransition(
            f"by the table of places it lives in {database!r}",
            where=namespace,
            todo="Let it live in the other one first: wellkept db place NAMESPACE --in DATABASE",
        )
    ends = _at(storage, kept), _at(storage, database)
    result = describe(*ends, namespace)
    if save is not None:
        with run.phases("Saving") as done:
            result = remove(
                *ends,
                namespace,
                save=file_storage(run, save, make=True, durability="full"),  # it is the only copy soon
                progress=done,
            )
    run.show(result, lambda: _of_second(result, save))


def _of_second(found: SecondCopy, save: Path | None) -> Parts:
    yield one_line(
        f"{found.namespace}: {found.database} holds {count_of(found.entries, 'entry')} and "
        f"{count_of(found.memories, 'active memory')}; {found.kept}, which is kept, lacks {found.missing} of them",
        limit=600,
    )
    yield from (f"  {one_line(text, limit=200)}" for text in found.texts)
    if found.missing > len(found.texts):
        yield f"  and {found.missing - len(found.texts)} more"
    if save is None:
        yield "Nothing was changed; save the copy in a file and remove it with --save FILE"
    else:
        yield one_line(f"{save} holds the copy with its journal, compared by hashes; it is removed", limit=2_000)


def _store(run: Session) -> PlacedStorage:
    from wellkept.cli.terminal.opening import open_places

    table = table_of_places(run.settings.db)
    if table is None:
        raise UnknownBackend(
            "only a store over several databases has places",
            where=shown(run.settings.db),
            todo="Name its table: --db placement:///path/places.toml",
        )
    return run.closing(open_places(table))


# --------------------------------------------------------------------------------------------
# Places


def _placed(storage: PlacedStorage, key: str) -> Placed:
    at = storage.file.table().place_of(key)
    if key.endswith("/"):
        return Placed(namespace=key, database=at.database, by=at.by, found=())
    found = tuple(storage.found_at(key))
    moving = next((each.moving for each in map(lambda one: storage.at(one).closed(key), found) if each.moving), "")
    return Placed(namespace=key, database=at.database, by=at.by, found=found, moving=moving)


def _refuse_hidden(storage: PlacedStorage, key: str, into: str) -> None:
    """Refuse a place that would hide what is stored elsewhere."""
    after = storage.file.table().with_place(key, into)
    below = [one for one in storage.header().namespaces if one == key or (key.endswith("/") and one.startswith(key))]
    hidden = [one for one in below if after.place_of(one).database not in storage.found_at(one)]
    if hidden:
        more = f" and {len(hidden) - 1} more" if len(hidden) > 1 else ""
        raise IllegalTransition(
            f"namespace {hidden[0]!r}{more} would be looked for in {into!r}, where it is not",
            where=str(storage.file.path),
            todo="Move it there: wellkept db move NAMESPACE DATABASE; or give each a place of its own first",
        )


def _check_database(storage: PlacedStorage, name: str) -> None:
    known = storage.file.table().databases
    if name not in known:
        raise NotFound(
            f"there is no database {name!r}", where=str(storage.file.path), todo=f"Use one of: {', '.join(known)}"
        )


def _table(found: list[Placed], storage: PlacedStorage) -> Parts:
    for name, url in storage.file.table().databases.items():
        yield f"{one_line(name)}: {shown(url)}"
    yield rows_of(
        ("namespace", "database", "by", "found in"),
        [
            (
                one_line(one.namespace, limit=200),
                one.database,
                one_line(one.by, limit=200) or "the hash of its name",
                _found(one),
            )
            for one in found
        ],
    )
    wrong = [one for one in found if one.found and one.database not in one.found]
    if wrong:
        yield f"{count_of(len(wrong), 'namespace')} not where the table says: move each, or give it a place"


def _found(one: Placed) -> str:
    where = ", ".join(one.found) or "none yet"
    return f"{where}, moving to {one.moving}" if one.moving else where


def _sentence(one: Placed) -> str:
    why = f"by the place {one.by!r}" if one.by else "by the hash of its name"
    return one_line(f"{one.namespace} lives in {one.database}, {why}; found in: {_found(one)}", limit=600)


# --------------------------------------------------------------------------------------------
# Moves


def _moved(run: Session, storage: PlacedStorage, namespace: str, to: str) -> MoveResult:
    from wellkept.engine.transfer.move import MoveResult, seq_of
    from wellkept.engine.transfer.move import move as moved

    _check_database(storage, to)
    source = _source(storage, namespace)

    def switch() -> None:
        storage.file.change(lambda table: table.with_place(namespace, to))

    if source.name == to:
        if away := source.storage.closed(namespace).moving:
            raise _unfinished(namespace, away)
        if storage.file.table().place_of(namespace).database != to:
            switch()
        entries = seq_of(source, namespace)
        return MoveResult(namespace=namespace, done="there already", source=to, target=to, entries=entries)
    with run.phases("Copying") as done:
        return moved(source, _at(storage, to), namespace, check=storage.file.check, switch=switch, progress=done)


def _given_up(storage: PlacedStorage, namespace: str) -> MoveResult:
    from wellkept.engine.transfer.move import give_up

    source = _source(storage, namespace)
    to = source.storage.closed(namespace).moving
    if not to:
        raise NotFound(
            "no move closes it to writers",
            where=namespace,
            todo="A copy that an interrupted move has left is removed with --clean",
        )
    _check_database(storage, to)
    return give_up(source, _at(storage, to), namespace)


def _cleaned(storage: PlacedStorage, namespace: str) -> list[MoveResult]:
    from wellkept.engine.transfer.move import clean, seq_of

    source = _source(storage, namespace)
    if to := source.storage.closed(namespace).moving:
        raise _unfinished(namespace, to)
    others = [_at(storage, name) for name in storage.databases() if name != source.name]
    return [clean(one, source, namespace) for one in others if seq_of(one, namespace)]


def _source(storage: PlacedStorage, namespace: str) -> Database:
    """The database that a namespace is in, or is being moved from.

    Raises:
        NotFound: It is in none.
        StorageError: It is in several, and no move says which one is the copy.
    """
    found = {name: storage.at(name).closed(namespace).moving for name in storage.found_at(namespace)}
    if not found:
        raise NotFound(f"there is no namespace {namespace!r}", where="db move", todo="List them: wellkept db place")
    # Two hold it when the copy of a move is open and its source does not say so yet.
    sources = [name for name, to in found.items() if len(found) == 1 or set(found) == {name, to}]
    if len(sources) != 1:
        raise StorageError(
            f"databases {' and '.join(map(repr, found))} each hold a namespace {namespace!r}, and no move made them",
            where=str(storage.file.path),
            todo="Keep one: wellkept db place NAMESPACE --in DATABASE; remove the other: wellkept db remove-copy",
        )
    return _at(storage, sources[0])


def _unfinished(namespace: str, to: str) -> IllegalTransition:
    return IllegalTransition(
        f"it is being moved to database {to!r}", where=namespace, todo="Finish the move, or give it up: --back"
    )


def _at(storage: PlacedStorage, name: str) -> Database:
    from wellkept.engine.transfer.move import Database

    return Database(name, storage.at(name))


def _told(result: MoveResult) -> str:
    name, entries = result.namespace, count_of(result.entries, "entry")
    match result.done:
        case "moved" | "finished":
            waited = f", {result.copied_closed} of them while writers waited" if result.copied_closed else ""
            text = f"{name} lives in {result.target} now: {entries}{waited}; {result.source} keeps a closed copy"
        case "given up":
            text = f"{name} stays in {result.source}; the copy of {entries} in {result.target} is removed"
        case "cleaned":
            text = f"{name}: the copy of {entries} in {result.source} is removed"
        case _:
            text = f"{name} lives in {result.target} already: {entries}"
    return one_line(text, limit=600)
