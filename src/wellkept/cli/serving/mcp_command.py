"""`wellkept mcp`: the memory as an MCP server over standard input and output."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from wellkept.cli.serving.serve_command import FlushAfterOption
from wellkept.cli.terminal.groups import option
from wellkept.cli.terminal.session import Session
from wellkept.errors import ConfigError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from wellkept.engine.verbs.store import MemoryStore


def mcp(
    run: Session,
    *,
    toolset: Literal["default", "full"] = option(
        default="default", help="default: everyday tools; full: operator tools too."
    ),
    flush_after: FlushAfterOption = None,
) -> None:
    """Serve this memory to an MCP client over standard input and output, until the client disconnects.

    Standard output carries the protocol only; messages go to standard error.
    """
    from wellkept.server.serving.private_logging import wordless

    # An invalid setting ends the command before a client waits for it.
    after = run.settings.flush_after if flush_after is None else flush_after
    # Objects loaded up to here live as long as the process. Excluding them from garbage collection shortens the
    # time until the first answer by a sixth.
    gc.disable()
    try:
        server = _server(_LazyStore(run, flush_after=after), toolset)
    finally:
        gc.freeze()
        gc.enable()
    with wordless():  # clients write standard error to log files
        server.run("stdio")


def _server(opened: Callable[[], MemoryStore], toolset: Literal["default", "full"]) -> MCPServer[Any]:
    try:
        import mcp.server.mcpserver  # noqa: F401
    except ImportError as error:
        todo = "Install it: pip install 'wellkept[mcp]'"
        raise ConfigError("the MCP package is not installed", where="mcp", todo=todo) from error
    from wellkept.server.mcp.server import server_of

    return server_of(opened, toolset=toolset)


class _LazyStore:
    """Opens the store at the first call that needs it, so that listing the tools is fast."""

    def __init__(self, run: Session, *, flush_after: float) -> None:
        self._run = run
        self._flush_after = flush_after
        self._lock = threading.Lock()
        self._store: MemoryStore | None = None

    def __call__(self) -> MemoryStore:
        with self._lock:
            if self._store is None:
                from wellkept.cli.operating.work_commands import job_queue
                from wellkept.engine.upkeep.judging_worker import judging_everywhere
                from wellkept.operations.queued_writes import recovered
                from wellkept.server.serving.flushing import flushing

                self._store = recovered(self._run.store())
                self._run.on_end(self._flush)
                self._run.keep_open(flushing(self._store, after=self._flush_after))
                store = self._store
                self._run.keep_open(judging_everywhere(store._ctx, lambda: job_queue(self._run, store)))
            return self._store

    def _flush(self) -> None:
        """Write the queued writes of the client before the store is closed."""
        from wellkept.operations.queued_writes import flush

        if self._store is not None and (left := flush(self._store)):
            self._run.note(left)
