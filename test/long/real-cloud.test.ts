import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from '../doctor/command.js';
import { AuthenticatedCloud } from '../../rehearsal/test/authenticated-cloud.js';
import { SSH_PORT } from '../../rehearsal/test/cloud-under-test.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';

const PROJECT = 'my-project';
const JOB = (name: string, run: string): string =>
  `name: ${name}\ntpu: { accelerator: v5litepod-8, zone: us-central1-a, allocation_mode: tpu-vm }\ncommand: { run: '${run}' }\n`;

/** What a researcher on a login node does, against the rehearsal with TLS and tokens in Google's place. */
describe('jobctl dev up --cloud gcp', function () {
  this.timeout(TEMPORAL_START_MS);
  const cloud = new AuthenticatedCloud();
  const home = mkdtempSync(join(tmpdir(), 'jobctl-real-'));
  let user: Command;
  let bucket: string;

  const file = (name: string, text: string): string => {
    const path = join(home, name);
    writeFileSync(path, text);
    return path;
  };
  const context = (): Record<string, unknown> =>
    JSON.parse(readFileSync(join(home, 'jobctl/context.json'), 'utf8')) as Record<string, unknown>;

  before(async () => {
    await cloud.start();
    await cloud.become({ roles: ['roles/owner'] });
    user = new Command(cloud.endpoints, home, { GCE_METADATA_HOST: cloud.endpoints.metadataHost ?? '' });
  });
  after(async () => {
    await user.run('dev', 'down', '--yes');
    await user.end();
    await cloud.stop();
    rmSync(home, { recursive: true });
  });

  it('makes the bucket that was agreed to in the region of the zone, and is ready', async () => {
    const { address } = await testServer();
    const real = ['--cloud', 'gcp', '--google-project', PROJECT, '--create-bucket', '--zone', 'us-central1-a'];
    const up = await user.run('dev', 'up', ...real, '--temporal-address', address, '--ssh-port', String(SSH_PORT));
    assert.equal(up.code, 0, up.stderr);
    const status = await user.run('dev', 'status', '--output', 'json');
    const { realCloud, parts } = JSON.parse(status.stdout) as {
      realCloud: { googleProject: string; bucket: string };
      parts: { name: string }[];
    };
    bucket = realCloud.bucket;
    assert.match(bucket, /^jobctl-my-project-[0-9a-f]{6}$/);
    assert.deepEqual(
      parts.map(({ name }) => name),
      ['worker'],
    );
    const found = await cloud.ask(`${cloud.endpoints.store}/storage/v1/b/${bucket}`, { token: await cloud.token() });
    assert.equal((found.json as { location: string }).location.toLowerCase(), 'us-central1');
  });

  it('has no label, the waits of production, and nothing of a rehearsal', () => {
    assert.deepEqual([context()['label'], context()['rehearsal']], [undefined, undefined]);
    const worker = JSON.parse(readFileSync(join(home, 'jobctl/worker.json'), 'utf8')) as Record<string, unknown>;
    assert.deepEqual([worker['label'], worker['timings']], [undefined, undefined]);
    assert.ok(!existsSync(join(home, 'jobctl/rehearsal')));
  });

  it('runs a job of submit --local to its end, and says first that it is billed', async () => {
    const job = file('hello.yaml', JOB('hello', 'echo hello from the host'));
    const { code, stdout, stderr } = await user.run('submit', '--local', '--wait', job);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^REAL Cloud TPU, billed to project my-project: /);
    assert.doesNotMatch(stderr, /REHEARSAL/);
    assert.match(stdout, /hello from the host/);
  });

  it('keeps project and bucket', async () => {
    for (const other of [
      ['--cloud', 'rehearsal'],
      ['--cloud', 'gcp', '--bucket', 'another'],
    ]) {
      const { code, stderr } = await user.run('dev', 'up', ...other);
      assert.equal(code, 4);
      assert.match(stderr, /is on project my-project with bucket jobctl-my-project-\w+, and stays there\n/);
    }
  });

  it('does not go down with an open job, unless somebody is sure', async () => {
    const { stdout, stderr } = await user.run('submit', file('long.yaml', JOB('long', 'sleep 600')));
    assert.match(stderr, /^REAL Cloud TPU, billed to project my-project: /);
    const id = stdout.trim();
    for (const flags of [[], ['--purge', '--yes']]) {
      const refused = await user.run('dev', 'down', ...flags);
      assert.equal(refused.code, 4);
      assert.match(refused.stderr, new RegExp(`^nothing was changed: 1 job \\(${id}\\) and (no|1) slices? `));
    }
    const sure = await user.run('dev', 'down', '--yes');
    assert.equal(sure.code, 0, sure.stderr);
    assert.match(sure.stderr, /^WARNING: 1 job /);
    assert.equal((await user.run('dev', 'up')).code, 0);
    assert.equal((await user.run('cancel', id)).code, 0);
    await user.run('wait', id);
  });
});
