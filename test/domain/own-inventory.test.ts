import assert from 'node:assert/strict';
import { fromInventory, tooFewMachines } from '../../domain/machine-kinds/machines/choice.js';
import type { MachinesRequest, OwnMachine } from '../../domain/machine-kinds/machines/words.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { isRehearsed, labelOfJob, machineKind } from '../../domain/machines.js';
import { formatProblem } from '../../domain/problem.js';

const machine = (name: string, more: Partial<OwnMachine> = {}): OwnMachine => ({
  ...{ name, address: '10.0.0.1', port: 22, user: 'me', accelerators: {}, labels: {} },
  ...more,
});
const REAL = [machine('a'), machine('b', { labels: { room: 'b' } }), machine('c', { accelerators: { h100: 8 } })];
const REHEARSED = [machine('local-1', { isRehearsed: true }), machine('local-2', { isRehearsed: true })];
const h100 = (perHost: number) => ({ accelerator: { type: 'h100', perHost } });
const NAME_THEM = '  name machines as [[machines]] in its pool file: docs/own-machines.md';
const SEE = '  jobctl machines ls --pool lab shows those that it has';

const cases: Readonly<
  Record<
    string,
    readonly [
      asked: Partial<MachinesRequest> & { slices?: number },
      has: readonly OwnMachine[],
      refused: string | undefined,
    ]
  >
> = {
  'enough without accelerators': [{ hosts: 2 }, REAL, undefined],
  'one of them with a label': [{ labels: { room: 'b' } }, REAL, undefined],
  'the exact number of accelerators': [h100(8), REAL, undefined],
  'rehearsed ones': [{ hosts: 2 }, REHEARSED, undefined],
  'a part of a machine': [
    h100(4),
    REAL,
    `machines: the job asks for 1 machine of 4 h100, and pool lab has none\n${SEE}\n${NAME_THEM}`,
  ],
  'more than there are': [
    { hosts: 2, labels: { room: 'b' } },
    REAL,
    `machines: the job asks for 2 machines without an accelerator with these labels, and pool lab has only 1\n${SEE}\n${NAME_THEM}`,
  ],
  'as many slices as there are machines': [{ slices: 2 }, REHEARSED, undefined],
  'slices that are more together than there are': [
    { slices: 2, hosts: 2 },
    REAL,
    `machines: the job asks for 2 slices of 2 machines without an accelerator, and pool lab has only 2\n${SEE}\n${NAME_THEM}`,
  ],
  'accelerators of rehearsed ones': [
    h100(8),
    REHEARSED,
    `machines: the job asks for 1 machine of 8 h100, and pool lab has none\n  it has the rehearsed machines local-1, local-2, without accelerators and labels\n${NAME_THEM}`,
  ],
  'any of a pool that has none': [
    {},
    [],
    `machines: the job asks for 1 machine without an accelerator, and pool lab has none\n${NAME_THEM}\n  without any, a local stack rehearses some without accelerators: jobctl submit --local`,
  ],
};

describe("a job against the inventory of its pool's own machines", () => {
  const request = (more: Partial<MachinesRequest> = {}): MachinesRequest => ({
    ...{ pool: 'lab', hosts: 1, labels: {} },
    ...more,
  });
  for (const [name, [{ slices = 1, ...asked }, has, refused]] of Object.entries(cases))
    it(`that asks for ${name} ${refused === undefined ? 'fits' : 'is refused'}`, () => {
      const problem = tooFewMachines(fromInventory(request(asked), has), slices, has);
      assert.equal(problem && formatProblem(problem), refused);
    });

  it('what it is accepted for is in the place of its slices, by which a stack knows whether it may go down', () => {
    const place = { owner: 'o', zone: 'z', name: 'jc-j-g1', job: 'j', run: 'r', generation: 1, loginUser: 'u' };
    for (const [inventory, isOfRehearsal] of [
      [REHEARSED, true],
      [REAL, false],
    ] as const) {
      const resolved = resolveJob({ machines: {}, command: { run: 'true' } });
      assert.ok(resolved.ok && 'machines' in resolved.spec);
      const spec = { ...resolved.spec, machines: fromInventory(resolved.spec.machines, inventory) };
      const plan = machineKind('machines').plan(spec, { ...place, publicKey: 'k', googleProject: 'p' });
      assert.equal(isRehearsed(plan.ref), isOfRehearsal);
      assert.equal(labelOfJob(spec, 'REHEARSAL'), isOfRehearsal ? 'REHEARSAL' : undefined);
      assert.deepEqual(machineKind('machines').planForm().parse(plan), plan);
    }
  });

  it('a job that was accepted for rehearsed machines gets no real one, and the other way round', () => {
    assert.match(tooFewMachines(fromInventory(request(), REHEARSED), 1, REAL)?.message ?? '', /has none$/);
    assert.match(tooFewMachines(fromInventory(request(), REAL), 1, REHEARSED)?.message ?? '', /has none$/);
  });
});
