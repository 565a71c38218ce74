"""What is worth keeping: the content filter, the recording filter, and the opinion of the embedder's head on chatter.

Precision comes first: a text is refused only when all of it is filler, or when the head is so sure that it errs on less
than one in two hundred texts that are worth keeping. Each refusal names its reason and is journaled with the text, so
that it can be restored.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from wellkept.core.judging.chatter import Chatter
from wellkept.core.lexicon import lexicon
from wellkept.core.reading.chat_turns import asks, speaker
from wellkept.core.reading.lexer import prepared, token_pattern
from wellkept.core.text.forms import is_junk
from wellkept.policy import KindPolicy
from wellkept.types import NewMemory, Reason

INFORMATIONAL_FRAMES = frozenset({"conversation", "question", "creative"})
_HEAD = 500
LOW_IMPORTANCE = 0.2
"""Importance of a text that is probably chatter, unless the caller gave one."""
SURE_OF_QUESTION = 0.95
"""Least probability at which a question is rejected: none of the 779 that the calibration authors ask their stores."""
LONGEST_CHATTER = 80
"""Characters; a longer text says something."""
_CODE = frozenset({"url", "mail", "ip", "version", "flag", "path", "special", "dotted", "mixed"})
"""Tokens of the lexer that no small talk contains: `app.config`, `src/a/b.py`, `max_size`, `v2`, `utf8`, `C++`."""
_SETTING = re.compile(r"\w[\w-]*(?:: |\uff1a ?)\w[^\s?]+(?: [^\s?]+)?")
"""A name with its value, as in "indent: tabs", and no smiley."""
_CODE_SIGNS = re.compile(r"`|[a-z][A-Z]|\w\(\)|\w=\w|\w::\w|->")
"""Other signs of code: quotes of code, camelCase, calls, assignments, paths of names, arrows."""
_TERM = re.compile(r"[A-Za-z]{3}")
_NOT_LATIN = re.compile("[\u0370-\u058f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Greek to Armenian, kana, ideographs and hangul; a word in Latin letters beside them is a name or a term."""
_CLAUSE_ENDS = re.compile("[,:;.!?()\n\u00a1\u00bf\u2014\u2013\u2026\u3001\u3002\uff0c\uff1a\uff1b\uff01\uff1f]+")
"""Signs between two clauses, in all scripts."""
_NEUTRAL = NewMemory.__dataclass_fields__["importance"].default


def status_markers() -> tuple[str, ...]:
    """The phrases of all languages that mark a status report, in the order in which they are looked for."""
    return tuple(marker for language in lexicon().languages.values() for marker in language.status_markers)


def is_instruction(text: str) -> bool:
    """Whether a clause of a text tells an agent what to do, in any language: it begins with such a word and goes on.

    Example:
        >>> is_instruction("For all tests, use pytest."), is_instruction("never mind")
        (True, False)
    """
    plain = text.lower().replace("\u2019", "'")
    return any(_opens(clause.strip(), "instructing") for clause in _CLAUSE_ENDS.split(plain))


def _opens(clause: str, words: Literal["instructing", "not_instructing"]) -> bool:
    """Whether a clause begins with a phrase of a list; an instruction goes on after it."""
    if not clause.startswith(_phrases(words)):
        return False  # as nearly every clause
    if words == "instructing" and _opens(clause, "not_instructing"):
        return False
    for language in lexicon().languages.values():
        for phrase in getattr(language, words):
            rest = clause[len(phrase) :]
            if not clause.startswith(phrase) or words == "instructing" and not rest:
                continue
            if not rest or not language.grammar.spaced or rest[0].isspace():
                return True
    return False


@lru_cache(maxsize=2)
def _phrases(words: Literal["instructing", "not_instructing"]) -> tuple[str, ...]:
    """The phrases of a list in all languages."""
    return tuple({phrase for language in lexicon().languages.values() for phrase in getattr(language, words)})


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


def is_plain(new: NewMemory, policy: KindPolicy) -> bool:
    """Whether the head on chatter may speak of a text.

    It may for kinds with the content filter that are compared by vector. A text that has a title, a summary, a subject
    or a trigger, that is pinned, or that must be kept is not chatter, whatever its words are. Neither is an
    instruction.
    """
    said = new.keep or new.pinned or new.title or new.summary or new.subject or new.trigger
    compared = policy.admit == "content" and "vector" in policy.stages
    return compared and not said and is_small_talk(new.content) and not is_instruction(new.content)


def is_small_talk(text: str) -> bool:
    """Whether a text may be small talk: it is short, links to no memory, names no speaker, and is no setting or code.

    A word in Latin letters counts as code in a text of another script.

    Example:
        >>> is_small_talk("off to lunch"), is_small_talk("retry_limit is per host")
        (True, False)
    """
    if len(text) > LONGEST_CHATTER or "[[" in text or speaker(text):
        return False
    if _SETTING.fullmatch(text.strip()) or _CODE_SIGNS.search(text) or _TERM.search(text) and _NOT_LATIN.search(text):
        return False
    return all(found.lastgroup not in _CODE for found in token_pattern().finditer(prepared(text)))


def chatter_refusal(new: NewMemory, policy: KindPolicy, chatter: Chatter | None) -> Reason | None:
    """The reason why a text is rejected as chatter; None when it is not.

    A question may be something to look into: it is rejected only when its words are surely chatter ("coffee?").
    """
    if chatter is None or chatter.probability < chatter.reject_at or not is_plain(new, policy):
        return None
    if asks(new.content) and chatter.probability < SURE_OF_QUESTION:
        return None
    return Reason("chatter", f"probability {chatter.probability:.4f}")


def low_weight(new: NewMemory, policy: KindPolicy, chatter: Chatter | None) -> Reason | None:
    """The reason why a text is stored with low importance; None when it is not, or the caller gave an importance."""
    if chatter is None or chatter.probability < chatter.low_at or not is_plain(new, policy):
        return None
    if new.importance != _NEUTRAL:
        return None
    return Reason("low_importance", f"{LOW_IMPORTANCE}; probability {chatter.probability:.4f}")


def _not_a_decision(new: NewMemory) -> Reason | None:
    if new.frame in INFORMATIONAL_FRAMES:
        return Reason("recording_filter", f"a {new.frame} frame records no decision")
    head = new.content[:_HEAD].lower().replace("\u2019", "'")
    for marker in status_markers():
        if marker in head:
            return Reason("recording_filter", f"informational: {marker!r}")
    return None
