-- Distribution of the tables over a Citus cluster; see distribution.py. All of this is administration.
-- Functions and catalogues of Citus are unqualified, because their schema varies by installation.

-- name: spread.installed
SELECT to_regproc('citus_version') IS NOT NULL, EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'citus')
-- name: spread.version
SELECT citus_version()
-- name: spread.is_known
SELECT to_regclass('pg_dist_partition') IS NOT NULL
-- name: spread.is_spread
SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass('wellkept.memory'))
-- name: spread.servers
SELECT nodename || ':' || nodeport, groupid = 0, shouldhaveshards FROM pg_dist_node
WHERE noderole = 'primary' AND isactive ORDER BY nodename, nodeport
-- name: spread.workers
SELECT nodename, nodeport::text, hasmetadata AND metadatasynced AND isactive AND noderole = 'primary'
FROM pg_dist_node WHERE groupid <> 0
-- name: spread.vectors
SELECT nodename || ':' || nodeport, success, result FROM run_command_on_workers(
  'SELECT coalesce((SELECT extversion FROM pg_extension WHERE extname = ''vector''), '''')') ORDER BY nodename, nodeport
-- name: spread.tables
SELECT c.relname, c.relkind = 'p', c.relrowsecurity,
  coalesce(CASE WHEN d.partmethod = 'n' AND d.repmodel <> 't' THEN 'l' ELSE d.partmethod::text END, ''),
  coalesce(column_to_column_name(d.logicalrelid, d.partkey::text), ''), d.colocationid
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_dist_partition AS d ON d.logicalrelid = c.oid
WHERE n.nspname = 'wellkept' AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname
-- name: spread.approximate
SELECT EXISTS (SELECT 1 FROM wellkept.approximate)
-- name: spread.keys
SELECT format('ALTER TABLE wellkept.%%I ADD CONSTRAINT %%I %%s', c.relname, k.conname, pg_get_constraintdef(k.oid))
FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid
WHERE c.oid = %(table)s::regclass AND k.contype IN ('p', 'u') ORDER BY k.conname
-- name: spread.indexes
SELECT replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') FROM pg_index AS i
WHERE i.indrelid = %(table)s::regclass AND NOT EXISTS (SELECT 1 FROM pg_constraint AS k WHERE k.conindid = i.indexrelid)
ORDER BY 1
-- name: spread.grants
SELECT format('GRANT %%s ON wellkept.%%I TO %%s', string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type), c.relname,
  CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END)
FROM pg_class AS c, aclexplode(c.relacl) AS a
WHERE c.oid = %(table)s::regclass AND a.grantee <> c.relowner GROUP BY c.relname, a.grantee ORDER BY 1

-- Braces are placeholders for table names, which cannot be bound; the names never come from input.

-- name: spread.sequential
SET LOCAL citus.multi_shard_modify_mode TO 'sequential'
-- name: spread.copied
SELECT create_reference_table('wellkept.{name}')
-- name: spread.divided
SELECT create_distributed_table('wellkept.{name}', 'ns', {how})
-- name: spread.filled
SELECT EXISTS (SELECT 1 FROM wellkept.{name})
-- name: spread.emptied
SELECT truncate_local_data_after_distributing_table('wellkept.{name}')
-- name: spread.plain
CREATE TABLE wellkept.{taken} (LIKE wellkept.{name} INCLUDING ALL EXCLUDING INDEXES)
-- name: spread.filled_from
INSERT INTO wellkept.{taken} SELECT * FROM wellkept.{name}
-- name: spread.dropped
DROP TABLE wellkept.{name}
-- name: spread.renamed
ALTER TABLE wellkept.{taken} RENAME TO {name}
