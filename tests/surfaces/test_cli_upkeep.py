"""`repair`, `sweep` and `maintain` on the command line: output, exit codes, and that only one runs at a time."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from postgres.given import EVERYWHERE
from surfaces.command_line import Cli

OLD = "Deploys happen on Monday."
JOBS = ["expire", "sweep", "consolidate", "decay", "verify"]
SOURCES = Path(__file__).parents[2] / "src"


def loop(cli: Cli, *arguments: str) -> subprocess.Popen[str]:
    """`wellkept maintain` in a process of its own."""
    command = [sys.executable, "-m", "wellkept.cli", "--db", str(cli.db), "--embedder", "hashing", "maintain"]
    return subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cli.folder,
        env={**os.environ, "PYTHONPATH": str(SOURCES), "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip


def damage(cli: Cli, statement: str, *values: Any) -> None:
    """Change rows behind the product's back; the tables are called alike in a file and in a database."""
    if not EVERYWHERE:
        with sqlite3.connect(cli.file) as connection:
            connection.execute(statement, values)
        return
    import psycopg

    with psycopg.connect(str(cli.db)) as database:
        database.execute(b"SET search_path = wellkept")
        database.execute(statement.replace("?", "%s").encode(), values)


def held_by(cli: Cli) -> str:
    """The stored holder of the lease; empty for none."""
    if not EVERYWHERE:
        return str(json.loads(_page(cli).read_text("utf-8"))["holder"])
    import psycopg

    with psycopg.connect(str(cli.db)) as database:
        found = database.execute("SELECT holder FROM wellkept.job WHERE kind = 'upkeep' AND state = 'running'")
        return "".join(holder for (holder,) in found)


def expire_lease(cli: Cli) -> None:
    """As if its time had passed."""
    if EVERYWHERE:
        damage(cli, "UPDATE job SET due = due - interval '1 hour' WHERE kind = 'upkeep'")
        return
    page = json.loads(_page(cli).read_text("utf-8"))
    page["until"] = "2020-01-01T00:00:00Z"
    _page(cli).write_text(json.dumps(page), encoding="utf-8")


def _page(cli: Cli) -> Path:
    return cli.file.with_name(cli.file.name + ".upkeep")


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


# --------------------------------------------------------------------------------------------
# Repair and sweep


def test_repair_says_what_it_would_do_and_does_it_only_when_told(cli: Cli) -> None:
    memory_id = cli.remember(OLD)
    cli("link", memory_id, "nobody", "--quiet")
    told = cli("repair", code=3).stdout
    assert "unlinked" in told and "repair --execute" in told
    cli("verify", code=3)
    done = cli("repair", "--execute").stdout
    assert "unlinked" in done and "entry 3" in done
    assert cli("repair").stdout == "No problems found\n"
    cli("verify")
    cli("undo", "3")
    cli("verify", code=3)


def test_repair_names_what_it_cannot_mend_and_ends_with_3(cli: Cli) -> None:
    for text in (OLD, "Tea at four.", "Use ruff."):
        cli.remember(text)
    damage(cli, "DELETE FROM journal WHERE seq = 2")
    told = cli("repair", "--execute", code=3).stdout
    assert "Left unchanged" in told and "entries are missing: 2" in told and "backup" in told
    assert cli.json("repair", code=3)["left"]


def test_hostile_text_in_a_problem_is_harmless(cli: Cli) -> None:
    memory_id = cli.remember(OLD)
    link = "INSERT INTO link SELECT ns, id, ?, ?, NULL FROM memory WHERE id = ?"
    damage(cli, link, "x\x1b[31mred", "re\u202el", memory_id)
    for arguments in (("verify",), ("repair",), ("maintain", "--once"), ("repair", "--json")):
        told = cli(*arguments, code=3).stdout
        assert "\x1b" not in told and "\u202e" not in told


def test_sweep_does_every_namespace(cli: Cli) -> None:
    cli.remember(OLD)
    cli.remember("Tea at four.", "--namespace", "acme")
    damage(cli, "DELETE FROM vector")
    assert cli.json("sweep")["embedded"] == 2
    assert cli.json("sweep")["embedded"] == 0
    cli("verify")


# --------------------------------------------------------------------------------------------
# Maintain


