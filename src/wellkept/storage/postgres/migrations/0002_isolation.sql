-- Version 2: tokens, and what the rules of access of `wellkept db secure` rest on. Nothing is closed by
-- this step; see `isolation.py`. Every function names what it uses in full, so that no schema that a client
-- puts before ours has a say in it.

-- Who may do what. `hash` is made of a key that is itself made of the secret (see `tokens.key_of`): whoever
-- reads this table, or a log that quotes a key, can send no request to the server with it.
CREATE TABLE wellkept.token (
  hash text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  patterns text[] COLLATE "C" NOT NULL,
  scopes text[] COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz
);

-- The number that leads every key of a namespace; the same as `rows.number_of`. The rules make it from the
-- name they have checked, so that no client can write rows under the number of a name that is not there yet.
CREATE FUNCTION wellkept.number_of(name text) RETURNS bigint
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN ('x' || left(encode(sha256(convert_to(name, 'UTF8')), 'hex'), 16))::bit(64)::bigint & 9223372036854775807;

-- Whether one of the patterns covers a name, part by part; the same as `grants.covers`. It has no search path of
-- its own, since that would cost more than the rest: who asks it has one.
CREATE FUNCTION wellkept.covers(patterns text[], name text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  given text[];
  pattern text;
  wanted text[];
  fits boolean;
BEGIN
  IF name = '' OR name LIKE '/%' OR name LIKE '%/' OR name LIKE '%//%' THEN
    RETURN false;
  END IF;
  given := string_to_array(name, '/');
  FOREACH pattern IN ARRAY patterns LOOP
    wanted := string_to_array(pattern, '/');
    fits := cardinality(given) = cardinality(wanted)
      OR wanted[cardinality(wanted)] = '*' AND cardinality(given) > cardinality(wanted);
    IF fits THEN
      FOR at IN 1 .. cardinality(wanted) LOOP
        fits := fits AND (wanted[at] = '*' OR wanted[at] = given[at]);
      END LOOP;
      IF fits THEN
        RETURN true;
      END IF;
    END IF;
  END LOOP;
  RETURN false;
END
$$;

-- What the holder of a key may do; no row for a key that is unknown, expired or revoked. What has begun in time
-- is finished: a token that expired between two statements of ours would make the second find nothing.
CREATE FUNCTION wellkept.grant_of(key text) RETURNS TABLE (name text, patterns text[], scopes text[])
LANGUAGE sql STABLE STRICT SECURITY DEFINER ROWS 1 SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  SELECT t.name, t.patterns, t.scopes FROM wellkept.token AS t
  WHERE t.hash = encode(sha256(convert_to(key, 'UTF8')), 'hex') AND t.revoked_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > now());
END;

-- The number of this transaction's namespace if this transaction's key allows that much there, else null, which
-- equals nothing: 1 is to read, 2 to write, 3 is all. A client may write whatever it likes into both settings;
-- it has to know a key. Every rule asks this once for a statement.
CREATE FUNCTION wellkept.opened(needed integer) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  key text := current_setting('wellkept.token', true);
  namespace text := current_setting('wellkept.namespace', true);
  found bigint;
BEGIN
  IF key IS NULL OR key = '' OR namespace IS NULL OR namespace = '' THEN
    RETURN NULL;
  END IF;
  SELECT wellkept.number_of(namespace) INTO found FROM wellkept.token AS t
  WHERE t.hash = encode(sha256(convert_to(key, 'UTF8')), 'hex') AND t.revoked_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > now())
    AND needed <= CASE WHEN 'admin' = ANY (t.scopes) THEN 3 WHEN 'write' = ANY (t.scopes) THEN 2 ELSE 1 END
    AND wellkept.covers(t.patterns, namespace)
    -- A name can be looked for whose number is another one's; whoever has found one has found nothing.
    AND NOT EXISTS (SELECT FROM wellkept.namespace AS n WHERE n.ns = wellkept.number_of(namespace) AND n.name <> namespace);
  RETURN found;
