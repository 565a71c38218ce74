"""`wellkept pack`: current memories relevant to a query, as one block for a prompt.

Sessions of packs are remembered within one process, and each command is a process of its own. So there is no
session here; `--exclude` names the memories that the prompt already contains.
"""

from __future__ import annotations

from wellkept.cli.memory.recall_fields import MIN_SCORE_HELP
from wellkept.cli.terminal.fields import FilterOptions
from wellkept.cli.terminal.groups import argument, option
from wellkept.cli.terminal.session import Session
from wellkept.types.packs import MAX_BUDGET, PackFormat


def pack(
    run: Session,
    query: str = argument(metavar="QUERY", help="The query, in any words."),
    *,
    budget: int = option(
        "--budget", "-b", default=800, min=1, max=MAX_BUDGET, help="Maximum size of the block, in tokens."
    ),
    format: PackFormat = option(default="markdown", help="Format of the block; `decisions` lists decisions alone."),
    exclude: list[str] | None = option(
        metavar="ID", help="Already in the prompt: an id or a verbatim text; repeatable."
    ),
    touch: bool = option("--touch/--no-touch", default=True, help="Record the memories in the block as used."),
    min_score: float | None = option(min=0.0, max=1.0, show_default="0.3", help=MIN_SCORE_HELP),
    where: FilterOptions,
) -> None:
    """Current memories relevant to a query as a block for a prompt: no duplicates, never over the budget."""
    made = run.store(writes=False).pack(
        query,
        budget_tokens=budget,
        format=format,
        exclude=exclude or (),
        where=where.filter(),
        touch=touch,
        min_score=min_score,
    )
    run.show(made, lambda: [made.text] if made.text else [])
    if made.left_out:
        run.note(f"{len(made.left_out)} more match the query and do not fit into {budget} tokens")
