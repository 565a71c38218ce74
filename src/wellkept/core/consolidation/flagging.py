"""Contradictions that a plan flags: once for each pair, in the name of the memories that remain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from wellkept.core.consolidation.findings import Finding, order_of
from wellkept.core.consolidation.repointing import heirs, swap
from wellkept.core.consolidation.rules import Figures, Rule, considered, fits
from wellkept.core.consolidation.survey import Setting, Survey, id_of
from wellkept.core.judging.compare import compare
from wellkept.core.records.conflicts import key_of
from wellkept.core.records.explain import difference_words
from wellkept.core.text.redaction import redacted
from wellkept.policy.antonyms import Opposites
from wellkept.types import Action, Comparison, Flag, Memory, Rationale

MOST_OF_ONE = 4
"""Older memories that one newer memory is flagged against: thousands of values of one thing contradict
each other all, and nobody reads a list that grows with their square."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """A contradiction between two memories that remain."""

    old: Memory
    new: Memory
    comparison: Comparison
    finding: Finding

    @property
    def key(self) -> str:
        """As in the list of conflicts."""
        return key_of(self.old.id, self.new.id, "contradiction")

    @property
    def score(self) -> float:
        """How sure it is: 1 where rules decided, else the model's probability."""
        opinion = self.comparison.opinion
        decided = opinion is None or any(item.decisive for item in self.comparison.differences)
        return 1.0 if decided or opinion is None else opinion.conflict


def flags_of(survey: Survey, setting: Setting, merged: Mapping[str, Memory]) -> list[Action]:
    """The flags of a plan.

    Args:
        survey: What stands in the store.
        setting: Policy and rules.
        merged: For each memory of a cluster that is merged the one that stays.

    Returns:
        One action for each pair that no conflict names yet, whatever became of that conflict, and
        whichever merged-away memory it was opened for.
    """
    names = {one: merged[row].id if row in merged else row for one, row in heirs(survey.rows).items()}
    names |= {one: row.id for one, row in merged.items()}
    known = {key_of(names.get(item.a, item.a), names.get(item.b, item.b), item.kind) for item in survey.conflicts}
    found: dict[str, _Pair] = {}
    for finding in sorted(survey.findings, key=lambda one: _rank(one, merged)):
        if finding.verdict != "conflict" or setting.policy.for_kind(finding.near.b.kind).on_conflict == "ignore":
            continue
        pair = _between(finding, merged, setting.policy.opposites)
        if pair is not None:
            found.setdefault(pair.key, pair)
    actions = []
    for key, pair in _most_telling(found).items():
        rule = _rule(pair, setting)
        if rule is not None and key not in known:
            actions.append(_flag(pair, rule))
    return sorted(actions, key=lambda action: action.targets)


def _rank(finding: Finding, merged: Mapping[str, Memory]) -> tuple[object, ...]:
    """What was found between the remaining memories themselves tells it better than what is carried over."""
    near = finding.near
    carried = any(name in merged and merged[name].id != name for name in near.key)
    return carried, order_of(near.b), order_of(near.a)


def _between(finding: Finding, merged: Mapping[str, Memory], opposites: Opposites) -> _Pair | None:
    """The pair in the name of those that remain; None when both ends became one memory."""
    near = finding.near
    old, new = sorted((merged.get(row.id, row) for row in (near.a, near.b)), key=order_of)
    if old.id == new.id:
        return None
    if (old.id, new.id) == near.key:
        return _Pair(old, new, finding.comparison, finding)
    told = compare(new, old, cosine=None, similarity=near.similarity, opposites=opposites)
    if told.relation != "conflict":  # only the model sees it, or a word of the one that goes: its own words then
        newer = merged.get(near.b.id, near.b)
        swapped = tuple(swap(item) for item in finding.comparison.differences)
        told = finding.comparison if newer.id == new.id else replace(finding.comparison, differences=swapped)
    return _Pair(old, new, told, finding)


def _most_telling(found: Mapping[str, _Pair]) -> dict[str, _Pair]:
    """Of the pairs of each newer memory the nearest, of equally near ones the latest."""
    of_one: dict[str, list[_Pair]] = {}
    for pair in sorted(found.values(), key=lambda pair: order_of(pair.old), reverse=True):
        of_one.setdefault(pair.new.id, []).append(pair)
    kept: dict[str, _Pair] = {}
    for pairs in of_one.values():
        pairs.sort(key=lambda pair: -(pair.finding.near.similarity or 0.0))
        kept |= {pair.key: pair for pair in pairs[:MOST_OF_ONE]}
    return kept


def _rule(pair: _Pair, setting: Setting) -> Rule | None:
    """The first rule for contradictions that fits; a `noop` leaves them alone."""
    seen = Figures(similarity=pair.finding.near.similarity, size=2, contradiction=pair.score)
    for rule in considered(setting.config.rules, setting.config.trigger):
        spares = rule.action == "noop" and rule.trigger == "on_contradiction"
        if (spares or rule.action == "flag_contradiction") and fits(rule, seen):
            return None if spares else rule
    return None


def _flag(pair: _Pair, rule: Rule) -> Action:
    old, new, comparison = pair.old, pair.new, pair.comparison
    decisive = [item for item in comparison.differences if item.decisive]
    told = tuple(difference_words(item) for item in decisive) or ("the relation model: both cannot hold",)
    read = {row.id: row for row in (pair.finding.near.a, pair.finding.near.b, old, new)}
    return Action(
        id=id_of("flag_contradiction", rule.id, old.id, new.id),
        type="flag_contradiction",
        targets=(old.id, new.id),
        rationale=Rationale(
            rule=rule.id,
            reasons=told,
            score=pair.score,
            similarity=comparison.similarity,
            signals=_signals(comparison),
            differences=comparison.differences,
        ),
        expect={row.id: row.version for row in sorted(read.values(), key=order_of)},
        flags=(
            Flag(
                a=old.id,
                b=new.id,
                kind="contradiction",
                reason=comparison.reason or "model",
                similarity=comparison.similarity,
                differences=comparison.differences,
            ),
        ),
        samples=(redacted(old.content), redacted(new.content)),
    )


def _signals(comparison: Comparison) -> tuple[str, ...]:
    """What differs, the decisive first; what one text merely adds is no sign of a contradiction."""
    kinds = [item.kind for item in comparison.differences if item.decisive]
    if not kinds:
        return ("model",)
    beside = [item.kind for item in comparison.differences if item.kind not in ("detail", "condition", "length")]
    return tuple(dict.fromkeys((*kinds, *beside)))
