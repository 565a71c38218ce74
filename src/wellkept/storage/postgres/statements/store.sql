-- Every statement the PostgreSQL backend runs, by name. Values are always bound, never written in.
-- All but the administrative ones (header, names, verify, full-text rebuild) name one `ns`.

-- Every transaction sets its timeouts in milliseconds; both settings end with it.

-- name: begin.read
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL lock_timeout = {lock}; SET LOCAL statement_timeout = {statement}
-- name: begin.write
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL lock_timeout = {lock}; SET LOCAL statement_timeout = {statement}
-- name: savepoint
SAVEPOINT here
-- name: savepoint.back
ROLLBACK TO SAVEPOINT here
-- name: commit
COMMIT
-- name: rollback
ROLLBACK

-- Locks ----------------------------------------------------------------------------------------
-- Writers share the store's lock; changes of the embedder or the tables hold it exclusively.

-- name: lock.share
SELECT pg_advisory_xact_lock_shared(%(store)s)
-- name: lock.alone
SELECT pg_advisory_xact_lock(%(store)s)
-- In addition, because an advisory lock exists on one server only: every writer updates `namespace` first, so this
-- table lock also waits for writers on other coordinators. Reads and usage counts do not wait.
-- name: lock.writers
LOCK TABLE wellkept.namespace IN SHARE ROW EXCLUSIVE MODE
-- In a cluster the locked row is on another server, which is told the limit by a query that runs there.
-- name: lock.patience
SELECT set_config('lock_timeout', %(wait)s, true) FROM wellkept.namespace WHERE ns = %(ns)s
-- name: namespace.take
UPDATE wellkept.namespace SET seq = seq + 1 WHERE ns = %(ns)s RETURNING seq - 1, name, asking, moving, moved
-- name: namespace.make
INSERT INTO wellkept.namespace AS n (ns, name, seq) VALUES (%(ns)s, %(name)s, 1)
ON CONFLICT (ns) DO UPDATE SET seq = n.seq + 1 RETURNING seq - 1, name, asking, moving, moved
-- name: namespace.set_seq
UPDATE wellkept.namespace SET seq = %(seq)s WHERE ns = %(ns)s
-- name: namespace.note
UPDATE wellkept.namespace SET asking = %(asking)s WHERE ns = %(ns)s
-- name: namespace.closed
SELECT moving, moved FROM wellkept.namespace WHERE ns = %(ns)s
-- name: namespace.close
INSERT INTO wellkept.namespace AS n (ns, name, seq, moving, moved) VALUES (%(ns)s, %(name)s, 0, %(moving)s, %(moved)s)
ON CONFLICT (ns) DO UPDATE SET moving = excluded.moving, moved = excluded.moved
WHERE n.moving = %(was_moving)s AND n.moved = %(was_moved)s
-- name: namespace.try
SELECT moving, moved FROM wellkept.namespace WHERE ns = %(ns)s FOR NO KEY UPDATE SKIP LOCKED

-- Header and namespaces ------------------------------------------------------------------------

-- name: tx.header
SELECT h.store_id, h.model, e.dim, (SELECT max(x.model) FROM wellkept.embedder AS x),
  (SELECT left(j.record, 1000) FROM wellkept.journal AS j WHERE j.ns = %(ns)s ORDER BY j.seq DESC LIMIT 1),
  (SELECT a.model FROM wellkept.approximate AS a WHERE a.ns = %(ns)s)
FROM wellkept.header AS h JOIN wellkept.embedder AS e ON e.model = h.model
-- name: tx.namespace
SELECT seq, name, asking, moving, moved FROM wellkept.namespace WHERE ns = %(ns)s
-- name: header.read
SELECT h.store_id, e.name, e.dim, h.policy, h.created_at
FROM wellkept.header AS h JOIN wellkept.embedder AS e ON e.model = h.model
-- name: header.create
INSERT INTO wellkept.header (one, store_id, model, policy, created_at, words)
VALUES (1, replace(gen_random_uuid()::text, '-', ''), 1, '',
  to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), %(words)s)
