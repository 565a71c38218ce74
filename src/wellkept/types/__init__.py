"""The values that every layer speaks: records, comparisons, effects, results.

All are frozen. Times are aware `datetime` values in UTC. Nothing here reads a clock, makes an id
or does I/O; nothing here imports numpy at run time, so that `import wellkept` stays light.
"""

from __future__ import annotations

from wellkept.types.effects import (
    AliasChange,
    ConflictChange,
    Decision,
    Effect,
    LinkChange,
    MemoryChange,
)
from wellkept.types.journal import (
    JournalEntry,
    Version,
)
from wellkept.types.judging import (
    Candidate,
    Comparison,
    Conflict,
    Difference,
    Match,
    Opinion,
    Reason,
)
from wellkept.types.links import (
    Graph,
    Link,
    Neighbour,
)
from wellkept.types.memories import (
    Memory,
    MemoryFields,
    NewMemory,
    Statement,
    Update,
)
from wellkept.types.reading import (
    Filter,
    Hit,
    Neighbours,
)
from wellkept.types.results import (
    BatchResult,
    Census,
    Header,
    ImportReport,
    ItemError,
    Problem,
    Stats,
    WriteResult,
)
from wellkept.types.words import (
    ALL_STATUSES,
    KNOWN_RELATIONS,
    ConflictKind,
    Degradation,
    DifferenceKind,
    Direction,
    Json,
    Lifecycle,
    MatchAction,
    OnConflict,
    Outcome,
    Polarity,
    Relation,
    Resolution,
    Stage,
    Status,
    Vector,
)

__all__ = [
    "ALL_STATUSES",
    "AliasChange",
    "BatchResult",
    "Candidate",
    "Census",
    "Comparison",
    "Conflict",
    "ConflictChange",
    "ConflictKind",
    "Decision",
    "Degradation",
    "Difference",
    "DifferenceKind",
    "Direction",
    "Effect",
    "Filter",
    "Graph",
    "Header",
    "Hit",
    "ImportReport",
    "ItemError",
    "JournalEntry",
    "Json",
    "KNOWN_RELATIONS",
    "Lifecycle",
    "Link",
    "LinkChange",
    "Match",
    "MatchAction",
    "Memory",
    "MemoryChange",
    "MemoryFields",
    "Neighbour",
    "Neighbours",
    "NewMemory",
    "OnConflict",
    "Opinion",
    "Outcome",
    "Polarity",
    "Problem",
    "Reason",
    "Relation",
    "Resolution",
    "Stage",
    "Statement",
    "Stats",
    "Status",
    "Update",
    "Vector",
    "Version",
    "WriteResult",
]
