-- Vectors of a future embedder, stored beside the current ones until the store is moved to it.

-- name: ahead.hold
SELECT ns FROM wellkept.namespace WHERE ns = %(ns)s FOR NO KEY UPDATE
-- name: ahead.there
SELECT hash FROM wellkept.vector WHERE ns = %(ns)s AND model = %(model)s AND hash = ANY(%(hashes)s::text[])
-- name: ahead.drop_former
DELETE FROM wellkept.vector WHERE ns = %(ns)s AND model <> %(model)s
