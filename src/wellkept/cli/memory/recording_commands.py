"""Commands for agent loops: record decisions, turns and episodes."""

from __future__ import annotations

from typing import Annotated

import typer

from wellkept.cli.memory.write_commands import wrote
from wellkept.cli.terminal.fields import TextOptions, WriteOptions
from wellkept.cli.terminal.groups import argument, flag, option
from wellkept.cli.terminal.session import Session

OutcomeOption = Annotated[str, typer.Option("--outcome", help="Its outcome, if known.")]


def record(run: Session, *, text: TextOptions, outcome: OutcomeOption = "", write: WriteOptions) -> object:
    """Record a decision. Every call adds one, even with the same words."""
    content, fields = text.with_fields(write)
    return run.store().record_decision(content, outcome=outcome, **fields)


def record_turn(
    run: Session,
    *,
    text: TextOptions,
    decided: bool = flag("--decided", help="`record` was called in this turn."),
    episode: str = option(default="", metavar="ID", help="The episode that it belongs to."),
    write: WriteOptions,
) -> int:
    """Record an agent's answer as a decision if it reads like one. Requires `--frame`: task, question …"""
    if write.frame is None:
        raise typer.BadParameter("Name the frame of the turn, such as task or conversation", param_hint="--frame")
    content, fields = text.with_fields(write)
    result = run.store().record_turn(content, decided=decided, episode=episode, **fields)
    return wrote(run, result)


def start(run: Session, *, text: TextOptions, write: WriteOptions) -> int:
    """Start an episode, or continue the open one."""
    content, fields = text.with_fields(write)
    result = run.store().start_episode(content, **fields)
    return wrote(run, result)


def end(
    run: Session,
    episode_id: str = argument(metavar="ID", help="Its id, or the beginning or end of it."),
    *,
    summary: str = option(default="", help="Its result, in short."),
    outcome: str = option(default="", help="How well it went."),
    at: str | None = option(metavar="TIME", help="When it ended; now by default."),
) -> object:
    """End an episode; it is kept, but cannot be continued."""
    return run.store().end_episode(episode_id, summary=summary, outcome=outcome, at=at)
