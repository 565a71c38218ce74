"""How a daemon starts, is found, is not found, and ends; and what becomes of the commands it runs."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from surfaces.daemon.daemons import SECONDS, Place, children_of, runs, until

QUICK = {"WELLKEPT_EMBEDDER": "hashing", "WELLKEPT_RELATION_MODEL": "none"}
STORE = ["--db", "test.db", "--embedder", "hashing"]
LIST = [*STORE, "list", "-q"]


@pytest.fixture
def served(place: Place) -> Place:
    """A daemon without models, which starts fast."""
    if not place.pid():
        place.start(**QUICK)
    return place


def test_a_second_start_finds_the_first_daemon_and_stop_ends_it(served: Place) -> None:
    pid = served.pid()
    served.start(**QUICK)
    assert served.pid() == pid
    told = json.loads(served.run("daemon", "status", "--json").stdout)
    assert told.pop("seconds") >= 0
    expected = {"running": True, "socket": str(served.socket()), "pid": pid, "idle_minutes": 5, "embedder": "hashing"}
    assert told == expected
    assert b"process %d" % pid in served.run("daemon", "status").stdout
    assert json.loads(served.run("daemon", "start", "--json").stdout)["pid"] == pid
    assert served.run("daemon", "stop").stdout == b"Stopped\n"
    until(lambda: not runs(pid))
    assert not served.socket()
    assert served.run("daemon", "stop").stdout == b"No daemon runs\n"
    assert json.loads(served.run("daemon", "stop", "--json").stdout) == {"stopped": False}
    assert served.run(*LIST).stdout == b"No memories\n", "it is done without a daemon"
    assert served.handed_over(*LIST).returncode != 0


def test_of_two_that_start_at_once_one_stays(place: Place) -> None:
    place.stop()
    both = [
        subprocess.Popen(
            [sys.executable, "-P", "-m", "wellkept.cli.warm_process", "5"],
            cwd=place.folder,
            env=place.environment(QUICK),
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        for _ in range(2)
    ]
    try:
        told = sorted(process.stdout.readline() for process in both if process.stdout)
        assert told == [b"another one runs, or is about to\n", b"ready\n"]
        assert place.pid() in [process.pid for process in both]
    finally:
        for process in both:
            process.terminate()
            process.communicate()


@pytest.mark.parametrize(
    ("number", "code", "told"), [(signal.SIGINT, 130, b"Interrupted\n"), (signal.SIGTERM, 143, b"")]
)
def test_ctrl_c_ends_the_command_and_not_the_daemon(served: Place, number: int, code: int, told: bytes) -> None:
    with served.reading(*STORE, "remember", "-") as process:
        assert process.stderr is not None
        process.send_signal(number)
        assert process.wait(SECONDS) == 128 + number
        assert process.stderr.read().endswith(told)
    assert served.handed_over(*LIST).stdout == b"No memories\n"


def test_a_command_ends_when_its_caller_is_killed(served: Place) -> None:
    pid = served.pid()
    with served.reading(*STORE, "remember", "-") as process:
        [child] = children_of(pid)
        process.kill()
        until(lambda: not runs(child))
    assert served.handed_over(*LIST).stdout == b"No memories\n"


def test_a_command_that_is_killed_says_so_and_leaves_a_sound_store(served: Place) -> None:
    served.handed_over(*STORE, "remember", "Tea at four.")
    pid = served.pid()
    with served.reading(*STORE, "remember", "-") as process:
        assert process.stderr is not None
        [child] = children_of(pid)
        os.kill(child, signal.SIGKILL)
        assert process.wait(SECONDS) == 1
        assert process.stderr.read().startswith(b"error: the daemon ended before the command did.")
    assert served.run(*STORE, "verify").returncode == 0
    assert served.handed_over(*STORE, "list", "--json").stdout.count(b"\n") == 1


def test_a_killed_daemon_takes_no_command_with_it_and_is_replaced(served: Place) -> None:
    pid = served.pid()
    with served.reading(*STORE, "remember", "-", text=b"Tea at ") as process:
        os.kill(pid, signal.SIGKILL)
        told, _ = process.communicate(b"four.", timeout=SECONDS)
        assert process.returncode == 0 and told.startswith(b"created")
    assert b"Tea at four." in served.run(*LIST).stdout, "the socket that is left is no obstacle"
    served.start(**QUICK)
    assert served.pid() not in (0, pid)
    assert b"Tea at four." in served.handed_over(*LIST).stdout


def test_an_unused_daemon_ends_by_itself(place: Place) -> None:
    place.stop()
    place.start("--idle", "0.01", **QUICK)
    until(lambda: not place.socket())


def test_a_daemon_whose_socket_is_removed_ends(served: Place) -> None:
    pid, path = served.pid(), served.socket()
    assert pid and path
    path.unlink()
    until(lambda: not runs(pid))


def test_one_is_started_when_a_command_could_have_used_it_if_that_is_wished(place: Place) -> None:
    place.stop()
    assert place.run("--version", WELLKEPT_DAEMON="auto", **QUICK).returncode == 0
    assert not place.pid(), "no daemon for what no daemon runs"
    assert place.run(*LIST, WELLKEPT_DAEMON="auto", **QUICK).stdout == b"No memories\n"
    until(place.pid)
    assert place.handed_over(*LIST, WELLKEPT_DAEMON="auto").stdout == b"No memories\n"


def test_a_daemon_of_another_installation_declines(served: Place) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(served.socket()))
        connection.settimeout(SECONDS)
        fields = [b"run", b"another version", str(served.folder).encode(), b"18", b"utf-8:strict", b"utf-8:strict"]
        body = b"\0".join([*fields, b"utf-8:strict", b"0", *(word.encode() for word in LIST)])
        connection.sendall(len(body).to_bytes(4, "big") + body)
        assert connection.recv(1) == b"", "no offer"
    other = {"PYTHONDONTWRITEBYTECODE": "1"}
    assert served.handed_over(*LIST, **other).returncode != 0, "it is not even asked"
    assert served.run(*LIST, **other).returncode == 0


@pytest.mark.parametrize(
    "sent", [b"", b"\0\0\0\4", b"\xff\xff\xff\xff", b"\0\0\0\3run", b"\0\0\0\1x", b"GET / HTTP/1.1\r\n"]
)
def test_a_request_that_is_none_harms_nothing(served: Place, sent: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(served.socket()))
        connection.settimeout(SECONDS)
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    assert served.pid()


def test_a_daemon_that_does_not_answer_is_not_waited_for(place: Place) -> None:
    if not place.pid():
        place.start(**QUICK)
    path = place.socket()
    assert path
    place.stop()
    with socket.socket(socket.AF_UNIX) as hung:
        hung.bind(str(path))
        hung.listen(1)
        assert place.run(*LIST).stdout == b"No memories\n"
        path.unlink()


def test_status_and_stop_wait_for_a_daemon_that_is_held_up(served: Place) -> None:
    pid = served.pid()
    os.kill(pid, signal.SIGSTOP)
    resume = threading.Timer(2.0, os.kill, (pid, signal.SIGCONT))
    resume.start()
    try:
        assert f"process {pid}".encode() in served.run("daemon", "status").stdout
        os.kill(pid, signal.SIGSTOP)
        again = threading.Timer(2.0, os.kill, (pid, signal.SIGCONT))
        again.start()
        assert served.run("daemon", "stop").stdout == b"Stopped\n"
        again.join()
    finally:
        resume.join()
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    until(lambda: not runs(pid))


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        (lambda folder: folder.chmod(0o755), b"others have rights in it"),
        (lambda folder: _replaced_by_a_link(folder), b"it is no folder"),
        pytest.param(
            lambda folder: os.chown(folder, 65534, -1),
            b"it belongs to another user",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away"),
        ),
    ],
)
def test_a_folder_that_others_could_use_is_refused(tmp_path: Path, spoilt: object, reason: bytes) -> None:
    (tmp_path / "wellkept").mkdir(0o700)
    assert callable(spoilt)
    spoilt(tmp_path / "wellkept")
    place = Place(tmp_path, tmp_path)
    done = place.run("daemon", "start", **QUICK)
    assert done.returncode == 1 and reason in done.stderr
    assert place.run(*LIST).stdout == b"No memories\n"


def _replaced_by_a_link(folder: Path) -> None:
    folder.rmdir()
    (folder.parent / "elsewhere").mkdir(0o700)
    folder.symlink_to("elsewhere")
