"""Settings: the only reader of the environment and of configuration files.

The sources in order of precedence: a flag; `WELLKEPT_…` in the environment; the project's file in the
working directory (`wellkept.toml`, or `[tool.wellkept]` in `pyproject.toml`); the user's `config.toml`; the
default. An unusable value is an error that names file, key and allowed values; nothing is skipped
silently.

This module uses no settings library: such libraries merge the sources before they validate the values, so that
an error could not name the file of an invalid value.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from wellkept.errors import ConfigError, use_one_of
from wellkept.frozen import frozen
from wellkept.parsing import number_within, parsed_toml
from wellkept.policy import Policy

Durability: TypeAlias = Literal["full", "relaxed"]
Send: TypeAlias = Literal["loopback", "any"]
Daemon: TypeAlias = Literal["on", "off", "auto"]

APP = "wellkept"
PREFIX = "WELLKEPT_"
KEYS: tuple[str, ...] = ("db", "namespace", "embedder", "policy", "actor", "durability")
"""Settings allowed in every source: flag, environment, file."""
KILL_SWITCH = "consolidate_dry_run"
SWITCHES: tuple[str, ...] = ("auto_calibrate", KILL_SWITCH)
"""Boolean settings, allowed in the environment and in files."""
SEND = "ask_send"
"""Where the texts of questions may be sent; a file writes it as `send` in the table `[ask]`."""
UNFLAGGED: tuple[str, ...] = ("judge", "relation_model", "reranker", "summariser", SEND)
"""Text settings allowed in the environment and in files; no command has a flag for them."""
SECONDS: tuple[str, ...] = ("flush_after",)
"""Durations in seconds, allowed in the environment and in files; servers have a flag for them."""
SECRETS: Mapping[str, str] = {
    "embedder_key": "embedder",
    "judge_key": "judge",
    "summariser_key": "summariser",
    "answer_key": "",
    "token": "db",
}
"""Secrets, each with the setting that names the endpoint it is sent to; empty for an endpoint that only the command
line names. They are read from the environment only,
because files get copied, committed and shown."""
DAEMON = "daemon"
"""Whether commands are handed to a daemon. It is read from the environment only: the command line decides it before it
reads a file, which would take longer than what it saves."""
OF_PROJECT = "@project"
"""The namespace that stands for the one of the project in whose folder a command runs."""
FLUSH_AFTER = 300.0
"""Seconds without a queued write after which an agent is taken to be finished."""
MOST_SECONDS = 7 * 86_400.0
"""Upper bound of every duration, in seconds."""
_CHOICES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "durability": ("durability", get_args(Durability)),
    SEND: ("ask.send", get_args(Send)),
    DAEMON: ("daemon", get_args(Daemon)),
}
"""Settings of a few values: the name in messages, and the values."""
_PLACED = (*KEYS, *UNFLAGGED, *SWITCHES, *SECONDS)
_POLICY_KEYS = ("kinds", "packs", "max_content_chars", "conflict_days", "antonyms")
_PROJECT_FILE = "wellkept.toml"
_PYPROJECT = "pyproject.toml"
_VARIABLES = (*_PLACED, DAEMON, *SECRETS)
_FLAGS, _ENVIRONMENT, _DEFAULT = "flag", "environment", "default"
_ON, _OFF = "true", "false"


@frozen(kw_only=True)
class Settings:
    """The effective settings, and the source of each.

    Attributes:
        db: Path or address of the store.
        namespace: The isolation boundary; `@project` is replaced by the namespace of the project.
        embedder: `auto`, `minilm`, `hashing` or the URL of an endpoint.
        policy: The deduplication policy of each kind.
        policy_file: The file of the policy; empty for the default and for an inline policy.
        actor: Name of the caller, for the journal.
        durability: `full` or `relaxed`, for a SQLite store.
        auto_calibrate: Whether an embedder without a calibration is measured on first use.
        consolidate_dry_run: The kill switch: no plan is executed, not even on request. It is on when any
            source sets it, regardless of precedence.
        flush_after: Seconds after the last queued write of a session until a server flushes its queue; 0 turns
            this off.
        judge: `none`, `nli:PATH` or the URL of a chat endpoint.
        relation_model: `auto`, `packaged` (an error when it is missing) or `none` (rules only).
        reranker: `none` or `onnx:PATH`, a cross-encoder that reranks the best results of recall.
        summariser: `extractive` or the URL of a chat endpoint, for reflection.
        daemon: Whether short commands are handed to a daemon that runs (`on`), one is started for them (`auto`), or
            neither (`off`).
        ask_send: Where a model may be that answers questions: on this machine (`loopback`), or anywhere (`any`).
        embedder_key: API key of the embedding endpoint; from the environment, never shown.
        token: Access token for a database that requires one; from the environment, never shown.
        judge_key / summariser_key / answer_key: API keys of the endpoints of judge, summariser and answering model;
            likewise.
        origins: Setting to its source: flag, environment, a file, or default.
        files: The configuration files that were read.
    """

    db: str
    namespace: str = "default"
    embedder: str = "auto"
    policy: Policy = field(default_factory=Policy)
    policy_file: str = ""
    actor: str = ""
    durability: Durability = "full"
    auto_calibrate: bool = True
    consolidate_dry_run: bool = False
    flush_after: float = FLUSH_AFTER
    judge: str = "none"
    relation_model: str = "auto"
    reranker: str = "none"
    summariser: str = "extractive"
    ask_send: Send = "loopback"
    daemon: Daemon = "on"
    embedder_key: str = field(default="", repr=False)
    judge_key: str = field(default="", repr=False)
    summariser_key: str = field(default="", repr=False)
    answer_key: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    origins: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()

    @property
    def file(self) -> Path | None:
        """The file of the store; None for a store that is not in a file."""
        return store_file(self.db)


@frozen
class _Layer:
    """The settings of one source."""

    origin: str
    values: Mapping[str, str]
    policy: Policy | None = None
    policy_file: str = ""
    file: bool = False
    project: bool = False


def load(
    flags: Mapping[str, str | None] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """Read all sources and return the effective settings.

    Args:
        flags: Setting to its value on the command line; None when absent.
        environ: The environment; that of the process by default.
        folder: The folder of the project's file; the working directory by default.

    Raises:
        ConfigError: A file, key or value is invalid; the error names it and the allowed values.

    Example:
        >>> load({"db": "agent.db"}, environ={"WELLKEPT_NAMESPACE": "acme/alice"}).namespace
        'acme/alice'
    """
    set_by_flag = {key: value for key, value in (flags or {}).items() if value is not None}
    here = folder if folder is not None else Path.cwd()
    values, secrets = _environment(os.environ if environ is None else environ)
    layers = [
        _layer(_FLAGS, set_by_flag, base=Path()),
        _layer(_ENVIRONMENT, values, base=Path()),
        *_project(here),
        *_personal(),
    ]
    found = {key: layer for layer in reversed(layers) for key in layer.values}
    texts = {key: layer.values[key] for key, layer in found.items()}
    origins = {key: found[key].origin if key in found else _DEFAULT for key in (*_PLACED, DAEMON)}
    policy, policy_file = Policy(), ""
    for layer in reversed(layers):
        if layer.policy is not None:
            policy, policy_file, origins["policy"] = layer.policy, layer.policy_file, layer.origin
    held = _held(layers)
    if held is not None:
        origins[KILL_SWITCH] = held.origin
    for secret in secrets:
        _refuse_to_send(secret, found)
        origins[secret] = _ENVIRONMENT
    given: dict[str, Any] = {key: text for key, text in texts.items() if key not in (*SWITCHES, *SECONDS)}
    given |= secrets
    if "db" not in given:
        given["db"] = str(default_db())
    if given.get("namespace") == OF_PROJECT:
        given["namespace"] = namespace_of_project(project_folder(here))
    return Settings(
        **given,
        policy=policy,
        policy_file=policy_file,
        auto_calibrate=texts.get("auto_calibrate", _ON) == _ON,
        consolidate_dry_run=held is not None,
        flush_after=float(texts.get("flush_after", FLUSH_AFTER)),
        origins=origins,
        files=tuple(layer.origin for layer in layers if layer.file),
    )


def auto_calibrate(*, environ: Mapping[str, str] | None = None, folder: Path | None = None) -> bool:
    """Whether an embedder without a calibration may be sent the graded pairs.

    The library reads its other settings from arguments. This one restricts what is sent to an endpoint, so a
    refusal in a file or the environment applies to every program.

    Raises:
        ConfigError: The value or a configuration file is invalid.
    """
    given = (os.environ if environ is None else environ).get(PREFIX + "AUTO_CALIBRATE")
    if given:
        return _switch("auto_calibrate", given, _ENVIRONMENT) == _ON
    for layer in (*_project(folder if folder is not None else Path.cwd()), *_personal()):
        if "auto_calibrate" in layer.values:
            return layer.values["auto_calibrate"] == _ON
    return True


def consolidation_held(*, environ: Mapping[str, str] | None = None, folder: Path | None = None) -> str:
    """The source that forbids executing plans; empty when none does.

    Any source can set the switch, and no other source can clear it: a project's file cannot override the user's
    own file or the environment of a scheduler. The switch applies to every program, including users of the library.

    Raises:
        ConfigError: The value or a configuration file is invalid.

    Example:
        >>> consolidation_held(environ={"WELLKEPT_CONSOLIDATE_DRY_RUN": "1"})
        'consolidate_dry_run (environment)'
    """
    name = PREFIX + KILL_SWITCH.upper()
    given = (os.environ if environ is None else environ).get(name)
    here = folder if folder is not None else Path.cwd()
    own = [_layer(_ENVIRONMENT, {KILL_SWITCH: given}, base=Path())] if given else []
    held = _held([*own, *_project(here), *_personal()])
    return f"{KILL_SWITCH} ({held.origin})" if held is not None else ""


def _held(layers: Iterable[_Layer]) -> _Layer | None:
    return next((layer for layer in layers if layer.values.get(KILL_SWITCH) == _ON), None)


def calibration_folder() -> Path:
    """The folder of calibration tables measured on this machine."""
    from platformdirs import user_data_path

    return user_data_path(APP, appauthor=False) / "calibrations"


def default_db() -> Path:
    """The default path of the store."""
    from platformdirs import user_data_path

    return user_data_path(APP, appauthor=False) / "wellkept.db"


def hook_log() -> Path:
    """The file in which hooks note what they took in."""
    from platformdirs import user_data_path

    return user_data_path(APP, appauthor=False) / "hooks.log"


def extraction_folder() -> Path:
    """The folder of what models have extracted, so that no passage is sent twice."""
    from platformdirs import user_cache_path

    return user_cache_path(APP, appauthor=False) / "extracted"


def project_folder(folder: Path, *, environ: Mapping[str, str] | None = None) -> Path:
    """The folder of a project: where its version control begins, else what the agent names, else the folder itself.

    All working trees of a git repository are one project.
    """
    named = (os.environ if environ is None else environ).get("CLAUDE_PROJECT_DIR", "")
    inside = Path(named) if named and Path(named).is_dir() else folder
    for above in (inside.resolve(), *inside.resolve().parents):
        mark = above / ".git"
        if mark.is_dir():
            return above
        if mark.is_file():
            return _main_tree(mark) or above
    return inside.resolve()


def namespace_of_project(folder: Path) -> str:
    """The namespace of a project: its name, and a hash of its path, so that two of one name stay apart.

    Example:
        >>> namespace_of_project(Path("/home/ada/web shop"))
        'project/web-shop-7dcb9958'
    """
    name = re.sub(r"[^\w.]+", "-", folder.name).strip("-")[:60] or "root"
    return f"project/{name}-{hashlib.blake2b(os.fsencode(folder), digest_size=4).hexdigest()}"


def personal_file() -> Path:
    """The user's own configuration file."""
    from platformdirs import user_config_path

    return user_config_path(APP, appauthor=False) / "config.toml"


