"""Opening a database: connect, create the store, migrate an old one."""

from __future__ import annotations

import re

import psycopg
from psycopg import errors as pg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from wellkept.errors import NoStore, NotAStore, SchemaTooNew, StorageError, StorePathError
from wellkept.storage.memory_rows import WORDS_VERSION
from wellkept.storage.postgres.failures import unreachable
from wellkept.storage.postgres.server.isolation import secure_again
from wellkept.storage.postgres.server.pooling import leaves_nothing
from wellkept.storage.postgres.session import Connection, Session
from wellkept.storage.postgres.sql import migrations, queries, schema_version

STORE_LOCK = 0x57454C4B5EED
"""The advisory lock that writers share and that migrations and changes of the embedder hold exclusively."""
_CONNECT_SECONDS = 10
_NOTICED = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 25_000}
"""Detects an unreachable server within half a minute; the default of most systems is two hours."""


def checked_url(url: str, *, seconds: int = _CONNECT_SECONDS) -> tuple[str, str]:
    """The connection string for the driver, and the name of the database for errors.

    Args:
        url: The address.
        seconds: Connection timeout per server of the address, unless the address sets one.

    Raises:
        StorePathError: The URL is invalid or names no database.
    """
    unread = StorePathError(  # the driver's message may contain the URL with the password
        "the URL cannot be read", where=url.partition("://")[0] + "://", todo="Use postgresql://user@host:port/name"
    )
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise unread from error
    host, port = parts.get("host") or "local socket", parts.get("port")
    if not re.fullmatch(r"[0-9,]*", str(port or "")) or "@" in str(parts.get("dbname", "")):
        raise unread  # an unescaped slash in a password moves parts of it into port and database name
    where = f"postgresql://{host}{f':{port}' if port else ''}/{parts.get('dbname', '')}"
    if "\0" in url:
        raise StorePathError("the URL holds a NUL", where=where, todo="Use postgresql://user@host:port/name")
    if "," in str(parts.get("host", "")) or "," in str(parts.get("hostaddr", "")):
        parts.setdefault("target_session_attrs", "read-write")  # of several servers, the primary
    parts.setdefault("connect_timeout", seconds)
    for name, value in _NOTICED.items():
        parts.setdefault(name, value)
    parts.setdefault("application_name", "wellkept")
    parts["client_encoding"] = "utf8"
    return make_conninfo("", **parts), where


def connected(conninfo: str, where: str) -> Connection:
    """A new connection, which no pool knows yet.

    Raises:
        StorageError: The server cannot be reached or rejects the login.
    """
    try:
        connection = psycopg.connect(conninfo, autocommit=True)
        try:
            return leaves_nothing(connection)
        except BaseException:
            connection.close()  # nobody else would, and it counts on the server
            raise
    except psycopg.Error as error:
        raise unreachable(error, where) from error


def prepare(session: Session, *, make: bool = True) -> None:
    """Create the store in a database without one; otherwise check and migrate it.

    Raises:
        NoStore: The database has no store, and `make` is false.
        NotAStore, SchemaTooNew, StorageError: The store cannot be used.
    """
    with session.reading():
        there = has_store(session)
        if not there and not make:
            todo = "`wellkept remember TEXT` makes it"
            raise NoStore("the database holds no store yet", where=session.where, todo=todo)
        is_current = there and version_of(session) == schema_version()
    if not is_current:
        _migrate(session)
    with session.reading():
        has_vectors = session.row("opening.vectors")[0]
    if not has_vectors:
        raise StorageError(
            "the database does not know the type halfvec", where=session.where, todo="Install pgvector 0.7 or newer"
        )


def has_store(session: Session) -> bool:
    """Whether the database holds a store of any version; False if one can be created.

    Raises:
        NotAStore, StorageError: It has no store and none can be created.
    """
    encoding, ours, taken = session.row("opening.state")
    if encoding != "UTF8":
        raise StorageError(
            f"the database keeps texts as {encoding}", where=session.where, todo="Create one with ENCODING 'UTF8'"
        )
    if taken and not ours:
        raise NotAStore(
            "the database has a schema 'wellkept' that is not a store",
            where=session.where,
            todo="Name another database",
        )
    return bool(ours)


def version_of(session: Session) -> int:
    """The schema version of the store.

    Raises:
        SchemaTooNew: The version is newer than this release.
    """
    version: int = session.row("opening.version")[0]
    if version > schema_version():
        raise SchemaTooNew(
            f"the store has schema {version}, this release knows {schema_version()}",
            where=session.where,
            todo="Upgrade wellkept",
        )
    return version


def _migrate(session: Session) -> None:
    """Run the missing migrations in one transaction that excludes writers."""
    with session.writing():
        session.row("lock.alone", {"store": STORE_LOCK})
        if has_store(session):
            session.run("lock.writers")  # a writer on a worker of a cluster holds the other lock there only
        _add_extension(session)
        session.run("opening.schema")
        session.run("opening.migrations")
        version = version_of(session)  # another process may have migrated first
        for leads_to, script in migrations():
            if leads_to > version:
                session.script(script)
                session.run("opening.applied", {"version": leads_to})
        session.run("header.create", {"words": WORDS_VERSION})
        secure_again(session)


def _add_extension(session: Session) -> None:
    """Add pgvector to the database, unless it is there: a cluster asks for the right to add it even then."""
    if session.row("opening.vectors")[0]:
        return
    try:
        session.connection.execute(queries()["opening.extension"].encode())
    except (pg.FeatureNotSupported, pg.UndefinedFile) as error:
        raise StorageError(
            "the server has no pgvector", where=session.where, todo="Install the extension `vector`, 0.7 or newer"
        ) from error
    except pg.InsufficientPrivilege as error:
        raise StorageError(
            "the user may not add pgvector to the database",
            where=session.where,
            todo="Let its owner run CREATE EXTENSION vector",
        ) from error
