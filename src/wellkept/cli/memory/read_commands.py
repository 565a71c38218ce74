"""Commands that read: recall, get, list, history, journal, neighbors, subgraph, stats, namespaces."""

from __future__ import annotations

from typing import Any

from wellkept.cli.memory import recall_tables
from wellkept.cli.memory.recall_fields import NarrowOptions, RankingOptions
from wellkept.cli.terminal import render
from wellkept.cli.terminal.fields import IdArgument, statuses
from wellkept.cli.terminal.groups import argument, flag, option
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session
from wellkept.types import Direction, Graph, Reached

_NEWEST = 20
_MAX = 1_000


def recall(
    run: Session,
    query: str = argument(metavar="QUERY", help="The query, in any words."),
    *,
    limit: int = option("--limit", "-n", default=5, min=1, max=_MAX, help="Maximum number of hits."),
    everything: bool = flag("--all", help="Include superseded memories."),
    explain: bool = flag("--explain", help="Show the parts of each score, and what was left out."),
    touch: bool = option("--touch/--no-touch", default=True, help="Record the hits as used."),
    ranking: RankingOptions,
    where: NarrowOptions,
) -> None:
    """Current memories relevant to a query, best first, with open conflicts marked."""
    options = ranking.options()
    found = run.store(writes=False).recall(
        query,
        limit=limit,
        where=where.filter(),
        mode=ranking.mode,
        include_superseded=everything,
        explain=explain,
        touch=touch,
        **options,
    )
    answer = {"hits": found, "left_out": found.left_out, "dangling": found.dangling}
    run.show(answer, lambda: recall_tables.answer(found, explain=explain))


def get(
    run: Session,
    memory_id: IdArgument,
    *,
    touch: bool = option("--touch/--no-touch", default=True, help="Record it as used."),
) -> None:
    """Show one memory, of any status, with its wordings and what outdates it."""
    from wellkept.engine.lookup.wordings_and_marks import standing  # imports the engine, which the help does not load

    store = run.store(writes=False, model=False)
    found = store.get(memory_id, touch=touch)
    run.show(found, lambda: render.memory(found, standing(store._ctx, [found])))


def list_memories(
    run: Session,
    *,
    status: list[str] | None = option(
        metavar="STATUS",
        autocompletion=statuses,
        show_default="active",
        help="active, superseded, archived, erased, wording or all; repeatable.",
    ),
    limit: int | None = option("--limit", "-n", min=0, help="Maximum number of memories."),
    where: NarrowOptions,
) -> None:
    """List memories, oldest first, with the number of their wordings and what outdates them."""
    from wellkept.engine.lookup.wordings_and_marks import standing  # imports the engine, which the help does not load

    store = run.store(writes=False, model=False)
    found = store.list(where.filter(status or ()), limit=limit)
    run.show_each(found, lambda: render.memories(found, standing(store._ctx, found)))


def history(run: Session, memory_id: IdArgument) -> object:
    """Show every state of a memory, with the decision behind each."""
    return run.store(writes=False, model=False).history(memory_id)


def journal(
    run: Session,
    *,
    newest: int | None = option(
        "--newest", "-n", min=1, show_default=str(_NEWEST), help="Number of newest entries to show."
    ),
    after: int = option(default=0, metavar="ENTRY", min=0, help="All entries after this number."),
    everything: bool = flag("--all", help="All entries."),
) -> object:
    """List decisions, their times and reasons; pass an entry's number to `undo`."""
    wanted = newest if newest is not None or after or everything else _NEWEST
    return run.store(writes=False, model=False).journal(newest=wanted, after=after)


def neighbors(
    run: Session,
    memory_id: IdArgument,
    *,
    rel: str | None = option(help="Only links of this relation."),
    direction: Direction = option(default="both", help="Direction of the links."),
    depth: int = option(default=1, min=1, max=20, help="Number of steps."),
) -> None:
    """List memories linked from or to a memory."""
    store = run.store(writes=False, model=False)
    found = store.neighbors(memory_id, rel=rel, direction=direction, depth=depth)
    run.show({"neighbors": found, "dangling": found.dangling}, lambda: _neighbours(found))


def subgraph(
    run: Session,
    ids: list[str] = argument(metavar="ID...", help="Id of a memory to start from; repeatable."),
    *,
    depth: int = option(default=1, min=1, max=20, help="Number of steps."),
) -> object:
    """List memories within a few links of the given ones, their links, and linked ids that do not exist."""
    return run.store(writes=False, model=False).subgraph(ids, depth=depth)


def stats(run: Session) -> object:
    """Show the counts of the namespace."""
    return run.store(writes=False, model=False).stats()


def namespaces(run: Session) -> None:
    """List the namespaces of the store."""
    names = run.store(writes=False, model=False).namespaces()
    run.show({"namespaces": names}, lambda: [one_line(name) for name in names] or ["No namespaces"])


def _neighbours(found: Reached) -> list[Any]:
    nowhere = [f"Linked ids that do not exist: {', '.join(map(one_line, found.dangling))}"]
    dangling = nowhere if found.dangling else []
    if not found:
        return ["No neighbours", *dangling]
    short = render.ShortIds(item.memory.id for item in found)
    rows = [
        (str(item.depth), "→" if item.direction == "out" else "←", item.rel, short(item.memory.id), item.memory.content)
        for item in found
    ]
    return [render.rows_of(("depth>", "way", "relation", "id", "text"), rows), *dangling]


def graph(graph: Graph) -> list[Any]:
    """Nodes and edges as tables, and linked ids that do not exist."""
    short = render.ShortIds([*graph.nodes, *graph.dangling])
    nodes = [(short(key), row.kind, row.status, row.content) for key, row in graph.nodes.items()]
    edges = [(short(src), rel, short(dst)) for src, dst, rel in graph.edges]
    parts: list[Any] = [render.rows_of(("id", "kind", "status", "text"), nodes)]
    if edges:
        parts.append(render.rows_of(("from", "relation", "to"), edges))
    if graph.dangling:
        parts.append("Linked id does not exist: " + ", ".join(short(key) for key in graph.dangling))
    return parts
