"""Wellkept: the long-term memory of an AI agent that keeps itself clean.

`wellkept.open` gives a `MemoryStore`; its `remember` decides in one transaction whether a text is
new, known, an update or in conflict, says why, and can be taken back. Heavy parts load on first use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what `typing` has under this name; importing it would be most of what this module costs
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any, TypeVar, Unpack

    from wellkept.core.consolidation.reflection import Reflection
    from wellkept.core.consolidation.rules import DEFAULT_RULES, Consolidation, Rule, When, rules_from_toml
    from wellkept.core.consolidation.upkeep_rules import Aging, DecayReport
    from wellkept.core.judging.evidence import ContradictionFn
    from wellkept.core.recall.safe_blocks import decisions_block
    from wellkept.engine.base.context import Context, MoreOptions, OpenOptions
    from wellkept.engine.base.queue_ledger import Ledger
    from wellkept.engine.models.scale import Scale
    from wellkept.engine.transfer.import_lines import ImportSpec
    from wellkept.engine.verbs.asynchronous import AsyncMemoryStore
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.errors import WellkeptError
    from wellkept.models.port import Embedder, Judge, RelationModel, Reranker
    from wellkept.policy import Band, Decay, KindPolicy, Policy
    from wellkept.storage.port import Storage
    from wellkept.types import (
        BatchResult,
        Conflict,
        ExpandSpec,
        Filter,
        Graph,
        Group,
        Hit,
        Hits,
        HybridWeights,
        ImportReport,
        JournalEntry,
        LeftOut,
        Link,
        Match,
        Memory,
        Neighbour,
        NewMemory,
        Pack,
        PackSpec,
        Plan,
        Reason,
        RunReport,
        Scope,
        Stats,
        UndoReport,
        Version,
        WriteResult,
    )
    from wellkept.types.replay import ReplayReport

    _T = TypeVar("_T")
    _U = TypeVar("_U")

__version__ = "0.1.0"

__all__ = [
    "Aging",
    "AsyncMemoryStore",
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
    "Group",
    "Hit",
    "Hits",
    "HybridWeights",
    "ImportReport",
    "ImportSpec",
    "JournalEntry",
    "KindPolicy",
    "LeftOut",
    "Link",
    "Match",
    "Memory",
    "MemoryStore",
    "Neighbour",
    "NewMemory",
    "Pack",
    "PackSpec",
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
    "decisions_block",
    "open",
    "open_async",
    "rules_from_toml",
]

_LAZY = {
    "Aging": "wellkept.core.consolidation.upkeep_rules",
    "AsyncMemoryStore": "wellkept.engine.verbs.asynchronous",
    "Band": "wellkept.policy",
    "BatchResult": "wellkept.types",
    "Conflict": "wellkept.types",
    "Consolidation": "wellkept.core.consolidation.rules",
    "DEFAULT_RULES": "wellkept.core.consolidation.rules",
    "Decay": "wellkept.policy",
    "DecayReport": "wellkept.core.consolidation.upkeep_rules",
    "ExpandSpec": "wellkept.types",
    "Filter": "wellkept.types",
    "Graph": "wellkept.types",
    "Group": "wellkept.types",
    "Hit": "wellkept.types",
    "Hits": "wellkept.types",
    "HybridWeights": "wellkept.types",
    "ImportReport": "wellkept.types",
    "ImportSpec": "wellkept.engine.transfer.import_lines",
    "JournalEntry": "wellkept.types",
    "KindPolicy": "wellkept.policy",
    "LeftOut": "wellkept.types",
    "Link": "wellkept.types",
    "Match": "wellkept.types",
    "Memory": "wellkept.types",
    "MemoryStore": "wellkept.engine.verbs.store",
    "Neighbour": "wellkept.types",
    "NewMemory": "wellkept.types",
    "Pack": "wellkept.types",
    "PackSpec": "wellkept.types",
    "Plan": "wellkept.types",
    "Policy": "wellkept.policy",
    "Reason": "wellkept.types",
    "Reflection": "wellkept.core.consolidation.reflection",
    "ReplayReport": "wellkept.types.replay",
    "Rule": "wellkept.core.consolidation.rules",
    "RunReport": "wellkept.types",
    "Scope": "wellkept.types",
    "Stats": "wellkept.types",
    "UndoReport": "wellkept.types",
    "Version": "wellkept.types",
    "WellkeptError": "wellkept.errors",
    "When": "wellkept.core.consolidation.rules",
    "WriteResult": "wellkept.types",
    "decisions_block": "wellkept.core.recall.safe_blocks",
    "rules_from_toml": "wellkept.core.consolidation.rules",
}
_MODULES = ("errors", "policy", "types")
"""What `import wellkept` is enough for."""


def open(
    url: str | Path | Storage,
    *,
    policy: Policy | None = None,
    embedder: str | Embedder | None = None,
    relation_model: str | RelationModel | None = None,
    namespace: str = "default",
    actor: str = "",
    contradiction_fn: ContradictionFn | None = None,
    judge: str | Judge | None = None,
    **more: Unpack[MoreOptions],
) -> MemoryStore:
    """Open a store, making it if it does not exist; the one place that chooses backend and embedder.

    Args:
        url: A path (text or `Path`) or `sqlite:///path` for a file, `postgresql://user@host:port/name` for a
            database on a server, `placement:///path/places.toml` for several of them, `memory:` for a store that
            ends with the process, or your own `Storage`.
        policy: What the gate does with each kind; the default policy otherwise.
        embedder: `minilm`, `hashing`, the URL of an OpenAI-compatible endpoint, or an `Embedder`;
            by default MiniLM, or the hashing fallback (marked `degraded`) where it cannot be loaded.
        relation_model: Reads what rules leave open: `auto` (the default: the packaged one, or rules alone, marked
            `degraded`, where it cannot be loaded), `packaged` (or an error), `none`, or a `RelationModel`.
        namespace: The isolation boundary, a path such as `acme/alice/coder`.
        actor: Who acts, for the journal.
        contradiction_fn: Your own judge, asked wherever the rules find no contradiction; `remember`
            and `check` take one for a single call too.
        judge: A second opinion that adds possible conflicts to review and does nothing else: `nli:PATH`,
            the URL of a chat endpoint, or a `Judge`; none by default. A write waits at most 5 s for it.
        **more: `hybrid_weights` (a value or a name) is how `recall` ranks when a call names no mode.
            `token` is the secret for a database on a server that shows nothing without one.
            `reranker`, `onnx:PATH` or a `Reranker`, puts its best answers in order; none by default, and
            waited for 2 s. For tests, `clock` gives the time, in aware UTC values, and `new_id` makes ids.

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
    from wellkept.engine.base.context import Context, Uuid7, utc_now
    from wellkept.engine.base.inputs import check_namespace, label
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.models.registry import load_embedder, load_judge, load_relation_model
    from wellkept.policy import Policy

    named, by = check_namespace(namespace), label("actor", actor)
    model = _given(embedder, load_embedder)
    reader, second = _given(relation_model, load_relation_model), _given(judge, load_judge)
    weights, reranker = _ranking(more)
    scale = _scale(model)
    storage, ledger = _kept(url, more.get("token", ""))  # last: what fails before leaves no file open
    ctx = Context(
        storage=storage,
        ledger=ledger,
        embedder=model,
        scale=scale,
        policy=policy if policy is not None else Policy(),
        namespace=named,
        actor=by,
        clock=more.get("clock") or utc_now,
        new_id=more.get("new_id") or Uuid7(),
        contradiction_fn=contradiction_fn,
        relation_model=reader,
        judge=_timeboxed(second) if second is not None else None,
        held=_held,
        hybrid_weights=weights,
        reranker=reranker,
    )
    _make_ready(ctx, ours=storage is not url)
    return MemoryStore(ctx)


