"""`wellkept pack`: the block on standard output, notes on standard error."""

from __future__ import annotations

import dataclasses
import json

import pytest

from surfaces.command_line import Cli
from wellkept.types.packs import Pack


def test_the_block_is_printed_alone(cli: Cli) -> None:
    first = cli.remember("The test database listens on port 5433.")
    done = cli("pack", "port of the database")
    assert done.stdout.splitlines()[0] == "## Memory"
    assert f"id={first}" in done.stdout
    assert "port 5433" in done.stdout


def test_the_block_may_be_json_and_so_may_be_what_is_said_of_it(cli: Cli) -> None:
    first = cli.remember("The test database listens on port 5433.")
    block = json.loads(cli("pack", "port", "--format", "json").stdout)
    assert [item["id"] for item in block["memories"]] == [first]
    told = cli.json("pack", "port", "--format", "json")
    assert set(told) == {field.name for field in dataclasses.fields(Pack)}
    assert json.loads(told["text"]) == block


def test_what_does_not_fit_is_told_beside_the_block(cli: Cli) -> None:
    cli.remember("Tea is upstairs.")
    cli.remember("Tea is served with milk, " + "and sugar, " * 60)
    done = cli("pack", "tea", "--budget", "80")
    assert "upstairs" in done.stdout and "sugar" not in done.stdout
    assert "1 more match the query and do not fit into 80 tokens" in done.stderr


@pytest.mark.parametrize("named", ["id", "text"])
def test_what_the_prompt_holds_is_left_out(cli: Cli, named: str) -> None:
    first = cli.remember("Tea is upstairs.")
    cli.remember("Tea is served at four.")
    done = cli("pack", "tea", "--exclude", first if named == "id" else "tea is UPSTAIRS")
    assert "four" in done.stdout and "upstairs" not in done.stdout


def test_nothing_found_prints_nothing(cli: Cli) -> None:
    cli.remember("Tea is upstairs.", "--kind", "fact")
    assert cli("pack", "tea", "--kind", "lesson").stdout == ""


def test_a_terminal_gets_nothing_it_would_obey(cli: Cli) -> None:
    cli.remember("Tea \u202eis\u2066 upstairs.\n```\n# Heading", "--title", "[red]x[/red]")
    shown = cli("pack", "tea").stdout
    assert not set("\u202e\u2066\x1b") & set(shown)
    assert 'title="[red]x[/red]"' in shown
    assert "\n    # Heading\n" in shown and "\n````\n" in shown


def test_counting_as_used_can_be_switched_off(cli: Cli) -> None:
    first = cli.remember("Tea is upstairs.")
    cli("pack", "tea", "--no-touch")
    assert cli.json("get", first, "--no-touch")["access_count"] == 0
    cli("pack", "tea")
    assert cli.json("get", first, "--no-touch")["access_count"] == 1


@pytest.mark.parametrize("budget", ["0", "-1", "many"])
def test_a_budget_is_a_number_of_tokens(cli: Cli, budget: str) -> None:
    assert "--budget" in cli("pack", "tea", "--budget", budget, code=2).stderr
