"""`wellkept install`: register Wellkept in the configuration of an MCP client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from wellkept.cli.install.merge_settings import Installed
from wellkept.cli.terminal.groups import flag, option
from wellkept.cli.terminal.session import Session
from wellkept.frozen import frozen

if TYPE_CHECKING:
    from wellkept.cli.install import Client
    from wellkept.cli.install.merge_settings import Planned
    from wellkept.types.words import Json

_DEFAULT = "default"
_NAME = "wellkept"
_SAID_AS_TEXT = ("namespace", "embedder", "actor", "durability")


@frozen(kw_only=True)
class InstallOptions:
    """Options for the target and the entry."""

    show: bool = flag("--print", help="Only print the configuration; write nothing.")
    path: Path | None = option(metavar="FILE", help="The client's configuration file, if not the usual one.")
    toolset: Literal["default", "full"] = option(default="default", help="Set of tools offered to the agent.")
    hooks: bool = flag(
        "--hooks", help="For claude-code: also the hooks of sessions and the skill, in the current folder's .claude."
    )
    remove: bool = flag("--remove", help="Remove what an earlier call added; other entries stay.")


def install(
    run: Session,
    *,
    client: Literal["claude-code", "claude-desktop", "codex", "cursor", "gemini-cli", "vscode", "windsurf"] = option(
        "--client",
        "-c",
        default=MISSING,
        help="The MCP client; for claude-code and vscode a file in the current folder is written.",
    ),
    options: InstallOptions,
) -> None:
    """Add this memory to the configuration of an MCP client; the previous file is backed up."""
    from wellkept.cli.install import CLIENTS, entry, launcher

    chosen = CLIENTS[client]
    if options.hooks and client != "claude-code":
        raise typer.BadParameter("Only claude-code has hooks", param_hint="--hooks")
    if options.show and options.remove:
        raise typer.BadParameter("Give one of --print and --remove", param_hint="--print")
    path = options.path if options.path is not None else chosen.path()
    arguments = _arguments(run, options)
    value = entry(launcher(), arguments, typed=chosen.typed)
    if options.show:
        _print(run, chosen, path, value)
        return
    steps = [_server(chosen, path, None if options.remove else value)]
    if options.hooks:
        steps += _hooks(run, remove=options.remove)
    done = [step.done() for step in steps]  # all are worked out before the first is written
    first = {field: getattr(done[0], field) for field in Installed.__dataclass_fields__}
    more = {"hooks": done[1], "skill": done[2]} if options.hooks else {}
    run.show({**first, **more}, lambda: map(_sentence, done))
    if any(one.change != "unchanged" for one in done):
        run.note(f"Restart {client} so that it reads its configuration")


@frozen
class _Step:
    """One file to be changed: the change, and what it is called."""

    change: Planned
    server: str
    entry: Mapping[str, Json]
    word: str

    def done(self) -> Installed:
        """Make the change."""
        word = "unchanged" if self.change.after == self.change.before else self.word
        path = str(self.change.path)
        return Installed(path=path, server=self.server, entry=self.entry, change=word, backup=self.change.write())


def _server(client: Client, path: Path, value: Mapping[str, Json] | None) -> _Step:
    """The entry of the server; None to remove it."""
    from wellkept.cli.install.merge_settings import merged, planned, without
    from wellkept.cli.install.merge_toml import planned_toml
    from wellkept.parsing import parsed_json, parsed_toml

    if client.is_toml:
        change = planned_toml(path, client.key, _NAME, value)
    elif value is None:
        change = planned(path, lambda config: without(config, client.key, _NAME))
    else:
        change = planned(path, lambda config: merged(config, client.key, _NAME, value))
    parse = parsed_toml if client.is_toml else parsed_json

    def entry_in(text: bytes | None) -> Mapping[str, Json] | None:
        plain = (text or b"").decode("utf-8-sig")
        return parse(plain).get(client.key, {}).get(_NAME) if plain.strip() else None

    known = entry_in(change.before) is not None
    word = "removed" if value is None else "replaced" if known else "added"
    return _Step(change, _NAME, entry_in(change.after) or {}, word)


def _hooks(run: Session, *, remove: bool) -> list[_Step]:
    """The hooks in the settings of the current folder, and the skill."""
    from wellkept.cli.install import launcher
    from wellkept.cli.install.claude_code_hooks import PLUGIN, SETTINGS, SKILL, with_hooks, without_hooks
    from wellkept.cli.install.merge_settings import Planned, planned, read_settings

    command = [*launcher(), *_settings(run)]
    change = planned(Path.cwd() / SETTINGS, without_hooks if remove else lambda config: with_hooks(config, command))
    shipped = (PLUGIN / SKILL).read_bytes()
    path = Path.cwd() / ".claude" / SKILL
    before = read_settings(path)
    if remove and before is not None and before != shipped:
        run.note(f"{path} was changed by somebody and stays")
    after = (before if before != shipped else None) if remove else shipped
    word = "removed" if remove else "added"
    return [
        _Step(change, "hooks", {}, word),
        _Step(Planned(path=path, before=before, after=after), "skill", {}, word),
    ]


def _print(run: Session, client: Client, path: Path, value: Mapping[str, Json]) -> None:
    from wellkept.cli.install.merge_settings import merged
    from wellkept.cli.install.merge_toml import toml_of

    if client.is_toml:
        shown = toml_of(client.key, _NAME, value).rstrip()
    else:
        shown = _json(merged({}, client.key, _NAME, value))
    run.show(Installed(path=str(path), server=_NAME, entry=value, change="printed"), lambda: [shown])
    run.note(f"Put it into {path}")


def _arguments(run: Session, options: InstallOptions) -> list[str]:
    """The options of the server."""
    arguments = _settings(run, of_project=options.hooks)
    return arguments if options.toolset == "default" else [*arguments, "--toolset", options.toolset]


def _settings(run: Session, *, of_project: bool = True) -> list[str]:
    """The settings as options: a client starts programs in another directory, without the environment of this shell.

    Args:
        run: The command.
        of_project: Whether the options are for this project alone: its namespace is named, unless another is set.
    """
    from wellkept.config import OF_PROJECT, namespace_of_project, personal_file, project_folder

    settings = run.settings
    arguments: list[str] = []
    if settings.origins["db"] != _DEFAULT:
        arguments += ["--db", settings.db if settings.file is None else str(settings.file.absolute())]
    if settings.policy_file:
        arguments += ["--policy", str(Path(settings.policy_file).absolute())]
    for key in _SAID_AS_TEXT:
        value: str = getattr(settings, key)
        if value and settings.origins[key] != _DEFAULT and not _stays(run, key):
            is_any = run.given_option(key) == OF_PROJECT and not of_project
            arguments += [f"--{key}", OF_PROJECT if is_any else value]
    for key in ("embedder", "policy"):
        if _stays(run, key) and settings.origins[key] != str(personal_file()):  # read anyway
            run.note(f"The {key} of {settings.origins[key]} is not written; put it into your own config.toml")
    if of_project and settings.origins["namespace"] == _DEFAULT:
        arguments += ["--namespace", namespace_of_project(project_folder(Path.cwd()))]
    return arguments


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
            return f"Nothing to do: {path} {'has this entry' if done.entry or done.server != _NAME else 'has no entry'}"
        case "removed":
            return f"Removed {done.server} from {path}"
        case _:
            kept = f"; the previous file is kept as  {one_line(done.backup)}" if done.backup else ""
            return f"{done.change.capitalize()} {done.server} in {path}{kept}"
