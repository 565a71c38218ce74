"""Stores per CPU second of the servers, with one store over 1, 2 and 4 PostgreSQL servers, and moves under load.

    python -m benchmarks.placing [--stores 600] [--rounds 2]

Starts the servers on loopback, with two writing processes each time, and prints two tables. The CPU time is that of the
servers' processes alone, so that it does not depend on the writers, the models or other load; the writes of a round
are the same for each number of servers. Opening the connections, which each writer does once for each server, is
measured before and taken off. In the second part every namespace is moved to the next server while the
writers go on, and all that was acknowledged is looked for afterwards.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Any

import wellkept
from wellkept.engine.transfer.move import Database, move
from wellkept.models.hashing import HashingEmbedder
from wellkept.storage.placement import PlacedStorage
from wellkept.storage.placement.table import Table

SERVERS = (1, 2, 4)
NAMESPACES = 20
WRITERS = 2
_REST = 0.02
"""Seconds between two stores of a writer while namespaces move."""
_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_of(pid: int) -> float:
    """The CPU seconds of a server: of its first process, of those that it has, and of those that have ended."""
    total = 0
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                fields = (process / "stat").read_text("ascii").rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended, and is counted among those
            if int(process.name) == pid:
                total += sum(map(int, fields[11:15]))
            elif int(fields[1]) == pid:
                total += sum(map(int, fields[11:13]))
    return total / _TICKS


def write(address: str, writer: int, stores: int, stop: Path | None = None) -> tuple[list[tuple[str, str]], float]:
    """Write this process's share of the stores, or until a file appears.

    Returns:
        Namespace and text of each acknowledged store, and the seconds of the longest one.
    """
    said, longest = [], 0.0
    with wellkept.open(address, embedder=HashingEmbedder(), relation_model="none") as store:
        for number in range(writer, stores, WRITERS):
            if stop is not None:
                if stop.exists():
                    break
                time.sleep(_REST)
            text = f"Crate {number} in hall {number % 37} belongs to customer {number * 7919 % 10_007}."
            namespace = f"team/{number % NAMESPACES}"
            started = time.monotonic()
            store.in_namespace(namespace).remember(text)
            longest = max(longest, time.monotonic() - started)
            said.append((namespace, text))
    return said, longest


@contextmanager
def servers_with_writers(servers: int) -> Iterator[tuple[list[Any], Path, ProcessPoolExecutor]]:
    """Running servers, the table of places over them, and writing processes; each namespace has one memory already."""
    from postgres.server import start

    with ExitStack() as stack:
        running = [start() for _ in range(servers)]
        for one in running:
            stack.callback(one.stop)
        lines = [f'server{at} = "{one.database()}"' for at, one in enumerate(running)]
        places = [f'"team/{number}" = "server{number % servers}"' for number in range(NAMESPACES)]
        table = Path(stack.enter_context(tempfile.TemporaryDirectory()), "places.toml")
        table.write_text("\n".join(["[databases]", *lines, "[places]", *places]), "utf-8")
        pool = stack.enter_context(ProcessPoolExecutor(WRITERS, mp_context=get_context("spawn")))
        list(pool.map(write, [f"placement://{table}"] * WRITERS, range(WRITERS), [NAMESPACES] * WRITERS))
        yield running, table, pool


def measured(servers: int, stores: int) -> float:
    """CPU milliseconds of all servers for one store, without what the writers' connections cost until they are used."""
    with servers_with_writers(servers) as (running, table, pool):

        def spent(count: int) -> float:
            before = sum(cpu_of(one.process.pid) for one in running)
            shares = [pool.submit(write, f"placement://{table}", writer, count) for writer in range(WRITERS)]
            for share in shares:
                share.result()
            return sum(cpu_of(one.process.pid) for one in running) - before

        opening = spent(NAMESPACES)  # a connection to each server, and a duplicate in each namespace
        return 1000 * (spent(stores) - opening) / (stores - NAMESPACES)


@dataclass(frozen=True, slots=True)
class Moves:
    """What happened while every namespace was moved.

    Attributes:
        stores: Number of acknowledged stores.
        missing: How many of them are not where their namespace is now.
        surplus: How many memories there are that were not acknowledged, or are there twice.
        longest: Seconds of the longest store.
        move: Seconds of a move, mean.
    """

    stores: int
    missing: int
    surplus: int
    longest: float
    move: float


def move_on(table: Path, number: int, servers: int) -> float:
    """Move a namespace to the next server; returns the seconds."""
    namespace, target = f"team/{number}", f"server{(number + 1) % servers}"
    storage = PlacedStorage(table)
    ends = [Database(name, storage.at(name)) for name in (f"server{number % servers}", target)]
    started = time.monotonic()
    switch = partial(storage.file.change, partial(Table.with_place, key=namespace, database=target))
    move(*ends, namespace, check=storage.file.check, switch=switch)
    took = time.monotonic() - started
    storage.close()
    return took


def moved(servers: int) -> Moves:
    """Move every namespace to the next server while the writers go on."""
    with servers_with_writers(servers) as (_, table, pool):
        address, stop = f"placement://{table}", table.with_name("stop")
        shares = [pool.submit(write, address, writer, sys.maxsize, stop) for writer in range(WRITERS)]
        try:
            took = [move_on(table, number, servers) for number in range(NAMESPACES)]
        finally:
            stop.touch()
        told = [share.result() for share in shares]
        said = Counter(one for part, _ in told for one in part)
        with wellkept.open(address, embedder=HashingEmbedder(), relation_model="none") as store:
            names = store.namespaces()
            held = Counter(
                (name, memory.content) for name in names for memory in store.in_namespace(name).list(limit=None)
            )
    return Moves(
        stores=said.total(),
        missing=(said - held).total(),
        surplus=(held - said).total(),
        longest=max(longest for _, longest in told),
        move=mean(took),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.placing", description=__doc__)
    parser.add_argument("--stores", type=int, default=600, help="writes for each number of servers and round")
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args(arguments)
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    spent: dict[int, list[float]] = {servers: [] for servers in SERVERS}
    for _ in range(asked.rounds):
        for servers in SERVERS:
            spent[servers].append(measured(servers, asked.stores))
    one = mean(spent[1])
    print("servers   server CPU a store   stores per CPU second   against one server")
    for servers, each in spent.items():
        print(f"{servers:>7}   {mean(each):>15.2f} ms   {1000 / mean(each):>21.0f}   {one / mean(each):>18.2f}")
    print(f"\nservers   stores while {NAMESPACES} namespaces moved   missing   surplus   longest store   a move")
    for servers in SERVERS[1:]:
        told = moved(servers)
        print(
            f"{servers:>7}   {told.stores:>32}   {told.missing:>7}   {told.surplus:>7}   {told.longest:>11.2f} s"
            f"   {told.move:>4.2f} s"
        )


if __name__ == "__main__":
    main()
