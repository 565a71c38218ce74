-- Every statement the SQLite backend runs, by name. Values are always bound, never written in.

-- name: opening.tables
SELECT count(*) FROM sqlite_schema
-- name: opening.objects
SELECT type, name, tbl_name, sql FROM sqlite_schema
-- name: begin.read
BEGIN
-- name: begin.write
BEGIN IMMEDIATE
-- name: commit
COMMIT
-- name: rollback
ROLLBACK

-- Header and namespaces ------------------------------------------------------------------------

-- name: tx.open
SELECT h.store_id, h.model, e.dim, n.ns, n.seq, (SELECT max(model) FROM embedder),
  (SELECT substr(j.record, 1, 1000) FROM journal AS j WHERE j.ns = n.ns AND j.seq = n.seq)
FROM header AS h JOIN embedder AS e ON e.model = h.model LEFT JOIN namespace AS n ON n.name = :name
-- name: header.read
SELECT h.store_id, e.name, e.dim, h.policy, h.created_at
FROM header AS h JOIN embedder AS e ON e.model = h.model
-- name: header.create
INSERT INTO header (one, store_id, model, policy, created_at, words)
VALUES (1, lower(hex(randomblob(16))), 1, '', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), :words)
-- name: header.set
UPDATE header SET model = (SELECT model FROM embedder WHERE name = :embedder), policy = :policy
-- name: header.words
SELECT words FROM header
-- name: header.set_words
UPDATE header SET words = :words
-- name: embedder.create
INSERT INTO embedder (model, name, dim) VALUES (1, '', 0)
-- name: embedder.add
INSERT INTO embedder (name, dim) VALUES (:embedder, :dim) ON CONFLICT (name) DO NOTHING
-- name: embedder.dim
SELECT dim FROM embedder WHERE name = :embedder
-- name: embedder.model
SELECT model FROM embedder WHERE name = :embedder
-- name: namespace.add
INSERT INTO namespace (name, seq) VALUES (:name, 0)
-- name: namespace.set_seq
UPDATE namespace SET seq = :seq WHERE ns = :ns
-- name: namespace.asking
SELECT asking FROM namespace WHERE ns = :ns
-- name: namespace.note
UPDATE namespace SET asking = :asking WHERE ns = :ns
-- name: namespace.names
SELECT name FROM namespace WHERE seq > 0 ORDER BY name

-- name: namespace.seqs
SELECT name, seq FROM namespace WHERE seq > 0 ORDER BY name

-- Memories -------------------------------------------------------------------------------------

-- name: find
SELECT m.id, m.record, m.access_count, m.last_accessed_at, m.stability FROM memory AS m WHERE m.ns = :ns
-- name: find.ids
 AND m.id IN (SELECT value FROM json_each(:ids))
-- name: find.id
 AND m.id = :id
-- name: find.id_prefix
 AND m.id >= :id_prefix AND m.id < :id_prefix_end
-- name: find.id_end
 AND substr(m.id, -length(:id_end)) = :id_end
-- name: find.hashes
 AND m.id IN (SELECT a.id FROM alias AS a WHERE a.ns = :ns AND a.hash IN (SELECT value FROM json_each(:hashes)))
-- name: find.kinds
 AND m.kind IN (SELECT value FROM json_each(:kinds))
-- name: find.statuses
 AND m.status IN (SELECT value FROM json_each(:statuses))
-- name: find.kinds_by_key
 AND +m.kind IN (SELECT value FROM json_each(:kinds))
-- name: find.statuses_by_key
 AND +m.status IN (SELECT value FROM json_each(:statuses))
-- name: find.subject
 AND m.subject <> '' AND m.subject = :subject
-- name: find.no_subject
 AND m.subject = ''
-- name: find.attribute
 AND m.attribute = :attribute
-- name: find.ongoing
 AND m.ongoing = :ongoing
-- name: find.created_from
 AND m.created >= :created_from
-- name: find.unchecked
 AND m.checked = 0
-- name: find.checked
 AND m.checked = 1
