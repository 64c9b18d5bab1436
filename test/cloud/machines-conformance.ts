import assert from 'node:assert/strict';
import type { Machines } from '../../cloud/machines/port.js';
import type { MachineKindName, PlanOf } from '../../domain/machines.js';
import type { Condition, Owner, Ownership } from '../../domain/slice.js';
import { eventually } from './eventually.js';

/** Where the suite runs: an adapter, and what to ask it for. Everything it makes is of `owner`, and it deletes it. */
export interface MachinesUnderTest<K extends MachineKindName = MachineKindName> {
  readonly port: Machines<K>;
  /** Where the plans' machines are listed. */
  readonly account: string;
  readonly owner: string;
  readonly hosts: number;
  /** What the provider's ids of machines look like. */
  readonly uid: RegExp;
  /** How long a slice may take to become ready, or to go. */
  readonly deadlineMs: number;
  /** A plan of `owner` with that name. */
  plan(name: string, variant: string): PlanOf<K>;
  /** The same for a type of machines that the provider does not know. */
  badPlan(name: string, variant: string): PlanOf<K>;
  close(): Promise<void>;
}

/**
 * What every adapter of `Machines` must do, whatever stands behind it. It leaves nothing behind if it passes.
 * @param variants ways in which the kind can be asked for machines
 */
export function exerciseMachines<K extends MachineKindName>(
  name: string,
  variants: readonly string[],
  open: () => Promise<MachinesUnderTest<K>>,
): void {
  describe(`Machines on ${name}`, () => {
    let under: MachinesUnderTest;
    before(async () => {
      under = await open();
    });
    after(() => under.close());

    for (const variant of variants) {
      describe(variant, () => {
        sliceCases(() => under, variant);
        nameCases(() => under, variant);
      });
    }
  });
}

type Plan = PlanOf<MachineKindName>;

/** As its owner asks about it: another generation or spec is foreign. */
export const observed = ({ port }: Pick<MachinesUnderTest, 'port'>, { ref, ownership }: Plan): Promise<Condition> =>
  port.observe({ ref, ownership });

const ownerOf = ({ owner, job, run }: Ownership): Owner => ({ owner, job, run });

export const isGone = (seen: Condition): boolean => seen.kind === 'missing' && !seen.isRequestLeft;

type Bare = Pick<MachinesUnderTest, 'port' | 'deadlineMs'>;

export async function makeReady(under: Bare, plan: Plan): Promise<Extract<Condition, { kind: 'ready' }>> {
  const answer = await under.port.create(plan);
  assert.equal(answer.kind, 'accepted', JSON.stringify(answer));
  const isReady = ({ kind }: Condition): boolean => kind === 'ready';
  const seen = await eventually(`${plan.ref.name} is ready`, () => observed(under, plan), isReady, under.deadlineMs);
  assert.ok(seen.kind === 'ready');
  return seen;
}

/** Removes again while something is left, as a slice's owner does. */
export async function makeGone({ port, deadlineMs }: Bare, { ref, ownership }: Plan): Promise<void> {
  const owner = ownerOf(ownership);
  const removeAndLook = async (): Promise<Condition> => {
    await port.remove(ref, owner);
    return port.observe({ ref, ownership: owner });
  };
  await eventually(`${ref.name} is gone`, removeAndLook, isGone, deadlineMs);
}

/** Of one slice, which the first case that runs makes and the last one removes: to make one costs most, with some providers money. */
function sliceCases(under: () => MachinesUnderTest, variant: string): void {
  type Ready = Awaited<ReturnType<typeof makeReady>>;
  let made: Promise<Ready> | undefined;
  const plan = (): Plan => under().plan('life', variant);
  const ready = (): Promise<Ready> => (made ??= makeReady(under(), plan()));
  const watch = (): Promise<Condition> =>
    under().port.watch(plan(), { isUrgent: true, signal: AbortSignal.timeout(under().deadlineMs) });
  after(async () => {
    if (made !== undefined) await makeGone(under(), plan());
  });

  it('a slice is created and becomes ready with its hosts', async () => {
    const { hosts, uid } = await ready();
    assert.deepEqual(
      hosts.map(({ index }) => index),
      [...Array(under().hosts).keys()],
    );
    assert.match(uid, under().uid);
  });

  it('a listing shows a slice as a direct look does', async () => {
    const direct = await ready();
    assert.deepEqual(await watch(), direct);
  });

  it('what is owned is listed in its account', async () => {
    await ready();
    const { port, account, owner } = under();
    const owned = await port.listOwned(account, owner);
    assert.ok(owned.length > 0);
    const { ref, ownership } = plan();
    for (const resource of owned) assert.deepEqual(resource, { ref, ownership });
    assert.deepEqual(await port.listOwned(account, 'nobody'), []);
  });

  it('a second create of one name says exists, and changes nothing', async () => {
    const first = await ready();
    const other = { ...plan(), ownership: { ...plan().ownership, owner: 'own-2' } };
    assert.deepEqual(await under().port.create(other), { kind: 'exists' });
    assert.equal((await observed(under(), other)).kind, 'foreign');
    assert.deepEqual(await observed(under(), plan()), first);
  });

  it('machines of another generation or spec are foreign to their owner, and still its job to remove', async () => {
    await ready();
    const { ref, ownership } = plan();
    for (const over of [{ generation: 2 }, { spec: 'other' }]) {
      assert.equal((await under().port.observe({ ref, ownership: { ...ownership, ...over } })).kind, 'foreign');
    }
    assert.equal((await under().port.observe({ ref, ownership: ownerOf(ownership) })).kind, 'ready');
  });

  it("somebody else's slice is not removed", async () => {
    await ready();
    const { ref, ownership } = plan();
    for (const over of [{ owner: 'own-2' }, { job: 'other' }, { run: 'run-2' }]) {
      const answer = await under().port.remove(ref, { ...ownerOf(ownership), ...over });
      assert.equal(answer.kind, 'refused', JSON.stringify(over));
    }
    assert.equal((await observed(under(), plan())).kind, 'ready');
  });

  it('removed it is gone, from listings too, and made anew under its name it has another uid', async () => {
    const first = await ready();
    const { port, account, owner } = under();
    const answer = await port.remove(plan().ref, ownerOf(plan().ownership));
    await makeGone(under(), plan());
    assert.ok(answer.kind === 'accepted', JSON.stringify(answer));
    if (answer.operation !== undefined) assert.equal(await port.removal(answer.operation), 'done');
    const gone = await watch();
    assert.ok(isGone(gone), JSON.stringify(gone));
    assert.deepEqual(await port.listOwned(account, owner), []);
    const second = await makeReady(under(), plan());
    assert.notEqual(second.uid, first.uid);
    await makeGone(under(), plan());
    made = undefined;
  });
}

function nameCases(under: () => MachinesUnderTest, variant: string): void {
  it('nothing of a name is missing, and removing it says gone', async () => {
    const { ref, ownership } = under().plan('absent', variant);
    assert.deepEqual(await under().port.observe({ ref, ownership }), { kind: 'missing' });
    assert.deepEqual(await under().port.remove(ref, ownerOf(ownership)), { kind: 'gone' });
  });

  it('a type that the provider does not know is refused, whenever it is asked for', async () => {
    const plan = under().badPlan('bad', variant);
    const answer = await under().port.create(plan);
    assert.ok(answer.kind === 'refused' && ['request', 'zone-lasting'].includes(answer.scope), JSON.stringify(answer));
    assert.ok(isGone(await observed(under(), plan)));
  });
}
