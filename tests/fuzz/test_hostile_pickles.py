"""Pickles made to exhaust their reader are refused within a second and 256 MB (D2)."""

from __future__ import annotations

import pickle
import random
import resource
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from wellkept.adapters.pickles import as_json, data_of
from wellkept.errors import WellkeptError

HEAD = b"\x80\x04"
SECONDS = 1.0
MEBIBYTES = 256


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def text(value: bytes) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value


def _shared(made: bytes, times: int) -> bytes:
    """A list that holds one value many times."""
    return HEAD + made + b"q\x010](" + b"h\x01" * times + b"e."


HOSTILE: dict[str, bytes] = {
    "a key of nested tuples": HEAD + b"}" + b")" + b"\x85" * 300_000 + b"K\x01s.",
    "a key that takes 2**60 steps to hash": HEAD + b"}" + b")" + b"2\x86" * 60 + b"K\x01s.",
    "a set that stands in 199,000 places": _shared(b"\x8f(" + b"".join(map(number, range(200_000))) + b"\x90", 199_000),
    "a small set that stands in many places": _shared(
        b"\x8f(" + b"".join(map(number, range(20_000))) + b"\x90", 100_000
    ),
    "a frozen set of nested tuples": HEAD + b"()" + b"\x85" * 100_000 + b"\x91.",
    "pairs of tuples put into a set as items": HEAD + b"\x8f(" + b")" + b"2\x86" * 60 + b"K\x01u.",
    "keys that all have the hash 0": HEAD
    + b"}("
    + b"".join(b"\x8a\x0a" + (n * (2**61 - 1)).to_bytes(10, "little") + b"N" for n in range(1, 60_000))
    + b"u.",
    "lists nested without end": HEAD + b"]" * 290_000 + b"a" * 289_999 + b".",
    "tuples nested without end": HEAD + b")" + b"\x85" * 290_000 + b".",
    "a list doubled 60 times": HEAD + b"]" + b"q\x01](h\x01h\x01e" * 60 + b".",
    "lists of the same list, 17 deep": HEAD + b"](K\x01K\x01e" + b"q\x010](h\x01h\x01h\x01h\x01e" * 17 + b".",
    "a long text in many places": _shared(text(b"x" * 1_000_000), 100_000),
    "a long key in many places": _shared(b"}" + text(b"x" * 1_000_000) + b"K\x01s", 100_000),
    "long integers in many places": _shared(b"\x8a\xff" + b"\x7f" * 255, 140_000),
    "an integer of many bytes": HEAD + b"\x8b" + struct.pack("<i", 2**31 - 1) + b"\x01.",
    "a text longer than the file": HEAD + b"\x8d" + struct.pack("<Q", 2**63) + b"a.",
    "bytes longer than the file": HEAD + b"\x8e" + struct.pack("<Q", 2**64 - 1) + b"a.",
    "a bytearray longer than the file": HEAD + b"\x96" + struct.pack("<Q", 2**40) + b"a.",
    "a million empty sets": HEAD + b"\x8f" * 1_000_000 + b".",
    "a million dictionaries in the memo": HEAD + b"}\x94" * 500_000 + b".",
    "a million marks": HEAD + b"(" * 1_000_000 + b".",
    "a list that holds itself": HEAD + b"]q\x01h\x01a.",
    "more bytes than a point has": HEAD + b"B" + struct.pack("<I", 9_000_000) + b"x" * 9_000_000 + b".",
    "floats without end": HEAD + b"](" + (b"G" + struct.pack(">d", 1.5)) * 900_000 + b"e.",
    "a class named without end": HEAD + b"c" + b"x" * 5_000_000,
}

READ = """
import os, resource, sys
from wellkept.adapters.pickles import as_json, data_of
from wellkept.errors import WellkeptError
for path in sys.argv[1:]:
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
    with open(path, "rb") as file:
        data = file.read()
    before = resource.getrusage(resource.RUSAGE_SELF)
    try:
        as_json(data_of(data))
        told = "nothing"
    except WellkeptError as error:
        told = type(error).__name__
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with open(path + ".told", "w") as file:
        file.write(f"{told} {seconds} {(after.ru_maxrss * 1024 - len(data)) >> 20}")
    os._exit(0)
"""
"""Each pickle is read in a process of its own: a reader without bounds ends in a signal or in a hang."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, float, int]]:
    """Of each hostile pickle the error, the seconds of processor time and the mebibytes of memory."""
    folder = tmp_path_factory.mktemp("pickles")
    files = {name: folder / str(place) for place, name in enumerate(HOSTILE)}
    for name, file in files.items():
        file.write_bytes(HOSTILE[name])
    # The shell in between has little memory of its own, which the first figure of a process would include.
    command = ["sh", "-c", '"$0" "$@"; exit', sys.executable, "-c", READ, *map(str, files.values())]
    subprocess.run(command, check=True, timeout=300)
    found: dict[str, tuple[str, float, int]] = {}
    for name, file in files.items():
        answer = Path(f"{file}.told")
        error, seconds, mebibytes = answer.read_text().split() if answer.exists() else ("died", "0", "0")
        found[name] = (error, float(seconds), int(mebibytes))
    return found


@pytest.mark.skipif(sys.platform == "darwin", reason="ru_maxrss counts bytes there, not kibibytes")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_pickle_is_refused_in_bounded_time_and_memory(
    name: str, told: dict[str, tuple[str, float, int]]
) -> None:
    error, seconds, mebibytes = told[name]
    assert error in ("InvalidInput", "Corrupt")
    assert seconds < SECONDS
    assert mebibytes < MEBIBYTES


def test_changed_pickles_end_in_a_value_or_a_typed_error() -> None:
    """A pickle with a few bytes changed, doubled or taken out; the seed makes every run the same."""
    chance = random.Random(5)
    whole = [
        pickle.dumps({"payload": {"data": "Tea is upstairs.", "tags": ["a", "b"], "n": [1, 2**70, 1.5]}}, protocol)
        for protocol in (2, 4, 5)
    ] + [pickle.dumps([{("a" * n): {n, "x"}} for n in range(5)], 4), pickle.dumps([1.5] * 40 + [b"x", None, True], 5)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    read = 0
    for _ in range(4000):
        data = bytearray(chance.choice(whole))
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(data))
            match chance.randrange(4):
                case 0:
                    data[at] = chance.randrange(256)
                case 1:
                    data[at:at] = data[at : at + chance.randint(1, 9)]
                case 2:
                    del data[at : at + chance.randint(1, 3)]
                case _:
                    data[at] = chance.choice(b"\x85\x86\x8f\x90\x91\x942()esuta]}hqRb\x81")
            data = data or bytearray(b".")
        try:
            as_json(data_of(bytes(data)))
            read += 1
        except WellkeptError:
            continue
    assert 0 < read < 4000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 20
