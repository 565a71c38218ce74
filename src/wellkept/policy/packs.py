"""The default kinds: five for any agent, and optional packs with further kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from wellkept.errors import InvalidPolicy, use_one_of
from wellkept.frozen import frozen
from wellkept.policy.presets import PRESETS
from wellkept.policy.record import ConflictsWith, Decay, KindPolicy


@frozen
class PolicyPack:
    """A named group of kinds.

    Args:
        name: The name that `packs = ["..."]` in a policy file uses.
        about: What the pack is for.
        kinds: Policy by kind.
        uses: One sentence per kind that says what it is for.
    """

    name: str
    about: str
    kinds: Mapping[str, KindPolicy]
    uses: Mapping[str, str]


_EPISODIC = Decay(14, 2.0, 0.5, 0.1, 180)
_SIGNALS = Decay(2, 1.5, 0.5, 0.15, 30)


STATEMENTS = "statements"
"""The family of the kinds that state something; within it a restatement is kept as a wording across kinds."""
_STATING = frozenset(
    ("fact", "note", "preference", "lesson", "decision", "semantic", "procedural", "knowledge", "summary", "episode")
)

TOLD_AGAIN_AT = 0.60
"""Similarity from which default kinds accept the relation model's `same` as a duplicate."""


def _of(
    preset: str,
    stability_days: float | None = None,
    decay: Decay | None = None,
    *,
    conflicts_with: ConflictsWith = "any_kind",
) -> KindPolicy:
    """A preset as the policy of a default kind, with the relation model in addition to the bands.

    Kinds whose duplicates are dropped by vector similarity also drop paraphrases. All kinds except append-only
    ones are by default compared with other kinds to find contradictions. Events (append-only, episodes,
    decisions) are never duplicates, but an episode or a decision may show that a fact no longer holds. The
    kinds of the pack `agent_memory` look for contradictions only in their own kind.
    """
    policy = PRESETS[preset]
    if decay is None:
        decay = policy.decay
    if stability_days is not None:
        decay = replace(decay, stability_days=stability_days)
    policy = replace(policy, decay=decay)
    if preset == "append_only":
        return policy
    same_at = TOLD_AGAIN_AT if "vector" in policy.stages else 1.0
    return replace(policy, conflicts_with=conflicts_with, same_at=same_at)


def _pack(name: str, about: str, kinds: Mapping[str, tuple[KindPolicy, str]]) -> PolicyPack:
    policies = {kind: replace(one, family=STATEMENTS) if kind in _STATING else one for kind, (one, _) in kinds.items()}
    return PolicyPack(name, about, policies, {kind: use for kind, (_, use) in kinds.items()})


_LONG = Decay(120, 3.5, 0.3, 0.03, 365)
_TRADE = _of("append_only", 21, _EPISODIC)

PACKS: tuple[PolicyPack, ...] = (
    _pack(
        "basic",
        "five kinds for any agent; always there",
        {
            "fact": (_of("fact"), "what can change over time"),
            "note": (_of("general"), "anything worth keeping"),
            "preference": (_of("fact"), "what somebody likes or wants"),
            "lesson": (_of("insight", 90), "what was learnt"),
            "decision": (_of("decision"), "what was decided, and why"),
        },
    ),
    _pack(
        "agent_memory",
        "the memory types of agent frameworks",
        {
            "semantic": (_of("general", conflicts_with="own_kind"), "knowledge of any sort; the default"),
            "episodic": (
                replace(_of("general", decay=_EPISODIC, conflicts_with="own_kind"), updates="list"),
                "events; they fade within weeks",
            ),
            "procedural": (_of("general", decay=_LONG, conflicts_with="own_kind"), "how something is done"),
            "feedback": (_of("general", conflicts_with="own_kind"), "what a person said about the work"),
        },
    ),
    _pack(
        "conversations",
        "what happened in a conversation, in short",
        {
            "episode": (_of("episode"), "a piece of work; reused while it goes on"),
            "turn_summary": (_of("append_only", 7, _EPISODIC), "the summary of one turn"),
            "session_summary": (_of("append_only", 14, _EPISODIC), "the summary of one session"),
        },
    ),
    _pack(
        "knowledge_base",
        "articles that grow: what adds to one is appended to it",
        {
            "knowledge": (_of("knowledge"), "an article"),
            "summary": (_of("knowledge"), "a summary of other memories"),
            "temp_note": (_of("knowledge", decay=_SIGNALS), "a draft; fades within days"),
        },
    ),
    _pack(
        "trading",
        "the diary of a trading agent",
        {
            "curiosity": (_of("insight", 14), "a question to look into"),
            "thesis": (_of("append_only", 30), "a view of a market"),
            "signal": (_of("append_only", decay=_SIGNALS), "an observation; fades within days"),
            "watchpoint": (_of("append_only", 5, _SIGNALS), "something to watch; fades within days"),
            "trade": (_TRADE, "a trade"),
            "trade_entry": (_TRADE, "a position opened"),
            "trade_modify": (_TRADE, "a position changed"),
            "trade_close": (_TRADE, "a position closed"),
        },
    ),
)
"""All packs, the basic one first."""

DEFAULT_KINDS: Mapping[str, KindPolicy] = {kind: one for pack in PACKS for kind, one in pack.kinds.items()}
"""The kinds of all packs, the basic ones first; the default when a policy does not name packs."""


def pack_of(kind: str) -> PolicyPack | None:
    """The pack of a kind; None for your own kinds."""
    return next((pack for pack in PACKS if kind in pack.kinds), None)


def kinds_of(packs: Iterable[str]) -> dict[str, KindPolicy]:
    """The five basic kinds and the kinds of these packs.

    Raises:
        InvalidPolicy: There is no pack with this name.

    Example:
        >>> list(kinds_of(["knowledge_base"]))
        ['fact', 'note', 'preference', 'lesson', 'decision', 'knowledge', 'summary', 'temp_note']
    """
    names = [pack.name for pack in PACKS]
    wanted = {names[0], *packs}
    for name in wanted.difference(names):
        raise InvalidPolicy(f"{name!r} is not a policy pack", where="packs", todo=use_one_of(name, names))
    return {kind: one for pack in PACKS if pack.name in wanted for kind, one in pack.kinds.items()}
