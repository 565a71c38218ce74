"""A policy that judges later, on the command line: what a write says, what waits, and who judges it."""

from __future__ import annotations

from surfaces.command_line import Cli

OLD, NEW = "All tests are written with pytest.", "Use pytest for all tests."


def test_what_waits_is_told_counted_and_judged_by_a_worker(cli: Cli) -> None:
    """Nothing of it is shown under a policy that judges at once."""
    (cli.folder / "policy.toml").write_text('judging = "later"\n')
    later = ("--policy", str(cli.folder / "policy.toml"))
    cli("remember", OLD, "--kind", "lesson", *later)
    told = cli.json("remember", NEW, "--kind", "lesson", *later)
    assert (told["outcome"], "judging" in told["degraded"]) == ("created", True)
    assert cli.json("stats")["waiting"] == 1
    found = {one["topic"]: one["what"] for one in cli.json("doctor")["findings"]}
    assert found["judging"] == "1 memory waits to be judged"
    assert "judge  done  judged 1" in cli("work", "--once", *later).stdout
    assert cli.json("stats")["waiting"] == 0
    assert "judge" not in cli("work", "--once").stdout
