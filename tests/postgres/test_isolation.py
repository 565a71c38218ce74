"""Row-level security: a client with one token and its own SQL cannot read or change another namespace (I8)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from postgres.hostile import ALICE, BOB, SAID, SECRETS, Client, Ground, close, ground
from postgres.server import server
from raising import raise_question
from stores import fold
from wellkept.engine.queue.flushing import flush_left
from wellkept.errors import NotFound, WellkeptError
from wellkept.storage.ledger import plain_of
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.server.isolation import COMMON, OWNED
from wellkept.storage.postgres.shared.tokens import key_of
from wellkept.types.queue import QueuedWrite

HIS, MINE = number_of(BOB), number_of(ALICE)


@pytest.fixture(scope="module")
def two() -> Iterator[Ground]:
    """Two tenants, each with memories, a conflict, a link and an idempotency key; samples of columns were taken."""
    with ground(server()) as made:
        for namespace, word in ((ALICE, "alice is open"), (BOB, SAID)):
            with made.own(namespace) as store:
                first = store.remember(
                    f"{word} 0", subject=f"{namespace} subject", idempotency_key=f"{namespace}'s key"
                ).memory
                for number in range(1, 30):
                    row = store.remember(
                        f"{word} {number}", subject=f"{namespace} subject {number}", kind="thesis"
                    ).memory
                assert first is not None and row is not None
                store.link(first.id, row.id, "related")
                store.queue.remember("waits", kind="thesis")
        made.sql("ANALYZE")
        assert close(made) == []
        made.sql("ANALYZE")
        made.give(ALICE, ("alice/*",), ("write",))
        made.give(BOB, (BOB,), ("admin",))
        made.give("reader", ("alice/*", BOB), ("read",))
        made.give("all", ("*",), ("admin",))
        yield made


@pytest.fixture
def client(two: Ground) -> Client:
    return Client(two)


# -- what is seen -----------------------------------------------------------------------------


def test_every_table_of_a_namespace_is_closed_and_a_new_one_without_a_rule_fails_here(two: Ground) -> None:
    rows = two.sql(
        "SELECT c.relname, c.relispartition, c.relrowsecurity AND c.relforcerowsecurity, "
        "array(SELECT p.polname::text FROM pg_policy AS p WHERE p.polrelid = c.oid ORDER BY 1), "
        "EXISTS (SELECT 1 FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'ns'), "
        f"has_table_privilege('{two.app}', c.oid, 'SELECT'), "
        f"has_table_privilege('{two.app}', c.oid, 'INSERT') OR has_table_privilege('{two.app}', c.oid, 'UPDATE'), "
        f"has_table_privilege('{two.app}', c.oid, 'TRUNCATE') OR has_table_privilege('{two.app}', c.oid, 'REFERENCES') "
        f"OR has_table_privilege('{two.app}', c.oid, 'TRIGGER') OR has_table_privilege('{two.app}', c.oid, 'MAINTAIN') "
        "FROM pg_class AS c WHERE c.relnamespace = 'wellkept'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
    )
    assert len(rows) > 100
    policies = [f"wellkept_{name}" for name in ("delete", "insert", "owner", "read", "update")]
    for name, is_part, closed, found, of_namespace, reads, writes, more in rows:
        assert not more, name
        if of_namespace and (is_part or name in OWNED):
            assert (closed, found, reads, writes) == (True, ["wellkept_owner"], False, False), name
        elif of_namespace:
            assert (closed, found, reads, writes) == (True, policies, True, True), name
        else:
            assert (reads, writes) == (name in COMMON, False), name


def test_a_client_sees_his_own_rows_in_every_table_and_no_others(two: Ground, client: Client) -> None:
    for table in two.tables():
        if table in OWNED:
            assert "permission denied" in str(client.ask(f"SELECT count(*) FROM wellkept.{table}"))
            continue
        assert client.ask(f"SELECT count(*) FROM wellkept.{table} WHERE ns <> {MINE}") == [(0,)], table
        assert client.ask(f"SELECT count(*) FROM wellkept.{table} WHERE ns = {HIS}") == [(0,)], table
        own = two.sql(f"SELECT count(*) FROM wellkept.{table} WHERE ns = {MINE}")
        assert client.ask(f"SELECT count(*) FROM wellkept.{table}") == own, table
    assert two.sql(f"SELECT count(*) FROM wellkept.memory WHERE ns = {HIS}") == [(30,)]
    assert client.ask("SELECT name FROM wellkept.names()") == [(ALICE,)]


PRETENCES = [
    ("SELECT set_config('wellkept.namespace', 'bob', true)",),
    ("SET SESSION wellkept.namespace = 'bob'", "SET LOCAL wellkept.namespace = 'bob'"),
    ("SELECT wellkept.enter('bob', '{key}')",),
    ("SELECT wellkept.enter('bob', '')",),
    ("SELECT wellkept.enter('bob', 'wk_bob')",),
    ("SELECT wellkept.enter('bob', encode(sha256('wk_bob'), 'hex'))",),
    ("SELECT wellkept.enter('alice/../bob', '{key}')",),
    ("SELECT wellkept.enter('alice/%', '{key}')", "SET LOCAL wellkept.namespace = '*'"),
    ("SELECT set_config('wellkept.token', NULL, true)",),
    ("SET LOCAL search_path = pg_temp, public, wellkept", "SELECT wellkept.enter('bob', '{key}')"),
    ("SET LOCAL row_security = off",),
    ("SET LOCAL ROLE {app}",),
    ("SET LOCAL ROLE {owner}",),
    ("SET LOCAL ROLE postgres",),
    ("SET SESSION AUTHORIZATION postgres",),
    ("RESET ROLE",),
    ("SET LOCAL session_replication_role = replica",),
    ("SET LOCAL enable_partition_pruning = off", "SET LOCAL enable_indexscan = off"),
]


@pytest.mark.parametrize("said", PRETENCES, ids=lambda said: said[-1][:60])
def test_no_setting_makes_a_token_open_more(two: Ground, client: Client, said: tuple[str, ...]) -> None:
    filled = [line.replace("{app}", two.app).replace("{owner}", _user(two.owner)) for line in said]
    answer = client.ask(*filled, f"SELECT count(*) FROM wellkept.memory WHERE ns = {HIS} OR record LIKE '%{SAID}%'")
    assert answer == [(0,)] or isinstance(answer, str), answer
    assert SAID not in str(answer)


READING = [
    "COPY wellkept.token TO STDOUT",
    "SELECT * FROM wellkept.token",
    "SELECT hash FROM wellkept.token LIMIT 1",
    "SELECT * FROM wellkept.memory_0",
    "COPY wellkept.memory_3 TO STDOUT",
    "SELECT * FROM pg_catalog.pg_statistic",
    "SELECT pg_read_file('PG_VERSION')",
    "SELECT pg_ls_dir('base')",
    "COPY (SELECT 1) TO PROGRAM 'cat'",
    "SELECT lo_import('/etc/passwd')",
    "SELECT * FROM pg_catalog.pg_authid",
    "SELECT wellkept.covers(ARRAY['*'], 'bob') FROM wellkept.token",
]


@pytest.mark.parametrize("statement", READING)
def test_what_stands_beside_the_rows_is_refused(client: Client, statement: str) -> None:
    answer = client.ask(statement)
    assert isinstance(answer, str) and ("permission denied" in answer or "must be" in answer), answer


def test_a_copy_gives_what_a_query_gives(two: Ground) -> None:
    with psycopg.connect(two.tenant) as connection:
        connection.execute("SELECT wellkept.enter(%s, %s)", (ALICE, key_of(SECRETS[ALICE])))
        for asked, most in (("(TABLE wellkept.memory)", 30), ("wellkept.waiting", 1), ("wellkept.memory", 0)):
            with connection.cursor().copy(f"COPY {asked} TO STDOUT".encode()) as copy:
                lines = [bytes(line).decode() for line in copy]
            assert len(lines) == most and all(line.startswith(f"{MINE}\t") for line in lines)


def test_no_samples_of_columns_are_kept_that_a_plan_could_tell_of(two: Ground, client: Client) -> None:
    assert client.ask("SELECT * FROM pg_stats WHERE schemaname = 'wellkept' AND tablename NOT IN "
                      "('header', 'embedder', 'migration')") == []  # fmt: skip
    kept = two.sql(
        "SELECT c.relname, a.attname FROM pg_statistic AS s JOIN pg_class AS c ON c.oid = s.starelid "
        "JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = s.staattnum "
        "LEFT JOIN pg_index AS x ON x.indexrelid = c.oid JOIN pg_class AS t ON t.oid = coalesce(x.indrelid, c.oid) "
        "WHERE t.relnamespace = 'wellkept'::regnamespace AND t.relname NOT IN "
        "('header', 'embedder', 'migration', 'token')"
    )
    assert kept == []


GUESSES = [
    ("memory", "subject = '{}'", "bob subject 7", "bob subject x"),
    ("memory", "subject = ANY (ARRAY['{}'])", "bob subject 7", "bob subject x"),
    ("memory", "subject < '{}'", "bob subject", "aaa"),
    ("memory", "subject < ANY (ARRAY['{}'])", "bob subject", "aaa"),
    ("memory", "record > '{}'", "aaa", "{{"),
    ("memory", "kind = '{}'", "thesis", "theses"),
    ("memory", "hashtextextended(subject, 0) = hashtextextended('{}', 0)", "bob subject 7", "bob subject x"),
    ("memory", "ns = {}", "his", "nobody's"),
    ("memory", "ns = {} AND subject > 'a'", "his", "nobody's"),
    ("words", "ns = {}", "his", "nobody's"),
    ("words", "terms @> ARRAY['{}']", f"{HIS:x}_secret", f"{HIS:x}_nothing"),
    ("journal", "key = '{}'", "bob's key", "bob's door"),
    ("namespace", "name = '{}'", BOB, "nobody"),
    ("namespace", "ns = {}", "his", "nobody's"),
    ("waiting", "ns = {}", "his", "nobody's"),
    ("waiting", "record > '{}'", "aaa", "~~~"),
]
PLANNED = [
    (),
    ("enable_seqscan = off", "enable_partition_pruning = off"),
    (
        "enable_indexscan = off",
        "enable_bitmapscan = off",
        "enable_indexonlyscan = off",
        "enable_partition_pruning = off",
    ),
    ("cpu_operator_cost = 0", "enable_partition_pruning = off", "enable_indexscan = off", "enable_bitmapscan = off"),
]


@pytest.mark.parametrize("table, where, right, wrong", GUESSES)
def test_a_plan_does_not_tell_a_right_guess_from_a_wrong_one(
    two: Ground, client: Client, table: str, where: str, right: str, wrong: str
) -> None:
    """Neither by estimated rows, nor by scanned rows, nor by plan nodes that never ran."""
    numbers = {"his": str(HIS), "nobody's": str(_neighbour(two))}
    for settings in PLANNED:
        first, second = (
            client.plans(
                f"SELECT * FROM wellkept.{table} WHERE ns <> {MINE} AND {where.replace('{}', _quoted(guess, numbers))}",
                settings,
            )
            for guess in (right, wrong)
        )
        assert first == second, settings


def test_a_condition_that_fails_aloud_is_not_asked_of_foreign_rows(client: Client) -> None:
    assert client.ask(f"SELECT 1 FROM wellkept.memory WHERE ns <> {MINE} AND record::int = 1") == []
    assert client.ask(f"SELECT 1 / (length(record) * 0) FROM wellkept.memory WHERE ns = {HIS}") == []
    answer = client.ask("SELECT 1 FROM wellkept.memory WHERE record::int = 1")
    assert "invalid input syntax" in str(answer) and "alice is open" in str(answer) and SAID not in str(answer)


def test_what_others_do_shows_no_key_and_no_text(two: Ground, client: Client) -> None:
    """Sessions of one login see each other's statements, so nothing may be written into them."""
    storage = PostgresStorage(two.tenant, token=SECRETS[BOB])
    with storage.begin(BOB, write=True):
        shown = str(client.ask("SELECT query, application_name FROM pg_stat_activity"))
        assert "wellkept" in shown
        assert key_of(SECRETS[BOB]) not in shown and SECRETS[BOB] not in shown and SAID not in shown
        assert key_of(SECRETS[BOB]) not in str(client.ask("SELECT * FROM pg_settings"))
        assert key_of(SECRETS[BOB]) not in str(client.ask("SELECT * FROM pg_locks"))
    storage.close()


