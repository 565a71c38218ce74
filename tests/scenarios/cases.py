"""The golden scenarios as data: stored texts, the next text with its cosines, and the expected state.

The frozen clock is at 2026-01-01 12:00 UTC, and all times are earlier. Rows are named by their texts; an evolved row by
all of them, joined by " + ". A case that drops a repeat runs by the letter of the sources and has a twin under the
default policy, which keeps it as a wording.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from letter import to_the_letter
from wellkept.policy import Policy
from wellkept.types import OnConflict

Triple = tuple[str, str, str]
VERBATIM_BLOCKS = frozenset(
    {"lesson", "curiosity", "semantic", "note", "procedural", "fact", "preference", "knowledge", "summary"}
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One row of the table.

    Attributes:
        stored / new: The texts written before, and the text to decide about.
        cosines: Exact cosines; all other pairs have 0.
        letter: Whether repeats are dropped and updates listed, as in the sources; otherwise the default policy holds.
        rule: The first rule that must have fired.
        active / hidden / wordings: Rows afterwards, active, superseded and wordings, sorted by name.
        links: (source, relation, target).
        conflicts: (kind, reason, resolution).
    """

    name: str
    stored: tuple[Mapping[str, Any], ...] = ()
    new: Mapping[str, Any]
    cosines: Mapping[tuple[str, str], float] = field(default_factory=dict)
    on_conflict: OnConflict | None = None
    letter: bool = False
    outcome: str
    rule: str
    active: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    wordings: tuple[str, ...] = ()
    links: tuple[Triple, ...] = ()
    conflicts: tuple[tuple[str, str, str | None], ...] = ()

    @property
    def policy(self) -> Policy:
        """The default policy or the letter of the sources, with this case's answer to a conflict."""
        policy = to_the_letter() if self.letter else Policy()
        return policy if self.on_conflict is None else policy.with_conflict(self.new["kind"], self.on_conflict)

    @property
    def items(self) -> tuple[Mapping[str, Any], ...]:
        """Everything that is written, in order."""
        return (*self.stored, self.new)

    def __str__(self) -> str:
        return self.name


def says(kind: str, content: str, **more: Any) -> dict[str, Any]:
    """One statement."""
    return {"content": content, "kind": kind, **more}


L1 = "Cut the position when the funding turns negative."
L1_AGAIN = "When the funding turns negative, cut the position."
NEWER = tuple(f"Lesson about {word}." for word in (
    "oats rye barley maize rice millet teff spelt kamut sorghum quinoa fonio emmer einkorn buckwheat".split()
))  # fmt: skip
K1 = "Deploys run from the main branch."
K2 = "The main branch is where deploys run from."
RUFF, FLAKE8 = "Use ruff for linting", "Use flake8 for linting"
USE, NEVER = "Use X", "Never use X"
WEEKENDS = "Avoid trading on weekends"
UNLESS = "Avoid trading on weekends UNLESS funding is extremely negative"
PORT_A, PORT_B = "The API listens on port 8080.", "The API listens on port 9090."
LUNCH, LUNCH_AGAIN = "Lunch with the Oslo team", "With the Oslo team lunch"
RELEASE = "Preparing the autumn release with the team"

