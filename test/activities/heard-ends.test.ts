import assert from 'node:assert/strict';
import fc from 'fast-check';
import { exitRecordOf } from '../../activities/attempt/ends.js';
import type { HostConnection, RunStatus } from '../../cloud/hosts/port.js';
import { formatExitRecord, parseExitRecord, parseState } from '../../cloud/hosts/runner-client.js';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import { SHUTDOWN_PATIENCE_MS } from '../../domain/recovery/decisions.js';
import { until } from '../until.js';
import { attemptInput, supervision } from './supervision.js';

type Exited = Extract<RunStatus, { kind: 'exited' }>;
const DONE: Exited = { kind: 'exited', code: 0, startedAt: 1000, endedAt: 2000, outputBytes: 0, isStopped: false };
const LOST: RunStatus = { kind: 'lost', outputBytes: 0 };
const TPU = { tpu: { accelerator: 'v5litepod-8', zone: 'us-central1-a' } };
const READY = { kind: 'ready', uid: 'n1', hosts: [] };
const TAKEN = { kind: 'lost', cause: 'preempted', message: 'taken' };

/** An attempt on one host that is, look by look, as given; the last look counts for ever. */
class OneHost {
  readonly objects = new Map<string, string>();
  readonly told: unknown[] = [];
  starts = 0;
  /** As the death of the worker, for what it had under way. */
  cancel: () => void = () => undefined;
  looks = 0;
  readonly #statuses: RunStatus[];
  readonly #slice: () => object;

  constructor(statuses: readonly RunStatus[], slice: () => object = () => READY) {
    this.#statuses = [...statuses];
    this.#slice = slice;
  }

  #status(): RunStatus {
    return (this.#statuses.length > 1 ? this.#statuses.shift() : this.#statuses[0]) as RunStatus;
  }

  get #connection(): HostConnection {
    const startRun = async (): Promise<RunStatus> => {
      this.starts += 1;
      return { kind: 'running', startedAt: 1000, outputBytes: 0 };
    };
    return {
      startRun,
      runStatus: async () => this.#status(),
      followOutput: async (_run: string, offset: number) => offset,
      runOutputs: async () => ({ state: 'none' }),
      deliverOutputs: async () => 'settled',
      stopRun: async () => this.#status(),
      close: () => undefined,
    } as unknown as HostConnection;
  }

  /** One worker's supervision. @param before whether another worker has started the command */
  supervise(section: object = TPU, before = false): Promise<AttemptEnd> {
    const { objects, told } = this;
    const observe = (): object => {
      this.looks += 1;
      return this.#slice();
    };
    const watch = (): Promise<object> => new Promise(() => undefined);
    const around = { connect: () => this.#connection, observe, watch, objects, told };
    const { end, cancel } = supervision(around, inputOf(section, before));
    this.cancel = cancel;
    return end;
  }

  record(): string {
    const input = inputOf(TPU, false);
    return exitRecordOf(input, { number: 0, target: { uid: 'n1', index: 0 } } as never);
  }
}

function inputOf(section: object, before: boolean): AttemptInput {
  const kind = 'machines' in section ? 'machines' : 'cloud-tpu';
  const host = { reach: 'ssh', index: 0, internalIp: '192.0.2.1', externalIp: '192.0.2.1' };
  const ref = { kind, name: 'jc-train-g1', zone: 'z', googleProject: 'p', pool: 'default' };
  const slices = [{ index: 0, ref, uid: 'n1', hosts: [host], ownership: {} }];
  return attemptInput(section, slices, before ? { runsSince: 500 } : {});
}

const codeOf = (end: AttemptEnd): unknown => (end.kind === 'exited' ? end.code : `${end.kind}: ${JSON.stringify(end)}`);

