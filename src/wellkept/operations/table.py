"""The one table of operations. A new operation is a row and a handler.

The rows about decisions and episodes, and about the queue, stand with their inputs in modules of their own.

A description is read by a language model that chooses among tools: what it is for first, then what it
answers, then what to do about it.
"""

from __future__ import annotations

from wellkept.operations import handlers, inputs, outputs
from wellkept.operations.loop import RECORDING
from wellkept.operations.queue import QUEUEING
from wellkept.operations.row import Operation, created_or_known, reads, writes

_DEDUPLICATION = (  # word for word: agents of the original host know this text
    "DEDUPLICATION: Lessons and curiosity items are checked for duplicates before storing. If a very similar memory "
    "already exists (95%+ match), the new one won't be created — you'll see which existing memory matched. If a "
    "moderately similar memory exists (90-95% match), the new one is created and linked to it."
)

WRITING = (
    writes(
        "remember",
        title="Remember",
        description=(
            "Store a statement in long-term memory. Choose its kind: fact, preference, lesson, decision or note. It is "
            "compared with what is stored first; the answer says whether it was created, is a duplicate, evolved or "
            "superseded an older memory, or conflicts with one, and why. When it is a duplicate the memory is there: "
            f"do not try again. If the memory it names is not active, restore that one instead. {_DEDUPLICATION}"
        ),
        input=inputs.Remember,
        output=outputs.Written,
        idempotent=False,  # an append-only kind keeps every repeat
        handler=handlers.remember,
        toolset="default",
        status=created_or_known,
    ),
    writes(
        "remember_many",
        title="Remember many",
        description="Store many statements in order, at most 1,000. An invalid one does not stop the rest. Repeating "
        "the batch changes nothing.",
        input=inputs.RememberMany,
        output=outputs.Batch,
    ),
    reads(
        "check",
        title="Check before remembering",
        description="Preview what remember would do with a statement, and why. Writes nothing.",
        input=inputs.Check,
        output=outputs.Written,
        handler=handlers.check,
        toolset="default",
    ),
    writes(
        "revise",
        title="Revise a memory",
        description="Edit fields of a stored memory. Fields you omit stay as they are; the history keeps the old text. "
        "If the facts have changed, remember the new statement instead.",
        input=inputs.Revise,
        output=outputs.Kept,
        handler=handlers.revise,
    ),
)
READING = (
    reads(
        "recall",
        title="Recall",
        description="Current memories relevant to a query, best first. Superseded memories are hidden; open conflicts "
        "are listed with the hits they concern.",
        input=inputs.Recall,
        output=outputs.Recalled,
        handler=handlers.recall,
        toolset="default",
    ),
    reads(
        "pack",
        title="Pack for a prompt",
        description="Current memories relevant to a query, without duplicates, as one block of text that fits a token "
        "budget.",
        input=inputs.Pack,
        output=outputs.Packed,
    ),
    reads(
        "get",
        title="Get a memory",
        description="One memory of any status, by its id.",
        input=inputs.Get,
        output=outputs.Kept,
        toolset="default",
    ),
    reads(
        "list",
        title="List memories",
        description="Memories that match a filter, oldest first; active ones by default. The next page is where.after "
        "the last one. To search, use recall.",
        input=inputs.Listing,
        output=outputs.Memories,
        handler=handlers.listing,
    ),
    reads(
        "history",
        title="History of a memory",
        description="Every state of a memory, oldest first, with the decision behind each.",
        input=inputs.History,
        output=outputs.Versions,
        handler=handlers.history,
        toolset="default",
    ),
    reads(
        "journal",
        title="Journal",
        description="Every decision of the store, oldest first, with its reasons. Pass an entry's number to undo.",
        input=inputs.Journal,
        output=outputs.Entries,
        handler=handlers.journal,
    ),
    reads(
        "conflicts",
        title="Open conflicts",
        description="Pairs of memories that contradict each other or may be duplicates: both texts, the words that "
        "differ, and the key for resolve.",
        input=inputs.Conflicts,
        output=outputs.Conflicts,
        handler=handlers.conflicts,
        toolset="default",
    ),
    reads(
        "neighbors",
        title="Linked memories",
        description="Memories linked from or to a memory, and linked ids that do not exist.",
        input=inputs.Neighbors,
        output=outputs.Neighbors,
        handler=handlers.neighbors,
        toolset="default",
    ),
    reads(
        "subgraph",
        title="Linked surroundings",
        description="Memories within a few links of the given ones, the links among them, and linked ids that do not "
        "exist.",
        input=inputs.Subgraph,
        output=outputs.Surroundings,
    ),
    reads(
        "stats",
        title="Counts",
        description="Number of memories, links, open conflicts and journal entries.",
        input=inputs.Nothing,
        output=outputs.Counts,
    ),
)
ACTING = (
    writes(
        "supersede",
        title="Supersede a memory",
        description="Replace a memory that no longer holds by another one. The old one is hidden but kept; restore "
        "brings it back.",
        input=inputs.Supersede,
        output=outputs.Entry,
        toolset="default",
    ),
    writes(
        "forget",
        title="Forget a memory",
        description="Hide a memory that is no longer wanted. It is kept; restore brings it back.",
        input=inputs.OfMemory,
        output=outputs.Entry,
        toolset="default",
    ),
    writes(
        "restore",
        title="Restore a memory",
        description="Make a superseded, forgotten or archived memory active again, or store a text that remember "
        "dropped; the answer to remember names its id.",
        input=inputs.OfMemory,
        output=outputs.Restored,
        toolset="default",
    ),
    writes(
        "resolve",
        title="Resolve a conflict",
        description="Decide which of two conflicting memories holds, or that both do. If unsure, ask the user.",
        input=inputs.Resolve,
        output=outputs.Settled,
        toolset="default",
    ),
    writes(
        "link",
        title="Link two memories",
        description="Link one memory to another with a relation. Repeating a link changes nothing.",
        input=inputs.LinkFields,
        output=outputs.Linked,
        toolset="default",
    ),
    writes(
        "unlink",
        title="Remove links",
        description="Remove the links from one memory to another, all or of one relation.",
        input=inputs.Unlink,
        output=outputs.Removed,
        toolset="default",
    ),
    writes(
        "undo",
        title="Undo a journal entry",
        description="Undo a write by its entry number, which the write's answer names. The undo is an entry too and "
        "can itself be undone.",
        input=inputs.Undo,
        output=outputs.Undone,
        handler=handlers.undo,
        toolset="default",
    ),
    writes(
        "erase",
        title="Erase permanently",
        description="Permanently remove a memory's content, everywhere. This cannot be undone: use it only if the user "
        "explicitly asks. To hide a memory, use forget.",
        input=inputs.OfMemory,
        output=outputs.Entry,
        effect="destructive",
        scope="admin",
    ),
)
OPERATING = (
    reads(
        "verify",
        title="Verify the store",
        description="Check the whole store; returns each problem with its remedy.",
        input=inputs.Nothing,
        output=outputs.Problems,
        scope="admin",
    ),
    reads(
        "plan",
        title="Plan a consolidation",
        description="Preview a consolidation: merges, flags, promotions and archivings, each with its reason. Writes "
        "nothing; execute applies the plan.",
        input=inputs.PlanFields,
        output=outputs.PlanFile,
        scope="admin",
        handler=handlers.plan,
    ),
    writes(
        "execute",
        title="Execute a plan",
        description="Apply a plan. Each action is atomic; memories changed since the plan was made are left alone. "
        "undo_run reverts the run.",
        input=inputs.Execute,
        output=outputs.Run,
        scope="admin",
        handler=handlers.execute,
    ),
    reads(
        "runs",
        title="Runs",
        description="Imports and consolidations that changed the store, and whether they were undone.",
        input=inputs.RunList,
        output=outputs.Runs,
        handler=handlers.runs,
    ),
    writes(
        "undo_run",
        title="Undo a run",
        description="Undo a whole import or consolidation, newest entry first.",
        input=inputs.UndoRun,
        output=outputs.RunUndone,
        scope="admin",
    ),
)
OPERATIONS: tuple[Operation, ...] = (*WRITING, *READING, *ACTING, *RECORDING, *QUEUEING, *OPERATING)