def test_the_database_has_no_sequence_no_view_and_no_large_object_to_ask(two: Ground) -> None:
    assert two.sql("SELECT relname FROM pg_class WHERE relnamespace = 'wellkept'::regnamespace "
                   "AND relkind IN ('S', 'v', 'm')") == []  # fmt: skip
    assert two.sql("SELECT 1 FROM pg_largeobject_metadata") == []


# -- what is changed --------------------------------------------------------------------------

CHANGES = [
    f"UPDATE wellkept.memory SET record = '{{}}' WHERE ns = {HIS}",
    f"DELETE FROM wellkept.memory WHERE ns = {HIS}",
    f"DELETE FROM wellkept.waiting WHERE ns = {HIS}",
    f"UPDATE wellkept.namespace SET seq = 0 WHERE ns = {HIS}",
    f"UPDATE wellkept.memory SET ns = {HIS}",
    f"UPDATE wellkept.alias SET ns = {HIS}",
    f"INSERT INTO wellkept.alias VALUES ({HIS}, 'h', 'm')",
    f"INSERT INTO wellkept.alias VALUES ({HIS}, 'h', 'm') ON CONFLICT DO NOTHING",
    f"INSERT INTO wellkept.namespace VALUES ({HIS}, 'bob', 0) ON CONFLICT (ns) DO UPDATE SET seq = 0",
    f"INSERT INTO wellkept.namespace VALUES ({number_of('carol')}, 'alice/carol', 1)",
    "INSERT INTO wellkept.namespace VALUES (wellkept.number_of('alice/a'), 'bob', 1) ON CONFLICT (ns) DO NOTHING",
    "UPDATE wellkept.namespace SET name = 'bob'",
    f"MERGE INTO wellkept.alias AS a USING (SELECT 1) AS s ON a.ns = {HIS} WHEN MATCHED THEN DELETE",
    f"WITH gone AS (DELETE FROM wellkept.journal WHERE ns = {HIS} RETURNING 1) SELECT * FROM gone",
    "DELETE FROM wellkept.journal",
    "UPDATE wellkept.journal SET record = '{}'",
    "UPDATE wellkept.header SET policy = 'mine'",
    "INSERT INTO wellkept.embedder VALUES (9, 'mine', 3)",
    "DELETE FROM wellkept.migration",
    "INSERT INTO wellkept.token VALUES ('h', 'me', '{*}', '{admin}', now())",
    "UPDATE wellkept.token SET patterns = '{*}'",
    "TRUNCATE wellkept.memory",
    "TRUNCATE wellkept.memory_3",
    "COPY wellkept.alias FROM STDIN",
    "ALTER TABLE wellkept.memory DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE wellkept.memory NO FORCE ROW LEVEL SECURITY",
    "ALTER TABLE wellkept.memory ALTER COLUMN subject SET STATISTICS 100",
    "DROP POLICY wellkept_read ON wellkept.memory",
    "CREATE POLICY mine ON wellkept.memory USING (true)",
    "ALTER POLICY wellkept_read ON wellkept.memory USING (true)",
    "CREATE TRIGGER mine AFTER INSERT ON wellkept.memory EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "CREATE RULE mine AS ON SELECT TO wellkept.alias DO INSTEAD SELECT 1",
    "CREATE TABLE wellkept.mine (x int)",
    "CREATE TABLE public.mine (ns bigint, id text, FOREIGN KEY (ns, id) REFERENCES wellkept.memory)",
    "CREATE TEMPORARY TABLE text (x int)",
    "CREATE DOMAIN pg_temp.text AS int",
    "CREATE FUNCTION pg_temp.told(text) RETURNS bool LANGUAGE plpgsql COST 0.0001 AS 'BEGIN RAISE NOTICE ''%'', $1; "
    "RETURN true; END'",
    "CREATE FUNCTION public.mine() RETURNS int LANGUAGE sql RETURN 1",
    "CREATE OR REPLACE FUNCTION wellkept.opened(needed integer) RETURNS bigint LANGUAGE sql RETURN 1",
    "ALTER FUNCTION wellkept.opened(integer) SECURITY INVOKER",
    "CREATE SCHEMA mine",
    "CREATE EXTENSION tablefunc",
    "CREATE VIEW public.mine AS SELECT * FROM wellkept.memory",
    "CREATE STATISTICS mine ON kind, status FROM wellkept.memory",
    "CREATE ROLE mine",
    "GRANT {owner} TO CURRENT_USER",
    "GRANT SELECT ON wellkept.token TO CURRENT_USER",
    "ALTER ROLE CURRENT_USER BYPASSRLS",
    "SECURITY LABEL ON TABLE wellkept.memory IS 'x'",
    "COMMENT ON TABLE wellkept.memory IS 'mine'",
    "REASSIGN OWNED BY {owner} TO CURRENT_USER",
    "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT SELECT ON TABLES TO PUBLIC",
    "REFRESH MATERIALIZED VIEW wellkept.memory",
    "LOCK TABLE wellkept.token",
    "SELECT pg_catalog.setval('wellkept.x', 1)",
    "SELECT pg_clear_attribute_stats('wellkept', 'memory', 'subject', false)",
    "ALTER SYSTEM SET row_security = off",
    "DO $$ BEGIN EXECUTE 'DROP TABLE wellkept.alias'; END $$",
    "SELECT * FROM wellkept.namespace FOR UPDATE",
]


