-- Version 8: functions that a cluster accepts. Citus counts a function whose body is parsed when it is made as a part
-- of the tables in it and then refuses to distribute them; and it reads no query without a column.

-- The namespaces that this transaction's key covers. A function and no rule: rows that a rule hides are counted in a
-- plan, so that whoever asks for one name would learn whether it is there. Names are compared here and not in the
-- query, because other servers of a cluster do not have `covers`.
CREATE OR REPLACE FUNCTION wellkept.names() RETURNS TABLE (name text, ns bigint, seq bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  allowed text[];
BEGIN
  SELECT g.patterns INTO allowed FROM wellkept.grant_of(current_setting('wellkept.token', true)) AS g;
  IF allowed IS NULL THEN
    RETURN;
  END IF;
  FOR name, ns, seq IN SELECT n.name, n.ns, n.seq FROM wellkept.namespace AS n ORDER BY n.name LOOP
    IF wellkept.covers(allowed, name) THEN
      RETURN NEXT;
    END IF;
  END LOOP;
END
$$;

-- As in version 6. The number is worked out before the query, so that a cluster asks one server for it.
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
  IF EXISTS (SELECT 1 FROM wellkept.namespace AS n WHERE n.ns = found AND n.name <> namespace) THEN
    RETURN NULL;
  END IF;
  RETURN found;
END
$$;
