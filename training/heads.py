"""The heads over the list: fitted on the calibration authors, measured by leaving one author out.

    python -m training.heads --cache build/opinions.json [--near NEAR.txt] [--strange STRANGE.txt] [--others | --both]

Each line of a calibration story is compared with earlier lines as the gate compares it: the nearest, and those that
share most words (`core.judging.what_to_ask.chosen`); the relation model that ships reads them together. A logistic
regression over `core.judging.list_head` learns when to fold and when to mark. It is fitted in stores that hold the
story alone and in stores that hold a crowd of texts besides.

The least probability of each act is the lowest at which the share of wrong acts among all writes stays under its bound
in every store: alone, and beside 1,000 and 20,000 strangers, whose texts are not those of the fit if `--strange` names
others. The bound holds for English and for the other languages, with 95 % confidence by a bootstrap over stories, since
the lines of one story are dependent; no author's own share exceeds twice the bound, where the author has so many writes
that one mistake does not.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from training.material import cases
from training.package import RUNTIME, WEIGHTS, pin
from training.stories import CALIBRATING, Line, Story, labels_of, stories
from wellkept.core.judging.calibration import MINILM
from wellkept.core.judging.letters import ChangeCues
from wellkept.core.judging.list_head import Act, Read, ReadTwice, features_of
from wellkept.core.judging.what_to_ask import chosen, is_left_open
from wellkept.core.reading.language_detection import is_english
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.relation import PackagedRelationModel
from wellkept.models.tokenizer.pairs import LABELS
from wellkept.types import Memory, NewMemory, Opinion

ACTS: tuple[Act, ...] = ("fold", "mark")
CONSIDERED = 24
"""Nearest texts among which those to read are chosen, as the gate does."""
SMALL, LARGE = 1_000, 20_000
"""Strangers in the store."""
MOST_WRONG = {"balanced": 0.01, "strict": 0.005}
"""Largest share of wrong acts among all writes, by the risk of the policy."""
PENALTY = 10.0
"""Of squared weights of standardised features; the sets are small."""
ROUNDS, ENOUGH = 40, 1e-6
RESAMPLED, SEED, CONFIDENCE = 400, 1, 0.95
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
AT_ONCE = 512
"""Lists read between two states of the cache."""
HIGHEST, LOWEST = 0.99, 0.30
"""Probabilities that are tried as bounds, in steps of a hundredth."""

Numbers: TypeAlias = NDArray[np.float64]
Vectors: TypeAlias = NDArray[np.float32]
Listing: TypeAlias = tuple[str, tuple[str, ...]]
"""A new text and the older ones that are read beside it."""


@dataclass(frozen=True)
class Crowd:
    """Texts that belong to no story, with their unit vectors."""

    texts: tuple[str, ...]
    vectors: Vectors


@dataclass(frozen=True)
class Listed:
    """A line with the earlier texts that are read beside it.

    Attributes:
        texts: The texts that the model reads, with their cosines.
        labels: How the line relates to each of them; a stranger is always distinct.
    """

    story: Story
    line: Line
    texts: tuple[tuple[str, float], ...]
    labels: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Case:
    """One line for one act.

    Attributes:
        features: What the head sees of each candidate, shape (candidates, features).
        right: Whether the act is right with each candidate.
        counts: Whether a wrong act with it is an error; some acts are neither right nor wrong.
        wanted: Whether the line asks for the act.
    """

    author: str
    story: str
    english: bool
    features: Numbers
    right: NDArray[np.bool_]
    counts: NDArray[np.bool_]
    wanted: bool


@dataclass(frozen=True)
class Chosen:
    """The candidate of a case that a head would act on.

    Attributes:
        probability: Of the act.
        right: Whether the act is right.
        wrong: Whether it is an error.
    """

    probability: float
    right: bool
    wrong: bool


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="+", default=list(CALIBRATING))
    parser.add_argument("--near", type=Path, help="strangers of the fit, one text a line; default: training cases")
    parser.add_argument("--strange", type=Path, help="strangers of the bounds, one text a line")
    parser.add_argument("--cache", type=Path, required=True, help="opinions that are known; written")
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--others", action="store_true", help="fit for other languages only; English stays as it is")
    some.add_argument("--both", action="store_true", help="fit the heads that know both readers of English")
    args = parser.parse_args()
    found = [
        story
        for story in stories(*args.files)
        if not (args.others and story.lang == "en" or args.both and story.lang != "en")
    ]
    near = crowd_of((lines(args.near) if args.near else of_cases())[:LARGE])
    strange = crowd_of(lines(args.strange)[:LARGE]) if args.strange else near
    few = Crowd(strange.texts[:SMALL], strange.vectors[:SMALL])
    nobody = Crowd((), np.zeros((0, 384), dtype=np.float32))
    embedded = embedded_lines(found)
    stores = {
        name: listed(found, crowd, embedded)
        for name, crowd in {"alone": nobody, "fit": near, "1k": few, "20k": strange}.items()
    }
    # Both readers say more than the first, so what they say has a file of its own.
    cache = args.cache.with_stem(args.cache.stem + "-both") if args.both else args.cache
    known = Opinions(cache, PackagedRelationModel(second_reader=args.both))
    known.read(item for items in stores.values() for item in items)
    card = WEIGHTS / "relation.json"
    settings = json.loads(card.read_text(encoding="utf-8"))
    if args.both:
        print("What the first reader alone would do under the same fit:")
        for act in ACTS:
            made(act, {name: cases_of(act, items, _FirstAlone(known)) for name, items in stores.items()})
        print("What both do:")
    ships, heads = settings.get("heads", {}), {}
    for act in ACTS:
        heads[act] = made(act, {name: cases_of(act, items, known) for name, items in stores.items()})
    if args.both:
        fitted_now = {"heads_of_both": {act: with_others_of(head, ships[act]) for act, head in heads.items()}}
    else:
        heads = {act: with_others_of(ships[act], head) for act, head in heads.items()} if args.others else heads
        fitted_now = {"heads": heads}
    pieces = settings.pop("pieces")
    card.write_text(json.dumps({**settings, **fitted_now, "pieces": pieces}, ensure_ascii=False, indent=1) + "\n")
    pin(RUNTIME, CARD_SHA256=card)


def with_others_of(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, object]:
    """The old head, with what the new one has for other languages than English."""
    least = {risk: {**bounds, "other": new["least"][risk]["other"]} for risk, bounds in old["least"].items()}
    weights = old["weights"] + [0.0] * (len(new["weights"]) - len(old["weights"]))  # of features that came later
    return {**old, "weights": weights, "elsewhere": new["elsewhere"], "least": least}


# --------------------------------------------------------------------------------------------
# Candidates and opinions


def lines(path: Path) -> list[str]:
    """The texts of a file, one a line."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def of_cases() -> list[str]:
    """The sentences of the training cases, in a fixed random order."""
    found = sorted({text for case in cases("train") for texts in case.parts.values() for text in texts})
    random.Random(SEED).shuffle(found)
    return found