INSIGHT = (
    Case(
        name="F-1 lesson: a paraphrase at .9500 is a duplicate",
        stored=(says("lesson", L1),), new=says("lesson", L1_AGAIN), cosines={(L1, L1_AGAIN): 0.95},
        letter=True, outcome="duplicate", rule="similarity_skip", active=(L1,),
    ),
    Case(
        name="F-2 lesson: at .9499 it is created and linked once",
        stored=(says("lesson", L1),), new=says("lesson", L1_AGAIN), cosines={(L1, L1_AGAIN): 0.9499},
        outcome="created", rule="similarity_link", active=(L1, L1_AGAIN), links=((L1_AGAIN, "related", L1),),
    ),
    Case(
        name="F-2 lesson: at .9000 it is created and linked once",
        stored=(says("lesson", L1),), new=says("lesson", L1_AGAIN), cosines={(L1, L1_AGAIN): 0.9},
        outcome="created", rule="similarity_link", active=(L1, L1_AGAIN), links=((L1_AGAIN, "related", L1),),
    ),
    Case(
        name="F-3 lesson: at .8999 it is created without a link",
        stored=(says("lesson", L1),), new=says("lesson", L1_AGAIN), cosines={(L1, L1_AGAIN): 0.8999},
        outcome="created", rule="near_but_different", active=(L1, L1_AGAIN),
    ),
    Case(
        name="F-4 lesson: the repeated one is found behind fifteen newer ones",
        stored=(says("lesson", L1), *(says("lesson", text) for text in NEWER)), new=says("lesson", L1),
        outcome="duplicate", rule="content_hash", active=tuple(sorted((L1, *NEWER))),
    ),
    Case(
        name="F-4 lesson: its paraphrase is found behind fifteen newer ones",
        stored=(says("lesson", L1), *(says("lesson", text) for text in NEWER)), new=says("lesson", L1_AGAIN),
        cosines={(L1, L1_AGAIN): 0.97},
        letter=True, outcome="duplicate", rule="similarity_skip", active=tuple(sorted((L1, *NEWER))),
    ),
    Case(
        name="F-5 lesson: a dormant one blocks",
        stored=(says("lesson", L1, recorded_at="2025-03-01T12:00:00+00:00"),), new=says("lesson", L1),
        outcome="duplicate", rule="content_hash", active=(L1,),
    ),
    Case(
        name="F-7 curiosity: the text of a lesson is created",
        stored=(says("lesson", L1),), new=says("curiosity", L1),
        outcome="created", rule="nothing_like_it", active=(L1, L1),
    ),
    Case(
        name="F-8 lesson: an exception forbids the skip",
        stored=(says("lesson", WEEKENDS),), new=says("lesson", UNLESS), cosines={(WEEKENDS, UNLESS): 0.96},
        outcome="created", rule="similarity_link", active=(WEEKENDS, UNLESS), links=((UNLESS, "related", WEEKENDS),),
    ),
)  # fmt: skip

APPEND_ONLY = (
    Case(
        name="F-6 thesis: the same text is created again",
        stored=(says("thesis", L1),), new=says("thesis", L1),
        outcome="created", rule="own_event", active=(L1, L1),
    ),
)  # fmt: skip


def _veto(name: str, kind: str, old: str, new: str) -> Case:
    return Case(
        name=f"{name} {kind}: {new} beside {old} at .99 is a conflict, and both stay",
        stored=(says(kind, old),), new=says(kind, new), cosines={(old, new): 0.99},
        outcome="created", rule="conflict_warn", active=tuple(sorted((old, new))),
        conflicts=(("contradiction", "value_diff", None),),
    )  # fmt: skip


VETOES = (
    *(_veto("F-9", kind, "threshold 0.85", "threshold 0.95") for kind in ("lesson", "knowledge")),
    *(_veto("F-10", kind, "MRR +5%", "MRR -5%") for kind in ("lesson", "knowledge", "semantic", "note", "fact")),
)

GENERAL = (
    Case(
        name="F-11 semantic: a denial is a contradiction",
        stored=(says("semantic", USE),), new=says("semantic", NEVER), cosines={(USE, NEVER): 0.85},
        outcome="created", rule="conflict_warn", active=(NEVER, USE),
        conflicts=(("contradiction", "negation_diff", None),),
    ),
    Case(
        name="F-11 semantic, supersede: the denied one is hidden",
        stored=(says("semantic", USE),), new=says("semantic", NEVER), cosines={(USE, NEVER): 0.85},
        on_conflict="supersede",
        outcome="superseded", rule="conflict_supersede", active=(NEVER,), hidden=(USE,),
        links=((NEVER, "supersedes", USE),), conflicts=(("contradiction", "negation_diff", "keep_new"),),
    ),
    Case(
        name="F-12 semantic: another tool in the same place is a contradiction",
        stored=(says("semantic", RUFF),), new=says("semantic", FLAKE8), cosines={(RUFF, FLAKE8): 0.85},
        outcome="created", rule="conflict_warn", active=(FLAKE8, RUFF),
        conflicts=(("contradiction", "value_diff", None),),
    ),
    Case(
        name="F-13 semantic, raise: nothing is written",
        stored=(says("semantic", USE),), new=says("semantic", NEVER), cosines={(USE, NEVER): 0.85},
        on_conflict="raise", outcome="rejected", rule="conflict_raise", active=(USE,),
    ),
    Case(
        name="F-14 semantic, supersede: a plain neighbour at .82 is linked, not superseded",
        stored=(says("semantic", K1),), new=says("semantic", K2), cosines={(K1, K2): 0.82}, on_conflict="supersede",
        outcome="created", rule="similarity_link", active=(K1, K2), links=((K2, "related", K1),),
    ),
)  # fmt: skip


