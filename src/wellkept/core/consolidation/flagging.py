"""Contradictions that a plan flags: one flag per pair, between the memories that remain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from wellkept.core.consolidation.findings import Finding, order_of
from wellkept.core.consolidation.repointing import known_of, swap
from wellkept.core.consolidation.rules import Figures, Rule
from wellkept.core.consolidation.survey import Setting, Survey, id_of
from wellkept.core.judging.compare import compare
from wellkept.core.records.conflicts import key_of
from wellkept.core.records.explain import difference_words
from wellkept.core.text.redaction import redacted
from wellkept.frozen import frozen
from wellkept.policy.antonyms import Opposites
from wellkept.types import Action, Comparison, Flag, Memory, Rationale

MOST_OF_ONE = 4
"""Most older memories flagged against one newer memory. Thousands of values of one slot all contradict each other, and
the list would grow quadratically.
"""


@frozen
class _Pair:
    """A contradiction between two remaining memories."""

    old: Memory
    new: Memory
    comparison: Comparison
    finding: Finding

    @property
    def key(self) -> str:
        """The conflict key of the pair."""
        return key_of(self.old.id, self.new.id, "contradiction")

    @property
    def score(self) -> float:
        """Certainty: 1 if rules decided, else the model's P(conflict)."""
        opinion = self.comparison.opinion
        decided = opinion is None or any(item.decisive for item in self.comparison.differences)
        return 1.0 if decided or opinion is None else opinion.conflict


def flags_of(survey: Survey, setting: Setting, merged: Mapping[str, Memory]) -> list[Action]:
    """The flags of a plan.

    Args:
        survey: Rows, findings and conflicts of the store.
        setting: Policy and rules.
        merged: For each memory of a merged cluster, the memory that remains.

    Returns:
        One action per pair that has no conflict yet, open or resolved, also under the id of a merged memory.
    """
    known = known_of(survey.conflicts, survey.rows, merged)
    found: dict[str, _Pair] = {}
    for finding in sorted(survey.findings, key=lambda one: _rank(one, merged)):
        if finding.verdict != "conflict" or _is_left_to_the_gate(finding, setting):
            continue
        pair = _between(finding, merged, setting.policy.opposites)
        if pair is not None:
            found.setdefault(pair.key, pair)
    actions = []
    for key, pair in _most_telling(found).items():
        seen = Figures(similarity=pair.finding.near.similarity, size=2, contradiction=pair.score)
        rule = setting.config.acting("flag_contradiction", seen)
        if rule is not None and key not in known:
            actions.append(_flag(pair, rule))
    return sorted(actions, key=lambda action: action.targets)


def _is_left_to_the_gate(finding: Finding, setting: Setting) -> bool:
    """Whether the policy looks for no contradictions, or makes a mark of one that only the model sees."""
    policy = setting.policy.for_kind(finding.near.b.kind)
    by_model = finding.comparison.opinion is not None and finding.comparison.reason in ("", "model")
    return policy.on_conflict == "ignore" or (by_model and setting.config.marks(policy))


def _rank(finding: Finding, merged: Mapping[str, Memory]) -> tuple[object, ...]:
    """Findings between remaining memories come before findings of merged ones."""
    near = finding.near
    carried = any(name in merged and merged[name].id != name for name in near.key)
    return carried, order_of(near.b), order_of(near.a)


def _between(finding: Finding, merged: Mapping[str, Memory], opposites: Opposites) -> _Pair | None:
    """The pair between the remaining memories; None when both were merged into one."""
    near = finding.near
    old, new = sorted((merged.get(row.id, row) for row in (near.a, near.b)), key=order_of)
    if old.id == new.id:
        return None
    if (old.id, new.id) == near.key:
        return _Pair(old, new, finding.comparison, finding)
    told = compare(new, old, cosine=None, similarity=near.similarity, opposites=opposites)
    if told.relation != "conflict":  # seen only by the model or in the merged text: original differences
        newer = merged.get(near.b.id, near.b)
        swapped = tuple(swap(item) for item in finding.comparison.differences)
        told = finding.comparison if newer.id == new.id else replace(finding.comparison, differences=swapped)
    return _Pair(old, new, told, finding)


def _most_telling(found: Mapping[str, _Pair]) -> dict[str, _Pair]:
    """Per newer memory the most similar pairs, ties by the latest."""
    of_one: dict[str, list[_Pair]] = {}
    for pair in sorted(found.values(), key=lambda pair: order_of(pair.old), reverse=True):
        of_one.setdefault(pair.new.id, []).append(pair)
    kept: dict[str, _Pair] = {}
    for pairs in of_one.values():
        pairs.sort(key=lambda pair: -(pair.finding.near.similarity or 0.0))
        kept |= {pair.key: pair for pair in pairs[:MOST_OF_ONE]}
    return kept


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
    """Kinds of differences, decisive ones first; additions are not listed."""
    kinds = [item.kind for item in comparison.differences if item.decisive]
    if not kinds:
        return ("model",)
    beside = [item.kind for item in comparison.differences if item.kind not in ("detail", "condition", "length")]
    return tuple(dict.fromkeys((*kinds, *beside)))
