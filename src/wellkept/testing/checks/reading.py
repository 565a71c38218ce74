"""Checks of queries: filters, vectors, full text, links, conflicts, the journal."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np

from wellkept.core.records.fits import misfit
from wellkept.core.records.vectors import cosines
from wellkept.core.text.forms import search_terms
from wellkept.testing.checks.world import (
    DIM,
    NS,
    World,
    at,
    changed,
    conflict,
    entry,
    equal,
    expect,
    memory,
    vector,
)
from wellkept.types import ALL_STATUSES, AliasChange, ConflictChange, Filter, Link, LinkChange, MemoryChange, Status

SCRIPTS = (
    ("Use ruff for linting", "ruff"),
    ("Der Müller fährt täglich", "täglich"),
    ("Сервер работает на порту 8080", "сервер"),
    ("数据库连接超时设置为三十秒", "超时"),
    ("データベースのタイムアウトは三十秒", "タイムアウト"),
    ("데이터베이스 연결 시간", "데이터베이스"),
    ("חיבור מסד הנתונים", "הנתונים"),
    ("اتصال قاعدة البيانات", "قاعدة"),
    ("डेटाबेस कनेक्शन समय", "कनेक्शन"),
    ("ฐานข้อมูลช้ามาก", "ข้อมูล"),
    ("See PR#441 in C++ v1.5.2", "PR#441"),
)


def a_fresh_store_has_no_embedder_and_no_namespaces(world: World) -> None:
    """A new store has no configuration."""
    equal((world.fresh.embedder, world.fresh.dim, world.fresh.policy), ("", 0, ""), "fresh header")
    expect(world.fresh.store_id, "a store has an id")
    header = world.store.header()
    equal((header.embedder, header.dim, header.policy), ("kit/one", DIM, "p1"), "configured header")
    equal(header.store_id, world.fresh.store_id, "the id stays")
    equal(world.store.header().namespaces, (), "no namespaces")


def a_census_counts_without_reading(world: World) -> None:
    """Counts of statuses, kinds of active rows, outcomes, links, unchecked rows and rows without a vector."""
    world.add(memory("m1", kind="fact", checked=False))
    world.add(memory("m2", status="superseded", superseded_by="m1"))
    world.apply(LinkChange(None, Link("m1", "m2", "supersedes", at(0))), outcome="linked")
    with world.store.begin(NS, write=False) as tx:
        census = tx.census()
    equal(dict(census.statuses), {"active": 1, "superseded": 1}, "statuses")
    equal(dict(census.kinds), {"fact": 1}, "kinds of the active")
    equal((census.links, census.unchecked, census.outcomes["linked"]), (1, 1, 1), "links, unchecked, outcomes")
    equal(census.unembedded, 1 if not memory("m1").embedding else 0, "without a vector")


def decisions_are_counted_by_outcome_and_day(world: World) -> None:
    """Entries by day and outcome, and the numbers of the entries with an outcome."""
    world.add(memory("m1"))
    world.apply(LinkChange(None, Link("m1", "m1", "related", at(0))), outcome="linked")
    world.add(memory("m2"))
    with world.store.begin(NS, write=False) as tx:
        counted, entries = tx.outcomes_by_day(), tx.journal()
        numbers = {one.outcome: tx.entries_with(one.outcome) for one in entries}
        missing = tx.entries_with("no such outcome")
    expected: dict[tuple[str, str], int] = {}
    for one in entries:
        key = (f"{one.at:%Y-%m-%d}", one.outcome)
        expected[key] = expected.get(key, 0) + 1
    equal(counted, expected, "by day and outcome")
    equal(numbers["linked"], [2], "numbers of an outcome")
    equal(missing, [], "numbers of an outcome that never was")


def each_filter_finds_what_it_says_and_nothing_else(world: World) -> None:
    """Each row differs from the others in one field."""
    world.add(memory("m1"))
    world.add(memory("m2", kind="fact", subject="Nous", attribute="Status"))
    world.add(memory("m3"))
    world.add(memory("m4", ended_at=at(9)))
    world.add(memory("m5", checked=False))
    world.add(memory("m6"), seed=6)
    world.add(memory("m7", status="superseded", superseded_by="m1"))
    world.add(memory("m8", status="archived"))
    cases: list[tuple[Filter, list[str]]] = [
        (Filter(), ["m1", "m2", "m3", "m4", "m5", "m6"]),
        (Filter(kinds=("fact",)), ["m2"]),
        (Filter(kinds=("fact", "semantic", "none")), ["m1", "m2", "m3", "m4", "m5", "m6"]),
        (Filter(statuses=("superseded", "archived")), ["m7", "m8"]),
        (Filter(statuses=ALL_STATUSES), ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"]),
        (Filter(statuses=()), ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"]),
        (Filter(subject="  nOUS "), ["m2"]),
        (Filter(subject="NOUS", attribute="STATUS"), ["m2"]),
        (Filter(subject="NOUS", attribute=""), []),
        (Filter(subject=""), ["m1", "m3", "m4", "m5", "m6"]),
        (Filter(ongoing=False), ["m4"]),
        (Filter(ongoing=True, kinds=("semantic",)), ["m1", "m3", "m5", "m6"]),
        (Filter(unchecked=True), ["m5"]),
        (Filter(unchecked=False, ongoing=True), ["m1", "m2", "m3", "m6"]),
        (Filter(embedded=True), ["m6"]),
        (Filter(embedded=False, kinds=("fact",)), ["m2"]),
        (Filter(created_from=at(5)), ["m5", "m6"]),
        (Filter(id_prefix="m"), ["m1", "m2", "m3", "m4", "m5", "m6"]),
        (Filter(id_prefix="m3"), ["m3"]),
        (Filter(id_end="3"), ["m3"]),
        (Filter(id_end="%"), []),
        (Filter(id_prefix="M3"), []),
        (Filter(id_prefix="%"), []),
        (Filter(ids=("m4", "m1", "none", "m4")), ["m4", "m1"]),
        (Filter(ids=("m7",)), []),
        (Filter(ids=()), []),
    ]
    for where, expected in cases:
        equal(world.ids(where), expected, f"{where}")


def a_filter_finds_the_rows_that_match_each_of_its_parts(world: World) -> None:
    """Random filters over random rows find what `core.records.fits` says of each row."""
    chance = random.Random(7)
    rows = []
    for number in range(1, 31):
        word = chance.choice(("Nous", "NOUS ", "", "ß"))
        row = memory(
            f"{chance.choice('aAbß')}{number}",
            kind=chance.choice(("fact", "semantic")),
            subject=word,
            attribute=word and chance.choice(("Status", "")),
            status=chance.choice(("active", "superseded", "archived")),
            created_at=at(number // 3),
            ended_at=chance.choice((None, at(90))),
            checked=chance.random() < 0.5,
        )
        hashes = chance.sample(("h1", "h2", "h3"), chance.randrange(3))
        rows.append((world.add(row, seed=chance.choice((None, number)), hashes=hashes), hashes))
    rows.sort(key=lambda pair: (pair[0].created_at, pair[0].id))
    choices: dict[str, tuple[Any, ...]] = {
        "id_prefix": ("a", "A", "b1"),
        "id_end": ("1", "12"),
        "hashes": (("h1",), ("h2", "h3", "h4")),
        "kinds": (("fact",), ("fact", "semantic")),
        "statuses": ((), ("active",), ("superseded", "archived")),
        "subject": ("nous", "", "ss"),
        "attribute": ("STATUS", ""),
        "ongoing": (True, False),
        "created_from": (at(4), at(4.5)),
        "unchecked": (True, False),
        "embedded": (True, False),
        "after": ((at(3), "a"), (at(5), "b17")),
        "before": ((at(8), "a"), (at(6), "b17")),
    }
    for _ in range(300):
        where = Filter(**{name: chance.choice(choices[name]) for name in chance.sample(sorted(choices), 2)})
        unfit = misfit(where)
        expected = [
            row.id
            for row, hashes in rows
            if not unfit(row)
            and (not where.hashes or set(where.hashes) & set(hashes))
            and (where.embedded is None or bool(row.embedding) is where.embedded)
        ]
        equal(world.ids(where), expected, f"{where}")


def rows_come_by_creation_time_then_id_and_page_by_page(world: World) -> None:
    """Times with and without fractions, two rows of equal time, inserted out of order."""
    times = {"e": at(0), "b": at(0), "d": at(0) + timedelta(microseconds=1), "a": at(2), "c": at(1)}
    for memory_id, made in times.items():
        world.add(memory(memory_id, created_at=made))
    everything = ["b", "e", "d", "c", "a"]
    equal(world.ids(Filter()), everything, "order")
    equal(world.ids(Filter(), limit=2), everything[:2], "limit")
    equal(world.ids(Filter(), limit=0), [], "no rows asked for")
    seen: list[str] = []
    after = None
    while page := world.ids(Filter(after=after), limit=2):
        seen += page
        after = (times[page[-1]], page[-1])
    equal(seen, everything, "pages")
    equal(world.ids(Filter(before=(times["c"], "c")), limit=2), ["e", "d"], "the last ones before a row")
    equal(world.ids(Filter(before=(times["b"], "b"))), [], "nothing before the first")
    equal(world.ids(Filter(before=(times["a"], "a"), after=(times["b"], "b"))), ["e", "d", "c"], "between two rows")


def a_hash_finds_every_row_it_points_at(world: World) -> None:
    """Append-only kinds repeat texts, so one hash can belong to several rows."""
    first = world.add(memory("m1"), hashes=("h1", "both"))
    world.add(memory("m2"), hashes=("h2", "both"))
    equal(world.ids(Filter(hashes=("both",))), ["m1", "m2"], "shared hash")
    equal(world.ids(Filter(hashes=("h2", "none"))), ["m2"], "any of the hashes")
    world.apply(AliasChange("m1", "both", present=False))
    equal(world.ids(Filter(hashes=("both",))), ["m2"], "alias gone")
    world.apply(AliasChange("m1", "h1", present=True), AliasChange("m1", "h3", present=True))
    effects = world.journal(newest=1)[0].effects
    equal(effects, (AliasChange("m1", "h3", present=True),), "an alias that was there is no change")
    world.apply(changed(first, status="archived"))
    equal(world.ids(Filter(hashes=("h1",))), [], "hidden by status")
    equal(world.ids(Filter(hashes=("h1",), statuses=ALL_STATUSES)), ["m1"], "still there")


def the_nearest_are_those_of_an_exhaustive_search(world: World) -> None:
    """Exact search: ids and order as computed row by row from stored vectors."""
    for number in range(120):
        kind = "fact" if number % 3 else "note"
        status = "archived" if number % 7 == 0 else "active"
        world.add(memory(f"m{number:03}", kind=kind, status=status), seed=number)
    queries = np.stack([vector(7), vector(1001), vector(1002)])
    with world.store.begin(NS, write=False) as tx:
        stored = tx.vectors([f"text-of-m{number:03}" for number in range(120)])
        expect(len(stored) == 120, "all vectors are kept")
        cases: tuple[tuple[tuple[str, ...], tuple[Status, ...], int], ...] = (
            ((), ("active",), 5),
            (("note",), ("active",), 200),
            ((), ALL_STATUSES, 11),
            (("note", "fact"), ("archived",), 3),
            (("unknown",), ("active",), 3),
        )
        for kinds, statuses, limit in cases:
            rows = [row.id for row in tx.find(Filter(kinds=kinds, statuses=statuses))]
            found = tx.nearest(queries, limit=limit, kinds=kinds, statuses=statuses)
            equal(len(found), len(queries), "one answer a query")
            for query, near in zip(queries, found, strict=True):
                matrix = np.stack([stored[f"text-of-{one}"] for one in rows]) if rows else np.zeros((0, DIM))
                scores = cosines(query, matrix) if rows else np.zeros(0)
                best = sorted(zip(-scores, rows, strict=True))[:limit]
                equal(list(near.ids), [one for _, one in best], f"nearest of {kinds} {statuses}")
                for memory_id, row in zip(near.ids, near.vectors, strict=True):
                    same = np.allclose(row, stored[f"text-of-{memory_id}"], rtol=0, atol=1e-6)
                    expect(same, "the vector given is the stored one")


def ties_among_the_nearest_are_broken_by_id(world: World) -> None:
    """Many rows of one text: the limit cuts by id, not by position."""
    for number in (5, 3, 9, 1, 7):
        world.add(memory(f"m{number}", embedding="same"), seed=1)
    equal(world.near(1, limit=3), ["m1", "m3", "m5"], "ties")
    equal(world.near(1, limit=0), [], "none asked for")


def a_row_without_a_vector_is_never_proposed(world: World) -> None:
    """Neither a row that never had a vector nor one that lost it by a change."""
    world.add(memory("m1"))
    second = world.add(memory("m2"), seed=2)
    equal(world.near(2), ["m2"], "only the row with a vector")
    world.apply(changed(second, embedding="", chunks=0))
    equal(world.near(2), [], "the vector is no longer its own")


def words_of_any_script_are_found(world: World) -> None:
    """Terms come from `search_terms` of the core."""
    for number, (content, _) in enumerate(SCRIPTS):
        world.add(memory(f"m{number}", content))
    for number, (_, query) in enumerate(SCRIPTS):
        expect(f"m{number}" in world.match(*search_terms(query)), f"{query!r} is found")
    equal(world.match("nothingsaysthis"), [], "an unknown word finds nothing")
    equal(world.match(), [], "no terms, no rows")


def every_field_that_says_something_is_searched_in_active_rows_only(world: World) -> None:
    """Title, content, summary, subject, attribute and tags; changes of text or status take effect immediately."""
    words = {"title": "apple", "summary": "birch", "subject": "cedar", "attribute": "daisy"}
    row = world.add(replace(memory("m1", "fig", tags=("elder tree",)), **words))  # type: ignore[arg-type]
    for word in ("apple", "birch", "cedar", "daisy", "elder", "fig"):
        equal(world.match(word), ["m1"], word)
    archived = changed(row, status="archived")
    world.apply(archived)
    equal(world.match("fig"), [], "archived rows are not searched")
    expect(archived.after is not None, "there is a row")
    back = changed(archived.after or row, status="active", content="grape")
    world.apply(back)
    equal((world.match("fig"), world.match("grape"), world.match("apple")), ([], ["m1"], ["m1"]), "new words")
    world.apply(MemoryChange(back.after, None))
    equal(world.match("grape"), [], "a row taken back")


def rare_words_outrank_common_ones(world: World) -> None:
    """Best match first, limited, filtered by kind."""
    for number in range(8):
        world.add(memory(f"m{number}", "common words here", kind="fact" if number % 2 else "note"))
    world.add(memory("m8", "common and uncommonest", kind="note"))
    world.add(memory("m9", "uncommonest alone", kind="fact"))
    equal(world.match("common", "uncommonest", limit=1), ["m8"], "both words first")
    equal(world.match("common", "uncommonest", limit=2)[1], "m9", "then the rare one")
    equal(set(world.match("common", limit=50, kinds=("fact",))), {"m1", "m3", "m5", "m7"}, "of one kind")
    equal(len(world.match("common", limit=50)), 9, "all that hold it")


def a_link_is_kept_once(world: World) -> None:
    """Unique by source, target and relation; dangling ends are permitted."""
    first = Link("m1", "m2", "refines", at(1))
    world.apply(LinkChange(None, first))
    seq = world.apply(LinkChange(None, Link("m1", "m2", "refines", at(5))))
    world.apply(LinkChange(None, Link("m1", "m2", "related", None)), LinkChange(None, Link("m0", "m1", "x y", at(2))))
    with world.store.begin(NS, write=False) as tx:
        equal(
            tx.links(["m1"]),
            [Link("m0", "m1", "x y", at(2)), first, Link("m1", "m2", "related", None)],
            "links of m1, in order",
        )
        equal([link.src for link in tx.links(["m0"])], ["m0"], "of a source")
        equal([link.dst for link in tx.links(["m2", "none"])], ["m2", "m2"], "of a target")
        equal(len(tx.links()), 3, "all")
        equal(tx.links([]), [], "of nobody")
    equal(world.journal(seqs=[seq])[0].effects, (), "nothing changed the second time")
    world.apply(LinkChange(first, None))
    world.apply(LinkChange(first, None))
    with world.store.begin(NS, write=False) as tx:
        equal(len(tx.links(["m2"])), 1, "removed once")


def a_conflict_is_kept_once_and_found_by_pair_and_key(world: World) -> None:
    """A resolved pair is not flagged again."""
    one, two = conflict("k1", "m1", "m2", minutes=2), conflict("k2", "m2", "m3", minutes=1)
    world.apply(ConflictChange(None, one), ConflictChange(None, two))
    settled = conflict("k1", "m1", "m2", minutes=2, resolution="keep_both", resolved_at=at(9))
    world.apply(ConflictChange(one, settled))
    world.apply(ConflictChange(None, one))
    with world.store.begin(NS, write=False) as tx:
        equal(tx.conflicts(), [two, settled], "all, oldest first")
        equal(tx.conflicts(ids=["m1"]), [settled], "of the older side")
        equal(tx.conflicts(ids=["m3", "none"]), [two], "of the newer side")
        equal(tx.conflicts(keys=["k1", "none"]), [settled], "by key")
        equal(tx.conflicts(ids=["m3"], keys=["k1"]), [two, settled], "either")
        equal(tx.conflicts(ids=[]), [], "of nobody")
    world.apply(ConflictChange(settled, None))
    with world.store.begin(NS, write=False) as tx:
        equal(tx.conflicts(keys=["k1"]), [], "taken back")


def the_journal_is_read_in_order_and_by_every_filter(world: World) -> None:
    """Entries are numbered from 1 in each namespace."""
    refused = memory("d1", "refused text")
    first = world.add(memory("m1"))
    world.add(memory("m2"))
    world.apply(outcome="duplicate", memory_id="m1", memory_ids=("m1",), dropped=refused)
    world.apply(changed(first, title="t"), verb="revise", outcome="evolved", idempotency_key="k#1", payload="p")
    world.apply(MemoryChange(changed(first, title="t").after, first), verb="undo", undoes=4)
    world.apply(LinkChange(None, Link("m2", "m1")), verb="link")

    def numbers(**fields: Any) -> list[int]:
        return [found.seq for found in world.journal(**fields)]

    equal(numbers(), [1, 2, 3, 4, 5, 6], "all")
    equal(numbers(after=4), [5, 6], "after")
    equal(numbers(newest=2), [5, 6], "newest")
    equal(numbers(newest=0), [], "none")
    equal(numbers(memory_ids=["m1"]), [1, 3, 4, 5, 6], "of a memory, as link target too")
    equal(numbers(memory_ids=["m2", "none"]), [2, 6], "of another")
    equal(numbers(memory_ids=["d1"]), [3], "of a refused text")
    equal(numbers(memory_ids=["m1"], after=3, newest=2), [5, 6], "joined")
    equal(numbers(memory_ids=[]), [], "of nobody")
    equal(numbers(seqs=[4]), [4, 5], "with what took it back")
    equal(numbers(seqs=[2, 99]), [2], "by number")
    equal(numbers(key="k#1"), [4], "by key")
    equal(numbers(key="k"), [], "a key is no prefix")
    equal(world.journal(key="k#1")[0].payload, "p", "with its payload")
    equal(world.journal(seqs=[3])[0].dropped, refused, "a refused text is kept whole")


def journal_entries_come_back_whole(world: World) -> None:
    """Both ends of every effect are exact, however many changes follow."""
    first = memory("m1", "one", tags=("t",), access_count=3, last_accessed_at=at(3), stability=1.5)
    second = changed(first, content="two", title="T")
    expect(second.after is not None, "there is a row")
    third = changed(second.after or first, content="three", access_count=9)
    expect(third.after is not None, "there is a row")
    gone = MemoryChange(third.after, None)
    again = MemoryChange(None, first)
    other = MemoryChange(None, memory("m2"))
    written = [
        entry(MemoryChange(None, first), AliasChange("m1", "h", present=True)),
        entry(second, other, third, LinkChange(None, Link("m1", "m2", "related", at(1)))),
        entry(gone, ConflictChange(None, conflict("k", "m1", "m2"))),
        entry(again),
    ]
    for item in written:
        with world.store.begin(NS, write=True) as tx:
            tx.apply(item)
    with world.store.begin(NS, write=True) as tx:
        tx.touch({"m1": (77, at(50), 2.5)})
    read = world.journal()
    for item, got in zip(written, read, strict=True):
        equal(got.effects, item.effects, f"effects of entry {got.seq}")
    equal([got.effects for got in world.journal(seqs=[2])], [written[1].effects], "one entry by itself")
    equal(world.journal(after=1, newest=2)[0].effects, written[2].effects, "a part of the journal")


def the_entries_of_a_run_are_found_by_its_id(world: World) -> None:
    """Every entry of a run has its id, so a run can be undone as a whole; ids are compared exactly."""
    first = world.add(memory("m1"))
    world.apply(changed(first, title="one"), verb="consolidate", run_id="run-1")
    world.apply(LinkChange(None, Link("m1", "m2")), verb="consolidate", run_id="run-1")
    world.apply(LinkChange(None, Link("m1", "m3")), verb="consolidate", run_id="run-10")
    world.apply(outcome="merge", memory_id="m1", memory_ids=("m1",), run_id="run-1")
    world.apply(LinkChange(None, Link("m1", "m4")), verb="consolidate", run_id="run-1", namespace="other")

    def numbers(**fields: Any) -> list[int]:
        return [found.seq for found in world.journal(**fields)]

    equal(numbers(run_id="run-1"), [2, 3, 5], "of a run, also one that changed nothing")
    equal(numbers(run_id="run-10"), [4], "an id is no prefix")
    equal(numbers(run_id="RUN-1"), [], "to the letter")
    equal(numbers(run_id="run-%"), [], "no pattern")
    equal(numbers(run_id="run-1", after=2), [3, 5], "after an entry")
    equal(numbers(run_id="run-1", newest=1), [5], "the newest of it")
    equal(numbers(run_id="run-1", memory_ids=("m2",)), [3], "and of a memory")
    equal(numbers(run_id="run-1", namespace="other"), [1], "of its own namespace only")
    equal([found.run_id for found in world.journal()], ["", "run-1", "run-1", "run-10", "run-1"], "kept with each")


CHECKS = (
    a_fresh_store_has_no_embedder_and_no_namespaces,
    a_census_counts_without_reading,
    decisions_are_counted_by_outcome_and_day,
    each_filter_finds_what_it_says_and_nothing_else,
    a_filter_finds_the_rows_that_match_each_of_its_parts,
    rows_come_by_creation_time_then_id_and_page_by_page,
    a_hash_finds_every_row_it_points_at,
    the_nearest_are_those_of_an_exhaustive_search,
    ties_among_the_nearest_are_broken_by_id,
    a_row_without_a_vector_is_never_proposed,
    words_of_any_script_are_found,
    every_field_that_says_something_is_searched_in_active_rows_only,
    rare_words_outrank_common_ones,
    a_link_is_kept_once,
    a_conflict_is_kept_once_and_found_by_pair_and_key,
    the_journal_is_read_in_order_and_by_every_filter,
    the_entries_of_a_run_are_found_by_its_id,
    journal_entries_come_back_whole,
)
