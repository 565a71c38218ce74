-- Version 6: what a token opens is asked before anything else is looked at, searches by words stay among the words of
-- their own namespace, and no column that is read for all namespaces holds a value that cannot be read.

-- The number of this transaction's namespace if this transaction's key allows that much there, else null, which
-- equals nothing: 1 is to read, 2 to write, 3 is all. The namespace itself is looked at only for a name that the
-- token covers: otherwise the server's counters would tell whether a name is there.
CREATE OR REPLACE FUNCTION wellkept.opened(needed integer) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  key text := current_setting('wellkept.token', true);
  namespace text := current_setting('wellkept.namespace', true);
  allowed text[];
  found bigint;
BEGIN
  IF key IS NULL OR key = '' OR namespace IS NULL OR namespace = '' THEN
    RETURN NULL;
  END IF;
  SELECT t.patterns INTO allowed FROM wellkept.token AS t
  WHERE t.hash = encode(sha256(convert_to(key, 'UTF8')), 'hex') AND t.revoked_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > now())
    AND needed <= CASE WHEN 'admin' = ANY (t.scopes) THEN 3 WHEN 'write' = ANY (t.scopes) THEN 2 ELSE 1 END;
  IF allowed IS NULL OR NOT wellkept.covers(allowed, namespace) THEN
    RETURN NULL;
  END IF;
  found := wellkept.number_of(namespace);
  -- A name can be looked for whose number is another one's; whoever has found one has found nothing.
  IF EXISTS (SELECT FROM wellkept.namespace AS n WHERE n.ns = found AND n.name <> namespace) THEN
    RETURN NULL;
  END IF;
  RETURN found;
END
$$;

-- Terms are kept with the number of their namespace in front. It is put there by the function, unless it is there:
-- a term that brings the number of another namespace is looked for as a word of this one, and is none.
CREATE OR REPLACE FUNCTION wellkept.word_counts(terms text[]) RETURNS TABLE (at bigint, found bigint)
LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here bigint := wellkept.opened(1);
  own text := to_hex(here) || '_';
BEGIN
  RETURN QUERY SELECT t.at, (SELECT count(*) FROM wellkept.words AS w
      WHERE w.ns = here AND w.terms @> ARRAY[CASE WHEN starts_with(t.term, own) THEN t.term ELSE own || t.term END])
    FROM unnest(terms) WITH ORDINALITY AS t (term, at);
END
$$;
CREATE OR REPLACE FUNCTION wellkept.word_places(terms text[]) RETURNS TABLE (at bigint, found bigint[])
LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here bigint := wellkept.opened(1);
  own text := to_hex(here) || '_';
BEGIN
  RETURN QUERY SELECT t.at, (SELECT array_agg(w.place) FROM wellkept.words AS w
      WHERE w.ns = here AND w.terms @> ARRAY[CASE WHEN starts_with(t.term, own) THEN t.term ELSE own || t.term END])
    FROM unnest(terms) WITH ORDINALITY AS t (term, at);
END
$$;

-- Bounds of the columns that are read for all namespaces in one statement. `place` of a memory contains the number of
-- its entry, so that number must leave room. Rows out of bounds are mended first: a constraint that a row breaks would
-- refuse every later change of that row. No name of a namespace that can be opened is longer than its bound.
UPDATE wellkept.namespace AS n SET seq = last.seq FROM (
  SELECT o.ns, coalesce(max(j.seq), 0) AS seq FROM wellkept.namespace AS o
  LEFT JOIN wellkept.journal AS j ON j.ns = o.ns AND j.seq >= 0 AND j.seq < 8796093022208
  WHERE o.seq < 0 OR o.seq >= 8796093022208 GROUP BY o.ns) AS last
WHERE n.ns = last.ns;
ALTER TABLE wellkept.namespace ADD CONSTRAINT namespace_sound
  CHECK (seq >= 0 AND seq < 8796093022208 AND octet_length(name) <= 1000) NOT VALID;

-- A queued write keeps its text and its order; the index is made again because places are moved one after the other.
DROP INDEX wellkept.waiting_place;
UPDATE wellkept.waiting AS w SET place = o.place FROM (
  SELECT ns, id, row_number() OVER (PARTITION BY ns ORDER BY place) AS place FROM wellkept.waiting
  WHERE ns IN (SELECT ns FROM wellkept.waiting WHERE place < 0 OR place >= 4611686018427387904)) AS o
WHERE w.ns = o.ns AND w.id = o.id;
CREATE UNIQUE INDEX waiting_place ON wellkept.waiting (ns, place);
UPDATE wellkept.waiting SET attempts = greatest(0, least(attempts, 1000000)), error = left(error, 1000),
  id = CASE WHEN octet_length(id) <= 1000 THEN id ELSE encode(sha256(convert_to(id, 'UTF8')), 'hex') END
WHERE attempts < 0 OR attempts > 1000000 OR octet_length(error) > 10000 OR octet_length(id) > 1000;
ALTER TABLE wellkept.waiting ADD CONSTRAINT waiting_sound CHECK (place >= 0 AND place < 4611686018427387904
  AND attempts >= 0 AND attempts <= 1000000 AND octet_length(id) <= 1000 AND octet_length(error) <= 10000);

-- A deleted job is created again by the next scan.
DELETE FROM wellkept.job WHERE NOT (due BETWEEN '1970-01-01Z' AND '9000-01-01Z'
  AND (finished IS NULL OR finished BETWEEN '1970-01-01Z' AND '9000-01-01Z') AND turn >= 0 AND turn < 4611686018427387904
  AND attempts >= 0 AND attempts <= 1000000 AND seq >= 0 AND seq < 8796093022208);
ALTER TABLE wellkept.job ADD CONSTRAINT job_sound CHECK (due BETWEEN '1970-01-01Z' AND '9000-01-01Z'
  AND (finished IS NULL OR finished BETWEEN '1970-01-01Z' AND '9000-01-01Z') AND turn >= 0 AND turn < 4611686018427387904
  AND attempts >= 0 AND attempts <= 1000000 AND seq >= 0 AND seq < 8796093022208);

-- A token that ends later than any time that can be read never ends. Every other time moves to the nearest one that can.
UPDATE wellkept.token SET
  created_at = greatest('0001-01-01Z', least(created_at, '9999-12-31T23:59:59.999999Z')),
  expires_at = CASE WHEN expires_at <= '9999-12-31T23:59:59.999999Z' THEN greatest('0001-01-01Z', expires_at) END,
  revoked_at = CASE WHEN revoked_at IS NOT NULL
    THEN greatest('0001-01-01Z', least(revoked_at, '9999-12-31T23:59:59.999999Z')) END;
ALTER TABLE wellkept.token ADD CONSTRAINT token_sound
  CHECK (created_at BETWEEN '0001-01-01Z' AND '9999-12-31T23:59:59.999999Z'
  AND (expires_at IS NULL OR expires_at BETWEEN '0001-01-01Z' AND '9999-12-31T23:59:59.999999Z')
  AND (revoked_at IS NULL OR revoked_at BETWEEN '0001-01-01Z' AND '9999-12-31T23:59:59.999999Z'));
