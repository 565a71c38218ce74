"""Stories with questions, played online under heads that have not seen their author, alone and among strangers.

    python -m training.asked --cache build/opinions.json --near NEAR.txt --strange STRANGE.txt --out build/asked.json

The stories of each calibration author are played under heads and bounds that are fitted on the other authors only, as
`training.heads` fits them; a story of another file (`--stories`) is played under the heads that ship. Each story has a
store of its own, which holds so many strangers' sentences besides (`--crowd`). A reader answers each question at once,
and the figures are those of `wellkept eval stories --ask --no-subject`, at the end of the story.

The strangers are written once, judged by rules and without questions, into a file beside `--out`, which is copied for
each story. What is played is kept in `--out`, so that a stopped run continues.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import wellkept
from training.heads import (
    ACTS,
    LARGE,
    SMALL,
    Case,
    Crowd,
    Listing,
    Opinions,
    cases_of,
    crowd_of,
    embedded_lines,
    lines,
    listed,
    made,
    of_cases,
    packaged_cues,
)
from training.stories import CALIBRATING, HERE
from training.stories import stories as told_stories
from wellkept.core.judging.list_head import Head
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.evaluation.asked.endings import StoryEnd, figures
from wellkept.evaluation.asked.readers import Reader, reader_of
from wellkept.evaluation.asked.running import play
from wellkept.evaluation.labelled_files import Story, read_stories, spread
from wellkept.evaluation.run import Setup, StoryClock, Warm, embedded_text
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.relation import PackagedRelationModel
from wellkept.policy import Policy, Risk
from wellkept.types import Opinion

Heads: TypeAlias = Mapping[str, Mapping[str, Any]]
"""For each act weights, bias and least probabilities, as the card of the model holds them."""
Sums: TypeAlias = dict[str, tuple[float, float]]
"""For each figure the sums that it is the ratio of."""
NAMESPACE = "store"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
AT_ONCE = 64
FIRST_OF_STORY = 1_000_000
"""Number of the first id of a story; those of the strangers are smaller."""
PER_100 = ("shown_twice_per_100", "questions_per_100", "tokens_per_100")


class WithHeads:
    """The relation model that ships, with other heads; a list that is known is not read again.

    Args:
        opinions: What is known; further opinions are kept there.
        heads: The heads; those that ship if there are none.
    """

    id = PackagedRelationModel.id
    defers, repeatable = False, True

    def __init__(self, opinions: Opinions, heads: Heads | None) -> None:
        self._model, self._opinions, self._heads = PackagedRelationModel(), opinions, heads
        self._known = {_unordered(listing): _by_text(listing, told) for listing, told in opinions.all().items()}
        self._pairs: dict[tuple[str, str], Opinion | None] = {}
        self.read_anew: dict[Listing, list[Opinion | None]] = {}

    def bounds(self, risk: Risk) -> Bounds:
        """See `RelationModel.bounds`."""
        bounds = self._model.bounds(risk)
        if self._heads is None:
            return bounds
        fold, mark = (Head.of(self._heads[act], risk, packaged_cues()) for act in ACTS)
        return replace(bounds, fold=fold, mark=mark)

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        """See `RelationModel.read`."""
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in self._pairs]
        self._pairs.update(zip(missing, self._model.read(missing), strict=True))
        return [self._pairs[pair] for pair in pairs]

    def read_lists(self, lists: Sequence[tuple[str, Sequence[str]]]) -> list[list[Opinion | None]]:
        """See `ListReading.read_lists`: the order of the older texts does not matter."""
        given: list[Listing] = [(new, tuple(texts)) for new, texts in lists]
        missing = [one for one in dict.fromkeys(given) if _unordered(one) not in self._known]
        for listing, told in zip(missing, self._model.read_lists(missing), strict=True):
            self.read_anew[listing] = told
            self._known[_unordered(listing)] = _by_text(listing, told)
        return [[self._known[_unordered(one)][text] for text in one[1]] for one in given]

    def keep(self) -> None:
        """Keep what was read anew."""
        if self.read_anew:
            self._opinions.keep(self.read_anew)
            self.read_anew = {}


def _unordered(listing: Listing) -> tuple[str, frozenset[str]]:
    return listing[0], frozenset(listing[1])


def _by_text(listing: Listing, told: Sequence[Opinion | None]) -> dict[str, Opinion | None]:
    named = (one and replace(one, model=PackagedRelationModel.id) for one in told)
    return dict(zip(listing[1], named, strict=True))


# --------------------------------------------------------------------------------------------
# Heads without an author


def heads_without(authors: Iterable[str], cases: Mapping[str, Mapping[str, Sequence[Case]]]) -> dict[str, Heads]:
    """For each author the heads and bounds of the others.

    Args:
        authors: The authors.
        cases: The cases of each act, by store.
    """
    return {
        author: {
            act: made(act, {name: [one for one in some if one.author != author] for name, some in cases[act].items()})
            for act in ACTS
        }
        for author in authors
    }


def cases_in_stores(near: Crowd, strange: Crowd, opinions: Opinions) -> dict[str, dict[str, list[Case]]]:
    """The cases of the calibration stories for each act, by store, as `training.heads` has them."""
    found = told_stories(*CALIBRATING)
    embedded = embedded_lines(found)
    crowds = {
        "alone": Crowd((), np.zeros((0, 384), dtype=np.float32)),
        "fit": near,
        "1k": Crowd(strange.texts[:SMALL], strange.vectors[:SMALL]),
        "20k": strange,
    }
    stores = {name: listed(found, crowd, embedded) for name, crowd in crowds.items()}
    opinions.read(item for items in stores.values() for item in items)
    return {act: {name: cases_of(act, items, opinions) for name, items in stores.items()} for act in ACTS}


# --------------------------------------------------------------------------------------------
# Play


def write_strangers(path: Path, strangers: Sequence[str], setup: Setup) -> None:
    """A store of strangers' sentences, older than all stories, judged by rules and without questions."""
    clock = StoryClock()
    clock.now = LONG_AGO
    policy = replace(setup.policy, ask=0.0)
    made = path.with_suffix(".part")
    with wellkept.open(
        made, policy=policy, embedder=setup.embedder, relation_model="none", namespace=NAMESPACE, clock=clock,
        new_id=_ids(1),
    ) as store:  # fmt: skip
        for start in range(0, len(strangers), AT_ONCE):
            items = [{"content": text, "kind": setup.kind, "keep": True} for text in strangers[start : start + AT_ONCE]]
            store.remember_many(items, on_conflict="ignore")
    made.rename(path)