def store_file(db: str) -> Path | None:
    """The file of a path or of `sqlite:///path`; None for any other address.

    Example:
        >>> store_file("sqlite:///agent.db").name, store_file("memory:")
        ('agent.db', None)
    """
    scheme, mark, rest = db.partition("://")
    if db == "memory:" or mark and scheme != "sqlite":
        return None
    return Path(rest.removeprefix("/") if mark else db)


def is_server(db: str) -> bool:
    """Whether an address names a database on a server.

    Example:
        >>> is_server("postgresql://127.0.0.1/memory"), is_server("agent.db")
        (True, False)
    """
    return db.startswith(("postgresql://", "postgres://"))


def table_of_places(db: str) -> Path | None:
    """The file that says which of several databases a namespace lives in; None for any other address.

    Example:
        >>> table_of_places("placement:///srv/places.toml").name, table_of_places("agent.db")
        ('places.toml', None)
    """
    head, mark, path = db.partition("placement://")
    return Path(path) if mark and not head and path else None


# --------------------------------------------------------------------------------------------
# Sources


def _main_tree(mark: Path) -> Path | None:
    """The main tree of a git working tree, whose `.git` is a file; None for a submodule and what cannot be read."""
    try:
        with mark.open(encoding="utf-8") as file:
            told = file.read(4_096)
    except (OSError, UnicodeDecodeError):
        return None
    inside = Path(told.removeprefix("gitdir:").strip())
    is_tree = inside.is_absolute() and inside.parent.name == "worktrees" and inside.parent.parent.name == ".git"
    return inside.parent.parent.parent if is_tree else None


