"""Policies: what each preset says, what TOML may say, and a hash that names all of it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import get_args

import pytest

from wellkept.errors import ConfigError, InvalidPolicy, UnknownKind
from wellkept.policy import (
    DEDUP_CHECK_THRESHOLD,
    DEDUP_THRESHOLDS,
    DEFAULT_KINDS,
    EVOLUTION_THRESHOLDS,
    PACKS,
    PRESETS,
    SIMILARITY_EDGE_THRESHOLD,
    Band,
    Decay,
    KindPolicy,
    Policy,
    former_default,
)
from wellkept.types import DefaultKind

BEFORE_THE_SECOND_READER = "ad74dc1b2794cab9"
"""Hash of the default policy before the second reader."""
SKIP_95, LINK_90, MERGE_95 = Band(0.95, "skip"), Band(0.90, "link"), Band(0.95, "merge")


@pytest.mark.parametrize(
    ("preset", "said"),
    [
        (
            "insight",  # S0-2, S0-9, S0-10, S0-43
            {
                "scope": ("kind",),
                "stages": ("hash", "canonical", "vector"),
                "bands": (SKIP_95, LINK_90),
                "on_conflict": "warn",
                "conflict_at": 0.60,
                "act_at": 0.80,
                "on_same_subject": "none",
                "admit": "content",
                "delivery": "sync",
            },
        ),
        (
            "append_only",  # S0-3
            {"scope": ("kind",), "stages": (), "bands": (), "on_same_subject": "none", "admit": "anything"},
        ),
        (
            "general",  # S2-21, S2-28, B-23
            {
                "scope": ("kind", "tags"),
                "stages": ("hash", "canonical", "vector"),
                "bands": (MERGE_95,),
                "on_conflict": "warn",
                "conflict_at": 0.60,
                "act_at": 0.80,
                "on_same_subject": "none",
                "admit": "content",
                "delivery": "queued",
            },
        ),
        (
            "fact",  # S3-5, S3-12, B-4
            {
                "scope": ("kind", "agent"),
                "stages": ("hash", "canonical", "subject", "vector"),
                "bands": (SKIP_95,),
                "on_conflict": "supersede_sure",
                "conflict_at": 0.60,
                "act_at": 0.85,
                "on_same_subject": "replace",
                "replace_at": 0.80,
            },
        ),
        (
            "episode",  # S3-13, S3-14, S3-30
            {
                "scope": ("kind", "agent"),
                "stages": ("window",),
                "bands": (),
                "window_minutes": 30.0,
                "overlap": 0.7,
                "admit": "anything",
            },
        ),
        ("decision", {"stages": (), "bands": (), "admit": "decision"}),  # S3-16, B-19
        (
            "knowledge",  # S4-5, S4-8, S4-9
            {
                "stages": ("hash", "canonical", "vector"),
                "bands": (Band(0.88, "skip", inclusive=False), Band(0.65, "evolve")),
                "on_conflict": "warn",
                "conflict_at": 0.60,
            },
        ),
    ],
)
def test_a_preset_says_what_its_source_asks_for(preset, said):
    policy = PRESETS[preset]
    assert policy.preset == preset
    assert {name: getattr(policy, name) for name in said} == said


@pytest.mark.parametrize("preset", list(PRESETS))
def test_every_preset_stores_when_the_model_is_broken(preset):
    """B-11: `on_error` is about broken machinery and defaults to storing."""
    assert PRESETS[preset].on_error == "store"


@pytest.mark.parametrize(
    ("preset", "kinds"),
    [
        ("insight", {"lesson", "curiosity"}),  # S0-2: exactly these two
        (
            "append_only",  # S0-3
            {
                "thesis", "signal", "trade", "trade_entry", "trade_close", "trade_modify", "watchpoint",
                "turn_summary", "session_summary",
            },
        ),
        ("general", {"semantic", "episodic", "procedural", "feedback", "note"}),
        ("fact", {"fact", "preference"}),
        ("episode", {"episode"}),
        ("decision", {"decision"}),
        ("knowledge", {"knowledge", "summary", "temp_note"}),
    ],
)  # fmt: skip
def test_each_known_kind_has_the_preset_of_its_source(preset, kinds):
    """S0-2, S0-3; only lesson and curiosity pass the queue by (S0-43, S0-44)."""
    assert {kind for kind, policy in DEFAULT_KINDS.items() if policy.preset == preset} == kinds
    assert {kind for kind, policy in DEFAULT_KINDS.items() if policy.delivery == "sync"} == {"lesson", "curiosity"}


def test_the_thresholds_have_names_and_the_seeds_values():
    """S0-9, S4-5, S4-9."""
    assert (DEDUP_CHECK_THRESHOLD, SIMILARITY_EDGE_THRESHOLD) == (0.95, 0.90)
    assert dict(DEDUP_THRESHOLDS) == {"exact": 1.0, "canonical": 0.95, "embedding": 0.88}
    assert dict(EVOLUTION_THRESHOLDS) == {"duplicate": 0.88, "evolve_max": 0.88, "evolve_min": 0.65, "create": 0.65}


@pytest.mark.parametrize(
    ("preset", "similarity", "outcome"),
    [
        ("insight", 1.0, "skip"),
        ("insight", 0.9500, "skip"),
        ("insight", 0.9499, "link"),
        ("insight", 0.9000, "link"),
        ("insight", 0.8999, None),
        ("knowledge", 0.8801, "skip"),
        ("knowledge", 0.8800, "evolve"),
        ("knowledge", 0.6500, "evolve"),
        ("knowledge", 0.6499, None),
        ("general", 0.9500, "merge"),
        ("general", 0.9499, None),
        ("fact", 0.9500, "skip"),
        ("fact", 0.9499, None),
        ("append_only", 1.0, None),
    ],
)
def test_a_bound_belongs_to_its_band_or_not_as_the_seed_says(preset, similarity, outcome):
    """B-1, S0-10, S4-8."""
    band = PRESETS[preset].band(similarity)
    assert (band.outcome if band else None) == outcome


# --------------------------------------------------------------------------------------------
# Kinds

BASIC = ["fact", "note", "preference", "lesson", "decision"]


def test_five_kinds_come_first_and_every_kind_is_in_one_pack_with_a_use():
    """N8."""
    assert list(DEFAULT_KINDS)[:5] == BASIC == list(PACKS[0].kinds)
    named = [kind for pack in PACKS for kind in pack.kinds]
    assert sorted(named) == sorted(DEFAULT_KINDS) and len(named) == len(set(named))
    assert all(pack.about and all(pack.uses[kind] for kind in pack.kinds) for pack in PACKS)


def test_a_preference_behaves_as_a_fact():
    assert DEFAULT_KINDS["preference"] == DEFAULT_KINDS["fact"]


def test_the_literal_type_of_kinds_names_the_default_kinds():
    assert get_args(DefaultKind) == tuple(DEFAULT_KINDS)


def test_the_former_default_is_the_one_that_journals_of_the_first_release_name():
    assert former_default().hash == "2ee26206d556ea1b" != Policy().hash
    changed = replace(former_default().kinds["preference"], on_conflict="warn")
    assert Policy(kinds={**former_default().kinds, "preference": changed}).hash != former_default().hash


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("packs = []", []),
        ('packs = ["basic"]', []),
        ('packs = ["conversations"]', ["episode", "turn_summary", "session_summary"]),
        ('packs = []\n[kinds.thesis]\ndelivery = "sync"\n', ["thesis"]),
        ('packs = []\n[kinds.recipe]\npreset = "fact"\n', ["recipe"]),
    ],
)
def test_packs_select_the_kinds_beside_the_five(text, more):
    policy = Policy.from_toml(text)
    assert list(policy.kinds) == [*BASIC, *more]
    assert all(policy.kinds[kind] == DEFAULT_KINDS[kind] for kind in BASIC)


def test_a_policy_that_says_nothing_of_packs_has_all_of_them():
    assert Policy.from_toml("conflict_days = 3").kinds == DEFAULT_KINDS
    assert Policy.from_packs(*(pack.name for pack in PACKS)).hash == Policy().hash


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('packs = ["tradin"]', "packs: 'tradin' is not allowed (policy, line 1). Did you mean 'trading'?"),
        ('packs = "trading"', "packs: must be a list of names (policy, line 1)"),
        ("packs = [1]", "packs: must be a list of names (policy, line 1)"),
    ],
)
def test_packs_that_are_none_are_refused_with_the_line(text, said):
    with pytest.raises(InvalidPolicy) as caught:
        Policy.from_toml(text)
    assert said in str(caught.value)
    with pytest.raises(InvalidPolicy, match="Did you mean 'trading'"):
        Policy.from_packs("tradin")


def test_a_kind_of_a_pack_that_is_left_out_says_so():
    with pytest.raises(UnknownKind) as caught:
        Policy.from_packs().for_kind("thesis")
    assert str(caught.value) == (
        "unknown kind 'thesis' (kind). It is in the pack 'trading', which the policy leaves out. "
        "Use one of: fact, note, preference, lesson, decision."
    )


def test_an_unknown_kind_is_refused_with_the_list_of_known_ones():
    """S0-6, B-32."""
    with pytest.raises(UnknownKind) as caught:
        Policy().for_kind("lessn")
    assert str(caught.value).startswith("unknown kind 'lessn' (kind). Did you mean 'lesson'? Use one of: fact, note,")
    assert all(kind in str(caught.value) for kind in DEFAULT_KINDS)


def test_a_star_opens_the_set_of_kinds():
    """B-32."""
    policy = Policy.from_toml('[kinds."*"]\npreset = "knowledge"\n')
    assert policy.for_kind("anything at all").preset == "knowledge"
    assert policy.for_kind("lesson").preset == "insight"


@pytest.mark.parametrize("mode", ["ignore", "warn", "supersede_sure", "supersede", "raise"])
def test_a_call_may_ask_for_another_answer_to_conflicts(mode):
    """S2-25, S2-56: per-call arguments override; nothing else changes."""
    policy = Policy()
    asked = policy.with_conflict("semantic", mode)
    assert asked.for_kind("semantic") == replace(policy.for_kind("semantic"), on_conflict=mode)
    assert asked.for_kind("lesson") == policy.for_kind("lesson")
    assert policy.for_kind("semantic").on_conflict == "warn"


# --------------------------------------------------------------------------------------------
# TOML

EVERYTHING = """
max_content_chars = 5000
conflict_days = 7

