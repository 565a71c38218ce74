"""The command line application: its commands, its global options and its help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

import wellkept
from wellkept.cli.cleaning import audit_commands, consolidate_commands, lifecycle_commands, plan_tables, replay_commands
from wellkept.cli.measuring import eval_commands
from wellkept.cli.memory import (
    act_commands,
    call_commands,
    kind_command,
    pack_command,
    question_commands,
    queue_commands,
    read_commands,
    recording_commands,
    write_commands,
)
from wellkept.cli.operating import (
    calibrate_command,
    db_commands,
    doctor,
    import_commands,
    moving_commands,
    upkeep_commands,
    work_commands,
)
from wellkept.cli.serving import install_command, mcp_command, serve_command, token_commands
from wellkept.cli.terminal import exits, render
from wellkept.cli.terminal.groups import SafeGroup, collected, options_of
from wellkept.cli.terminal.session import Command, Group, Shared

app = typer.Typer(
    name="wellkept",
    cls=SafeGroup,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"Exit codes:\n\n{exits.table()}\n\nSettings: a flag, then WELLKEPT_DB, WELLKEPT_NAMESPACE, …, then "
    "./wellkept.toml, then your config.toml; `wellkept doctor` shows what is in force.",
)


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it
    if wanted:
        typer.echo(f"wellkept {wellkept.__version__}")
        raise typer.Exit


def _root(**values: Any) -> None:
    """The long-term memory of an AI agent that keeps itself clean."""
    values["ctx"].obj = collected(Shared, values)


_VERSION = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
]
_root.__signature__ = Signature(  # type: ignore[attr-defined]
    [
        Parameter("ctx", Parameter.KEYWORD_ONLY, annotation=typer.Context),
        Parameter("version", Parameter.KEYWORD_ONLY, default=False, annotation=_VERSION),
        *options_of(Shared),
    ]
)
app.callback()(_root)
_COMMANDS: Mapping[str, Sequence[Command | Group]] = {
    "Write": (
        Command("remember", write_commands.remember),
        Command("remember-many", write_commands.remember_many),
        Command("check", write_commands.check),
        Command("revise", write_commands.revise, render.memory),
        Command("record", recording_commands.record, render.written, without=("kind", "automatic")),
        Command("record-turn", recording_commands.record_turn, without=("kind", "automatic")),
        Group(
            "episode",
            "Start and end episodes (periods of work).",
            (
                Command("start", recording_commands.start, without=("kind", "ended_at")),
                Command("end", recording_commands.end, render.memory),
            ),
        ),
    ),
    "Read": (
        Command("recall", read_commands.recall),
        Command("get", read_commands.get),
        Command("list", read_commands.list_memories),
        Command("history", read_commands.history, render.history, each=True),
        Command("journal", read_commands.journal, render.journal, each=True),
        Command("neighbors", read_commands.neighbors),
        Command("subgraph", read_commands.subgraph, read_commands.graph),
        Command("stats", read_commands.stats, render.statistics),
        Command("namespaces", read_commands.namespaces),
        Command("kinds", kind_command.kinds, kind_command.tables, each=True),
        Command("pack", pack_command.pack),
    ),
    "Act": (
        Command("questions", question_commands.questions),
        Command("answer", question_commands.answer),
        Command("conflicts", act_commands.conflicts),
        Command("resolve", act_commands.resolve),
        Command("supersede", act_commands.supersede),
        Command("forget", act_commands.forget),
        Command("restore", act_commands.restore),
        Command("split", act_commands.split),
        Command("undo", act_commands.undo),
        Command("erase", act_commands.erase),
        Command("link", act_commands.link),
        Command("unlink", act_commands.unlink),
    ),
    "Operate": (
        Command("import", import_commands.import_file),
        Command("export", import_commands.export),
        Command("demo", import_commands.demo),
        Command("consolidate", consolidate_commands.consolidate),
        Command("apply", consolidate_commands.apply),
        Command("runs", consolidate_commands.runs, plan_tables.run_lines, each=True),
        Command("reflect", lifecycle_commands.reflect),
        Command("decay", lifecycle_commands.decay),
        Command("verify", upkeep_commands.verify),
        Command("repair", upkeep_commands.repair),
        Command("sweep", upkeep_commands.sweep),
        Command("reembed", upkeep_commands.reembed),
        Command("maintain", upkeep_commands.maintain),
        Command("work", work_commands.work),
        Group(
            "jobs",
            "Jobs of the workers, in every namespace.",
            (
                Command("list", work_commands.listed),
                Command("retry", work_commands.retry),
                Command("put", work_commands.put),
            ),
        ),
        Command("backup", moving_commands.backup),
        Command("restore-backup", moving_commands.restore_backup),
        Command("migrate", moving_commands.migrate, own=("namespace",)),
        Group(
            "db",
            "Manage a store in a PostgreSQL database.",
            (
                Command("distribute", db_commands.distribute),
                Command("index", db_commands.index),
                Command("secure", db_commands.secure),
            ),
        ),
        Command("audit", audit_commands.audit),
        Command("replay", replay_commands.replay),
        Command("calibrate", calibrate_command.calibrate),
        Group(
            "eval",
            "Measure error rates, with confidence intervals, on labelled texts.",
            (
                Command("pairs", eval_commands.pairs),
                Command("stories", eval_commands.stories),
                Command("retrieval", eval_commands.retrieval),
            ),
        ),
        Group(
            "queue",
            "Manage the queue of writes that wait to be stored.",
            (
                Command("list", queue_commands.pending, queue_commands.table, each=True),
                Command("flush", queue_commands.flush),
                Command("drop", queue_commands.drop),
                Command("remember", queue_commands.remember),
            ),
        ),
        Group(
            "token",
            "Manage the server's tokens: who may do what in which namespace.",
            (
                Command("create", token_commands.create, own=("namespace",)),
                Command("list", token_commands.list_tokens),
                Command("revoke", token_commands.revoke),
            ),
        ),
        Command("serve", serve_command.serve),
        Command("mcp", mcp_command.mcp),
        Command("install", install_command.install),
        Command("doctor", doctor.doctor),
        Command("forget-lessons", question_commands.forget_lessons),
    ),
}
"""The commands by their heading in the help."""
for _panel, _rows in _COMMANDS.items():
    for _row in _rows:
        _row.onto(app, _panel)
app.add_typer(call_commands.CALL, rich_help_panel="Operate")
