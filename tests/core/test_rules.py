"""Rules are pure: figures in, decision out; TOML that says something else is refused by place (S1-32 to S1-38)."""

from __future__ import annotations

import pytest

from wellkept.core.consolidation.rules import (
    DEFAULT_RULES,
    Consolidation,
    Figures,
    Rule,
    When,
    considered,
    fits,
    from_s1,
    plain,
    rules_from_toml,
)
from wellkept.errors import InvalidRules

R1, R2, R3, R4, R5, R6, R7 = DEFAULT_RULES
PROCEDURE = Figures(access_count=5, importance=0.75, categories=frozenset(("sop",)))


@pytest.mark.parametrize(
    ("rule", "seen", "expected"),
    [
        (R1, Figures(similarity=0.98, size=2), True),
        (R1, Figures(similarity=0.9799, size=2), False),
        (R1, Figures(similarity=0.99, size=1), False),
        (R2, Figures(similarity=0.95, size=2), True),
        (R2, Figures(similarity=0.9499, size=2), False),
        (R2, Figures(size=2), False),  # nothing known of its similarity
        (R3, PROCEDURE, True),
        (R3, Figures(access_count=4, importance=0.75, categories=frozenset(("sop",))), False),
        (R3, Figures(access_count=5, importance=0.7499, categories=frozenset(("sop",))), False),
        (R3, Figures(access_count=5, importance=0.75, categories=frozenset(("cooking",))), False),
        (R4, Figures(age_days=30, importance=0.625), True),
        (R4, Figures(age_days=29.99, importance=0.5), False),
        (R4, Figures(age_days=30, importance=0.6251), False),
        (R4, Figures(age_days=30, importance=0.5, access_count=1), False),
        (R5, Figures(similarity=0.3, size=2), True),
    ],
)
def test_the_rules_of_the_source_fit_to_the_decimal(rule: Rule, seen: Figures, *, expected: bool) -> None:
    """S1-33 to S1-38; importances are those of S1 on our scale (B-18)."""
    assert fits(rule, seen) is expected


@pytest.mark.parametrize(
    ("when", "good", "bad"),
    [
        (When(min_age_days=2), Figures(age_days=2), Figures(age_days=1)),
        (When(max_age_days=2), Figures(age_days=2), Figures(age_days=3)),
        (When(min_access_count=2), Figures(access_count=2), Figures(access_count=1)),
        (When(max_access_count=2), Figures(access_count=2), Figures(access_count=3)),
        (When(min_importance=0.4), Figures(importance=0.4), Figures(importance=0.3)),
        (When(max_importance=0.4), Figures(importance=0.4), Figures(importance=0.5)),
        (When(max_importance=0.0), Figures(importance=0.0), Figures(importance=0.1)),
        (When(max_score=0.1), Figures(score=0.1), Figures(score=0.2)),
        (When(min_score=0.9), Figures(contradiction=0.9), Figures(contradiction=0.89)),
        (When(min_score=0.0), Figures(contradiction=0.0), Figures()),
        (When(expired=True), Figures(expired=True), Figures()),
        (When(expired=False), Figures(), Figures(expired=True)),
        (When(lifecycle_any=("WEAK", "DORMANT")), Figures(lifecycle="WEAK"), Figures()),
        (When(categories_any=("Über  Uns",)), Figures(categories=frozenset(("über uns",))), Figures()),
        (When(min_cluster_size=3), Figures(size=3), Figures(size=2)),
    ],
    ids=str,
)
def test_each_condition_decides_by_itself(when: When, good: Figures, bad: Figures) -> None:
    """B-21: the extended schema; zero means zero (E-4.3)."""
    rule = Rule(id="r", trigger="always", action="archive", when=when)
    assert fits(rule, good) and not fits(rule, bad)


@pytest.mark.parametrize(("s1", "ours"), [(1.0, 0.5), (1.5, 0.625), (2.0, 0.75), (3.0, 1.0), (0.0, 0.25)])
def test_both_scales_of_importance_meet_in_their_defaults(s1: float, ours: float) -> None:
    """B-18: a rule may name either."""
    assert from_s1(s1) == ours
    theirs = Rule(id="a", trigger="always", action="archive", when=When(max_importance=s1), scale="1-3")
    mine = Rule(id="a", trigger="always", action="archive", when=When(max_importance=ours))
    for importance in (0.0, ours, min(1.0, ours + 0.001), 1.0):
        assert fits(theirs, Figures(importance=importance)) is fits(mine, Figures(importance=importance))


def test_a_schedule_is_only_considered_when_it_is_named() -> None:
    """B-21."""
    daily, weekly = (Rule(id=name, trigger=name, action="archive") for name in ("daily", "weekly"))  # type: ignore[arg-type]
    assert considered((daily, weekly, R1), None) == (R1,)
    assert considered((daily, weekly, R1), "daily") == (daily, R1)


