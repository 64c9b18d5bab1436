import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { presentHosts } from '../../cloud/hosts/present-hosts.js';
import { allOf } from '../../cloud/machines/kubernetes/namespace-api.js';
import { openStore, splitReader } from '../../cloud/store/open-store.js';
import { MOST_PAGES, type StoredObject, type StoreReader } from '../../cloud/store/port.js';
import { createStoreReader } from '../../cloud/store/reader.js';
import { createServerReader } from '../../client/http/store-reader.js';
import { readSetUpRecord } from '../../domain/set-up-record.js';
import { ScriptedServer } from '../client/http/scripted-server.js';
import { useEnvironment } from './s3-server.js';

/** Where the old code would ask for ever. */
const MANY = 5_000;

describe('a listing without an end', function () {
  this.timeout(60_000);
  const server = new ScriptedServer();
  let asked = 0;
  before(() => server.start());
  after(() => server.stop());
  beforeEach(() => {
    server.forget();
    asked = 0;
  });
  const answersWith = (body: () => unknown): void => {
    server.replies = [
      (_, response) => {
        asked += 1;
        server.seen = [];
        response.writeHead(asked > MANY ? 400 : 200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body()));
      },
    ];
  };

  it('of a bucket is refused, with the prefix', async () => {
    answersWith(() => ({ items: [], nextPageToken: 'again' }));
    const reader = createStoreReader({ endpoint: server.address, bucket: 'b' });
    await assert.rejects(reader.list('jobs/j/logs/'), {
      name: 'StoreRefused',
      message: /list gs:\/\/b\/jobs\/j\/logs\/\*: there is no end after 2000 pages/,
    });
  });

  it('of a store of S3 is refused, with the prefix, and a search in it ends', async () => {
    server.replies = [
      (_, response) => {
        asked += 1;
        server.seen = [];
        response.writeHead(asked > MANY ? 400 : 200, { 'content-type': 'application/xml' });
        const more = '<IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken>';
        response.end(`<ListBucketResult>${more}</ListBucketResult>`);
      },
    ];
    const restore = useEnvironment({ AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' });
    try {
      const store = openStore({ endpoint: server.address, bucket: 's3://bucket/p' });
      await assert.rejects(store.list('jobs/j/logs/'), {
        name: 'StoreRefused',
        message: /list s3:\/\/bucket\/p\/jobs\/j\/logs\/\*: there is no end after 2000 pages/,
      });
      asked = 0;
      assert.deepEqual(await store.find('jobs/*/run', 10), { names: [], isWhole: false });
      assert.equal(asked, MOST_PAGES);
    } finally {
      restore();
    }
  });

  it('of a server is refused, and so is a page of more than was asked for', async () => {
    const one = (at: number): StoredObject => ({
      ...{ name: `jobs/${String(at).padStart(9, '0')}`, size: 1, generation: '1', updatedAt: 1 },
    });
    answersWith(() => ({ objects: Array.from({ length: 2 }, (_, at) => one(asked * 2 + at)) }));
    const reader = createServerReader({ server: server.address, token: async () => 't' });
    await assert.rejects(reader.list('jobs/', undefined, 1), /lists more of "jobs\/"\* than was asked for/);
  });

  it('of a namespace is unavailable', async () => {
    let pages = 0;
    const call = async (): Promise<{
      readonly items: readonly number[];
      readonly metadata: { readonly _continue: string };
    }> => {
      assert.ok(++pages < MANY, 'it goes on for ever');
      return { items: [1], metadata: { _continue: 'again' } };
    };
    await assert.rejects(allOf(call), /no end after 1000 pages/);
  });

  it("of a job's own folder is asked of both buckets for as many as are wanted", async () => {
    const names = Array.from({ length: 5000 }, (_, at) => `jobs/j/x-${String(at).padStart(4, '0')}`);
    const strays = Array.from({ length: 300 }, (_, at) => `jobs/j/job-keys/${String(at).padStart(3, '0')}`);
    const bucket = (all: readonly string[], most: number[]): StoreReader =>
      ({
        bucket: 'b',
        list: async (prefix: string, start = '', limit = Infinity) => {
          most.push(limit);
          const found = all.filter((name) => name.startsWith(prefix) && name >= start).slice(0, limit);
          return found.map((name) => ({ name, size: 1, generation: '1', updatedAt: 1 }));
        },
      }) as unknown as StoreReader;
    const asks: number[] = [];
    const store = splitReader(bucket([...strays, ...names], asks), bucket(['jobs/j/run'], []));
    const found = await store.list('jobs/j/', undefined, 2);
    assert.deepEqual(
      found.map(({ name }) => name),
      ['jobs/j/run', 'jobs/j/x-0000'],
    );
    assert.ok(Math.max(...asks) <= 1_000 && asks.length < 6, String(asks));
  });
});

describe('numbers from outside', () => {
  it('of hosts in a record of a set-up are believed up to what a job can have', () => {
    const record = { v: 1, modules: [], hosts: 4, startedAt: 0, ready: {}, steps: [] };
    assert.ok(readSetUpRecord(JSON.stringify(record)));
    assert.equal(readSetUpRecord(JSON.stringify({ ...record, hosts: 2 ** 40 })), undefined);
  });

  it('of slices make no hosts that are not told', () =>
    assert.deepEqual(presentHosts({ slices: [], spec: { slices: 2 ** 40 } }, { user: 'u' }), []));

  it('are compared one by one: no list from outside is spread into Math.max or Math.min', () => {
    const folders = ['activities', 'client', 'cli', 'cloud', 'domain'];
    const files = folders.flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts') && !name.startsWith('local/dev/'))
        .map((name) => `${folder}/${name}`),
    );
    const spread = /Math\.(?:max|min)\((?:[^()]|\([^()]*\))*?\.\.\./;
    assert.ok(files.length > 300);
    const code = (file: string): string => readFileSync(file, 'utf8').replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, '');
    assert.deepEqual(
      files.filter((file) => spread.test(code(file))),
      [],
    );
  });
});
