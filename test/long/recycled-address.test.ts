import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeUserKey, type Scratch, scratchFolder, type UserKey } from '../../rehearsal/test/scratch.js';
import { ssh } from '../../rehearsal/test/ssh-client.js';
import { startVm, type Vm } from '../../rehearsal/vm/index.js';
import { jobFile } from '../end-to-end/job-files.js';
import type { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { storedLog } from '../end-to-end/stored-log.js';
import type { TestStack } from '../end-to-end/test-stack.js';
import { withStack } from '../end-to-end/with-stack.js';
import { until } from '../until.js';

const SSH_PORT = 2222;
const PARENT = 'projects/rehearsal/locations/us-central1-a';
const COMMAND = '[ "$JOBCTL_ATTEMPT" = 1 ] || { echo again; exit 0; }; echo begun; sleep 600';
const READY_MS = 60_000;

interface Running {
  readonly id: string;
  readonly node: string;
  readonly address: string;
  /** As the node's metadata has them: who has the job's login key gets in. */
  readonly sshKeys: string;
}

/**
 * marin#6450. The stranger would let the job in: it has the job's own login key, as VMs of one Google project may. A rehearsed VM
 * boots at its first login, so the record of that is the stranger's own word (docs/recovery.md, "slice seen").
 */
describe("a host's address that another machine has got", function () {
  this.timeout(180_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;
  let scratch: Scratch;
  let own: UserKey;
  let stranger: Vm | undefined;
  withStack((its, itsAdmin) => {
    stack = its;
    admin = itsAdmin;
  });
  before(() => {
    scratch = scratchFolder('stranger');
    own = makeUserKey(scratch.path);
  });
  after(async () => {
    await stranger?.kill();
    scratch.remove();
  });

  async function rest(path: string, init: RequestInit = {}): Promise<Record<string, unknown>> {
    const answer = await fetch(`${stack.rehearsal.endpoints.rest}/v2/${PARENT}/${path}`, init);
    assert.ok(answer.ok, `${path}: ${answer.status}`);
    return (await answer.json()) as Record<string, unknown>;
  }

  async function running(): Promise<Running> {
    const { id } = await stack.jobs.submit({ job: jobFile(COMMAND, { tpu: { accelerator: 'v5litepod-8' } }) });
    const log = (): Promise<string> => storedLog(stack.store, { id, stream: 'command', host: 0 });
    await until(`${id} runs`, async () => (await log()).includes('begun'), READY_MS);
    const node = (await stack.jobs.describe(id)).slices[0]?.ref.name ?? '';
    const { networkEndpoints, metadata } = (await rest(`nodes/${node}`)) as {
      networkEndpoints: readonly { ipAddress: string }[];
      metadata: Readonly<Record<string, string>>;
    };
    return { id, node, address: networkEndpoints[0]?.ipAddress ?? '', sshKeys: metadata['ssh-keys'] ?? '' };
  }

  const hasMetStranger = ({ address }: Running): Promise<unknown> =>
    until(
      `the worker finds another machine at ${address}`,
      () =>
        readFileSync(stack.workerLog, 'utf8')
          .split('\n')
          .some((line) => line.includes(address) && line.includes('Another machine may have got this address')),
      READY_MS,
    );
  const events = async (id: string): Promise<string> =>
    (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');

  it('gets no login and no file, and costs the slice on the account of infrastructure, while the API says READY', async () => {
    const job = await running();
    await admin.post('configure', { preemptedLagMs: 3_600_000 });
    await admin.post('preempt', { name: job.node, notice: false });
    const records: string[] = [];
    const dir = join(scratch.path, 'vm');
    const plan = { dir, address: job.address, sshPort: SSH_PORT, hostname: 'stranger', slice: [] };
    const authorizedKeys = `${job.sshKeys}\nalice:${own.publicKey}`;
    // Not before the power of the job's own host is off.
    await until('the stranger boots', async () => {
      stranger = await startVm({ ...plan, authorizedKeys, record: (kind) => void records.push(kind) });
      return true;
    });
    const { result, attempts, preemptions } = await stack.jobs.wait(job.id);
    assert.deepEqual([result, attempts, preemptions], ['succeeded', 2, 0], stack.tail());
    assert.match(await events(job.id), /its host key is [^]*trying again \(1 of 5\)/);
    assert.equal(records.join(), '');
    assert.equal(existsSync(join(dir, 'disk', 'home')), false);
    const looks = (await admin.journal()).filter(
      ({ subject, details }) => subject.endsWith(job.node) && details.method?.startsWith('Get') === true,
    );
    assert.ok(looks.length > 1, `${looks.length} looks at the node`);
    await hasMetStranger(job);
    // Whoever is let in leaves a record: the ones above could have been there.
    const { code } = await ssh({ address: job.address, port: SSH_PORT, key: own }, 'true');
    assert.deepEqual([code, records.includes('vm-boot')], [0, true]);
  });

  it('gets none either when the API does not answer, and when it then says that the slice is gone', async () => {
    const job = await running();
    await admin.post('configure', { preemptedLagMs: 0, recycleAddresses: true });
    for (const method of ['GetNode', 'GetQueuedResource'])
      await admin.post('refuse', { method, code: 'UNAVAILABLE', nameMatches: job.node });
    await admin.post('preempt', { name: job.node, mode: 'vanish' });
    const metadata = { 'ssh-keys': `${job.sshKeys}\nalice:${own.publicKey}` };
    await rest('nodes?nodeId=stranger', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ acceleratorType: 'v5litepod-8', runtimeVersion: 'v2-alpha-tpuv5-lite', metadata }),
    });
    await until('the stranger is there', async () => (await rest('nodes/stranger'))['state'] === 'READY', READY_MS);
    const { networkEndpoints } = (await rest('nodes/stranger')) as {
      networkEndpoints: readonly { ipAddress: string }[];
    };
    assert.equal(networkEndpoints[0]?.ipAddress, job.address);
    await hasMetStranger(job);
    await admin.stopRefusing();
    const { result, attempts } = await stack.jobs.wait(job.id);
    assert.deepEqual([result, attempts], ['succeeded', 2], stack.tail());
    assert.match(await events(job.id), /trying again \(1 of/);
    const boots = async (): Promise<number> =>
      (await admin.journal()).filter(({ kind, subject }) => kind === 'vm-boot' && subject.endsWith('/stranger')).length;
    assert.equal(await boots(), 0);
    const { code } = await ssh({ address: job.address, port: SSH_PORT, key: own }, 'true');
    assert.deepEqual([code, await boots()], [0, 1]);
  });
});
