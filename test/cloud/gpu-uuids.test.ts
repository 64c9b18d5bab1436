import assert from 'node:assert/strict';
import fc from 'fast-check';
import { gpuOfAnother, gpusOfSlots, inspectHost, withUuids } from '../../cloud/machines/own/gpu-uuids.js';
import { hostOf } from '../../cloud/machines/own/choosing.js';
import { EMPTY_RECORD, LIKE_NEW, type PoolRecord, type SliceRecord } from '../../cloud/machines/own/pool-record.js';
import type { Declared, Inspection } from '../../cloud/hosts/machine-verbs.js';
import type { OwnMachine } from '../../domain/machine-kinds/machines/words.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';
import { ownership } from './cloud-tpu-plan.js';

function boxOf(gpus: number): readonly OwnMachine[] {
  const text = `[[machines]]\nname = "box"\naddress = "10.0.0.20"\nuser = "u{slot}"\nshare = true\naccelerators = {h100 = ${gpus}}\n`;
  const file = parsePoolFile(text, 'p.toml', 'lab');
  assert.ok(file.ok);
  return file.machines;
}
const uuids = (...numbers: readonly number[]): string[] => numbers.map((number) => `GPU-${number}`);
const known = (of: Readonly<Record<string, readonly string[]>>): PoolRecord => ({
  slices: {},
  machines: Object.fromEntries(Object.entries(of).map(([name, own]) => [name, { ...LIKE_NEW, uuids: own }])),
});
const sliceOf = (slots: readonly OwnMachine[], own: readonly string[]): SliceRecord => ({
  uid: 'uid',
  ownership: ownership({ owner: 'own-1', job: 'x' }),
  at: 0,
  machines: [{ ...hostOf(slots), uuids: own }],
  maybe: [],
  isWhole: true,
});
const asObject = (map: ReadonlyMap<string, readonly string[]>) => Object.fromEntries(map);

/** docs/adr/0177 */
describe('the GPUs of the slots of a shared machine', () => {
  const box = boxOf(4);
  const [first] = box;
  assert.ok(first);
  const assigned = (listed: readonly string[], record: PoolRecord, inventory = box) =>
    asObject(gpusOfSlots(first, listed, { inventory, record }));

  it('are those of their indexes at first, and stay theirs in whatever order they come', () => {
    const at = assigned(uuids(0, 1, 2, 3), EMPTY_RECORD);
    assert.deepEqual(at, { 'box.0': ['GPU-0'], 'box.1': ['GPU-1'], 'box.2': ['GPU-2'], 'box.3': ['GPU-3'] });
    assert.deepEqual(assigned(uuids(3, 0, 2, 1), known(at)), at);
  });

  it('leave the others alone if one is gone, and a new card takes its place', () => {
    const at = assigned(uuids(0, 1, 2, 3), EMPTY_RECORD);
    const { 'box.1': _, ...rest } = at;
    assert.deepEqual(assigned(uuids(0, 2, 3), known(at)), rest);
    assert.deepEqual(assigned(uuids(0, 2, 9, 3), known(at)), { ...rest, 'box.1': ['GPU-9'] });
  });

  it('are not those of a job that began before the pool file had fewer', () => {
    const at = assigned(uuids(0, 1, 2, 3), EMPTY_RECORD);
    const [, , , last] = box;
    assert.ok(last);
    const running = { ...known(at), slices: { s: sliceOf([last], ['GPU-3']) } };
    const { 'box.1': _, 'box.3': __, ...rest } = at;
    assert.deepEqual(assigned(uuids(0, 2, 3), running, boxOf(3)), rest);
    const after = assigned(uuids(0, 2, 3), known(at), boxOf(3));
    assert.deepEqual(after, { ...rest, 'box.1': ['GPU-3'] });
  });

  it('are never in two slots, nor a slice’s under another name, whatever is gone, new or in another order', () => {
    let moved = 0;
    const listing = fc.uniqueArray(fc.integer({ min: 0, max: 9 }), { minLength: 0, maxLength: 6 });
    fc.assert(
      fc.property(fc.array(listing, { minLength: 2, maxLength: 5 }), fc.integer({ min: 0, max: 3 }), (boots, held) => {
        let record: PoolRecord = EMPTY_RECORD;
        const slot = box[held];
        assert.ok(slot);
        for (const numbers of boots) {
          const at = assigned(uuids(...numbers), record);
          const all = Object.values(at).flat();
          assert.equal(new Set(all).size, all.length);
          assert.ok(all.every((uuid) => uuids(...numbers).includes(uuid)));
          for (const { uuids: theirs = [] } of record.slices['s']?.machines ?? [])
            for (const [name, own] of Object.entries(at))
              assert.ok(name === slot.name || !own.some((uuid) => theirs.includes(uuid)), `${name} ${own}`);
          if (all.length === 4 && all.join() !== uuids(...numbers.slice(0, 4)).join()) moved += 1;
          const own = at[slot.name];
          const slices = record.slices['s'] === undefined && own ? { s: sliceOf([slot], own) } : record.slices;
          record = { machines: { ...record.machines, ...known(at).machines }, slices };
        }
      }),
    );
    assert.ok(moved > 5, `${moved} listings in which an index was another GPU's`);
  });
});

