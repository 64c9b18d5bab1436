import assert from 'node:assert/strict';
import * as buildForms from '../../contract/build.js';
import type { Form } from '../../contract/form.js';
import * as jobForms from '../../contract/job-forms.js';
import { machinesInputForm } from '../../contract/machines.js';
import * as quotaForms from '../../contract/quota-forms.js';
import * as sliceForms from '../../contract/slice.js';
import { slowness } from '../until.js';
import { worst } from './schema-walk.js';

const FORMS = Object.entries({ ...buildForms, ...jobForms, ...quotaForms, ...sliceForms, machinesInputForm }).filter(
  ([name]) => name.endsWith('Form'),
) as [string, Form<unknown>][];

/** Of one form that is checked, whatever becomes of it. A workflow task has 5 s before its script is stopped. */
const TASK_MS = 1_000;
describe('the worst that a form lets in, in time', function () {
  this.timeout(240_000);

  it('is told for every form', () => assert.ok(FORMS.length >= 20, String(FORMS.length)));

  function cpuMsSince(begun: NodeJS.CpuUsage): number {
    const { user, system } = process.cpuUsage(begun);
    return (user + system) / 1_000;
  }

  /** Milliseconds of the process's own computing; what runs beside it makes a processor slower too, so much is measured again. */
  function cpuMs(work: () => unknown): number {
    const once = (): number => {
      const begun = process.cpuUsage();
      work();
      return cpuMsSince(begun);
    };
    const first = once();
    return first < TASK_MS / 4 ? first : Math.min(first, once(), once());
  }

  /** What is not bounded field by field is bounded by the whole: each of these is as large as the form takes. */
  function largestOf({ bounds: { characters, values, levels } }: Form<unknown>): readonly unknown[] {
    const [half, many] = [Math.floor(characters / 2), Math.floor(values / 4)];
    return [
      { v: 1, by: 'x'.repeat(characters - 10) },
      { v: 1, [`${'y'.repeat(half)}`]: 1, set: [{ path: ['x'.repeat(200)], value: 'x'.repeat(half - 500) }], by: 'a' },
      Object.fromEntries(Array.from({ length: many }, (_, at) => [`k${at}`, { kind: 'x' }])),
      { v: 1, by: 'a', hosts: Array.from({ length: many }, (_, index) => ({ reach: 'ssh', index, internalIp: '1' })) },
      {
        name: 'a',
        run: 'b',
        news: { kind: 'ready', uid: 'u', hosts: Array.from({ length: many }, () => ({ reach: 'ssh' })) },
      },
      Array.from({ length: levels - 1 }).reduce<unknown>((inner) => ({ carry: inner }), 1),
    ];
  }

  for (const [name, form] of FORMS)
    it(`${name}: is checked within ${TASK_MS} ms of computing`, () => {
      const ms = Math.max(...[worst(form.schema), ...largestOf(form)].map((value) => cpuMs(() => form(value))));
      assert.ok(ms < TASK_MS * slowness(), `${ms} ms`);
    });

  it('a loop that takes the square of what it is given is seen', () => {
    const rows = largestOf(quotaForms.leaseMessageForm)[2] ?? {};
    const keys = Object.keys(rows).slice(0, 25_000);
    const begun = process.cpuUsage();
    // The whole loop takes several times as long.
    const isSeen = keys.some((key) => keys.filter((other) => other > key).length > 0 && cpuMsSince(begun) > TASK_MS);
    assert.ok(isSeen, `${cpuMsSince(begun)} ms`);
  });
});