def crowd_of(texts: Sequence[str]) -> Crowd:
    """The texts that can be embedded, with their vectors."""
    pairs = [(text, one.vector) for text, one in zip(texts, MiniLmEmbedder().embed(texts), strict=True)]
    kept = [(text, vector) for text, vector in pairs if vector is not None]
    return Crowd(tuple(text for text, _ in kept), np.array([vector for _, vector in kept], dtype=np.float32))


def embedded_lines(found: Iterable[Story]) -> dict[str, list[Vectors | None]]:
    """The vectors of the lines of each story, by its id."""
    embedder = MiniLmEmbedder()
    return {story.id: [item.vector for item in embedder.embed([line.text for line in story.lines])] for story in found}


def listed(found: Iterable[Story], crowd: Crowd, embedded: Mapping[str, Sequence[Vectors | None]]) -> list[Listed]:
    """Each line of the stories after the first, with the texts that are read beside it."""
    items = []
    for story in found:
        vectors = embedded[story.id]
        for place, line in enumerate(story.lines):
            own = vectors[place]
            if own is not None and place:
                before = [(at, vector) for at in range(place) if (vector := vectors[at]) is not None]
                items.append(_listed(story, line, own, before, crowd))
    return items


def _listed(story: Story, line: Line, own: Vectors, before: Sequence[tuple[int, Vectors]], crowd: Crowd) -> Listed:
    told = [(float(own @ vector), story.lines[at].text, labels_of(story.lines[at], line)) for at, vector in before]
    if crowd.texts:
        near = crowd.vectors @ own
        places = np.argpartition(-near, CONSIDERED)[:CONSIDERED]
        told += [(float(near[at]), crowd.texts[at], ("distinct",)) for at in places.tolist()]
    told = sorted(told, key=lambda item: -item[0])[:CONSIDERED]

    new = NewMemory(content=line.text)

    def is_open(place: int) -> bool:
        cosine, text, _ = told[place]
        old = Memory(id="old", namespace="stories", content=text, created_at=LONG_AGO, updated_at=LONG_AGO)
        return is_left_open(new, old, MINILM.similarity(cosine))

    read = chosen(line.text, [text for _, text, _ in told], is_open)
    return Listed(story, line, tuple((told[at][1], told[at][0]) for at in read), tuple(told[at][2] for at in read))


