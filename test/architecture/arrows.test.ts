import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDERS = [
  'domain',
  'quota',
  'contract',
  'workflows',
  'activities',
  'cloud',
  'worker',
  'server',
  'client',
  'cli',
  'rehearsal',
  'test',
  'bench',
  'chaos',
];

/** Each in a file of its own: what is wrong to import from there, and the rule that must say so. */
const FAULTS: readonly (readonly [file: string, imported: string, rule: string])[] = [
  ['domain/a.ts', "import '../quota/ok.js';", 'domain: imports only'],
  ['domain/b.ts', "import 'node:fs';", 'no Node built-in'],
  ['quota/a.ts', "import type { A } from '../workflows/ok.js'; export type B = A;", 'quota: imports only'],
  ['contract/a.ts', "import type { A } from '../workflows/ok.js'; export type B = A;", 'contract: imports only'],
  ['contract/b.ts', "import type { A } from '../cloud/machines/port.js'; export type B = A;", 'contract: imports only'],
  ['workflows/a.ts', "import type { A } from '../activities/ok.js'; export type B = A;", 'workflows: imports only'],
  ['workflows/b.ts', "import type { A } from '../client/ok.js'; export type B = A;", 'workflows: imports only'],
  ['workflows/c.ts', "import 'node:crypto';", 'no Node built-in'],
  ['activities/a.ts', "import '../cloud/machines/cloud-tpu/google.js';", 'activities: imports only'],
  ['activities/b.ts', "import '../workflows/ok.js';", 'activities: imports only'],
  ['cloud/a.ts', "import '../activities/ok.js';", 'cloud: imports only'],
  ['worker/a.ts', "import '../client/ok.js';", 'worker: imports only'],
  ['client/a.ts', "import '../cloud/machines/cloud-tpu/google.js';", 'client: imports only'],
  ['client/b.ts', "import type { A } from '../workflows/ok.js'; export type B = A;", 'client: imports only'],
  ['cli/a.ts', "import { A } from '../worker/ok.js'; export const b = A;", 'cli: loads worker/'],
  ['cli/terminal/a.ts', "import type { A } from '../place/ok.js'; export type B = A;", 'cli/terminal: imports only'],
  ['cli/jobs/a.ts', "export const run = () => import('../commands/ok.js');", 'cli/jobs: imports only'],
  ['cli/commands/a.ts', "import '../ok.js';", 'cli/commands: imports only'],
  ['client/g.ts', "import '../cli/ok.js';", 'client: imports only'],
  ['server/a.ts', "import '../cli/ok.js';", 'server: imports only'],
  ['rehearsal/a.ts', "import '../cloud/machines/port.js';", 'rehearsal: imports only'],
  ['rehearsal/b.ts', "import type { A } from '../domain/ok.js'; export type B = A;", 'rehearsal: imports only'],
  ['rehearsal/c.ts', "import './test/ok.js';", 'nothing imports test'],
  ['rehearsal/test/a.ts', "import '../../cloud/ok.js';", "the rehearsal's tests know nothing"],
  ['rehearsal/test/b.ts', "import '../../test/ok.js';", "the rehearsal's tests know nothing"],
  ['cli/b.ts', "import { A } from '../rehearsal/ok.js'; export const b = A;", 'cli: loads worker/'],
  ['client/e.ts', "import 'google-gax';", "what a user's computer gets needs only"],
  ['activities/c.ts', "import '@google-cloud/storage';", 'only cloud import'],
  ['client/c.ts', "import '../test/ok.js';", 'nothing imports test'],
  ['client/f.ts', "import '../chaos/ok.js';", 'nothing imports test'],
  [
    'chaos/oracle/a.ts',
    "import type { A } from '../../domain/ok.js'; export type B = A;",
    'the oracle of chaos imports',
  ],
  ['chaos/oracle/b.ts', "import '../ok.js';", 'the oracle of chaos imports'],
  ['chaos/oracle/c.ts', "import 'zod';", 'the oracle of chaos imports'],
  ['quota/b.ts', "import './c.js';", 'no cycles'],
  ['client/d.ts', "import './nowhere.js';", 'every import is found'],
];
/** What the arrows allow, and a rule that is too wide would refuse. */
const ALLOWED: Readonly<Record<string, string>> = {
  // The other half of a cycle, which is reported once.
  'quota/c.ts': "import './b.js';",
  'workflows/contract.ts': "import { A } from '../contract/ok.js'; export const b = A;",
  'cli/lazy.ts': "export const run = () => import('../worker/ok.js');",
  'cli/commands/below.ts': "import { A } from '../terminal/ok.js'; import '../jobs/ok.js'; export const b = A;",
  'rehearsal/test/helped.ts': "import '../../test/until.js'; import '../ok.js';",
  'test/of-rehearsal.ts': "import '../rehearsal/test/ok.js';",
  'chaos/oracle/own.ts': "import 'node:net'; import { A } from './ok.js'; export const b = A;",
  'chaos/play.ts': "import './oracle/ok.js'; import '../test/ok.js'; import '../rehearsal/ok.js';",
  'activities/port.ts': "import { A } from '../cloud/machines/port.js'; export const b = A;",
};

