"""`wellkept serve`: REST, MCP and the page in one process, until it is stopped."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from wellkept.cli.terminal.groups import option
from wellkept.cli.terminal.session import Session
from wellkept.config import MOST_SECONDS
from wellkept.errors import ConfigError
from wellkept.frozen import frozen

if TYPE_CHECKING:
    from wellkept.integrations.opentelemetry import Telemetry

_EXTRA = ("fastapi", "uvicorn", "mcp", "prometheus_client", "jinja2")
FlushAfterOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--flush-after",
        min=0.0,
        max=MOST_SECONDS,
        metavar="SECONDS",
        help="Delay after a conversation's last queued text until its queue is flushed; 0 = never automatically.",
        show_default="300",
    ),
]


@frozen(kw_only=True)
class TimeoutOptions:
    """Timeouts of the server."""

    drain: float = option(default=1.0, min=0.0, max=3_600.0, help="Seconds it keeps serving after SIGTERM.")
    grace: int = option(default=10, min=1, max=3_600, help="Seconds that running requests then have to finish.")
    flush_after: FlushAfterOption = None


def serve(
    run: Session,
    *,
    host: str = option(default="127.0.0.1", metavar="NAME", help="Address to listen on."),
    port: int = option(default=8642, min=0, max=65_535, help="Port; 0 = any free port."),
    toolset: Literal["default", "full"] = option(default="default", help="Set of tools offered over MCP."),
    allowed_host: list[str] | None = option(metavar="NAME", help="Host name that clients use; repeatable."),
    rate: float = option(default=100.0, min=0.0, help="Sustained requests/s per token; 0 = unlimited."),
    otel: str = option(default="", metavar="URL", help="OpenTelemetry collector (OTLP over HTTP); none by default."),
    times: TimeoutOptions,
) -> None:
    """Serve the store over HTTP: the page at /, REST at /v1, MCP at /mcp. Stops cleanly on Ctrl-C or SIGTERM."""
    require_extra()
    from wellkept.cli.operating.work_commands import job_queue
    from wellkept.cli.serving.token_commands import kept
    from wellkept.engine.upkeep.judging_worker import judging_everywhere
    from wellkept.operations.queued_writes import flush, recovered
    from wellkept.server.serving.assembly import assembled
    from wellkept.server.serving.flushing import flushing
    from wellkept.server.serving.listening import address_of, host_names, listen, refuse_to_be_open
    from wellkept.server.serving.private_logging import wordless
    from wellkept.server.serving.process import Ending, Process

    tokens = kept(run)
    refuse_to_be_open(host, tokens=tokens is not None and tokens.usable)
    asked = tokens is not None and tokens.required
    names = host_names(allowed_host or (), tokens=asked) + _own_name(host, alone=not allowed_host)
    with listen(host, port) as bound, wordless(), ExitStack() as ends:
        store = recovered(run.store())
        address = address_of(bound)

        def listening() -> None:
            started = {"address": address, "mcp": f"{address}/mcp", "tokens": asked}
            run.show(started, lambda: [f"Wellkept listens on {address} (the page at /, REST at /v1, MCP at /mcp)"])
            sys.stdout.flush()
            if not asked:
                run.note("There are no tokens: anyone who can reach this address has full access")

        telemetry = _exporting(otel, ends) if otel else None
        whole = assembled(store, tokens=tokens, toolset=toolset, hosts=names, rate=rate or None, telemetry=telemetry)
        ending = Ending(drain=times.drain, grace=times.grace)
        after = run.settings.flush_after if times.flush_after is None else times.flush_after
        with flushing(store, after=after), judging_everywhere(store._ctx, lambda: job_queue(run, store)):
            Process(whole.app, ending=ending, drain=whole.drain, listening=listening).run(sockets=[bound])
        if left := flush(store):
            run.note(left)
    run.note("Stopped")


def _exporting(collector: str, ends: ExitStack) -> Telemetry:
    """Telemetry that goes to a collector; what is left is sent when the server ends."""
    from wellkept.integrations.opentelemetry import Exporting

    exporting = Exporting(collector)
    ends.callback(exporting.close)
    return exporting.telemetry


def require_extra() -> None:
    """Require the packages of the server.

    Raises:
        ConfigError: One is missing.
    """
    from importlib.util import find_spec

    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"the server needs {', '.join(missing)}", where="wellkept serve", todo="Install wellkept[server]"
        )


def _own_name(host: str, *, alone: bool) -> tuple[str, ...]:
    """The listening address as an allowed host name.

    A server that listens on all addresses has many host names, so without configured names all are allowed. Such a
    server requires tokens, which a page that reached it by DNS rebinding does not have.
    """
    if host in ("", "0.0.0.0", "::"):
        return ("*",) if alone else ()
    return (host,)
