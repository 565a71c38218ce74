"""Small words that change what is said: may and must, only, at least, he and she, by and for, a question.

Alignment looks at content; here the words between the content are compared, where all else agrees. Every
finding is a veto: it forbids to call two texts the same and claims no conflict.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from wellkept.core.lexicon import Language, in_all_languages
from wellkept.core.lexicon.language import Meanings
from wellkept.core.reading.alignment import Pair
from wellkept.core.reading.tokens import Clause, Features, Token
from wellkept.core.text.forms import canonical

Finding = tuple[str, str]
"""The words on either side."""

Blocks = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""The two parts that changed places, and what stands between them."""

_OPERATORS = {
    "≥": ">=", "≤": "<=", "≠": "!=", "⇒": "→", "⇐": "←", "⟶": "→", "⟵": "←", "↔": "↔", "⇔": "↔", "↑": "↑", "↓": "↓",
    ">": ">", "<": "<", ">=": ">=", "<=": "<=", "!=": "!=", "==": "==", "=": "==", "→": "→", "←": "←", "≈": "≈",
    "∈": "∈", "∉": "∉", "⊂": "⊂", "⊃": "⊃", "∧": "∧", "∨": "∨", "±": "±", "×": "×", "÷": "÷", "~": "≈", "*": "*",
}  # fmt: skip
_ASKING = ("?", "？", "؟")
_FEET = re.compile(r"\d+'{1,2}(?![^\W_])")
_STROKE = re.compile("\\d[\"'\u2018\u2019\u201d\u2032\u2033]")
_LINKING_SIGNS = frozenset(("/", "&", "=", "=="))
_MAX_BLOCK = 4
_CLOSE = 0.5


_SILENT = frozenset("must should can all exactly he she once if == > <".split())


def particle_vetoes(pair: Pair) -> Finding | None:
    """The first thing in which the small words of two otherwise agreeing texts do not agree."""
    asked = _question(pair.a), _question(pair.b)
    if asked[0] != asked[1]:
        return ("?", ".") if asked[0] else (".", "?")
    lengths = _lengths(pair.a), _lengths(pair.b)
    if lengths[0] and lengths[1] and lengths[0] != lengths[1]:
        return " ".join(lengths[0]), " ".join(lengths[1])
    for a, b in _close(pair):
        found = _meanings(a, b, pair) or _roles(a, b, pair) or _swap(a, b, pair)
        if found:
            return found
    return None


def asks(text: str) -> bool:
    """Whether a text ends as a question does; what is asked states nothing.

    Example:
        >>> asks("Where did Ana move?"), asks("Ana moved.")
        (True, False)
    """
    return text.rstrip(" \n\t\"'”»)`*!").endswith(_ASKING)


def _question(own: Features) -> bool:
    return asks(own.text)


def _lengths(own: Features) -> list[str]:
    """Numbers with the mark of feet or inches."""
    return sorted(_FEET.findall(canonical(own.text))) if _STROKE.search(own.text) else []


def _close(pair: Pair) -> Iterable[tuple[Clause, Clause]]:
    for item in pair.frames[:40]:
        if item.ratio >= _CLOSE or item.moved:
            yield item.a, item.b
    if not pair.frames and len(pair.a.clauses) == len(pair.b.clauses) == 1:
        yield pair.a.clauses[0], pair.b.clauses[0]


# --------------------------------------------------------------------------------------------
# Meanings


def _meanings(a: Clause, b: Clause, pair: Pair) -> Finding | None:
    left, right = _read(a, pair.a.language), _read(b, pair.b.language)
    for group in sorted({group for group, _ in (*left, *right)}):
        ours = {meaning: text for (g, meaning), text in left.items() if g == group}
        theirs = {meaning: text for (g, meaning), text in right.items() if g == group}
        if ours.keys() == theirs.keys():
            continue
        replaced = bool(ours) and bool(theirs)
        if replaced or not (ours.keys() | theirs.keys()) <= _SILENT:
            return ", ".join(ours.values()), ", ".join(theirs.values())
    return None


def meanings(clause: Clause, language: Language, *groups: str) -> frozenset[tuple[str, str]]:
    """What the small words of a clause mean in some of the groups ("bound", "quantity", "only" …)."""
    return frozenset(found for found in _read(clause, language) if found[0] in groups)


def _read(clause: Clause, language: Language) -> dict[tuple[str, str], str]:
    """(group, meaning) of each small word of a clause, its condition cues included, and how it is written."""
    found: dict[tuple[str, str], str] = {}
    table = language.particles.meanings
    for place, token in enumerate(clause.tokens):
        if token.text in _OPERATORS and token.value is None and (place or token.text != "*"):
            found[("operator", _OPERATORS[token.text])] = token.text
    if not language.grammar.spaced:
        _read_run("".join(token.lower for token in clause.tokens), table, found)
        return found
    words = [token.lower for token in clause.tokens]
    place = 0
    while place < len(words):
        place += _match(clause.tokens, words, place, table, found)
    for _, _, cue in clause.conditions:
        parts = tuple(cue.split())
        for phrase, group, meaning in table.get(parts[0], ()):
            if phrase == parts:
                found[(group, meaning)] = cue
    return found


