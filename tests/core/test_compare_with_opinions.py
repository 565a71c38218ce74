"""Rules and the relation model joined in one decision list, as tables (I2, B-3, design §5)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.judging.compare import NEARLY_THE_SAME_WORDS, OVERRULES_NEGATION, compare, is_vetoed, shared_words
from wellkept.types import Comparison, Memory, Opinion, Relation, Statement

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LATER = datetime(2026, 4, 1, tzinfo=UTC)
RELATIONS: tuple[Relation, ...] = get_args(Relation)
MIRROR = {"refines": "generalises", "generalises": "refines"}


def opinion(**shares: float) -> Opinion:
    values = {"same": 0.0, "refines": 0.0, "generalises": 0.0, "conflict": 0.0, "distinct": 0.0} | shares
    return Opinion(**values, model="m@1")


SAME = opinion(same=0.97, conflict=0.01, distinct=0.02)
CONFLICT = opinion(same=0.02, conflict=0.97, distinct=0.01)


def related(old: str, new: str, told: Opinion | None, **beside: tuple[Any, Any]) -> Comparison:
    """Compared at .80; `beside` gives (old, new) values of other fields."""
    ours = {name: pair[1] for name, pair in beside.items()}
    theirs = {name: pair[0] for name, pair in beside.items()}
    memory = Memory(id="m1", namespace="n", content=old, created_at=NOW, updated_at=NOW, **theirs)
    return compare(Statement(content=new, **ours), memory, cosine=0.8, similarity=0.8, opinion=told)


# --------------------------------------------------------------------------------------------
# 1. A decisive rule comes before the model


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("The retry limit is 3", "The retry limit is 5", "value_diff"),
        ("The release is on 3 March", "The release is on 4 March", "value_diff"),
        ("Use ruff for linting", "Use flake8 for linting", "value_diff"),  # B-3
        ("The ticket is open", "The ticket is closed", "negation_diff"),
        ("Use tabs for indentation", "Never use tabs for indentation", "negation_diff"),
    ],
)
@pytest.mark.parametrize("told", [CONFLICT, opinion(same=0.8, conflict=0.2), None], ids=["agrees", "objects", "silent"])
def test_where_a_rule_is_sure_the_model_is_not_heard(old: str, new: str, reason: str, told: Opinion | None) -> None:
    found = related(old, new, told)
    assert (found.relation, found.reason, found.confidence) == ("conflict", reason, None)
    assert not any(item.kind == "meaning" for item in found.differences)


def test_opposed_polarity_is_a_conflict_whatever_the_model_says() -> None:
    """S2-22."""
    found = related("Coffee in the morning", "A morning without coffee is fine", SAME, polarity=(1, -1))
    assert (found.relation, found.reason) == ("conflict", "polarity")


@pytest.mark.parametrize(
    ("told", "relation"),
    [
        (opinion(same=0.9, distinct=0.1), "refines"),  # nearly the same words: no longer a conflict, yet never *same*
        (opinion(refines=0.9, conflict=OVERRULES_NEGATION - 0.01), "refines"),
        (opinion(same=0.85, conflict=OVERRULES_NEGATION), "conflict"),
        (opinion(conflict=0.9, same=0.1), "conflict"),
    ],
)
def test_a_denial_is_doubted_only_where_the_model_hardly_sees_a_conflict(told: Opinion, relation: str) -> None:
    """B-14: "no other than X" denies nothing, and the rules cannot always tell."""
    found = related("We always use black for formatting", "We never use black for formatting", told)
    if relation == "conflict":
        assert (found.relation, found.reason) == ("conflict", "negation_diff")
    else:
        assert found.relation not in ("conflict", "same")
        assert not any(item.decisive or item.sure for item in found.differences)


def test_what_is_no_denial_is_not_doubted() -> None:
    found = related("The retry limit is 3", "The retry limit is 5", opinion(same=1.0))
    assert [(item.kind, item.decisive) for item in found.differences] == [("number", True)]


# --------------------------------------------------------------------------------------------
# 2. Equal words


@pytest.mark.parametrize("told", [CONFLICT, SAME, opinion(distinct=1.0), None])
def test_equal_words_are_the_same_whatever_the_model_says(told: Opinion | None) -> None:
    assert related("Use SQLite", "use sqlite!", told).relation == "same"


@pytest.mark.parametrize(
    "beside",
    [{"subject": ("Nous", "Hynous")}, {"event_time": (NOW, LATER)}, {"summary": ("Version 1.2", "Version 1.3")}],
    ids=["subject", "event time", "summary"],
)
def test_equal_words_with_something_else_beside_them_are_no_repeat(beside: dict[str, Any]) -> None:
    """B-37, B-35, F-22."""
    assert related("It uses PostgreSQL", "it uses PostgreSQL", SAME, **beside).relation in ("variant", "distinct")


# --------------------------------------------------------------------------------------------
# 3. What the rules leave open is the model's

OPEN = ("Deploys are started by hand", "The pipeline ships every merge by itself")


@pytest.mark.parametrize("relation", ["same", "refines", "generalises", "conflict", "distinct"])
def test_where_the_rules_are_silent_the_most_probable_relation_holds(relation: str) -> None:
    told = opinion(**({"distinct": 0.2} | {relation: 0.6}))
    found = related(*OPEN, told)
    assert (found.relation, found.confidence, found.opinion) == (relation, 0.6, told)


def test_a_conflict_that_only_the_model_sees_names_the_words_in_which_the_texts_differ() -> None:
    found = related("She works at Acme", "Globex hired her in May", CONFLICT)
    meaning = [item for item in found.differences if item.kind == "meaning"]
    assert (found.relation, found.reason, found.confidence) == ("conflict", "model", 0.97)
    assert [(item.old, item.new, item.decisive, item.sure) for item in meaning] == [
        ("works Acme", "Globex hired May", False, False)
    ]
    for item in meaning:
        assert all(word in "She works at Acme" for word in item.old.split())
        assert all(word in "Globex hired her in May" for word in item.new.split())


def test_the_words_of_a_long_text_are_cut_to_a_few() -> None:
    long = "The harbour office moved its archive, ledgers, maps, stamps, seals and permits to Bremen"
    found = related("The archive stayed", long, CONFLICT)
    assert len(found.differences[-1].new.split()) <= 6


HARD = [
    ("number", "The retry limit is 3 for uploads", "Uploads give up after 5 attempts", {}),
    ("subject", "It runs on PostgreSQL", "PostgreSQL carries it", {"subject": ("Nous", "Hynous")}),
    ("subject", "It runs well", "All is fine with it", {"subject": ("a", "a"), "attribute": ("speed", "price")}),
    ("event_time", "The valve was changed", "Someone replaced the valve", {"event_time": (NOW, LATER)}),
]


@pytest.mark.parametrize(("kind", "old", "new", "beside"), HARD, ids=["number", "subject", "attribute", "time"])
@pytest.mark.parametrize("same", [0.5, 0.97, 1.0])
def test_a_hard_difference_forbids_same_whatever_the_model_says(
    kind: str, old: str, new: str, beside: dict[str, Any], same: float
) -> None:
    """I2: a number, another subject or another time is never overruled."""
    found = related(old, new, opinion(same=same, distinct=1 - same), **beside)
    assert kind in {item.kind for item in found.differences}
    assert found.relation != "same"
    assert is_vetoed(new, old, found.differences)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Release 1.2 broke the importer", "Since release 1.3 the importer is broken"),
        ("Issue #441 is still open", "Nobody has closed issue #442"),
        ("Kafka holds the events for 7 days", "Events are kept in Kafka for two days"),
        ("The audit starts on 3 March", "On March 4th the audit starts"),
        ("Invoices above 500 euros need a second signature", "A second person signs invoices from 900 euros"),
    ],
)
def test_versions_identifiers_numbers_and_dates_are_hard_differences(old: str, new: str) -> None:
    """I2, in words far enough apart that the rules find no replaced value on their own."""
    assert related(old, new, opinion(same=1.0)).relation != "same"


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("Use it on weekends", "Use it on weekends unless it rains", "condition"),
        ("The office cat is called Miso", "Our cat answers to Miso", "value"),
        ("She works at Acme", "Globex hired her in May", "detail"),
        ("The parser is fast and written in Rust", "The parser is not slow and written in Rust", "value"),
    ],
)
def test_a_soft_difference_between_other_words_may_be_overruled(old: str, new: str, kind: str) -> None:
    """One true repeat in three shows such a difference."""
    assert shared_words(new, old) < NEARLY_THE_SAME_WORDS
    found = related(old, new, SAME)
    assert kind in {item.kind for item in found.differences}
    assert (found.relation, found.confidence) == ("same", 0.97)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "Deploys of the billing service need a second approval",
            "Deploys of the billing service need a second approval unless urgent",
        ),
        ("Nightly dumps of the main database go to Oslo", "Encrypted nightly dumps of the main database go to Oslo"),
    ],
    ids=["condition", "detail"],
)
def test_between_nearly_the_same_words_even_a_soft_difference_is_what_the_text_is_about(old: str, new: str) -> None:
    assert shared_words(new, old) >= NEARLY_THE_SAME_WORDS
    assert related(old, new, opinion(same=1.0)).relation != "same"


NAMES = ("The spare keys of the annexe are with Brigid", "Locked out? Mrs Walsh has spare keys for the annexe")
TENSES = ("The choir will sing in Leipzig on Whit Sunday", "Whit Sunday: the choir is singing in Leipzig")


@pytest.mark.parametrize(
    ("pair", "told", "relation"),
    [
        (NAMES, opinion(same=0.97, conflict=0.03), "same"),
        (NAMES, opinion(same=0.8, conflict=0.2), "same"),
        (NAMES, opinion(same=0.79, conflict=0.21), "conflict"),
        (
            ("We will move the archive to Bremen", "The archive has been moved to Bremen by the firm"),
            SAME,
            "same",
        ),
        (TENSES, opinion(same=0.97, conflict=0.03), "variant"),
        (("Mara teaches Ilse the cello", "Ilse teaches Mara the cello"), SAME, "variant"),
        (("The depot never opens on Sundays", "On Sundays the depot opens"), opinion(same=1.0), "variant"),
    ],
    ids=["sure", "just sure", "unsure", "tense", "tense in the same words", "exchanged names", "denial"],
)
def test_a_name_or_a_tense_is_overruled_by_a_sure_model_in_other_words(
    pair: tuple[str, str], told: Opinion, relation: Relation
) -> None:
    """Skip, merge and evolve stay forbidden (I2)."""
    old, new = pair
    found = related(old, new, told)
    assert found.relation == relation
    assert is_vetoed(new, old, found.differences)


@pytest.mark.parametrize(
    "beside",
    [
        {"subject": ("Nous", "Hynous")},
        {"subject": ("Nous", "Nous"), "attribute": ("version", "database")},
        {"event_time": (NOW, LATER)},
    ],
    ids=["subject", "attribute", "time"],
)
def test_what_was_given_beside_the_texts_outweighs_a_conflict_of_the_model(beside: dict[str, Any]) -> None:
    """B-4, F-22: of two subjects, or at two times, both may hold."""
    found = related(*OPEN, CONFLICT, **beside)
    assert (found.relation, found.reason) == ("distinct", "")
    assert not any(item.kind == "meaning" for item in found.differences)


# --------------------------------------------------------------------------------------------
# Any opinion at all

PAIRS = [
    OPEN,
    ("She works at Acme", "Globex hired her in May"),
    ("The retry limit is 3 for uploads", "Uploads give up after 5 attempts"),
    ("The retry limit is 3", "The retry limit is 5"),
    ("Use it on weekends", "Use it on weekends unless it rains"),
    ("Use SQLite", "use sqlite!"),
    ("數據庫在東京", "資料庫位於大阪"),
    ("", "👍"),
]
_SHARES = st.lists(st.integers(0, 100), min_size=5, max_size=5).filter(any)


def _opinion(shares: list[int]) -> Opinion:
    total = sum(shares)
    same, refines, generalises, conflict, distinct = (round(share / total, 4) for share in shares)
    return Opinion(same, refines, generalises, conflict, distinct, "m@1")


@given(_SHARES, st.sampled_from(PAIRS), st.sampled_from([None, 0.3, 0.99]))
def test_any_opinion_gives_one_of_the_known_relations_and_a_fitting_reason(
    shares: list[int], pair: tuple[str, str], similarity: float | None
) -> None:
    old, new = pair
    memory = Memory(id="m1", namespace="n", content=old, created_at=NOW, updated_at=NOW)
    found = compare(Statement(content=new), memory, cosine=similarity, similarity=similarity, opinion=_opinion(shares))
    assert found.relation in RELATIONS
    assert bool(found.reason) == (found.relation == "conflict")
    if any(item.kind == "meaning" for item in found.differences):
        assert found.relation in ("conflict", "distinct")
    if found.reason == "model":
        assert not any(item.decisive for item in found.differences)
    assert found.confidence is None or 0.0 <= found.confidence <= 1.0
    if any(item.decisive for item in found.differences):
        assert (found.relation, found.confidence) == ("conflict", None)


@given(_SHARES.filter(lambda shares: len(set(shares)) == 5), st.sampled_from(PAIRS))
def test_the_mirrored_opinion_on_the_swapped_pair_gives_the_mirrored_relation(
    shares: list[int], pair: tuple[str, str]
) -> None:
    """Design §5: who was first must not matter to whether two texts conflict."""
    told = _opinion(shares)
    if len({told.of(relation) for relation in RELATIONS[:5]}) < 5:
        return  # rounding made a tie
    back = Opinion(told.same, told.generalises, told.refines, told.conflict, told.distinct, told.model)
    there, again = related(*pair, told), related(pair[1], pair[0], back)
    assert again.relation == MIRROR.get(there.relation, there.relation)
    assert (again.reason, again.confidence) == (there.reason, there.confidence)


def test_without_an_opinion_nothing_changes() -> None:
    """Any difference forbids *same*; a pair that differs is a variant."""
    assert related("Use it on weekends", "Use it on weekends unless it rains", None).relation == "variant"
    assert related(*OPEN, None).relation == "same"
    assert related(*OPEN, None).confidence is None
