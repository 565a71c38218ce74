"""The head over the sentence vector that knows chatter: fitted on stories, measured on authors that it never saw.

    python -m training.keeping --out build/keeping.json --quality quality/stories.jsonl

A logistic regression over `wellkept.core.judging.chatter` learns which writes are noise: from the training stories,
from short lines of our own (`chatter/`), most of them short facts that look like chatter, and from the facts
of dossiers and training cases. The penalty is chosen on `select`, the thresholds on `calibrate`: the lowest
probabilities at which the share of wrong acts among the writes that are worth keeping stays under its bound, with 95 %
confidence by a bootstrap over stories; the bounds hold for `--facts` too. `--quality` and `--others` are only reported.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from training.material import cases
from training.stories import CALIBRATING, TRAINING, stories
from wellkept.core.gate.worth_keeping import is_small_talk
from wellkept.core.judging.chatter import ChatterHead, facts_of
from wellkept.core.text.forms import is_junk
from wellkept.core.text.letter_groups import BUCKETS, LetterWeights, letters_of
from wellkept.models.minilm import MiniLmEmbedder

LINES = Path(__file__).parent / "chatter"
DOSSIERS, SHORT = Path(__file__).parent / "dossiers", 60
"""Where further facts come from, and the longest that counts as short."""
CASES, LONGEST = 12_000, 120
"""Facts of the training cases, and the longest of them."""
PENALTIES = (50.0, 100.0, 300.0)
"""Of squared weights of standardised features."""
OF_LETTERS = 1 / 1156
"""Penalty of the weights of letters, which are not standardised, over that of the others."""
MOST_REJECTED, MOST_LOWERED = 0.005, 0.02
"""Largest share of writes worth keeping that may be rejected, and that may be stored with low importance."""
LEAST_SURE, LEAST_LOW = 0.7, 0.35
"""No text is rejected, or stored with low importance, below. .53 kept the bound, and refused plain sentences about
software in our own tests; at .2 a few likings had low importance."""
ROUNDS, STEPS, ENOUGH = 10, 60, 0.003
"""Newton's rounds, steps of each, and the change of a weight that ends them."""
RESAMPLED, SEED, DECIMALS = 1000, 1, 4

Numbers: TypeAlias = NDArray[np.float64]
Single: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class Lines:
    """Texts with their vectors and facts; without those that the rule for junk refuses.

    Attributes:
        noise: Whether each says nothing worth keeping.
        story: The story of each; empty outside stories.
        junk: Lines of noise, and lines worth keeping, that the rule refuses.
    """

    texts: list[str]
    vectors: NDArray[np.float32]
    noise: NDArray[np.bool_]
    story: list[str]
    author: list[str]
    junk: tuple[int, int] = (0, 0)

    @property
    def rows(self) -> Numbers:
        """The features of each line."""
        return np.hstack([self.vectors.astype(np.float64), np.array([facts_of(text) for text in self.texts])])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("build/vectors"), help="folder for vectors")
    parser.add_argument("--quality", type=Path, help="stories that are only reported")
    parser.add_argument("--facts", type=Path, help="plain facts, one a line, that bound rejections too")
    parser.add_argument("--others", type=Path, nargs="*", default=[], help="text files, one plain fact a line")
    args = parser.parse_args()
    train = of_stories(*TRAINING, cache=args.cache), of_lines(args.cache), of_cases(args.cache)
    select, calibrate = of_stories("select", cache=args.cache), of_stories(*CALIBRATING, cache=args.cache)
    tried = {penalty: fitted(train, penalty) for penalty in PENALTIES}
    losses = {penalty: loss(head, select) for penalty, head in tried.items()}
    print("log loss on select:", {penalty: round(value, 4) for penalty, value in losses.items()})
    head = tried[min(losses, key=lambda penalty: losses[penalty])]
    reject_at, low_at = (least_of(head, calibrate, most) for most in (MOST_REJECTED, MOST_LOWERED))
    if args.facts:
        facts = _facts(args.facts, args.cache)
        reject_at = max(reject_at, least_for_facts(head, facts, MOST_REJECTED))
        low_at = max(low_at, least_for_facts(head, facts, MOST_LOWERED))
    head = replace(head, reject_at=max(LEAST_SURE, reject_at), low_at=max(LEAST_LOW, low_at))
    print(f"reject at {head.reject_at}, low importance at {head.low_at}")
    for author in sorted(set(calibrate.author)):
        report(head, _of_author(calibrate, author), f"calibrate {author}")
    report(head, calibrate, "calibrate")
    if args.quality:
        report(head, of_stories(args.quality.stem, folder=args.quality.parent, cache=args.cache), "quality")
    for path in args.others:
        report(head, _facts(path, args.cache), path.stem)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    plain = {"embedder": MiniLmEmbedder.id, **_plain(head)}
    args.out.write_text(json.dumps(plain) + "\n", encoding="utf-8")