class Knowing(Protocol):
    """What knows the opinions on lists."""

    def of(self, item: Listed) -> Sequence[Opinion | None]:
        """The opinions on the texts of a line, in order."""
        ...


class Opinions:
    """The opinions of the relation model on lists, kept in a file so that a stopped run continues.

    Args:
        path: The file.
        model: The relation model.
    """

    def __init__(self, path: Path, model: PackagedRelationModel) -> None:
        self._path, self._model = path, model
        self._known: dict[Listing, list[Opinion | None]] = {}
        if path.exists():
            for new, texts, told in json.loads(path.read_text(encoding="utf-8")):
                self._known[new, tuple(texts)] = [_opinion(shares) for shares in told]

    def of(self, item: Listed) -> list[Opinion | None]:
        """The opinions on the texts of a line that was read, in order."""
        return self._known[_listing(item)]

    def all(self) -> Mapping[Listing, Sequence[Opinion | None]]:
        """The opinions on every list that was read."""
        return self._known

    def keep(self, told: Mapping[Listing, Sequence[Opinion | None]]) -> None:
        """Keep opinions on further lists."""
        self._known.update((listing, list(opinions)) for listing, opinions in told.items())
        self._save()

    def read(self, items: Iterable[Listed]) -> None:
        """Read the unknown lists."""
        missing = [listing for listing in dict.fromkeys(map(_listing, items)) if listing not in self._known]
        for start in range(0, len(missing), AT_ONCE):
            block = missing[start : start + AT_ONCE]
            self._known.update(zip(block, self._model.read_lists(block), strict=True))
            print(f"{start + len(block)} of {len(missing)} lists read", flush=True)
            self._save()

    def _save(self) -> None:
        rows = [(*listing, [told and _shares(told) for told in opinions]) for listing, opinions in self._known.items()]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


class _FirstAlone:
    """The opinions without those of the second reader of English."""

    def __init__(self, known: Opinions) -> None:
        self._known = known

    def of(self, item: Listed) -> list[Opinion | None]:
        """The opinions on the texts of a line that was read, in order."""
        told = self._known.of(item)
        return [replace(one, third=None) if isinstance(one, ReadTwice) else one for one in told]


def _listing(item: Listed) -> Listing:
    return item.line.text, tuple(text for text, _ in item.texts)


def _shares(told: Opinion) -> list[list[float]]:
    twice = (told.first, told.second, *([told.third] if told.third else [])) if isinstance(told, ReadTwice) else ()
    return [[one.of(label) for label in LABELS] for one in (told, *twice)]