describe('the inspection of a host whose GPUs are known', () => {
  const box = boxOf(4);
  const WELL: Inspection = { problems: [], warnings: [] };
  function machine(listed: readonly string[] | undefined) {
    const asked: (readonly (string | number)[])[] = [];
    const inspect = async (declared: Declared): Promise<Inspection> => {
      asked.push(declared.uuids ?? declared.slot?.gpus ?? []);
      return { ...WELL, ...(listed && { listed }) };
    };
    return { asked, inspect };
  }

  it('asks about their indexes once, then about them', async () => {
    const verbs = machine(uuids(0, 1, 2, 3));
    const pair = box.slice(2);
    const found = await inspectHost(pair, verbs, { inventory: box, record: EMPTY_RECORD });
    assert.deepEqual(verbs.asked, [[2, 3]]);
    const host = withUuids(hostOf(pair), found);
    assert.deepEqual(host.uuids, uuids(2, 3));
    const record = known({ 'box.2': uuids(2), 'box.3': uuids(3) });
    await inspectHost(pair, verbs, { inventory: box, record });
    assert.deepEqual(verbs.asked.at(-1), uuids(2, 3));
  });

  it('asks again if they are others than it asked about', async () => {
    const verbs = machine(uuids(0, 1, 9, 3));
    const record = known({ 'box.0': uuids(0), 'box.1': uuids(1), 'box.2': uuids(2), 'box.3': uuids(3) });
    const found = await inspectHost(box.slice(2), verbs, { inventory: box, record });
    assert.deepEqual(verbs.asked, [uuids(2, 3), uuids(9, 3)]);
    assert.deepEqual(found.get('box.2')?.uuids, uuids(9));
  });

  it('finds those of a whole machine, and none without a driver', async () => {
    const whole: OwnMachine = {
      name: 'w',
      address: '10.0.0.9',
      port: 22,
      user: 'u',
      accelerators: { h100: 2 },
      labels: {},
    };
    const found = await inspectHost([whole], machine(uuids(4, 5)), { inventory: [whole], record: EMPTY_RECORD });
    assert.deepEqual(found.get('w')?.uuids, uuids(4, 5));
    const bare = await inspectHost([whole], machine(undefined), { inventory: [whole], record: EMPTY_RECORD });
    assert.equal(bare.get('w')?.uuids, undefined);
    assert.equal(withUuids(hostOf([whole]), bare).uuids, undefined);
  });

  it('has nothing for a slot whose GPU is gone, which is no fault of the other slots', async () => {
    const record = known({ 'box.0': uuids(0), 'box.1': uuids(1), 'box.2': uuids(2), 'box.3': uuids(3) });
    const found = await inspectHost(box.slice(2, 3), machine(uuids(0, 1, 3)), { inventory: box, record });
    assert.match(found.get('box.2')?.busy ?? '', /^its GPU is gone/);
  });

  it('is not believed if another slice has one of them', () => {
    const [one, two] = box;
    assert.ok(one && two);
    const record = { ...EMPTY_RECORD, slices: { s: sliceOf([one], uuids(7)) } };
    const hosts = [{ ...hostOf([two]), uuids: uuids(7) }];
    assert.equal(gpuOfAnother(hosts, 't', record), 'GPU GPU-7 of box.1 is held by slice s');
    assert.equal(gpuOfAnother(hosts, 's', record), undefined);
  });
});
