"""The application: its commands, the options before them, and its help."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

import wellkept
from wellkept.cli.cleaning import audit_commands, consolidate_commands, lifecycle_commands, replay_commands
from wellkept.cli.measuring import eval_commands
from wellkept.cli.memory import (
    act_commands,
    call_commands,
    kind_command,
    pack_command,
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
from wellkept.cli.terminal import exits
from wellkept.cli.terminal.groups import SafeGroup, options_of, taken
from wellkept.cli.terminal.session import Shared

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
    values["ctx"].obj = taken(Shared, values)


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
_MODULES = (
    write_commands,
    recording_commands,
    read_commands,
    kind_command,
    pack_command,
    act_commands,
    import_commands,
    consolidate_commands,
    lifecycle_commands,
    upkeep_commands,
    work_commands,
    moving_commands,
    db_commands,
    audit_commands,
    replay_commands,
    calibrate_command,
    eval_commands,
    queue_commands,
    token_commands,
    serve_command,
    mcp_command,
    install_command,
    call_commands,
    doctor,
)
for _module in _MODULES:
    _module.register(app)