-- name: find.embedded
 AND EXISTS (SELECT 1 FROM vector AS v WHERE v.ns = m.ns AND v.hash = m.embedding AND v.model = :model)
-- name: find.not_embedded
 AND NOT EXISTS (SELECT 1 FROM vector AS v WHERE v.ns = m.ns AND v.hash = m.embedding AND v.model = :model)
-- name: find.after
 AND (m.created, m.id) > (:after_created, :after_id)
-- name: find.before
 AND (m.created, m.id) < (:before_created, :before_id)
-- name: find.order_by_key
 ORDER BY +m.created, +m.id LIMIT ifnull(:limit, -1)
-- name: find.order
 ORDER BY m.created, m.id LIMIT ifnull(:limit, -1)
-- name: find.backwards
 ORDER BY m.created DESC, m.id DESC LIMIT ifnull(:limit, -1)

-- name: memory.insert
INSERT INTO memory (ns, id, place, kind, status, subject, attribute, created, ongoing, checked, version, embedding,
  access_count, last_accessed_at, stability, record)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
-- name: memory.held
SELECT id, place, version, status, CASE WHEN status IN ('active', 'wording') THEN record END FROM memory
WHERE ns = :ns AND id IN (SELECT value FROM json_each(:ids))
-- name: memory.last_place
SELECT ifnull(max(place), 0) FROM memory
-- name: memory.update
UPDATE memory SET kind = ?, status = ?, subject = ?, attribute = ?, created = ?, ongoing = ?, checked = ?,
  version = ?, embedding = ?, record = ? WHERE ns = ? AND id = ?
-- name: memory.set_usage
UPDATE memory SET access_count = ?, last_accessed_at = ?, stability = ? WHERE ns = ? AND id = ?
-- name: memory.add_usage
UPDATE memory SET access_count = max(access_count, :access_count), last_accessed_at = :last_accessed_at,
  stability = :stability
WHERE ns = (SELECT ns FROM namespace WHERE name = :ns) AND id = :id AND status <> 'erased'
-- name: memory.delete
DELETE FROM memory WHERE ns = :ns AND id IN (SELECT value FROM json_each(:ids))
-- name: memory.embeddings_in_use
SELECT DISTINCT embedding FROM memory WHERE ns = :ns AND embedding IN (SELECT value FROM json_each(:hashes))
-- name: memory.count
SELECT count(*) FROM memory WHERE ns = :ns
-- name: memory.active
SELECT ns, place, record FROM memory WHERE status IN ('active', 'wording')

-- Full text ------------------------------------------------------------------------------------

-- name: words.insert
INSERT INTO words (rowid, terms) VALUES (?, ?)
-- name: words.delete
INSERT INTO words (words, rowid, terms) VALUES ('delete', ?, ?)
-- name: words.delete_all
INSERT INTO words (words) VALUES ('delete-all')
-- name: words.optimize
INSERT INTO words (words) VALUES ('optimize')
-- name: words.count
SELECT doc FROM word_count WHERE term = :term
-- name: words.places
SELECT rowid FROM words WHERE words MATCH :query
-- name: words.listed
-- The same in one text: rows are handed over one by one, which takes three times as long.
SELECT group_concat(rowid, ' ') FROM (SELECT rowid FROM words WHERE words MATCH :query LIMIT :most)
-- name: words.memories
SELECT m.place, m.id, m.kind FROM json_each(:places) AS p CROSS JOIN memory AS m ON m.place = p.value
WHERE m.ns = :ns AND m.status IN ('active', 'wording')

-- Vectors --------------------------------------------------------------------------------------

