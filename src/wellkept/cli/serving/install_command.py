"""`wellkept install`: register Wellkept in the configuration of an MCP client."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from wellkept.cli.terminal.groups import flag, option
from wellkept.cli.terminal.session import Session

if TYPE_CHECKING:
    from wellkept.cli.install import Installed
    from wellkept.types.words import Json

_DEFAULT = "default"
_SAID_AS_TEXT = ("namespace", "embedder", "actor", "durability")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """Options for the target and the entry."""

    show: bool = flag("--print", help="Only print the configuration; write nothing.")
    path: Path | None = option(metavar="FILE", help="The client's configuration file, if not the usual one.")
    toolset: Literal["default", "full"] = option(default="default", help="Set of tools offered to the agent.")


def install(
    run: Session,
    *,
    client: Literal["claude-code", "claude-desktop", "cursor", "gemini-cli", "vscode", "windsurf"] = option(
        "--client",
        "-c",
        default=MISSING,
        help="The MCP client; for claude-code and vscode a file in the current folder is written.",
    ),
    options: InstallOptions,
) -> None:
    """Add this memory to the configuration of an MCP client; the previous file is backed up."""
    from wellkept.cli.install import CLIENTS, Installed, entry, launcher, merge, merged

    chosen = CLIENTS[client]
    path = options.path if options.path is not None else chosen.path()
    value = entry(launcher(), _arguments(run, options.toolset), typed=chosen.typed)
    if options.show:
        run.show(
            Installed(path=str(path), server="wellkept", entry=value, change="printed"),
            lambda: [_json(merged({}, chosen.key, "wellkept", value))],
        )
        run.note(f"Put it into {path}")
        return
    done = merge(path, chosen.key, "wellkept", value)
    run.show(done, lambda: [_sentence(done)])
    if done.change != "unchanged":
        run.note(f"Restart {client} so that it reads its configuration")


def _arguments(run: Session, toolset: str) -> list[str]:
    """The options of the server: a client starts it in another directory, without the environment of this shell."""
    from wellkept.config import personal_file

    settings = run.settings
    arguments: list[str] = []
    if settings.origins["db"] != _DEFAULT:
        arguments += ["--db", settings.db if settings.file is None else str(settings.file.absolute())]
    if settings.policy_file:
        arguments += ["--policy", str(Path(settings.policy_file).absolute())]
    for key in _SAID_AS_TEXT:
        value: str = getattr(settings, key)
        if value and settings.origins[key] != _DEFAULT and not _stays(run, key):
            arguments += [f"--{key}", value]
    for key in ("embedder", "policy"):
        if _stays(run, key) and settings.origins[key] != str(personal_file()):  # read anyway
            run.note(f"The {key} of {settings.origins[key]} is not written; put it into your own config.toml")
    return arguments if toolset == "default" else [*arguments, "--toolset", toolset]


def _stays(run: Session, key: str) -> bool:
    """Whether a setting must be left out of the entry.

    An endpoint from a settings file of another person gets no API key, but would get one as an option. A policy
    written inside a settings file has no file of its own to name.
    """
    settings = run.settings
    match key:
        case "embedder":
            return run.given_option(key) is None and settings.embedder.strip().lower().startswith("http")
        case "policy":
            return settings.origins.get(key, _DEFAULT) != _DEFAULT and not settings.policy_file
        case _:
            return False


def _json(value: dict[str, Json]) -> str:
    import json

    return json.dumps(value, indent=2, ensure_ascii=False)


def _sentence(done: Installed) -> str:
    from wellkept.cli.terminal.safe import one_line

    path = one_line(done.path)
    match done.change:
        case "unchanged":
            return f"Nothing to do: {path} has this entry"
        case _:
            kept = f"; the previous file is kept as  {one_line(done.backup)}" if done.backup else ""
            return f"{done.change.capitalize()} {done.server} in {path}{kept}"
