import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { DevContext } from '../../cli/place/stack/context.js';
import { devLogs } from '../../cli/local/dev/status.js';
import { statusText } from '../../cli/commands/verbs/dev.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { keyOf, ownerOf, Stack, startWorkflow, statusOfWorkflow } from './stack.js';

/** Two at a time, ports that are taken, and TPU VMs that are left: stacks.live.test.ts. */
describe('the local stack', function () {
  this.timeout(TEMPORAL_START_MS);

  describe('brought up twice at the same time', () => {
    let first: Stack;
    let context: DevContext;

    before(async () => {
      first = new Stack();
      const ups = [first.up(), first.up()];
      // All to their end, also when one fails: what comes up later would be left behind.
      await Promise.allSettled(ups);
      [context] = (await Promise.all(ups)) as [DevContext, DevContext];
    });
    after(() => first.remove());

    it('has all of its parts ready', async () => {
      const { up, parts } = await first.status();
      assert.equal(up, true);
      assert.deepEqual(
        parts.map(({ name, state }) => `${name} ${state}`),
        ['server ready', 'rehearsal ready', 'worker ready'],
      );
    });

    it('a second `up` on the same state folder at the same time waits, and finds it up', () => {
      assert.ok(first.said.some((line) => /^Waiting for process \d+, which is changing this stack$/.test(line)));
      assert.ok(first.said.some((line) => line.startsWith('The local stack runs')));
      assert.equal(first.said.filter((line) => line.startsWith('worker: started')).length, 1);
    });

    it('the Web UI answers where the context says', async () => {
      assert.equal((await fetch(context.temporal.uiUrl ?? '')).status, 200);
    });

    it('the private key and the secret of job keys are for their owner alone, and the worker has both', () => {
      const secret = first.file('ssh/job-key-secret');
      for (const file of [context.ssh.privateKeyFile, secret]) assert.equal(statSync(file).mode & 0o077, 0, file);
      assert.deepEqual(context.ssh.jobKeys, { current: pathToFileURL(secret).href });
      const { ssh } = JSON.parse(readFileSync(first.file('worker.json'), 'utf8')) as { ssh: { jobKeySecret: string } };
      assert.equal(ssh.jobKeySecret, context.ssh.jobKeys?.current);
      assert.match(readFileSync(context.ssh.publicKeyFile, 'utf8'), /^ssh-ed25519 \S+ jobctl-dev /);
    });

    it('status in text has a row for each part', async () => {
      const text = statusText(await first.status(), Date.now());
      assert.match(text, /^PART +STATE +PID +ADDRESS +AGE\nserver +ready +\d+ +127\.0\.0\.1:\d+ +\d+s\n/);
      const [, metrics = ''] =
        /\nTemporal Web UI: http:\/\/127\.0\.0\.1:\d+\nMetrics of the worker: (\S+)\nState folder: /.exec(text) ?? [];
      assert.match(await (await fetch(metrics)).text(), /^jobctl_sweeps_total /m);
    });

    it('logs are shown from the end, and followed', async () => {
      const abort = new AbortController();
      const lines: string[] = [];
      const following = devLogs({ env: first.env, part: 'worker', tail: 1, follow: abort }, ({ text }) =>
        lines.push(text),
      );
      writeFileSync(first.file('logs/worker.log'), 'a line from the test\n', { flag: 'a' });
      await until('the line is shown', () => lines.includes('a line from the test')).finally(() => abort.abort());
      await following;
      assert.ok(lines.indexOf('a line from the test') > 0, 'after the last line of before');
    });

    it('goes on after kill -9 of every part where it was: same addresses, owner, keys, workflows and objects', async () => {
      const before = { addresses: first.record().addresses, owner: await ownerOf(context), key: keyOf(context) };
      await startWorkflow(context, 'kept-over-kill');
      first.kill('server', 'rehearsal', 'worker');
      assert.deepEqual(await first.up(), context);
      const after = { addresses: first.record().addresses, owner: await ownerOf(context), key: keyOf(context) };
      assert.deepEqual(after, before);
      assert.equal(await statusOfWorkflow(context, 'kept-over-kill'), 'RUNNING');
    });

    it('leaves no process after `down --purge`, and nothing of its data but what is not its own', async () => {
      writeFileSync(first.file('notes.txt'), 'of the user');
      await first.down(true);
      assert.deepEqual(first.processes(), []);
      assert.deepEqual(readdirSync(first.file('.')), ['notes.txt']);
    });
  });
});
