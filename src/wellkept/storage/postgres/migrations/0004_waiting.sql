-- Writes that were put off and are not decided yet: they are no memories, and no other table knows of them.
-- `place` tells the order in which they were put, in each namespace by itself. What is written goes.
-- The table is small and no statement joins its rows of two namespaces; it is not spread.

CREATE TABLE wellkept.waiting (
  ns bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  place bigint NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  error text COLLATE "C" NOT NULL DEFAULT '',
  record text COLLATE "C" NOT NULL,
  PRIMARY KEY (ns, id)
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX waiting_place ON wellkept.waiting (ns, place);