END
$$;

-- Equality as a function that costs nothing, in the planner's eyes: a rule that asks it is looked at before
-- whatever else a statement asks of a row. Otherwise a comparison that the server holds to be harmless would be
-- made on rows of others first, and a plan with its counts would tell what came of it.
CREATE FUNCTION wellkept.same(a bigint, b bigint) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 1e-30 AS $$
BEGIN
  RETURN a OPERATOR(pg_catalog.=) b;
END
$$;

-- The namespaces that this transaction's key covers. A function and no rule: rows that a rule hides are counted
-- in a plan, so that whoever asks for one name would learn whether it is there.
CREATE FUNCTION wellkept.names() RETURNS TABLE (name text, ns bigint, seq bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
  SELECT n.name, n.ns, n.seq FROM wellkept.grant_of(current_setting('wellkept.token', true)) AS g, wellkept.namespace AS n
  WHERE wellkept.covers(g.patterns, n.name) ORDER BY n.name;
END;

-- Searches by what has an index and is no comparison that the server holds to be harmless: under a rule it would
-- have to be made on every row of the namespace. These make it with the owner's rights, in the namespace that is
-- open and in no other; see `words.counts`, `words.places` and `find.subject`.
CREATE FUNCTION wellkept.word_counts(terms text[]) RETURNS TABLE (at bigint, found bigint)
LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here bigint := wellkept.opened(1);
BEGIN
  RETURN QUERY SELECT t.at, (SELECT count(*) FROM wellkept.words AS w WHERE w.ns = here AND w.terms @> ARRAY[t.term])
    FROM unnest(terms) WITH ORDINALITY AS t (term, at);
END
$$;
CREATE FUNCTION wellkept.word_places(terms text[]) RETURNS TABLE (at bigint, found bigint[])
LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here bigint := wellkept.opened(1);
BEGIN
  RETURN QUERY SELECT t.at,
      (SELECT array_agg(w.place) FROM wellkept.words AS w WHERE w.ns = here AND w.terms @> ARRAY[t.term])
    FROM unnest(terms) WITH ORDINALITY AS t (term, at);
END
$$;
CREATE FUNCTION wellkept.of_subject(subject text) RETURNS TABLE (id text)
LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  here bigint := wellkept.opened(1);
BEGIN
  RETURN QUERY SELECT m.id FROM wellkept.memory AS m
    WHERE m.ns = here AND m.subject <> '' AND hashtextextended(m.subject, 0) = hashtextextended(of_subject.subject, 0)
      AND m.subject = of_subject.subject;
END
$$;

-- Begin to act for a token in a namespace, until the transaction ends; returns what may be done there, 0 for
-- nothing. Where strangers share connections through a pooler, none of them can have left a search path behind.
CREATE FUNCTION wellkept.enter(namespace text, key text) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_catalog.set_config('search_path', 'pg_catalog' OPERATOR(pg_catalog.||) coalesce((
    SELECT ', ' OPERATOR(pg_catalog.||) pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension AS e
    JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
    WHERE e.extname OPERATOR(pg_catalog.=) 'vector'), '') OPERATOR(pg_catalog.||) ', pg_temp', true);
  PERFORM pg_catalog.set_config('wellkept.namespace', namespace, true), pg_catalog.set_config('wellkept.token', key, true);
  RETURN CASE WHEN wellkept.opened(3) IS NOT NULL THEN 3 WHEN wellkept.opened(2) IS NOT NULL THEN 2
    WHEN wellkept.opened(1) IS NOT NULL THEN 1 ELSE 0 END;
END
$$;

REVOKE ALL ON FUNCTION wellkept.number_of(text), wellkept.covers(text[], text), wellkept.grant_of(text),
  wellkept.opened(integer), wellkept.same(bigint, bigint), wellkept.names(), wellkept.enter(text, text),
  wellkept.word_counts(text[]), wellkept.word_places(text[]), wellkept.of_subject(text) FROM PUBLIC;
