import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { stringify } from 'yaml';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import { copySystemObjects } from '../../cloud/store/open-store.js';
import { loadServerConfig } from '../../server/config.js';
import type * as RunServer from '../../server/run-server.js';
import { load, programArguments } from '../built.js';
import { type Ended, jobctl } from '../cli/command-line.js';
import { jobFile } from '../end-to-end/job-files.js';
import { TestStack } from '../end-to-end/test-stack.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { CLIENT_ID, TestIssuer } from './issuer.js';
import { QUOTA } from './server-stack.js';

const ALICE = 'alice@example.org';

describe('verbs in a context of jobctl serve, without a worker', function () {
  this.timeout(60_000);
  let stack: TestStack;
  let issuer: TestIssuer;
  let server: RunServer.RunningServer;
  let home: string;
  let env: Record<string, string>;
  let configuration: Readonly<Record<string, unknown>> & { readonly store: object };
  const run = (...args: readonly string[]): Promise<Ended> => jobctl(args, env);

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    [stack, issuer] = await Promise.all([TestStack.start({ isNotReady: true }), TestIssuer.start()]);
    home = mkdtempSync(join(tmpdir(), 'jobctl-no-worker-'));
    const key = join(home, 'key.pem');
    const { privateKey } = generateKeyPairSync('ed25519');
    writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const place = { endpoint: stack.rehearsal.endpoints.store, bucket: stack.store.bucket };
    const system = { ...place, bucket: `${place.bucket}-system`, projectId: 'rehearsal' };
    await ensureBucket(system);
    await copySystemObjects(stack.store, createStore(system));
    const [config, quotaFile] = [join(home, 'serve.json'), join(home, 'quota.toml')];
    writeFileSync(quotaFile, QUOTA);
    configuration = {
      temporal: { address: stack.server.address, namespace: stack.server.namespace },
      ...{ taskQueue: stack.taskQueue, googleProject: 'rehearsal', quotaFile, logLevel: 'error' },
      store: { ...place, systemBucket: system.bucket },
      signingKey: { id: 'test-1', key: pathToFileURL(key).href },
      issuers: [{ issuer: issuer.url, audiences: [CLIENT_ID] }],
      listen: { port: 0 },
    };
    writeFileSync(config, JSON.stringify(configuration));
    // Threads of sources would each compile them.
    const { startServer } = await load<typeof RunServer>('server/run-server');
    server = await startServer(loadServerConfig(config));
    env = { HOME: home, JOBCTL_SERVER: server.url, T: await issuer.token({ email: ALICE }) };
    const login = await run('login', '--id-token-from', 'env:T');
    assert.deepEqual([login.exitCode, login.stdout], [0, `logged in at ${server.url} as ${ALICE}\n`], login.stderr);
  });
  after(async () => {
    await server?.close();
    await stack?.stop();
    await issuer?.stop();
    rmSync(home, { recursive: true, force: true });
  });

  /** The configuration with a store that does not exist, in a file. */
  const withoutStore = (key: string, logLevel = 'error'): string => {
    const config = join(home, `${key}.json`);
    const store = { ...configuration.store, [key]: 'no-such' };
    writeFileSync(config, JSON.stringify({ ...configuration, store, logLevel }));
    return config;
  };

  for (const [key, of] of Object.entries({ bucket: 'jobs/', systemBucket: 'system/', auditBucket: 'audit/' }))
    it(`serve with a ${key} that does not exist is not ready, and says which`, async () => {
      const { startServer } = await load<typeof RunServer>('server/run-server');
      const other = await startServer(loadServerConfig(withoutStore(key)));
      try {
        const ready = await until('it has looked', async () => {
          const answer = await fetch(`${other.url}/readyz`);
          const text = await answer.text();
          return answer.status === 503 && text.includes('no-such') ? text : undefined;
        });
        assert.match(ready, new RegExp(`store.${key}: store: list gs://no-such/${of}.: gs://no-such does not exist`));
      } finally {
        await other.close();
      }
    });

  it('serve says what is missing in one sentence on stderr', async () => {
    const argv = [...programArguments('cli/main'), 'serve', '--config', withoutStore('systemBucket', 'info')];
    const serve = spawn(process.execPath, argv, {
      ...{ env: { PATH: process.env['PATH'], HOME: home }, stdio: ['ignore', 'ignore', 'pipe'] },
    });
    let said = '';
    serve.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    try {
      await until('it says so', async () => /not ready: store\.systemBucket: .*\n/.test(said));
      assert.doesNotMatch(said, /\n? {4}at |stack/);
    } finally {
      const ended = once(serve, 'exit');
      serve.kill('SIGKILL');
      await ended;
    }
  });

  it('submit with a bundle, again, list, status, wait, cancel: the job is of whom the token names', async () => {
    const id = `http-${process.pid}`;
    const folder = join(home, 'code');
    mkdirSync(folder);
    writeFileSync(join(folder, 'say.sh'), 'echo hi\n');
    const file = join(home, 'job.yaml');
    writeFileSync(file, stringify(jobFile('bash say.sh', { project: 'vision', tpu: { accelerator: 'v5litepod-1' } })));
    const submit = (): Promise<Ended> => run('submit', file, '--name', id, '--bundle', folder);
    const first = await submit();
    assert.deepEqual([first.exitCode, first.stdout], [0, `${id}\n`], first.stderr);
    assert.match((await submit()).stderr, /was submitted before with the same content/);
    const objects = await stack.store.list('bundles/');
    assert.equal(objects.length, 1);
    const { jobs } = await until('the list has it', async () => {
      const { jobs: all } = JSON.parse((await run('list', '--mine', '-o', 'json')).stdout) as {
        jobs: { id: string; user: string }[];
      };
      // Other files of tests may have run jobs of the same person on this Temporal server.
      const own = all.filter((row) => row.id === id);
      return own.length > 0 ? { jobs: own } : undefined;
    });
    assert.deepEqual(
      jobs.map((row) => [row.id, row.user]),
      [[id, ALICE]],
    );
    const status = await run('status', id);
    assert.equal(status.exitCode, 0, status.stderr);
    assert.match(status.stdout, /user alice@example\.org \(unverified\)\n/);
    assert.match(status.stdout, /slices and events are missing: no worker /);
    const waited = await run('wait', id, '--timeout', '1s');
    assert.equal(waited.exitCode, 124, waited.stderr);
    const cancelled = await run('cancel', id);
    assert.equal(cancelled.exitCode, 0, cancelled.stderr);
  });

  it('a job that is not there, a pool that nobody published, a pool that is another one’s', async () => {
    const missing = await run('status', 'nowhere');
    assert.deepEqual(
      [missing.exitCode, missing.stderr],
      [
        3,
        `no job 'nowhere' on ${server.url}\n  \`jobctl list\` shows the jobs that are there, \`jobctl list --name 'nowhere*'\` those whose names begin so\n`,
      ],
    );
    const pool = await run('quota', 'show', '--pool', 'nobodys');
    assert.equal(pool.exitCode, 3);
    assert.match(pool.stderr, new RegExp(`^no pool 'nobodys' on ${server.url}: nothing was published of it\n`));
    const frozen = await run('quota', 'freeze');
    assert.equal(frozen.exitCode, 4);
    assert.match(frozen.stderr, /alice@example\.org may not freeze, drain or open the pool/);
  });
});
