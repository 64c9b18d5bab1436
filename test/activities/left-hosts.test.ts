import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { type HostConnection, type HostTarget, HostUnreachable, type RunStatus } from '../../cloud/hosts/port.js';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import type { MachineKindName, MachineRef } from '../../domain/machines.js';
import type { StopNotice } from '../../domain/early-end.js';
import { attemptInput, supervision } from './supervision.js';

const SAVES_MS = 300;
const KINDS: Readonly<Partial<Record<MachineKindName, object>>> = {
  'compute-engine': { compute_engine: { machine_type: 'n2-standard-4', count: 2, zones: ['us-central1-a'] } },
  kubernetes: { kubernetes: { workers: 2, image: 'i:1' } },
  machines: { machines: { hosts: 2 } },
};
const TPU = { tpu: { accelerator: 'v5litepod-16', zone: 'us-central1-a' } };

/** A host whose command runs until it is told, and then takes its time to save. */
class Host {
  readonly notices: StopNotice[] = [];
  hasStored = false;
  isGone = false;
  #output = 'runs\n';
  #end: (() => void) | undefined;
  readonly #ended = new Promise<void>((resolve) => (this.#end = resolve));
  #isOver = false;

  async #tell(notice: StopNotice): Promise<void> {
    this.notices.push(notice);
    await sleep(SAVES_MS);
    this.#output += 'saved\n';
    this.#isOver = true;
    this.#end?.();
  }

  readonly #status = (): RunStatus => {
    const outputBytes = this.#output.length;
    return this.#isOver
      ? { kind: 'exited', code: 0, startedAt: 1000, endedAt: 2000, outputBytes, isStopped: true, host: 'up' }
      : { kind: 'running', startedAt: 1000, outputBytes };
  };

  connect(target: HostTarget): HostConnection {
    if (this.isGone) throw new HostUnreachable(`host ${target.index} is gone`);
    const connection = {
      startRun: async () => this.#status(),
      runStatus: async () => this.#status(),
      stopRun: async (_run: string, _graceMs: number, notice: StopNotice) => {
        await this.#tell(notice);
        return this.#status();
      },
      followOutput: async (_run: string, offset: number, ship: (chunk: Buffer) => unknown) => {
        await this.#ended;
        await ship(Buffer.from(this.#output).subarray(offset));
        return this.#output.length;
      },
      // A host that stores its own needs a while for it, as the worker does.
      runOutputs: async () => {
        if (this.hasStored) return { state: 'stored', files: 1, bytes: 1 };
        void sleep(SAVES_MS).then(() => (this.hasStored = true));
        return { state: 'storing' };
      },
      deliverOutputs: async () => {
        await this.#ended;
        await sleep(SAVES_MS);
        this.hasStored = true;
        return 'settled';
      },
      close: () => undefined,
    };
    return connection as unknown as HostConnection;
  }
}

/** A gang of two, on one slice or on one each; its first slice is lost, by what its provider says, once that is set. */
class Gang {
  readonly hosts = [new Host(), new Host()] as const;
  readonly logs = new Map<string, string>();
  isLost = false;

  /** @param isSplit two slices of one host each */
  async supervise(kind: MachineKindName, section: object, isSplit = false): Promise<AttemptEnd> {
    const observe = ({ ref }: { readonly ref: MachineRef }): object =>
      this.isLost && ref.name.endsWith('g1')
        ? { kind: 'lost', cause: 'preempted', message: 'taken' }
        : { kind: 'ready', uid: 'n1', hosts: [] };
    const watch = async (claim: { readonly ref: MachineRef }): Promise<object> => {
      await sleep(50);
      return observe(claim);
    };
    const connect = (target: HostTarget): HostConnection =>
      this.hosts[(target.slice + target.index) as 0 | 1].connect(target);
    return supervision({ connect, observe, watch, objects: this.logs, told: [] }, inputOf(kind, section, isSplit)).end;
  }

  logOf(host: number): string {
    return [...this.logs].flatMap(([name, text]) => (name.includes(`host-${host}.`) ? [text] : [])).join('');
  }
}

function inputOf(kind: MachineKindName, section: object, isSplit: boolean): AttemptInput {
  const at = (index: number) =>
    kind === 'kubernetes'
      ? { reach: 'pod', index, namespace: 'n', pod: `p-${index}`, uid: `u${index}`, internalIp: '192.0.2.1' }
      : { reach: 'ssh', index, internalIp: '192.0.2.1', externalIp: '192.0.2.1' };
  const slice = (index: number, name: string, hosts: readonly object[]) => ({
    ...{ index, ref: { kind, name, zone: 'z', googleProject: 'p', pool: 'default' } },
    ...{ uid: `n${index + 1}`, hosts, ownership: {} },
  });
  const slices = isSplit
    ? [slice(0, 'jc-train-g1', [at(0)]), slice(1, 'jc-train-g1-1', [at(0)])]
    : [slice(0, 'jc-train-g1', [at(0), at(1)])];
  return attemptInput({ ...section, grace: 1, ...(isSplit && { slices: 2 }) }, slices);
}

describe('the hosts that are left of a slice whose loss its provider tells first', () => {
  for (const [kind, section] of Object.entries(KINDS) as [MachineKindName, object][])
    it(`${kind}: are told once and why, and what they save then is stored before the attempt ends`, async () => {
      const gang = new Gang();
      setTimeout(() => (gang.isLost = true), SAVES_MS);
      const end = await gang.supervise(kind, section);
      assert.equal(end.kind, 'slices-lost');
      gang.hosts.forEach((host, index) => {
        assert.deepEqual(
          host.notices.map(({ cause }) => cause),
          ['preemption'],
          `host ${index}`,
        );
        assert.equal(host.hasStored, true, `host ${index}`);
        assert.equal(gang.logOf(index), 'runs\nsaved\n', `host ${index}`);
      });
    });

  it('and those of its other slices too, of whom the worker stores what they save', async () => {
    const gang = new Gang();
    setTimeout(() => (gang.isLost = true), SAVES_MS);
    const end = await gang.supervise('kubernetes', { kubernetes: { workers: 1, image: 'i:1' } }, true);
    assert.deepEqual(end.kind === 'slices-lost' && end.slices.map(({ index }) => index), [0]);
    const told = gang.hosts.map(({ notices }) => notices.map(({ cause }) => cause));
    assert.deepEqual(told, [['preemption'], ['attempt']]);
    for (const index of [0, 1] as const) {
      assert.equal(gang.hosts[index].hasStored, true, `host ${index}`);
      assert.equal(gang.logOf(index), 'runs\nsaved\n', `host ${index}`);
    }
  });

  it('that answer no more do not keep the job from its next machines', async function () {
    this.timeout(60_000);
    const gang = new Gang();
    setTimeout(() => ([gang.isLost, gang.hosts[0].isGone] = [true, true]), SAVES_MS);
    const end = await gang.supervise('compute-engine', KINDS['compute-engine'] ?? {});
    assert.equal(end.kind, 'slices-lost');
    assert.equal(gang.hosts[1].hasStored, true);
  });

  it('are not told by jobctl where their provider takes them together: each hears it from its system', async () => {
    const gang = new Gang();
    setTimeout(() => (gang.isLost = true), SAVES_MS);
    assert.equal((await gang.supervise('cloud-tpu', TPU)).kind, 'slices-lost');
    assert.deepEqual(
      gang.hosts.flatMap(({ notices }) => notices),
      [],
    );
  });
});
