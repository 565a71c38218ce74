"""Known MCP clients: the location of their server list, its key, and the format of an entry."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from wellkept.frozen import frozen
from wellkept.types.words import Json

Place: TypeAlias = Literal["folder", "home", "settings"]


@frozen
class Client:
    """An MCP client.

    Attributes:
        name: The value of `--client`.
        key: The key of the configuration file that holds the servers by name.
        place: The base of the file's path: the working directory, the home directory, or the system's
            folder for application settings.
        file: The path relative to that base.
        typed: Whether an entry says which transport it has; other clients know it by the command.
        is_toml: Whether the file is TOML; else it is JSON.
    """

    name: str
    key: str
    place: Place
    file: str
    typed: bool = True
    is_toml: bool = False

    def path(self, *, folder: Path | None = None, home: Path | None = None) -> Path:
        """The path of its configuration.

        Args:
            folder: The working directory; that of the process by default.
            home: The home directory; that of the user by default.
        """
        match self.place:
            case "folder":
                return (folder if folder is not None else Path.cwd()) / self.file
            case "home":
                return (home if home is not None else Path.home()) / self.file
            case "settings":
                return _settings_folder() / self.file


CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client("claude-code", "mcpServers", "folder", ".mcp.json"),
        Client("claude-desktop", "mcpServers", "settings", "Claude/claude_desktop_config.json"),
        Client("codex", "mcp_servers", "home", ".codex/config.toml", typed=False, is_toml=True),
        Client("cursor", "mcpServers", "home", ".cursor/mcp.json"),
        Client("gemini-cli", "mcpServers", "home", ".gemini/settings.json", typed=False),
        Client("vscode", "servers", "folder", ".vscode/mcp.json"),
        Client("windsurf", "mcpServers", "home", ".codeium/windsurf/mcp_config.json", typed=False),
    )
}
"""The clients by name. Two of them read a file of the project that the team shares."""


def launcher() -> list[str]:
    """The command that starts this installation, independent of the client's PATH.

    Example:
        >>> Path(launcher()[0]).is_absolute()
        True
    """
    # Not resolved: the interpreter of a virtual environment is a link, and packages are found through that link.
    python = Path(sys.executable)
    for name in ("wellkept", "wellkept.exe"):
        script = python.with_name(name)
        if script.is_file():
            return [str(script)]
    return [str(python), "-m", "wellkept.cli"]


def entry(command: Sequence[str], options: Sequence[str] = (), *, typed: bool = True) -> dict[str, Json]:
    """The entry of the server in a client's list.

    Args:
        command: The program that starts Wellkept, with arguments if needed.
        options: Options of `wellkept mcp`.
        typed: Whether it says that its transport is stdio.

    Example:
        >>> entry(["/opt/bin/wellkept"], ["--db", "/home/ada/agent.db"])["args"]
        ['mcp', '--db', '/home/ada/agent.db']
    """
    program, *first = command
    transport = {"type": "stdio"} if typed else {}
    return {**transport, "command": program, "args": [*first, "mcp", *options]}


def _settings_folder() -> Path:
    from platformdirs import PlatformDirs

    return Path(PlatformDirs(appname=None, appauthor=False, roaming=True).user_config_dir)
