import assert from 'node:assert/strict';
import { whyNot } from '../../cloud/machines/own/choosing.js';
import { OwnMachines } from '../../cloud/machines/own/own-machines.js';
import { EMPTY_RECORD, type PoolRecord, type PoolRecords } from '../../cloud/machines/own/pool-record.js';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import type { BrokenMachine } from '../../contract/slice.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import { refIn } from '../../domain/machine-kinds/machines/index.js';
import type { MachineRef } from '../../domain/machines.js';
import type { Condition } from '../../domain/slice.js';
import { DEFAULT_TIMINGS } from '../../domain/timings.js';
import { Sandboxes } from '../virtual-clock/sandboxes.js';
import { virtualActivities, type VirtualCloud } from '../virtual-clock/virtual-activities.js';
import { VirtualServer } from '../virtual-clock/virtual-server.js';

const MACHINES = ['rack-0', 'rack-1', 'rack-2'];
const START = Date.UTC(2026, 10, 27);
const DAY = 86_400_000;

/** Gives each slice the first machine that is not put aside. */
class Lab implements VirtualCloud {
  readonly aside: { readonly name: string; readonly reason: string }[] = [];
  readonly ran: string[] = [];
  readonly #given = new Map<string, string>();
  readonly #endOn: (machine: string) => Partial<Extract<AttemptEnd, { kind: 'exited' }>>;

  constructor(endOn: (machine: string) => Partial<Extract<AttemptEnd, { kind: 'exited' }>>) {
    this.#endOn = endOn;
  }

  async create({ ref }: { readonly ref: MachineRef }) {
    const free = MACHINES.find((machine) => !this.aside.some(({ name }) => name === machine));
    this.#given.set(ref.name, free ?? 'none');
    return { kind: 'accepted' } as const;
  }

  async inspect({ name }: MachineRef): Promise<Condition> {
    const machine = this.#given.get(name);
    if (machine === undefined) return { kind: 'missing' };
    const own = { pool: 'default', name: machine, port: 22, user: 'u', claim: `claim-${name}` };
    return { kind: 'ready', uid: `claim-${name}`, hosts: [{ reach: 'ssh', index: 0, internalIp: '10.0.0.1', own }] };
  }

  wait = (ref: MachineRef): Promise<Condition> => this.inspect(ref);

  async remove({ name }: MachineRef): Promise<void> {
    this.#given.delete(name);
  }

  async putAside({ ref, uid, reason }: BrokenMachine): Promise<void> {
    const name = this.#given.get(ref.name);
    assert.equal(uid, `claim-${ref.name}`);
    if (name !== undefined) this.aside.push({ name, reason });
  }

  async run({ slices: [slice] }: AttemptInput): Promise<AttemptEnd> {
    const machine = this.#given.get(slice?.ref.name ?? '') ?? '';
    this.ran.push(machine);
    return { kind: 'exited', code: 0, at: { slice: 0, host: 0 }, startedAt: 0, ...this.#endOn(machine) };
  }
}

describe('a job on machines of its own, one of which is broken', function () {
  this.timeout(120_000);
  let sandboxes: Sandboxes;
  before(async () => {
    sandboxes = await Sandboxes.ofThisProcess();
  });

  async function live(lab: Lab): Promise<string> {
    const server = new VirtualServer(sandboxes, { startAt: START, delayMs: () => 10 });
    const putAside = (machine: BrokenMachine): Promise<void> => lab.putAside(machine);
    server.serve({ ...virtualActivities(server, lab, DEFAULT_TIMINGS), putAside });
    const job = { name: 'train', machines: {}, retries: { task: 5 }, command: { run: 'train' } };
    let end = 'it goes on';
    void server.start(WorkflowType.Job, 'j', { v: 1, job }).then(({ kind }) => (end = kind));
    await server.run(START + DAY);
    return end;
  }

  it('a signal twice in a row: the machine is put aside with the reason, and the job goes on elsewhere', async () => {
    const lab = new Lab((machine) => (machine === 'rack-0' ? { code: 139 } : {}));
    assert.equal(await live(lab), 'completed');
    assert.deepEqual(lab.ran, ['rack-0', 'rack-0', 'rack-1']);
    const reason = 'the command of job j failed: it ended by SIGSEGV, twice in a row on the same machine';
    assert.deepEqual(lab.aside, [{ name: 'rack-0', reason }]);
  });

  it('what only a broken accelerator prints: at once', async () => {
    const printed = 'GPU has fallen off the bus';
    const lab = new Lab((machine) => (machine === 'rack-0' ? { code: 1, printed } : {}));
    assert.equal(await live(lab), 'completed');
    assert.deepEqual(lab.ran, ['rack-0', 'rack-1']);
    assert.deepEqual(lab.aside, [{ name: 'rack-0', reason: `the command of job j failed: it printed '${printed}'` }]);
  });

  it('a program that fails so everywhere costs one machine, and is the fault of its user', async () => {
    const lab = new Lab(() => ({ code: 139 }));
    assert.equal(await live(lab), 'failed');
    assert.deepEqual([...new Set(lab.ran)], ['rack-0', 'rack-1']);
    assert.equal(lab.aside.length, 1);
  });
});

describe('a machine of a pool that is put aside', () => {
  const ref = refIn('lab', 'jc-train-g1');
  const machine = { name: 'rack-0', address: '10.0.0.1', port: 22, user: 'u', accelerators: {} };
  const slice = { uid: 'claim', ownership: {}, at: 0, machines: [machine], maybe: [], isWhole: true };

  it('is not chosen again, and says why; of a slice that was given back no machine is put aside', async () => {
    let record = { ...EMPTY_RECORD, slices: { [ref.name]: slice } } as unknown as PoolRecord;
    const update = async (_pool: string, change: (before: PoolRecord) => PoolRecord | undefined) =>
      (record = change(record) ?? record);
    const machines = new OwnMachines({ records: { update } as unknown as PoolRecords } as never);
    for (const [uid, host] of [
      ['another', 0],
      ['claim', 1],
    ] as const)
      await machines.putAside({ ref, uid, host }, 'x');
    const afterIt = (): PoolRecord => ({ ...record, slices: {} });
    assert.equal(whyNot(machine, afterIt(), { name: 'next-g1', now: 0 }), undefined);
    for (const reason of ['it ended by SIGSEGV', 'told twice'])
      await machines.putAside({ ref, uid: 'claim', host: 0 }, reason);
    assert.match(whyNot(machine, afterIt(), { name: 'next-g1', now: 0 }) ?? '', /put aside.*it ended by SIGSEGV/);
  });
});
