import assert from 'node:assert/strict';
import fc from 'fast-check';
import { choose, declared, hostOf } from '../../cloud/machines/own/choosing.js';
import {
  claimsOf,
  claimText,
  EMPTY_RECORD,
  type PoolRecord,
  readClaim,
  withoutSlice,
} from '../../cloud/machines/own/pool-record.js';
import { chooseHosts, fittingMachines, tooFewMachines } from '../../domain/machine-kinds/machines/choice.js';
import { refIn } from '../../domain/machine-kinds/machines/index.js';
import type { MachinesRequest, OwnMachine } from '../../domain/machine-kinds/machines/words.js';
import { formatProblems } from '../../domain/problem.js';
import { parsePoolFile } from '../../quota/files/pool-file.js';

const parsed = (lines: string) =>
  parsePoolFile(`[[machines]]\nname = "box"\naddress = "10.0.0.20"\n${lines}\n`, 'p.toml', 'lab');
const boxes = (count: number, gpus = 8): readonly OwnMachine[] => {
  const entry = (n: number): string =>
    `[[machines]]\nname = "box-${n}"\naddress = "10.0.0.${n + 1}"\nuser = "u-{slot}"\nshare = true\naccelerators = { h100 = ${gpus} }\n`;
  const file = parsePoolFile(Array.from({ length: count }, (_, n) => entry(n)).join(''), 'p.toml', 'lab');
  assert.ok(file.ok, file.ok ? '' : formatProblems(file.problems));
  return file.machines;
};
const names = (hosts: readonly (readonly OwnMachine[])[]): readonly string[] =>
  hosts.map((slots) => slots.map(({ name }) => name.replace('box-', '')).join(' '));
const asks = (perHost: number, hosts = 1): MachinesRequest => ({
  ...{ pool: 'lab', hosts, labels: {} },
  accelerator: { type: 'h100', perHost },
});

/** One pool's record, as create calls and removals change it. */
class Pool {
  record: PoolRecord = EMPTY_RECORD;
  now = 0;
  readonly #machines: readonly OwnMachine[];

  constructor(machines: readonly OwnMachine[]) {
    this.#machines = machines;
  }

