"""The clients: where each keeps its list of servers, under which key, and what an entry of it holds."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from wellkept.types.words import Json

Place: TypeAlias = Literal["folder", "home", "settings"]


@dataclass(frozen=True, slots=True)
class Client:
    """A program that speaks MCP.

    Attributes:
        name: As `--client` names it.
        key: The key of its file that holds the servers by name.
        place: What the file's path counts from: the working folder, the home folder, or the folder
            in which the system keeps a program's settings.
        file: The path from there.
    """

    name: str
    key: str
    place: Place
    file: str

    def path(self, *, folder: Path | None = None, home: Path | None = None) -> Path:
        """Where its configuration is.

        Args:
            folder: The working folder; that of the process by default.
            home: The home folder; that of the user by default.
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
        Client("cursor", "mcpServers", "home", ".cursor/mcp.json"),
        Client("vscode", "servers", "folder", ".vscode/mcp.json"),
    )
}
"""The clients by name. Two of them read a file of the project, which the whole team shares."""


def launcher() -> list[str]:
    """The command that starts this very installation, whatever PATH the client is started with.

    Example:
        >>> Path(launcher()[0]).is_absolute()
        True
    """
    # Not resolved: the interpreter of a virtual environment is a link, and it is the link that finds the packages.
    python = Path(sys.executable)
    for name in ("wellkept", "wellkept.exe"):
        script = python.with_name(name)
        if script.is_file():
            return [str(script)]
    return [str(python), "-m", "wellkept.cli"]


def entry(command: Sequence[str], options: Sequence[str] = ()) -> dict[str, Json]:
    """The entry of the server in a client's list.

    Args:
        command: What starts Wellkept: a program, and perhaps arguments.
        options: Options of `wellkept mcp`.

    Example:
        >>> entry(["/opt/bin/wellkept"], ["--db", "/home/ada/agent.db"])["args"]
        ['mcp', '--db', '/home/ada/agent.db']
    """
    program, *first = command
    return {"type": "stdio", "command": program, "args": [*first, "mcp", *options]}


def _settings_folder() -> Path:
    from platformdirs import PlatformDirs

    return Path(PlatformDirs(appname=None, appauthor=False, roaming=True).user_config_dir)
