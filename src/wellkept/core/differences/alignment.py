"""Two texts laid side by side: which clauses speak about the same thing, and what was put in place of what."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import LCSseq

from wellkept.core.lexicon import Language
from wellkept.core.reading.tokens import Clause, Features, Token
from wellkept.core.reading.values import same_value
from wellkept.core.text.forms import excerpt

PAIR_AT = 0.5
"""Two clauses may speak about the same thing when they share this part of the shorter one."""
_MAX_POSTINGS = 24


@dataclass(frozen=True, slots=True)
class Slot:
    """A run of words of one clause that stands where the other has another run."""

    a: tuple[Token, ...]
    b: tuple[Token, ...]
    a_at: int
    b_at: int


@dataclass(frozen=True, slots=True)
class Frame:
    """Two clauses aligned.

    Attributes:
        matched: Content tokens both have, in the same order.
        ratio: The part of all content tokens that is matched.
        slots: What was replaced.
        only_a / only_b: What one has and the other has nothing in its place for.
        moved: Content tokens both have, in another order.
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
    """Clauses of both texts by what they share, best first, and what is left on either side."""
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
    """Pairs of free clauses that share enough, the most alike first; words of many clauses do not count."""
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
    """Aligns two clauses by their longest common run of content."""
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
    """What of the gaps was moved, what replaced, what stands alone."""
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
    """Equal stems are not enough where a final e makes another word (plan, plane)."""
    if x.lower == y.lower or x.value is not None:
        return True
    return not (language.grammar.final_e_tells and (x.lower + "e" == y.lower or y.lower + "e" == x.lower))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts aligned: the frames and what found no counterpart."""

    a: Features
    b: Features
    frames: tuple[Frame, ...]
    rest_a: tuple[Clause, ...]
    rest_b: tuple[Clause, ...]


def align(a: Features, b: Features) -> Pair:
    """Lays two texts side by side."""
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
"""Characters of a finding's words that are kept."""


def span(tokens: Iterable[Token]) -> str:
    """The words of a finding as the reader sees them."""
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