ON CONFLICT (one) DO NOTHING
-- name: header.set
UPDATE wellkept.header SET policy = %(policy)s,
  model = (SELECT model FROM wellkept.embedder WHERE name = %(embedder)s)
-- name: header.words
SELECT words FROM wellkept.header
-- name: header.set_words
UPDATE wellkept.header SET words = %(words)s
-- name: embedder.add
INSERT INTO wellkept.embedder (model, name, dim)
SELECT max(model) + 1, %(embedder)s, %(dim)s FROM wellkept.embedder ON CONFLICT (name) DO NOTHING
-- name: embedder.known
SELECT model, dim FROM wellkept.embedder WHERE name = %(embedder)s
-- name: namespace.names
SELECT name FROM wellkept.namespace WHERE seq > 0 AND moved = '' ORDER BY name

-- Opening --------------------------------------------------------------------------------------

-- name: opening.state
SELECT current_setting('server_encoding'), to_regclass('wellkept.migration') IS NOT NULL,
  EXISTS (SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = 'wellkept')
-- name: opening.vectors
SELECT to_regtype('halfvec') IS NOT NULL
-- name: opening.version
SELECT coalesce(max(version), 0) FROM wellkept.migration
-- name: opening.extension
CREATE EXTENSION IF NOT EXISTS vector
-- name: opening.schema
CREATE SCHEMA IF NOT EXISTS wellkept
-- name: opening.migrations
CREATE TABLE IF NOT EXISTS wellkept.migration (
  version integer PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)
-- name: opening.applied
INSERT INTO wellkept.migration (version) VALUES (%(version)s)

-- Memories -------------------------------------------------------------------------------------

-- name: find
SELECT m.id, m.record, m.access_count, m.last_accessed_at, m.stability FROM wellkept.memory AS m WHERE m.ns = %(ns)s
-- name: find.ids
 AND m.id = ANY(%(ids)s::text[])
-- name: find.id
 AND m.id = %(id)s
-- name: find.id_prefix
 AND m.id >= %(id_prefix)s AND m.id < %(id_prefix_end)s
-- name: find.id_end
 AND right(m.id, length(%(id_end)s)) = %(id_end)s
-- name: find.hashes
 AND m.id IN (SELECT a.id FROM wellkept.alias AS a WHERE a.ns = %(ns)s AND a.hash = ANY(%(hashes)s::text[]))
-- name: find.kinds
 AND m.kind = ANY(%(kinds)s::text[])
-- name: find.statuses
 AND m.status = ANY(%(statuses)s::text[])
-- name: find.subject
 AND m.subject <> '' AND hashtextextended(m.subject, 0) = hashtextextended(%(subject)s::text, 0)
 AND m.subject = %(subject)s
-- name: find.no_subject
 AND m.subject = ''
-- name: find.attribute
 AND m.attribute = %(attribute)s
-- name: find.ongoing
 AND m.ongoing = %(ongoing)s
-- name: find.created_from
 AND m.created >= %(created_from)s
-- name: find.unchecked
 AND NOT m.checked
-- name: find.checked
 AND m.checked
-- name: find.embedded
 AND EXISTS (SELECT 1 FROM wellkept.vector AS v WHERE v.ns = %(ns)s AND v.hash = m.embedding AND v.model = %(model)s)
-- name: find.not_embedded
 AND NOT EXISTS (SELECT 1 FROM wellkept.vector AS v
  WHERE v.ns = %(ns)s AND v.hash = m.embedding AND v.model = %(model)s)
-- name: find.after
 AND (m.created, m.id) > (%(after_created)s, %(after_id)s)
-- name: find.before
 AND (m.created, m.id) < (%(before_created)s, %(before_id)s)
-- name: find.order
 ORDER BY m.created, m.id LIMIT %(limit)s