def test_the_configuration_knows_the_least_similarity_that_merges() -> None:
    assert Consolidation().merge_at == 0.95
    assert Consolidation(rules=(R5,)).merge_at > 1
    assert Consolidation(rules=(Rule(id="x", trigger="daily", action="merge"), R1)).merge_at == 0.98
    assert Consolidation(rules=(Rule(id="x", trigger="daily", action="merge"),), trigger="daily").merge_at == 0.0


WHOLE = """
[[rules]]
id = "tidy-notes"
trigger = "weekly"
importanceScale = "1-3"
then = { action = "archive" }
[rules.when]
minAgeDays = 90
maxAgeDays = 900
minAccessCount = 0
maxAccessCount = 3
minImportance = 1.0
maxImportance = 1.5
categoriesAny = ["note", "メモ"]
lifecycleAny = ["DORMANT"]
expired = false
maxScore = 0.1

[[rules]]
id = "R2-near-duplicate-merge"
trigger = "on_similarity"
when = { minSimilarity = 0.97, minClusterSize = 3 }
then = { action = "merge", params = { canonical = "longest", older = "supersede", bump = 0.1, cap = 0.9 } }

[[rules]]
id = "pin"
then = { action = "promote", params = { bump = 0.1, pin = true } }
"""


def test_toml_adds_rules_and_replaces_those_of_the_same_id_in_place() -> None:
    """S1-32, B-21: every key arrives."""
    rules = rules_from_toml(WHOLE)
    assert [rule.id for rule in rules] == [rule.id for rule in DEFAULT_RULES] + ["tidy-notes", "pin"]
    merge, notes, pin = rules[1], rules[7], rules[8]
    assert (merge.winner, merge.older, merge.bump, merge.cap) == ("longest", "supersede", 0.1, 0.9)
    assert merge.when == When(min_similarity=0.97, min_cluster_size=3)
    assert notes.scale == "1-3" and notes.trigger == "weekly"
    assert notes.when == When(
        min_age_days=90, max_age_days=900, min_access_count=0, max_access_count=3, min_importance=1.0,
        max_importance=1.5, categories_any=("note", "メモ"), lifecycle_any=("DORMANT",), expired=False, max_score=0.1,
    )  # fmt: skip
    assert (pin.trigger, pin.pin, pin.cap) == ("always", True, 1.0)
    assert rules_from_toml("defaults = false") == ()
    assert rules_from_toml("") == DEFAULT_RULES
    assert len({str(plain(some)) for some in (rules, DEFAULT_RULES, ())}) == 3


def test_a_least_score_is_read_for_rules_on_contradictions_and_is_no_part_of_older_hashes() -> None:
    """S1-28: the score from which a contradiction is flagged is the user's."""
    flags = _one('{action = "flag_contradiction"}', when="{minScore = 0.9}")
    spares = _one('{action = "noop"}', trigger='"on_contradiction"', when="{minScore = 1}")
    assert [rules_from_toml(text)[-1].when for text in (flags, spares)] == [When(min_score=0.9), When(min_score=1.0)]
    assert "min_score" not in str(plain(DEFAULT_RULES))
    assert "'min_score': 0.9" in str(plain(rules_from_toml(flags)))


