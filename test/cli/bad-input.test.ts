import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_BAD_INPUT as ALL, LIBRARIES, prepared } from './all-bad-input.js';
import type { BadInput } from './bad-input.js';
import { jobctl, refusalOf, setEnvironment } from './command-line.js';

describe('bad input is refused with its place, its value and what to do', () => {
  let folder: string;
  let environment: NodeJS.ProcessEnv;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'cli-bad-input-'));
    mkdirSync(join(folder, 'folder'));
    environment = { ...process.env };
    for (const name of Object.keys(process.env)) if (/^(JOBCTL|TEMPORAL)_/.test(name)) delete process.env[name];
    process.env['JOBCTL_HOME'] = join(folder, 'no-stack');
    process.env['HOME'] = folder;
    // What is typed stands in messages.
    delete process.env['npm_command'];
  });
  after(() => {
    setEnvironment(environment);
    rmSync(folder, { recursive: true, force: true });
  });

  for (const [name, badInput] of Object.entries(ALL)) {
    it(name, async () => {
      const { args, wants } = prepared(folder, badInput);
      Object.assign(process.env, badInput.env);
      const refusal = await refusalOf(args);
      for (const variable of Object.keys(badInput.env ?? {})) delete process.env[variable];
      assert.deepEqual(refusal, { exitCode: 2, text: wants });
      assert.doesNotMatch(refusal.text, LIBRARIES);
    });
  }

  it('has 250 cases or more, and none of them passes for lack of a message', () => {
    const cases = Object.values(ALL);
    assert.ok(cases.length >= 250, String(cases.length));
    assert.deepEqual(
      cases.filter(({ wants }) => wants === ''),
      [],
    );
  });

  const THROUGH_THE_PROCESS = [
    'a wrong accelerator',
    'more than one problem',
    'an unknown flag',
    '--set with a wrong value',
    'a worker whose configuration is not there',
  ];
  it('the process prints the same on stderr, nothing on stdout, and exits 2', async function () {
    this.timeout(60_000);
    for (const name of THROUGH_THE_PROCESS) {
      const { args, wants } = prepared(folder, ALL[name] as BadInput);
      assert.deepEqual(await jobctl(args), { exitCode: 2, stdout: '', stderr: `${wants}\n` }, name);
    }
  });

  it('no stack trace, unless JOBCTL_DEBUG=1', async function () {
    this.timeout(20_000);
    const { stderr } = await jobctl(['validate', '/nonexistent.yaml'], { JOBCTL_DEBUG: '1' });
    assert.match(stderr, /^\/nonexistent.yaml: does not exist\n[^]*\nCliError: [^]*\n {4}at /);
  });

  it('a Temporal that is not there is told, with what to do', async function () {
    this.timeout(20_000);
    const { exitCode, stderr } = await jobctl(['list'], { TEMPORAL_ADDRESS: '127.0.0.1:1' });
    assert.equal(exitCode, 5);
    assert.match(
      stderr,
      /^Temporal at 127\.0\.0\.1:1 cannot be reached: nothing listens there\n {2}is the address right .*\n {2}start one with `jobctl dev up`, or set TEMPORAL_ADDRESS/,
    );
  });
});
