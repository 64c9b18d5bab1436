import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { valueAt } from '../../domain/job-file/plain-tree.js';
import { type MachineFlag, MACHINE_FLAGS } from '../../domain/machine-kinds/kind.js';
import { MACHINE_KINDS, machineKind } from '../../domain/machines.js';
import { LEAST_SECTIONS } from '../domain/kind-jobs.js';
import { jobctl } from './command-line.js';

const VALUES: Readonly<Record<MachineFlag, string>> = {
  tpu: 'v5litepod-16',
  zone: 'europe-west4-b',
  pricing: 'ondemand',
  adopt: 'my-node',
};
const LINES = [
  ...MACHINE_FLAGS.map((flag) => ({ flag, words: [`--${flag}`, VALUES[flag]], value: VALUES[flag] })),
  { flag: 'pricing' as const, words: ['--spot'], value: 'spot' },
];

describe('flags about machines', function () {
  this.timeout(60_000);
  const folder = mkdtempSync(join(tmpdir(), 'machine-flags-'));
  after(() => rmSync(folder, { recursive: true }));

  for (const kind of MACHINE_KINDS) {
    const { section } = machineKind(kind);
    const file = join(folder, `${kind}.yaml`);
    const sections = LEAST_SECTIONS[kind];
    before(() => writeFileSync(file, JSON.stringify({ ...sections, command: { run: 'true' } })));

    for (const { flag, words, value } of LINES) {
      const key = section.flags[flag];
      it(`${words.join(' ')} of a file with ${section.name} ${'why' in key ? 'is refused by name' : 'is a key of it'}`, async () => {
        const { exitCode, stdout, stderr } = await jobctl(['submit', file, '--dry-run', ...words]);
        if ('why' in key) {
          assert.equal(exitCode, 2);
          assert.equal(stdout, '');
          const refusal = `${words[0]}: is not for machines of the section ${section.name}: ${key.why}\n  ${key.instead}\n`;
          assert.equal(stderr, refusal);
          return;
        }
        assert.deepEqual([exitCode, stderr], [0, '']);
        const written: unknown = parse(stdout);
        const asked = valueAt(written, [section.name, ...key.path]);
        assert.deepEqual(
          asked ?? valueAt(written, [section.name, key.list?.key ?? '']),
          asked === undefined ? [value] : value,
        );
        const others = Object.keys(written as object).filter((name) => name !== section.name);
        assert.deepEqual(others, ['command']);
      });
    }
  }

  it('count as words of the section that --set gives', async () => {
    const file = join(folder, 'none.yaml');
    writeFileSync(file, JSON.stringify({ command: { run: 'true' } }));
    const set = ['--set', 'compute_engine.machine_type=n2-standard-4'];
    const { exitCode, stdout } = await jobctl(['submit', file, '--dry-run', ...set, '--zone', 'europe-west4-a']);
    assert.deepEqual(
      [exitCode, parse(stdout)],
      [0, { command: { run: 'true' }, compute_engine: { machine_type: 'n2-standard-4', zone: 'europe-west4-a' } }],
    );
  });

  it('name themselves where their value is wrong', async () => {
    const file = join(folder, 'compute-engine.yaml');
    const zone = await jobctl(['submit', file, '--dry-run', '--zone', 'any']);
    assert.match(zone.stderr, /^--zone: compute_engine\.zones: any is for tpu: /);
    const pricing = await jobctl(['submit', file, '--dry-run', '--pricing', 'cheap']);
    assert.match(pricing.stderr, /^--pricing: compute_engine\.pricing: 'cheap' /);
    assert.deepEqual([zone.exitCode, pricing.exitCode], [2, 2]);
  });
});
