import assert from 'node:assert/strict';
import { machinesOf, MOST_CLOUD_TEXT, withBoundedTexts } from '../../cloud/machines/bounded-texts.js';
import { CloudRefused, CloudUnavailable, type MachineAdapters, type Machines } from '../../cloud/machines/port.js';
import { READY } from '../virtual-clock/plain-activities.js';

/** 100 kB; at the cut stands half of an emoji. */
const LONG = `x${'\u{1f600}'.repeat(25_000)}`;
const MOST = MOST_CLOUD_TEXT + 100;
const ANSWERS = {
  create: { kind: 'refused', scope: 'zone', message: LONG },
  observe: { kind: 'lost', cause: 'refused', scope: 'zone', message: LONG },
  watch: { kind: 'waiting', detail: LONG, place: { granted: LONG } },
  remove: { kind: 'refused', message: LONG },
  removal: LONG,
  listOwned: [{ ref: { name: LONG }, ownership: { job: LONG } }],
  putAside: { text: LONG },
  readGuestAttributes: { kind: 'read', hosts: [] },
  readNodeMetadata: { 'startup-script': LONG },
} as const satisfies Record<Exclude<keyof Machines, 'close'>, unknown>;
type Call = keyof typeof ANSWERS;
const CALLS = Object.keys(ANSWERS) as readonly Call[];

const machinesThat = (answer: (call: Call) => Promise<unknown>): Machines =>
  ({ ...Object.fromEntries(CALLS.map((call) => [call, () => answer(call)])), close: async () => undefined }) as never;
const asked = (machines: Machines, call: Call): Promise<unknown> =>
  (machines[call] as (...args: unknown[]) => Promise<unknown>)({}, {});

const textsIn = (value: unknown): readonly string[] =>
  typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [String(value)];

function assertCut(texts: readonly string[]): void {
  for (const text of texts) {
    assert.ok(text.length <= MOST, `${text.length} characters`);
    // Of half a character it throws.
    encodeURIComponent(text);
  }
  assert.ok(texts.some((text) => text.includes(`cut here, of ${LONG.length} characters`)));
}

describe('a text of 100 kB from a provider', () => {
  const isData = (call: Call): boolean => call === 'readGuestAttributes' || call === 'readNodeMetadata';
  it('is whole where it is data of a host', async () => {
    const machines = withBoundedTexts(machinesThat(async (each) => ANSWERS[each]));
    for (const call of CALLS.filter(isData)) assert.deepEqual(await asked(machines, call), ANSWERS[call]);
  });

  for (const call of CALLS) {
    if (!isData(call))
      it(`is cut in the answer of ${call}`, async () => {
        const machines = withBoundedTexts(machinesThat(async (each) => ANSWERS[each]));
        assertCut(textsIn(await asked(machines, call)));
      });

    for (const Kind of [CloudUnavailable, CloudRefused, TypeError])
      it(`is cut in the ${Kind.name} of ${call}, with its stack and causes`, async () => {
        const cause = new Error(LONG);
        const machines = withBoundedTexts(machinesThat(() => Promise.reject(new Kind(LONG, { cause }))));
        await assert.rejects(asked(machines, call), (error: Error) => {
          assert.ok(error instanceof Kind);
          assertCut([error.message, error.stack ?? '', cause.message, cause.stack ?? '']);
          return true;
        });
      });
  }

  it('is cut in what a listing says that it missed', async () => {
    const missed: string[] = [];
    const lists: Partial<Machines> = {
      listOwned: async (_account, _owner, onMissing) => {
        onMissing?.(LONG, LONG);
        return [];
      },
    };
    const machines = withBoundedTexts({ ...machinesThat(async () => undefined), ...lists });
    await machines.listOwned('account', 'owner', (place, why) => missed.push(place, why));
    assertCut(missed);
  });

  it('is cut whatever the kind of machines, and other answers are as they were', async () => {
    const adapters = { 'cloud-tpu': machinesThat(async (call) => (call === 'observe' ? READY : ANSWERS[call])) };
    const machines = machinesOf(adapters as unknown as MachineAdapters)('cloud-tpu');
    assertCut(textsIn(await asked(machines, 'create')));
    assert.deepEqual(await asked(machines, 'observe'), READY);
  });
});
