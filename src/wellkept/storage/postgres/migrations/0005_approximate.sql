-- Namespaces that are searched by an index of their own instead of a matrix in memory, because somebody
-- asked for it: such a search may miss a row. `model` is the embedder whose vectors the index holds.
CREATE TABLE wellkept.approximate (
  ns bigint PRIMARY KEY,
  model integer NOT NULL
);

-- From a vector that was found to the rows that have it.
CREATE INDEX memory_embedding ON wellkept.memory (ns, embedding);
