"""The command line application: its commands, its global options and its help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

import wellkept
from wellkept.cli.terminal import exits
from wellkept.cli.terminal.command_table import Command, Elsewhere, Group, OnDemand
from wellkept.cli.terminal.groups import SafeGroup, collected, options_of
from wellkept.cli.terminal.session import Shared


class _Root(SafeGroup):
    """All commands; a command's module is imported when the command is run or the help lists it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        rows = [(panel, row) for panel, rows in _COMMANDS.items() for row in rows]
        rows.sort(key=lambda row: not isinstance(row[1], Command))  # a panel of the help ends with its groups
        self.commands: Any = OnDemand({row.name: partial(row.made, panel) for panel, row in rows})


app = typer.Typer(
    name="wellkept",
    cls=_Root,
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
_COMMANDS: Mapping[str, Sequence[Command | Group | Elsewhere]] = {
    "Write": (
        Command("remember", "memory.write_commands:remember"),
        Command("remember-many", "memory.write_commands:remember_many"),
        Command("check", "memory.write_commands:check"),
        Command("revise", "memory.write_commands:revise", "terminal.render:memory"),
        Command("record", "memory.recording_commands:record", "terminal.render:written", without=("kind", "automatic")),
        Command("record-turn", "memory.recording_commands:record_turn", without=("kind", "automatic")),
        Group(
            "episode",
            "Start and end episodes (periods of work).",
            (
                Command("start", "memory.recording_commands:start", without=("kind", "ended_at")),
                Command("end", "memory.recording_commands:end", "terminal.render:memory"),
            ),
        ),
    ),
    "Read": (
        Command("recall", "memory.read_commands:recall"),
        Command("get", "memory.read_commands:get"),
        Command("list", "memory.read_commands:list_memories"),
        Command("history", "memory.read_commands:history", "terminal.render:history", each=True),
        Command("journal", "memory.read_commands:journal", "terminal.render:journal", each=True),
        Command("neighbors", "memory.read_commands:neighbors"),
        Command("subgraph", "memory.read_commands:subgraph", "memory.read_commands:graph"),
        Command("stats", "memory.read_commands:stats", "terminal.render:statistics"),
        Command("namespaces", "memory.read_commands:namespaces"),
        Command("kinds", "memory.kind_command:kinds", "memory.kind_command:tables", each=True),
        Command("pack", "memory.pack_command:pack"),
    ),
    "Act": (
        Command("questions", "memory.question_commands:questions"),
        Command("answer", "memory.question_commands:answer"),
        Command("conflicts", "memory.act_commands:conflicts"),
        Command("resolve", "memory.act_commands:resolve"),
        Command("supersede", "memory.act_commands:supersede"),
        Command("forget", "memory.act_commands:forget"),
        Command("restore", "memory.act_commands:restore"),
        Command("split", "memory.act_commands:split"),
        Command("undo", "memory.act_commands:undo"),
        Command("judge", "memory.act_commands:judge"),
        Command("erase", "memory.act_commands:erase"),
        Command("link", "memory.act_commands:link"),
        Command("unlink", "memory.act_commands:unlink"),
    ),
    "Operate": (
        Command("import", "operating.import_commands:import_file"),
        Command("export", "operating.import_commands:export"),
        Command("demo", "operating.import_commands:demo"),
        Command("consolidate", "cleaning.consolidate_commands:consolidate"),
        Command("apply", "cleaning.consolidate_commands:apply"),
        Command("runs", "cleaning.consolidate_commands:runs", "cleaning.plan_tables:run_lines", each=True),
        Command("reflect", "cleaning.lifecycle_commands:reflect"),
        Command("decay", "cleaning.lifecycle_commands:decay"),
        Command("verify", "operating.upkeep_commands:verify"),
        Command("repair", "operating.upkeep_commands:repair"),
        Command("sweep", "operating.upkeep_commands:sweep"),
        Command("reembed", "operating.upkeep_commands:reembed"),
        Command("maintain", "operating.upkeep_commands:maintain"),
        Command("work", "operating.work_commands:work"),
        Group(
            "jobs",
            "Jobs of the workers, in every namespace.",
            (
                Command("list", "operating.work_commands:listed"),
                Command("retry", "operating.work_commands:retry"),
                Command("put", "operating.work_commands:put"),
            ),
        ),
        Command("backup", "operating.moving_commands:backup"),
        Command("restore-backup", "operating.moving_commands:restore_backup"),
        Command("migrate", "operating.moving_commands:migrate", own=("namespace",)),
        Group(
            "db",
            "Manage a store in one or several PostgreSQL databases.",
            (
                Command("distribute", "operating.db_commands:distribute"),
                Command("index", "operating.db_commands:index"),
                Command("move", "operating.place_commands:move"),
                Command("place", "operating.place_commands:place"),
                Command("remove-copy", "operating.place_commands:remove_copy"),
                Command("secure", "operating.db_commands:secure"),
            ),
        ),
        Command("ingest", "operating.ingest_command:ingest"),
        Command("audit", "cleaning.audit_commands:audit"),
        Command("replay", "cleaning.replay_commands:replay"),
        Command("calibrate", "operating.calibrate_command:calibrate"),
        Group(
            "eval",
            "Measure error rates, with confidence intervals, on labelled texts.",
            (
                Command("pairs", "measuring.eval_commands:pairs"),
                Command("stories", "measuring.eval_commands:stories"),
                Command("retrieval", "measuring.eval_commands:retrieval"),
            ),
        ),
        Group(
            "queue",
            "Manage the queue of writes that wait to be stored.",
            (
                Command("list", "memory.queue_commands:pending", "memory.queue_commands:table", each=True),
                Command("flush", "memory.queue_commands:flush"),
                Command("drop", "memory.queue_commands:drop"),
                Command("remember", "memory.queue_commands:remember"),
            ),
        ),
        Group(
            "token",
            "Manage the server's tokens: who may do what in which namespace.",
            (
                Command("create", "serving.token_commands:create", own=("namespace",)),
                Command("list", "serving.token_commands:list_tokens"),
                Command("revoke", "serving.token_commands:revoke"),
            ),
        ),
        Group(
            "daemon",
            "Keep modules and models loaded for short commands.",
            (
                Command("start", "serving.daemon_commands:start"),
                Command("stop", "serving.daemon_commands:stop"),
                Command("status", "serving.daemon_commands:status"),
            ),
        ),
        Group(
            "hook",
            "What an agent calls at the start and the end of its sessions.",
            (
                Command("session-start", "serving.hook_commands:session_start"),
                Command("session-end", "serving.hook_commands:session_end"),
                Command("pre-compact", "serving.hook_commands:pre_compact"),
                Command("take-in", "serving.hook_commands:take_in"),
            ),
        ),
        Command("serve", "serving.serve_command:serve"),
        Command("open", "serving.open_command:open_page"),
        Command("mcp", "serving.mcp_command:mcp"),
        Command("install", "serving.install_command:install"),
        Command("doctor", "operating.doctor:doctor"),
        Command("forget-lessons", "memory.question_commands:forget_lessons"),
        Elsewhere("call", "memory.call_commands:CALL"),
    ),
}
"""The commands by their heading in the help; a function is named by its module below `cli`."""
