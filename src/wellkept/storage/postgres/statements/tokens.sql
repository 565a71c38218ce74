-- Tokens; see `tokens.py`. The table contains no secret and no key.

-- name: token.all
SELECT hash, name, patterns, scopes, created_at, expires_at, revoked_at FROM wellkept.token ORDER BY created_at, hash
-- name: token.any
SELECT EXISTS (SELECT 1 FROM wellkept.token)
-- name: token.usable
SELECT EXISTS (SELECT 1 FROM wellkept.token
  WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp()))
-- name: token.lock
SELECT set_config('lock_timeout', %(wait)s, true), pg_advisory_xact_lock(%(tokens)s)
-- name: token.count
SELECT count(*) FROM wellkept.token
-- name: token.make_room
DELETE FROM wellkept.token WHERE hash = (
  SELECT hash FROM wellkept.token WHERE revoked_at IS NOT NULL OR expires_at <= clock_timestamp()
  ORDER BY created_at, hash LIMIT 1)
-- name: token.put
INSERT INTO wellkept.token (hash, name, patterns, scopes, created_at, expires_at)
VALUES (encode(sha256(convert_to(%(key)s, 'UTF8')), 'hex'), %(name)s, %(patterns)s::text[], %(scopes)s::text[],
  %(created_at)s::timestamptz, %(expires_at)s::timestamptz) RETURNING hash
-- name: token.begins
SELECT hash, name, patterns, scopes, created_at, expires_at, revoked_at FROM wellkept.token
WHERE starts_with(hash, %(begins)s) ORDER BY hash LIMIT 6
-- name: token.revoke
UPDATE wellkept.token SET revoked_at = coalesce(revoked_at, %(at)s::timestamptz) WHERE hash = %(hash)s
RETURNING hash, name, patterns, scopes, created_at, expires_at, revoked_at
-- name: token.grant_of
SELECT name, patterns, scopes FROM wellkept.grant_of(%(key)s)
