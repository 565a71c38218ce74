"""Stores per CPU second of the servers, with one store over 1, 2 and 4 PostgreSQL servers.

    python -m benchmarks.placing [--stores 600] [--rounds 2]

Starts the servers on loopback, with two writing processes each time, and prints a table. The CPU time is that of the
servers' processes alone, so that it does not depend on the writers, the models or other load; the writes of a round
are the same for each number of servers.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Any

import wellkept
from wellkept.models.hashing import HashingEmbedder

SERVERS = (1, 2, 4)
NAMESPACES = 20
WRITERS = 2
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


def write(address: str, writer: int, stores: int, of: int) -> int:
    """Write this process's share of the stores; returns how many were new."""
    created = 0
    with wellkept.open(address, embedder=HashingEmbedder(), relation_model="none") as store:
        for number in range(writer, stores, of):
            text = f"Crate {number} in hall {number % 37} belongs to customer {number * 7919 % 10_007}."
            created += store.in_namespace(f"team/{number % NAMESPACES}").remember(text).outcome == "created"
    return created


def measured(servers: int, stores: int) -> float:
    """CPU milliseconds of all servers for one store."""
    from postgres.server import start

    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        running: list[Any] = [start() for _ in range(servers)]
        for one in running:
            stack.callback(one.stop)
        lines = [f'server{at} = "{one.database()}"' for at, one in enumerate(running)]
        places = [f'"team/{number}" = "server{number % servers}"' for number in range(NAMESPACES)]
        table = Path(folder, "places.toml")
        table.write_text("\n".join(["[databases]", *lines, "[places]", *places]), "utf-8")
        address = f"placement://{table}"
        with ProcessPoolExecutor(WRITERS, mp_context=get_context("spawn")) as pool:
            list(pool.map(write, [address] * WRITERS, range(WRITERS), [NAMESPACES] * WRITERS, [WRITERS] * WRITERS))
            before = sum(cpu_of(one.process.pid) for one in running)
            shares = [pool.submit(write, address, writer, stores, WRITERS) for writer in range(WRITERS)]
            for share in shares:
                share.result()
            spent = sum(cpu_of(one.process.pid) for one in running) - before
    return 1000 * spent / stores


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


if __name__ == "__main__":
    main()