-- name: vector.put
INSERT INTO vector (ns, hash, model, vec) VALUES (:ns, :hash, :model, :vec)
ON CONFLICT (ns, hash, model) DO UPDATE SET vec = excluded.vec
-- name: vector.drop_former
DELETE FROM vector WHERE ns = :ns AND model <> :model AND hash IN (SELECT value FROM json_each(:hashes))
-- name: vector.get
SELECT hash, vec FROM vector WHERE ns = :ns AND model = :model AND hash IN (SELECT value FROM json_each(:hashes))
-- name: vector.delete
DELETE FROM vector WHERE ns = :ns AND hash IN (SELECT value FROM json_each(:hashes))
-- name: vector.all
SELECT m.id, m.kind, m.status, v.vec FROM memory AS m
JOIN vector AS v ON v.ns = m.ns AND v.hash = m.embedding AND v.model = :model
WHERE m.ns = :ns AND m.embedding <> ''
-- name: vector.rows
SELECT m.id, m.kind, m.status, v.vec FROM memory AS m
LEFT JOIN vector AS v ON v.ns = m.ns AND v.hash = m.embedding AND v.model = :model
WHERE m.ns = :ns AND m.id IN (SELECT value FROM json_each(:ids))
-- name: vector.users
SELECT id FROM memory WHERE ns = :ns AND embedding IN (SELECT value FROM json_each(:hashes))

-- Aliases, links, conflicts --------------------------------------------------------------------

-- name: alias.insert
INSERT OR IGNORE INTO alias (ns, hash, id) VALUES (:ns, :hash, :id)
-- name: alias.delete
DELETE FROM alias WHERE ns = :ns AND hash = :hash AND id = :id
-- name: alias.pairs
SELECT hash, id FROM alias WHERE ns = :ns AND (hash, id) > (:after_hash, :after_id) ORDER BY hash, id LIMIT ifnull(:limit, -1)
-- name: alias.erase
DELETE FROM alias WHERE ns = :ns AND id IN (SELECT value FROM json_each(:ids))
-- name: link.get
SELECT src, dst, rel, created_at FROM link WHERE ns = :ns AND src = :src AND dst = :dst AND rel = :rel
-- name: link.all
SELECT src, dst, rel, created_at FROM link WHERE ns = :ns ORDER BY src, dst, rel
-- name: link.of
SELECT src, dst, rel, created_at FROM link WHERE ns = :ns AND src IN (SELECT value FROM json_each(:ids))
UNION SELECT src, dst, rel, created_at FROM link WHERE ns = :ns AND dst IN (SELECT value FROM json_each(:ids))
ORDER BY src, dst, rel
-- name: link.put
INSERT INTO link (ns, src, dst, rel, created_at) VALUES (:ns, :src, :dst, :rel, :created_at)
-- name: link.delete
DELETE FROM link WHERE ns = :ns AND src = :src AND dst = :dst AND rel = :rel
-- name: link.erase
DELETE FROM link WHERE ns = :ns AND (src IN (SELECT value FROM json_each(:ids)) OR dst IN (SELECT value FROM json_each(:ids)))
-- name: conflict.get
SELECT record FROM conflict WHERE ns = :ns AND key = :key
-- name: conflict.all
SELECT record FROM conflict WHERE ns = :ns ORDER BY created, key
-- name: conflict.of
SELECT record FROM (
  SELECT created, key, record FROM conflict WHERE ns = :ns AND a IN (SELECT value FROM json_each(:ids))
  UNION SELECT created, key, record FROM conflict WHERE ns = :ns AND b IN (SELECT value FROM json_each(:ids))
  UNION SELECT created, key, record FROM conflict WHERE ns = :ns AND key IN (SELECT value FROM json_each(:keys))
) ORDER BY created, key
-- name: conflict.put
INSERT INTO conflict (ns, key, a, b, created, record) VALUES (:ns, :key, :a, :b, :created, :record)
ON CONFLICT (ns, key) DO UPDATE SET a = excluded.a, b = excluded.b, created = excluded.created, record = excluded.record
-- name: conflict.delete
DELETE FROM conflict WHERE ns = :ns AND key = :key
-- name: conflict.erase
DELETE FROM conflict WHERE ns = :ns AND (a IN (SELECT value FROM json_each(:ids)) OR b IN (SELECT value FROM json_each(:ids)))

-- Journal --------------------------------------------------------------------------------------

