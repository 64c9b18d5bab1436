import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GO_BUILD_MS } from '../built-by-go.js';
import { type PostgresTemporal, startPostgresTemporal } from './temporal-on-postgres.js';

const DATABASES = ['temporal', 'temporal_visibility'] as const;

/** docs/adr/0078: whoever takes the Temporal server over has its rows, and neither its tables nor PostgreSQL. */
describe('F14: the database role of the Temporal server', function () {
  this.timeout(60_000);
  let directory: string;
  let temporal: PostgresTemporal;

  before(async function () {
    this.timeout(GO_BUILD_MS);
    directory = mkdtempSync(join(tmpdir(), 'postgres-roles-'));
    temporal = await startPostgresTemporal({ directory });
  });
  after(async () => {
    await temporal?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it('is the only one that the server works as', async () => {
    const query = `SELECT DISTINCT usename FROM pg_stat_activity WHERE datname LIKE 'temporal%' AND pid <> pg_backend_pid()`;
    assert.equal(await temporal.sql(query), 'temporal_server');
  });

  const REFUSED: Readonly<Record<string, string>> = {
    'CREATE TABLE mine (x int)': 'permission denied for schema public',
    'CREATE TEMPORARY TABLE mine (x int)': 'permission denied to create temporary tables',
    'CREATE SCHEMA mine': 'permission denied for database',
    'CREATE DATABASE mine': 'permission denied to create database',
    'CREATE ROLE mine': 'permission denied to create role',
    'ALTER TABLE schema_version ADD mine int': 'must be owner of table schema_version',
    'DROP TABLE schema_version': 'must be owner of table schema_version',
    'TRUNCATE schema_version': 'permission denied for table schema_version',
    "UPDATE schema_version SET curr_version = '0.1'": 'permission denied for table schema_version',
    'DELETE FROM schema_update_history': 'permission denied for table schema_update_history',
    "COPY (SELECT 1) TO PROGRAM 'true'": 'to COPY to or from an external program',
    "SELECT pg_read_file('PG_VERSION')": 'permission denied for function pg_read_file',
    'SELECT passwd FROM pg_shadow': 'permission denied for view pg_shadow',
    'SET ROLE temporal': 'permission denied to set role "temporal"',
  };
  for (const database of DATABASES)
    for (const [statement, why] of Object.entries(REFUSED))
      it(`may not in ${database}: ${statement}`, async () => {
        await assert.rejects(temporal.sql(statement, database, 'server'), (error: Error) => {
          assert.ok(error.message.includes(why), error.message);
          return true;
        });
      });

  it('may read and write the rows of every other table, and none is left out', async () => {
    const lacking = `SELECT tablename, privilege FROM pg_tables, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) privilege
      WHERE schemaname = 'public' AND tablename NOT IN ('schema_version', 'schema_update_history')
      AND NOT has_table_privilege('temporal_server', quote_ident(tablename), privilege)`;
    for (const database of DATABASES) {
      assert.equal(await temporal.sql(lacking, database), '', database);
      const count = await temporal.sql(`SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`, database);
      assert.ok(Number(count) >= 3, `${database} has ${count} tables`);
    }
  });
});
