-- Functions and catalogues with the names and signatures of Citus that write down what they are asked for.
-- Nothing is spread by them: they let the command run where no Citus can be had, and refuse what Citus is
-- documented to refuse. What Citus itself does with these calls is not tested here.

CREATE TABLE asked (call bigserial PRIMARY KEY, what text NOT NULL);
CREATE TABLE pg_dist_node (nodeid int, groupid int, nodename text, nodeport int, noderole text, isactive bool, shouldhaveshards bool,
  hasmetadata bool DEFAULT true, metadatasynced bool DEFAULT true);
INSERT INTO pg_dist_node VALUES (1, 0, 'coordinator', 5432, 'primary', true, false),
  (2, 1, 'one', 5432, 'primary', true, true), (3, 2, 'two', 5432, 'primary', true, true),
  (4, 2, 'two-standby', 5432, 'secondary', true, true);
CREATE TABLE pg_dist_partition (logicalrelid regclass, partmethod "char", partkey text, colocationid int, repmodel "char");
CREATE TABLE worker (nodename text, vectors text);
INSERT INTO worker VALUES ('one', '0.8.0'), ('two', '0.7.4');

CREATE FUNCTION citus_version() RETURNS text LANGUAGE sql AS $$
  SELECT 'Citus 13.2.1 on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0) 12.2.0, 64-bit'
$$;
CREATE FUNCTION column_to_column_name(table_name regclass, column_var_text text) RETURNS text
LANGUAGE sql STRICT AS $$ SELECT column_var_text $$;
CREATE FUNCTION run_command_on_workers(command text)
RETURNS TABLE (nodename text, nodeport int, success bool, result text) LANGUAGE sql AS $$
  SELECT nodename, 5432, vectors IS NOT NULL, coalesce(vectors, 'ERROR: connection refused') FROM worker
$$;
CREATE FUNCTION create_reference_table(table_name regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO asked (what) VALUES ('copied ' || table_name);
  INSERT INTO pg_dist_partition VALUES (table_name, 'n', NULL, 2, 't');
END $$;
CREATE FUNCTION create_distributed_table(table_name regclass, distribution_column text,
  distribution_type text DEFAULT 'hash', colocate_with text DEFAULT 'default', shard_count int DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM pg_index AS i WHERE i.indrelid = table_name AND i.indisunique AND NOT EXISTS (
    SELECT 1 FROM pg_attribute AS a
    WHERE a.attrelid = table_name AND a.attname = distribution_column AND a.attnum = ANY (i.indkey::int2[])))
  THEN
    RAISE 'cannot create constraint on "%": UNIQUE or PRIMARY KEY without the partition column', table_name;
  END IF;
  IF EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = table_name AND NOT tgisinternal) THEN
    RAISE 'triggers are not supported on distributed tables';
  END IF;
  INSERT INTO asked (what) SELECT format('divided %s by %s beside %s in %s',
    table_name, distribution_column, colocate_with, coalesce(shard_count::text, 'as many'));
  INSERT INTO pg_dist_partition SELECT table_name, 'h', distribution_column,
    coalesce((SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = to_regclass(colocate_with)), 7), 's';
END $$;
CREATE FUNCTION truncate_local_data_after_distributing_table(function_name regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO asked (what) VALUES ('freed ' || function_name);
END $$;