# --------------------------------------------------------------------------------------------
# Lines


def of_stories(*files: str, cache: Path, folder: Path | None = None) -> Lines:
    """The writes of stories."""
    found = stories(*files, folder=folder) if folder else stories(*files)
    told = [(story, line) for story in found for line in story.lines]
    return lines_of(
        [line.text for _, line in told],
        [line.act == "noise" for _, line in told],
        cache,
        story=[story.id for story, _ in told],
        author=[story.author for story, _ in told],
    )


def of_lines(cache: Path) -> Lines:
    """Our own lines, and short facts of the dossiers, which are all worth keeping."""
    files = sorted(LINES.glob("*.jsonl"))
    told = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    told += [
        {**line, "text": form} for line in told if line["keep"] for form in _forms(line["text"]) if form != line["text"]
    ]
    facts = [
        text
        for path in sorted(DOSSIERS.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
        for fact in json.loads(line)["facts"]
        for text in fact["same"][-1:]
        if len(text) <= SHORT
    ]
    texts = [line["text"] for line in told] + facts
    return lines_of(texts, [not line["keep"] for line in told] + [False] * len(facts), cache)


def of_cases(cache: Path) -> Lines:
    """Facts of the training cases, which are all worth keeping: most talk of work, software and homes."""
    facts = sorted({text for case in cases("train") for texts in case.parts.values() for text in texts})
    facts = [text for text in facts if len(text) <= LONGEST]
    random.Random(SEED).shuffle(facts)
    return lines_of(facts[:CASES], [False] * len(facts[:CASES]), cache)


def _forms(text: str) -> tuple[str, ...]:
    """The same fact in other dress, so that neither a full stop nor a capital letter makes it one."""
    bare = text.removesuffix(".").removesuffix("!")
    return bare, bare[:1].lower() + bare[1:], bare + "!"


def _facts(path: Path, cache: Path) -> Lines:
    texts = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return lines_of(texts, [False] * len(texts), cache)


def lines_of(
    texts: Sequence[str],
    noise: Sequence[bool],
    cache: Path,
    *,
    story: Sequence[str] = (),
    author: Sequence[str] = (),
) -> Lines:
    """Texts with their vectors; what the embedder cannot read, and junk, is left out."""
    vectors = embedded(texts, cache)
    junk = np.array([is_junk(text) is not None for text in texts])
    kept = [at for at, text in enumerate(texts) if not junk[at] and vectors[at].any()]
    said = np.array(noise, dtype=bool)
    return Lines(
        [texts[at] for at in kept],
        vectors[kept],
        said[kept],
        [story[at] for at in kept] if story else [""] * len(kept),
        [author[at] for at in kept] if author else [""] * len(kept),
        (int((junk & said).sum()), int((junk & ~said).sum())),
    )


def embedded(texts: Sequence[str], cache: Path) -> NDArray[np.float32]:
    """The vectors of the packaged embedder, kept on disk; zeros for a text that it cannot read."""
    key = hashlib.sha256("\0".join([MiniLmEmbedder.id, *texts]).encode()).hexdigest()[:16]
    path = cache / f"{key}.npy"
    if path.exists():
        return np.load(path)  # type: ignore[no-any-return]
    cache.mkdir(parents=True, exist_ok=True)
    embedder, found = MiniLmEmbedder(), np.zeros((len(texts), MiniLmEmbedder.dim), dtype=np.float32)
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    for start in range(0, len(order), 64):
        block = order[start : start + 64]
        for at, made in zip(block, embedder.embed([texts[at] for at in block]), strict=True):
            if made.vector is not None:
                found[at] = made.vector
    np.save(path, found)
    return found


def _of_author(lines: Lines, author: str) -> Lines:
    at = [place for place, one in enumerate(lines.author) if one == author]
    return Lines(
        [lines.texts[place] for place in at],
        lines.vectors[at],
        lines.noise[at],
        [lines.story[place] for place in at],
        [author] * len(at),
    )


# --------------------------------------------------------------------------------------------
# Fit and thresholds


def fitted(lines: Sequence[Lines], penalty: float) -> ChatterHead:
    """A logistic regression by Newton's method, with its weights rounded as they ship."""
    rows, noise = np.vstack([some.rows for some in lines]), np.concatenate([some.noise for some in lines])
    mean, width = rows.mean(0), rows.std(0) + 1e-9
    plain = np.hstack([(rows - mean) / width, np.ones((len(rows), 1))]).astype(np.float32)
    values = _Values(plain, [text for some in lines for text in some.texts])
    pull = np.full(values.width, penalty, dtype=np.float32)
    pull[plain.shape[1] :] = penalty * OF_LETTERS
    pull[plain.shape[1] - 1] = 1e-9
    weights = np.zeros(values.width, dtype=np.float32)
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(values.times(weights), -30, 30)))
        slope = values.turned_times(noise.astype(np.float32) - chance) - pull * weights
        step = _step(values, chance * (1 - chance), pull, slope)
        weights = weights + step
        if np.abs(step).max() < ENOUGH:
            break
    of_rows, of_letters = weights[: plain.shape[1]], weights[plain.shape[1] :]
    by_width = of_rows[:-1] / width
    shipped = [round(float(weight), DECIMALS) for weight in by_width]
    unit = float(np.abs(of_letters).max()) / 127
    return ChatterHead(
        tuple(shipped[: MiniLmEmbedder.dim]),
        tuple(shipped[MiniLmEmbedder.dim :]),
        LetterWeights(np.round(of_letters / unit).astype(np.int8).tolist(), round(unit, 6)),
        round(float(of_rows[-1] - by_width @ mean), DECIMALS),
        reject_at=2.0,
        low_at=2.0,
    )


