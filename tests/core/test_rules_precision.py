"""Texts without a difference for the rules, and notations of the same value (issue item 1, B-3, B-13, B-14)."""

from __future__ import annotations

import pytest

from wellkept.core.differences.find import differences
from wellkept.core.lexicon.english import classes, opposites, related, same_by_another_name

# One side denies, yet the other may hold too: less, more, of another thing, at another time.
BOTH_MAY_HOLD = [
    ("No host other than kafka may be used", "The kafka host may be used"),
    ("Not all services have backups", "The services have backups"),
    ("The app isn't available until May", "The app is available"),
    ("The drawing app does not work in Safari", "The help pages of the drawing app work in Safari"),
    ("I can't read thrillers at night", "My sister can read thrillers at night"),
    ("I don't have a credit card", "I had a credit card from 2009 to 2014"),
    ("She doesn't eat fish", "He eats fish"),
    ("API v2 does not support tokens", "API v1 supports tokens"),
    ("The 502 errors aren't fixed by a restart", "The 504 errors are fixed by a restart"),
    ("The parser fails to run on Windows and is of no use", "The parser doesn't run on Windows"),
    ("Data must not leave the EU", "Data must not leave the EU, not even in backups"),
    ("No network access in unit tests", "Unit tests must not access the network"),
    ("It does not run on Windows", "It does not run on Solaris"),
    ("Alice never uses vim", "Alice never uses emacs"),
    ("Tea, not coffee, before lunch", "Lunch, not tea, before coffee"),
    ("The proxy was not reachable", "The proxy is reachable"),
    ("The job does not take about 5 s", "The job takes 5 s"),
    ("Some jobs do not use tape", "The jobs use tape"),
    ("The events go through NATS instead of RabbitMQ", "The events don't go through RabbitMQ"),
]

# A value was replaced, and still both may hold.
NO_REPLACEMENT = [
    ("Betty lives in Berlin", "Betty lives in Germany"),
    ("All dots are scarlet", "All dots are red"),
    ("The logs are kept for seven years", "The logs are kept for more than one year"),
    ("Attachments may be at most 25 MB", "Attachments may be at most two years"),
    ("I prefer fakes to mocks in tests", "I prefer tables to loops in tests"),
    ("Sponsor: Corvina Cloud, $12k", "Sponsor: Baltic Hosting, $2k"),
    ("The 502 errors are fixed", "The 504 errors are fixed"),
    ("The 8080 port is open", "The 9090 port is open"),
    ("Two servers are down", "Three servers are down"),
    ("The upload finished in 30 s", "The upload finished in 60 s"),
    ("The trolley is going up hill roads", "The trolley is going down hill roads"),
    ("The toy is a dog house", "The toy is a cat house"),
    ("The page is for open tickets", "The page is for closed tickets"),
    ("Use ruff linters for checks", "Use blake linters for checks"),
    ("Use the brushes for painting", "Use the rollers for painting"),
    ("Use three old wide brushes for painting", "Use new small rollers for painting"),
    ("The plane holds 5 boxes", "The plan holds 6 boxes"),
    ("A truck is going up a hill", "A truck is going down a hill"),
    ("The full training takes 6 h on 1× A100", "The full training takes 2 h on 4× A100"),
]

# Both cannot hold. old, new, kind.
STILL_DECISIVE = [
    ("Nobody is watching the show", "Somebody is watching the show", "negation"),
    ("No one is near the pool", "Everyone is near the pool", "negation"),
    ("There is no man riding a bike", "A young man is riding a bike", "negation"),
    ("Always rebase feature branches", "Never rebase feature branches", "negation"),
    ("The two servers are in Berlin", "The five servers are in Berlin", "number"),
    ("The server is up", "The server is down", "antonym"),
    ("The offer is flexible", "The offer is inflexible", "antonym"),
    ("The pet is a dog", "The pet is a cat", "value"),
    ("The statue is bronze", "The statue is brass", "value"),
]

# Written in another way. The value is the same.
SAME_VALUE = [
    ("The lease starts on 14-05", "The lease starts on 14 May"),
    ("The lease starts on 14 May", "The lease starts on the fourteenth of May"),
    ("The lease starts on May 14th", "The lease starts on 14 May"),
    ("The lease starts on may 14", "The lease starts on 14 May"),
    ("The run starts at 2026-03-04T10:17", "The run starts at 2026-03-04 10:17"),
    ("The run starts at 2026-3-4T10:17", "The run starts at 2026-03-04 10:17"),
    ("It ends 10 min (10 min) ahead", "It ends 10 min ahead"),
    ("The race takes 30 s 10 ms", "The race takes 30 s"),
    ("Layer 7's pottery is old", "Layer 7 pottery is old"),
    ("予算は5万円", "予算は50000円"),
    ("租金是 5 万", "租金是 50000"),
    ("工期是三十天", "工期是30天"),
    ("温度是百七十度", "温度是170度"),
    ("26年3月4日开会", "2026年3月4日开会"),
    ("The server runs v12", "The server runs 12"),
    ("Fixed in PR 851, bug #847", "851 merged, #847 fixed"),
    ("两天 3小时", "51小时"),
    ("I'm on p.212", "I'm on page 212"),
    ("Passwords are hashed with Argon2id", "Passwords are Argon2id-hashed"),
    ("Hashing uses SHA-256", "Hashing uses sha256"),
    ("Logs are kept for 90d", "Logs are kept for 90 days"),
    ("CI stops at 1h30", "CI stops at 90 minutes"),
    ("timeout is 1h30", "timeout is 90 min"),
    ("The limit is 100 rpm", "The limit is 100 requests per minute"),
    ("The limit is a hundred users", "The limit is 100 users"),
    ("Lights out at 10.30 p.m.", "Lights out at 10:30 in the evening"),
    ("Lights out at 22:30", "Lights out at half ten"),
    ("Alarm is at quarter to seven", "Alarm is at 6:45"),
    ("Training needs 1× A100", "Training needs 1 A100"),
    ("The rent is 300", "The rent is €300"),
    ("a 6-week cadence", "a six week cadence"),
    ("The limits stand in ~/app/limits.toml", "The limits stand in $HOME/app/limits.toml"),
]