def _one(then: str = '{action = "archive"}', **more: str) -> str:
    keys = {"id": '"x"', "then": then, **more}
    return "[[rules]]\n" + "\n".join(f"{key} = {value}" for key, value in keys.items() if value)


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        ("rules = [", "rules", "not TOML"),
        ("a = " + "[" * 5000, "rules", ""),
        ("rule = 1", "rules", "unknown key 'rule'"),
        ("defaults = 1", "rules: defaults", "true or false"),
        ("rules = 3", "rules: rules", "list of tables"),
        ("rules = [3]", "rules: rules", "list of tables"),
        (_one(id=""), "rule 1", "needs an id"),
        (_one(id="7"), "rule 1", "needs an id"),
        (_one(id='""'), "rule 1", "needs an id"),
        (_one(id='"a\\nb"'), "rule 1", "needs an id"),
        (_one(id='"a\\u001b[31m"'), "rule 1", "needs an id"),
        (_one(id='"' + "x" * 300 + '"'), "rule 1", "short"),
        (_one() + "\n" + _one(), "rule 2", "there twice"),
        (_one(colour='"red"'), "rule 1", "unknown key 'colour'"),
        (_one(trigger='"hourly"'), "rule 1 (x): trigger", "'hourly'"),
        (_one(trigger='"on_similarity"'), "rule 1 (x): trigger", "'on_similarity'"),
        (_one('{action = "merge"}', trigger='"on_contradiction"'), "rule 1 (x): trigger", "on_similarity"),
        (_one('{action = "flag_contradiction"}', trigger='"on_similarity"'), "rule 1 (x): trigger", "on_contradiction"),
        (_one("3"), "rule 1 (x): then", "must be a table"),
        (_one("{}"), "rule 1 (x): then.action", "None"),
        (_one('{action = "delete"}'), "rule 1 (x): then.action", "'delete'"),
        (_one('{action = "summarize"}'), "rule 1 (x): then.action", "'summarize'"),
        (_one('{action = "archive", when = 1}'), "rule 1 (x): then", "unknown key"),
        (_one('{action = "archive", params = 3}'), "rule 1 (x): then.params", "must be a table"),
        (_one('{action = "archive", params = {pin = true}}'), "rule 1 (x): then.params", "nothing"),
        (_one('{action = "promote", params = {canonical = "newest"}}'), "rule 1 (x): then.params", "canonical"),
        (_one('{action = "promote", params = {pin = 1}}'), "rule 1 (x): then.params.pin", "true or false"),
        (_one('{action = "promote", params = {bump = 1.1}}'), "rule 1 (x): then.params.bump", "0 to 1"),
        (_one('{action = "promote", params = {bump = true}}'), "rule 1 (x): then.params.bump", "no"),
        (_one('{action = "promote", params = {cap = nan}}'), "rule 1 (x): then.params.cap", "nan"),
        (_one('{action = "merge", params = {canonical = "best"}}'), "rule 1 (x): then.params.canonical", "newest"),
        (_one('{action = "merge", params = {older = "delete"}}'), "rule 1 (x): then.params.older", "archive"),
        (_one(importanceScale='"1-5"'), "rule 1 (x): importanceScale", "0-1"),
        (_one(when="3"), "rule 1 (x): when", "must be a table"),
        (_one(when="{minAge = 3}"), "rule 1 (x): when", "minAgeDays"),
        (_one(when="{minAgeDays = -1}"), "rule 1 (x): when.minAgeDays", "-1"),
        (_one(when="{minAgeDays = inf}"), "rule 1 (x): when.minAgeDays", "inf"),
        (_one(when='{minAgeDays = "3"}'), "rule 1 (x): when.minAgeDays", "'3'"),
        (_one(when="{minAccessCount = 1.5}"), "rule 1 (x): when.minAccessCount", "1.5"),
        (_one(when="{minAccessCount = true}"), "rule 1 (x): when.minAccessCount", "True"),
        (_one(when="{maxImportance = 1.5}"), "rule 1 (x): when.maxImportance", "0 to 1"),
        (_one(when="{maxScore = 2}"), "rule 1 (x): when.maxScore", "0 to 1"),
        (_one('{action = "flag_contradiction"}', when="{minScore = 1.1}"), "rule 1 (x): when.minScore", "0 to 1"),
        (_one('{action = "flag_contradiction"}', when="{minScore = nan}"), "rule 1 (x): when.minScore", "nan"),
        (_one(when="{minScore = 0.9}"), "rule 1 (x): when", "of contradictions"),
        (_one('{action = "merge"}', when="{minScore = 0.9}"), "rule 1 (x): when", "of contradictions"),
        (_one('{action = "noop"}', when="{minScore = 0.9}"), "rule 1 (x): when", "on_contradiction"),
        (_one('{action = "merge"}', when="{minSimilarity = 1.1}"), "rule 1 (x): when.minSimilarity", "0 to 1"),
        (_one(when="{minSimilarity = 0.9}"), "rule 1 (x): when", "clusters"),
        (_one(when="{minClusterSize = 2}"), "rule 1 (x): when", "clusters"),
        (_one(when="{minAgeDays = 9, maxAgeDays = 3}"), "rule 1 (x): when", "never holds"),
        (_one(when='{categoriesAny = "note"}'), "rule 1 (x): when.categoriesAny", "list of texts"),
        (_one(when="{categoriesAny = [3]}"), "rule 1 (x): when.categoriesAny", "list of texts"),
        (_one(when='{lifecycleAny = ["active"]}'), "rule 1 (x): when.lifecycleAny", "ACTIVE"),
        (_one(when='{expired = "yes"}'), "rule 1 (x): when.expired", "true"),
        (_one(when="{expired = 1}"), "rule 1 (x): when.expired", "true"),
    ],
)
def test_a_wrong_rule_is_refused_by_place_with_what_is_allowed(text: str, place: str, told: str) -> None:
    """S1-32: nothing is ignored, and no message carries control characters."""
    with pytest.raises(InvalidRules) as refused:
        rules_from_toml(text)
    message = str(refused.value)
    assert place in message and told in message
    assert "\x1b" not in message