def played(found: Sequence[Story], setup: Setup, reader: Reader, around: Path | None) -> list[StoryEnd]:
    """The ends of the stories, each in a store of its own."""
    clock, ends = StoryClock(), []
    for story in found:
        texts = [embedded_text(write.kind, write.text) for write in story.writes]
        setup.embedder.embed([*texts, *(query.text for query in story.queries)])
        with ExitStack() as stack:
            place: str | Path = "memory:"
            if around is not None:
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                place = Path(shutil.copy(around, folder))
            clock.now = story.writes[0].at
            store = stack.enter_context(
                wellkept.open(
                    place, policy=setup.policy, embedder=setup.embedder, relation_model=setup.relation_model,
                    namespace=NAMESPACE, clock=clock, new_id=_ids(FIRST_OF_STORY),
                )
            )  # fmt: skip
            ends.append(play(story, setup, store, clock, reader))
    return ends


def _ids(first: int) -> Callable[[], str]:
    """Makes ids by number, so that the same stories give the same figures."""
    numbers = count(first)
    return lambda: f"019b8000-0000-7000-8000-{next(numbers):012x}"


def sums_of(ends: Sequence[StoryEnd]) -> Sums:
    """The sums of each figure."""
    return {name: (float(one.hits.sum()), float(one.base.sum())) for name, one in figures(ends).items()}


# --------------------------------------------------------------------------------------------
# Tables


