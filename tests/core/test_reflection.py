"""Reflection as values: clusters, the text of a summary, and the fate of its sources (B-28, D2)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from wellkept.core.consolidation.plan_file import plan_from, plan_text
from wellkept.core.consolidation.plan_limits import refuse_beyond
from wellkept.core.consolidation.reflection import (
    MOST_MEMBERS,
    Material,
    Reflection,
    Told,
    clusters,
    contradicted,
    extract,
    reflection_plan,
    refused,
)
from wellkept.core.judging.calibration import IDENTITY
from wellkept.core.judging.compare import compare
from wellkept.core.records import conflicts as flags
from wellkept.core.records.summary_levels import is_summary, is_summary_of, level_of, sources_of
from wellkept.errors import InvalidField
from wellkept.policy import Policy
from wellkept.types import Comparison, Memory, NewMemory, Scope

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEXTS = ("The nightly deploy failed again", "The deploy at night broke once more", "Last night the deploy did not pass")


def row(name, text=None, **values):
    made = {"kind": "episodic", "namespace": "n", "created_at": NOW, "updated_at": NOW, "embedding": name, **values}
    return Memory(id=name, content=text if text is not None else f"Note {name}.", **made)


def at(cosine):
    """A unit vector at this cosine from the first axis."""
    return np.array([cosine, np.sqrt(1 - cosine * cosine), 0, 0], dtype=np.float32)


def material(rows, cosines=None, **values):
    """Vectors by their cosine with the first axis; 1 by default."""
    cosines = cosines or {}
    ordered = tuple(sorted(rows, key=lambda one: (one.created_at, one.id)))
    return Material(rows=ordered, vectors={one.id: at(cosines.get(one.id, 1.0)) for one in rows}, **values)


def found(rows, cosines=None, config=None, **values):
    made = clusters(material(rows, cosines, **values), config or Reflection(), IDENTITY, now=NOW)
    return [tuple(one.id for one in cluster.members) for cluster in made]


def conflict(a, b, **values):
    old, new = row(a), row(b)
    told = Comparison("conflict", 0.9, None)
    made = flags.between(old, new, told, kind="contradiction", moment=(NOW, 14))
    return replace(made, **values)


# --------------------------------------------------------------------------------------------
# Clusters


def test_the_most_important_memory_is_the_seed_and_ties_go_to_the_older_one():
    rows = [row("a"), row("b", importance=0.9), row("c", created_at=NOW - timedelta(days=1))]
    cluster = clusters(material(rows), Reflection(), IDENTITY, now=NOW)[0]
    assert (cluster.seed.id, [one.id for one in cluster.members]) == ("b", ["c", "a", "b"])
    assert clusters(material([row("b"), row("a")]), Reflection(), IDENTITY, now=NOW)[0].seed.id == "a"


@pytest.mark.parametrize(("cosine", "together"), [(0.75, True), (0.7499, False), (0.9, True), (0.74994, False)])
def test_a_member_is_near_enough_to_the_seed_at_three_quarters(cosine, together):
    """D2; design §10: rounded to 4 decimals before it meets the bound, which belongs to it."""
    rows = [row("a", importance=0.9), row("b")]
    assert found(rows, {"b": cosine}) == ([("a", "b")] if together else [])


def test_nearness_to_a_member_is_not_nearness_to_the_seed():
    """No chain drifts from one topic to the next: c is near b, b near the seed, c is not."""
    rows = [row("a", importance=0.9), row("b"), row("c")]
    assert found(rows, {"b": 0.8, "c": 0.3}) == [("a", "b")]


def test_a_memory_is_behind_one_summary_only():
    rows = [row(name, importance=0.9 if name == "a" else 0.5) for name in "abcd"]
    assert found(rows, {"b": 0.9, "c": 0.1, "d": 0.0}) == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize(("least", "clusters_found"), [(2, [("a", "b", "c")]), (3, [("a", "b", "c")]), (4, [])])
def test_a_cluster_has_the_least_size_that_is_asked_for(least, clusters_found):
    assert found([row(name) for name in "abc"], config=Reflection(min_size=least)) == clusters_found


@pytest.mark.parametrize(
    "other",
    [
        {"polarity": -1},  # D2: stances apart
        {"polarity": 1},
        {"kind": "note"},  # S0-52
        {"agent": "bo"},  # B-37
        {"status": "superseded"},
        {"status": "archived"},
        {"expires_at": NOW},  # lapsed
        {"embedding": ""},  # no vector: nearness is unknown
        {"pinned": True},  # somebody wants to see it
        {"tags": ("Level:1",)},  # as deep as the limit
        {"content": "Note a is not.", "subject": "else"},
    ],
)
def test_what_must_stay_apart_is_in_no_cluster_with_the_rest(other):
    rows = [row("a", subject="tea"), row("b", subject="tea"), replace(row("c"), **other)]
    assert found(rows) == [("a", "b")]


def test_what_stays_may_be_pinned():
    assert found([row("a"), row("b", pinned=True)], config=Reflection(consolidate="keep")) == [("a", "b")]


@pytest.mark.parametrize(
    ("resolution", "expires", "config", "together"),
    [
        (None, NOW + timedelta(days=1), Reflection(), []),  # both wait for the end of the dispute
        (None, NOW + timedelta(days=1), Reflection(consolidate="keep"), [("a", "c")]),
        (None, NOW, Reflection(), [("a", "c")]),  # expired: both are kept, and kept apart
        ("keep_both", None, Reflection(), [("a", "c")]),
        ("dismissed", None, Reflection(), [("a", "b", "c")]),  # it was none
    ],
)
def test_a_pair_in_contradiction_is_never_summed_up_together(resolution, expires, config, together):
    rows = [row("a", importance=0.9), row("b"), row("c"), row("d"), row("e")]
    cosines = {"d": 0.0, "e": 0.0}
    item = conflict("a", "b", resolution=resolution, expires_at=expires)
    assert [one for one in found(rows, cosines, config, conflicts=(item,)) if one != ("d", "e")] == together


def test_what_contradicts_by_the_rules_stays_out_though_nobody_flagged_it():
    rows = [row("a", "The port is 5433.", importance=0.9), row("b", "The port is 5434."), row("c", "Port 5433 it is.")]
    assert found(rows) == [("a", "c")]


def test_two_dates_make_no_one_summary_of_two_values():
    """A summary has no date: what held on one day and not on another would contradict itself there."""
    rows = [
        row("a", "The port is 5433.", event_time=NOW, importance=0.9),
        row("b", "The port is 5434.", event_time=NOW - timedelta(days=9)),
    ]
    assert found(rows) == []


def test_what_a_living_summary_was_made_from_is_not_summed_up_again():
    assert found([row(name) for name in "abcd"], summed=frozenset("ab")) == [("c", "d")]


def test_a_second_level_is_made_only_where_it_is_allowed():
    rows = [row(name, tags=("reflection", "level:1"), provenance=("x",)) for name in "ab"]
    assert found(rows) == []
    assert found(rows, config=Reflection(max_level=2)) == [("a", "b")]


def test_a_cluster_is_bounded_and_the_rest_finds_a_seed_of_its_own():
    rows = [row(f"m{n:02}") for n in range(MOST_MEMBERS + 5)]
    assert sorted(map(len, found(rows))) == [5, MOST_MEMBERS]


def test_the_order_of_the_rows_decides_nothing():
    rows = [row(f"m{n:03}", importance=(n * 7 % 10) / 10) for n in range(150)]
    cosines = {one.id: 1 - int(one.id[1:]) / 200 for one in rows}
    there = material(rows, cosines)
    back = replace(there, vectors=dict(reversed(there.vectors.items())))
    one, other = (clusters(made, Reflection(), IDENTITY, now=NOW) for made in (there, back))
    assert one == other and len(one) > 1


# --------------------------------------------------------------------------------------------
# Summaries


def cluster_of(*rows, **config):
    (made,) = clusters(material(rows), Reflection(**config), IDENTITY, now=NOW)
    return made


def plan_of(cluster, config=None, text=None, **values):
    config = config or Reflection()
    told = Told(cluster=cluster, text=extract(cluster, config) if text is None else text, by="extractive-v1")
    return reflection_plan(
        [told], cluster.members, config, names=("p", "e"), namespace="n", scope=Scope(kinds=("episodic",)), **values
    )


def test_a_summary_carries_what_its_sources_share():
    cluster = cluster_of(
        row("a", TEXTS[0], importance=0.9, confidence=0.8, tags=("Ops", "level:0"), subject="deploy", agent="ana"),
        row("b", TEXTS[1], importance=0.4, tags=("ops", "night"), subject="Deploy", agent="ana"),
    )
    fields = dict(plan_of(cluster).actions[0].summary)
    assert set(fields.pop("content").split("\n")) <= set(TEXTS)
    assert fields == {
        "kind": "semantic",
        "tags": ["reflection", "level:1", "Ops", "night"],
        "importance": 0.65,
        "confidence": 0.8,
        "polarity": 0,
        "provenance": ["a", "b"],
        "subject": "deploy",
        "agent": "ana",
    }


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((NOW + timedelta(days=1), NOW + timedelta(days=2)), "2026-03-03T12:00:00Z"),
        ((NOW + timedelta(days=1), None), None),
    ],
)
def test_a_summary_expires_with_the_last_of_its_sources(ends, said):
    cluster = cluster_of(row("a", expires_at=ends[0]), row("b", expires_at=ends[1]))
    assert plan_of(cluster).actions[0].summary.get("expires_at") == said


def test_the_level_of_a_summary_of_summaries_is_one_more():
    rows = [row(name, tags=("reflection", "level:1"), provenance=("x",)) for name in "ab"]
    cluster = cluster_of(*rows, max_level=2)
    assert plan_of(cluster).actions[0].summary["tags"] == ["reflection", "level:2"]


@pytest.mark.parametrize(
    ("how", "status", "rels"),
    [
        ("default", "superseded", {"derived_from", "supersedes"}),  # S2-48, S2-59
        ("hard", "archived", {"derived_from"}),  # S2-48, restorable (I1)
        ("keep", None, {"derived_from"}),
    ],
)
def test_what_becomes_of_the_sources(how, status, rels):
    config = Reflection(consolidate=how)
    (action,) = plan_of(cluster_of(row("a", TEXTS[0]), row("b", TEXTS[1])), config).actions
    assert (action.type, action.targets, action.expect) == ("summarize", ("a", "b"), {"a": 1, "b": 1})
    assert [dict(change.after) for change in action.rows] == ([{"status": status}] * 2 if status else [])
    assert {(src, dst) for src, dst, _ in action.links} == {("", "a"), ("", "b")}
    assert {rel for *_, rel in action.links} == rels


@pytest.mark.parametrize("how", ["default", "hard", "keep"])
def test_a_reflection_is_a_plan_file_like_any_other(how):
    """S1: a file may ask only for actions that the planner plans."""
    plan = plan_of(cluster_of(row("a", TEXTS[0]), row("b", TEXTS[1])), Reflection(consolidate=how))
    refuse_beyond(plan)
    assert plan_from(plan_text(plan)) == plan


def test_the_plan_has_no_time_and_other_settings_are_another_plan():
    """B-22."""
    cluster = cluster_of(row("a", TEXTS[0]), row("b", TEXTS[1]))
    ids = {plan_of(cluster, config).plan_id for config in (Reflection(), Reflection(), Reflection(similarity=0.8))}
    assert len(ids) == 2


def test_where_no_whole_sentence_fits_the_memories_are_left_alone():
    long = "x and so on " * 60
    (action,) = plan_of(cluster_of(row("a", long), row("b", long + "again"))).actions
    assert (action.type, action.rows, action.summary) == ("noop", (), {})
    assert "no whole sentence" in action.rationale.reasons[1]


TENSE = [
    ("Deploys run at night.", "Deploys run at night. Backups do not run on Sundays.", "Backups run after the deploys."),
    ("Ana likes tea.", "Ana never drinks coffee.", "Ana drinks tea without milk.", "Ana likes tea, not coffee."),
    ("The limit is 5 MB for images.", "The limit is 50 MB for films.", "No limit holds for texts."),
    ("夜间部署失败了。", "夜间部署没有备份。", "夜间部署又失败了。"),
    ("Der Dienst läuft auf Port 80.", "Der Dienst läuft nicht auf Windows.", "Der Dienst startet nachts neu."),
]


@pytest.mark.parametrize("texts", TENSE)
def test_a_summary_never_contradicts_its_sources(texts):
    """S2-33: not only unflagged: read by the rules as any two texts, no source is against it."""
    rows = [row(f"m{n}", text) for n, text in enumerate(texts)]
    for cluster in clusters(material(rows), Reflection(), IDENTITY, now=NOW):
        text = extract(cluster, Reflection())
        assert text
        for source in cluster.members:
            assert compare(NewMemory(content=text), source, cosine=None, similarity=None).relation != "conflict"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("The nightly deploy failed.", ""),
        ("", "empty"),
        ("x" * 513, "513 characters"),
        ("The nightly deploy failed 7 times.", "names 7"),
        ("The nightly deploy never failed on port 5433.", "contradicts a"),
    ],
)
def test_a_summary_that_somebody_else_wrote_is_checked(text, why):
    cluster = cluster_of(
        row("a", "The nightly deploy failed on port 5433.", importance=0.9), row("b", "The nightly deploy failed.")
    )
    told = refused(text, cluster, Reflection())
    assert (why in told) if why else told == ""


def test_figures_are_the_same_in_every_script_and_spelling():
    cluster = cluster_of(row("a", "Raum 07 hat ٥ Türen."), row("b", "Raum 07 ist zu."))
    assert "names 9" in refused("Raum 7 hat 9 Türen.", cluster, Reflection())
    assert "names" not in refused("Raum 7 hat 5 Türen.", cluster, Reflection())


def test_a_contradiction_is_named_by_its_source():
    rows = [row("a", "The port is 5433."), row("b", "The door is open.")]
    assert contradicted("The door is not open.", rows) == "b"
    assert contradicted("The gate is blue.", rows) == ""


def test_opposites_of_a_policy_part_what_is_summed_up_and_refuse_a_summary():
    words = Policy(antonyms=[("porous", "watertight")]).opposites
    rows = [row("a", "The dam is porous.", importance=0.9), row("b", "The dam is watertight.")]
    assert found(rows) == [("a", "b")] and found(rows, opposites=words) == []
    assert contradicted(rows[1].content, rows[:1]) == ""
    assert contradicted(rows[1].content, rows[:1], opposites=words) == "a"


@pytest.mark.parametrize(
    "values",
    [
        {"similarity": 1.5},
        {"min_size": 1},
        {"min_size": True},
        {"max_level": 0},
        {"limit": 3},
        {"consolidate": "erase"},
    ],
)
def test_a_setting_out_of_range_is_refused(values):
    with pytest.raises(InvalidField):
        Reflection(**values)


# --------------------------------------------------------------------------------------------
# A summary and its sources, later


def summary(text="It is shut.", **values):
    made = {"kind": "semantic", "tags": ("reflection", "level:1"), "provenance": ("a", "b"), **values}
    return row("s", text, **made)


def test_a_summary_and_its_source_are_never_a_contradiction_even_if_negation_differs():
    """S2-33, in both orders."""
    source = row("a", "It is not shut.", kind="semantic")
    there = compare(summary(), source, cosine=0.9, similarity=0.9)
    back = compare(source, summary(), cosine=0.9, similarity=0.9)
    assert (there.relation, back.relation, there.reason, back.reason) == ("generalises", "refines", "", "")
    assert not any(item.decisive for item in (*there.differences, *back.differences))


@pytest.mark.parametrize(
    "other",
    [
        {"tags": ("level:1",)},
        {"tags": ("reflection",)},  # anybody may tag
        {"provenance": ("b",)},
        {"tags": (), "provenance": ("a",)},
    ],
)
def test_whatever_is_no_summary_of_it_contradicts_as_ever(other):
    source = row("a", "It is not shut.", kind="semantic")
    assert compare(summary(**other), source, cosine=0.9, similarity=0.9).relation == "conflict"


@pytest.mark.parametrize(
    ("tags", "level"),
    [((), 0), (("level:1",), 1), (("LEVEL:3", "level:2"), 3), (("level:x", "level:", "level:12345"), 0)],
)
def test_the_level_is_read_from_tags(tags, level):
    assert level_of(row("a", tags=tags)) == level


def test_a_summary_is_known_by_tags_and_provenance():
    assert is_summary(summary()) and is_summary_of(summary(), row("a")) and not is_summary_of(summary(), row("c"))
    assert sources_of(summary()) == set(summary().provenance) and not sources_of(row("a"))
