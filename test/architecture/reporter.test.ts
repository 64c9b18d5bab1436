import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NOISE = `console.log('NOISE'); require('node:child_process').execSync('echo NOISE >&2', { stdio: 'inherit' });`;
/** The tests of `npm test` load what is compiled: so do these. */
const LOADER = 'jobctlCompiledSources' in globalThis ? ['--config', 'test/compiled.mocharc.cjs'] : [];

describe('the output of tests that run side by side', function () {
  this.timeout(60_000);
  let folder: string;
  before(() => void (folder = mkdtempSync(join(tmpdir(), 'reporter-'))));
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Runs these files as `npm test` does, each the body of a test. */
  function mocha(bodies: Readonly<Record<string, string>>): Promise<string> {
    const files = Object.entries(bodies).map(([name, body]) => {
      const file = join(folder, `${name}.test.cjs`);
      writeFileSync(file, `${NOISE}\ndescribe('${name}', () => { it('does', () => { ${NOISE} ${body} }); });\n`);
      return file;
    });
    const args = [join(ROOT, 'node_modules/mocha/bin/mocha.js'), '--parallel', '--jobs', '2', ...LOADER, ...files];
    const env = { ...process.env, TMPDIR: folder };
    return new Promise((resolve) => {
      execFile(process.execPath, args, { cwd: ROOT, env }, (_error, stdout, stderr) => resolve(stdout + stderr));
    });
  }

  it('is a count for each file, the last 40 lines of what one printed that failed, and a closing line', async () => {
    const loud = `for (let line = 0; line < 100; line++) console.log('line ' + line); throw new Error('wrong');`;
    const output = await mocha({ one: '', two: '', bad: loud });
    for (const count of ['one.test.cjs 1', 'two.test.cjs 1', 'bad.test.cjs 0, 1 failed'])
      assert.match(output, new RegExp(`[:·] ${count}( ·|\n)`));
    // What tests and their children print is not in it.
    assert.doesNotMatch(output, /NOISE/);
    assert.match(output, /\nFAILED \S+bad\.test\.cjs: bad does\n/);
    assert.match(output, /\n {2}1 failing\n\n {2}1\) bad\n {7}does:\n {5}Error: wrong\n/);
    const [, log = '', shown = ''] =
      /\n(\S+), its end:\n((?: {2}\| .*\n)+)CPU seconds of files: .*\n2 passed, 1 failed\n$/.exec(output) ?? [];
    assert.equal(log, join(dirname(log), `${relative(ROOT, join(folder, 'bad.test.cjs')).replaceAll('/', '-')}.log`));
    assert.deepEqual(
      shown.trimEnd().split('\n'),
      Array.from({ length: 40 }, (_, at) => `  | line ${60 + at}`),
    );
    assert.ok(existsSync(log));
    assert.match(readFileSync(log, 'utf8'), /^NOISE\nNOISE\nline 0\n/);
  });
});
