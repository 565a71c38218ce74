"""Values of options: what is taken as it is, and what typer converts or refuses as it always did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from wellkept.cli.app import app
from wellkept.cli.terminal import plain_values
from wellkept.cli.terminal.command_table import Command
from wellkept.cli.terminal.groups import argument, flag, option
from wellkept.cli.terminal.session import Session
from wellkept.types import Direction


def work(
    run: Session,
    text: str = argument(),
    *,
    count: int = option("-n", default=5, min=1, max=100),
    share: float | None = option("--share"),
    direction: Direction = option("--direction", default="both"),
    tags: list[str] | None = option("--tag"),
    file: Path | None = option("--file"),
    twice: bool = flag("--twice"),
) -> None:
    run.emit({name: value for name, value in locals().items() if name != "run"} | {"file": str(file)})


def said(words: list[str], *, plain: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    with monkeypatch.context() as patched:
        if not plain:
            patched.setattr("wellkept.cli.terminal.groups.plainly", lambda params: params)
        result = CliRunner().invoke(command(), words)
    return result.exit_code, result.output


def command() -> Any:
    import typer

    one = typer.Typer(add_completion=False)
    Command("work", work).onto(one)
    return one


@pytest.mark.parametrize(
    "words",
    [
        ["tea"],
        ["tea", "-n", "7"],
        ["tea", "-n", "007"],
        ["tea", "-n", "0"],
        ["tea", "-n", "101"],
        ["tea", "-n", "-3"],
        ["tea", "-n", "ten"],
        ["tea", "-n", "7.0"],
        ["tea", "-n", " 7"],
        ["tea", "-n", "\u0667"],
        ["tea", "-n", "9" * 40],
        ["tea", "--share", ".5"],
        ["tea", "--share", "half"],
        ["tea", "--direction", "out"],
        ["tea", "--direction", "OUT"],
        ["tea", "--direction", ""],
        ["tea", "--tag", "a", "--tag", "b"],
        ["tea", "--tag", ""],
        ["tea", "--file", "a/b"],
        ["tea", "--twice"],
        ["\udcff"],
        [""],
        [],
    ],
    ids=repr,
)
def test_a_value_means_the_same_with_and_without_typers_conversion(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(words, plain=True, monkeypatch=monkeypatch) == said(words, plain=False, monkeypatch=monkeypatch)


def test_plain_values_are_not_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    def converts(self: object) -> object:
        raise AssertionError("typer's conversion was loaded")

    monkeypatch.setattr("typer.core.TyperOption.get_runtime_param", converts)
    monkeypatch.setattr("typer.core.TyperArgument.get_runtime_param", converts)
    result = CliRunner().invoke(command(), ["tea", "-n", "7", "--direction", "in", "--tag", "a", "--twice"])
    assert result.exit_code == 0, result.exception


def test_every_command_can_be_made() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0, result.exception
    assert plain_values.plainly([object()])