class _Values:
    """What the regression sees of all texts: rows of numbers, and the groups of letters of each, which are few of many.

    Args:
        plain: (texts, numbers).
        texts: The texts.
    """

    def __init__(self, plain: Single, texts: Sequence[str]) -> None:
        groups = [sorted(letters_of(text)) for text in texts]
        counts = np.array([len(found) for found in groups])
        self._plain, self.width = plain, plain.shape[1] + BUCKETS
        self._groups = np.array([group for found in groups for group in found])
        self._of = np.repeat(np.arange(len(texts)), counts)
        self._share = (1 / np.sqrt(np.maximum(1, counts))).astype(np.float32)

    def times(self, weights: Single) -> Single:
        """The sum of each text under these weights."""
        numbers = self._plain.shape[1]
        letters = np.bincount(self._of, weights[numbers:][self._groups], len(self._share)) * self._share
        return self._plain @ weights[:numbers] + letters.astype(np.float32)

    def turned_times(self, texts: Single) -> Single:
        """The sum of each weight's column, every text times its number."""
        letters = np.bincount(self._groups, (texts * self._share)[self._of], BUCKETS)
        return np.concatenate([self._plain.T @ texts, letters.astype(np.float32)])


def _step(values: _Values, bends: Single, pull: Single, slope: Single) -> Single:
    """Newton's step by conjugate gradients: the matrix is never made."""
    step, rest = np.zeros_like(slope), slope.copy()
    way, size = rest.copy(), float(rest @ rest)
    for _ in range(STEPS):
        bent = values.turned_times(bends * values.times(way)) + pull * way
        far = size / float(way @ bent)
        step, rest = step + np.float32(far) * way, rest - np.float32(far) * bent
        before, size = size, float(rest @ rest)
        if size < 1e-6:
            break
        way = rest + np.float32(size / before) * way
    return step