def table(rows: Mapping[str, Mapping[str, Sums]]) -> str:
    """Figures as rows, and a column for each number of questions; one table for each group of stories."""
    said = []
    for group, columns in rows.items():
        said.append(f"\n{group}\n{'questions per 100 writes':<24}" + "".join(f"{ask:>10}" for ask in columns))
        for figure in next(iter(columns.values())):
            said.append(f"{figure:<24}" + "".join(f"{_value(figure, one[figure]):>10}" for one in columns.values()))
    return "\n".join(said)


def _value(figure: str, sums: tuple[float, float]) -> str:
    hits, base = sums
    if not base:
        return "–"
    return f"{100 * hits / base:.1f}" if figure in PER_100 else f"{100 * hits / base:.1f} %"


def total(some: Sequence[Sums]) -> Sums:
    """The sums of several groups together."""
    return {name: (sum(one[name][0] for one in some), sum(one[name][1] for one in some)) for name in some[0]}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stories", type=Path, default=HERE / "calibrate.jsonl", help="the stories that are played")
    parser.add_argument("--near", type=Path, help="strangers of the fit, one text a line; default: training cases")
    parser.add_argument("--strange", type=Path, help="the other strangers, one text a line; default: those of the fit")
    parser.add_argument("--cache", type=Path, required=True, help="opinions that are known; written")
    parser.add_argument("--out", type=Path, required=True, help="what is played; written")
    parser.add_argument("--crowd", default=f"0,{SMALL},{LARGE}", help="strangers in the store")
    parser.add_argument("--ask", default="0,5,10,20,30", help="questions per 100 writes")
    parser.add_argument("--limit", type=int, help="most stories of an author, evenly spread")
    parser.add_argument("--answers", default="oracle", help="oracle, or noisy:0.05")
    args = parser.parse_args()
    opinions = Opinions(args.cache, PackagedRelationModel())
    with args.stories.open("rb") as file:
        found = read_stories(str(args.stories), file)
    by_author: dict[str, list[Story]] = {}
    for story in found:
        by_author.setdefault(story.id.split("-")[0], []).append(story)
    by_author = {author: list(spread(some, args.limit)) for author, some in by_author.items()}
    own = {story.author for story in told_stories(*CALIBRATING)} & by_author.keys()
    kept = _Kept(args.out)
    near = (lines(args.near) if args.near else of_cases())[:LARGE]
    strange = lines(args.strange)[:LARGE] if args.strange else near
    if own and "heads" not in kept.held:
        kept.keep("heads", heads_without(sorted(own), cases_in_stores(crowd_of(near), crowd_of(strange), opinions)))
    embedder = Warm(MiniLmEmbedder())
    setup = Setup(policy=Policy(), embedder=embedder)
    models = {
        author: WithHeads(opinions, kept.held["heads"][author] if author in own else None) for author in by_author
    }
    asked = args.ask.split(",")
    for size in map(int, args.crowd.split(",")):
        around = args.out.with_name(f"strangers-{size}.db") if size else None
        if around is not None and not around.exists():
            write_strangers(around, strange[:size], setup)
        groups: dict[str, dict[str, Sums]] = {}
        for author, some in by_author.items():
            for ask in asked:
                name = f"{args.stories.name} {len(some)} of {author} beside {size}, {ask} asked, {args.answers}"
                if name not in kept.held:
                    policy = replace(setup.policy, ask=float(ask))
                    under = replace(setup, relation_model=models[author], policy=policy)
                    kept.keep(name, sums_of(played(some, under, reader_of(args.answers), around)))
                groups.setdefault(author, {})[ask] = kept.held[name]
            models[author].keep()
        groups = {"all": {ask: total([one[ask] for one in groups.values()]) for ask in asked}, **groups}
        stories = sum(map(len, by_author.values()))
        print(f"{stories} stories of {args.stories.name} beside {size:,} strangers, answers by {args.answers}")
        print(table(groups) + "\n", flush=True)


class _Kept:
    """What is played, in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.held: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def keep(self, name: str, value: Any) -> None:
        """Keep a value under a name."""
        self.held[name] = value
        self._path.write_text(json.dumps(self.held, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