@pytest.mark.parametrize("statement", CHANGES, ids=lambda text: text[:70])
def test_nothing_of_another_namespace_and_no_rule_is_changed(two: Ground, client: Client, statement: str) -> None:
    rules = "SELECT polname, polrelid, pg_get_expr(polqual, polrelid), polroles FROM pg_policy ORDER BY 1, 2"
    shared = "SELECT (SELECT h::text FROM wellkept.header AS h), (SELECT array_agg(t::text) FROM wellkept.token AS t)"
    before = two.kept(BOB), two.sql(rules), two.sql(shared), two.sql("SELECT seq, record FROM wellkept.journal")
    answer = client.ask(statement.replace("{owner}", _user(two.owner)))
    assert before == (
        two.kept(BOB),
        two.sql(rules),
        two.sql(shared),
        two.sql("SELECT seq, record FROM wellkept.journal"),
    )
    assert SAID not in str(answer) and SECRETS[BOB] not in str(answer)
    assert two.sql("SELECT count(*) FROM pg_class WHERE relname = 'mine'") == [(0,)]


def test_a_key_that_another_namespace_has_used_is_free_here_and_says_nothing(two: Ground, client: Client) -> None:
    """A unique index is led by the namespace, and the rule is looked at before it."""
    with two.own(BOB) as store:
        store.remember("bob with a key", idempotency_key="only his")
    row = "INSERT INTO wellkept.journal VALUES ({}, 9000, 0, 'created', '', 'only his', '{{}}', 'x')"
    answers = {str(client.ask(row.format(ns))) for ns in (HIS, 17)}
    assert len(answers) == 1 and "row-level security" in answers.pop()
    assert client.ask(row.format(MINE), "ROLLBACK", "BEGIN") == []