def _refuse_to_send(secret: str, found: Mapping[str, _Layer]) -> None:
    """Prevent a settings file of another person from choosing the endpoint that receives a key."""
    key = SECRETS[secret]
    if (
        key in found
        and found[key].project
        and found[key].values[key].strip().lower().startswith(("http", "postgres", "placement"))
    ):
        raise ConfigError(
            "an endpoint named by a project's file gets no key",
            where=f"{found[key].origin}, {key}",
            todo=f"Name the endpoint in {PREFIX}{key.upper()} or in your own config.toml",
        )


def _environment(environ: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    values = {}
    for name, value in environ.items():
        if not name.startswith(PREFIX) or not value:
            continue  # an empty variable counts as unset
        key = name.removeprefix(PREFIX).lower()
        if key not in _VARIABLES:
            allowed = [PREFIX + known.upper() for known in _VARIABLES]
            raise ConfigError(f"unknown setting {name}", where=_ENVIRONMENT, todo=use_one_of(name, allowed))
        values[key] = value
    return values, {secret: values.pop(secret) for secret in SECRETS if secret in values}


def _project(folder: Path) -> list[_Layer]:
    own = folder / _PROJECT_FILE
    text = _read(own)
    if text is not None:
        return [_from_file(_toml(text, own), own, shown=_PROJECT_FILE, project=True)]
    shared = folder / _PYPROJECT
    text = _read(shared)
    if text is None or APP not in text:  # a broken file of an unrelated project is no error of Wellkept
        return []
    table = _toml(text, shared).get("tool", {})
    ours = table.get(APP) if isinstance(table, Mapping) else None
    if ours is None:
        return []
    shown = f"{_PYPROJECT} [tool.{APP}]"
    if not isinstance(ours, Mapping):
        raise ConfigError("must be a table", where=shown, todo=f"Write [tool.{APP}]")
    return [_from_file(ours, shared, shown=shown, project=True)]


def _personal() -> list[_Layer]:
    file = personal_file()
    text = _read(file)
    return [] if text is None else [_from_file(_toml(text, file), file, shown=str(file))]


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=str(file), todo="Check the path") from error
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8", where=str(file), todo="Save it as UTF-8") from error


