"""The hooks of Claude Code: what stands in its settings for them, added and removed without touching anybody else's."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from wellkept.cli.install.merge_settings import BY_HAND, table_in
from wellkept.errors import ConfigError

PLUGIN = Path(__file__).with_name("claude_code_plugin")
"""The plugin: the same hooks, skill and server for every project."""
SETTINGS = Path(".claude/settings.local.json")
"""The settings of one person in one project; they are not shared, and neither is the path of an installation."""
SKILL = Path("skills/wellkept/SKILL.md")
_SECONDS = 10
_EVENTS: Mapping[str, tuple[str, str]] = {
    "SessionStart": ("session-start", "startup|clear|compact"),
    "PreCompact": ("pre-compact", ""),
    "SessionEnd": ("session-end", ""),
}
"""Event to the command and the matcher. A session that is resumed still has what it was given."""
_NAMES = ("wellkept", "wellkept.exe")
_MODULE = ["-m", "wellkept.cli"]


def with_hooks(config: Mapping[str, Any], command: Sequence[str]) -> dict[str, Any]:
    """A copy of the settings with our hooks, each once; nothing else differs.

    Args:
        config: The settings.
        command: The program, with its options.

    Raises:
        ConfigError: The hooks are no object of lists.

    Example:
        >>> found = with_hooks({"model": "m"}, ["wellkept"])
        >>> found["hooks"]["SessionEnd"]
        [{'hooks': [{'type': 'command', 'command': 'wellkept hook session-end', 'timeout': 10}]}]
    """
    before = table_in(config, "hooks")
    hooks = {event: _others(before, event) for event in before}
    for event, (name, matcher) in _EVENTS.items():
        call = {"type": "command", "command": shlex.join([*command, "hook", name]), "timeout": _SECONDS}
        group = {**({"matcher": matcher} if matcher else {}), "hooks": [call]}
        at = next((at for at, one in enumerate(before.get(event, [])) if _is_only_ours(one)), None)
        groups = hooks.setdefault(event, [])
        groups.insert(len(groups) if at is None else min(at, len(groups)), group)
    return {**config, "hooks": hooks}


def without_hooks(config: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the settings without our hooks, and without what only held them.

    Raises:
        ConfigError: The hooks are no object of lists.

    Example:
        >>> without_hooks(with_hooks({"model": "m"}, ["wellkept"]))
        {'model': 'm'}
    """
    before = table_in(config, "hooks")
    after = {event: _others(before, event) for event in before}
    left = {event: groups for event, groups in after.items() if groups or groups == before[event]}
    if left == before:
        return dict(config)
    return {**config, "hooks": left} if left else {key: value for key, value in config.items() if key != "hooks"}


def _others(hooks: Mapping[str, Any], event: str) -> list[Any]:
    """The groups of an event without our hooks; a group that held only ours is left out."""
    groups = hooks[event]
    if not isinstance(groups, list):
        raise ConfigError(f"hooks.{event} is not a list", where=f"hooks.{event}", todo=BY_HAND)
    kept = []
    for group in groups:
        calls = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(calls, list) or not any(map(_is_ours, calls)):
            kept.append(group)
        elif others := [call for call in calls if not _is_ours(call)]:
            kept.append({**group, "hooks": others})
    return kept


def _is_only_ours(group: object) -> bool:
    calls = group.get("hooks") if isinstance(group, dict) else None
    return isinstance(calls, list) and bool(calls) and all(map(_is_ours, calls))


def _is_ours(call: object) -> bool:
    """Whether a call runs this program, with options before a hook and nothing else."""
    command = call.get("command") if isinstance(call, dict) else None
    try:
        program, *words = shlex.split(command) if isinstance(command, str) else ("",)
    except ValueError:  # no words at all, or a quotation that does not end
        return False
    if words[:2] == _MODULE:
        options = words[2:-2]
    elif PurePath(program).name in _NAMES:
        options = words[:-2]
    else:
        return False
    is_hook = words[-2:-1] == ["hook"] and words[-1] in (name for name, _ in _EVENTS.values())
    return is_hook and all(word.startswith("--") for word in options[::2])