def test_a_round_plans_and_applies_nothing(cli: Cli) -> None:
    """D2, S1-16: the report lists planned actions; rows and journal are unchanged."""
    for text in ("Tea is upstairs.", "tea is upstairs"):
        cli("remember", text, "--on-conflict", "ignore")
    before = cli("export", "-").stdout.splitlines()[1:]
    told = {job["job"]: job["report"] for job in cli.json("maintain", "--once")["jobs"]}
    assert (told["consolidate"]["planned"], told["consolidate"]["actions"]) == (1, {"merge": 1})
    assert told["decay"]["planned"] == 0
    assert cli("export", "-").stdout.splitlines()[1:] == before


def test_one_round_prints_a_table_and_ends(cli: Cli) -> None:
    cli.remember(OLD)
    told = cli("maintain", "--once").stdout
    assert [word for word in JOBS if word in told] == JOBS
    assert "failed" not in told


def test_one_round_with_findings_ends_with_3_and_the_json_line_names_them(cli: Cli) -> None:
    cli("link", cli.remember(OLD), "nobody", "--quiet")
    done = cli.json("maintain", "--once", code=3)
    assert done["jobs"][-1]["report"]["problems"] == 1


def test_cron_with_a_span_says_when_nothing_is_due(cli: Cli) -> None:
    cli.remember(OLD)
    cli("maintain", "--once", "--every", "6h")
    cli.remember(OLD, "--namespace", "acme")
    told = cli.json("maintain", "--once", "--every", "6h")["jobs"]
    assert {job["namespace"] for job in told} == {"acme"}, "each namespace is due for itself"
    assert cli("maintain", "--once", "--every", "6h").stdout == "Nothing is due\n"
    assert len(cli.json("maintain", "--once")["jobs"]) == 2 * len(JOBS), "without a span all of it is done"


def test_what_an_upkeep_keeps_is_no_workers_business(cli: Cli) -> None:
    """Neither the lists nor the retries of `wellkept jobs` nor a worker show it or touch it."""
    cli.remember(OLD)
    cli("maintain", "--once")
    assert cli.rows("jobs", "list") == []
    assert cli.json("jobs", "retry") == {"due": 0}
    cli("jobs", "put", "upkeep", code=2)
    assert [(one["job"], one["state"]) for one in cli.rows("work", "--once")] == [("expire", "done"), ("sweep", "done")]
    assert [job["kind"] for job in cli.rows("jobs", "list")] == ["expire", "sweep"]
    assert cli("maintain", "--once", "--every", "6h").stdout == "Nothing is due\n"


def test_all_namespaces_are_kept_up_or_the_one_that_is_named(cli: Cli) -> None:
    cli.remember(OLD)
    cli.remember(OLD, "--namespace", "acme")
    assert {job["namespace"] for job in cli.json("maintain", "--once")["jobs"]} == {"acme", "default"}
    named = cli.json("maintain", "--once", "--namespace", "acme")["jobs"]
    assert {job["namespace"] for job in named} == {"acme"}


@pytest.mark.parametrize("text", ["6", "soon", "0s", "-1h"])
def test_a_wrong_span_is_refused_with_what_is_right(text: str, cli: Cli) -> None:
    told = cli("maintain", f"--every={text}", code=2).stderr
    assert "--every" in told and ("6h" in told or "1s" in told)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_loop_prints_a_line_a_round_and_ends_with_0_when_told(number: signal.Signals, cli: Cli) -> None:
    cli.remember(OLD)
    process = loop(cli, "--every", "1s", "--json")
    rounds = [json.loads(first_line(process)) for _ in range(2)]
    assert [[job["job"] for job in one["jobs"]] for one in rounds] == [JOBS] * 2
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert held_by(cli) == ""


def test_a_second_loop_is_refused_while_the_first_lives_and_takes_over_when_it_was_killed(cli: Cli) -> None:
    """The lease of a crashed holder ends by itself; until then it says who that was."""
    cli.remember(OLD)
    first = loop(cli, "--every", "1h", "--json")
    assert json.loads(first_line(first))["jobs"]
    refused = cli("maintain", "--every", "1h", code=1).stderr
    assert f"process {first.pid}" in refused and "keeps this store up" in refused
    assert f"process {first.pid}" in cli.json("maintain", "--once")["held"]
    first.kill()
    first.communicate()
    assert f"process {first.pid} " in held_by(cli)
    expire_lease(cli)
    assert len(cli.json("maintain", "--once")["jobs"]) == len(JOBS)


def test_others_read_and_write_while_a_loop_runs(cli: Cli) -> None:
    cli.remember(OLD)
    process = loop(cli, "--every", "1s", "--json")
    first_line(process)
    cli.remember("Tea at four.")
    assert len(cli.rows("list")) == 2
    time.sleep(1.1)
    process.terminate()
    process.communicate(timeout=60)
    cli("verify")