async def open_async(url: str | Path | Storage, **options: Unpack[OpenOptions]) -> AsyncMemoryStore:
    """Open a store for asyncio: as `open`, which see for the arguments, without holding the event loop up.

    Example:
        >>> import asyncio, wellkept
        >>> async def work():
        ...     async with await wellkept.open_async("memory:", embedder="hashing") as store:
        ...         return (await store.remember("Use ruff for linting.")).outcome
        >>> asyncio.run(work())
        'created'
    """
    from functools import partial

    from wellkept.engine.verbs.asynchronous import opened

    return await opened(partial(open, url, **options))


def _given(named: str | _T | None, load: Callable[[str | None], _U]) -> _T | _U:
    """What was handed in, or what a name (or none) stands for."""
    return load(named) if named is None or isinstance(named, str) else named


def _timeboxed(judge: Judge) -> Judge:
    from wellkept.models.judges.timeboxed import timeboxed

    return timeboxed(judge)


def _ranking(more: MoreOptions) -> tuple[HybridWeights | None, Reranker | None]:
    """The weights and the reranker a store is opened with; one's own reranker in the usual time box."""
    from wellkept.engine.recall.question import weights_of
    from wellkept.models.registry import load_reranker

    if unknown := sorted(more.keys() - {"clock", "new_id", "hybrid_weights", "reranker", "token"}):
        raise TypeError(f"open() got an unexpected keyword argument {unknown[0]!r}")
    weights = more.get("hybrid_weights")
    reranker = _given(more.get("reranker"), load_reranker)
    if reranker is not None:
        from wellkept.models.reranking import TimeBoxedReranker

        reranker = reranker if isinstance(reranker, TimeBoxedReranker) else TimeBoxedReranker(reranker)
    return weights_of(weights, where="hybrid_weights") if weights is not None else None, reranker


