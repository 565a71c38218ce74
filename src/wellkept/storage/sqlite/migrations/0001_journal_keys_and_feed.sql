-- Version 1 -> 2. Version 1 looked for an idempotency key inside the journal's records, which no
-- index served and nothing kept unique, and it had no feed for the vector index.
ALTER TABLE journal ADD COLUMN key TEXT;
ALTER TABLE journal ADD COLUMN moved TEXT NOT NULL DEFAULT '';

-- Where a key was used twice, the entry that came first keeps it.
UPDATE journal SET key = json_extract(record, '$.idempotency_key')
WHERE json_extract(record, '$.idempotency_key') IS NOT NULL
  AND NOT EXISTS (
    SELECT 1 FROM journal AS earlier
    WHERE earlier.ns = journal.ns AND earlier.seq < journal.seq
      AND json_extract(earlier.record, '$.idempotency_key') = json_extract(journal.record, '$.idempotency_key')
  );
UPDATE journal SET moved = coalesce((
  SELECT group_concat(DISTINCT json_extract(effect.value, '$.id'))
  FROM json_each(journal.record, '$.effects') AS effect
  WHERE json_extract(effect.value, '$.type') = 'memory'
), '');
UPDATE journal SET moved = replace(moved, ',', ' ');

CREATE UNIQUE INDEX journal_key ON journal (ns, key) WHERE key IS NOT NULL;
