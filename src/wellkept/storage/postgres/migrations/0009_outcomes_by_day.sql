-- Version 9: decisions are counted by outcome and day without reading their records.
ALTER TABLE wellkept.journal ADD COLUMN day text COLLATE "C" NOT NULL DEFAULT '';
UPDATE wellkept.journal SET day = left(record::json ->> 'at', 10);
CREATE INDEX journal_outcome ON wellkept.journal (ns, outcome, day, seq);
