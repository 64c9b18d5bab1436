import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MockActivityEnvironment } from '@temporalio/testing';
import { outputsAfter } from '../../activities/attempt/outputs.js';
import type { RunOutputsStatus } from '../../cloud/hosts/port.js';
import { ensureStore, openStore } from '../../cloud/store/open-store.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import { outputManifestObject } from '../../domain/store-layout.js';

const LOST = { kind: 'slices-lost', slices: [{ index: 0 }] } as unknown as AttemptEnd;
const EXITED = { kind: 'exited', code: 0 } as unknown as AttemptEnd;
const NAMED = { outputs: { patterns: ['out'], everySeconds: 600, waitSeconds: 600 } };
const AT_ONCE = { outputs: { ...NAMED.outputs, waitSeconds: 0 } };
type State = 'running' | 'ended';
const manifest = (state: State): string =>
  `${JSON.stringify({ v: 1, run: 'train-a1', state, at: 1_000, files: 2, bytes: 10, unmatched: [], problems: [] })}\n`;

interface Case {
  readonly end?: AttemptEnd;
  readonly spec?: object;
  /** Manifests by host, before the end. */
  readonly stored?: Readonly<Record<number, State>>;
  /** Hosts that store their last files after the store was first asked for them. */
  readonly late?: readonly number[];
  /** Slices that are gone; each has one host, of the same number. */
  readonly lost?: readonly number[];
  /** Answers of hosts. Absent: no host may be asked. */
  readonly hosts?: (host: number) => Promise<RunOutputsStatus>;
}

describe('outputs of an attempt that lost a slice', () => {
  const folder = mkdtempSync(join(tmpdir(), 'jobctl-outputs-'));
  const options = { bucket: pathToFileURL(folder).href };
  let store: StorePort;
  before(async () => {
    await ensureStore(options);
    store = openStore(options);
  });
  after(() => rmSync(folder, { recursive: true }));

  /** Two slices of one host each. */
  async function reportOf({ end = LOST, spec = {}, stored = {}, late = [], lost = [0], hosts }: Case) {
    const nameOf = (host: number): string => outputManifestObject('train', 1, host);
    for (const host of [0, 1]) await store.remove(nameOf(host));
    for (const [host, state] of Object.entries(stored)) await store.replace(nameOf(Number(host)), manifest(state));
    const places = [0, 1].map((index) => ({
      reach: 'ssh',
      index: 0,
      externalIp: '',
      internalIp: '',
      uid: `n${index}`,
    }));
    const input = {
      ...{ job: { id: 'train', run: 'r' }, attempt: 1, settings: { loginUser: 'ann' } },
      spec: { slices: 2, command: { hosts: 'all' }, ...spec },
      slices: places.map((host, index) => ({ index, hosts: [host], uid: host.uid, ref: {} })),
    } as unknown as AttemptInput;
    const never = new Promise<never>(() => undefined);
    let reads = 0;
    const place = {
      store: {
        read: async (name: string, range?: { readonly start: number; readonly end?: number }) => {
          reads += 1;
          const content = await store.read(name, range);
          for (const host of late) if (nameOf(host) === name) await store.replace(name, manifest('ended'));
          return content;
        },
      },
      input,
      caller: () => ({
        on: async (target: { slice: number }, call: (connection: object) => unknown) => {
          if (hosts === undefined) return assert.fail('a host is asked, and the next slice waits for its answer');
          return call({ runOutputs: () => hosts(target.slice) });
        },
      }),
      guard: {
        lost: lost.length > 0 ? Promise.resolve(lost) : never,
        hasLost: (slice: number) => lost.includes(slice),
      },
      end: { handedOver: never, signal: new AbortController().signal },
    } as unknown as Parameters<typeof outputsAfter>[1];
    const after = (): ReturnType<typeof outputsAfter> => outputsAfter(end, place);
    const outputs = await new MockActivityEnvironment().run<[], Awaited<ReturnType<typeof after>>, typeof after>(after);
    assert.notEqual(outputs, 'handed over');
    return { report: outputs === 'handed over' ? undefined : outputs, reads };
  }

  it('are what the store has by then: no host is asked', async () => {
    const { report } = await reportOf({ stored: { 0: 'ended', 1: 'running' }, lost: [0, 1] });
    assert.deepEqual(report && { files: report.files, hosts: report.hosts }, { files: 2, hosts: 1 });
    assert.match(JSON.stringify(report?.missing), /"host":1,"why":"a slice was lost; 2 files as they were at 1970/u);
    assert.doesNotMatch(JSON.stringify(report?.missing), /isOpen/);
  });

  it('are nothing to tell of where none were named and none stored, and nothing is waited for', async () => {
    assert.deepEqual(await reportOf({}), { report: undefined, reads: 2 });
  });

  it('are missing where they were named and none stored', async () => {
    const { report } = await reportOf({ spec: NAMED, lost: [0, 1] });
    assert.equal(report?.missing?.length, 2);
  });

  const storing = async (): Promise<RunOutputsStatus> => ({ state: 'storing' });
  const failed = async (): Promise<RunOutputsStatus> => ({
    state: 'failed',
    reason: 'no answer of the store',
    files: 2,
  });
  const silent = (): Promise<never> => Promise.reject(new Error('the connection is closed'));
  const late: Readonly<Record<string, Case>> = {
    'by a host of another slice, which goes on': { spec: NAMED, stored: { 0: 'ended' }, late: [1] },
    'by a host under notice, whose slice is still there': { spec: NAMED, lost: [], late: [0, 1] },
    'by hosts of a job that named none': { stored: { 0: 'ended', 1: 'running' }, late: [1] },
    'when another slice is lost while they are': {
      ...{ end: EXITED, spec: NAMED, stored: { 0: 'ended' }, late: [1], hosts: storing },
    },
    'by a host that does not answer': { end: EXITED, spec: NAMED, lost: [], late: [0, 1], hosts: silent },
    'by hosts that never had the answer to it': {
      ...{ end: EXITED, spec: NAMED, lost: [], stored: { 0: 'ended', 1: 'ended' }, hosts: failed },
    },
  };
  for (const [how, one] of Object.entries(late))
    it(`that were stored after the end, ${how}, are not called missing`, async () => {
      const { report } = await reportOf(one);
      assert.deepEqual(report && { files: report.files, hosts: report.hosts, missing: report.missing }, {
        ...{ files: 4, hosts: 2, missing: undefined },
      });
    });

  it('of a host that may go on are called open, and of one that is gone missing', async () => {
    const { report } = await reportOf({ spec: AT_ONCE });
    assert.deepEqual(report?.missing, [
      { host: 0, why: 'a slice was lost' },
      { host: 1, why: 'a slice was lost', isOpen: true },
    ]);
  });

  it('of a host that calls them failed, and are not in the store, are missing', async () => {
    const { report } = await reportOf({ end: EXITED, spec: NAMED, lost: [], hosts: failed });
    assert.deepEqual(report?.missing?.[0], { host: 0, why: 'no answer of the store' });
  });
});