def test_a_reading_token_changes_nothing_and_a_writing_one_no_journal(two: Ground) -> None:
    reader = Client(two, SECRETS["reader"])
    before = two.kept(ALICE)
    for statement in (
        "UPDATE wellkept.memory SET kind = 'x'",
        "DELETE FROM wellkept.link",
        f"INSERT INTO wellkept.alias VALUES ({MINE}, 'h', 'm')",
        "UPDATE wellkept.namespace SET seq = 0",
    ):
        reader.ask(statement)
    writer = Client(two)
    writer.ask("DELETE FROM wellkept.journal")
    writer.ask("UPDATE wellkept.journal SET record = ''")
    writer.ask("DELETE FROM wellkept.journal_memory")
    assert two.kept(ALICE) == before
    assert reader.ask("SELECT count(*) FROM wellkept.memory WHERE ns <> 5") == [(30,)]
    assert sorted(reader.ask("SELECT name FROM wellkept.names()")) == [(ALICE,), (BOB,)]


def test_whoever_works_for_all_namespaces_does_nothing_in_one_that_a_client_only_names() -> None:
    """A worker and a flush read the rows of all namespaces; a forged name in a row of one opens no other (I8)."""
    with ground(server()) as made:
        for namespace in (ALICE, BOB):
            with made.own(namespace) as store:
                store.remember(f"{namespace} says")
        close(made)
        made.give(ALICE, ("alice/*",), ("write",))
        client = Client(made)
        job = "INSERT INTO wellkept.job (ns, kind, name, state, due) VALUES ({}, 'consolidate', '{}', 'due', now())"
        for namespace in (BOB, ALICE):
            assert "permission denied for table job" in str(client.ask(job.format(MINE, namespace)))
        assert "permission denied for table job" in str(client.ask("UPDATE wellkept.job SET due = now()"))
        made.sql(f"DELETE FROM wellkept.waiting WHERE ns <> {MINE}")

        said = datetime(2026, 1, 1, tzinfo=UTC)
        [[store_id]] = client.ask("SELECT store_id FROM wellkept.header")
        for at, name in ((1, BOB), (2, ALICE)):
            one = QueuedWrite(
                id=f"w{at}", store=store_id, namespace=name, at=said, statement={"content": f"put in {at}"}
            )
            client.ask(
                f"INSERT INTO wellkept.waiting VALUES ({MINE}, 'w{at}', {at}, 0, '', '{json.dumps(plain_of(one))}')"
            )
        with made.own("default") as store:
            list(flush_left(store._ctx, idle=timedelta(0)))
        kept = {}
        for namespace in (ALICE, BOB):
            with made.own(namespace) as store:
                kept[namespace] = sorted(memory.content for memory in store.list())
        assert kept == {ALICE: [f"{ALICE} says", "put in 2"], BOB: [f"{BOB} says"]}
        with made.own(BOB) as store:
            assert store.queue.pending() == ()
        with made.own(ALICE) as store:
            [listed] = store.queue.failed()
            assert listed.error.startswith("InvalidInput: cannot be read")
            store.queue.drop(listed.id)
            assert store.queue.pending() == ()