-- name: journal.insert
INSERT INTO journal (ns, seq, undoes, record, key, moved, outcome, day)
VALUES (:ns, :seq, :undoes, :record, :key, :moved, :outcome, :day)
-- name: journal.memory
INSERT INTO journal_memory (ns, id, seq, changed) VALUES (:ns, :id, :seq, :changed)
-- name: journal
SELECT j.seq, j.record FROM journal AS j WHERE j.ns = :ns AND j.seq > :after
-- name: journal.narrow
SELECT j.seq, j.record FROM journal AS j WHERE j.ns = :ns AND +j.seq > :after
-- name: journal.memory_ids
 AND j.seq IN (SELECT c.seq FROM journal_memory AS c WHERE c.ns = :ns AND c.id IN (SELECT value FROM json_each(:ids)))
-- name: journal.seqs
 AND j.seq IN (
  SELECT value FROM json_each(:seqs)
  UNION SELECT u.seq FROM json_each(:seqs) AS s JOIN journal AS u ON u.ns = :ns AND u.undoes = s.value WHERE u.undoes > 0)
-- name: journal.key
 AND j.key = :key
-- name: journal.run
 AND instr(j.record, :run) > 0 AND json_extract(j.record, '$.run_id') = :run
-- name: journal.newest_first
 ORDER BY j.seq DESC LIMIT ifnull(:limit, -1)
-- name: census.memories
-- The index is named, because SQLite would otherwise read every row for those that are unchecked.
WITH whole AS (
  SELECT status, kind, count(*) AS count FROM memory WHERE ns = :ns GROUP BY status, kind
), unchecked AS (
  SELECT status, kind, count(*) AS count FROM memory INDEXED BY memory_unchecked
  WHERE ns = :ns AND checked = 0 GROUP BY status, kind
), unembedded AS (
  SELECT status, kind, count(*) AS count FROM memory WHERE ns = :ns AND embedding = '' GROUP BY status, kind
)
SELECT w.status, w.kind, w.count, ifnull(c.count, 0), ifnull(e.count, 0) FROM whole AS w
LEFT JOIN unchecked AS c ON c.status = w.status AND c.kind = w.kind
LEFT JOIN unembedded AS e ON e.status = w.status AND e.kind = w.kind
-- name: census.outcomes
SELECT outcome, count(*) FROM journal WHERE ns = :ns GROUP BY outcome
-- name: census.days
SELECT outcome, day, count(*) FROM journal WHERE ns = :ns GROUP BY outcome, day
-- name: journal.numbers
-- In one text: rows are handed over one by one, which takes three times as long.
SELECT group_concat(seq, ' ') FROM journal WHERE ns = :ns AND outcome = :outcome
-- name: census.links
SELECT count(*) FROM link WHERE ns = :ns
-- name: journal.packed
SELECT seq, record FROM journal WHERE ns = :ns AND seq IN (SELECT value FROM json_each(:seqs))
-- name: journal.changes
SELECT id, seq FROM journal_memory
WHERE ns = :ns AND changed = 1 AND seq > :after AND id IN (SELECT value FROM json_each(:ids)) ORDER BY id, seq
-- name: journal.moved
SELECT seq, moved FROM journal WHERE ns = :ns AND seq > :after AND moved <> '' ORDER BY seq
-- name: journal.head
SELECT substr(record, 1, 1000) FROM journal WHERE ns = :ns AND seq = :seq
-- name: journal.mentions
SELECT seq FROM journal WHERE ns = :ns AND instr(record, :id) > 0
-- name: journal.rewrite
UPDATE journal SET record = :record WHERE ns = :ns AND seq = :seq

-- Emptying a namespace before a restore --------------------------------------------------------

-- name: clear.words
SELECT place, record FROM memory WHERE ns = :ns AND status IN ('active', 'wording')
-- name: clear.ids
SELECT id FROM memory WHERE ns = :ns
-- name: clear.memory
DELETE FROM memory WHERE ns = :ns
-- name: clear.vector
DELETE FROM vector WHERE ns = :ns
-- name: clear.alias
DELETE FROM alias WHERE ns = :ns
-- name: clear.link
DELETE FROM link WHERE ns = :ns
-- name: clear.conflict
DELETE FROM conflict WHERE ns = :ns
-- name: clear.journal_memory
DELETE FROM journal_memory WHERE ns = :ns
-- name: clear.journal
DELETE FROM journal WHERE ns = :ns