def _match(
    tokens: Sequence[Token],
    words: Sequence[str],
    place: int,
    table: Meanings,
    found: dict[tuple[str, str], str],
) -> int:
    """Notes the phrase that begins here; how many words it takes."""
    value = tokens[place].value
    if value is not None and value.kind in ("date", "time"):
        return 1
    for phrase, group, meaning in table.get(words[place], ()):
        plain = phrase[:-1] if phrase[-1] == "#" else phrase
        end = place + len(plain)
        if tuple(words[place:end]) != plain:
            continue
        if len(plain) < len(phrase) and not (end < len(tokens) and tokens[end].value is not None):
            continue
        if place and words[place - 1] in in_all_languages("contrasting"):
            return len(plain)  # "not only" adds, it does not limit
        found[(group, meaning)] = " ".join(plain)
        return len(plain)
    return 1


def _read_run(
    text: str,
    table: Meanings,
    found: dict[tuple[str, str], str],
) -> None:
    place = 0
    while place < len(text):
        for phrase, group, meaning in table.get(text[place], ()):
            if text.startswith(phrase[0], place):
                found[(group, meaning)] = phrase[0]
                place += len(phrase[0]) - 1
                break
        place += 1


# --------------------------------------------------------------------------------------------
# Roles


def _roles(a: Clause, b: Clause, pair: Pair) -> Finding | None:
    """ "deployed by Anna" and "deployed for Anna": another preposition before the same word."""
    left, right = _governed(a, pair.a.language), _governed(b, pair.b.language)
    for key in sorted(left.keys() & right.keys()):
        if left[key] and right[key] and left[key] != right[key]:
            return f"{left[key]} {key}", f"{right[key]} {key}"
    return None


def _governed(clause: Clause, language: Language) -> dict[str, str]:
    roles, spaced = language.particles.roles, language.grammar.spaced
    counts = Counter(clause.keys)
    found: dict[str, str] = {}
    for key, at in zip(clause.keys, clause.content, strict=True):
        if counts[key] == 1:
            before = clause.tokens[max(0, at - 2) : at]
            near = [token.lower for token in reversed(before)]
            while near and near[0] not in roles and spaced and not before[-1].content and len(near) > 1:
                near = near[1:]
            found[key] = near[0] if near and near[0] in roles else ""
    return found


def _swap(a: Clause, b: Clause, pair: Pair) -> Finding | None:
    """ "A depends on B" and "B depends on A", in any script: two parts in each other's place."""
    language = pair.a.language
    if a.keys == b.keys and [t.lower for t in a.tokens] == [t.lower for t in b.tokens]:
        return None
    linking = language.blockers | language.articles | _LINKING_SIGNS
    whole_a, whole_b = tuple(t.lower for t in a.tokens), tuple(t.lower for t in b.tokens)
    found = _blocks(whole_a, whole_b)
    if found and not set(found[2]) <= linking and not _free_order(found, a, b):
        return _swapped_text(found, " " if language.grammar.spaced else "")
    found = _blocks(a.keys, b.keys)
    if not found or len(a.tokens) != len(b.tokens) or a.conditions != b.conditions:
        return None
    if not language.grammar.cases and Counter(whole_a) - Counter(a.keys) != Counter(whole_b) - Counter(b.keys):
        return None  # "low volume weekends" and "weekends with low volume"
    if any(_governed_alike(key, a, b) for key in (*found[0], *found[1])):
        return None
    return _swapped_text(found, " ")


def _swapped_text(found: Blocks, glue: str) -> Finding:
    first, second, middle = found
    return glue.join((*first, *middle, *second)), glue.join((*second, *middle, *first))


def _free_order(found: Blocks, a: Clause, b: Clause) -> bool:
    """Points in time and words whose article tells their case may stand at either end of a clause."""
    dated = {t.lower for t in (*a.tokens, *b.tokens) if t.value and t.value.kind in ("date", "time")}
    moved, cased = {*found[0], *found[1]}, in_all_languages("cased_articles")
    return bool(dated & moved) or any(len(block) > 1 and block[0] in cased for block in found[:2])


def _governed_alike(key: str, a: Clause, b: Clause) -> bool:
    """Did the word move with its article or preposition and its ending, so that its role is the same?"""
    at = a.content[a.keys.index(key)]
    before, form = _before(key, a)
    if a.tokens[at].value is not None:
        return True
    return (before, form) == _before(key, b) and before != "" and before not in in_all_languages("bare_articles")


def _before(key: str, clause: Clause) -> tuple[str, str]:
    at = clause.content[clause.keys.index(key)]
    previous = clause.tokens[at - 1] if at else None
    return (previous.lower if previous and not previous.content else ""), clause.tokens[at].lower


def _blocks(a: Sequence[str], b: Sequence[str]) -> Blocks | None:
    """X, Y and M, when one text says … X M Y … where the other says … Y M X …; M is never empty."""
    if len(a) != len(b) or a == b or Counter(a) != Counter(b):
        return None
    start = next(n for n in range(len(a)) if a[n] != b[n])
    tail = next(n for n in range(len(a)) if a[-1 - n] != b[-1 - n])
    left, right = tuple(a[start : len(a) - tail]), tuple(b[start : len(b) - tail])
    size = len(left)
    for i in range(1, min(_MAX_BLOCK, size - 2) + 1):
        if left[:i] != right[size - i :]:
            continue
        for j in range(1, min(_MAX_BLOCK, size - i - 1) + 1):
            if left[size - j :] == right[:j] and left[i : size - j] == right[j : size - i]:
                return left[:i], left[size - j :], left[i : size - j]
    return None
