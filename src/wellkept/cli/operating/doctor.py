"""`wellkept doctor`: installed packages, embedder, state of the store, and effective settings.

No store is created. Each part is examined separately, so that an error in one does not hide the others.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import wellkept
from wellkept.cli.operating.findings import Finding, failed, findings_of
from wellkept.cli.operating.moving_commands import shown as shown_address
from wellkept.cli.terminal import exits, render
from wellkept.cli.terminal.session import Session
from wellkept.config import Settings
from wellkept.errors import WellkeptError

if TYPE_CHECKING:
    from rich.console import RenderableType

PACKAGES = ("numpy", "onnxruntime", "rapidfuzz", "httpx2", "typer", "rich")
OLDEST_SQLITE = (3, 40)


def doctor(run: Session) -> int:
    """Show the installed packages, the embedder, the state of the store, and the effective settings."""
    with run.busy("Looking"):
        findings = list(_findings(run))
    worst = "fail" if any(item.health == "fail" for item in findings) else "ok"
    run.show({"findings": findings, "ok": worst == "ok"}, lambda: [_table(findings)])
    return exits.FINDINGS if worst == "fail" else exits.OK


def _findings(run: Session) -> Iterator[Finding]:
    from wellkept.cli.operating.store_findings import of_the_store  # the engine, which no other command should load

    yield Finding("wellkept", "ok", wellkept.__version__)
    yield Finding("python", "ok", f"{platform.python_version()} on {platform.system()}")
    yield from _packages()
    yield from findings_of("sqlite", _sqlite)
    try:
        settings = run.settings
    except WellkeptError as error:
        yield failed("settings", error)
        return
    yield from _settings(settings)
    yield from findings_of("embedder", lambda: _embedder(settings))
    yield from findings_of("relation model", lambda: _relation_model(settings))
    yield from findings_of("store", lambda: of_the_store(run, settings))


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
        yield Finding("full text", "fail", "this SQLite has no FTS5", "Use a Python whose SQLite includes it")


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
        "summariser": _without_secrets(settings.summariser),
        "ask_send": settings.ask_send,
        "daemon": settings.daemon,
        "flush_after": f"{settings.flush_after:g} s",
    }
    for key, value in shown.items():
        yield Finding(key, "ok", f"{value}  [{settings.origins[key]}]")
    for key in ("embedder_key", "judge_key", "summariser_key", "answer_key"):
        if getattr(settings, key):
            yield Finding(key.replace("_", " "), "ok", f"is set  [{settings.origins[key]}]")
    yield Finding("settings read", "ok", ", ".join(settings.files) or "no file")


def _relation_model(settings: Settings) -> Iterator[Finding]:
    from wellkept.models.port import SecondReading
    from wellkept.models.registry import load_relation_model

    if settings.relation_model == "none":
        yield Finding("relation model", "warn", "none: decisions use rules only", "Set relation_model to auto")
        return
    started = time.perf_counter()
    model = load_relation_model("packaged")
    if isinstance(model, SecondReading) and settings.policy.second_reader != "off":
        model = model.with_second_reader()
    pairs = [("The light is on.", "The light is off."), ("Das Licht ist an.", "Das Licht ist aus.")]  # a network each
    opinions = model.read(pairs) if model is not None else []
    took = (time.perf_counter() - started) * 1000
    name = opinions[0].model if opinions and opinions[0] is not None else "?"
    yield Finding("relation model", "ok", f"{name}, loaded and answered in {took:.0f} ms")


def _embedder(settings: Settings) -> Iterator[Finding]:
    from wellkept.cli.terminal.opening import configured_embedder

    started = time.perf_counter()
    embedder = configured_embedder(settings)
    answer, _ = embedder.embed(["Is anybody there?", "Ist jemand zu Hause?"])
    took = (time.perf_counter() - started) * 1000
    facts = f"{embedder.id}, {embedder.dim} dimensions, loaded and answered in {took:.0f} ms"
    if answer.vector is None:
        yield Finding(
            "model", "fail", f"{embedder.id} cannot read an English sentence", "Choose another with --embedder"
        )
    elif embedder.lexical and settings.embedder != "hashing":
        yield Finding(
            "model", "warn", f"{facts}; it compares spelling, not meaning",
            "Reinstall wellkept: the weights of its embedder are missing or damaged",
        )  # fmt: skip
    else:
        yield Finding("model", "ok", facts)


def _without_secrets(embedder: str) -> str:
    """The address of an endpoint without possible passwords."""
    if "://" not in embedder:
        return embedder
    parts = urlsplit(embedder)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def _table(findings: list[Finding]) -> RenderableType:
    rows = [(item.health, item.topic, item.what, item.todo) for item in findings]
    return render.rows_of(("", "topic", "what", "todo"), rows)