def _knowledge(cosine: float, outcome: str, rule: str, *active: str) -> Case:
    return Case(
        name=f"{'F-16' if cosine == 0.88 else 'F-17'} knowledge: at {cosine:.4f} it is {outcome}",
        stored=(says("knowledge", K1),), new=says("knowledge", K2), cosines={(K1, K2): cosine},
        letter=True, outcome=outcome, rule=rule, active=active,
    )  # fmt: skip


KNOWLEDGE = (
    Case(
        name="F-15 knowledge: another spelling is a duplicate",
        stored=(says("knowledge", "Use SQLite"),), new=says("knowledge", "use sqlite!"),
        outcome="duplicate", rule="canonical_hash", active=("Use SQLite",),
    ),
    _knowledge(0.88, "evolved", "similarity_evolve", f"{K1} + {K2}"),
    _knowledge(0.8801, "duplicate", "similarity_skip", K1),
    _knowledge(0.65, "evolved", "similarity_evolve", f"{K1} + {K2}"),
    _knowledge(0.6499, "created", "nothing_like_it", K1, K2),
)  # fmt: skip

FACTS = (
    Case(
        name="F-19 fact: the newer value of a subject supersedes at .70",
        stored=(says("fact", "status PLANNED", subject="006"),), new=says("fact", "is shipped", subject="006"),
        cosines={("status PLANNED", "is shipped"): 0.7},
        outcome="superseded", rule="same_subject", active=("is shipped",), hidden=("status PLANNED",),
        links=(("is shipped", "supersedes", "status PLANNED"),),
    ),
    Case(
        name="F-20 fact: only the slot of the attribute is superseded",
        stored=(
            says("fact", "version 0.1", subject="Nous", attribute="version"),
            says("fact", "uses PostgreSQL", subject="Nous", attribute="database"),
        ),
        new=says("fact", "version 0.2", subject="nous", attribute="Version"),
        outcome="superseded", rule="same_subject", active=("uses PostgreSQL", "version 0.2"), hidden=("version 0.1",),
        links=(("version 0.2", "supersedes", "version 0.1"),),
    ),
    Case(
        name="F-21 fact: a superseded value said again supersedes its successor, by subject",
        stored=(says("fact", "status PLANNED", subject="006"), says("fact", "is shipped", subject="006")),
        new=says("fact", "status PLANNED", subject="006"),
        outcome="superseded", rule="same_subject", active=("status PLANNED",), hidden=("is shipped", "status PLANNED"),
        links=(
            ("is shipped", "supersedes", "status PLANNED"),
            ("status PLANNED", "supersedes", "is shipped"),
        ),
    ),
    Case(
        name="F-21 fact: a superseded value said again supersedes its successor, without a subject",
        stored=(says("fact", PORT_A), says("fact", PORT_B)), new=says("fact", PORT_A), cosines={(PORT_A, PORT_B): 0.9},
        outcome="superseded", rule="reversion", active=(PORT_A,), hidden=(PORT_A, PORT_B),
        links=((PORT_A, "supersedes", PORT_B), (PORT_B, "supersedes", PORT_A)),
        conflicts=(("contradiction", "value_diff", "keep_new"),),
    ),
    *(
        Case(
            name=f"F-22 fact: two dates are two events ({note})",
            stored=(says("fact", LUNCH, event_time="2025-11-03T12:00:00+00:00", **more),),
            new=says("fact", again, event_time="2025-12-03T12:00:00+00:00", **more),
            cosines={(LUNCH, LUNCH_AGAIN): 0.99},
            outcome="created", rule="near_but_different", active=tuple(sorted((LUNCH, again))),
        )
        for note, again, more in (
            ("same text", LUNCH, {}),
            ("same text and subject", LUNCH, {"subject": "Oslo team"}),
            ("nearly the same text", LUNCH_AGAIN, {}),
        )
    ),
)  # fmt: skip