def test_operators_that_a_stranger_left_before_ours_have_no_say(two: Ground) -> None:
    """Behind a pooler, a search path of one client can remain for the next; entering a namespace ignores it."""
    two.sql("CREATE SCHEMA his", "GRANT ALL ON SCHEMA his TO PUBLIC")
    try:
        with psycopg.connect(two.tenant, autocommit=True) as connection:
            connection.execute(
                "CREATE FUNCTION his.told(a text, b text) RETURNS text LANGUAGE sql IMMUTABLE AS "
                "$$ SELECT 'his, pg_catalog'::text $$"
            )
            connection.execute("CREATE OPERATOR his.|| (LEFTARG = text, RIGHTARG = text, FUNCTION = his.told)")
            connection.execute("SET search_path = his, pg_catalog")
            connection.execute("BEGIN")
            connection.execute("SELECT wellkept.enter(%s, %s)", (ALICE, key_of(SECRETS[ALICE])))
            [told] = connection.execute("SHOW search_path").fetchall()
        assert told[0].startswith("pg_catalog") and "his" not in told[0]
    finally:
        two.sql("DROP SCHEMA his CASCADE")


def test_a_name_that_has_the_number_of_another_opens_nothing(two: Ground) -> None:
    """Policies use a hash of 63 bits: with many names as targets, a client could search for a collision."""
    client, ours = Client(two), f"WHERE ns = wellkept.number_of('{ALICE}')"
    asked = f"SELECT count(*) FROM wellkept.memory {ours}"
    [(before,)] = client.ask(asked)
    two.sql(f"UPDATE wellkept.namespace SET name = 'the first who had it' {ours}")
    try:
        assert before and client.ask(asked) == [(0,)]
        changed = client.ask(f"UPDATE wellkept.memory SET kind = 'his' {ours} RETURNING id")
        assert changed == [] or isinstance(changed, str)
    finally:
        two.sql(f"UPDATE wellkept.namespace SET name = '{ALICE}' {ours}")
    assert client.ask(asked) == [(before,)]


