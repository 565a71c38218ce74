-- Search by an index; see approximate.py. The name of the index and the dimension are filled in and never come from
-- input; all other values are bound.

-- name: approximate.header
SELECT h.model, e.dim FROM wellkept.header AS h JOIN wellkept.embedder AS e ON e.model = h.model
-- name: approximate.mark
INSERT INTO wellkept.approximate (ns, model) VALUES (%(ns)s, %(model)s)
ON CONFLICT (ns) DO UPDATE SET model = excluded.model
-- name: approximate.unmark
DELETE FROM wellkept.approximate WHERE ns = %(ns)s
-- name: approximate.partition
SELECT coalesce(
  (SELECT v.tableoid::regclass::text FROM wellkept.vector AS v
   WHERE v.ns = %(ns)s AND EXISTS (SELECT 1 FROM pg_inherits WHERE inhparent = 'wellkept.vector'::regclass) LIMIT 1),
  'wellkept.vector')
-- name: approximate.memories
SELECT coalesce(
  (SELECT m.tableoid::regclass::text FROM wellkept.memory AS m
   WHERE m.ns = %(ns)s AND EXISTS (SELECT 1 FROM pg_inherits WHERE inhparent = 'wellkept.memory'::regclass) LIMIT 1),
  'wellkept.memory')
-- name: approximate.indexes
SELECT quote_ident(c.relname) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'wellkept' AND c.relkind IN ('i', 'I') AND starts_with(c.relname, %(start)s::text)
-- name: approximate.count
SELECT count(*) FROM wellkept.vector WHERE ns = %(ns)s AND model = %(model)s
-- name: approximate.settings
SELECT set_config('hnsw.ef_search', %(width)s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true)
FROM wellkept.approximate WHERE ns = %(ns)s
-- name: approximate.sample
SELECT halfvec_send(vec) FROM wellkept.vector WHERE ns = %(ns)s AND model = %(model)s ORDER BY hash LIMIT %(limit)s
-- name: approximate.size
SELECT pg_relation_size(to_regclass(%(index)s))
-- name: approximate.rows
SELECT m.id, m.kind, m.status, halfvec_send(v.vec) FROM wellkept.vector AS v
JOIN wellkept.memory AS m ON m.ns = %(ns)s AND m.embedding = v.hash AND m.status = ANY(%(statuses)s::text[])
WHERE v.ns = %(ns)s AND v.model = %(model)s AND v.hash = ANY(%(hashes)s::text[])
-- name: approximate.search
SELECT v.hash FROM wellkept.vector AS v WHERE v.ns = {ns} AND v.model = {model}
ORDER BY {compared} <=> %(asked)s LIMIT %(limit)s
-- A sum is not what the index is sorted by, so this compares every row, on whichever server it runs.
-- name: approximate.compare
SELECT v.hash FROM wellkept.vector AS v WHERE v.ns = {ns} AND v.model = {model}
ORDER BY ({compared} <=> %(asked)s) + 0 LIMIT %(limit)s
-- name: approximate.fitting
SELECT count(*) FROM (SELECT 1 FROM wellkept.memory AS m WHERE m.ns = %(ns)s AND m.status = ANY(%(statuses)s::text[])
  AND (cardinality(%(kinds)s::text[]) = 0 OR m.kind = ANY(%(kinds)s::text[])) LIMIT %(most)s) AS f
-- name: approximate.few
SELECT m.id, m.kind, m.status, halfvec_send(v.vec) FROM wellkept.memory AS m
JOIN wellkept.vector AS v ON v.ns = %(ns)s AND v.hash = m.embedding AND v.model = %(model)s
WHERE m.ns = %(ns)s AND m.status = ANY(%(statuses)s::text[])
  AND (cardinality(%(kinds)s::text[]) = 0 OR m.kind = ANY(%(kinds)s::text[]))
-- name: approximate.build_kinds
CREATE INDEX CONCURRENTLY {index}_kinds ON {table} (status, kind) WHERE ns = {ns}
-- name: approximate.build
CREATE INDEX CONCURRENTLY {index} ON {table} USING hnsw ({compared} halfvec_cosine_ops)
WHERE ns = {ns} AND model = {model}
-- name: approximate.drop
DROP INDEX CONCURRENTLY IF EXISTS wellkept.{index}
