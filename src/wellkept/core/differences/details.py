"""Differences of detail: values, names and words that only the newer text has."""

from __future__ import annotations

from wellkept.core.differences.alignment import Pair, cue_span, span
from wellkept.core.differences.names import added_names
from wellkept.core.differences.statement_parts import weighty
from wellkept.core.differences.values import is_strong, unmatched_values
from wellkept.types import Difference, DifferenceKind

_REPLACED: frozenset[DifferenceKind] = frozenset(
    ("number", "unit", "sign", "version", "identifier", "date", "time", "name", "value", "subject", "antonym")
)
"""Kinds of difference in which one thing replaces another; an added value or name may belong to it."""
_CLOSE = 0.5
"""Share of aligned words from which the words that only one clause has are a detail of the same statement."""
_COVERED = 0.6
"""Share of aligned words from which the new text repeats every statement of the old one."""


def detail(pair: Pair, known: set[DifferenceKind]) -> list[Difference]:
    """What only the new text (`pair.b`) says; what it leaves out is no difference.

    Args:
        pair: The texts as they were given, the older one first.
        known: The kinds of difference that other rules found.
    """
    added = [token for token in unmatched_values(pair.b, pair.a)[0] if is_strong(token)] + added_names(pair.b, pair.a)
    if added and not known & _REPLACED:
        return [Difference("detail", "", span(added[:4]))]
    if known:
        return []
    for item in pair.frames:
        weight = weighty(item.only_b, pair.b.language)
        added = [token for token in weight if not token.char and token.key not in pair.a.keys]
        if added and not item.slots and not item.only_a and not item.moved and item.ratio >= _CLOSE:
            return [Difference("detail", "", span(added[:6]))]
    if pair.frames and not pair.rest_a and all(item.ratio >= _COVERED for item in pair.frames):
        for clause in pair.rest_b:
            words = [clause.tokens[p] for p in clause.content if clause.tokens[p].key not in pair.a.keys]
            if len(words) >= 2:
                negation = [Difference("negation", "", cue_span(clause))] if len(clause.negations) % 2 else []
                return [Difference("detail", "", span(words[:6])), *negation]
    return []
