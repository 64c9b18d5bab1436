import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DevContext } from '../../../cli/place/stack/context.js';
import { createStore } from '../../../cloud/store/gcs.js';
import { identify } from '../../../cli/place/stack/process-identity.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { JobctlUser } from '../../end-to-end/jobctl-process.js';
import { cloudIsEmpty } from '../../end-to-end/nothing-left.js';
import { mostChipsAtOnce } from '../../end-to-end/rehearsal-admin.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import { until } from '../../until.js';
import { QUOTA_TASK_TIMEOUT_MS } from '../../../contract/quota.js';

/** Prints a line every 0.2 s, so that a hole or a double in a log would show; ends when the file `enough` is there. */
const jobOn = (accelerator: string): string => `name: crash
tpu: {allocation_mode: queued-resources, accelerator: ${accelerator}, zone: us-central1-a, pricing: spot}
command:
  run: |
    n=0
    while [ ! -e ~/enough ]; do n=$((n+1)); echo "line $n"; sleep 0.2; done
    echo "the end after $n"
`;

describe('kill -9 in the middle of a job', function () {
  this.timeout(300_000);
  const user = new JobctlUser();

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    const up = await user.run('dev', 'up');
    assert.equal(up.code, 0, up.stderr);
  });
  after(async function () {
    this.timeout(60_000);
    await user.leave();
  });

  /** Folders that the TPU VMs use as HOME: the rehearsal's disks. */
  function homes(): string[] {
    const found: string[] = [];
    const walk = (folder: string): void => {
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        if (!entry.isDirectory()) continue;
        const path = join(folder, entry.name);
        if (entry.name === '.jobctl') found.push(folder);
        else walk(path);
      }
    };
    walk(join(user.home, 'rehearsal'));
    return found;
  }

  /** The hosts' own record: one line per real start of a command. */
  const starts = (): string[] =>
    homes().flatMap((home) =>
      readFileSync(join(home, '.jobctl', 'starts.log'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split(/\s/)[0] as string),
    );

  /** What `jobctl logs` would print of one host, without a process each time that it is looked for. */
  async function stored(id: string, host = 0): Promise<string> {
    const { store } = JSON.parse(readFileSync(join(user.home, 'context.json'), 'utf8')) as DevContext;
    return storedLog(createStore(store), { id, stream: 'command', host });
  }

  const cases: Record<string, readonly ('worker' | 'server' | 'rehearsal')[]> = {
    'the worker': ['worker'],
    'the Temporal server': ['server'],
    'the rehearsal cloud': ['rehearsal'],
    'all of them at once': ['worker', 'server', 'rehearsal'],
  };
  for (const [what, parts] of Object.entries(cases)) {
    const hosts = parts.length > 1 ? 4 : 1;
    it(`of ${what}, then 'dev up': the job ends well, started once per host, no line lost or doubled`, async () => {
      const file = join(user.home, 'job.yaml');
      writeFileSync(file, jobOn(hosts === 4 ? 'v5litepod-16' : 'v5litepod-8'));
      const { stdout, code, stderr } = await user.run('submit', file);
      assert.equal(code, 0, stderr);
      const id = stdout.trim();
      const patienceMs = 60_000 + QUOTA_TASK_TIMEOUT_MS;
      await until('it prints', async () => (await stored(id)).includes('line 2'), patienceMs);
      for (const part of parts) process.kill(user.pid(part), 'SIGKILL');
      const up = await user.run('dev', 'up');
      assert.equal(up.code, 0, up.stderr);
      const before = (await stored(id)).length;
      await until('its log grows again', async () => (await stored(id)).length > before, 90_000);
      assert.deepEqual(starts(), Array<string>(hosts).fill(`${id}-a1`), 'one start on each host');
      const wait = user.start('wait', id);
      for (const home of homes()) writeFileSync(join(home, 'enough'), '');
      const { code: waited, stderr: said } = await wait.finished;
      assert.equal(waited, 0, said);
      for (let host = 0; host < hosts; host++) {
        const { stdout: log } = await user.run('logs', id, '--host', String(host));
        const lines = log.trimEnd().split('\n');
        const count = lines.length - 1;
        assert.deepEqual(lines, [
          ...Array.from({ length: count }, (_, index) => `line ${index + 1}`),
          `the end after ${count}`,
        ]);
      }
      const status = JSON.parse((await user.run('status', id, '--output', 'json')).stdout) as {
        outcome: { attempts: number };
      };
      assert.equal(status.outcome.attempts, 1);
    });
  }

  it('leaves nothing in the cloud, and had chips of one slice at a time', async () => {
    const admin = user.admin();
    await cloudIsEmpty(admin);
    assert.equal(mostChipsAtOnce(await admin.journal()), 16);
    assert.equal((await user.run('audit', 'leaks', '--grace', '0')).code, 0);
  });

  it("leaves no process behind after 'dev down'", async () => {
    const pids = (['server', 'rehearsal', 'worker'] as const).map((part) => user.pid(part));
    assert.equal((await user.run('dev', 'down')).code, 0);
    // A zombie that the system has not reaped yet runs nothing.
    for (const pid of pids) assert.equal(identify(pid), undefined);
  });
});
