"""The check of the store's embedder, made each time a store is opened; so it imports nothing that judges."""

from __future__ import annotations

from wellkept.engine.base.context import Context
from wellkept.engine.models.no_embedder import Unloaded
from wellkept.errors import EmbedderMismatch
from wellkept.storage.port import Binding
from wellkept.types import Header


def require_embedder(ctx: Context) -> None:
    """Refuse a store whose vectors come from another embedder; a new store takes this one.

    Raises:
        EmbedderMismatch: Names both, and the command that re-embeds.
    """
    header = ctx.storage.header()
    refuse_another(ctx, header)
    # A command that never embeds makes no decisions: it does not change the store's recorded policy.
    judges = not isinstance(ctx.embedder, Unloaded)
    if judges and (not header.embedder or header.policy != ctx.policy.hash):
        dim = header.dim if header.embedder else ctx.embedder.dim
        ctx.storage.configure(embedder=ctx.embedder.id, dim=dim, policy=ctx.policy.hash)
    if isinstance(ctx.storage, Binding):
        ctx.storage.bind(ctx.embedder.id)


def refuse_another(ctx: Context, header: Header) -> None:
    """Refuse a header that names another embedder; one that names none is accepted.

    Raises:
        EmbedderMismatch: As of `require_embedder`.
    """
    if header.embedder and header.embedder != ctx.embedder.id:
        raise EmbedderMismatch(
            f"the store's vectors come from {header.embedder!r}, not from {ctx.embedder.id!r}",
            where="embedder",
            todo="Run `wellkept reembed`, as after some upgrades, or open it with that embedder",
        )