[kinds.recipe]
preset = "knowledge"
scope = ["kind", "tags", "subject", "agent"]
stages = ["hash", "canonical", "subject", "window", "vector"]
bands = [{at = 0.97, outcome = "skip", inclusive = false}, {at = 0.5, outcome = "link"}]
on_conflict = "raise"
conflict_at = 0.75
act_at = 0.77
on_same_subject = "replace_if_similar"
replace_at = 0.6
window_minutes = 5
overlap = 0.8
admit = "anything"
on_error = "raise"
delivery = "sync"
wikilinks = false
auto_link = 2
auto_link_at = 0.8
family = "kitchen"
repeats = "drop"
updates = "supersede"

[kinds.recipe.decay]
stability_days = 3
growth = 1.5
weak_below = 0.5
dormant_below = 0.2
cap_days = 30
difficulty = 0.1
"""


def test_toml_can_say_everything_a_policy_has():
    policy = Policy.from_toml(EVERYTHING)
    assert (policy.max_content_chars, policy.conflict_days) == (5000, 7.0)
    assert policy.for_kind("recipe") == KindPolicy(
        preset="knowledge",
        scope=("kind", "tags", "subject", "agent"),
        stages=("hash", "canonical", "subject", "window", "vector"),
        bands=(Band(0.97, "skip", inclusive=False), Band(0.5, "link")),
        on_conflict="raise",
        conflict_at=0.75,
        act_at=0.77,
        on_same_subject="replace_if_similar",
        replace_at=0.6,
        window_minutes=5,
        overlap=0.8,
        admit="anything",
        on_error="raise",
        delivery="sync",
        wikilinks=False,
        auto_link=2,
        auto_link_at=0.8,
        family="kitchen",
        repeats="drop",
        updates="supersede",
        decay=Decay(3, 1.5, 0.5, 0.2, 30, 0.1),
    )


def test_an_empty_file_is_the_default_policy():
    assert Policy.from_toml("") == Policy()
    assert Policy.from_toml("").hash == Policy().hash


def test_a_known_kind_keeps_what_the_file_does_not_name():
    policy = Policy.from_toml('[kinds.lesson]\non_conflict = "raise"\n')
    assert policy.for_kind("lesson") == replace(DEFAULT_KINDS["lesson"], on_conflict="raise")
    assert {kind: value for kind, value in policy.kinds.items() if kind != "lesson"} == {
        kind: value for kind, value in DEFAULT_KINDS.items() if kind != "lesson"
    }


def test_a_known_kind_may_take_another_preset_and_keeps_how_it_fades():
    changed = Policy.from_toml('[kinds.lesson]\npreset = "knowledge"\n').for_kind("lesson")
    assert changed.bands == PRESETS["knowledge"].bands
    assert changed.decay == DEFAULT_KINDS["lesson"].decay


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[kinds.lesson\n", ["not TOML", "policy.toml"]),
        ("colour = 1\n", ["colour", "unknown key", "line 1", "kinds, max_content_chars, conflict_days"]),
        ('[kinds.lesson]\n\ncolour = "red"\n', ["kinds.lesson.colour", "line 3", "on_conflict", "bands"]),
        ("kinds = 3\n", ["kinds", "line 1", "table"]),
        ("[kinds]\nlesson = 3\n", ["kinds.lesson", "line 2", "table"]),
        ("[kinds.rumour]\n", ["kinds.rumour.preset", "line 1", *PRESETS]),
        ('[kinds.lesson]\npreset = "none"\n', ["kinds.lesson.preset", "line 2", "'none'", *PRESETS]),
        (
            '[kinds.lesson]\non_conflict = "panic"\n',
            ["kinds.lesson.on_conflict", "line 2", "'panic'", "ignore, warn, supersede_sure, supersede, raise"],
        ),
        ("[kinds.lesson]\non_conflict = 3\n", ["kinds.lesson.on_conflict", "line 2", "3", "warn"]),
        ("[kinds.lesson]\non_conflict = []\n", ["kinds.lesson.on_conflict", "line 2", "warn"]),
        ('[kinds.fact]\non_same_subject = "maybe"\n', ["on_same_subject", "none, replace, replace_if_similar"]),
        ('[kinds.fact]\nadmit = "all"\n', ["kinds.fact.admit", "line 2", "anything, content, decision"]),
        ('[kinds.fact]\non_error = "ignore"\n', ["on_error", "line 2", "store, raise"]),
        ('[kinds.fact]\ndelivery = "later"\n', ["delivery", "line 2", "sync, queued"]),
        ("[kinds.fact]\n\nwikilinks = 1\n", ["kinds.fact.wikilinks", "line 3", "true, false"]),
        ("[kinds.fact]\nauto_link = 6\n", ["kinds.fact.auto_link", "line 2", "6", "0, 1, 2, 3, 4, 5"]),
        ("[kinds.fact]\nauto_link = true\n", ["kinds.fact.auto_link", "line 2", "0, 1, 2, 3, 4, 5"]),
        ("[kinds.fact]\nauto_link_at = 2\n", ["kinds.fact.auto_link_at", "line 2", "0 to 1"]),
        ('[kinds.fact]\nscope = "kind"\n', ["kinds.fact.scope", "line 2", "list", "kind, tags, subject, agent"]),
        ('[kinds.fact]\nscope = ["colour"]\n', ["kinds.fact.scope", "'colour'", "kind, tags, subject, agent"]),
        ('[kinds.fact]\nstages = ["magic"]\n', ["stages", "'magic'", "hash, canonical, subject, window, vector"]),
        ("[kinds.fact]\nstages = [[]]\n", ["stages", "hash, canonical, subject, window, vector"]),
        ("[kinds.fact]\nbands = 0.9\n", ["kinds.fact.bands", "line 2", "list of tables"]),
        ("[kinds.fact]\nbands = [{at = 0.9}]\n", ["kinds.fact.bands", "line 2", "`outcome`"]),
        (
            '[kinds.fact]\nbands = [{at = 0.9, outcome = "drop"}]\n',
            ["kinds.fact.bands.outcome", "line 2", "skip, link, evolve, merge"],
        ),
        ("[kinds.fact]\nbands = [{at = 0.9, outcome = []}]\n", ["bands.outcome", "skip, link, evolve, merge"]),
        (
            '[kinds.fact]\nbands = [{at = 1.5, outcome = "skip"}]\n',
            ["kinds.fact.bands.at", "line 2", "1.5", "0 to 1"],
        ),
        (
            '[kinds.fact]\nbands = [{at = 0.9, outcome = "skip", inclusive = 1}]\n',
            ["kinds.fact.bands.inclusive", "line 2", "true, false"],
        ),
        ('[kinds.fact]\nbands = [{at = 0.9, outcome = "skip", colour = 1}]\n', ["bands.colour", "at, outcome"]),
        (
            '[kinds.fact]\nbands = [{at = 0.5, outcome = "link"}, {at = 0.9, outcome = "skip"}]\n',
            ["kinds.fact.bands", "line 2", "from high to low"],
        ),
        ("[kinds.fact]\nconflict_at = 7\n", ["kinds.fact.conflict_at", "line 2", "7", "0 to 1"]),
        ("[kinds.fact]\nconflict_at = nan\n", ["kinds.fact.conflict_at", "line 2", "nan", "0 to 1"]),
        ('[kinds.fact]\nconflict_at = "high"\n', ["kinds.fact.conflict_at", "line 2", "'high'", "0 to 1"]),
        ("[kinds.fact]\nreplace_at = true\n", ["kinds.fact.replace_at", "line 2", "True", "0 to 1"]),
        ("[kinds.episode]\nwindow_minutes = -1\n", ["kinds.episode.window_minutes", "line 2", "-1"]),
        ("[kinds.fact]\ndecay = 3\n", ["kinds.fact.decay", "line 2", "table"]),
        ("[kinds.fact.decay]\nhalf_life = 3\n", ["kinds.fact.decay.half_life", "line 2", "stability_days"]),
        ("[kinds.fact.decay]\nstability_days = 0\n", ["kinds.fact.decay.stability_days", "line 2", "0.01"]),
        ("max_content_chars = 0\n", ["max_content_chars", "line 1", "1 to 10,000,000"]),
        ("conflict_days = inf\n", ["conflict_days", "line 1", "inf"]),
        ('\nantonyms = "hawkish dovish"\n', ["antonyms", "line 2", "must be a list of pairs"]),
        ("antonyms = 3\n", ["antonyms", "line 1", "must be a list of pairs"]),
        ("antonyms = [3]\n", ["antonyms", "line 1", "pair 1 is not a list of two words"]),
        ('antonyms = ["up"]\n', ["pair 1 is not a list of two words"]),
        ('antonyms = [["a", "b", "c"]]\n', ["pair 1 is not a list of two words"]),
        ('antonyms = [["hawkish", 3]]\n', ["pair 1 holds 3, which is not text"]),
        ('antonyms = [["hawkish", ""]]\n', ["pair 1 holds '', which is not one word"]),
        ('antonyms = [["stop loss", "take profit"]]\n', ["'stop loss', which is not one word", "without blanks"]),
        ('antonyms = [["risk-on", "riskless"]]\n', ["'risk-on', which is not one word"]),
        ('antonyms = [["q1", "qtwo"]]\n', ["'q1', which is not one word"]),
        (f'antonyms = [["{"x" * 65}", "y"]]\n', ["which is not one word", "1 to 64 letters"]),
        ('antonyms = [["a", "b"], ["Hawkish", "hawkish"]]\n', ["pair 2 opposes 'hawkish' to itself"]),
        ('antonyms = [["a", "b"], ["B", "a"]]\n', ["pair 2 names 'a' and 'b' again"]),
        (f"antonyms = {[['a' * n, 'b'] for n in range(1, 50)] * 5}\n".replace("'", '"'), ["pair 50 names"]),
    ],
)
def test_a_wrong_key_value_or_kind_names_file_line_and_what_is_allowed(text, parts):
    with pytest.raises(InvalidPolicy) as caught:
        Policy.from_toml(text, origin="policy.toml")
    error = caught.value
    assert isinstance(error, ConfigError) and isinstance(error, ValueError)
    assert "policy.toml" in str(error)
    assert error.todo
    for part in parts:
        assert part in str(error)


@pytest.mark.parametrize(
    ("field", "value"),
    [("auto_link_at", "x"), ("auto_link_at", None), ("auto_link_at", True), ("auto_link_at", float("nan")),
     ("conflict_at", "0.8"), ("auto_link", True), ("auto_link", 1.0), ("wikilinks", 1)],
)  # fmt: skip
def test_a_policy_built_in_python_is_held_to_the_same_types(field, value):
    with pytest.raises(InvalidPolicy, match=field):
        KindPolicy(preset="general", **{field: value})


# --------------------------------------------------------------------------------------------
# Hash


def test_the_hash_is_the_same_in_another_process_with_other_hash_seeds():
    """I4: the journal of one process must mean something in the next."""
    script = "from wellkept.policy import Policy; print(Policy().hash)"
    source = str(Path(__file__).parents[2] / "src")
    told = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": source, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert told == {Policy().hash}
    assert len(Policy().hash) == 16


OTHER = {
    "preset": "general",
    "scope": ("kind", "agent"),
    "stages": ("hash",),
    "bands": (Band(0.95, "skip"), Band(0.90, "link", inclusive=False)),
    "on_conflict": "raise",
    "conflict_at": 0.81,
    "on_same_subject": "replace",
    "act_at": 0.81,
    "replace_at": 0.81,
    "same_at": 0.81,
    "risk": "strict",
    "conflicts_with": "own_kind",
    "family": "diaries",
    "repeats": "drop",
    "updates": "list",
    "window_minutes": 31.0,
    "overlap": 0.71,
    "admit": "anything",
    "on_error": "raise",
    "delivery": "queued",
    "wikilinks": False,
    "auto_link": 3,
    "auto_link_at": 0.7,
    "decay": Decay(91),
}


def test_every_field_of_a_policy_is_tried_below():
    assert set(OTHER) == {field.name for field in fields(KindPolicy)}


@pytest.mark.parametrize("name", list(OTHER))
def test_the_hash_changes_with_every_field_of_a_kind(name):
    default = Policy()
    lesson = replace(default.for_kind("lesson"), **{name: OTHER[name]})
    changed = replace(default, kinds={**default.kinds, "lesson": lesson})
    assert lesson != default.for_kind("lesson")
    assert changed.hash != default.hash


@pytest.mark.parametrize("name", [field.name for field in fields(Decay)])
def test_the_hash_changes_with_every_figure_of_decay(name):
    default = Policy()
    lesson = default.for_kind("lesson")
    decay = replace(lesson.decay, **{name: getattr(lesson.decay, name) / 2})
    assert replace(default, kinds={**default.kinds, "lesson": replace(lesson, decay=decay)}).hash != default.hash


@pytest.mark.parametrize(
    "change", [{"max_content_chars": 7}, {"conflict_days": 7.0}, {"antonyms": (("hawkish", "dovish"),)}]
)
def test_the_hash_changes_with_the_general_settings(change):
    assert replace(Policy(), **change).hash != Policy().hash


def test_a_policy_without_the_later_fields_has_the_hash_that_old_journals_name():
    """What stores say about old decisions must still be found (`PastPolicies`)."""
    assert former_default().hash == "2ee26206d556ea1b"


def test_opposites_mean_the_same_in_any_order_and_case_and_change_the_hash():
    written = Policy.from_toml('antonyms = [["Bearish", "bullish"], ["dovish", "HAWKISH"]]\n')
    built = Policy(antonyms=[("hawkish", "dovish"), ("bullish", "bearish")])
    assert written == built and written.hash == built.hash != Policy().hash
    assert built.hash != replace(built, antonyms=built.antonyms[:1]).hash
    assert Policy(antonyms=()).hash == Policy().hash


def test_as_many_opposites_as_are_allowed_and_not_one_more():
    words = ["".join(chr(97 + int(digit)) for digit in str(number)) for number in range(1000, 1201)]
    assert len(Policy(antonyms=[(word, "z" + word) for word in words[:200]]).antonyms) == 200
    with pytest.raises(InvalidPolicy, match="more than 200 pairs"):
        Policy(antonyms=[(word, "z" + word) for word in words])


def test_the_order_of_kinds_does_not_matter_to_the_hash():
    assert Policy(kinds=dict(reversed(DEFAULT_KINDS.items()))).hash == Policy().hash


def test_a_policy_nested_without_end_is_a_typed_error() -> None:
    with pytest.raises(InvalidPolicy, match="not TOML: more than 200 levels of nesting"):
        Policy.from_toml("a=" + "[" * 5000 + "]" * 5000)


def test_when_a_text_is_judged_is_no_part_of_the_hash() -> None:
    """It does not change how the text is judged."""
    later = Policy.from_toml('judging = "later"')
    assert (later.judging, later.hash) == ("later", Policy().hash)
    assert later != Policy()
    with pytest.raises(InvalidPolicy, match="judging: 'soon' is not allowed .* Use one of: now, later"):
        Policy.from_toml('judging = "soon"')


def test_a_second_reader_is_part_of_the_hash_and_on_by_default() -> None:
    """It changes how a text is judged; the default without it is what older journals name."""
    alone = Policy.from_toml('second_reader = "off"')
    assert (alone.second_reader, Policy().second_reader) == ("off", "uncertain")
    assert (
        alone.hash == BEFORE_THE_SECOND_READER != Policy().hash == Policy.from_toml('second_reader = "uncertain"').hash
    )
    with pytest.raises(InvalidPolicy, match="second_reader: 'always' is not allowed .* Use one of: off, uncertain"):
        Policy.from_toml('second_reader = "always"')