def _opinion(shares: list[list[float]] | None) -> Opinion | None:
    if shares is None:
        return None
    told, *twice = (Opinion(*one) for one in shares)
    return ReadTwice(*shares[0], first=twice[0], second=twice[1], third=(*twice, None)[2]) if twice else told


def cases_of(act: Act, items: Iterable[Listed], known: Knowing) -> list[Case]:
    """The cases of all lines for an act. An old value told late may be folded and marked, so it is left out."""
    found = []
    for item in items:
        if item.line.act == "late":
            continue
        rows = [
            (Read(text, cosine, opinion), labels)
            for (text, cosine), labels, opinion in zip(item.texts, item.labels, known.of(item), strict=True)
            if opinion is not None
        ]
        if rows:
            found.append(_case(act, item, [read for read, _ in rows], [labels for _, labels in rows]))
    return found


@lru_cache(maxsize=1)
def packaged_cues() -> ChangeCues:
    """The weights of letters that ship."""
    return ChangeCues.of(json.loads((WEIGHTS / "relation.json").read_text(encoding="utf-8"))["cues"])


def _case(act: Act, item: Listed, read: Sequence[Read], told: Sequence[tuple[str, ...]]) -> Case:
    features = np.array(features_of(act, item.line.text, read, packaged_cues()))
    if act == "fold":
        wanted = item.line.act == "restates"
        right = [wanted and not {"same", "generalises"}.isdisjoint(labels) for labels in told]
        counts = [True] * len(told)
    else:
        wanted = item.line.act == "updates"
        right = [wanted and labels == ("conflict",) for labels in told]
        # A restatement of the new value contradicts the old one too.
        counts = [labels != ("conflict",) for labels in told]
    story, english = item.story, is_english(item.line.text)
    return Case(story.author, story.id, english, features, np.array(right), np.array(counts), wanted)


# --------------------------------------------------------------------------------------------
# Fit and bounds


def made(act: Act, cases: Mapping[str, Sequence[Case]]) -> dict[str, object]:
    """The weights of an act, and its least probability by risk."""
    scores = left_out(cases)
    measured = {name: (cases[name], scores[name]) for name in cases if name != "fit"}
    least = {
        risk: {
            group: max(least_of(some, choices, most, english=group == "english") for some, choices in measured.values())
            for group in ("english", "other")
        }
        for risk, most in MOST_WRONG.items()
    }
    for name, (some, choices) in measured.items():
        report(act, name, some, choices, least["balanced"])
    whole, others = by_language([case for name in ("alone", "fit") for case in cases[name]])
    return {**plain_of(*whole), "elsewhere": plain_of(*others), "least": least}


def plain_of(weights: Numbers, bias: float) -> dict[str, object]:
    """Weights and bias as they stand in the card."""
    return {"weights": [round(float(item), 5) for item in weights], "bias": round(bias, 5)}


def by_language(cases: Sequence[Case]) -> tuple[tuple[Numbers, float], tuple[Numbers, float]]:
    """The head for English, fitted on all languages, and that for the others, fitted on them alone.

    On *select* the first is better in English than one of English alone, and worse elsewhere than one without English.
    """
    others = [case for case in cases if not case.english]
    return fitted(cases), fitted(others or cases)


def fitted(cases: Sequence[Case]) -> tuple[Numbers, float]:
    """Weights and bias of a logistic regression with a penalty on squared weights, by Newton's method."""
    kept = [case.right | case.counts for case in cases]
    values = np.vstack([case.features[some] for case, some in zip(cases, kept, strict=True)])
    right = np.concatenate([case.right[some] for case, some in zip(cases, kept, strict=True)]).astype(np.float64)
    mean, width = values.mean(0), values.std(0) + 1e-9
    rows = np.hstack([(values - mean) / width, np.ones((len(values), 1))])
    penalty = np.full(rows.shape[1], PENALTY)
    penalty[-1] = 0.0
    weights = np.zeros(rows.shape[1])
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (right - chance) - penalty * weights
        bend = (rows * (chance * (1 - chance))[:, None]).T @ rows + np.diag(penalty + 1e-9)
        step = np.linalg.solve(bend, slope)
        weights = weights + step
        if np.abs(step).max() < ENOUGH:
            break
    plain = weights[:-1] / width
    return plain, float(weights[-1] - plain @ mean)


