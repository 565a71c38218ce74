-- Version 2 -> 3: what a namespace remembers of its questions.
ALTER TABLE namespace ADD COLUMN asking TEXT NOT NULL DEFAULT '';
