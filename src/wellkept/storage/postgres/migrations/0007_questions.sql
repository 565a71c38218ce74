-- Version 7: what a namespace remembers of its questions. Every write changes it, with the number of the newest entry.
ALTER TABLE wellkept.namespace ADD COLUMN asking text NOT NULL DEFAULT '';
