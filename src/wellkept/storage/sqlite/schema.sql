-- Version 4 of the store. A released version never changes: add a step under migrations/.
-- `ns` leads every key, so that no statement can meet another namespace by accident.

-- What the store says of itself; one row.
CREATE TABLE header (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  store_id TEXT NOT NULL,
  model INTEGER NOT NULL REFERENCES embedder (model),
  policy TEXT NOT NULL,
  created_at TEXT NOT NULL,
  words TEXT NOT NULL
) STRICT;

-- Embedders this store has had; vectors of two are never mixed.
CREATE TABLE embedder (
  model INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  dim INTEGER NOT NULL
) STRICT;

CREATE TABLE namespace (
  ns INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  seq INTEGER NOT NULL,
  asking TEXT NOT NULL DEFAULT ''
) STRICT;

-- `record` is the memory without its usage; the other columns repeat what filters ask for.
CREATE TABLE memory (
  place INTEGER PRIMARY KEY,
  ns INTEGER NOT NULL REFERENCES namespace (ns),
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  subject TEXT NOT NULL,
  attribute TEXT NOT NULL,
  created INTEGER NOT NULL,
  ongoing INTEGER NOT NULL,
  checked INTEGER NOT NULL,
  version INTEGER NOT NULL,
  embedding TEXT NOT NULL,
  access_count INTEGER NOT NULL,
  last_accessed_at TEXT,
  stability REAL,
  record TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX memory_id ON memory (ns, id);
CREATE INDEX memory_created ON memory (ns, created, id);
CREATE INDEX memory_slot ON memory (ns, subject, attribute) WHERE subject <> '';
CREATE INDEX memory_unchecked ON memory (ns, created, id) WHERE checked = 0;
CREATE INDEX memory_counted ON memory (ns, status, kind);
CREATE INDEX memory_unembedded ON memory (ns, status, kind) WHERE embedding = '';

-- Vectors by the hash of the embedded text: little-endian float16 of unit length. A text that
-- comes back after an undo finds its vector again.
CREATE TABLE vector (
  place INTEGER PRIMARY KEY,
  ns INTEGER NOT NULL REFERENCES namespace (ns),
  hash TEXT NOT NULL,
  model INTEGER NOT NULL REFERENCES embedder (model),
  vec BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX vector_hash ON vector (ns, hash, model);

-- Every hash a memory ever absorbed; not unique by hash, since append-only kinds repeat.
CREATE TABLE alias (
  ns INTEGER NOT NULL REFERENCES namespace (ns),
  hash TEXT NOT NULL,
  id TEXT NOT NULL,
  PRIMARY KEY (ns, hash, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE link (
  ns INTEGER NOT NULL REFERENCES namespace (ns),
  src TEXT NOT NULL,
  dst TEXT NOT NULL,
  rel TEXT NOT NULL,
  created_at TEXT,
  PRIMARY KEY (ns, src, dst, rel)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_dst ON link (ns, dst);

CREATE TABLE conflict (
  ns INTEGER NOT NULL REFERENCES namespace (ns),
  key TEXT NOT NULL,
  a TEXT NOT NULL,
  b TEXT NOT NULL,
  created INTEGER NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (ns, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX conflict_a ON conflict (ns, a);
CREATE INDEX conflict_b ON conflict (ns, b);

-- Append-only (but for erasure). `moved` names the memories whose row in the vector index an entry
-- changed: the feed by which other processes keep in step. `outcome` and `day` repeat what is counted.
CREATE TABLE journal (
  place INTEGER PRIMARY KEY,
  ns INTEGER NOT NULL REFERENCES namespace (ns),
  seq INTEGER NOT NULL,
  undoes INTEGER NOT NULL,
  record TEXT NOT NULL,
  key TEXT,
  moved TEXT NOT NULL DEFAULT '',
  outcome TEXT NOT NULL DEFAULT '',
  day TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX journal_seq ON journal (ns, seq);
CREATE INDEX journal_undoes ON journal (ns, undoes) WHERE undoes > 0;
CREATE UNIQUE INDEX journal_key ON journal (ns, key) WHERE key IS NOT NULL;
CREATE INDEX journal_outcome ON journal (ns, outcome, day, seq);

-- `changed` is 1 where the entry changed the memory's record, 0 where it only concerns it.
CREATE TABLE journal_memory (
  ns INTEGER NOT NULL REFERENCES namespace (ns),
  id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  PRIMARY KEY (ns, id, seq)
) STRICT, WITHOUT ROWID;

-- Full text of active memories. Each term is led by its namespace's number, so that a query reads
-- no posting of another namespace; the text itself is not kept a second time.
CREATE VIRTUAL TABLE words USING fts5 (
  terms, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '_'"
);
CREATE VIRTUAL TABLE word_count USING fts5vocab (words, row);
