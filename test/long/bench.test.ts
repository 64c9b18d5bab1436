import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endProcessesOf, processesOf } from '../../bench/page/own-processes.js';
import type { PageRow } from '../../bench/page/table.js';

const ROOT = join(import.meta.dirname, '../..');

/** Runs of `npm run bench` with a temporary folder of their own, by which all that they leave can be found. */
describe('npm run bench', function () {
  this.timeout(300_000);
  let folder: string;
  let bench: ChildProcess;
  let output: string;

  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'jobctl-bench-test-'))));
  afterEach(async () => {
    bench.kill('SIGKILL');
    await endProcessesOf(folder);
    rmSync(folder, { recursive: true, force: true });
  });

  function start(...args: readonly string[]): Promise<number | null> {
    output = '';
    bench = spawn(process.execPath, ['--import', 'tsx', 'bench/main.ts', ...args], {
      cwd: ROOT,
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [bench.stdout, bench.stderr])
      stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    return new Promise((resolve) => bench.once('close', resolve));
  }

  const printed = (text: string): Promise<void> =>
    new Promise((resolve) => bench.stderr?.on('data', () => output.includes(text) && resolve()));

  function assertNothingIsLeft(): void {
    assert.deepEqual(processesOf(folder), []);
    // tsx keeps what it compiled there.
    assert.deepEqual(
      readdirSync(folder).filter((name) => !name.startsWith('tsx-')),
      [],
    );
  }

  it('prints the rows of a part, writes them with every round, and leaves nothing', async () => {
    const json = join(folder, 'rows.json');
    assert.equal(await start('--only', 'decisions', '--json', json), 0, output);
    const { rows } = JSON.parse(readFileSync(json, 'utf8')) as { readonly rows: readonly PageRow[] };
    assert.equal(rows.length, 6);
    rmSync(json);
    for (const row of rows) assert.ok('ms' in row && row.ms.length === 5 && output.includes(row.what), output);
    assertNothingIsLeft();
  });

  for (const [when, text] of Object.entries({
    'while the stack starts': 'starting a local stack',
    'beside a stack with jobs': 'cli: warming up',
  }))
    it(`leaves nothing when it is interrupted ${when}`, async () => {
      const ended = start('--only', 'cli,submit');
      await Promise.race([printed(text), ended]);
      bench.kill('SIGINT');
      assert.equal(await ended, 130, output);
      assertNothingIsLeft();
    });
});
