"""The command line: `wellkept …`; see `app` for the commands and `exits` for the exit codes."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Args:
        arguments: What follows the command's name; those of the process by default.
    """
    from wellkept.surfaces.cli.app import app
    from wellkept.surfaces.cli.session import quiet_end

    try:
        app(args=None if arguments is None else list(arguments), prog_name="wellkept")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    return quiet_end(code)