def _held() -> str:
    """Why no plan may be executed; settings are read only when one is."""
    from wellkept.config import consolidation_held

    return consolidation_held()


def _scale(embedder: Embedder) -> Scale:
    """The embedder's own table, or for one that nobody has measured the table kept on this machine."""
    from wellkept.core.judging.calibration import UNCALIBRATED
    from wellkept.engine.models.scale import Scale

    if embedder.calibration is not UNCALIBRATED:
        return Scale(embedder)
    from wellkept.config import auto_calibrate, calibration_folder
    from wellkept.models.similarity.tables import KeptTables, Tables

    return Scale(embedder, KeptTables(Tables(calibration_folder())), automatic=auto_calibrate())


def _make_ready(ctx: Context, *, ours: bool) -> None:
    """Bind a store to its embedder, and write what an earlier process left; one that is ours is closed if it cannot be.

    Raises:
        WellkeptError: The store's vectors come from another embedder, or it cannot be written.
    """
    from wellkept.engine.base.retry import made_patient
    from wellkept.engine.queue.flushing import recover
    from wellkept.engine.upkeep.embedder_check import require_embedder
    from wellkept.errors import WellkeptError

    made_patient(ctx.storage)
    try:
        require_embedder(ctx)
    except WellkeptError:
        if ours:
            ctx.storage.close()
        raise
    recover(ctx)


def _kept(url: str | Path | Storage, token: str) -> tuple[Storage, Ledger]:
    """The storage of a store, and where its queued writes wait.

    A `Path` is the file it names: whatever it is called, it is no word such as `memory:`.
    """
    from pathlib import Path

    named = f"sqlite:///{url}" if isinstance(url, Path) else url
    storage = _storage(named, token) if isinstance(named, str) else named
    return storage, _ledger(named, storage)


def _storage(url: str, token: str = "") -> Storage:
    from wellkept.config import is_server, table_of_places
    from wellkept.errors import InvalidField, UnknownBackend

    scheme, mark, _ = url.partition("://")
    if token and not is_server(url):
        raise InvalidField("only a database on a server asks for one", where="token", todo="Leave it out")
    if url == "memory:":
        from wellkept.storage.memory import DictStorage

        return DictStorage()
    table = table_of_places(url)
    if table is not None or is_server(url):
        try:
            from wellkept.storage.placement import PlacedStorage
            from wellkept.storage.postgres import PostgresStorage
        except ModuleNotFoundError as error:
            raise UnknownBackend(
                f"the driver {error.name!r} is not installed", where=scheme + "://", todo="Install wellkept[postgres]"
            ) from error
        return PostgresStorage(url, token=token) if table is None else PlacedStorage(table)
    if mark and scheme != "sqlite":
        raise UnknownBackend(
            f"no backend serves {scheme!r}",
            where=scheme + "://",
            todo="Use a path, sqlite:///path, postgresql://…, placement:///path or memory:",
        )
    from wellkept.storage.sqlite import SqliteStorage

    return SqliteStorage(_file_of(url))


def _file_of(url: str) -> str:
    """The file that a path or `sqlite:///path` names."""
    _, mark, rest = url.partition("://")
    return rest.removeprefix("/") if mark and not rest.startswith("//") else rest[1:] if mark else url


def _ledger(url: str | Storage, storage: Storage) -> Ledger:
    """Queued writes wait in the database, or in a file beside the store's own; where there is neither, in the process.

    A file stands beside one store: whoever brings a storage of his own says himself where its writes wait.
    """
    from pathlib import Path

    from wellkept.engine.base.queue_ledger import FileLedger, ProcessLedger
    from wellkept.storage.ledger import Deferring

    if isinstance(storage, Deferring):
        return storage.ledger()
    if not isinstance(url, str) or url == "memory:":
        return ProcessLedger()
    file = Path(_file_of(url)).absolute()
    return FileLedger(file.with_name(file.name + ".queue"))


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_MODULES})


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name in _MODULES:
        return import_module(f"wellkept.{name}")
    raise AttributeError(f"module 'wellkept' has no attribute {name!r}")
