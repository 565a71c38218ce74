"""Folds and marks of a plan: what the gate would have done with memories of an older policy.

Of two memories that say the same the older stays as the head. The newer stands behind it as a wording, and its own
wordings move along. A mark takes the place of a contradiction that only the relation model saw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wellkept.core.consolidation.findings import order_of
from wellkept.core.consolidation.merged_memory import change_of
from wellkept.core.consolidation.repointing import carried, flag_of, known_of, relinked
from wellkept.core.consolidation.rules import Figures, Rule
from wellkept.core.consolidation.survey import Around, Setting, Survey, id_of
from wellkept.core.judging.second_look import SecondLook
from wellkept.core.records.conflicts import is_open, key_of
from wellkept.core.text.redaction import redacted
from wellkept.frozen import frozen
from wellkept.types import Action, Conflict, Memory, Rationale

SAMPLES = 3


@frozen
class Fold:
    """The memories that become wordings of one head, oldest first, with the looks that say so."""

    head: Memory
    members: tuple[Memory, ...]
    looks: tuple[SecondLook, ...]
    rule: Rule


def folds_of(survey: Survey, setting: Setting, merged: Mapping[str, Memory]) -> list[Fold]:
    """The folds of a plan, by the age of the head.

    Args:
        survey: Rows and second looks.
        setting: The rules.
        merged: For each memory of a merged cluster, the memory that remains.
    """
    rows = {row.id: row for row in survey.rows} | dict(merged)
    told = _told(survey, merged)
    found: dict[str, Fold] = {}
    for look in survey.looks:
        if look.head not in rows or look.memory_id not in rows:
            continue
        head, member = rows[look.head], rows[look.memory_id]
        rule = setting.config.acting("fold", Figures(similarity=look.similarity, size=2))
        if rule is None or head.id == member.id:
            continue
        fold = found.get(head.id, Fold(head, (), (), rule))
        member = replace(member, confirmations=told.get(member.id, member.confirmations))
        found[head.id] = replace(fold, members=(*fold.members, member), looks=(*fold.looks, look))
    return sorted(found.values(), key=lambda fold: order_of(fold.head))


def _told(survey: Survey, merged: Mapping[str, Memory]) -> dict[str, int]:
    """The confirmations of each memory that remains of a merge, with those of the others."""
    found: dict[str, int] = {}
    for row in survey.rows:
        if row.id in merged:
            kept = merged[row.id].id
            found[kept] = found.get(kept, 0) + row.confirmations + (row.id != kept)
    return found


def fold(made: Fold, around: Around, marks: Sequence[Conflict], setting: Setting) -> Action:
    """The action of a fold.

    Args:
        made: The fold.
        around: Links, conflicts and hidden rows.
        marks: The marks of the same plan, which take the place of contradictions.
        setting: Policy, rules and time.
    """
    head, members = made.head, made.members
    gone = {row.id for row in members}
    confirmed = replace(
        head,
        confirmations=head.confirmations + sum(row.confirmations + 1 for row in members),
        last_confirmed_at=max(
            at for row in (head, *members) for at in (row.last_confirmed_at, row.created_at) if at is not None
        ),
        pinned=head.pinned or any(row.pinned for row in members),
    )
    behind = around.behind(row.id for row in members)
    rows = [change_of(head, confirmed)]
    rows += [change_of(row, replace(row, status="wording", superseded_by=head.id)) for row in members]
    rows += [change_of(row, replace(row, superseded_by=head.id)) for row in behind]
    names = [*(row.id for row in members), head.id]
    links, unlinks = relinked(around.links(names), head.id, gone)
    replaced = {key_of(mark.a, mark.b, "contradiction") for mark in marks}
    known = [item for item in (*around.conflicts(names), *marks) if item.key not in replaced]
    settles, flags = carried(known, head, gone, others=around.rows, now=setting.now)
    return Action(
        id=id_of("fold", made.rule.id, *names),
        type="fold",
        targets=tuple(names),
        canonical=head.id,
        rationale=Rationale(
            rule=made.rule.id,
            reasons=tuple(dict.fromkeys(look.reason for look in made.looks[:SAMPLES])),
            score=min((look.score for look in made.looks if look.score is not None), default=None),
            similarity=min((look.similarity for look in made.looks if look.similarity is not None), default=None),
            cluster=id_of(*names),
        ),
        expect={row.id: row.version for row in sorted((head, *members, *behind), key=order_of)},
        rows=tuple(rows),
        links=tuple(sorted([*links, *((row.id, head.id, "restates") for row in members)])),
        unlinks=tuple(sorted(unlinks)),
        flags=flags,
        settles=settles,
        samples=tuple(redacted(row.content) for row in (head, *members)[:SAMPLES]),
    )


def marks_of(survey: Survey, setting: Setting, remaining: Mapping[str, Memory]) -> list[tuple[Conflict, Action]]:
    """The marks of a plan: one for each pair that has no mark yet and whose contradiction nobody has settled.

    Args:
        survey: Rows, second looks and conflicts.
        setting: Rules and time.
        remaining: For each merged or folded memory, the memory that stands for it.
    """
    rows = {row.id: row for row in survey.rows} | dict(remaining)
    known = known_of(survey.conflicts, survey.rows, remaining)
    found: dict[str, tuple[Conflict, Action]] = {}
    for mark in (mark for look in survey.looks for mark in look.marks):
        if mark.a not in rows or mark.b not in rows:
            continue
        old, new = rows[mark.a], rows[mark.b]
        listed = known.get(key_of(old.id, new.id, "contradiction"))
        if old.id == new.id or key_of(old.id, new.id, "outdated") in known or not _may_replace(listed, setting):
            continue
        score = Figures(similarity=mark.similarity, size=2, contradiction=mark.probability)
        rule = setting.config.acting("mark", score)
        mark = replace(mark, a=old.id, b=new.id, key=key_of(old.id, new.id, "outdated"))
        if rule is not None:
            found.setdefault(mark.key, (mark, _mark(mark, (old, new), listed, rule)))
    return sorted(found.values(), key=lambda made: made[1].targets)


def _may_replace(listed: Conflict | None, setting: Setting) -> bool:
    """Whether a mark may take the place of a contradiction: open, and seen by the relation model alone."""
    return listed is None or (listed.reason in ("", "model") and is_open(listed, setting.now))


def _mark(mark: Conflict, pair: tuple[Memory, Memory], listed: Conflict | None, rule: Rule) -> Action:
    old, new = pair
    return Action(
        id=id_of("mark", rule.id, old.id, new.id),
        type="mark",
        targets=(old.id, new.id),
        rationale=Rationale(
            rule=rule.id,
            reasons=("the newer probably replaces the older",),
            score=mark.probability,
            similarity=mark.similarity,
            signals=("model",),
            differences=mark.differences,
        ),
        expect={row.id: row.version for row in pair},
        flags=(flag_of(mark),),
        settles=() if listed is None else (listed.key,),
        samples=(redacted(old.content), redacted(new.content)),
    )
