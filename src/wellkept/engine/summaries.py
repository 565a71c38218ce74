"""The memory that a summary becomes when its plan is executed (S2-48, B-28)."""

from __future__ import annotations

from datetime import datetime

from wellkept.core.merge import absorbed
from wellkept.engine.acts import with_vector
from wellkept.engine.context import Context
from wellkept.engine.embedding import Embeddings
from wellkept.engine.inputs import new_memory
from wellkept.types import Action, Effect, Memory, MemoryChange, Statement, Vector


def born_summary(
    ctx: Context, action: Action, vectors: Embeddings, *, at: datetime
) -> tuple[list[Effect], dict[str, Vector]]:
    """Effects that store the planned summary, and its vector.

    Raises:
        NeedsVectorError: It must be embedded first, outside the transaction.
        InvalidInput: The plan says something that is no memory.
    """
    fields = dict(action.summary)
    new = new_memory(fields.pop("content", ""), fields, ctx.policy)
    said = {name: getattr(new, name) for name in Statement.__dataclass_fields__}
    memory = Memory(**said, id=ctx.new_id(), namespace=ctx.namespace, created_at=at, updated_at=at)
    memory, made = with_vector(memory, vectors)
    return [MemoryChange(None, memory), *absorbed(memory.id, (memory.content,), frozenset())], made
