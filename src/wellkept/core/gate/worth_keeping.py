"""What is worth keeping: the content filter and the recording filter, before any comparison.

Precision comes first: a text is refused only when all of it is filler. Each refusal names its reason and is journaled
with the text, so that it can be restored.
"""

from __future__ import annotations

from wellkept.core.lexicon import lexicon
from wellkept.core.text.forms import is_junk
from wellkept.policy import KindPolicy
from wellkept.types import NewMemory, Reason

INFORMATIONAL_FRAMES = frozenset({"conversation", "question", "creative"})
_HEAD = 500


def status_markers() -> tuple[str, ...]:
    """The phrases of all languages that mark a status report, in the order in which they are looked for."""
    return tuple(marker for language in lexicon().languages.values() for marker in language.status_markers)


def refusal(new: NewMemory, policy: KindPolicy) -> Reason | None:
    """The reason why a text is not kept; None when it is kept.

    The recording filter (frame, status-report markers) applies only to writes marked `automatic`; explicit writes pass.
    """
    if policy.admit == "anything":
        return None
    if policy.admit == "decision" and not new.automatic:
        return None
    junk = is_junk(new.content)
    if junk is not None:
        return Reason("junk", junk)
    if policy.admit == "decision":
        return _not_a_decision(new)
    return None


def _not_a_decision(new: NewMemory) -> Reason | None:
    if new.frame in INFORMATIONAL_FRAMES:
        return Reason("recording_filter", f"a {new.frame} frame records no decision")
    head = new.content[:_HEAD].lower().replace("\u2019", "'")
    for marker in status_markers():
        if marker in head:
            return Reason("recording_filter", f"informational: {marker!r}")
    return None
