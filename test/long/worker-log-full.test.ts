import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startNamespace } from '../hosts/namespace.js';
import { until } from '../until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CHATTY = fileURLToPath(new URL('./chatty-worker.ts', import.meta.url));

/** On a real disk of 8 MiB: the errors are the kernel's. */
describe('a worker whose log is on a full disk', function () {
  this.timeout(60_000);

  it('lives, keeps what it can, goes on when there is room, and says how much of its log is lost', async () => {
    const disk = mkdtempSync(join(tmpdir(), 'jobctl-full-'));
    const space = await startNamespace(`mount -t tmpfs -o size=8m tmpfs ${disk}`);
    const [enter = '', ...words] = space.enter;
    const inside = async (script: string): Promise<string> => {
      const options = { maxBuffer: 64 * 1024 * 1024 };
      return (await promisify(execFile)(enter, [...words, 'bash', '-c', script], options)).stdout;
    };
    const log = (): Promise<string> => inside(`cat ${disk}/worker.log`);
    const program = [process.execPath, '--import', 'tsx', CHATTY];
    const worker = spawn(
      enter,
      [...words, 'bash', '-c', `cd ${ROOT} && exec "$@" > ${disk}/worker.log 2>&1`, 'bash', ...program],
      {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      },
    );
    const ended = once(worker, 'exit').then(async () =>
      assert.fail(`the worker ended: ${(await log()).slice(-2_000)}`),
    );
    const answered = (): Promise<unknown> => Promise.race([once(worker, 'message'), ended]);
    const said = async (count: number): Promise<void> => {
      const answer = answered();
      worker.send(count);
      await answer;
    };
    try {
      await answered();
      await said(10);
      await until('it is written', async () => (await log()).includes('record 10 of 10'));
      await inside(`head -c 16M /dev/zero > ${disk}/filler || true`);
      // 2.6 MB: more than it keeps.
      await said(20_000);
      await said(2);
      assert.equal(worker.exitCode, null);
      assert.doesNotMatch(await log(), /record 20000 of/);
      await inside(`rm ${disk}/filler`);
      await said(3);
      await until('it says what is lost', async () => (await log()).includes('of this log are lost'));
      const lines = (await log()).trimEnd().split('\n');
      const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
      const [, lost = '', why] = /^(\d+) records of this log are lost: (ENOSPC.*)$/.exec(messages.at(-1) ?? '') ?? [];
      assert.ok(why, messages.at(-1));
      // Every record is either there, whole and in order, or counted.
      const kept = messages.filter((text) => text.endsWith(' of 20000'));
      assert.ok(kept.length > 1_000, `${kept.length} records were kept`);
      assert.deepEqual(
        kept,
        kept.map((_, at) => `record ${at + 1} of 20000`),
      );
      assert.equal(messages.length - 1 + Number(lost), 10 + 20_000 + 2 + 3);
      await said(4);
      await until('it goes on', async () => (await log()).includes('record 4 of 4'));
    } finally {
      ended.catch(() => undefined);
      worker.kill('SIGKILL');
      space.kill();
      rmSync(disk, { recursive: true, force: true });
    }
  });
});