def left_out(cases: Mapping[str, Sequence[Case]]) -> dict[str, list[Chosen]]:
    """What a head that has not seen the author chooses in each case, by store."""
    fit = [case for name in ("alone", "fit") for case in cases[name]]
    heads = {
        author: by_language([case for case in fit if case.author != author])
        for author in sorted({case.author for case in fit})
    }
    return {
        name: [chosen_in(case, *heads[case.author][0 if case.english else 1]) for case in some]
        for name, some in cases.items()
    }


def chosen_in(case: Case, weights: Numbers, bias: float) -> Chosen:
    """The candidate that is most probable under a head."""
    chances = 1 / (1 + np.exp(-np.clip(case.features @ weights + bias, -30, 30)))
    best = int(chances.argmax())
    right = bool(case.right[best])
    return Chosen(float(chances[best]), right, bool(case.counts[best]) and not right)


def least_of(cases: Sequence[Case], scores: Sequence[Chosen], most: float, *, english: bool) -> float:
    """The lowest probability at which wrong acts stay under the bound, in English or in the other languages."""
    kept = [place for place, case in enumerate(cases) if case.english is english]
    if not kept:
        return LOWEST
    some, chances = [cases[place] for place in kept], np.array([scores[place].probability for place in kept])
    wrong = np.array([scores[place].wrong for place in kept])
    of, size = _numbered([case.story for case in some])
    whose, written = _numbered([case.author for case in some])
    enough = written >= 1 / most  # of fewer writes a single mistake is too large a share
    drawn = np.random.default_rng(SEED).integers(0, len(size), (RESAMPLED, len(size)))
    least = 2.0
    for step in range(round(HIGHEST * 100), round(LOWEST * 100) - 1, -1):
        acted = (wrong & (chances >= step / 100)).astype(float)
        errors = np.bincount(of, weights=acted, minlength=len(size))
        shares = errors[drawn].sum(1) / size[drawn].sum(1)
        by_author = np.bincount(whose, weights=acted, minlength=len(written)) / written
        worst = by_author[enough].max(initial=0.0)
        if np.quantile(shares, CONFIDENCE) > most or worst > 2 * most:
            break
        least = step / 100
    return least


def _numbered(names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The number of each name, and how often each number occurs."""
    places = {name: place for place, name in enumerate(sorted(set(names)))}
    numbers = np.array([places[name] for name in names])
    return numbers, np.bincount(numbers)


def report(act: Act, store: str, cases: Sequence[Case], scores: Sequence[Chosen], least: Mapping[str, float]) -> None:
    """Print, by author and language, the share of wanted acts done and of wrong acts among all writes."""
    groups = {author: [case.author == author for case in cases] for author in sorted({case.author for case in cases})}
    groups |= {
        "English": [case.english for case in cases],
        "other languages": [not case.english for case in cases],
        "all": [True] * len(cases),
    }
    bars = [least["english" if case.english else "other"] for case in cases]
    print(f"{act} from {least['english']:.2f} in English, {least['other']:.2f} in other languages; {store}")
    for name, members in groups.items():
        wanted = sum(case.wanted for case, of in zip(cases, members, strict=True) if of)
        acts = [one for one, bar, of in zip(scores, bars, members, strict=True) if of and one.probability >= bar]
        done = sum(one.right for one in acts) / max(1, wanted)
        wrong = sum(one.wrong for one in acts) / max(1, sum(members))
        print(f"    {name}: done {done:.3f}, wrong {wrong:.4f} of {sum(members)} writes")


if __name__ == "__main__":
    main()
