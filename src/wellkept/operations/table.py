"""The table of operations. A new operation needs a row and a handler.

The rows of questions, of decisions and episodes, and of the queue are in separate modules, with their inputs.

A description is read by a language model that chooses among tools: first the purpose, then the
answer, then possible next steps.
"""

from __future__ import annotations

from wellkept.operations import handlers, inputs, outputs
from wellkept.operations.asking import ASKING
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
        "Remember",
        (
            "Store a statement in long-term memory. Choose its kind: fact, preference, lesson, decision or note. It is "
            "compared with what is stored first; the answer says whether it was created, is a duplicate, evolved or "
            "superseded an older memory, or conflicts with one, and why. When it is a duplicate the memory is there: "
            f"do not try again. If the memory it names is not active, restore that one instead. {_DEDUPLICATION}"
        ),
        inputs.Remember,
        outputs.Written,
        idempotent=False,  # an append-only kind keeps every repetition
        toolset="default",
        status=created_or_known,
    ),
    writes(
        "remember_many",
        "Remember many",
        "Store many statements in order, at most 1,000. An invalid one does not stop the rest. Repeating "
        "the batch changes nothing.",
        inputs.RememberMany,
        outputs.Batch,
    ),
    reads(
        "check",
        "Check before remembering",
        "Preview what remember would do with a statement, and why. Writes nothing.",
        inputs.Check,
        outputs.Written,
        toolset="default",
    ),
    writes(
        "revise",
        "Revise a memory",
        "Edit fields of a stored memory. Fields you omit stay as they are; the history keeps the old text. "
        "If the facts have changed, remember the new statement instead.",
        inputs.Revise,
        outputs.Kept,
    ),
)
READING = (
    reads(
        "recall",
        "Recall",
        "Current memories relevant to a query, best first. Superseded memories are hidden; open conflicts "
        "are listed with the hits they concern. Of two where one is probably outdated, the newer comes first.",
        inputs.Recall,
        outputs.Recalled,
        handler=handlers.recall,
        toolset="default",
    ),
    reads(
        "pack",
        "Pack for a prompt",
        "Current memories relevant to a query, without duplicates, as one block of text that fits a token budget.",
        inputs.Pack,
        outputs.Packed,
    ),
    reads("get", "Get a memory", "One memory of any status, by its id.", inputs.Get, outputs.Kept, toolset="default"),
    reads(
        "list",
        "List memories",
        "Memories that match a filter, oldest first; active ones by default. It says which are probably outdated, and "
        "how many wordings each has. The next page is where.after the last one. To search, use recall.",
        inputs.Listing,
        outputs.Memories,
        handler=handlers.listing,
    ),
    reads(
        "history",
        "History of a memory",
        "Every state of a memory, oldest first, with the decision behind each.",
        inputs.History,
        outputs.Versions,
        handler=handlers.history,
        toolset="default",
    ),
    reads(
        "journal",
        "Journal",
        "Every decision of the store, oldest first, with its reasons. Pass an entry's number to undo.",
        inputs.Journal,
        outputs.Entries,
        handler=handlers.journal,
    ),
    reads(
        "conflicts",
        "Open conflicts",
        "Pairs of memories that contradict each other or may be duplicates: both texts, the words that "
        "differ, and the key for resolve.",
        inputs.Conflicts,
        outputs.Conflicts,
        handler=handlers.conflicts,
        toolset="default",
    ),
    reads(
        "neighbors",
        "Linked memories",
        "Memories linked from or to a memory, and linked ids that do not exist.",
        inputs.Neighbors,
        outputs.Neighbors,
        handler=handlers.neighbors,
        toolset="default",
    ),
    reads(
        "subgraph",
        "Linked surroundings",
        "Memories within a few links of the given ones, the links among them, and linked ids that do not exist.",
        inputs.Subgraph,
        outputs.Surroundings,
    ),
    reads(
        "stats",
        "Counts",
        "Number of memories, links, open conflicts and journal entries.",
        inputs.Nothing,
        outputs.Counts,
    ),
)
ACTING = (
    writes(
        "supersede",
        "Supersede a memory",
        "Replace a memory that no longer holds by another one. The old one is hidden but kept; restore brings it back.",
        inputs.Supersede,
        outputs.Entry,
        toolset="default",
    ),
    writes(
        "forget",
        "Forget a memory",
        "Hide a memory that is no longer wanted. It is kept; restore brings it back.",
        inputs.OfMemory,
        outputs.Entry,
        toolset="default",
    ),
    writes(
        "restore",
        "Restore a memory",
        "Make a superseded, forgotten or archived memory active again, or store a text that remember "
        "dropped; the answer to remember names its id.",
        inputs.OfMemory,
        outputs.Restored,
        toolset="default",
    ),
    writes(
        "split",
        "Split a wording off",
        "Make a restatement that was kept as a wording a memory of its own: it says something else than its head. "
        "It is not merged again automatically; undo reverts the split.",
        inputs.OfMemory,
        outputs.Entry,
    ),
    writes(
        "resolve",
        "Resolve a conflict",
        "Decide which of two conflicting memories holds, or that both do. If unsure, ask the user.",
        inputs.Resolve,
        outputs.Settled,
        toolset="default",
    ),
    writes(
        "link",
        "Link two memories",
        "Link one memory to another with a relation. Repeating a link changes nothing.",
        inputs.LinkFields,
        outputs.Linked,
        toolset="default",
    ),
    writes(
        "unlink",
        "Remove links",
        "Remove the links from one memory to another, all or of one relation.",
        inputs.Unlink,
        outputs.Removed,
        toolset="default",
    ),
    writes(
        "undo",
        "Undo a journal entry",
        "Undo a write by its entry number, which the write's answer names. The undo is an entry too and "
        "can itself be undone.",
        inputs.Undo,
        outputs.Undone,
        handler=handlers.undo,
        toolset="default",
    ),
    writes(
        "erase",
        "Erase permanently",
        "Permanently remove a memory's content and that of its wordings, everywhere; neighbors with rel restates and "
        "direction in lists them. This cannot be undone: use it only if the user explicitly asks. To hide a memory, "
        "use forget.",
        inputs.OfMemory,
        outputs.Entry,
        effect="destructive",
        scope="admin",
    ),
)
OPERATING = (
    reads(
        "verify",
        "Verify the store",
        "Check the whole store; returns each problem with its remedy.",
        inputs.Nothing,
        outputs.Problems,
        scope="admin",
    ),
    reads(
        "plan",
        "Plan a consolidation",
        "Preview a consolidation: merges, flags, promotions and archivings, each with its reason. Writes "
        "nothing; execute applies the plan.",
        inputs.PlanFields,
        outputs.PlanFile,
        scope="admin",
        handler=handlers.plan,
    ),
    writes(
        "execute",
        "Execute a plan",
        "Apply a plan. Each action is atomic; memories changed since the plan was made are left alone. "
        "undo_run reverts the run.",
        inputs.Execute,
        outputs.Run,
        scope="admin",
        handler=handlers.execute,
    ),
    reads(
        "runs",
        "Runs",
        "Imports and consolidations that changed the store, and whether they were undone.",
        inputs.RunList,
        outputs.Runs,
        handler=handlers.runs,
    ),
    writes(
        "undo_run",
        "Undo a run",
        "Undo a whole import or consolidation, newest entry first.",
        inputs.UndoRun,
        outputs.RunUndone,
        scope="admin",
    ),
)
OPERATIONS: tuple[Operation, ...] = (*WRITING, *READING, *ACTING, *ASKING, *RECORDING, *QUEUEING, *OPERATING)
