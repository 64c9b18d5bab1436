import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { JobctlUser } from '../../end-to-end/jobctl-process.js';
import { until } from '../../until.js';

const EXAMPLE = fileURLToPath(new URL('../../../examples/kubernetes.yaml', import.meta.url));
const MINUTE = 60_000;

/** Ends when the test says so, by a file in the pod. */
const STAYS = `trap 'echo saved; exit 0' TERM; echo "attempt $JOBCTL_ATTEMPT"; until [ -e ~/go ]; do sleep 0.2; done`;

/** docs/kubernetes.md, "A first run without a cluster", as a user runs it: the built command line and its local stack. */
describe('a first run on Kubernetes without a cluster', function () {
  this.timeout(10 * MINUTE);
  const user = new JobctlUser({ KUBECONFIG: '/nonexistent' });
  const folder = mkdtempSync(join(tmpdir(), 'first-run-'));
  after(async () => {
    await user.leave();
    rmSync(folder, { recursive: true });
  });

  async function ok(...words: string[]): Promise<string> {
    const { code, stdout, stderr } = await user.run(...words);
    assert.equal(code, 0, `${words.join(' ')}: ${stdout}\n${stderr}`);
    return stdout;
  }
  const prints = (job: string, text: string): Promise<boolean> =>
    until(`${job} prints ${text}`, async () => (await user.run('logs', job)).stdout.includes(text), 2 * MINUTE);

  it('the example succeeds on four pods', async () => {
    const { code, stdout, stderr } = await user.run('submit', '--local', '--wait', '--name', 'first', EXAMPLE);
    assert.equal(code, 0, `${stdout}\n${stderr}`);
    assert.match(stderr, /REHEARSAL/);
    assert.match(await ok('logs', 'first', '--host', '0'), /pi is about 3\.1\d\d\n/);
    for (const host of [0, 1, 2, 3])
      assert.match(await ok('logs', 'first', '--host', String(host)), new RegExp(`${host} of 4: \\d+ of 200000`));
  });

  it('exec, cp, stop and resume work on a pod, and nothing is left', async () => {
    const file = join(folder, 'job.yaml');
    const job = { kubernetes: { image: 'train:1' }, command: { run: STAYS } };
    writeFileSync(file, JSON.stringify(job));
    await ok('submit', '--local', '--name', 'second', file);
    await prints('second', 'attempt 1');
    assert.match(await ok('exec', 'second', '--', 'cat /proc/1/cmdline | tr "\\0" " "'), /\/bin\/sh \/jobctl\/agent/);
    await ok('exec', 'second', '--', 'echo content > ~/there');
    await ok('cp', 'second:there', join(folder, 'here'));
    assert.equal(readFileSync(join(folder, 'here'), 'utf8'), 'content\n');
    await ok('stop', 'second');
    await prints('second', 'saved');
    await ok('resume', 'second');
    await prints('second', 'attempt 2');
    await ok('exec', 'second', '--', 'touch ~/go');
    await ok('wait', 'second');
    await until('nothing is left', async () => (await user.run('audit', 'leaks')).code === 0, MINUTE);
  });

  it('`rehearsal env` names its kubeconfig', async () => {
    assert.match(await ok('rehearsal', 'env'), /^export KUBECONFIG=\S+\/rehearsal\/kubernetes\/kubeconfig$/m);
  });
});