def _episode(note: str, outcome: str, rule: str, **old: Any) -> Case:
    return Case(
        name=f"F-23 episode: {note} is {outcome}",
        stored=(says("episode", RELEASE, **old),), new=says("episode", RELEASE),
        outcome=outcome, rule=rule, active=(RELEASE,) if outcome == "reused" else (RELEASE, RELEASE),
    )  # fmt: skip


def _decision(note: str, outcome: str, rule: str, **more: Any) -> Case:
    return Case(
        name=f"F-24 decision: {note} is {outcome}",
        new=says("decision", "We ship on Friday.", **more),
        outcome=outcome, rule=rule, active=("We ship on Friday.",) if outcome == "created" else (),
    )  # fmt: skip


OTHERS = (
    _episode("the same words after 29 minutes", "reused", "ongoing_window", recorded_at="2026-01-01T11:31:00+00:00"),
    _episode("the same words after 31 minutes", "created", "own_event", recorded_at="2026-01-01T11:29:00+00:00"),
    _episode(
        "the same words after its end", "created", "own_event",
        recorded_at="2026-01-01T11:50:00+00:00", ended_at="2026-01-01T11:55:00+00:00",
    ),
    _decision("an explicit record in a conversation", "created", "own_event", frame="conversation"),
    _decision(
        "an automatic record in a conversation", "rejected", "recording_filter", frame="conversation", automatic=True
    ),
    _decision("an automatic record elsewhere", "created", "own_event", frame="task", automatic=True),
)  # fmt: skip


def _folded(name: str, kind: str, old: str, new: str, cosine: float, **more: Any) -> Case:
    return Case(
        name=name, stored=(says(kind, old), *more.pop("also", ())), new=says(kind, new), cosines={(old, new): cosine},
        outcome="restated", rule="similarity_skip", active=tuple(sorted((old, *more.pop("others", ())))),
        wordings=(new,), links=((new, "restates", old),), **more,
    )  # fmt: skip


def _grown(cosine: float) -> Case:
    return Case(
        name=f"F-16 knowledge, by default: at {cosine:.4f} it is evolved, and the addition is a wording too",
        stored=(says("knowledge", K1),), new=says("knowledge", K2), cosines={(K1, K2): cosine},
        outcome="evolved", rule="similarity_evolve", active=(f"{K1} + {K2}",), wordings=(K2,),
        links=((K2, "restates", f"{K1} + {K2}"),),
    )  # fmt: skip


FOLDED = (
    _folded("F-1 lesson, by default: a paraphrase at .9500 is a wording", "lesson", L1, L1_AGAIN, 0.95),
    _folded(
        "F-4 lesson, by default: its paraphrase behind fifteen newer ones is a wording", "lesson", L1, L1_AGAIN, 0.97,
        also=tuple(says("lesson", text) for text in NEWER), others=NEWER,
    ),
    _folded("F-1 fact, by default: a paraphrase at .9500 is a wording", "fact", K1, K2, 0.95),
    _folded(
        "F-14 semantic, supersede: a paraphrase at .9500 is a wording", "semantic", K1, K2, 0.95,
        on_conflict="supersede",
    ),
    _folded("F-17 knowledge, by default: at 0.8801 it is a wording", "knowledge", K1, K2, 0.8801),
    _grown(0.88),
    _grown(0.65),
    Case(
        name="F-17 knowledge, by default: at 0.6499 it is created",
        stored=(says("knowledge", K1),), new=says("knowledge", K2), cosines={(K1, K2): 0.6499},
        outcome="created", rule="nothing_like_it", active=(K1, K2),
    ),
)  # fmt: skip

CASES = (*INSIGHT, *APPEND_ONLY, *VETOES, *GENERAL, *KNOWLEDGE, *FACTS, *OTHERS, *FOLDED)