-- Verification ---------------------------------------------------------------------------------

-- name: verify.pages
PRAGMA integrity_check(20)
-- name: verify.keys
PRAGMA foreign_key_check
-- name: verify.seq
SELECT n.name, n.seq, coalesce(max(j.seq), 0), count(j.seq) FROM namespace AS n LEFT JOIN journal AS j ON j.ns = n.ns
GROUP BY n.ns HAVING n.seq <> coalesce(max(j.seq), 0) OR count(j.seq) <> n.seq
-- name: verify.sizes
SELECT n.name, v.hash FROM vector AS v JOIN namespace AS n ON n.ns = v.ns JOIN embedder AS e ON e.model = v.model
WHERE length(v.vec) <> 2 * e.dim LIMIT 20
-- name: verify.aliases
SELECT n.name, a.id FROM alias AS a JOIN namespace AS n ON n.ns = a.ns
WHERE NOT EXISTS (SELECT 1 FROM memory AS m WHERE m.ns = a.ns AND m.id = a.id) LIMIT 20
-- name: verify.journal_memory
SELECT n.name, c.id, c.seq FROM journal_memory AS c JOIN namespace AS n ON n.ns = c.ns
WHERE NOT EXISTS (SELECT 1 FROM journal AS j WHERE j.ns = c.ns AND j.seq = c.seq) LIMIT :most
-- name: verify.vectors
SELECT n.name, v.hash, v.place, v.vec FROM vector AS v JOIN namespace AS n ON n.ns = v.ns
JOIN embedder AS e ON e.model = v.model
WHERE v.place > :after AND length(v.vec) = 2 * e.dim ORDER BY v.place LIMIT :most
-- name: verify.links
SELECT n.name, l.src, l.dst, l.rel, l.created_at FROM link AS l JOIN namespace AS n ON n.ns = l.ns
-- name: verify.conflicts
SELECT n.name, c.key, c.a, c.b, c.created, c.record FROM conflict AS c JOIN namespace AS n ON n.ns = c.ns
-- name: verify.namespaces
SELECT name, ns FROM namespace ORDER BY name
-- name: verify.terms
SELECT term FROM word_count
-- name: verify.journal
SELECT seq, record FROM journal WHERE ns = :ns AND seq > :after ORDER BY seq LIMIT :most
-- name: verify.records
SELECT n.name, m.id, m.place, m.kind, m.status, m.subject, m.attribute, m.created, m.ongoing, m.checked, m.version,
  m.embedding, m.access_count, m.last_accessed_at, m.stability, m.record
FROM memory AS m JOIN namespace AS n ON n.ns = m.ns WHERE m.place > :after ORDER BY m.place LIMIT :most

-- Rebuild of derived data ----------------------------------------------------------------------

-- name: mend.aliases
DELETE FROM alias WHERE NOT EXISTS (SELECT 1 FROM memory AS m WHERE m.ns = alias.ns AND m.id = alias.id)
-- name: mend.numbers
UPDATE namespace SET seq = (SELECT max(j.seq) FROM journal AS j WHERE j.ns = namespace.ns)
WHERE seq <> (SELECT max(j.seq) FROM journal AS j WHERE j.ns = namespace.ns)
  AND (SELECT max(j.seq) FROM journal AS j WHERE j.ns = namespace.ns)
    = (SELECT count(*) FROM journal AS j WHERE j.ns = namespace.ns)
-- name: mend.sizes
DELETE FROM vector WHERE length(vec) <> 2 * (SELECT e.dim FROM embedder AS e WHERE e.model = vector.model)
-- name: mend.vector
DELETE FROM vector WHERE place = :place
-- name: mend.link
UPDATE link SET created_at = NULL WHERE ns = :ns AND src = :src AND dst = :dst AND rel = :rel
-- name: mend.usage
UPDATE memory SET access_count = 0, last_accessed_at = NULL, stability = NULL WHERE place = :place
-- name: mend.conflict
DELETE FROM conflict WHERE ns = :ns AND key = :key