@lru_cache(maxsize=4)  # a process that opens many stores finds the same text each time
def _toml(text: str, file: Path) -> Mapping[str, Any]:
    return parsed_toml(text, where=str(file), error=ConfigError)


def _from_file(data: Mapping[str, Any], file: Path, *, shown: str, project: bool = False) -> _Layer:
    allowed = (*_PLACED, "[policy]", "[kinds.NAME]", *_POLICY_KEYS[1:])
    for key in data:
        if key in (*SECRETS, DAEMON, "api_key"):
            instead = "embedder_key" if key == "api_key" else key
            raise ConfigError(
                f"{key} must not be set in a file", where=shown, todo=f"Set {PREFIX}{instead.upper()} instead"
            )
        if key not in (*_PLACED, *_POLICY_KEYS, "ask"):
            raise ConfigError(f"unknown setting {key!r}", where=shown, todo=use_one_of(key, allowed))
    if "ask" in data:
        data = {**{key: value for key, value in data.items() if key != "ask"}, SEND: _ask(data["ask"], shown)}
    inline = _inline_policy(data, shown)
    values = {key: data[key] for key in KEYS if key in data and not (key == "policy" and inline is not None)}
    values |= {key: data[key] for key in _PLACED if key in data and key not in KEYS}
    layer = _layer(shown, values, base=file.parent)
    if project and layer.values.get(SEND) == "any":
        raise ConfigError(
            "a project's file must not let texts leave this machine",
            where=f"{shown}, ask.send",
            todo=f"Set it in your own config.toml or in {PREFIX}{SEND.upper()}",
        )
    return replace(layer, policy=layer.policy if inline is None else inline, file=True, project=project)


