-- Row-level security by namespace; see `isolation.py`. Braces are placeholders for names of tables and roles.

-- name: opening.process
SELECT pg_backend_pid()
-- name: isolation.behind
SELECT NOT has_table_privilege('wellkept.token', 'SELECT')
-- name: isolation.enter
SELECT wellkept.enter(%(namespace)s, %(key)s)

-- Variants for sessions with a token; see `Session.text` -------------------------------------------

-- name: isolation.namespace.names
SELECT name FROM wellkept.names() WHERE seq > 0
-- name: isolation.verify.namespaces
SELECT name, ns FROM wellkept.names()
-- name: isolation.words.counts
SELECT at, found FROM wellkept.word_counts(%(terms)s::text[])
-- name: isolation.words.places
SELECT at, found FROM wellkept.word_places(%(terms)s::text[])
-- name: isolation.find.subject
 AND m.id = ANY(ARRAY(SELECT s.id FROM wellkept.of_subject(%(subject)s) AS s)) AND m.subject = %(subject)s

-- Catalogue queries -------------------------------------------------------------------------------

-- name: isolation.tables
SELECT c.relname, c.relispartition, pg_get_userbyid(c.relowner),
  EXISTS (SELECT 1 FROM pg_attribute AS a
    WHERE a.attrelid = c.oid AND a.attname = 'ns' AND a.attnum > 0 AND NOT a.attisdropped)
FROM pg_class AS c WHERE c.relnamespace = 'wellkept'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY c.relname
-- name: isolation.columns
SELECT c.relname, a.attname, coalesce(a.attstattarget, -1) <> 0 FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'wellkept'::regnamespace AND c.relname = ANY(%(tables)s::text[]) ORDER BY c.relname, a.attnum
-- name: isolation.expressions
SELECT i.relname, a.attname, a.attnum, coalesce(a.attstattarget, -1) <> 0 FROM pg_index AS x
JOIN pg_class AS i ON i.oid = x.indexrelid JOIN pg_class AS c ON c.oid = x.indrelid
JOIN pg_attribute AS a ON a.attrelid = i.oid
WHERE c.relnamespace = 'wellkept'::regnamespace AND c.relname = ANY(%(tables)s::text[]) AND i.relkind IN ('i', 'I')
  AND x.indkey[a.attnum - 1] = 0 ORDER BY i.relname, a.attnum
-- name: isolation.statistics
SELECT c.relname, a.attname, s.stainherit FROM pg_class AS c
LEFT JOIN pg_index AS x ON x.indexrelid = c.oid
JOIN pg_class AS t ON t.oid = coalesce(x.indrelid, c.oid)
JOIN pg_statistic AS s ON s.starelid = c.oid
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = s.staattnum
WHERE t.relnamespace = 'wellkept'::regnamespace AND t.relname = ANY(%(tables)s::text[])
-- name: isolation.may_see_statistics
SELECT has_table_privilege('pg_catalog.pg_statistic', 'SELECT'),
  to_regprocedure('pg_catalog.pg_clear_attribute_stats(text, text, text, boolean)') IS NOT NULL
-- name: isolation.closed
SELECT relforcerowsecurity FROM pg_class WHERE oid = to_regclass('wellkept.namespace')
-- name: isolation.applications
SELECT DISTINCT pg_get_userbyid(g.grantee)::text FROM pg_class AS c, aclexplode(c.relacl) AS g
WHERE c.oid = 'wellkept.namespace'::regclass AND g.grantee NOT IN (0, c.relowner) AND g.privilege_type = 'INSERT'
-- name: isolation.role
SELECT rolsuper OR rolbypassrls,
  pg_has_role(rolname, (SELECT relowner FROM pg_class WHERE oid = 'wellkept.namespace'::regclass), 'MEMBER')
FROM pg_roles WHERE rolname = %(role)s
-- name: isolation.me
SELECT current_user, rolsuper, pg_has_role(current_user, d.datdba, 'USAGE'), quote_ident(d.datname)
FROM pg_roles, pg_database AS d WHERE rolname = current_user AND d.datname = current_database()
-- name: isolation.open_to_all
SELECT has_database_privilege('public', current_database(), 'TEMPORARY'),
  has_database_privilege('public', current_database(), 'CREATE'),
  has_schema_privilege('public', 'public', 'CREATE')
FROM pg_namespace WHERE nspname = 'public'

-- Policies and rights -----------------------------------------------------------------------------

-- name: isolation.new_role
CREATE ROLE {role} NOLOGIN NOINHERIT
-- name: isolation.schema
REVOKE ALL ON ALL TABLES IN SCHEMA wellkept FROM PUBLIC, {role};
REVOKE ALL ON SCHEMA wellkept FROM PUBLIC, {role};
GRANT USAGE ON SCHEMA wellkept TO {role};
GRANT EXECUTE ON FUNCTION wellkept.number_of(text), wellkept.covers(text[], text), wellkept.grant_of(text),
  wellkept.opened(integer), wellkept.same(bigint, bigint), wellkept.names(), wellkept.enter(text, text),
  wellkept.word_counts(text[]), wellkept.word_places(text[]), wellkept.of_subject(text) TO {role}
-- name: isolation.read
GRANT SELECT ON wellkept.{table} TO {role}
-- name: isolation.use
GRANT SELECT, INSERT, UPDATE, DELETE ON wellkept.{table} TO {role}
-- name: isolation.close
ALTER TABLE wellkept.{table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS wellkept_owner ON wellkept.{table};
CREATE POLICY wellkept_owner ON wellkept.{table} TO {owner} USING (true) WITH CHECK (true)
-- name: isolation.no_policies
DROP POLICY IF EXISTS wellkept_read ON wellkept.{table};
DROP POLICY IF EXISTS wellkept_insert ON wellkept.{table};
DROP POLICY IF EXISTS wellkept_update ON wellkept.{table};
DROP POLICY IF EXISTS wellkept_delete ON wellkept.{table}
-- name: isolation.policies
CREATE POLICY wellkept_read ON wellkept.{table} FOR SELECT USING ({seen});
CREATE POLICY wellkept_insert ON wellkept.{table} FOR INSERT WITH CHECK ({written});
CREATE POLICY wellkept_update ON wellkept.{table} FOR UPDATE USING ({changed}) WITH CHECK ({changed});
CREATE POLICY wellkept_delete ON wellkept.{table} FOR DELETE USING ({changed})
-- name: isolation.ns
ns = (SELECT wellkept.opened({level})) AND wellkept.same(ns, (SELECT wellkept.opened({level})))
-- name: isolation.own_name
 AND name = current_setting('wellkept.namespace', true)
-- name: isolation.no_statistics
ALTER TABLE wellkept.{table} ALTER COLUMN {column} SET STATISTICS 0
-- name: isolation.no_index_statistics
ALTER INDEX wellkept.{index} ALTER COLUMN {column} SET STATISTICS 0
-- name: isolation.clear_statistics
SELECT pg_clear_attribute_stats('wellkept', %(table)s, %(column)s, %(inherited)s)
-- name: isolation.delete_statistics
DELETE FROM pg_statistic WHERE starelid = %(table)s::regclass
-- name: isolation.no_temporary
REVOKE TEMPORARY, CREATE ON DATABASE {database} FROM PUBLIC
-- name: isolation.no_objects
REVOKE CREATE ON SCHEMA public FROM PUBLIC