def scores_of(head: ChatterHead, lines: Lines) -> Numbers:
    """The probability of each line, as the product computes it; 0 where the product does not ask."""
    return np.array(
        [
            head.read(text, lines.vectors[at]).probability if is_small_talk(text) else 0.0
            for at, text in enumerate(lines.texts)
        ]
    )


def loss(head: ChatterHead, lines: Lines) -> float:
    """The mean log loss."""
    scores = np.clip(scores_of(head, lines), 1e-4, 1 - 1e-4)
    return float(-np.log(np.where(lines.noise, scores, 1 - scores)).mean())


def least_of(head: ChatterHead, lines: Lines, most: float) -> float:
    """The lowest probability at which wrong acts on writes worth keeping stay under the bound."""
    scores, resampled = scores_of(head, lines), _Resampled(lines)
    least = 2.0
    for step in range(99, 19, -1):
        if resampled.upper(scores >= step / 100) > most:
            break
        least = step / 100
    return least


def least_for_facts(head: ChatterHead, facts: Lines, most: float) -> float:
    """The lowest probability at which the share of acts on plain facts stays under the bound."""
    scores = scores_of(head, facts)
    allowed = (step / 100 for step in range(20, 100) if (scores >= step / 100).mean() <= most)
    return next(allowed, 2.0)


class _Resampled:
    """Shares among the writes worth keeping, over resampled stories."""

    def __init__(self, lines: Lines) -> None:
        names = {name: place for place, name in enumerate(sorted(set(lines.story)))}
        self._keep = ~lines.noise
        self._of = np.array([names[name] for name in lines.story])
        self._size = np.bincount(self._of, weights=self._keep.astype(float), minlength=len(names))
        self._chosen = np.random.default_rng(SEED).integers(0, len(names), (RESAMPLED, len(names)))

    def upper(self, acted: NDArray[np.bool_]) -> float:
        """The upper bound of the share, with 95 % confidence."""
        wrong = np.bincount(self._of, weights=(acted & self._keep).astype(float), minlength=len(self._size))
        return float(np.quantile(wrong[self._chosen].sum(1) / self._size[self._chosen].sum(1), 0.95))


def report(head: ChatterHead, lines: Lines, name: str) -> None:
    """Print the share of noise that is refused, and of writes worth keeping that are."""
    scores, keep = scores_of(head, lines), ~lines.noise
    noise, kept = int(lines.noise.sum()) + lines.junk[0], int(keep.sum()) + lines.junk[1]
    by_head = scores >= head.reject_at
    low = (scores >= head.low_at) & ~by_head
    wrong, upper = int((by_head & keep).sum()) + lines.junk[1], _Resampled(lines).upper(by_head)
    print(
        f"{name}: noise refused {(int((by_head & lines.noise).sum()) + lines.junk[0]) / max(1, noise):.3f} of {noise}"
        f" (by the rule alone {lines.junk[0] / max(1, noise):.3f}), low {int((low & lines.noise).sum())}; "
        f"wrongly refused {wrong} of {kept} = {wrong / max(1, kept):.4f}, at most {upper:.4f}; "
        f"wrongly low {int((low & keep).sum())}"
    )
    for at in np.flatnonzero(by_head & keep)[:12]:
        print(f"   wrongly refused {scores[at]:.4f}: {lines.texts[at][:100]}")


def _plain(head: ChatterHead) -> dict[str, object]:
    return {
        "reject_at": head.reject_at,
        "low_at": head.low_at,
        "bias": head.bias,
        "facts": list(head.facts),
        "vector": list(head.vector),
        "step": head.letters.step,
        "letters": base64.b64encode(np.array(head.letters.weights, dtype=np.int8).tobytes()).decode(),
    }


if __name__ == "__main__":
    main()