def test_a_wording_is_split_off_by_whom_its_namespace_is_open_to() -> None:
    """Another token finds no such memory, and one that only reads is refused; nothing is changed."""
    with ground(server()) as made:
        with made.own(BOB) as store:
            head, wording = (store.remember(f"his {word}", kind="thesis").id for word in ("head", "wording"))
            fold(store, wording, head)
        assert close(made) == []
        made.give(ALICE, ("alice/*",), ("write",))
        made.give("reader", ("alice/*", BOB), ("read",))
        made.give(BOB, (BOB,), ("write",))
        for namespace, token, refusal in ((ALICE, ALICE, NotFound), (BOB, "reader", WellkeptError), (BOB, BOB, None)):
            with made.store(namespace, SECRETS[token]) as store:
                if refusal is None:
                    store.split(wording)
                    assert [row.content for row in store.list()] == ["his head", "his wording"]
                    continue
                with pytest.raises(refusal):
                    store.split(wording)
            with made.own(BOB) as store:
                assert store.get(wording, touch=False).status == "wording"


def test_a_question_is_seen_and_answered_by_whom_its_namespace_is_open_to() -> None:
    """Another token finds no such question, one that only reads lists it, and one that writes answers it."""
    with ground(server()) as made:
        with made.own(BOB) as store:
            old, new = (store.remember(f"his {word}", kind="thesis").id for word in ("old", "new"))
            question = raise_question(store, new, old)
        assert close(made) == []
        made.give(ALICE, ("alice/*",), ("write",))
        made.give("reader", ("alice/*", BOB), ("read",))
        made.give(BOB, (BOB,), ("write",))
        noted = f"SELECT asking FROM wellkept.namespace WHERE ns = {HIS}"
        [(before,)] = made.sql(noted)
        for namespace, token, seen, refusal in (
            (ALICE, ALICE, [], NotFound),
            (BOB, "reader", [question], WellkeptError),
        ):
            with made.store(namespace, SECRETS[token]) as store:
                assert ([one.id for one in store.questions()], store.asking().open) == (seen, len(seen))
                with pytest.raises(refusal):
                    store.answer(question, "new")
            client = Client(made, SECRETS[token])
            assert (before,) not in client.ask("SELECT asking FROM wellkept.namespace") or seen
            client.ask(f"UPDATE wellkept.namespace SET asking = '' WHERE ns = {HIS}")
            assert made.sql(noted) == [(before,)]
        with made.store(BOB, SECRETS["reader"]) as store, pytest.raises(WellkeptError):
            store.forget_lessons()
        with made.store(BOB, SECRETS[BOB]) as store:
            assert store.answer(question, "new").entry == store.journal(newest=1)[0].seq
            assert store.questions() == ()


def _quoted(guess: str, numbers: dict[str, str]) -> str:
    return numbers.get(guess, guess.replace("'", "''"))


def _neighbour(made: Ground) -> int:
    """The number of a missing namespace whose rows would be in the same partition."""
    part = "satisfies_hash_partition('wellkept.memory'::regclass, 16, {}, {}::bigint)"
    [(place,)] = made.sql(f"SELECT p FROM generate_series(0, 15) AS p WHERE {part.format('p', HIS)}")
    numbers = "generate_series(1000000000000000000, 1000000000000000999) AS n"
    return int(made.sql(f"SELECT n FROM {numbers} WHERE {part.format(place, 'n')} LIMIT 1")[0][0])


def _user(url: str) -> str:
    return url.split("//")[1].split("@")[0]
