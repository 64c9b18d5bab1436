import assert from 'node:assert/strict';
import { outputsAfter } from '../../activities/attempt/outputs.js';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import { outputManifestObject } from '../../domain/store-layout.js';

const input = (spec: object): AttemptInput =>
  ({ job: { id: 'train', run: 'r' }, attempt: 1, spec, settings: { loginUser: 'ann' } }) as unknown as AttemptInput;
const LOST = { kind: 'slices-lost', slices: [{ index: 0 }] } as unknown as AttemptEnd;
const manifest = (state: string): string =>
  `${JSON.stringify({ v: 1, run: 'train-a1', state, at: 1_000, files: 2, bytes: 10, unmatched: [], problems: [] })}\n`;

/** Two hosts: one of a slice that was lost, one of a slice that is there, whose command goes on. */
async function reportOf(spec: object, stored: Readonly<Record<number, string>>) {
  const objects = new Map(
    Object.entries(stored).map(([host, text]) => [outputManifestObject('train', 1, Number(host)), text]),
  );
  const hosts = [0, 1].map((index) => ({
    reach: 'ssh',
    index,
    externalIp: '192.0.2.1',
    internalIp: '192.0.2.1',
    uid: `n${index}`,
  }));
  const slices = hosts.map((host, index) => ({ index, hosts: [{ ...host, index: 0 }], uid: host.uid, ref: {} }));
  const never = new Promise<never>(() => undefined);
  const outputs = await outputsAfter(LOST, {
    store: {
      read: async (name: string) => {
        const text = objects.get(name);
        return text === undefined ? undefined : Buffer.from(text);
      },
    },
    input: { ...input({ slices: 2, command: { hosts: 'all' }, ...spec }), slices } as unknown as AttemptInput,
    caller: () => ({
      on: () => assert.fail('a host is asked, and the next slice waits for its answer'),
    }),
    guard: { lost: never },
    end: { handedOver: never, signal: new AbortController().signal },
  } as unknown as Parameters<typeof outputsAfter>[1]);
  assert.notEqual(outputs, 'handed over');
  return outputs === 'handed over' ? undefined : outputs;
}

describe('outputs of an attempt that lost a slice', () => {
  it('are what the store has by then: no host is asked', async () => {
    const report = await reportOf({}, { 0: manifest('ended'), 1: manifest('running') });
    assert.deepEqual(report && { files: report.files, hosts: report.hosts }, { files: 2, hosts: 1 });
    assert.match(JSON.stringify(report?.missing), /"host":1,"why":"a slice was lost; 2 files as they were at 1970/u);
  });

  it('are nothing to tell of where none were named and none stored', async () => {
    assert.equal(await reportOf({}, {}), undefined);
  });

  it('are missing where they were named and none stored', async () => {
    const report = await reportOf({ outputs: { patterns: ['out'], everySeconds: 600, waitSeconds: 600 } }, {});
    assert.equal(report?.missing?.length, 2);
  });
});
