"""Alignment of two texts: which clauses are about the same thing, and which words replace which."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from rapidfuzz.distance import LCSseq

from wellkept.core.lexicon import Language
from wellkept.core.reading.tokens import Clause, Features, Token
from wellkept.core.reading.values import same_value
from wellkept.core.text.forms import excerpt
from wellkept.frozen import frozen

PAIR_AT = 0.5
"""Least share of common words of the shorter clause from which two clauses may be about the same thing."""
CLOSE = 0.5
"""Least share of matched words of two clauses in which one thing replaces another."""
COVERED = 0.75
"""Least share of the shorter clause that a clause must repeat to deny it."""
MAX_SLOT = 4
"""Most words in one place that are taken for one thing."""
_MAX_POSTINGS = 24
"""Most clauses in which a word occurs that counts as common; more frequent words distinguish nothing."""


@frozen
class Slot:
    """Words of one clause in the place of other words of the other clause.

    Attributes:
        a / b: The words of each clause.
        a_at / b_at: The position of the first of them among the tokens of its clause.
    """

    a: tuple[Token, ...]
    b: tuple[Token, ...]
    a_at: int
    b_at: int


@frozen
class Frame:
    """Two clauses aligned.

    Attributes:
        a / b: The clauses.
        matched: Content tokens that both have, in the same order.
        ratio: The share of all content tokens that is matched, from 0 to 1.
        slots: Words in the place of other words.
        only_a / only_b: Content tokens of one clause that replace nothing in the other.
        moved: The number of content tokens that both have in another order.
    """

    a: Clause
    b: Clause
    matched: tuple[Token, ...]
    ratio: float
    slots: tuple[Slot, ...]
    only_a: tuple[Token, ...]
    only_b: tuple[Token, ...]
    moved: int


def pair_clauses(a: Features, b: Features) -> tuple[list[tuple[Clause, Clause]], list[Clause], list[Clause]]:
    """Pairs of clauses with common words, the most similar first, and the clauses of each text that are left."""
    left, right = list(a.clauses), list(b.clauses)
    if len(left) == 1 and len(right) == 1:
        shared = a.keys & b.keys
        return ([(left[0], right[0])], [], []) if shared else ([], left, right)
    pairs: list[tuple[Clause, Clause]] = []
    free_a, free_b = set(range(len(left))), set(range(len(right)))
    equal: dict[tuple[tuple[str, ...], int], deque[int]] = {}
    for j, clause in enumerate(right):
        equal.setdefault((clause.keys, len(clause.negations) % 2), deque()).append(j)
    for i, clause in enumerate(left):
        places = equal.get((clause.keys, len(clause.negations) % 2))
        if places:
            j = places.popleft()
            pairs.append((clause, right[j]))
            free_a.discard(i)
            free_b.discard(j)
    for i, j in _ranked(left, right, free_a, free_b):
        if i in free_a and j in free_b:
            pairs.append((left[i], right[j]))
            free_a.discard(i)
            free_b.discard(j)
    return pairs, [left[i] for i in sorted(free_a)], [right[j] for j in sorted(free_b)]


def _ranked(
    left: Sequence[Clause], right: Sequence[Clause], free_a: set[int], free_b: set[int]
) -> list[tuple[int, int]]:
    """Pairs of free clauses that share enough words, the most similar first; words of many clauses do not count."""
    postings: dict[str, list[int]] = {}
    theirs = {j: set(right[j].keys) for j in free_b}
    for j in sorted(free_b):
        for key in theirs[j]:
            postings.setdefault(key, []).append(j)
    scored: list[tuple[float, int, int, int]] = []
    for i in sorted(free_a):
        own = set(left[i].keys)
        counts: Counter[int] = Counter()
        for key in own:
            places = postings.get(key, ())
            if len(places) <= _MAX_POSTINGS:
                counts.update(places)
        for j, shared in counts.items():
            score = shared / max(1, min(len(own), len(theirs[j])))
            if score >= PAIR_AT:
                scored.append((-score, -shared, i, j))
    return [(i, j) for _, _, i, j in sorted(scored)]


def frame(a: Clause, b: Clause, language: Language) -> Frame:
    """Aligns two clauses by the longest common subsequence of their content words."""
    total = len(a.keys) + len(b.keys)
    if a.keys == b.keys and _same_surface(a, b, language):
        matched = tuple(a.tokens[place] for place in a.content)
        return Frame(a, b, matched, 1.0, (), (), (), 0)
    same: list[Token] = []
    gaps: list[tuple[list[int], list[int]]] = []
    open_gap: tuple[list[int], list[int]] = ([], [])
    for code in LCSseq.opcodes(a.keys, b.keys):
        if code.tag == "equal":
            for i, j in zip(range(code.src_start, code.src_end), range(code.dest_start, code.dest_end), strict=True):
                x, y = a.tokens[a.content[i]], b.tokens[b.content[j]]
                if _alike(x, y, language):
                    same.append(x)
                    if open_gap[0] or open_gap[1]:
                        gaps.append(open_gap)
                        open_gap = ([], [])
                else:
                    open_gap[0].append(i)
                    open_gap[1].append(j)
        else:
            open_gap[0].extend(range(code.src_start, code.src_end))
            open_gap[1].extend(range(code.dest_start, code.dest_end))
    if open_gap[0] or open_gap[1]:
        gaps.append(open_gap)
    slots, only_a, only_b, moved = _sort_gaps(a, b, gaps)
    # A name of several words fills one place.
    total -= sum(len(side) - 1 for slot in slots for side in (slot.a, slot.b) if all(t.proper or t.value for t in side))
    return Frame(a, b, tuple(same), 2 * len(same) / max(1, total), slots, only_a, only_b, moved)


def _sort_gaps(
    a: Clause, b: Clause, gaps: list[tuple[list[int], list[int]]]
) -> tuple[tuple[Slot, ...], tuple[Token, ...], tuple[Token, ...], int]:
    """Sorts the words between the matches: slots, words of one clause alone, and the number of moved words."""
    count_a = Counter(a.keys[i] for gap in gaps for i in gap[0])
    count_b = Counter(b.keys[j] for gap in gaps for j in gap[1])
    shared = {key for key in count_a.keys() & count_b.keys()}
    moved = sum(min(count_a[key], count_b[key]) for key in shared)
    slots: list[Slot] = []
    only_a: list[Token] = []
    only_b: list[Token] = []
    for left, right in gaps:
        xs = [i for i in left if a.keys[i] not in shared]
        ys = [j for j in right if b.keys[j] not in shared]
        x_tokens = tuple(a.tokens[a.content[i]] for i in xs)
        y_tokens = tuple(b.tokens[b.content[j]] for j in ys)
        if len(xs) == len(ys) and all(map(_same_token_value, x_tokens, y_tokens)):
            continue
        if xs and ys:
            slots.append(Slot(x_tokens, y_tokens, a.content[xs[0]], b.content[ys[0]]))
        only_a += x_tokens if not ys else ()
        only_b += y_tokens if not xs else ()
    return tuple(slots), tuple(only_a), tuple(only_b), moved


def _same_token_value(x: Token, y: Token) -> bool:
    return x.value is not None and y.value is not None and same_value(x.value, y.value)


def _same_surface(a: Clause, b: Clause, language: Language) -> bool:
    return all(_alike(a.tokens[i], b.tokens[j], language) for i, j in zip(a.content, b.content, strict=True))


def _alike(x: Token, y: Token, language: Language) -> bool:
    """Whether two words of equal stems are one word; not where a final e makes another word (plan, plane)."""
    if x.lower == y.lower or x.value is not None:
        return True
    return not (language.grammar.final_e_tells and (x.lower + "e" == y.lower or y.lower + "e" == x.lower))


@frozen
class Pair:
    """Two aligned texts: their frames, and the clauses of each that have no counterpart."""

    a: Features
    b: Features
    frames: tuple[Frame, ...]
    rest_a: tuple[Clause, ...]
    rest_b: tuple[Clause, ...]


def align(a: Features, b: Features) -> Pair:
    """Aligns two texts."""
    pairs, rest_a, rest_b = pair_clauses(a, b)
    frames = tuple(frame(x, y, a.language) for x, y in pairs)
    return Pair(a, b, frames, tuple(c for c in rest_a if c.keys), tuple(c for c in rest_b if c.keys))


def mirrored(pair: Pair) -> Pair:
    """The same alignment seen from the other text."""
    return Pair(pair.b, pair.a, tuple(map(_mirror, pair.frames)), pair.rest_b, pair.rest_a)


def _mirror(item: Frame) -> Frame:
    slots = tuple(Slot(slot.b, slot.a, slot.b_at, slot.a_at) for slot in item.slots)
    return Frame(item.b, item.a, item.matched, item.ratio, slots, item.only_b, item.only_a, item.moved)


SPAN = 80
"""Most characters of the words that a difference quotes."""


def span(tokens: Iterable[Token]) -> str:
    """The words that a difference quotes, as written."""
    listed = list(tokens)
    glue = "" if listed and all(token.char for token in listed) else " "
    return excerpt(glue.join(token.text for token in listed), SPAN)


def cue_span(clause: Clause) -> str:
    """The negating words of a clause, as evidence."""
    parts = []
    for at, cue in clause.negations:
        head = clause.tokens[clause.content[at]].text if at < len(clause.content) else ""
        parts.append(f"{cue} {head}".strip())
    if parts:
        return excerpt(", ".join(parts), SPAN)
    return span(clause.tokens[place] for place in clause.content[:4])
