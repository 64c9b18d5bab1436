import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JobctlUser } from '../../end-to-end/jobctl-process.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import { TestStack } from '../../end-to-end/test-stack.js';
import { type SlottedBox, startSlottedBox } from '../../hosts/slotted-box.js';
import { everybodysQuota } from '../../quota/quota-file-text.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';

const POOL = 'reboots';
const GPUS = 4;
const STEP_MS = 120_000;

/** A lock on each of its cards, which the kernel takes back with the process: two commands on one card would say so. */
const COMMAND = `fd=20
for gpu in \${CUDA_VISIBLE_DEVICES//,/ }; do
  card=\${gpu#GPU-}; eval "exec $fd< /dev/nvidia\${card%0ff}"; flock -n $fd || { echo "$gpu is in use by another job"; exit 3; }; fd=$((fd + 1))
done
echo "$(id -un) has $CUDA_VISIBLE_DEVICES"
until [ -e ~/go ]; do sleep 0.1; done`;

/** docs/adr/0177 */
describe('a shared machine that is rebooted under two jobs', function () {
  this.timeout(600_000);
  this.bail(true);
  let stack: TestStack;
  let user: JobctlUser;
  const boxes: SlottedBox[] = [];
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    const quota = everybodysQuota({ h100: GPUS * 2 });
    stack = await TestStack.start({ pool: POOL, quota, poolFile: '[quota]\n', isNotReady: true });
    user = JobctlUser.of(stack, { USER: 'operator' });
    const key = {
      private: readFileSync(stack.privateKeyFile, 'utf8'),
      public: readFileSync(`${stack.privateKeyFile}.pub`, 'utf8'),
    };
    for (const _ of ['box', 'next']) boxes.push(await startSlottedBox(key, GPUS, GPUS));
    const machines = boxes.map(
      ({ address, hostKey }, index) => `[[machines]]
name = "${['box', 'next'][index]}"
address = "${address}"
user = "gpu-{slot}"
share = true
accelerators = { h100 = ${GPUS} }
host_key = "${hostKey}"
`,
    );
    stack.writePoolFile(machines.join('\n'));
    await stack.startWorker();
  });
  after(async () => {
    await user.leave();
    await stack.stop();
    for (const box of boxes) await box.stop();
  });

  const submit = async (name: string): Promise<string> => {
    const job = {
      ...{ name, pool: POOL, retries: { infrastructure: 3, task: 0 }, timeouts: { device: '2s' } },
      machines: { accelerator: 'h100', count: 2 },
      command: { run: COMMAND },
    };
    const { id } = await stack.jobs.submit({ job, user: 'ann', name });
    return id;
  };
  const log = (id: string, attempt: number): Promise<string> =>
    storedLog(stack.store, { id, stream: 'command', host: 0, attempt }).catch(() => '');
  /** The first line of an attempt's log. */
  const said = (id: string, attempt: number): Promise<string> =>
    until(`${id} begins attempt ${attempt}`, async () => (await log(id, attempt)).split('\n')[0], STEP_MS).catch(
      async (error: unknown) => {
        throw new Error(`${String(error)}: ${JSON.stringify(await stack.jobs.row(id))}\n${stack.tail()}`);
      },
    );
  const claims = (box: number): readonly string[] =>
    (boxes[box]?.homes ?? []).map((home) => {
      const file = join(home, '.jobctl/machine/claim');
      return existsSync(file) ? (/^slice=jc-(\w+)-/m.exec(readFileSync(file, 'utf8'))?.[1] ?? '?') : '';
    });
  const go = (): void => {
    for (const { homes } of boxes) for (const home of homes) writeFileSync(join(home, 'go'), '');
  };

  it('tells both, and both start again with their own GPUs, though each has another index', async () => {
    await submit('one');
    assert.equal(await said('one', 1), 'gpu-0 has GPU-00ff,GPU-10ff');
    await submit('two');
    assert.equal(await said('two', 1), 'gpu-2 has GPU-20ff,GPU-30ff');
    boxes[0]?.lists([3, 2, 1, 0]);
    await boxes[0]?.reboot();
    assert.equal(await said('one', 2), 'gpu-0 has GPU-00ff,GPU-10ff');
    assert.equal(await said('two', 2), 'gpu-2 has GPU-20ff,GPU-30ff');
    assert.deepEqual(claims(0), ['one', 'one', 'two', 'two']);
    for (const id of ['one', 'two']) {
      const { events } = await stack.jobs.describe(id);
      assert.match(events.map(({ text }) => text).join('\n'), /the host was restarted/, `${id} is told`);
    }
  });

  it('with a GPU less: its job goes on elsewhere for no retry of its own, and the GPUs are put aside with the reason', async () => {
    boxes[0]?.lists([0, 1, 2]);
    await boxes[0]?.reboot();
    assert.equal(await said('one', 3), 'gpu-0 has GPU-00ff,GPU-10ff');
    assert.equal(await said('two', 3), 'jobctl: GPUs of this job are gone: GPU-30ff (nvidia-smi does not list it)');
    assert.equal(await said('two', 4), 'gpu-0 has GPU-00ff,GPU-10ff');
    assert.deepEqual(claims(0), ['one', 'one', '', '']);
    assert.deepEqual(claims(1), ['two', 'two', '', '']);
    const { stdout } = await user.run('machines', 'ls', '--pool', POOL);
    for (const slot of ['box.2', 'box.3'])
      assert.match(
        stdout,
        new RegExp(`${slot} +aside [^]*?the command of job two failed: it lost GPUs, of which its log`),
      );
    assert.match(stdout, /box\.0 +held/);
  });

  it('serves new jobs again once a person has checked it, and nothing is left claimed', async () => {
    boxes[0]?.lists([0, 1, 2, 3]);
    await boxes[0]?.reboot();
    assert.equal(await said('one', 4), 'gpu-0 has GPU-00ff,GPU-10ff');
    const checked = await user.run('machines', 'check', 'box.2', 'box.3', '--pool', POOL);
    assert.equal(checked.code, 0, checked.stdout + checked.stderr);
    await submit('three');
    assert.equal(await said('three', 1), 'gpu-2 has GPU-20ff,GPU-30ff');
    go();
    for (const id of ['one', 'two', 'three'])
      await until(`${id} ends`, async () => (await stack.jobs.row(id)).phase === 'succeeded', STEP_MS);
    await until('no claim is left', () => [...claims(0), ...claims(1)].every((each) => each === ''), STEP_MS);
  });
});