/** That the repository itself keeps them is `npm run check:arrows`. */
describe('the import arrows', function () {
  this.timeout(60_000);

  it('are judged in every folder: `check:arrows` names each', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const words = new Set(scripts['check:arrows']?.split(' '));
    assert.deepEqual(
      [...FOLDERS, 'ui', 'scripts'].filter((folder) => !words.has(folder)),
      [],
    );
  });

  let planted: string;
  before(() => {
    planted = mkdtempSync(join(tmpdir(), 'jobctl-arrows-'));
    for (const folder of FOLDERS) write(`${folder}/ok.ts`, '');
    for (const file of [
      'cloud/machines/port.ts',
      'cloud/machines/cloud-tpu/google.ts',
      'rehearsal/test/ok.ts',
      'chaos/oracle/ok.ts',
      'test/until.ts',
      'server/ok.ts',
      ...['terminal', 'place', 'jobs', 'commands'].map((floor) => `cli/${floor}/ok.ts`),
    ])
      write(file, '');
    for (const [file, imported] of [...FAULTS, ...Object.entries(ALLOWED)]) write(file, imported);
    for (const file of ['tsconfig.json', 'package.json']) copyFileSync(join(ROOT, file), join(planted, file));
    symlinkSync(join(ROOT, 'node_modules'), join(planted, 'node_modules'));
  });
  after(() => rmSync(planted, { recursive: true, force: true }));

  it(`are broken by each of ${FAULTS.length} planted faults, and by nothing else`, () => {
    const found = violations(planted, FOLDERS);
    for (const [file, , rule] of FAULTS)
      assert.ok(
        found.some((line) => line.startsWith(rule) && line.endsWith(file)),
        `${file}: not '${rule}' in\n${found.join('\n')}`,
      );
    const faulty = new Set(FAULTS.map(([file]) => file));
    assert.deepEqual(
      found.filter((line) => !faulty.has(line.split(' <- ')[1] ?? '')),
      [],
    );
  });

  function write(file: string, imported: string): void {
    mkdirSync(dirname(join(planted, file)), { recursive: true });
    writeFileSync(join(planted, file), `${imported}\nexport const A = '${file}';\n`);
  }
});

/** `rule <- file` of each violation. */
function violations(folder: string, folders: readonly string[]): readonly string[] {
  const program = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const args = [program, '--config', join(ROOT, '.dependency-cruiser.cjs'), '--output-type', 'json', ...folders];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 26 });
  assert.notEqual(stdout, '', stderr);
  const { summary } = JSON.parse(stdout) as { summary: { violations: { from: string; rule: { name: string } }[] } };
  return summary.violations.map(({ from, rule }) => `${rule.name} <- ${from}`);
}
