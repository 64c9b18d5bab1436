import assert from 'node:assert/strict';
import { REQUEST_SECTIONS, resolveRequest } from '../../domain/job-file/sections.js';
import { Report } from '../../domain/job-file/report.js';
import type { RequestSection } from '../../domain/machine-kinds/kind.js';
import type { MachineRequest } from '../../domain/machine-kinds/registry.js';

/** The section of a kind that there is not. */
const PODS = {
  ...(REQUEST_SECTIONS[0] as RequestSection<MachineRequest>),
  name: 'pods' as never,
  least: 'chips',
  takesAtomic: false,
  resolve: (section: unknown) => ({
    request: { pods: section } as never,
    slice: { type: 'pods-4', hosts: 1 },
    leftToPool: [],
  }),
};

describe('the section of a job file that asks for machines, with a second kind', () => {
  const TPU = { accelerator: 'v5litepod-8', zone: 'us-central1-a' };
  function resolved(file: Record<string, unknown>, dropped: readonly string[] = []) {
    const report = new Report(dropped.map((key) => [key]));
    const size = file['atomic'] === true ? ({ slices: 2, atomic: true } as const) : { slices: 1 };
    const found = resolveRequest(file, { ...size, poolName: 'default', pool: undefined }, report, [
      ...REQUEST_SECTIONS.slice(0, 1),
      PODS,
    ]);
    const problems = report.problems.map(({ path, message, hint }) => `${path.join('.')} ${message}: ${hint}`);
    return { type: found?.slice.type, problems };
  }

  const cases: Record<string, [Record<string, unknown>, readonly string[], ReturnType<typeof resolved>]> = {
    'is resolved by its own kind': [{ pods: { chips: 4 }, tpu: null }, [], { type: 'pods-4', problems: [] }],
    'of the first kind too': [{ tpu: TPU }, [], { type: 'v5litepod-8', problems: [] }],
    'that is missing is any of the kinds’': [
      {},
      [],
      {
        type: undefined,
        problems: ['tpu is missing: a job needs the section tpu, with accelerator and zone, or pods, with chips'],
      },
    ],
    'that was wrong is not missing as well': [{}, ['pods'], { type: undefined, problems: [] }],
    'of a kind that asks for each slice alone cannot be atomic': [
      { pods: { chips: 4 }, atomic: true },
      [],
      {
        type: 'pods-4',
        problems: [
          'atomic is not for machines of the section pods: each of their slices is asked for alone: leave atomic out: the job starts when all of its slices are there',
        ],
      },
    ],
    'is one alone': [
      { tpu: TPU, pods: { chips: 4 } },
      [],
      {
        type: 'v5litepod-8',
        problems: ['pods tpu and pods are both given: the slices of a job are of one kind: keep one section'],
      },
    ],
  };
  for (const [name, [file, dropped, want]] of Object.entries(cases))
    it(name, () => assert.deepEqual(resolved(file, dropped), want));
});
