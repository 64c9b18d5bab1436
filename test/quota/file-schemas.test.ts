import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parse } from 'toml';
import { z } from 'zod';
import { poolFileJsonSchema } from '../../quota/files/pool-file-form.js';
import { quotaFileJsonSchema } from '../../quota/files/quota-file-schema.js';
import { MEMBERS, POOL, SCHEMA, SHARES } from './quota-files.js';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** What an editor would say: the schema as JSON, judged by another reader than the one that made it. */
const takes = (schema: Record<string, unknown>, text: string): boolean =>
  z.fromJSONSchema(schema).safeParse(JSON.parse(JSON.stringify(parse(text)))).success;

describe('the JSON Schema', () => {
  const schemas = { 'quota-file': quotaFileJsonSchema(), 'pool-file': poolFileJsonSchema() };
  for (const [name, schema] of Object.entries(schemas)) {
    it(`in docs/schemas of a ${name} is the code's (else: npx tsx scripts/write-schemas.ts)`, () =>
      assert.deepEqual(JSON.parse(read(`docs/schemas/${name}.schema.json`)), JSON.parse(JSON.stringify(schema))));
  }

  const quota = (parts: Partial<Record<'schema' | 'pool' | 'members' | 'shares', string>>): string =>
    [parts.schema ?? SCHEMA, parts.pool ?? POOL, parts.members ?? MEMBERS, parts.shares ?? SHARES].join('');
  const good: Record<string, [keyof typeof schemas, string]> = {
    'examples/quota.toml': ['quota-file', read('examples/quota.toml')],
    'one tier': ['quota-file', quota({})],
    'several tiers': ['quota-file', quota({ pool: '[[total_resources]]\nv4 = 8\n[[total_resources]]\nv5e = 8\n' })],
    'examples/pool.toml': ['pool-file', read('examples/pool.toml')],
    'times and tiers': ['pool-file', '[quota]\naging = "1.5h"\nmin_runtime = 60\n[[tiers]]\npricing = "spot"\n'],
    'what jobs may choose and take': [
      'pool-file',
      '[allow]\nimages = ["a/**"]\n[limits]\nlog_bytes_per_attempt = "10GiB"\n[limits.priority_floor]\nvision = 2\n',
    ],
    'an empty pool file': ['pool-file', ''],
  };
  for (const [name, [kind, text]] of Object.entries(good)) {
    it(`takes ${name}`, () => assert.ok(takes(schemas[kind], text)));
  }
  const wrong: Record<string, [keyof typeof schemas, string]> = {
    'a version that is a number': ['quota-file', quota({ schema: '[toml-schema]\nversion = 1\n' })],
    'a missing table': ['quota-file', quota({ shares: '' })],
    'an unknown table': ['quota-file', quota({ pool: `${POOL}[total_resource]\n` })],
    'negative units': ['quota-file', quota({ pool: '[total_resources]\nv4 = -1\n' })],
    'half a unit': ['quota-file', quota({ pool: '[[total_resources]]\nv4 = 1.5\n' })],
    'a negative share': ['quota-file', quota({ shares: '[project_resources.a]\nv4 = -0.5\n' })],
    'members that are no list': ['quota-file', quota({ members: '[project_membership]\na = "u"\n' })],
    'an unknown key': ['pool-file', 'zone = "us-east5-a"\n'],
    'an unknown time': ['pool-file', '[quota]\nageing = "1h"\n'],
    'a time that is none': ['pool-file', '[quota]\naging = "1 hour"\n'],
    'a limit that is no number of units': ['pool-file', '[lending_limits.a]\nv4 = -1\n'],
    'one tier where a list belongs': ['pool-file', '[tiers]\npricing = "spot"\n'],
  };
  for (const [name, [kind, text]] of Object.entries(wrong)) {
    it(`refuses ${name}`, () => assert.ok(!takes(schemas[kind], text)));
  }
});