  /** @returns the GPUs of the slice, or undefined if it waits */
  ask(job: string, request: MachinesRequest, generation = 1): readonly string[] | undefined {
    const name = `jc-${job}-g${generation}`;
    const ownership = { owner: 'o', job, run: 'r', generation, spec: 's' };
    const { next, hosts } = choose(
      {
        plan: { ref: refIn('lab', name), ownership, machines: request },
        ...{ uid: name, fitting: fittingMachines(request, this.#machines), hasChosen: false, refusals: new Map() },
      },
      this.record,
      this.now,
    );
    this.record = next ?? this.record;
    return hosts?.flat().map((slot) => slot.name);
  }

  end(job: string, generation = 1): void {
    const name = `jc-${job}-g${generation}`;
    this.record = withoutSlice(this.record, name, name) ?? this.record;
  }

  get claimed(): readonly string[] {
    return Object.values(this.record.slices).flatMap(({ machines }) => claimsOf(machines).map(({ name }) => name));
  }
}

/** docs/adr/0170 */
describe('GPUs of a machine that jobs share', () => {
  it('are a slot and a login user each', () => {
    const file = parsed('user = "train-{slot}"\nshare = true\naccelerators = {h100 = 4}');
    assert.ok(file.ok, file.ok ? '' : formatProblems(file.problems));
    assert.deepEqual(
      file.machines.map(({ name, user, slot, isShared, accelerators }) => [
        ...[name, user, slot?.gpus.join(), isShared, accelerators['h100']],
      ]),
      [0, 1, 2, 3].map((n) => [`box.${n}`, `train-${n}`, String(n), true, 1]),
    );
    const slots = file.machines.slice(2);
    assert.deepEqual(hostOf(slots).slot, { number: 2, of: 4, gpus: [2, 3] }, 'the command has both');
    assert.deepEqual(hostOf(slots).accelerators, { h100: 2 });
    assert.deepEqual(declared(slots), { accelerator: { type: 'h100', count: 4 }, slot: hostOf(slots).slot });
    assert.deepEqual(
      claimsOf([hostOf(slots)]).map(({ name, user }) => [name, user]),
      [
        ['box.2', 'train-2'],
        ['box.3', 'train-3'],
      ],
    );
  });

  const WRONG: Readonly<Record<string, readonly [lines: string, want: RegExp]>> = {
    'one user for all': [
      'user = "train"\nshare = true\naccelerators = {h100 = 8}',
      /'train' is one login user for several slots/,
    ],
    'slots too': [
      'user = "u{slot}"\nshare = true\nslots = 4\naccelerators = {h100 = 8}',
      /slots: with share = true a machine has a slot for each GPU\n.*leave slots out/,
    ],
    'no GPU': ['user = "u{slot}"\nshare = true', /share: .*2 to 64 GPUs can be shared, and this one has 0/],
    'one GPU': ['user = "u{slot}"\nshare = true\naccelerators = {h100 = 1}', /this one has 1/],
    "a TPU's chips": ['user = "u{slot}"\nshare = true\naccelerators = {v5e = 8}', /v5e is another maker's/],
    'a word': ['user = "u{slot}"\nshare = "yes"\naccelerators = {h100 = 8}', /share: .*true or false/],
  };
  for (const [name, [lines, want]] of Object.entries(WRONG))
    it(`${name}: refused`, () => {
      const file = parsed(lines);
      assert.ok(!file.ok);
      assert.match(formatProblems(file.problems), want);
    });

  const CHOICES: Readonly<Record<string, readonly [perHost: number, busy: readonly string[], want: string]>> = {
    'one GPU, of the fullest pair': [1, ['0.2'], '0.3'],
    'one GPU, of the fullest machine': [1, ['1.0', '1.1', '1.2', '1.3'], '1.4'],
    'a whole pair before parts of two': [2, ['0.0', '0.3', '0.6', '1.0', '1.1', '1.2', '1.3'], '0.4 0.5'],
    'a pair beside a full pair': [2, ['0.4', '0.5'], '0.6 0.7'],
    'four that are wired together': [4, ['0.1', '1.5', '1.6', '1.7'], '1.0 1.1 1.2 1.3'],
    'what there is, if no block is whole': [2, ['0.0', '0.2', '0.4', '0.6', '1.1', '1.3', '1.5', '1.7'], '0.1 0.3'],
    'three of a block of four': [3, ['0.0'], '0.1 0.2 0.3'],
  };
  for (const [name, [perHost, busy, want]] of Object.entries(CHOICES))
    it(`are chosen: ${name}`, () => {
      const free = boxes(2).filter((slot) => !busy.includes(slot.name.replace('box-', '')));
      assert.deepEqual(names(chooseHosts(asks(perHost), free)), [want]);
    });

  it('of several hosts may lie on one machine, and a request that no machine can hold is refused', () => {
    assert.deepEqual(names(chooseHosts(asks(4, 3), boxes(2))), [
      '0.0 0.1 0.2 0.3',
      '0.4 0.5 0.6 0.7',
      '1.0 1.1 1.2 1.3',
    ]);
    assert.equal(tooFewMachines(asks(8, 2), 1, boxes(2)), undefined);
    assert.equal(tooFewMachines(asks(3, 2), 2, boxes(2)), undefined);
    assert.match(tooFewMachines(asks(3, 5), 1, boxes(2))?.message ?? '', /asks for 5 machines of 3 h100.* has only 4/);
    assert.match(tooFewMachines(asks(9), 1, boxes(2))?.message ?? '', /has none/);
  });

  it('of a claim beside another slot name that slot, whose run must end first', () => {
    const claim = {
      ...{
        slice: 's-g1',
        uid: 'u',
        pool: 'lab',
        ownership: { owner: 'o', job: 'j', run: 'r', generation: 1, spec: 'x' },
      },
      first: { name: 'box.0', user: 'train-0' },
    };
    assert.deepEqual(readClaim(claimText(claim)), claim);
  });

  it('are in one claim at most, and a machine with enough of them is used, whoever asks and ends when', () => {
    const machines = boxes(2);
    let waited = 0;
    let shared = 0;
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.nat(12),
            fc.constantFrom(1, 2, 3, 4, 8),
            fc.constantFrom(1, 1, 1, 2),
            fc.constantFrom(true, false, false),
          ),
          {
            minLength: 30,
            maxLength: 60,
          },
        ),
        (steps) => {
          const pool = new Pool(machines);
          for (const [number, perHost, hosts, isEnd] of steps) {
            pool.now += 1_000;
            if (isEnd) pool.end(`j${number}`);
            const before = pool.claimed;
            if (isEnd || pool.record.slices[`jc-j${number}-g1`] !== undefined) continue;
            const got = pool.ask(`j${number}`, asks(perHost, hosts));
            if (got === undefined) {
              waited += 1;
              const free = machines.filter(({ name }) => !before.includes(name));
              const isKept = Object.entries(pool.record.kept ?? {}).some(([name]) => name !== `jc-j${number}`);
              if (!isKept) assert.ok(chooseHosts(asks(perHost, hosts), free).length < hosts, 'it waits for no reason');
              continue;
            }
            if (before.length > 0) shared += 1;
            assert.equal(got.length, perHost * hosts);
            const all = pool.claimed;
            assert.equal(new Set(all).size, all.length, 'no GPU is in two claims');
          }
        },
      ),
      { numRuns: 30 },
    );
    assert.ok(waited > 50 && shared > 50, `${waited} waited, ${shared} began beside others`);
  });