-- name: find.backwards
 ORDER BY m.created DESC, m.id DESC LIMIT %(limit)s

-- name: memory.held
SELECT id, place, version, status, NULL FROM wellkept.memory WHERE ns = %(ns)s AND id = ANY(%(ids)s::text[])
-- name: memory.insert
INSERT INTO wellkept.memory (ns, id, place, kind, status, subject, attribute, created, ongoing, checked, version,
  embedding, tags, access_count, last_accessed_at, stability, record)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s::text[], %s, %s, %s, %s)
-- name: memory.update
UPDATE wellkept.memory SET kind = %s, status = %s, subject = %s, attribute = %s, created = %s,
  ongoing = %s, checked = %s, version = %s, embedding = %s, tags = %s::text[], record = %s
WHERE ns = %s AND id = %s
-- name: memory.set_usage
UPDATE wellkept.memory SET access_count = %s, last_accessed_at = %s, stability = %s WHERE ns = %s AND id = %s
-- name: memory.add_usage
UPDATE wellkept.memory SET access_count = greatest(access_count, %(access_count)s),
  last_accessed_at = %(last_accessed_at)s, stability = %(stability)s
WHERE ns = %(ns)s AND id = %(id)s AND status <> 'erased'
-- name: memory.delete
DELETE FROM wellkept.memory WHERE ns = %(ns)s AND id = ANY(%(ids)s::text[])
-- name: memory.embeddings_in_use
SELECT DISTINCT embedding FROM wellkept.memory WHERE ns = %(ns)s AND embedding = ANY(%(hashes)s::text[])
-- name: memory.count
SELECT count(*) FROM wellkept.memory WHERE ns = %(ns)s

-- Full text ------------------------------------------------------------------------------------

-- name: words.put
INSERT INTO wellkept.words (ns, place, id, terms) VALUES (%s, %s, %s, %s::text[])
ON CONFLICT (ns, place) DO UPDATE SET id = excluded.id, terms = excluded.terms
-- name: words.delete
DELETE FROM wellkept.words WHERE ns = %(ns)s AND place = ANY(%(places)s::bigint[])
-- name: words.counts
SELECT t.at, (SELECT count(*) FROM wellkept.words AS w WHERE w.ns = %(ns)s AND w.terms @> ARRAY[t.term])
FROM unnest(%(terms)s::text[]) WITH ORDINALITY AS t (term, at)
-- name: words.places
SELECT t.at, (SELECT array_agg(w.place) FROM wellkept.words AS w WHERE w.ns = %(ns)s AND w.terms @> ARRAY[t.term])
FROM unnest(%(terms)s::text[]) WITH ORDINALITY AS t (term, at)
-- name: words.memories
SELECT w.place, m.id, m.kind FROM wellkept.words AS w JOIN wellkept.memory AS m ON m.ns = %(ns)s AND m.id = w.id
WHERE w.ns = %(ns)s AND w.place = ANY(%(places)s::bigint[])

-- Vectors --------------------------------------------------------------------------------------

-- name: vector.put
INSERT INTO wellkept.vector (ns, hash, model, vec) VALUES (%(ns)s, %(hash)s, %(model)s, %(vec)s)
ON CONFLICT (ns, hash, model) DO UPDATE SET vec = excluded.vec
-- name: vector.drop_former
DELETE FROM wellkept.vector WHERE ns = %(ns)s AND hash = ANY(%(hashes)s::text[]) AND model <> %(model)s
-- name: vector.get
SELECT hash, halfvec_send(vec) FROM wellkept.vector WHERE ns = %(ns)s AND model = %(model)s AND hash = ANY(%(hashes)s::text[])
-- name: vector.delete
DELETE FROM wellkept.vector WHERE ns = %(ns)s AND hash = ANY(%(hashes)s::text[])
-- name: vector.all
SELECT m.id, m.kind, m.status, halfvec_send(v.vec) FROM wellkept.memory AS m
JOIN wellkept.vector AS v ON v.ns = %(ns)s AND v.hash = m.embedding AND v.model = %(model)s
WHERE m.ns = %(ns)s AND m.embedding <> ''
-- name: vector.rows
SELECT m.id, m.kind, m.status, halfvec_send(v.vec) FROM wellkept.memory AS m
LEFT JOIN wellkept.vector AS v ON v.ns = %(ns)s AND v.hash = m.embedding AND v.model = %(model)s
WHERE m.ns = %(ns)s AND m.id = ANY(%(ids)s::text[])
-- name: vector.users
SELECT id FROM wellkept.memory WHERE ns = %(ns)s AND embedding = ANY(%(hashes)s::text[])

