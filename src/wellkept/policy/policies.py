"""The policy of a store: one frozen value, read from TOML or built in Python, identified by its hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from wellkept.errors import InvalidPolicy, UnknownKind, use_one_of
from wellkept.parsing import parsed_toml
from wellkept.policy.antonyms import Opposites, antonyms_of, opposites_of
from wellkept.policy.from_toml import CONFLICT_DAYS, MAX_CONTENT_CHARS, QUESTIONS_PER_100, PolicyReader
from wellkept.policy.packs import DEFAULT_KINDS, kinds_of, pack_of
from wellkept.policy.record import AUTO_LINK_AT, Answers, KindPolicy, SecondReader, WhenJudged
from wellkept.types import OnConflict


@dataclass(frozen=True)
class Policy:
    """The policies of all kinds. Immutable; every journal entry records its hash.

    Args:
        kinds: Policy by kind. An entry `"*"` allows any other kind and is its policy.
        max_content_chars: Maximum length of a text, in characters.
        conflict_days: Days after which an open conflict is treated as "keep both".
        antonyms: Pairs of opposite words of your own field, in addition to the built-in ones.
        ask: Questions per 100 writes about writes that the gate could not decide; 0 for none.
        answers: What the answer of an agent or a model may do with a replaced memory: `mark` it as outdated, or
            `supersede` it. A person's answer supersedes.
        judging: `now`, or `later`: what no rule decides is stored at once, and the models judge it after the commit.
        second_reader: `uncertain`: an English text that may restate or contradict a memory is read by a second network
            too, which finds more of both; `off`: by the first alone, which takes less time and memory.

    Example:
        >>> from wellkept import Policy
        >>> Policy().for_kind("lesson").preset
        'insight'
        >>> Policy.from_toml('[kinds.rumour]\\npreset = "general"\\n').for_kind("rumour").preset
        'general'
    """

    kinds: Mapping[str, KindPolicy] = field(default_factory=lambda: dict(DEFAULT_KINDS))
    max_content_chars: int = MAX_CONTENT_CHARS
    conflict_days: float = CONFLICT_DAYS
    antonyms: tuple[tuple[str, str], ...] = ()
    ask: float = QUESTIONS_PER_100
    answers: Answers = "mark"
    judging: WhenJudged = "now"
    second_reader: SecondReader = "uncertain"

    def __post_init__(self) -> None:
        """Check and sort the antonym pairs as for TOML."""
        object.__setattr__(self, "antonyms", antonyms_of(self.antonyms))

    @cached_property
    def opposites(self) -> Opposites:
        """The antonyms in the form used by comparisons."""
        return opposites_of(self.antonyms)

    @cached_property
    def widely_compared(self) -> tuple[str, ...]:
        """The kinds that are compared with memories of other kinds, sorted by name."""
        wide = (kind for kind, own in self.kinds.items() if kind != "*" and own.conflicts_with == "any_kind")
        return tuple(sorted(wide))

    @cached_property
    def outdating(self) -> tuple[str, ...]:
        """The kinds of which a memory may be marked as outdated by one of another of these kinds, sorted by name."""
        return tuple(sorted(kind for kind, own in self.kinds.items() if kind != "*" and own.updates != "list"))

    @cached_property
    def families(self) -> Mapping[str, tuple[str, ...]]:
        """The kinds of each family, sorted by name."""
        found: dict[str, list[str]] = {}
        for kind, own in sorted(self.kinds.items()):
            if own.family and kind != "*":
                found.setdefault(own.family, []).append(kind)
        return {family: tuple(kinds) for family, kinds in found.items()}

    def for_kind(self, kind: str) -> KindPolicy:
        """The policy of a kind.

        Raises:
            UnknownKind: The policy has neither this kind nor `"*"`.
        """
        found = self.kinds.get(kind) or self.kinds.get("*")
        if found is None:
            pack = pack_of(kind)
            hint = f"It is in the pack {pack.name!r}, which the policy leaves out. " if pack else ""
            raise UnknownKind(f"unknown kind {kind!r}", where="kind", todo=hint + use_one_of(kind, self.kinds))
        return found

    @cached_property
    def hash(self) -> str:
        """16 hex digits over the whole policy except `judging`: when a text is judged does not change how."""
        told = {kind: one for kind, one in self.kinds.items() if _ADDED_KINDS.get(kind) != one}
        plain = json.dumps(_plain(replace(self, kinds=told, judging="now")), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(plain.encode()).hexdigest()[:16]

    def with_conflict(self, kind: str, on_conflict: OnConflict) -> Policy:
        """A copy with another `on_conflict` for one kind, for the argument of a single call."""
        changed = replace(self.for_kind(kind), on_conflict=on_conflict)
        return replace(self, kinds={**self.kinds, kind: changed})

    @classmethod
    def from_packs(cls, *packs: str) -> Policy:
        """The policy with the five basic kinds and the kinds of these packs, and no others.

        Raises:
            InvalidPolicy: There is no pack with this name.

        Example:
            >>> from wellkept import Policy
            >>> sorted(Policy.from_packs("conversations").kinds)[:4]
            ['decision', 'episode', 'fact', 'lesson']
        """
        return cls(kinds=kinds_of(packs))

    @classmethod
    def from_toml(cls, text: str, *, origin: str = "policy") -> Policy:
        """Read a policy from TOML text; `origin` is the file name used in errors.

        Kinds that are not mentioned keep their default. `packs` selects the kinds in addition to the basic five.
        A kind starts from its `preset`, or from its default policy; the keys given replace single values.

        Raises:
            InvalidPolicy: Not TOML, or an invalid key or value; names the line and the allowed values.
        """
        return cls(**PolicyReader(text, origin).fields(parsed_toml(text, where=origin, error=InvalidPolicy)))


def former_default() -> Policy:
    """The default policy of the releases before wordings and marks; their journals name it by its hash.

    Example:
        >>> former_default().for_kind("fact").repeats
        'drop'
    """
    return Policy(kinds={kind: _former(one) for kind, one in DEFAULT_KINDS.items()}, second_reader="off")


def _former(one: KindPolicy) -> KindPolicy:
    return replace(one, repeats="drop", updates="list", family="")


# Kinds and fields added after the first release: at the defaults of their time they do not change the hash.
_ADDED_KINDS: Mapping[str, KindPolicy] = {"preference": _former(DEFAULT_KINDS["preference"])}
_ADDED: Mapping[str, object] = {
    "wikilinks": True,
    "auto_link": 0,
    "auto_link_at": AUTO_LINK_AT,
    "antonyms": [],
    "ask": QUESTIONS_PER_100,
    "answers": "mark",
    "judging": "now",
    "second_reader": "off",
    "family": "",
    "repeats": "drop",
    "updates": "list",
}


def _plain(value: Any) -> Any:
    if isinstance(value, str | int | float):  # most are
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        plain = {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
        return {name: item for name, item in plain.items() if _ADDED.get(name, _ADDED) != item}
    return value