  it('are kept for a large job; small ones that the pool grants meanwhile have others', () => {
    const machines = boxes(2);
    let passed = 0;
    fc.assert(
      fc.property(
        fc.array(fc.nat(1_000), { minLength: 16, maxLength: 16 }),
        fc.infiniteStream(fc.nat(1_000)),
        (first, draws) => {
          const draw = (below: number): number => Number(draws.next().value) % below;
          const pool = new Pool(machines);
          // Eight small jobs anywhere on both machines: the pool's quota has eight GPUs left, and no machine may have them all.
          const running: string[] = [];
          for (const n of first.keys()) assert.ok(pool.ask(`s${n}`, asks(1)));
          const order = [...first.keys()].toSorted((a, b) => (first[a] ?? 0) - (first[b] ?? 0) || a - b);
          for (const n of order.slice(0, 8)) pool.end(`s${n}`);
          running.push(...order.slice(8).map((n) => `s${n}`));
          const atGrant = new Set(running);
          let isIn = pool.ask('big', asks(8)) !== undefined;
          // Small jobs end in any order, and each time the pool grants the next.
          for (let n = 16; !isIn; n++) {
            assert.ok(atGrant.size > 0, 'all that ran when it was granted have ended, and it still waits');
            pool.now += 60_000;
            const [ended = ''] = running.splice(draw(running.length), 1);
            pool.end(ended);
            atGrant.delete(ended);
            running.push(`s${n}`);
            assert.ok(pool.ask(`s${n}`, asks(1)), 'there is always a GPU for a small job that the pool grants');
            passed += 1;
            isIn = pool.ask('big', asks(8), n) !== undefined;
          }
          assert.equal(pool.record.kept, undefined, 'nothing is kept any more');
        },
      ),
      { numRuns: 25 },
    );
    assert.ok(passed > 75, `${passed} small jobs began while a large one waited`);
  });

  it('are kept elsewhere than where a claim of another installation was met', () => {
    const machines = boxes(2, 2);
    const pool = new Pool(machines);
    assert.deepEqual(pool.ask('one', asks(1)), ['box-0.0']);
    const ref = refIn('lab', 'jc-big-g1');
    const ownership = { owner: 'o', job: 'big', run: 'r', generation: 1, spec: 's' };
    const asking = (refusals: ReadonlyMap<string, string>, hasChosen: boolean) => ({
      plan: { ref, ownership, machines: asks(2) },
      ...{ uid: 'u', fitting: machines, hasChosen, refusals },
    });
    const first = choose(asking(new Map(), false), pool.record, 0);
    assert.deepEqual(names(first.hosts ?? []), ['1.0 1.1']);
    const { next } = first;
    const own = next?.slices[ref.name];
    assert.ok(next && own);
    // It gave back what it had claimed, and goes on.
    const after = { ...next, slices: { ...next.slices, [ref.name]: { ...own, machines: [] } } };
    const { kept, hosts } = choose(asking(new Map([['box-1.1', 'is held by a stranger']]), true), after, 1);
    assert.deepEqual([kept, hosts], [['box-0.0', 'box-0.1'], undefined]);
  });

  it('are kept no longer than the job asks for them, and not on a machine that goes out of use', () => {
    const pool = new Pool(boxes(1, 4));
    assert.ok(pool.ask('one', asks(1)));
    assert.equal(pool.ask('big', asks(4)), undefined);
    assert.equal(pool.ask('two', asks(1)), undefined, 'kept');
    pool.now += 21 * 60_000;
    assert.ok(pool.ask('two', asks(1)), 'nobody has asked for 21 minutes');
    assert.equal(pool.ask('big', asks(4), 2), undefined);
    const drained = { failures: 0, drained: { at: 0, by: 'ann' } };
    pool.record = { ...pool.record, machines: { 'box-0.3': drained } };
    assert.equal(pool.ask('big', asks(4), 3), undefined);
    assert.equal(pool.record.kept, undefined);
  });
});
