-- Queued writes. A `put` briefly holds a lock that a sixteenth of the namespaces share, so that places are in order;
-- writers of memories do not wait for it. A flush holds the turn.
-- Listing all namespaces is administration: a starting process looks for writes that another one left.

-- name: waiting.order
SELECT pg_advisory_xact_lock(hashtextextended('wellkept.waiting', %(part)s))
-- name: waiting.put
INSERT INTO wellkept.waiting (ns, id, place, record)
SELECT %(ns)s, %(id)s, coalesce(max(w.place), 0) + 1, %(record)s FROM wellkept.waiting AS w WHERE w.ns = %(ns)s
ON CONFLICT (ns, id) DO NOTHING
-- name: waiting.of
SELECT w.ns, w.id, w.record, w.attempts, w.error FROM wellkept.waiting AS w WHERE w.ns = %(ns)s ORDER BY w.place
-- name: waiting.all
SELECT w.ns, w.id, w.record, w.attempts, w.error FROM wellkept.waiting AS w ORDER BY w.ns, w.place
-- name: waiting.still
SELECT w.ns, w.id, w.attempts, w.error FROM wellkept.waiting AS w WHERE w.ns = ANY(%(ns)s::bigint[]) AND w.id = ANY(%(ids)s::text[])
-- name: waiting.any
SELECT EXISTS (SELECT 1 FROM wellkept.waiting AS w)
-- name: waiting.done
DELETE FROM wellkept.waiting WHERE ns = %(ns)s AND id = ANY(%(ids)s::text[])
-- name: waiting.failed
UPDATE wellkept.waiting SET attempts = least(attempts, 999999) + 1, error = %(error)s WHERE ns = %(ns)s AND id = %(id)s
-- The owner's turn is a lock on a table that applications have no right to lock, so that none of them can hold it.
-- It does not block reading or changing tokens. Applications share a separate turn.

-- name: waiting.long
SELECT set_config('idle_in_transaction_session_timeout', '0', true)
-- name: waiting.turn
LOCK TABLE wellkept.token IN SHARE UPDATE EXCLUSIVE MODE
-- name: waiting.try_turn
LOCK TABLE wellkept.token IN SHARE UPDATE EXCLUSIVE MODE NOWAIT
-- name: waiting.shared_turn
SELECT pg_advisory_xact_lock(%(turn)s)
-- name: waiting.try_shared_turn
SELECT pg_try_advisory_xact_lock(%(turn)s)
-- name: waiting.still_ours
SELECT 1
