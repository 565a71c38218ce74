"""A command prints, stores and returns the same with a daemon and without one."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wellkept
from surfaces.daemon.daemons import ONLY_HANDED_OVER, Place, without_chance

TEXTS = (
    "The port of the test database is 5433.",
    "Tea is served at four.",
    "Die Küche schließt um neun. 部署",
    "Ana leads.",
)


@pytest.fixture
def store(served: Place) -> Path:
    file = served.folder / "test.db"
    with wellkept.open(file, embedder="hashing", relation_model="none") as store:
        store.remember_many(TEXTS)
    return file


READING: list[tuple[list[str | bytes], bytes, dict[str, str], int]] = [
    (["recall", "database port", "--json", "--no-touch"], b"", {}, 0),
    (["recall", "database port", "--explain"], b"", {"COLUMNS": "60", "FORCE_COLOR": "1"}, 0),
    (["list", "--json"], b"", {}, 0),
    (["pack", "tea"], b"", {"TZ": "Asia/Tokyo", "LC_ALL": "C"}, 0),
    (["list"], b"", {"WELLKEPT_NAMESPACE": "acme/other"}, 0),
    (["list"], b"", {"WELLKEPT_NAMESPAC": "a"}, 1),
    (["get", "nothing", "--json"], b"", {}, 1),
    (["check", b"a\xff"], b"", {}, 1),
    (["recall"], b"", {"COLUMNS": "70"}, 2),
    (["recall", "tea", "--limit", "many"], b"", {"FORCE_COLOR": "1", "TERM": "xterm-256color"}, 2),
    (["check", "-"], b"\xe9t\xe9", {}, 1),
]


@pytest.mark.parametrize(("words", "stdin", "environment", "code"), READING, ids=lambda value: str(value)[:40])
def test_what_is_read_is_equal_byte_for_byte(
    served: Place, store: Path, words: list[str | bytes], stdin: bytes, environment: dict[str, str], code: int
) -> None:
    words = ["--db", store.name, "--embedder=hashing", *words]
    by_daemon = served.handed_over(*words, stdin=stdin, **environment)
    alone = served.alone(*words, stdin=stdin, **environment)
    assert (by_daemon.returncode, by_daemon.stdout, by_daemon.stderr) == (code, alone.stdout, alone.stderr)
    assert alone.returncode == code


WRITING: list[tuple[list[str], bytes, int]] = [
    (["remember", "The port of the test database is 5434 now.", "--kind", "fact"], b"", 0),
    (["remember", "--json"], "Über 部署\n".encode(), 0),
    (["remember", "tea is served at four"], b"", 0),
    (["check", "-", "--exit-code"], b"tea is served at four\n", 3),
    (["remember", "ok, thanks"], b"", 4),
    (["episode", "start", "Moving the export"], b"", 0),
    (["queue", "remember", "Longs pay shorts again.", "--kind", "thesis"], b"", 0),
    (["undo", "1"], b"", 0),
]


@pytest.mark.parametrize(("words", "stdin", "code"), WRITING, ids=lambda value: str(value)[:40])
def test_what_is_written_and_told_is_the_same(
    served: Place, store: Path, words: list[str], stdin: bytes, code: int
) -> None:
    other = store.with_name("other.db")
    shutil.copy(store, other)
    plain = {"WELLKEPT_RELATION_MODEL": "none"}  # with models: see below
    by_daemon = served.handed_over("--db", str(store), "--embedder", "hashing", *words, stdin=stdin, **plain)
    alone = served.alone("--db", str(other), "--embedder", "hashing", *words, stdin=stdin, **plain)
    assert (by_daemon.returncode, alone.returncode) == (code, code), by_daemon.stderr
    assert without_chance(by_daemon.stdout) == without_chance(alone.stdout)
    assert without_chance(by_daemon.stderr) == without_chance(alone.stderr)
    kept = [served.handed_over("--db", str(file), "list", "--json").stdout for file in (store, other)]
    assert without_chance(kept[0]) == without_chance(kept[1])


def test_models_that_were_loaded_before_the_fork_answer_as_those_loaded_after(served: Place) -> None:
    """The relation model reads the second text, the embedder both. Nobody is asked: one mark in fifty is, by its id."""
    (served.folder / "wellkept.toml").write_text("[policy]\nask = 0\n", "utf-8")
    told = []
    for run, file in ((served.handed_over, "a.db"), (served.alone, "b.db")):
        run("--db", file, "remember", "The weekly review is on Monday at ten.")
        written = run("--db", file, "remember", "The weekly review has moved to Tuesday at ten.", "--json")
        found = run("--db", file, "recall", "when is the review?", "--json", "--explain")
        told.append([without_chance(done.stdout) for done in (written, found)])
    assert told[0] == told[1] and b"review" in told[0][1] and b'"question": null' in told[0][0]


def test_a_terminal_is_one_for_the_command_too(served: Place, store: Path) -> None:
    def shown(start: list[str], **environment: str) -> bytes:
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [sys.executable, *start, "--db", store.name, "--embedder", "hashing", "recall", "database port"],
            cwd=served.folder,
            env=served.environment({"TERM": "xterm-256color", **environment}),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        ) as process:
            os.close(theirs)
            parts = []
            try:
                while part := os.read(ours, 1 << 16):
                    parts.append(part)
            except OSError:
                pass  # the other end is closed
            assert process.wait(60) == 0
        os.close(ours)
        return b"".join(parts)

    by_daemon = shown(["-c", ONLY_HANDED_OVER])
    assert b"\x1b[" in by_daemon
    assert by_daemon == shown(["-m", "wellkept.cli"], WELLKEPT_DAEMON="off")


def test_new_files_have_the_rights_and_the_folder_of_the_caller(served: Place) -> None:
    before = os.umask(0o077)
    try:
        done = served.handed_over("--db", "new.db", "--embedder", "hashing", "remember", "Tea at four.")
    finally:
        os.umask(before)
    assert done.returncode == 0
    assert (served.folder / "new.db").stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_replaced_or_removed_is_seen(served: Place, store: Path) -> None:
    words = ["--db", store.name, "--embedder", "hashing", "list", "--json"]
    assert served.handed_over(*words).stdout.count(b"\n") == len(TEXTS)
    store.unlink()
    with wellkept.open(store, embedder="hashing", relation_model="none") as other:
        other.remember("Another store.")
    assert b"Another store." in served.handed_over(*words).stdout
    store.unlink()
    gone = served.handed_over(*words)
    assert gone.stdout == b"" and b"There is no store at test.db" in gone.stderr


def test_a_reader_that_goes_away_and_a_full_disk_end_a_command_as_ever(served: Place, store: Path) -> None:
    command = [sys.executable, "-c", ONLY_HANDED_OVER, "--db", store.name, "list"]
    with subprocess.Popen(
        command, cwd=served.folder, env=served.environment({}), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (141, b"")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, cwd=served.folder, env=served.environment({}), stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert done.returncode == 1 and done.stderr.startswith(b"error: the system refuses: No space left")
