"""Wellkept: the long-term memory of an AI agent that keeps itself clean.

`wellkept.open` gives a `MemoryStore`; its `remember` decides in one transaction whether a text is
new, known, an update or in conflict, says why, and can be taken back. Heavy parts load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wellkept.errors import WellkeptError
from wellkept.policy import Band, Decay, KindPolicy, Policy
from wellkept.types import (
    BatchResult,
    Conflict,
    ExpandSpec,
    Filter,
    Graph,
    Hit,
    Hits,
    HybridWeights,
    ImportReport,
    JournalEntry,
    Link,
    Match,
    Memory,
    Neighbour,
    NewMemory,
    Plan,
    Reason,
    RunReport,
    Scope,
    Stats,
    UndoReport,
    Version,
    WriteResult,
)

if TYPE_CHECKING:
    from typing import Unpack

    from wellkept.core.evidence import ContradictionFn
    from wellkept.core.reflection import Reflection
    from wellkept.core.rules import DEFAULT_RULES, Consolidation, Rule, When, rules_from_toml
    from wellkept.core.upkeep_rules import Aging, DecayReport
    from wellkept.engine.context import Seams
    from wellkept.engine.scale import Scale
    from wellkept.engine.store import MemoryStore
    from wellkept.engine.transfer import ImportSpec
    from wellkept.models.port import Embedder, Judge, RelationModel
    from wellkept.storage.port import Storage
    from wellkept.types.replay import ReplayReport

__version__ = "0.1.0"

__all__ = [
    "Aging",
    "Band",
    "BatchResult",
    "Conflict",
    "Consolidation",
    "DEFAULT_RULES",
    "Decay",
    "DecayReport",
    "ExpandSpec",
    "Filter",
    "Graph",
    "Hit",
    "Hits",
    "HybridWeights",
    "ImportReport",
    "ImportSpec",
    "JournalEntry",
    "KindPolicy",
    "Link",
    "Match",
    "Memory",
    "MemoryStore",
    "Neighbour",
    "NewMemory",
    "Plan",
    "Policy",
    "Reason",
    "Reflection",
    "ReplayReport",
    "Rule",
    "RunReport",
    "Scope",
    "Stats",
    "UndoReport",
    "Version",
    "WellkeptError",
    "When",
    "WriteResult",
    "open",
    "rules_from_toml",
]

_LAZY = {
    "Aging": "wellkept.core.upkeep_rules",
    "Consolidation": "wellkept.core.rules",
    "DEFAULT_RULES": "wellkept.core.rules",
    "DecayReport": "wellkept.core.upkeep_rules",
    "ImportSpec": "wellkept.engine.transfer",
    "MemoryStore": "wellkept.engine.store",
    "Reflection": "wellkept.core.reflection",
    "ReplayReport": "wellkept.types.replay",
    "Rule": "wellkept.core.rules",
    "When": "wellkept.core.rules",
    "rules_from_toml": "wellkept.core.rules",
}


def open(
    url: str | Storage,
    *,
    policy: Policy | None = None,
    embedder: str | Embedder | None = None,
    relation_model: str | RelationModel | None = None,
    namespace: str = "default",
    actor: str = "",
    contradiction_fn: ContradictionFn | None = None,
    judge: str | Judge | None = None,
    **seams: Unpack[Seams],
) -> MemoryStore:
    """Open a store, making it if it does not exist; the one place that chooses backend and embedder.

    Args:
        url: A path or `sqlite:///path` for a file, `memory:` for a store that ends with the process,
            or a `Storage` of one's own.
        policy: What the gate does with each kind; the default policy otherwise.
        embedder: `minilm`, `hashing`, the URL of an OpenAI-compatible endpoint, or an `Embedder`;
            by default MiniLM, or the hashing fallback (marked `degraded`) where it cannot be loaded.
        relation_model: Reads the pairs that rules leave open: `auto` (the default: the packaged one, or
            rules alone, marked `degraded`, where it cannot be loaded), `packaged` (an error where it
            cannot), `none` for rules alone, or a `RelationModel`.
        namespace: The isolation boundary, a path such as `acme/alice/coder`.
        actor: Who acts, for the journal.
        contradiction_fn: A judge of one's own, asked where the rules find no contradiction (S2-24).
        judge: A second opinion that adds possible conflicts to review and does nothing else: `nli:PATH`,
            the URL of a chat endpoint, or a `Judge`; none by default. A write waits at most 5 s for it.
        **seams: For tests: `clock` gives the time, in aware UTC values; `new_id` makes ids.

    Raises:
        StorageError: The store cannot be opened; says what to do. Never another backend instead.
        EmbedderMismatch: The store's vectors come from another embedder.
        ModelError: The embedder asked for cannot be loaded.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     store.remember("Use ruff for linting.").outcome
        'created'
    """
    from wellkept.engine.context import Context, Uuid7, utc_now
    from wellkept.engine.inputs import check_namespace, label
    from wellkept.engine.store import MemoryStore
    from wellkept.engine.upkeep import require_embedder
    from wellkept.models.judges.timeboxed import timeboxed
    from wellkept.models.registry import load_embedder, load_judge, load_relation_model

    named = check_namespace(namespace)
    by = label("actor", actor)
    model = load_embedder(embedder) if embedder is None or isinstance(embedder, str) else embedder
    reader: RelationModel | None
    if relation_model is None or isinstance(relation_model, str):
        reader = load_relation_model(relation_model)
    else:
        reader = relation_model
    second = load_judge(judge) if judge is None or isinstance(judge, str) else judge
    scale = _scale(model)
    storage = _storage(url) if isinstance(url, str) else url
    ctx = Context(
        storage=storage,
        embedder=model,
        scale=scale,
        policy=policy if policy is not None else Policy(),
        namespace=named,
        actor=by,
        clock=seams.get("clock") or utc_now,
        new_id=seams.get("new_id") or Uuid7(),
        contradiction_fn=contradiction_fn,
        relation_model=reader,
        judge=timeboxed(second) if second is not None else None,
        held=_held,
    )
    try:
        require_embedder(ctx)
    except WellkeptError:
        if isinstance(url, str):
            storage.close()
        raise
    return MemoryStore(ctx)


def _held() -> str:
    """Why no plan may be executed; settings are read only when one is (S1-52)."""
    from wellkept.config import consolidation_held

    return consolidation_held()


def _scale(embedder: Embedder) -> Scale:
    """The embedder's own table, or for one that nobody has measured the table kept on this machine (B-30)."""
    from wellkept.core.calibration import UNCALIBRATED
    from wellkept.engine.scale import Scale

    if embedder.calibration is not UNCALIBRATED:
        return Scale(embedder)
    from wellkept.config import auto_calibrate, calibration_folder
    from wellkept.models.tables import KeptTables, Tables

    return Scale(embedder, KeptTables(Tables(calibration_folder())), automatic=auto_calibrate())


def _storage(url: str) -> Storage:
    from wellkept.errors import UnknownBackend

    scheme, mark, rest = url.partition("://")
    if url == "memory:":
        from wellkept.storage.memory import DictStorage

        return DictStorage()
    if mark and scheme != "sqlite":
        raise UnknownBackend(
            f"no backend serves {scheme!r}", where=scheme + "://", todo="Use a path, sqlite:///path or memory:"
        )
    from wellkept.storage.sqlite import SqliteStorage

    return SqliteStorage(rest.removeprefix("/") if mark and not rest.startswith("//") else rest[1:] if mark else url)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'wellkept' has no attribute {name!r}")
