-- Version 3 -> 4: memories and decisions are counted without reading their records, decisions by outcome and day.
ALTER TABLE journal ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
ALTER TABLE journal ADD COLUMN day TEXT NOT NULL DEFAULT '';
UPDATE journal SET outcome = coalesce(json_extract(record, '$.outcome'), ''),
  day = coalesce(substr(json_extract(record, '$.at'), 1, 10), '');
CREATE INDEX journal_outcome ON journal (ns, outcome, day, seq);
CREATE INDEX memory_counted ON memory (ns, status, kind);
CREATE INDEX memory_unembedded ON memory (ns, status, kind) WHERE embedding = '';
