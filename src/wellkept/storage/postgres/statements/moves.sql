-- The only mover of a namespace holds two locks until its transaction ends: one that says which namespace it moves, and
-- one of its own, by which a change of it can tell that it still holds both.

-- name: move.begin
SELECT set_config('idle_in_transaction_session_timeout', '0', true), set_config('application_name', %(who)s, true)
-- name: move.alone
SELECT pg_try_advisory_xact_lock(hashtextextended('wellkept.move', %(ns)s))
-- name: move.own
WITH drawn AS MATERIALIZED (SELECT hashtextextended(gen_random_uuid()::text, 0) AS own)
SELECT own, pg_advisory_xact_lock(own) FROM drawn
-- name: move.ended
SELECT pg_try_advisory_xact_lock(%(own)s)
-- A login sees no names of the sessions of others.
-- name: move.who
SELECT coalesce(nullif(a.application_name, ''), 'another process'), a.pid
FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted AND a.datname = current_database()
  AND l.classid::bigint << 32 | l.objid::bigint = hashtextextended('wellkept.move', %(ns)s)
