"""Reads an answer: a closed set of words, at most two statements joined by `and`.

```
new                     it is none of them
repeats 1[,2]           it says the same, or less
replaces 1[,2]          it is the current truth, and they are not
replaces part of 1[,2]  it is the current truth about one thing that they say; the rest of them holds
outdated by 1           it is old news: the candidate is the current truth
adds to 1               it adds to the candidate, and both hold
keep both 1             it contradicts the candidate, and both stand
not worth keeping
repeats 2 and replaces 1
```
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from wellkept.errors import InvalidAnswer
from wellkept.types import AnswerPart, AnswerVerb

ANSWERS = (
    "new, repeats 1, replaces 1, replaces part of 1, outdated by 1, adds to 1, keep both 1, not worth keeping; "
    "several candidates as in 'repeats 1,2', two statements as in 'repeats 2 and replaces 1'"
)
"""What an answer may be, for messages and instructions."""
HOW = "new | repeats N[,N] | replaces [part of] N[,N] | outdated by N | adds to N | keep both N | not worth keeping"
"""The answers, in short."""
LONGEST = 200
"""Maximum length of an answer, in characters."""
_ALONE: tuple[AnswerVerb, ...] = ("new", "not worth keeping")
_OF_SEVERAL: tuple[AnswerVerb, ...] = ("repeats", "replaces", "replaces part of")
_OF_ONE: tuple[AnswerVerb, ...] = ("outdated by", "adds to", "keep both")
_JOINED: tuple[frozenset[AnswerVerb], ...] = (
    frozenset(("repeats", "replaces")),
    frozenset(("repeats", "replaces part of")),
    frozenset(("repeats", "outdated by")),
    frozenset(("repeats", "keep both")),
    frozenset(("replaces", "replaces part of")),
    frozenset(("replaces", "adds to")),
    frozenset(("replaces", "keep both")),
    frozenset(("replaces part of", "adds to")),
    frozenset(("replaces part of", "keep both")),
    frozenset(("adds to", "keep both")),
)
"""Pairs of verbs that can hold together, of different candidates."""
_PART = re.compile(r"([a-z ]+?)(?: +([0-9][0-9, ]*))?")


def choices_of(numbers: Iterable[int]) -> tuple[str, ...]:
    """The answers of one statement about these candidates, for a choice in a form.

    Example:
        >>> choices_of([1])[:5]
        ('new', 'repeats 1', 'replaces 1', 'replaces part of 1', 'outdated by 1')
    """
    each = [f"{verb} {number}" for number in numbers for verb in (*_OF_SEVERAL, *_OF_ONE)]
    return (_ALONE[0], *each, _ALONE[1])


def answer_of(text: str, numbers: Collection[int]) -> tuple[AnswerPart, ...]:
    """The statements of an answer, in a fixed order.

    Args:
        text: The answer; case, spaces and a full stop at its end do not matter.
        numbers: The numbers of the question's candidates.

    Raises:
        InvalidAnswer: The text is none of the answers, names another number, or contradicts itself.

    Example:
        >>> [str(part) for part in answer_of("Replaces 1 and repeats 2", (1, 2, 3))]
        ['repeats 2', 'replaces 1']
    """
    plain = " ".join(text[: LONGEST + 1].casefold().replace("_", " ").split()).removesuffix(".").strip()
    if not plain or len(text) > LONGEST:
        raise _wrong(text, f"{'nothing' if not plain else 'a text of over 200 characters'} is no answer")
    parts = tuple(_part(one.strip(), text, numbers) for one in plain.split(" and "))
    if len(parts) > 2:
        raise _wrong(text, "an answer has at most two statements")
    if len(parts) == 2:
        _check_joined(parts, text)
    order = (*_ALONE, *_OF_SEVERAL, *_OF_ONE)
    return tuple(sorted(parts, key=lambda part: order.index(part.verb)))


def standard_form(parts: Collection[AnswerPart]) -> str:
    """The answer in words, the same for every way to write it.

    Example:
        >>> standard_form(answer_of("REPEATS 2, 1.", (1, 2)))
        'repeats 1,2'
    """
    return " and ".join(map(str, parts))


def _part(text: str, whole: str, numbers: Collection[int]) -> AnswerPart:
    found = _PART.fullmatch(text)
    verb = next((one for one in (*_ALONE, *_OF_SEVERAL, *_OF_ONE) if found and found[1] == one), None)
    if found is None or verb is None:
        raise _wrong(whole, f"{text[:40]!r} is no answer")
    said = found[2] or ""
    named = [one for one in re.split(r"[ ,]+", said) if one]
    chosen = tuple(sorted({int(one) for one in named if len(one) < 4}))
    if verb in _ALONE:
        if named:
            raise _wrong(whole, f"{verb!r} takes no number")
        return AnswerPart(verb)
    if not named:
        raise _wrong(whole, f"{verb!r} needs the number of a candidate")
    unknown = next((one for one in named if len(one) > 3 or int(one) not in numbers), None)
    if unknown is not None:
        listed = ", ".join(map(str, sorted(numbers))) or "none"
        raise _wrong(whole, f"there is no candidate {unknown[:8]}; there are {listed}")
    if verb in _OF_ONE and len(chosen) > 1:
        raise _wrong(whole, f"{verb!r} takes one number")
    return AnswerPart(verb, chosen)


def _check_joined(parts: tuple[AnswerPart, ...], whole: str) -> None:
    """Two statements must be able to hold together, and be about different candidates."""
    first, second = parts
    if frozenset((first.verb, second.verb)) not in _JOINED:
        raise _wrong(whole, f"{first.verb!r} and {second.verb!r} cannot both hold")
    twice = set(first.numbers) & set(second.numbers)
    if twice:
        raise _wrong(whole, f"candidate {min(twice)} stands in both statements")


def _wrong(text: str, what: str) -> InvalidAnswer:
    return InvalidAnswer(what, where=repr(text[:60]), todo=f"Answer with one of: {ANSWERS}")
