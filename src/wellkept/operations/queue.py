"""The queue of a session: deferred writes and their results.

A verb of `store.queue` is an operation whose name starts with `queue_`. It covers the queue of the caller's
session when the request names one, otherwise of the namespace, and never another queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from wellkept.operations import inputs, outputs
from wellkept.operations.pages import Paged, items_after, page
from wellkept.operations.parts import Given, Label
from wellkept.operations.queued_writes import queued_write
from wellkept.operations.row import created_or_known, reads, writes
from wellkept.operations.shapes import as_output

if TYPE_CHECKING:
    from pydantic import BaseModel

    from wellkept.engine.verbs.store import MemoryStore


class QueueRemember(inputs.Writing):
    """A text to store later."""


class QueuePending(Paged):
    """A filter of queued writes."""

    after: Label = Field("", description="Id of the last queued write of the previous page.")


class QueueFlush(Given):
    """The queued writes to store."""

    again: bool = Field(
        default=False, description="Also retry writes that failed too often to be retried automatically."
    )


class QueueDrop(Given):
    """A queued write."""

    queued_id: Annotated[str, Field(min_length=1)] = Field(
        description="Its id in the queue.", json_schema_extra={"maxLength": 500}
    )


def pending(store: MemoryStore, given: QueuePending) -> BaseModel:
    """`queue.pending`; failed writes include their error, so `queue.failed` needs no row."""
    shown, more = page(items_after(store.queue.pending(), given.after, lambda one: one.id), given.limit)
    return as_output(outputs.Waiting, {"pending": shown, "more": more})


def drop(store: MemoryStore, given: QueueDrop) -> BaseModel:
    """`queue.drop`; returns the text, so that it can be written again."""
    found = queued_write(store, given.queued_id)
    store.queue.drop(found.id)
    return as_output(outputs.Dropped, found)


QUEUEING = (
    writes(
        "queue_remember",
        "Remember later",
        "Queue a statement: it is saved durably now, and compared and stored when the queue is flushed. "
        "Lessons and other kinds that cannot be deferred are stored at once, as by remember.",
        QueueRemember,
        outputs.Written,
        idempotent=False,
        status=created_or_known,
    ),
    reads(
        "queue_pending",
        "Queued writes",
        "Queued statements, oldest first; one that could not be stored says why.",
        QueuePending,
        outputs.Waiting,
        handler=pending,
    ),
    writes(
        "queue_drop",
        "Drop a queued write",
        "Remove a statement from the queue without storing it; the answer contains its text.",
        QueueDrop,
        outputs.Dropped,
        effect="destructive",
        scope="admin",
        handler=drop,
    ),
    writes(
        "queue_flush",
        "Flush the queue",
        "Store the queued statements in order; one that fails stays in the queue and does not stop the others.",
        QueueFlush,
        outputs.Flushed,
    ),
)
