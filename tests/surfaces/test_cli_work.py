"""`work` and `jobs` on the command line, over a file: output, refusals and exit codes (issue 7 §6)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import wellkept
from surfaces.command_line import Cli
from wellkept.engine.upkeep.job_queue import queue_of
from wellkept.engine.upkeep.worker import WorkReport
from wellkept.types.jobs import QueuedJob

OLD = "Deploys happen on Monday."
SOURCES = Path(__file__).parents[2] / "src"


def worker(cli: Cli, *arguments: str) -> subprocess.Popen[str]:
    """`wellkept work` in a process of its own."""
    command = [sys.executable, "-m", "wellkept.cli", "--db", str(cli.db), "--embedder", "hashing", "work"]
    return subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cli.folder,
        env={**os.environ, "PYTHONPATH": str(SOURCES), "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip


def repeats(cli: Cli, *options: str) -> None:
    for text in ("Tea is upstairs.", "tea is upstairs"):
        cli("remember", text, "--on-conflict", "ignore", *options)


def give_up(cli: Cli, why: str) -> None:
    """As if the job in hand had failed for the last time."""
    with wellkept.open(str(cli.db), embedder="hashing", relation_model="none") as store:
        queue = queue_of(store._ctx, cli.file.with_name(cli.file.name + ".jobs"))
        job = queue.claim(["consolidate"], holder="me", seconds=60)
        assert job is not None
        queue.leave(job, after=None, error=why)


def test_without_execute_no_memory_is_changed(cli: Cli) -> None:
    """S1-1, S1-16."""
    repeats(cli)
    told = cli("work", "--once").stdout
    assert "expire" in told and "sweep" in told and "consolidate" not in told
    assert len(cli.rows("list")) == 2
    refused = cli("work", "--once", "--jobs", "sweep,consolidate", code=2).stderr
    assert "consolidate" in refused and "--execute" in refused


def test_with_execute_every_namespace_is_tidied_and_each_run_can_be_taken_back(cli: Cli) -> None:
    repeats(cli)
    repeats(cli, "--namespace", "acme")
    told = cli("work", "--once", "--execute").stdout
    assert told.count("consolidate  done  planned 1, executed 1") == 2
    assert len(cli.rows("list")) == 1 == len(cli.rows("list", "--namespace", "acme"))
    [run] = [
        job["report"]["run_id"] for job in cli.rows("jobs", "list", "--jobs", "consolidate", "--namespace", "acme")
    ]
    cli("undo", "--run", run, "--namespace", "acme")
    assert len(cli.rows("list", "--namespace", "acme")) == 2
    cli("verify")


def test_json_is_a_line_for_each_job_with_all_its_keys(cli: Cli) -> None:
    cli.remember(OLD)
    done = cli.rows("work", "--once")
    assert [set(one) for one in done] == [set(WorkReport.__dataclass_fields__)] * 2
    jobs = cli.rows("jobs", "list")
    assert [set(one) for one in jobs] == [set(QueuedJob.__dataclass_fields__)] * 2
    assert [(one["kind"], one["state"], one["seq"]) for one in jobs] == [("expire", "idle", 1), ("sweep", "idle", 1)]


def test_only_the_named_namespace_is_worked_for_and_listed(cli: Cli) -> None:
    cli.remember(OLD)
    cli.remember(OLD, "--namespace", "acme")
    assert {one["namespace"] for one in cli.rows("work", "--once", "--namespace", "acme")} == {"acme"}
    assert {one["state"] for one in cli.rows("jobs", "list", "--namespace", "default")} == {"due"}


def test_a_job_can_be_put_before_its_time(cli: Cli) -> None:
    repeats(cli)
    assert cli.json("jobs", "put", "consolidate") == {"job": "consolidate", "namespaces": 1}
    assert "consolidate is due in 1 namespace" in cli("jobs", "put", "consolidate").stdout
    assert cli.rows("work", "--once", "--execute", "--jobs", "consolidate")[0]["report"]["executed"] == 1
    assert "tidy" in cli("jobs", "put", "tidy", code=2).stderr


def test_what_was_given_up_is_listed_with_the_reason_and_tried_again_on_request(cli: Cli) -> None:
    repeats(cli)
    cli("jobs", "put", "consolidate")
    give_up(cli, "Busy: another \x1b[31mwriter\u202e")
    told = cli("jobs", "list", code=3).stdout
    assert "failed" in told and "Busy: another" in told
    assert "\x1b" not in told and "\u202e" not in told
    assert cli.json("jobs", "list", "--state", "failed", code=3)["attempts"] == 1
    assert cli("jobs", "list", "--state", "running").stdout == "No jobs\n"
    assert cli.json("jobs", "retry", "--jobs", "sweep") == {"due": 0}
    assert cli.json("jobs", "retry") == {"due": 1}
    cli("work", "--once", "--execute", "--jobs", "consolidate")
    cli("jobs", "list")


def test_the_kill_switch_holds_and_the_exit_code_says_so(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """S1-52."""
    repeats(cli)
    monkeypatch.setenv("WELLKEPT_CONSOLIDATE_DRY_RUN", "true")
    told = cli("work", "--once", "--execute", code=3).stdout
    assert "held" in told
    assert len(cli.rows("list")) == 2


@pytest.mark.parametrize("option", ["--every=soon", "--lease=2d", "--lease=0s", "--jobs=tidy", "--changes=0"])
def test_what_makes_no_sense_is_refused(cli: Cli, option: str) -> None:
    assert option.partition("=")[0] in cli("work", "--once", option, code=2).stderr


def test_a_store_that_is_not_there_has_no_jobs_and_none_is_made(cli: Cli) -> None:
    assert cli("jobs", "list").stdout == "No jobs\n"
    assert list(cli.folder.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_ends_with_0_when_told(number: signal.Signals, cli: Cli) -> None:
    cli.remember(OLD)
    process = worker(cli, "--json")
    assert process.stdout is not None
    told = [json.loads(process.stdout.readline()) for _ in range(2)]
    assert [one["job"] for one in told] == ["expire", "sweep"]
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert {one["state"] for one in cli.rows("jobs", "list")} == {"idle"}


@pytest.mark.skipif(os.name != "posix", reason="processes are stopped by signals of POSIX")
def test_several_workers_of_one_file_share_its_namespaces(cli: Cli) -> None:
    for name in ("a", "b", "c"):
        repeats(cli, "--namespace", name)
    process = worker(cli, "--json", "--once", "--execute", "--jobs", "consolidate", "--workers", "2")
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    told = [json.loads(line) for line in out.splitlines()]
    assert sorted((one["namespace"], one["report"]["executed"]) for one in told) == [("a", 1), ("b", 1), ("c", 1)]
