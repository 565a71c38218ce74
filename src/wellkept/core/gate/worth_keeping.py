"""What is worth keeping at all: the content filter and the recording filter, before any comparison.

Precision first: a text is refused only when it is nothing but filler. Each refusal names its reason,
goes to the journal with the text, and can be brought back.
"""

from __future__ import annotations

from wellkept.core.text.forms import is_junk
from wellkept.policy import KindPolicy
from wellkept.types import NewMemory, Reason

INFORMATIONAL_FRAMES = frozenset({"conversation", "question", "creative"})
STATUS_MARKERS = (
    "here's",
    "current status",
    "here is",
    "available tools",
    "i remember",
    "my memory",
    "what i know",
)
_HEAD = 500


def refusal(new: NewMemory, policy: KindPolicy) -> Reason | None:
    """Why this text is not kept; None when it is.

    An explicit call always wins over the recording filter: only writes marked `automatic` are
    filtered by frame and by the marks of a status report.
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
    for marker in STATUS_MARKERS:
        if marker in head:
            return Reason("recording_filter", f"informational: {marker!r}")
    return None
