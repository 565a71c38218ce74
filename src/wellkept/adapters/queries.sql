-- name: tables
SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite_%' ORDER BY name

-- name: columns
SELECT name FROM pragma_table_info(?)

-- name: points
SELECT point FROM points ORDER BY rowid DESC

-- name: history
SELECT * FROM history ORDER BY rowid

-- name: memories
SELECT * FROM memories ORDER BY created_at, id

-- name: collections
SELECT segments.id AS segment, collections.name AS name
FROM collections JOIN segments ON segments.collection = collections.id
ORDER BY collections.name, segments.id

-- name: embeddings
SELECT id, segment_id, embedding_id, created_at FROM embeddings ORDER BY created_at, id

-- name: embedding_metadata
SELECT id, key, string_value, int_value, float_value, bool_value FROM embedding_metadata ORDER BY id, key