-- Aliases, links, conflicts --------------------------------------------------------------------

-- name: alias.insert
INSERT INTO wellkept.alias (ns, hash, id) VALUES (%(ns)s, %(hash)s, %(id)s) ON CONFLICT DO NOTHING
-- name: alias.delete
DELETE FROM wellkept.alias WHERE ns = %(ns)s AND hash = %(hash)s AND id = %(id)s
-- name: alias.pairs
SELECT hash, id FROM wellkept.alias WHERE ns = %(ns)s AND (hash, id) > (%(after_hash)s, %(after_id)s)
ORDER BY hash, id LIMIT %(limit)s
-- name: alias.erase
DELETE FROM wellkept.alias WHERE ns = %(ns)s AND id = ANY(%(ids)s::text[])
-- name: link.get
SELECT src, dst, rel, created_at FROM wellkept.link
WHERE ns = %(ns)s AND src = %(src)s AND dst = %(dst)s AND rel = %(rel)s
-- name: link.all
SELECT src, dst, rel, created_at FROM wellkept.link WHERE ns = %(ns)s ORDER BY src, dst, rel
-- name: link.of
SELECT src, dst, rel, created_at FROM wellkept.link
WHERE ns = %(ns)s AND (src = ANY(%(ids)s::text[]) OR dst = ANY(%(ids)s::text[])) ORDER BY src, dst, rel
-- name: link.put
INSERT INTO wellkept.link (ns, src, dst, rel, created_at)
VALUES (%(ns)s, %(src)s, %(dst)s, %(rel)s, %(created_at)s)
-- name: link.delete
DELETE FROM wellkept.link WHERE ns = %(ns)s AND src = %(src)s AND dst = %(dst)s AND rel = %(rel)s
-- name: link.erase
DELETE FROM wellkept.link WHERE ns = %(ns)s AND (src = ANY(%(ids)s::text[]) OR dst = ANY(%(ids)s::text[]))
-- name: conflict.get
SELECT record FROM wellkept.conflict WHERE ns = %(ns)s AND key = %(key)s
-- name: conflict.all
SELECT record FROM wellkept.conflict WHERE ns = %(ns)s ORDER BY created, key
-- name: conflict.of
SELECT record FROM wellkept.conflict WHERE ns = %(ns)s
  AND (a = ANY(%(ids)s::text[]) OR b = ANY(%(ids)s::text[]) OR key = ANY(%(keys)s::text[])) ORDER BY created, key
-- name: conflict.put
INSERT INTO wellkept.conflict (ns, key, a, b, created, record)
VALUES (%(ns)s, %(key)s, %(a)s, %(b)s, %(created)s, %(record)s)
ON CONFLICT (ns, key) DO UPDATE SET a = excluded.a, b = excluded.b, created = excluded.created, record = excluded.record
-- name: conflict.delete
DELETE FROM wellkept.conflict WHERE ns = %(ns)s AND key = %(key)s
-- name: conflict.erase
DELETE FROM wellkept.conflict WHERE ns = %(ns)s AND (a = ANY(%(ids)s::text[]) OR b = ANY(%(ids)s::text[]))

-- Journal --------------------------------------------------------------------------------------