describe('an end that somebody knew', () => {
  it('that a host stored itself is the attempt’s, though the host has lost it since', async () => {
    for (const status of [LOST, { kind: 'orphaned', outputBytes: 0 }, { kind: 'absent' }] as const) {
      const host = new OneHost([status]);
      const record = formatExitRecord({ ...DONE, code: 7, host: 'up' }, { runId: 'train-a1' });
      host.objects.set(host.record(), record);
      assert.equal(codeOf(await host.supervise()), 7, status.kind);
    }
  });

  it('that nobody stored is a lost run: a restart of the host only where its boot is another', async () => {
    assert.match(String(codeOf(await new OneHost([LOST]).supervise())), /run-lost.*its host has no record of how/);
    const restarted = new OneHost([{ ...LOST, isRestarted: true }]);
    assert.match(String(codeOf(await restarted.supervise())), /the host was restarted/);
  });

  it('that a worker has heard is kept while it is not believed, for the worker that comes next', async () => {
    // Unwitnessed: the first worker looks at the slices for two minutes, and dies meanwhile.
    const host = new OneHost([DONE]);
    void host.supervise().catch(() => undefined);
    await until('the end is kept', () => host.objects.has(host.record()));
    host.cancel();
    const kept = host.objects.get(host.record()) ?? '';
    assert.equal(parseExitRecord(kept, { runId: 'train-a1' })?.code, 0);

    const next = new OneHost([{ kind: 'absent' }]);
    next.objects.set(next.record(), kept.replace(' - - - - -"', ' - up - - -"'));
    assert.equal(codeOf(await next.supervise(undefined, true)), 0);
    assert.equal(next.starts, 0, 'a command that has ended is started again');
  });

  it('is said to the job while its machines are looked at', async () => {
    const host = new OneHost([DONE]);
    void host.supervise().catch(() => undefined);
    await until('the job is told', () => host.told.length > 0);
    host.cancel();
    assert.match(JSON.stringify(host.told[0]), /"hasEnded":true,"what":"its command has ended; looking for 1[12]\d s/);
  });
});

describe('an exit 0 that no host could witness', () => {
  const ago = (quietMs: number): Exited => ({ ...DONE, quietMs });

  it('is watched from its end on, not from the start of whoever watches: later than that one look decides', async () => {
    const host = new OneHost([ago(SHUTDOWN_PATIENCE_MS)]);
    assert.equal(codeOf(await host.supervise(undefined, true)), 0);
    assert.equal(host.looks, 1);
  });

  it('is not believed where that look shows that the slice was taken', async () => {
    const host = new OneHost([ago(SHUTDOWN_PATIENCE_MS)], () => TAKEN);
    assert.match(String(codeOf(await host.supervise(undefined, true))), /^slices-lost/);
  });

  it('on machines of one’s own is believed after one look at their claim: nobody takes them back', async () => {
    const host = new OneHost([ago(0)]);
    assert.equal(codeOf(await host.supervise({ machines: {} })), 0);
    assert.equal(host.looks, 1);
  });
});

describe('an exit record that a worker writes', () => {
  it('reads as the host’s own does', () => {
    const exited = fc.record(
      {
        kind: fc.constant('exited' as const),
        code: fc.nat(255),
        signal: fc.constantFrom('SIGTERM', 'SIGKILL'),
        startedAt: fc.nat(),
        endedAt: fc.nat(),
        outputBytes: fc.nat(),
        isStopped: fc.boolean(),
        host: fc.constantFrom('up' as const, 'stopping' as const, 'preempted' as const),
        endedBy: fc.constantFrom('unattended' as const, 'limit' as const, 'ray' as const),
        killedForMemory: fc.nat(),
        left: fc.constantFrom(
          { count: 1, named: [{ pid: 7, command: 'python3 train.py' }] },
          { count: 12, named: [1, 2, 3].map((pid) => ({ pid, command: `é "${pid}" -` })) },
        ),
      },
      { requiredKeys: ['kind', 'code', 'startedAt', 'endedAt', 'outputBytes', 'isStopped'] },
    );
    fc.assert(
      fc.property(exited, fc.option(fc.constant('ab'.repeat(32)), { nil: undefined }), (status, proof) => {
        const of = { runId: 'train-a1', proof };
        assert.deepEqual(parseExitRecord(formatExitRecord(status as Exited, of), of), { ...status });
      }),
    );
  });

  it('is refused where a word is missing: an empty code is not 0', () => {
    assert.throws(() => parseState('exited   1000 2000 0 - - - - -'), /field 1 of .* is no such number/);
  });
});
