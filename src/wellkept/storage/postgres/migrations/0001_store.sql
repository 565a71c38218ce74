-- Version 1. A released version never changes: add a step beside it.
-- `ns` leads every key, so that no statement can meet another namespace by accident, and so that
-- the rows of a namespace lie together however the tables are spread. It follows from the name
-- (see rows.number_of); no table draws numbers from a sequence, which one server alone could give.
-- Texts compare by code point, as they do in Python, whatever the database's own collation.

CREATE TABLE wellkept.header (
  one integer PRIMARY KEY CHECK (one = 1),
  store_id text NOT NULL,
  model integer NOT NULL,
  policy text NOT NULL,
  created_at text NOT NULL,
  words text NOT NULL
);

-- Embedders this store has had; vectors of two are never mixed. 1 stands for "no embedder yet".
CREATE TABLE wellkept.embedder (
  model integer PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  dim integer NOT NULL
);
INSERT INTO wellkept.embedder (model, name, dim) VALUES (1, '', 0);

-- Whoever writes in a namespace advances its `seq` first: the row is the writers' lock.
CREATE TABLE wellkept.namespace (
  ns bigint PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  seq bigint NOT NULL
) WITH (fillfactor = 50);

-- `record` is the memory without its usage; the other columns repeat what filters ask for.
-- `place` tells the order of insertion.
CREATE TABLE wellkept.memory (
  ns bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  attribute text COLLATE "C" NOT NULL,
  created bigint NOT NULL,
  ongoing boolean NOT NULL,
  checked boolean NOT NULL,
  version integer NOT NULL,
  embedding text COLLATE "C" NOT NULL,
  tags text[] COLLATE "C" NOT NULL,
  access_count bigint NOT NULL,
  last_accessed_at text,
  stability double precision,
  record text COLLATE "C" NOT NULL,
  PRIMARY KEY (ns, id)
) PARTITION BY HASH (ns);
CREATE INDEX memory_created ON wellkept.memory (ns, created, id);
-- A subject may be longer than a key can be.
CREATE INDEX memory_slot ON wellkept.memory (ns, hashtextextended(subject, 0)) WHERE subject <> '';
CREATE INDEX memory_unchecked ON wellkept.memory (ns, created, id) WHERE NOT checked;

-- Full text of active memories: the terms that the core makes of them, each led by its namespace, so
-- that a search reads no posting of another one. Every script is split by the core, none by the database.
CREATE TABLE wellkept.words (
  ns bigint NOT NULL,
  place bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  terms text[] COLLATE "C" NOT NULL,
  PRIMARY KEY (ns, place)
) PARTITION BY HASH (ns);
CREATE INDEX words_terms ON wellkept.words USING gin (terms) WITH (fastupdate = off);

-- Vectors by the hash of the embedded text, of unit length. A text that comes back after an undo finds
-- its vector again. The number of components is the embedder's, so the column names none.
CREATE TABLE wellkept.vector (
  ns bigint NOT NULL,
  hash text COLLATE "C" NOT NULL,
  model integer NOT NULL,
  vec halfvec NOT NULL,
  PRIMARY KEY (ns, hash, model)
) PARTITION BY HASH (ns);

-- Every hash a memory ever absorbed; not unique by hash, since append-only kinds repeat.
CREATE TABLE wellkept.alias (
  ns bigint NOT NULL,
  hash text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  PRIMARY KEY (ns, hash, id)
) PARTITION BY HASH (ns);

CREATE TABLE wellkept.link (
  ns bigint NOT NULL,
  src text COLLATE "C" NOT NULL,
  dst text COLLATE "C" NOT NULL,
  rel text COLLATE "C" NOT NULL,
  created_at text,
  PRIMARY KEY (ns, src, dst, rel)
) PARTITION BY HASH (ns);
CREATE INDEX link_dst ON wellkept.link (ns, dst);

CREATE TABLE wellkept.conflict (
  ns bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  a text COLLATE "C" NOT NULL,
  b text COLLATE "C" NOT NULL,
  created bigint NOT NULL,
  record text COLLATE "C" NOT NULL,
  PRIMARY KEY (ns, key)
) PARTITION BY HASH (ns);
CREATE INDEX conflict_a ON wellkept.conflict (ns, a);
CREATE INDEX conflict_b ON wellkept.conflict (ns, b);

-- Append-only (but for erasure). `moved` names the memories whose row in the vector index an entry
-- changed: the feed by which other processes keep in step. By `mark` whoever wrote an entry knows it again,
-- when the answer to the commit was lost.
CREATE TABLE wellkept.journal (
  ns bigint NOT NULL,
  seq bigint NOT NULL,
  undoes bigint NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  run text COLLATE "C" NOT NULL,
  key text COLLATE "C",
  moved text[] COLLATE "C" NOT NULL,
  record text COLLATE "C" NOT NULL,
  mark uuid NOT NULL DEFAULT gen_random_uuid(),
  PRIMARY KEY (ns, seq)
) PARTITION BY HASH (ns);
CREATE INDEX journal_undoes ON wellkept.journal (ns, undoes) WHERE undoes > 0;
CREATE INDEX journal_run ON wellkept.journal (ns, run) WHERE run <> '';
CREATE UNIQUE INDEX journal_key ON wellkept.journal (ns, key) WHERE key IS NOT NULL;

-- `changed` is true where the entry changed the memory's record, false where it only concerns it.
CREATE TABLE wellkept.journal_memory (
  ns bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  changed boolean NOT NULL,
  PRIMARY KEY (ns, id, seq)
) PARTITION BY HASH (ns);

DO $$
DECLARE
  whole text;
BEGIN
  FOREACH whole IN ARRAY ARRAY['memory', 'words', 'vector', 'alias', 'link', 'conflict', 'journal', 'journal_memory']
  LOOP
    FOR part IN 0..15 LOOP
      EXECUTE format('CREATE TABLE wellkept.%I PARTITION OF wellkept.%I FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
        whole || '_' || part, whole, part);
    END LOOP;
  END LOOP;
END
$$;
