-- The job queue. Claiming and listing jobs and finding due ones are administration over all namespaces. All other
-- statements of a worker name the namespace of its job.
-- Jobs of the store itself have a name that no namespace can have; "all namespaces" does not include them.
-- Only the server's clock decides when a lease ends, so that workers cannot disagree about the time.

-- Only one worker looks for due jobs at a time. Autovacuum takes the same lock on tables that change, so the lock is on
-- one that does not; applications have no right to it.

-- name: job.look_alone
LOCK TABLE wellkept.migration IN SHARE UPDATE EXCLUSIVE MODE NOWAIT
-- name: job.look
INSERT INTO wellkept.job AS j (ns, kind, name, state, due)
SELECT n.ns, %(kind)s, n.name, 'due', clock_timestamp()
FROM wellkept.namespace AS n LEFT JOIN wellkept.job AS d ON d.ns = n.ns AND d.kind = %(kind)s
WHERE n.seq > 0 AND n.moved = '' AND (d.ns IS NULL OR d.state = 'idle' AND (
  n.seq < d.seq
  OR %(changes)s > 0 AND n.seq - d.seq >= %(changes)s
  OR (%(idle)s OR n.seq <> d.seq) AND d.finished <= clock_timestamp() - make_interval(secs => %(every)s)))
ON CONFLICT (ns, kind) DO UPDATE SET state = 'due', due = excluded.due, attempts = 0, error = ''
WHERE j.state = 'idle'
-- name: job.claim
UPDATE wellkept.job SET state = 'running', holder = %(holder)s, turn = turn + 1, attempts = attempts + 1, progress = '',
  due = clock_timestamp() + make_interval(secs => %(seconds)s)
WHERE (ns, kind) = (
  SELECT w.ns, w.kind FROM wellkept.job AS w
  WHERE w.state IN ('due', 'running') AND w.due <= clock_timestamp() AND w.kind = ANY(%(kinds)s::text[])
    AND (w.name = %(name)s OR %(name)s::text IS NULL AND w.name <> %(whole)s)
  ORDER BY w.due, w.ns, w.kind LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING name, kind, state, due, holder, turn, attempts, seq, finished, error, progress, report
-- name: job.renew
UPDATE wellkept.job SET due = clock_timestamp() + make_interval(secs => %(seconds)s), progress = %(progress)s
WHERE ns = %(ns)s AND kind = %(kind)s AND turn = %(turn)s AND state = 'running'
-- name: job.finish
UPDATE wellkept.job SET state = 'idle', due = clock_timestamp(), finished = clock_timestamp(), holder = '', attempts = 0,
  error = '', progress = '', seq = %(seq)s, report = %(report)s
WHERE ns = %(ns)s AND kind = %(kind)s AND turn = %(turn)s AND state = 'running'
-- name: job.leave
UPDATE wellkept.job SET state = %(state)s, due = clock_timestamp() + make_interval(secs => %(seconds)s), holder = '',
  progress = '', error = %(error)s, attempts = greatest(attempts - %(uncounted)s, 0)
WHERE ns = %(ns)s AND kind = %(kind)s AND turn = %(turn)s AND state = 'running'
-- name: job.put
INSERT INTO wellkept.job AS j (ns, kind, name, state, due) VALUES (%(ns)s, %(kind)s, %(name)s, 'due', clock_timestamp())
ON CONFLICT (ns, kind) DO UPDATE SET state = 'due', due = excluded.due, attempts = 0, error = ''
WHERE j.state IN ('idle', 'failed')
-- name: job.note
INSERT INTO wellkept.job (ns, kind, name, state, due, finished)
VALUES (%(ns)s, %(kind)s, %(name)s, 'idle', statement_timestamp(), statement_timestamp())
ON CONFLICT (ns, kind) DO UPDATE SET state = 'idle', due = excluded.due, finished = excluded.finished, holder = '',
  attempts = 0, error = '', progress = ''
-- name: job.again
UPDATE wellkept.job SET state = 'due', due = clock_timestamp(), attempts = 0
WHERE state = 'failed' AND (%(kinds)s::text[] IS NULL OR kind = ANY(%(kinds)s::text[]))
  AND (name = %(name)s OR %(name)s::text IS NULL AND name <> %(whole)s)
-- name: job.list
SELECT name, kind, state, due, holder, turn, attempts, seq, finished, error, progress, report FROM wellkept.job
WHERE (%(states)s::text[] IS NULL OR state = ANY(%(states)s::text[]))
  AND (%(kinds)s::text[] IS NULL OR kind = ANY(%(kinds)s::text[]))
  AND (name = %(name)s OR %(name)s::text IS NULL AND name <> %(whole)s)
ORDER BY name, kind LIMIT %(limit)s
