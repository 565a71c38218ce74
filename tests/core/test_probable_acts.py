"""Folds and marks that are decided over all candidates: opinions and a head in, decision out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from wellkept.core.gate.admit import judge, settle
from wellkept.core.judging.calibration import IDENTITY
from wellkept.core.judging.evidence import Evidence, Moment
from wellkept.core.judging.letters import ChangeCues
from wellkept.core.judging.list_head import (
    FEATURES,
    ODDS_OF_THE_ACT,
    Act,
    Head,
    Read,
    ReadTwice,
    chances_of,
    features_of,
)
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.core.text.letter_groups import BUCKETS, LetterWeights, letters_of
from wellkept.policy import DEFAULT_KINDS, Policy
from wellkept.types import Candidate, ConflictChange, LinkChange, Memory, MemoryChange, NewMemory, Opinion

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAID = "Each month begins with paying the landlord."
SAME = Opinion(same=0.7, refines=0.1, generalises=0.1, conflict=0.05, distinct=0.05)
AGAINST = Opinion(same=0.05, refines=0.05, generalises=0.0, conflict=0.7, distinct=0.2)
APART = Opinion(same=0.01, refines=0.01, generalises=0.01, conflict=0.02, distinct=0.95)
SURE = Bounds(skip=0.95, link=2.0, evolve=2.0, flag=2.0, supersede=2.0)


def head(act: Act, english: float = 0.6, other: float = 0.6) -> Head:
    """A head that weighs the log-odds of the act alone, so that its probability is that of the opinion."""
    weights = tuple(float(place == ODDS_OF_THE_ACT) for place in range(FEATURES[act]))
    return Head(weights, 0.0, english, other)


HEADS = replace(SURE, fold=head("fold"), mark=head("mark"))
STATEMENTS = {"family": "statements", "repeats": "fold", "updates": "mark"}


def memory(name="old", content="The rent is due on the first.", **values):
    return Memory(id=name, namespace="n", content=content, **{
        "kind": "fact", "created_at": NOW - timedelta(days=9), "updated_at": NOW - timedelta(days=9), **values,
    })  # fmt: skip


def decided(*rows, bounds=HEADS, heads=None, said=None, verbatim=False, found=None, **options):
    kinds = {kind: replace(DEFAULT_KINDS[kind], **{**STATEMENTS, **options}) for kind in ("fact", "note", "episode")}
    evidence = Evidence(
        neighbours=tuple(Candidate(row, "vector", 0.7) for row, _ in rows),
        opinions={row.id: opinion for row, opinion in rows if opinion is not None},
        verbatim=tuple(Candidate(row, "canonical_hash") for row, _ in rows) if verbatim else (),
        heads=heads or {}, bounds=bounds, calibration=IDENTITY, **(found or {}),
    )  # fmt: skip
    new = NewMemory(**{"content": SAID, "kind": "fact", **(said or {})})
    moment = Moment(NOW, "new", "n", Policy(kinds=kinds), kinds[new.kind])
    return settle(new, evidence, moment) or judge(new, evidence, moment)


@pytest.mark.parametrize(
    ("row", "options", "outcome"),
    [
        (memory(), {}, "restated"),
        (memory(kind="note"), {}, "restated"),  # of the same family
        (memory(kind="note"), {"family": ""}, "created"),
        (memory(), {"repeats": "drop"}, "created"),
        (memory(status="archived"), {}, "created"),
        (memory(agent="somebody"), {}, "created"),
        (memory(content="Is the rent due on the first?"), {}, "created"),
        (memory(), {"on_conflict": "ignore"}, "created"),
    ],
)
def test_what_the_head_takes_for_a_restatement_stands_behind_the_memory(row, options, outcome):
    decision = decided((row, SAME), (memory("other", "The car is red."), APART), **options)
    assert decision.outcome == outcome
    if outcome == "restated":
        born = decision.effects[0]
        assert isinstance(born, MemoryChange) and born.after is not None
        assert (born.after.status, born.after.superseded_by, decision.memory.id) == ("wording", row.id, row.id)


@pytest.mark.parametrize(
    ("found", "outcome"),
    [({}, "restated"), ({"lexical": True, "degraded": ("lexical",)}, "restated"), ({"by_words": True}, "created")],
    ids=["by meaning", "a script that the embedder only spells", "an embedder that compares words"],
)
def test_the_heads_decide_on_the_cosines_that_they_were_fitted_beside(found, outcome):
    assert decided((memory(), SAME), found=found).outcome == outcome


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Run the tests before merging.", "Merge before running the tests."),
        ("Refunds are allowed within 30 days", "Refunds are allowed after 30 days"),
        ("Wir migrieren gerade auf Postgres", "Wir haben auf Postgres migriert"),
        ("We will migrate to Postgres.", "We have migrated to Postgres."),
        ("Only admins can delete projects", "Admins can only delete projects"),
    ],
)
def test_a_statement_that_is_turned_round_in_the_same_words_restates_nothing(old, new):
    for before, after in ((old, new), (new, old)):
        decision = decided((memory(content=before), replace(SAME, same=0.98, refines=0.0)), said={"content": after})
        assert decision.outcome == "created"
        assert "may_restate" not in {reason.rule for reason in decision.reasons}


CLOSES = "The office closes at six."


@pytest.mark.parametrize(
    ("old", "new", "restates", "outdates"),
    [
        (CLOSES, "Tom asked whether the office closes at six.", False, False),
        (CLOSES, "We do not know if it closes at six.", False, False),
        ("Das Büro schließt um sechs.", "Es ist unklar, ob das Büro um sechs schließt.", False, False),
        ("会议三点开始。", "有人问会议是否三点开始。", False, False),
        ("Tom asked whether the office closes at six.", CLOSES, False, True),  # the answer
        ("Tom asked whether the office closes.", "Tom asked if the office closes.", True, True),
        (CLOSES, "Tom asked whether we close at six. We do.", True, True),
        (CLOSES, "At six the office closes.", True, True),
    ],
)
def test_a_reported_question_restates_and_outdates_no_statement(old, new, restates, outdates):
    rows = (memory(content=old, kind="note"), SURELY_SAME)
    assert (decided(rows, said={"content": new}).outcome == "restated") is restates
    rows = (memory(content=old, kind="note"), AGAINST)
    assert bool(decided(rows, said={"content": new}).conflicts) is outdates


PLAN, DEED = "We will migrate to Postgres.", "We have migrated to Postgres."
OIL = "We will replace the oil heater in the hall this summer."
GAS = "We have replaced the gas heater in the hall this summer."
SURELY_SAME = Opinion(same=0.98, refines=0.0, generalises=0.0, conflict=0.01, distinct=0.01)


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        (PLAN, DEED, True),
        (PLAN, "We migrated to Postgres.", True),
        ("We plan to migrate to Postgres.", DEED, True),
        ("Kim wants to move to Berlin.", "Kim has moved to Berlin.", True),
        ("Wir werden auf Postgres migrieren.", "Wir haben auf Postgres migriert.", True),
        ("Nous allons migrer vers Postgres.", "Nous avons migré vers Postgres.", True),
        ("Vamos a migrar a Postgres.", "Hemos migrado a Postgres.", True),
        ("Migreremo a Postgres.", "Abbiamo migrato a Postgres.", True),
        ("我们将迁移到 Postgres。", "我们已经迁移到 Postgres。", True),
        (DEED, PLAN, False),  # another migration, or an old value told late
        ("We plan to migrate to Postgres.", PLAN, False),
        ("We will not migrate to Postgres.", DEED, False),  # the rules list it
        (PLAN, "We have not migrated to Postgres.", False),
        (OIL, GAS, False),  # one frame with another value
        ("All tests must be written first.", "All tests were written first.", False),  # a rule holds on
        ("We used to deploy by hand.", "We deploy by hand.", False),
    ],
)
def test_a_deed_outdates_its_plan_and_never_the_other_way_round(old, new, marked):
    plan = memory(content=old, kind="note")
    decision = decided((plan, SURELY_SAME), (memory("b", "The car is red."), APART), said={"content": new})
    marks = [(item.kind, item.a, item.probability) for item in decision.conflicts if item.kind == "outdated"]
    assert marks == ([("outdated", "old", 0.98)] if marked else [])
    assert decision.outcome == "created" or not marked


@pytest.mark.parametrize(
    ("row", "said", "options", "kinds"),
    [
        ({}, {}, {"updates": "list"}, []),
        ({}, {}, {"updates": "supersede"}, ["contradiction"]),
        ({}, {"event_time": NOW - timedelta(days=20)}, {}, []),  # told late: the plan is newer
        ({"agent": "somebody"}, {}, {}, []),
        ({"status": "archived"}, {}, {}, []),
        ({"kind": "note"}, {}, {"family": ""}, []),
    ],
)
def test_a_deed_outdates_a_plan_only_where_it_could_restate_and_outdate_it(row, said, options, kinds):
    plan = memory(content=PLAN, **row)
    decision = decided((plan, SURELY_SAME), said={"content": DEED, **said}, **options)
    assert [item.kind for item in decision.conflicts] == kinds
    assert decision.outcome == ("superseded" if kinds else "created")


@pytest.mark.parametrize(("least", "marks"), [(0.98, ["outdated"]), (0.9801, [])])
def test_a_deed_outdates_its_plan_where_the_head_would_have_folded_the_two(least, marks):
    bounds = replace(SURE, fold=head("fold", english=least, other=2.0))
    decision = decided((memory(content=PLAN), SURELY_SAME), said={"content": DEED}, bounds=bounds)
    assert [item.kind for item in decision.conflicts] == marks


def test_a_deed_that_is_known_already_is_a_wording_of_it_whatever_was_planned():
    plan, deed = memory("plan", PLAN), memory("deed", "Postgres is what we have moved to.")
    for rows in ((plan, deed), (deed, plan)):
        decision = decided(*((row, SURELY_SAME) for row in rows), said={"content": DEED})
        assert (decision.outcome, decision.memory.id) == ("restated", "deed")


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("I like tea better than coffee.", "Coffee is what I like more than tea.", True),
        ("Send invoices to Ana, not to Bo.", "Invoices go to Bo and no longer to Ana.", True),
        ("We prefer oat milk to soy milk.", "We like soy milk better than oat milk.", True),
        ("Wir nehmen lieber Tee als Kaffee.", "Kaffee nehmen wir lieber als Tee.", True),
        ("我们喜欢茶胜过咖啡。", "比起茶，我们更喜欢咖啡。", True),
        ("珈琲より紅茶が好きだ。", "紅茶より珈琲のほうが好きです。", True),
        ("Now I like coffee better than tea.", "I used to prefer tea to coffee.", False),
        ("Kim takes tea rather than coffee now.", "Kim formerly took coffee rather than tea.", False),
        # Things or events that changed places come first in recall, but mark nothing.
        ("Backups go to Hetzner and logs go to AWS.", "AWS gets the backups, Hetzner the logs.", False),
        ("Run the tests before merging.", "Merge before running the tests.", False),
    ],
)
def test_what_changed_places_is_never_a_wording_and_another_choice_outdates_the_first(old, new, marked):
    row = memory(content=old, kind="note")
    decision = decided((row, SURELY_SAME), said={"content": new})
    assert decision.outcome == "created"
    assert [item.a for item in decision.conflicts if item.kind == "outdated"] == (["old"] if marked else [])
    links = [effect.after for effect in decision.effects if isinstance(effect, LinkChange) and effect.after]
    assert [link.dst for link in links if link.rel == "may_update"] == ([] if marked else ["old"])


@pytest.mark.parametrize(
    ("old", "new", "outcome", "marked"),
    [
        ("Professional cleaning for adults costs 95.", "Adult cleaning is now 105, list reprinted.", "created", True),
        ("Notaries pay me 70 an hour.", "From the notaries I get seventy-eight an hour.", "created", True),
        ("The rent is 900 now.", "The rent used to be 800.", "created", False),
        ("The rent is 900 euros.", "If we stay another year, the rent is 950 euros.", "created", False),
        ("I set 35 percent of each fee aside.", "Thirty percent of what comes in is kept back.", "created", True),
        ("We will buy 3 printers.", "We have bought 4 printers.", "created", True),
        ("Der Eintritt kostet 12 Euro.", "Wer hinein will, zahlt 14 Euro.", "created", True),
        ("L'entrée coûte 12 euros.", "On paie 14 euros pour entrer.", "created", True),
        ("门票12欧元。", "进去要付14欧元。", "created", True),
        ("His first wife was from Chile.", "It was Chile that his second wife came from.", "created", False),
        # Another unit, another thing that is counted, small numbers and several numbers tell nothing.
        ("Bolts are 0.042 each.", "For one we pay 4.2 apiece.", "restated", False),
        ("The licence costs 1,200 pounds a year.", "Per month the licence is a hundred pounds.", "restated", False),
        ("Aydin's four keys are back.", "The two sisters have moved in upstairs.", "restated", False),
        ("They have had Wednesdays twice.", "The club on one wheel gets Wednesdays.", "restated", False),
        ("The desk is 80 by 160.", "A desk of 160 stands there.", "restated", False),
        ("Steel costs 12 euros.", "A kilo of steel is at 13 dollars.", "restated", False),
    ],
)
def test_another_number_of_the_same_is_never_a_wording_and_another_amount_outdates_the_first(old, new, outcome, marked):
    decision = decided((memory(content=old, kind="note"), SURELY_SAME), said={"content": new})
    assert decision.outcome == outcome
    assert [item.a for item in decision.conflicts if item.kind == "outdated"] == (["old"] if marked else [])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("They moved here before the war.", "They came to live here after the war."),
        ("The neighbour upstairs has a dog.", "The downstairs neighbour owns a dog."),
    ],
)
def test_the_other_side_of_an_event_or_a_floor_is_never_a_wording(old, new):
    decision = decided((memory(content=old), SURELY_SAME), said={"content": new})
    assert decision.outcome != "restated"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I like tea better than coffee.", "Coffee is what I like less than tea."),
        ("We go for oat milk rather than soy milk.", "Oat milk rather than soy milk is our choice."),
        ("Backups go to Hetzner and logs go to AWS.", "AWS gets the logs, Hetzner the backups."),
        ("We use Postgres, not Oracle.", "Oracle is not used here, we use Postgres."),
        ("Send invoices to Ana, not to Bo.", "Do not send invoices to Bo, send them to Ana."),
        ("We do not use Oracle any more but Postgres.", "We use Postgres rather than Oracle."),
        ("Manda facturas a Ana, no a Bo.", "No mandes facturas a Bo, manda facturas a Ana."),
        ("Rome is warmer than Paris.", "Paris is colder than Rome."),
        ("安娜比小波高。", "小波比安娜矮。"),
        ("東京より大阪へ行く。", "大阪へ行く、東京より。"),
        ("Bo handed the team over to Anna.", "Anna took the team over from Bo."),
    ],
)
def test_the_same_choice_and_the_same_partners_are_a_wording(old, new):
    assert decided((memory(content=old), SURELY_SAME), said={"content": new}).outcome == "restated"


def test_a_text_that_resembles_a_wording_stands_behind_the_head_of_that_wording():
    wording = memory("wording", status="wording", superseded_by="head")
    decision = decided((wording, SAME), heads={"wording": memory("head", "Rent: first of the month.")})
    assert (decision.outcome, decision.memory.id) == ("restated", "head")


def test_a_text_that_outdates_a_wording_outdates_the_head_of_that_wording():
    wording = memory("wording", status="wording", superseded_by="head")
    decision = decided((wording, AGAINST), heads={"wording": memory("head", "Rent: first of the month.")})
    assert [(match.memory_id, match.action) for match in decision.matches] == [("head", "outdate")]


@pytest.mark.parametrize(("least", "outcome"), [(0.8, "restated"), (0.8001, "created")])
def test_the_least_probability_belongs_to_the_act(least, outcome):
    bounds = replace(SURE, fold=head("fold", english=least, other=2.0))
    assert decided((memory(), SAME), bounds=bounds).outcome == outcome


@pytest.mark.parametrize(
    ("updates", "outcome", "kinds"),
    [("mark", "created", ["outdated"]), ("list", "created", []), ("supersede", "superseded", ["contradiction"])],
)
def test_a_probable_update_does_what_the_policy_says(updates, outcome, kinds):
    decision = decided((memory(), AGAINST), updates=updates)
    flagged = [effect.after for effect in decision.effects if isinstance(effect, ConflictChange)]
    assert (decision.outcome, [item.kind for item in flagged if item]) == (outcome, kinds)
    if updates == "mark":
        assert [item.probability for item in flagged if item] == [0.7]


@pytest.mark.parametrize(
    ("said", "row", "kind"),
    [
        ({}, {}, "outdated"),
        ({"event_time": NOW - timedelta(days=20)}, {}, "contradiction"),  # a late statement outdates nothing
        ({"event_time": NOW + timedelta(days=1)}, {}, "contradiction"),  # it does not hold yet
        ({}, {"event_time": NOW + timedelta(days=1)}, "contradiction"),
        ({"kind": "note"}, {}, "outdated"),
    ],
)
def test_a_contradiction_that_cannot_be_a_mark_is_listed(said, row, kind):
    only_flags = replace(SURE, flag=0.5)
    row = memory(kind=said.get("kind", "fact"), **row)
    for updates, expected in (("list", "contradiction"), ("mark", kind)):
        decision = decided((row, AGAINST), bounds=only_flags, said=said, updates=updates)
        assert (decision.outcome, [item.kind for item in decision.conflicts]) == ("created", [expected])
        assert decision.matches[0].action == ("outdate" if expected == "outdated" else "conflict")


def test_the_reason_of_a_possible_contradiction_gives_its_probability_and_not_that_of_the_likelier_relation():
    opinion = Opinion(same=0.02, refines=0.02, generalises=0.02, conflict=0.4, distinct=0.54, model="m")
    decision = decided((memory(), opinion), bounds=replace(SURE, flag=0.3), updates="list")
    assert [item.kind for item in decision.conflicts] == ["contradiction"]
    assert any("conflict with probability 0.4000 by m" in reason.detail for reason in decision.reasons)


@pytest.mark.parametrize("days", [-20, 1])
def test_what_is_late_or_does_not_hold_yet_is_never_marked_by_the_head_over_the_list(days):
    decision = decided((memory(), AGAINST), said={"event_time": NOW + timedelta(days=days)})
    assert (decision.outcome, decision.conflicts) == ("created", ())


def test_what_more_probably_outdates_a_memory_restates_none():
    decision = decided((memory("a"), SAME), (memory("b"), replace(AGAINST, conflict=0.9, distinct=0.0)))
    assert decision.outcome == "created"
    assert [item.kind for item in decision.conflicts] == ["outdated"]


def test_the_features_of_a_list_are_as_many_as_the_weights_and_see_the_others():
    read = [Read("Rent is 900 euros.", 0.8, SAME), Read("Ana pays 40 for heating.", 0.6, APART)]
    [alone], beside = (features_of("fold", "The flat costs 900.", some) for some in (read[:1], read))
    assert [len(features) for features in (alone, *beside)] == [FEATURES["fold"]] * 3
    assert {len(features) for features in features_of("mark", "The flat costs 900.", read)} == {FEATURES["mark"]}
    assert alone != beside[0]


@pytest.mark.parametrize("act", ["fold", "mark"])
def test_the_third_reading_of_a_text_counts_and_the_mean_stands_for_one_that_was_not_made(act):
    shares = (SAME.same, SAME.refines, SAME.generalises, SAME.conflict, SAME.distinct)
    of_act, was_made = FEATURES[act] - 2, FEATURES[act] - 1
    seen = {}
    for name, third in {"none": None, "against": AGAINST, "same": SAME}.items():
        read = Read("La renta es 900.", 0.8, ReadTwice(*shares, first=SAME, second=SAME, third=third))
        [seen[name]] = features_of(act, "El piso cuesta 900.", [read])
    assert [seen[name][was_made] for name in seen] == [0.0, 1.0, 1.0]
    assert seen["none"][of_act] == seen["same"][of_act] != seen["against"][of_act]
    assert (seen["against"][of_act] > seen["same"][of_act]) is (act == "mark")
    assert len({seen[name][:-7] for name in seen}) == 1


@pytest.mark.parametrize("act", ["fold", "mark"])
def test_in_english_the_third_reading_of_a_text_in_another_language_is_not_seen(act):
    """It is read alone; the heads for English know what a second reader says of English lists."""
    plain = (SAME.same, SAME.refines, SAME.generalises, SAME.conflict, SAME.distinct)
    told, untold = (ReadTwice(*plain, first=SAME, second=SAME, third=third) for third in (AGAINST, None))
    for new, old, is_seen in (
        ("The flat costs 900 euros a month.", "La renta es de 900 euros al mes.", False),
        ("The flat costs 900 euros a month.", "The rent is 900 euros each month.", True),
        ("El piso cuesta 900 euros al mes.", "The rent is 900 euros each month.", True),
    ):
        seen, unseen = (features_of(act, new, [Read(old, 0.8, one)]) for one in (told, untold))
        assert (seen != unseen) is is_seen


def test_letters_tell_the_candidate_that_looks_most_like_a_change():
    letters = letters_of("Rent is 900 euros.")
    gone = LetterWeights([int(group in letters) for group in range(BUCKETS)], 1.0)
    none = LetterWeights([0] * BUCKETS, 1.0)
    cues = ChangeCues(none, none, none, gone, none, 0.0)
    read = Read("Ana pays 40 for heating.", 0.6, APART), Read("Rent is 900 euros.", 0.6, APART)
    how_much_more = FEATURES["mark"] - 9  # behind it: how the new text sounds, and the third reading
    weights = tuple(float(place == how_much_more) for place in range(FEATURES["mark"]))
    less, more = chances_of(Head(weights, 0.0, 0.5, 0.5, cues), "mark", "The flat costs 700.", read)
    assert less < 0.5 < more
    assert chances_of(Head(weights, 0.0, 0.5, 0.5), "mark", "The flat costs 700.", read) == (0.5, 0.5)


def told_again(*found, heads=None, said=None, **options):
    """The decision about a text whose words stand in these rows; no model has read any."""
    return decided(*((row, None) for row in found), heads=heads, said=said, verbatim=True, **options)


@pytest.mark.parametrize(
    ("row", "said", "options", "outcome"),
    [
        (memory(content=SAID, kind="note"), {}, {}, "restated"),
        (memory(content=SAID.upper(), kind="note"), {}, {}, "restated"),
        (memory(content=SAID, kind="note", title="Rent"), {}, {}, "restated"),  # titles do not count
        (memory(content=SAID, kind="note"), {}, {"family": ""}, "created"),
        (memory(content=SAID, kind="note"), {}, {"repeats": "drop"}, "created"),
        (memory(content=SAID, kind="note"), {}, {"on_conflict": "ignore"}, "created"),
        (memory(content=SAID, kind="note", status="superseded", superseded_by="x"), {}, {}, "created"),
        (memory(content=SAID, kind="note", expires_at=NOW), {}, {}, "created"),
        (memory(content=SAID, kind="note", agent="somebody"), {}, {}, "created"),
        (memory(content=SAID, kind="note", polarity=-1), {"polarity": 1}, {}, "created"),
        (memory(content=SAID, kind="note", subject="Ana"), {"subject": "Bo"}, {}, "created"),
        (memory(content=SAID, kind="note", event_time=NOW), {"event_time": NOW - timedelta(days=1)}, {}, "created"),
        (memory(content=SAID, kind="note"), {"event_time": NOW + timedelta(days=1)}, {}, "created"),  # not yet
        (memory(content=SAID, kind="episode"), {}, {}, "created"),  # an episode is never a head
        (memory(content=SAID, kind="note"), {"kind": "episode", "ended_at": NOW}, {}, "restated"),
        (memory(content=SAID, kind="note"), {"kind": "episode"}, {}, "created"),  # it goes on
    ],
)
def test_the_same_words_in_another_kind_of_the_family_stand_behind_the_memory(row, said, options, outcome):
    decision = told_again(row, said=said, **options)
    assert decision.outcome == outcome
    if outcome == "restated":
        assert [link.rel for link in decision.links] == ["restates"]
        assert (decision.memory.id, decision.memory.confirmations) == (row.id, 1)
        assert (decision.reasons[0].rule, decision.matches[0].action) == ("restates", "restate")


def test_the_same_words_as_a_wording_of_another_kind_stand_behind_its_head():
    wording = memory("wording", content=SAID, kind="note", status="wording", superseded_by="head")
    front = memory("head", "Rent: first of the month.")
    decision = told_again(wording, heads={"wording": front})
    assert (decision.outcome, decision.memory.id, decision.effects[0].after.kind) == ("restated", "head", "fact")
    gone = told_again(wording, heads={"wording": replace(front, status="archived")})
    assert gone.outcome == "created"


def test_of_two_memories_in_the_same_words_the_one_of_its_own_kind_is_confirmed():
    rows = memory("a", content=SAID, kind="note"), memory("b", content=SAID, kind="fact")
    decision = told_again(*rows)
    assert (decision.outcome, decision.memory.id) == ("duplicate", "b")


def test_a_head_without_as_many_weights_is_a_mistake():
    with pytest.raises(ValueError, match="shorter|longer"):
        Head((1.0,), 0.0, 0.5, 0.5).probability("Tea.", (1.0, 2.0))


def test_a_head_has_weights_of_its_own_for_other_languages_if_its_card_says_so():
    card = {"weights": [1.0], "bias": 0.0, "least": {"balanced": {"english": 0.7, "other": 0.6}}}
    both = Head.of({**card, "elsewhere": {"weights": [-1.0], "bias": -1.0}}, "balanced", None)
    texts = ("The rent is 900 euros.", "Die Miete ist nun 900 Euro.")
    assert [both.probability(text, (2.0,)) for text in texts] == [0.8808, 0.0474]
    assert [Head.of(card, "balanced", None).probability(text, (2.0,)) for text in texts] == [0.8808, 0.8808]
    assert [both.least(text) for text in texts] == [0.7, 0.6]
