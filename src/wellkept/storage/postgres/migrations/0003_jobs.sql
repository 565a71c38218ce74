-- What is to be done in a namespace: one row for each kind of job, so that there is never a second open one.
-- `due` is the time from which a worker may take it; while one has it, the time at which its lease ends.
-- `turn` grows with every taking: who was too slow is told by it that somebody else has taken over.
-- The table is small and no statement joins its rows of two namespaces; it is not spread.

CREATE TABLE wellkept.job (
  ns bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('idle', 'due', 'running', 'failed')),
  due timestamptz NOT NULL,
  holder text COLLATE "C" NOT NULL DEFAULT '',
  turn bigint NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  seq bigint NOT NULL DEFAULT 0,
  finished timestamptz,
  error text COLLATE "C" NOT NULL DEFAULT '',
  progress text COLLATE "C" NOT NULL DEFAULT '',
  report text COLLATE "C" NOT NULL DEFAULT '{}',
  PRIMARY KEY (ns, kind)
) WITH (fillfactor = 50);
-- Whoever looks for work looks in all namespaces, for what has been due longest.
CREATE INDEX job_waiting ON wellkept.job USING btree (due, ns, kind) WHERE state IN ('due', 'running');
CREATE INDEX job_failed ON wellkept.job (ns, kind) WHERE state = 'failed';
