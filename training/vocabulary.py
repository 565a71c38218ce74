"""The vocabulary: MiniLM's 30,522 pieces, and further words and characters of the training material.

Without them, unknown Chinese and Japanese characters would all be the unknown piece, and frequent words of other
scripts would be split into letters. Added pieces are learnt from the training material alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from wellkept.models.tokenizer.wordpiece import Tokenizer

LEAST_CHARACTER, LEAST_WORD = 2, 4
MOST_ADDED = 2600


def added(pieces: Mapping[str, int], texts: Iterable[tuple[str, str]]) -> list[tuple[str, list[int]]]:
    """Words and characters to add, most frequent first, each with the pieces that initialise it."""
    tokenizer = Tokenizer(pieces)
    counts: dict[str, int] = defaultdict(int)
    starts: dict[str, list[int]] = {}
    for lang, text in texts:
        if lang == "en":
            continue
        for word in tokenizer.words(text):
            if word in pieces or not word.isalpha():
                continue
            counts[word] += 1
            if word not in starts:
                starts[word] = tokenizer.encode(word).ids
    chosen = [
        word
        for word, count in counts.items()
        if count >= (LEAST_CHARACTER if len(word) == 1 else LEAST_WORD) and (len(word) == 1 or len(starts[word]) > 2)
    ]
    chosen.sort(key=lambda word: (-counts[word], word))
    return [(word, starts[word]) for word in chosen[:MOST_ADDED]]