-- name: journal.insert
INSERT INTO wellkept.journal (ns, seq, undoes, outcome, day, run, key, moved, record)
VALUES (%(ns)s, %(seq)s, %(undoes)s, %(outcome)s, %(day)s, %(run)s, %(key)s, string_to_array(%(moved)s, ' '), %(record)s)
ON CONFLICT (ns, key) WHERE key IS NOT NULL DO NOTHING RETURNING mark::text
-- name: journal.marked
SELECT seq FROM wellkept.journal WHERE ns = %(ns)s AND seq = %(seq)s AND mark = %(mark)s::uuid
-- name: journal.memory
INSERT INTO wellkept.journal_memory (ns, id, seq, changed) VALUES (%(ns)s, %(id)s, %(seq)s, %(changed)s)
-- name: journal
SELECT j.seq, j.record FROM wellkept.journal AS j WHERE j.ns = %(ns)s AND j.seq > %(after)s
-- name: journal.memory_ids
 AND j.seq IN (SELECT c.seq FROM wellkept.journal_memory AS c WHERE c.ns = %(ns)s AND c.id = ANY(%(ids)s::text[]))
-- name: journal.seqs
 AND (j.seq = ANY(%(seqs)s::bigint[]) OR j.undoes > 0 AND j.undoes = ANY(%(seqs)s::bigint[]))
-- name: journal.key
 AND j.key = %(key)s
-- name: journal.run
 AND j.run <> '' AND j.run = %(run)s
-- name: journal.newest_first
 ORDER BY j.seq DESC LIMIT %(limit)s
-- name: census.memories
SELECT status, kind, count(*), count(*) FILTER (WHERE NOT checked), count(*) FILTER (WHERE embedding = '')
FROM wellkept.memory WHERE ns = %(ns)s GROUP BY status, kind
-- name: census.outcomes
SELECT outcome, count(*) FROM wellkept.journal WHERE ns = %(ns)s GROUP BY outcome
-- name: census.days
SELECT outcome, day, count(*) FROM wellkept.journal WHERE ns = %(ns)s GROUP BY outcome, day
-- name: journal.numbers
SELECT string_agg(seq::text, ' ') FROM wellkept.journal WHERE ns = %(ns)s AND outcome = %(outcome)s
-- name: census.links
SELECT count(*) FROM wellkept.link WHERE ns = %(ns)s
-- name: journal.packed
SELECT seq, record FROM wellkept.journal WHERE ns = %(ns)s AND seq = ANY(%(seqs)s::bigint[])
-- name: journal.changes
SELECT id, seq FROM wellkept.journal_memory
WHERE ns = %(ns)s AND changed AND seq > %(after)s AND id = ANY(%(ids)s::text[]) ORDER BY id, seq
-- name: journal.moved
SELECT seq, array_to_string(moved, ' ') FROM wellkept.journal WHERE ns = %(ns)s AND seq > %(after)s AND moved <> '{}' ORDER BY seq
-- name: journal.head
SELECT left(record, 1000) FROM wellkept.journal WHERE ns = %(ns)s AND seq = %(seq)s
-- name: journal.mentions
SELECT seq FROM wellkept.journal WHERE ns = %(ns)s AND strpos(record, %(id)s) > 0
-- name: journal.rewrite
UPDATE wellkept.journal SET record = %(record)s WHERE ns = %(ns)s AND seq = %(seq)s

-- Emptying a namespace before a restore --------------------------------------------------------

-- name: clear.ids
SELECT id FROM wellkept.memory WHERE ns = %(ns)s
-- name: clear.memory
DELETE FROM wellkept.memory WHERE ns = %(ns)s
-- name: clear.words
DELETE FROM wellkept.words WHERE ns = %(ns)s
-- name: clear.vector
DELETE FROM wellkept.vector WHERE ns = %(ns)s
-- name: clear.alias
DELETE FROM wellkept.alias WHERE ns = %(ns)s
-- name: clear.link
DELETE FROM wellkept.link WHERE ns = %(ns)s
-- name: clear.conflict
DELETE FROM wellkept.conflict WHERE ns = %(ns)s
-- name: clear.journal_memory
DELETE FROM wellkept.journal_memory WHERE ns = %(ns)s
-- name: clear.journal
DELETE FROM wellkept.journal WHERE ns = %(ns)s
-- name: memory.last_place
SELECT coalesce(max(place), 0) FROM wellkept.memory WHERE ns = %(ns)s