# Close to these, and another value.
OTHER_VALUE = [
    ("Lights out at half ten", "Lights out at half eleven"),
    ("Lights out at half ten", "Lights out at 10:00"),
    ("Meet at half past nine", "Meet at nine"),
    ("Meet at 10:30 in the evening", "Meet at 10:30 in the morning"),
    ("The lease starts on 14-05", "The lease starts on 14-06"),
    ("the fourteenth of May", "the fifteenth of May"),
    ("I'm on p. 212", "I'm on page 213"),
    ("Use Argon2id", "Use Argon2i"),
    ("Hashing uses SHA-256", "Hashing uses SHA-512"),
    ("The limit is 100 requests per minute", "The limit is 100 requests per second"),
    ("The fee is 300", "The fee is €301"),
    ("The limit is 5", "The limit is 5 MB"),
    ("CI stops at 1h30", "CI stops at 1h40"),
    ("2× A100", "4× A100"),
    ("The run starts at 2026-03-04T10:17", "The run starts at 2026-03-04T10:18"),
    ("The rent is due on 3/4/2026", "The rent is due on 3 April 2026"),
    ("La réunion est aujourd'hui", "La réunion est demain"),
    ("It is half past", "It is half past ten"),
    ("The code is 1,2.3,4", "The code is 1,2.3,5"),
    ("tea beats the coffee", "coffee beats a tea"),
    ("mon-thu", "mon-fri"),
    ("Lights out at half to ten", "Lights out at half past nine"),
    ("Lights out at half past 13", "Lights out at half past one"),
]


@pytest.mark.parametrize(("old", "new"), BOTH_MAY_HOLD + NO_REPLACEMENT)
def test_where_both_may_hold_no_rule_claims_a_conflict(old: str, new: str) -> None:
    for found in (differences(old, new), differences(new, old)):
        assert not [d for d in found if d.decisive]


@pytest.mark.parametrize(("old", "new", "kind"), STILL_DECISIVE)
def test_a_whole_denial_and_an_exclusive_value_stay_decisive(old: str, new: str, kind: str) -> None:
    assert [d.kind for d in differences(old, new) if d.decisive] == [kind]


@pytest.mark.parametrize(("old", "new"), SAME_VALUE)
def test_one_value_in_two_spellings_is_no_difference_of_value(old: str, new: str) -> None:
    hard = {"number", "identifier", "date", "time", "version", "name", "sign"}
    assert not [d for d in differences(old, new) if d.kind in hard or d.decisive]


@pytest.mark.parametrize(("old", "new"), OTHER_VALUE)
def test_another_value_is_never_read_as_the_same(old: str, new: str) -> None:
    """I2, I10."""
    assert differences(old, new)


@pytest.mark.parametrize(("first", "second"), [("buy", "purchase"), ("bicycle", "bike"), ("physician", "doctor")])
def test_another_name_of_the_same_is_known_as_related(first: str, second: str) -> None:
    assert related(first, second)


def test_a_word_that_only_means_the_same_is_no_difference() -> None:
    assert same_by_another_name("sofa", "couch") and same_by_another_name("cars", "automobiles")
    assert not same_by_another_name("bank", "shore")
    assert not same_by_another_name("cars", "automobile")
    assert differences("The sofa is green", "The couch is green") == ()


@pytest.mark.parametrize(("first", "second"), [("man", "woman"), ("boy", "girl"), ("king", "queen"), ("bull", "cow")])
def test_two_beings_are_no_opposites(first: str, second: str) -> None:
    assert opposites(first, second) is None


@pytest.mark.parametrize(
    ("first", "second", "grade"),
    [("flexible", "inflexible", "state"), ("asleep", "awake", "state"), ("push", "pull", "weak"), ("dog", "wet", None)],
)
def test_opposites_of_wordnet_are_graded(first: str, second: str, grade: str | None) -> None:
    assert opposites(first, second) == opposites(second, first) == grade


def test_kinds_of_one_class_are_exclusive_and_a_kind_is_related_to_its_class() -> None:
    assert classes("dog") & classes("cats")
    assert not classes("teacher")
    assert related("poodle", "dog") and related("berlin", "germany") and not related("dog", "cat")