def _layer(origin: str, values: Mapping[str, Any], *, base: Path) -> _Layer:
    """Checked values; paths are relative to the source that contains them."""
    values = {key: _checked(key, value, origin) for key, value in values.items()}
    for key, value in values.items():
        if not isinstance(value, str):
            found = type(value).__name__
            raise ConfigError(f"{key} must be text, not {found}", where=origin, todo=f'Write {key} = "…"')
        if not value.strip() and key != "actor":
            raise ConfigError(f"{key} is empty", where=origin, todo="Remove it, or give it a value")
    texts = {key: value for key, value in values.items() if key != "policy"}
    if "db" in texts and "://" not in texts["db"] and texts["db"] != "memory:":
        texts["db"] = str(base / Path(texts["db"]).expanduser())
    for key, prefix in (("judge", "nli:"), ("reranker", "onnx:")):
        if texts.get(key, "").lower().startswith(prefix):
            texts[key] = prefix + str(base / Path(texts[key][len(prefix) :]).expanduser())
    for key, (shown, allowed) in _CHOICES.items():
        if key in texts and texts[key] not in allowed:
            todo = use_one_of(texts[key], allowed)
            raise ConfigError(f"{shown} {texts[key]!r} is not allowed", where=origin, todo=todo)
    if "policy" not in values:
        return _Layer(origin, texts)
    file = base / Path(values["policy"]).expanduser()
    text = _read(file)
    if text is None:
        raise ConfigError("there is no such policy file", where=str(file), todo=f"Correct `policy` ({origin})")
    return _Layer(origin, texts, Policy.from_toml(text, origin=str(file)), str(file))


def _ask(table: object, shown: str) -> object:
    """The one setting of the table `[ask]`."""
    if not isinstance(table, Mapping) or set(table) != {"send"}:
        todo = "`[ask]` holds only `send`; how many questions are asked stands in `[policy]`"
        raise ConfigError("ask is no table with the key `send`", where=shown, todo=todo)
    return table["send"]


def _checked(key: str, value: object, origin: str) -> object:
    if key in SWITCHES:
        return _switch(key, value, origin)
    return _seconds(key, value, origin) if key in SECONDS else value


def _seconds(key: str, value: object, origin: str) -> str:
    """A duration as text; files contain numbers, the environment only texts."""
    said = value if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    seconds = number_within(said, 0.0, MOST_SECONDS)
    if seconds is not None:
        return str(seconds)
    most = f"{MOST_SECONDS:.0f}"
    raise ConfigError(f"{key} must be seconds, 0 to {most}", where=origin, todo=f"Write {key} = 300")


def _switch(key: str, value: object, origin: str) -> str:
    """A switch as `on` or `off`; files contain booleans, the environment only texts."""
    word = str(value).strip().lower() if isinstance(value, str | bool) else ""
    if word in ("true", "1", "yes", "on"):
        return _ON
    if word in ("false", "0", "no", "off"):
        return _OFF
    raise ConfigError(f"{key} must be true or false", where=origin, todo=f"Write {key} = false")


# --------------------------------------------------------------------------------------------
# A policy inside the settings file


def _inline_policy(data: Mapping[str, Any], shown: str) -> Policy | None:
    given = data.get("policy", {})
    beside = {key: data[key] for key in _POLICY_KEYS if key in data}
    if not isinstance(given, Mapping):
        if beside:
            raise ConfigError(
                f"names a policy file and also sets {', '.join(beside)}",
                where=shown,
                todo="Move it into the policy file, or remove `policy`",
            )
        return None
    twice = sorted(set(given) & set(beside))
    if twice:
        raise ConfigError(
            f"sets {twice[0]} twice", where=shown, todo="Set it in [policy] or at the top level, not both"
        )
    if not given and not beside:
        return None
    # Quoted keys keep an error from reporting a line number of the real file.
    lines = [f"'{key}' = {_toml_value(value)}" for key, value in {**given, **beside}.items()]
    return Policy.from_toml("\n".join(lines), origin=shown)


def _toml_value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case list():
            return f"[{', '.join(_toml_value(item) for item in value)}]"
        case Mapping():
            return (
                "{"
                + ", ".join(
                    f"{json.dumps(key, ensure_ascii=False)} = {_toml_value(item)}" for key, item in value.items()
                )
                + "}"
            )
        case _:
            return json.dumps(str(value), ensure_ascii=False)
