"""The installed command as a shell sees it: bytes, pipes, signals, colours, speed of the help."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
COMMAND = [sys.executable, "-m", "wellkept.cli"]
STORE = ["--db", "test.db", "--embedder", "hashing"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(SOURCES))
    monkeypatch.delenv("NO_COLOR", raising=False)
    yield


def run(*arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *arguments], input=stdin, capture_output=True, env={**os.environ, **environment}, timeout=60
    )


def test_the_bytes_of_standard_input_are_utf8_or_refused() -> None:
    kept = run(*STORE, "remember", "-", "--json", stdin="Über 部署\n".encode(), LC_ALL="C", PYTHONUTF8="0")
    assert kept.returncode == 0, kept.stderr
    assert json.loads(kept.stdout)["memory"]["content"] == "Über 部署"
    refused = run(*STORE, "remember", stdin=b"\xe9t\xe9")
    assert (refused.returncode, refused.stdout) == (1, b"")
    assert b"UTF-8" in refused.stderr and b"Traceback" not in refused.stderr


def test_an_argument_that_is_no_utf8_is_refused() -> None:
    done = subprocess.run([*COMMAND, *STORE, "remember", b"a\xff"], capture_output=True, timeout=60)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr and done.stderr.startswith(b"error: ")


def test_the_same_file_imported_twice_by_two_processes_changes_nothing() -> None:
    Path("in.jsonl").write_text('{"text": "Tea at four."}\n{"text": "Lights off at ten."}\nnope\n', encoding="utf-8")
    reports = [run(*STORE, "import", "in.jsonl", "--json") for _ in range(2)]
    assert [done.returncode for done in reports] == [3, 3]
    assert [json.loads(done.stdout)["counts"] for done in reports] == [{"created": 2}, {"replayed": 2}]  # I5
    assert [done.stderr for done in reports] == [b"", b""], "no progress bar in a pipe"


def test_a_reader_that_goes_away_is_no_error() -> None:
    run(*STORE, "remember", "Tea at four.")
    for arguments in (["list", "--json"], ["list"], ["export", "-"], ["get", "nothing", "--json"]):
        with subprocess.Popen(
            [*COMMAND, *STORE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait(60) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["export", "-"]])
def test_an_output_that_cannot_be_written_is_told_once(arguments: list[str]) -> None:
    run(*STORE, "remember", "Tea at four.")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*COMMAND, *STORE, *arguments], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith(b"error: the system refuses: No space left")


def test_an_interrupted_command_ends_with_130_and_leaves_a_sound_store() -> None:
    with subprocess.Popen(
        [*COMMAND, *STORE, "remember", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A test run that was started in the background ignores the signal, and so would its child.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdin is not None and process.stderr is not None
        process.stdin.write(b"half a sentence")
        process.stdin.flush()
        _wait_until_it_reads(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read().splitlines()[-1:] == [b"Interrupted"]
    assert run(*STORE, "list", "-q").stdout == b"No memories\n"


WHILE_MODULES_LOAD = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            print("now", flush=True)
            time.sleep(60)
sys.meta_path.insert(0, Slow())
from wellkept.cli import main
sys.exit(main(["list"]))
"""
IN_A_BACKUP = """
import sys, time
from wellkept.storage.sqlite import copying
from wellkept.cli import main
copy = copying.copy_pages
def slowly(*arguments, **options):
    copy(*arguments, **options)
    print("now", flush=True)
    time.sleep(60)
copying.copy_pages = slowly
sys.exit(main(["--db", "test.db", "--embedder", "hashing", "backup", "copy.db"]))
"""


@pytest.mark.parametrize(
    ("script", "number", "code", "told"),
    [
        (WHILE_MODULES_LOAD, signal.SIGINT, 130, b"Interrupted\n"),
        (IN_A_BACKUP, signal.SIGTERM, 143, b""),
        (IN_A_BACKUP, signal.SIGINT, 130, b"Interrupted\n"),
    ],
)
def test_a_signal_ends_a_command_cleanly_wherever_it_is(script: str, number: int, code: int, told: bytes) -> None:
    """E11, E13: no partial copy remains, and no traceback is shown."""
    run(*STORE, "remember", "Tea at four.")
    before = sorted(path.name for path in Path().iterdir())
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b"now\n"
        process.send_signal(number)
        assert process.wait(60) == code
        assert process.stderr.read() == told
    assert sorted(path.name for path in Path().iterdir()) == before


def _wait_until_it_reads(process: subprocess.Popen[bytes]) -> None:
    """The pipe is empty once the command has read its input."""
    import fcntl
    import struct
    import termios
    import time

    assert process.stdin is not None
    for _ in range(600):
        waiting = struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD, b"\0" * 4))[0]
        if not waiting:
            return
        time.sleep(0.05)
    raise AssertionError("it never read")


def test_help_and_version_load_no_engine() -> None:
    for option in ("--help", "--version"):
        script = (
            "import sys\nfrom wellkept.cli import main\n"
            f"main(['{option}'])\nprint(sorted(set(sys.modules) & {{'numpy', 'sqlite3', 'onnxruntime', 'rapidfuzz'}}))"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
        assert done.stdout.splitlines()[-1] == "[]", done.stdout


@pytest.mark.parametrize(("environment", "coloured"), [({"FORCE_COLOR": "1"}, True), ({}, False)])
def test_colours_are_for_terminals(environment: dict[str, str], *, coloured: bool) -> None:
    assert (b"\x1b[" in run(*STORE, "remember", "Tea at four.", **environment).stdout) is coloured


def test_no_color_is_respected() -> None:
    done = run(*STORE, "remember", "Tea at four.", FORCE_COLOR="1", NO_COLOR="1")
    assert b"\x1b[3" not in done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("wellkept remember --kind kn", "knowledge"),
        ("wellkept resolve abc keep", "keep-both"),
        ("wellkept list --status sup", "superseded"),
        ("wellkept rememb", "remember-many"),
        ("wellkept check --on-conflict ra", "raise"),
        ("wellkept call rec", "record_turn"),
    ],
)
def test_the_shell_completes_commands_kinds_and_resolutions(words: str, expected: str) -> None:
    done = run(
        _WELLKEPT_COMPLETE="complete_bash",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split()) - 1),
    )
    assert expected in done.stdout.decode().split()
