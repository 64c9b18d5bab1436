import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Finished, JobctlUser } from '../end-to-end/jobctl-process.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';

const JOB = `tpu: {accelerator: v5litepod-8, zone: us-central1-a}
job: {remote_user: ada}
command: {run: 'echo begun; sleep 1000'}
`;

/** The local stack alone: nothing but its state folder says how hosts are logged in to. */
describe('hosts of a job on the local stack', function () {
  this.timeout(TEMPORAL_START_MS);
  const user = new JobctlUser();
  const folder = mkdtempSync(join(tmpdir(), 'local-hosts-'));
  let id: string;
  const done = async (...args: string[]): Promise<Finished> => {
    const finished = await user.run(...args);
    assert.equal(finished.code, 0, `jobctl ${args.join(' ')}: ${finished.stderr}`);
    return finished;
  };

  before(async () => {
    writeFileSync(join(folder, 'job.yaml'), JOB);
    await done('dev', 'up');
    id = (await done('submit', '--local', '--name', 'local', join(folder, 'job.yaml'))).stdout.trim();
    await until('it runs', async () => (await user.run('logs', id)).stdout.includes('begun'), 120_000);
  });
  after(async () => {
    await user.run('dev', 'down', '--purge', '--yes');
    await user.leave();
    rmSync(folder, { recursive: true });
  });

  it('are entered by exec, ssh and cp with the key of the job, which no file of the stack holds', async () => {
    assert.equal((await done('exec', id, '--', 'id -un')).stdout, 'ada\n');
    const ssh = await user.run('ssh', id, '--', '-T', 'echo here > ~/here; exit 7');
    assert.equal(ssh.code, 7, ssh.stderr);
    await done('cp', `${id}:0:here`, join(folder, 'here'));
    assert.equal(readFileSync(join(folder, 'here'), 'utf8'), 'here\n');
    const { view } = JSON.parse((await done('status', id, '--output', 'json')).stdout) as {
      readonly view: { readonly login: { readonly publicKey: string } };
    };
    const ofStack = readFileSync(join(user.home, 'ssh/id_ed25519.pub'), 'utf8').split(' ')[1] ?? '';
    assert.ok(view.login.publicKey.startsWith('ssh-ed25519 ') && !view.login.publicKey.includes(ofStack));
  });

  it('refuse the key of the stack itself, and say which key they accept', async () => {
    const { code, stderr } = await user.run('exec', id, '--identity', join(user.home, 'ssh/id_ed25519'), '--', 'true');
    assert.equal(code, 2);
    assert.match(stderr, /id_ed25519: is SHA256:\S{43}, and the hosts of \S+ accept SHA256:\S{43}\n/);
  });
});
