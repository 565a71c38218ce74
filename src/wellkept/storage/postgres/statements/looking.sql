-- Read-only queries of `wellkept doctor`, with short timeouts; see inspection.py.

-- name: look.server
SELECT current_setting('server_version'), current_setting('server_version_num')::int,
  current_user::text, pg_is_in_recovery(),
  (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
  (SELECT default_version FROM pg_available_extensions WHERE name = 'vector')
-- name: look.login
SELECT pg_has_role(current_user, c.relowner, 'USAGE'), r.rolsuper OR r.rolbypassrls, c.relforcerowsecurity
FROM pg_class AS c, pg_roles AS r
WHERE c.oid = to_regclass('wellkept.namespace') AND r.rolname = current_user
-- name: look.size
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = 'wellkept' AND c.relkind IN ('r', 'm')
-- name: look.waiting
SELECT count(*), count(*) FILTER (WHERE w.error <> '') FROM wellkept.waiting AS w
-- name: look.failed
SELECT count(*) FROM wellkept.job AS j WHERE j.state = 'failed'
