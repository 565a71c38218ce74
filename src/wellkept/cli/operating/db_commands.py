"""Commands for a store on a database server: distribution, access restriction, index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from wellkept.cli.operating.moving_commands import shown
from wellkept.cli.terminal.groups import flag, option
from wellkept.cli.terminal.render import rows_of
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session
from wellkept.config import is_server
from wellkept.errors import UnknownBackend

if TYPE_CHECKING:
    from wellkept.cli.terminal.render import Parts
    from wellkept.storage.postgres import PostgresStorage
    from wellkept.storage.postgres.server.distribution import Spread

_LARGE = 200_000
"""Memories per namespace from which the index pays off: an exact search then needs 300 MB in each process."""


def distribute(
    run: Session,
    *,
    dry_run: bool = flag("--dry-run", help="Print the SQL statements without running them."),
    shards: int = option(
        default=128, min=1, max=32_000, help="Number of partitions of the rows; it cannot be changed later."
    ),
) -> None:
    """Distribute the store over a Citus cluster by namespace; repeat after an upgrade."""
    url = _server_url(run)
    from wellkept.storage.postgres.server.distribution import distribute as spread

    with run.busy("Spreading"):
        result = spread(url, shards=shards, dry_run=dry_run)
    run.show(result, lambda: _spread(result, url))


def secure(
    run: Session,
    *,
    role: str = option(
        default="wellkept_app", metavar="NAME", help="The role of the applications; created if missing."
    ),
) -> None:
    """Restrict an application's login to what its token opens; may be repeated. For the tables' owner."""
    url = _server_url(run)
    from wellkept.cli.terminal.opening import open_database

    storage = run.closing(open_database(url))
    with run.busy("Closing"):
        left = storage.secure(role)
    run.show({"role": role, "left": left}, lambda: _secured(role, left))


def index(
    run: Session,
    *,
    every: bool = flag("--all", help="Every namespace instead of the one named."),
    above: int = option(default=_LARGE, min=1, help="Only if the namespace has at least this many memories."),
    exact: bool = flag("--exact", help="Drop the index and use exact search again."),
) -> None:
    """Search large namespaces with an approximate index in the database, and measure its recall."""
    from wellkept.cli.terminal.opening import open_database

    storage = run.closing(open_database(_server_url(run)))
    names = storage.header().namespaces if every else (run.settings.namespace,)
    with run.busy("Indexing"):
        result = [_done(storage, name, above=above, exact=exact) for name in names]
    run.show(result, lambda: _table(result))


def _server_url(run: Session) -> str:
    """The address of the store, if it is on a database server and the driver is installed."""
    url = run.settings.db
    if not is_server(url):
        raise UnknownBackend(
            "only a store in PostgreSQL is set up this way",
            where=shown(url),
            todo="Name it with --db postgresql://…",
        )
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise UnknownBackend(
            "the driver for PostgreSQL is not installed", where=shown(url), todo="Install wellkept[postgres]"
        ) from error
    return url


def _spread(result: Spread, url: str) -> Parts:
    for statement in result.statements:
        yield f"{one_line(statement, limit=2_000)};"
    if result.dry_run:
        yield "Dry run: nothing was changed" if result.statements else "Nothing to do"
        return
    yield f"{shown(url)}: Citus {result.citus}, rows on {one_line(', '.join(result.servers), limit=2_000)}"
    yield f"By namespace: {', '.join(result.by_namespace)}"
    yield f"On every server: {', '.join(result.everywhere)}"
    if result.here:
        yield f"On this server: {', '.join(result.here)}"
    yield "All rows of a namespace are on one server (checked)" if result.statements else "It was already distributed"


def _secured(role: str, left: list[str]) -> Iterator[str]:
    yield f"Members of {one_line(role)} see what their token opens, and nothing without one"
    yield from (one_line(line, limit=500) for line in left)


def _done(storage: PostgresStorage, namespace: str, *, above: int, exact: bool) -> dict[str, Any]:
    with storage.begin(namespace, write=False) as tx:
        count = sum(tx.census().statuses.values())
    if exact:
        storage.exact(namespace)
        return {"namespace": namespace, "memories": count, "search": "exact"}
    if count < above:
        return {"namespace": namespace, "memories": count, "search": "unchanged", "above": above}
    return {"namespace": namespace, "memories": count, "search": "index", **asdict(storage.approximate(namespace))}


def _table(rows: list[dict[str, Any]]) -> Parts:
    yield rows_of(
        ("namespace", "memories>", "searched", "finds>", "bytes>"),
        [(one_line(one["namespace"], limit=200), str(one["memories"]), _search(one), *_figures(one)) for one in rows],
    )
    if any(one["search"] == "index" for one in rows):
        yield "finds: share of the ten nearest memories, on a sample. Duplicates the index misses are stored twice."


def _search(one: dict[str, Any]) -> str:
    match one["search"]:
        case "unchanged":
            return f"unchanged: fewer than {one['above']}"
        case "exact":
            return "exactly, in memory"
        case _:
            return "by its index"


def _figures(one: dict[str, Any]) -> tuple[str, str]:
    return (f"{one['recall']:.1%} of {one['samples']}", str(one["size"])) if one["search"] == "index" else ("", "")
