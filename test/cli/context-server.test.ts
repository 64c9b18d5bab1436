import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTlsFront, type TlsFront } from '../temporal/tls-front.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import { type Ended, jobctl } from './command-line.js';

const JOB = 'tpu: { accelerator: v5litepod-16, zone: us-central1-a }\ncommand: { run: echo hi }\n';

describe('a context of a real Temporal server behind TLS', function () {
  this.timeout(60_000);
  const id = `context-${process.pid}`;
  let folder: string;
  let front: TlsFront;
  let namespace: string;
  const run = (...args: readonly string[]): Promise<Ended> => jobctl(args, { HOME: folder, JOBCTL_HOME: '' });

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    folder = mkdtempSync(join(tmpdir(), 'jobctl-context-server-'));
    const server = await testServer();
    ({ namespace } = server);
    front = await startTlsFront(server.address);
    writeFileSync(join(folder, 'ca.pem'), front.certificate);
    writeFileSync(join(folder, 'job.yaml'), JOB);
  });
  after(async () => {
    await front.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('connects by its certificate, submits as its user to its project, and is named by the header', async () => {
    const place = ['--temporal-address', front.address, '--namespace', namespace, '--task-queue', id];
    const login = ['--tls-ca-file', join(folder, 'ca.pem')];
    const made = await run('context', 'set', 'prod', ...place, ...login, '--user', 'alice', '--project', 'vision');
    assert.equal(made.exitCode, 0, made.stderr);
    const submitted = await run('submit', join(folder, 'job.yaml'), '--name', id);
    assert.deepEqual([submitted.exitCode, submitted.stdout], [0, `${id}\n`], submitted.stderr);
    assert.match(submitted.stderr, new RegExp(`^${id} {3}project vision .* {3}context prod\\n`));
    const { stdout } = await run('list', '--output', 'json');
    const { jobs } = JSON.parse(stdout) as { jobs: readonly { id: string; user: string; project: string }[] };
    const row = jobs.find((each) => each.id === id);
    assert.deepEqual([row?.user, row?.project], ['alice', 'vision']);
  });

  it('the file that --dry-run prints is the same job: the same name takes both', async () => {
    const { stdout } = await run('submit', join(folder, 'job.yaml'), '--dry-run');
    writeFileSync(join(folder, 'printed.yaml'), stdout);
    const { exitCode, stderr } = await run('submit', join(folder, 'printed.yaml'), '--name', id);
    assert.equal(exitCode, 0, stderr);
    assert.match(stderr, /was submitted before with the same content: it is that job/);
  });

  it('tells of its server before it changes something there', async () => {
    const { exitCode, stderr } = await run('cancel', id);
    assert.equal(exitCode, 0, stderr);
    assert.equal(stderr, `context prod: ${front.address}, namespace ${namespace}\n`);
  });

  it('without its certificate it is not trusted', async () => {
    await run('context', 'set', 'bare', '--temporal-address', front.address, '--tls');
    const { exitCode, stderr } = await run('list', '--context', 'bare');
    assert.equal(exitCode, 5, stderr);
    assert.match(stderr, /certificate/);
  });
});
