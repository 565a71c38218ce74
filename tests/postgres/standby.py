"""A standby server that follows a primary and can be promoted."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from memory_folder import memory_folder
from postgres.server import START_SECONDS, Server, launched, owner_of, programs, start

NAME = "wellkept_standby"
FOLLOWED = ("wal_level=replica", "max_wal_senders=4", "hot_standby=on")


def pair() -> tuple[Server, Server]:
    """A primary, and a standby that every commit waits for; the caller stops both."""
    primary = start(*FOLLOWED, "synchronous_commit=remote_apply")
    try:
        return primary, _follow(primary)
    except BaseException:
        primary.stop()
        raise


def both(primary: Server, standby: Server, url: str) -> str:
    """The URL of a database wherever its primary is."""
    hosts = ",".join(str(urlsplit(one.url).netloc.partition("@")[2]) for one in (primary, standby))
    return f"postgresql://postgres@{hosts}{urlsplit(url).path}?target_session_attrs=read-write"


def promote(standby: Server) -> None:
    """Make it a primary; returns when it takes writes."""
    with psycopg.connect(standby.url, autocommit=True) as connection:
        connection.execute("SELECT pg_promote(true, 30)")


def _follow(primary: Server) -> Server:
    folder = Path(tempfile.mkdtemp(prefix="wellkept-standby-", dir=memory_folder()))
    user = owner_of(folder)
    try:
        at = urlsplit(primary.url)
        source = f"host=127.0.0.1 port={at.port} user=postgres application_name={NAME}"
        copying = [str(programs() / "pg_basebackup"), "-D", str(folder / "data"), "-R", "-X", "stream", "-c", "fast"]
        subprocess.run(
            [*copying, "--no-sync", "-d", source], check=True, capture_output=True, timeout=START_SECONDS,
            cwd=folder, **user,
        )  # fmt: skip
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    made = launched(folder, user, "fsync=off", "max_connections=200", *FOLLOWED)
    try:
        with psycopg.connect(primary.url, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{NAME}'".encode())
            connection.execute("SELECT pg_reload_conf()")
            for _ in range(600):
                row = connection.execute(
                    "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
                ).fetchone()
                if row and row[0]:
                    break
                connection.execute("SELECT pg_sleep(0.05)")
            else:
                raise RuntimeError("the standby does not follow")
    except BaseException:
        made.stop()
        raise
    return made
