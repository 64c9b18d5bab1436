import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type SlottedBox, startSlottedBox } from '../hosts/slotted-box.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { StackWithoutGoogle } from './stack-without-google.js';

const JOB = `machines: { accelerator: h100, count: 2 }
command:
  run: |
    echo "$(id -un) has $CUDA_VISIBLE_DEVICES of \${CUDA_DEVICE_ORDER}, ports $MASTER_PORT \${JAX_COORDINATOR_ADDRESS##*:}"
    touch ~/began
    until [ -e ~/go ]; do sleep 0.1; done
    echo "done in $HOME"
`;

/** docs/adr/0153: a box with four GPUs and two slots, which two people use at once. */
describe('slots of a machine', function () {
  this.timeout(240_000);
  const folder = mkdtempSync(join(tmpdir(), 'own-slots-'));
  const job = join(folder, 'job.yaml');
  let box: SlottedBox;
  let stack: StackWithoutGoogle;
  before(async function () {
    this.timeout(TEMPORAL_START_MS + 120_000);
    stack = await StackWithoutGoogle.start(
      { JOBCTL_BUCKET: pathToFileURL(join(folder, 'store')).href },
      async (key) => {
        box = await startSlottedBox(key, 2, 4);
        const poolFile = `[[machines]]
name = "box"
address = "${box.address}"
user = "gpu-{slot}"
slots = 2
accelerators = { h100 = 4 }
host_key = "${box.hostKey}"
`;
        return { poolFile, units: { h100: 4 }, stop: box.stop };
      },
    );
    writeFileSync(job, `pool: ${stack.pool}\n${JOB}`);
  });
  after(async () => {
    await stack?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const done = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await stack.user.run(...words);
    assert.equal(code, 0, `${words.join(' ')}: ${stdout}${stderr}\n${stack.tail()}`);
    return stdout;
  };
  const began = (slot: number): boolean => existsSync(join(box.homes[slot] ?? '', 'began'));
  const go = (slot: number): void => writeFileSync(join(box.homes[slot] ?? '', 'go'), '');

  it('run a job each, with GPUs and ports of its own; a third one waits, and each is given back alone', async () => {
    assert.match(await done('machines', 'check', '--pool', stack.pool), /box\.0[^]*box\.1/);
    // Its driver knows no -q -x: the one machine of both slots is looked at, by the worker, and the check fails.
    const doctor = await stack.user.run('doctor', '--machines', '--pool', stack.pool);
    assert.equal(doctor.code, 1, doctor.stderr);
    assert.match(doctor.stdout, /FAILED +box driver +nvidia-smi ended with code 2[^]*ok +box disk +/);
    assert.ok(!doctor.stdout.includes('box.1'), doctor.stdout);
    for (const name of ['one', 'two', 'three']) await done('submit', '--name', name, '--no-verdict', job);
    await until('both slots are used', () => began(0) && began(1), 120_000);
    const shown = await done('machines', 'ls', '--pool', stack.pool);
    assert.match(shown, /box\.0 [^]*held[^]*box\.1 [^]*held/);
    const [third = ''] = ['one', 'two', 'three'].slice(2);
    assert.match(await done('why', third), /h100/);
    const claimOf = (slot: number): string =>
      readFileSync(join(box.homes[slot] ?? '', '.jobctl/machine/claim'), 'utf8');
    const beside = claimOf(1);
    go(0);
    await until('the third has the first slot', async () => /running/.test(await done('status', third)), 120_000);
    assert.equal(claimOf(1), beside, 'its neighbour runs on');
    go(1);
    const logs: string[] = [];
    for (const name of ['one', 'two', third]) {
      await done('wait', name);
      logs.push((await done('logs', name)).trim());
    }
    const [lines] = [logs.flatMap((each) => each.split('\n')).filter((line) => line.includes(' has '))];
    assert.deepEqual([...new Set(lines)].map((line) => line.replace(/^.* [|│] /, '')).toSorted(), [
      'gpu-0 has GPU-00ff,GPU-10ff of PCI_BUS_ID, ports 29400 8476',
      'gpu-1 has GPU-20ff,GPU-30ff of PCI_BUS_ID, ports 29401 8477',
    ]);
    await until('both are free', async () => !/held/.test(await done('machines', 'ls', '--pool', stack.pool)));
  });

  it('of which somebody else uses a GPU is passed over, and the other is not', async () => {
    go(0);
    go(1);
    box.computes('GPU-00ff, 4242, colleague\\n');
    assert.match(await done('submit', '--wait', '--name', 'four', job), /gpu-1 has GPU-20ff,GPU-30ff/);
    const { stdout } = await stack.user.run('machines', 'ls', '--pool', stack.pool);
    assert.match(stdout, /box\.0[^\n]*4242 \(colleague\)/);
  });
});