-- Verification ---------------------------------------------------------------------------------

-- name: verify.namespaces
SELECT name, ns FROM wellkept.namespace ORDER BY name
-- name: verify.seq
SELECT n.seq, coalesce(max(j.seq), 0), count(j.seq) FROM wellkept.namespace AS n
LEFT JOIN wellkept.journal AS j ON j.ns = %(ns)s WHERE n.ns = %(ns)s GROUP BY n.seq
-- name: verify.strangers
SELECT t.name FROM (
  SELECT 'memory' AS name, ns FROM wellkept.memory UNION SELECT 'words', ns FROM wellkept.words
  UNION SELECT 'vector', ns FROM wellkept.vector UNION SELECT 'alias', ns FROM wellkept.alias
  UNION SELECT 'link', ns FROM wellkept.link UNION SELECT 'conflict', ns FROM wellkept.conflict
  UNION SELECT 'journal', ns FROM wellkept.journal UNION SELECT 'journal_memory', ns FROM wellkept.journal_memory
) AS t WHERE NOT EXISTS (SELECT 1 FROM wellkept.namespace AS n WHERE n.ns = t.ns)
-- name: verify.aliases
SELECT DISTINCT a.id FROM wellkept.alias AS a WHERE a.ns = %(ns)s
  AND NOT EXISTS (SELECT 1 FROM wellkept.memory AS m WHERE m.ns = %(ns)s AND m.id = a.id) ORDER BY 1 LIMIT %(most)s
-- name: verify.journal_memory
SELECT c.id, c.seq FROM wellkept.journal_memory AS c WHERE c.ns = %(ns)s
  AND NOT EXISTS (SELECT 1 FROM wellkept.journal AS j WHERE j.ns = %(ns)s AND j.seq = c.seq) ORDER BY 1, 2 LIMIT %(most)s
-- name: verify.vectors
SELECT v.hash, e.dim, halfvec_send(v.vec) FROM wellkept.vector AS v JOIN wellkept.embedder AS e ON e.model = v.model
WHERE v.ns = %(ns)s ORDER BY v.hash
-- name: verify.links
SELECT src, dst, rel, created_at FROM wellkept.link WHERE ns = %(ns)s ORDER BY src, dst, rel
-- name: verify.conflicts
SELECT key, a, b, created, record FROM wellkept.conflict WHERE ns = %(ns)s ORDER BY key
-- name: verify.journal
SELECT seq, record FROM wellkept.journal WHERE ns = %(ns)s ORDER BY seq
-- name: verify.records
SELECT m.id, m.kind, m.status, m.subject, m.attribute, m.created, m.ongoing, m.checked, m.version, m.embedding,
  m.tags, m.access_count, m.last_accessed_at, m.stability, m.record, w.terms
FROM wellkept.memory AS m LEFT JOIN wellkept.words AS w ON w.ns = %(ns)s AND w.place = m.place AND w.id = m.id
WHERE m.ns = %(ns)s ORDER BY m.id
-- name: verify.words
SELECT count(*) FROM wellkept.words AS w WHERE w.ns = %(ns)s AND NOT EXISTS (
  SELECT 1 FROM wellkept.memory AS m
  WHERE m.ns = %(ns)s AND m.id = w.id AND m.place = w.place AND m.status IN ('active', 'wording'))

-- Rebuild of derived data ----------------------------------------------------------------------

-- name: mend.active
SELECT place, id, record FROM wellkept.memory WHERE ns = %(ns)s AND status IN ('active', 'wording') ORDER BY place
