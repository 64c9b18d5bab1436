import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ServerStack } from '../server/server-stack.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { InstalledWheel } from '../python/wheel.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PEOPLE = ['alice', 'bob', 'vera', 'olga', 'mallory'] as const;

/** The wheel as its users have it: built, installed into a new environment with packages of PyPI, and no source beside it. */
describe('the Python package', function () {
  this.timeout(600_000);
  let scratch: string;
  let wheel: InstalledWheel;
  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> => wheel.run(args, env);

  before(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'jobctl-python-'));
    wheel = await InstalledWheel.install(scratch, ['mypy==2.4.1', 'pytest==9.*', 'ruff==0.16.*']);
    for (const name of ['tests', 'pyproject.toml'])
      cpSync(join(ROOT, 'python', name), join(scratch, name), { recursive: true });
    cpSync(join(ROOT, 'examples/python-http'), join(scratch, 'example'), { recursive: true });
  });
  after(() => rmSync(scratch, { recursive: true, force: true }));

  it('passes the strictest type check, with its tests and its example, from the wheel', async () => {
    assert.match(await run(['-m', 'mypy', '--strict', '-p', 'jobctl']), /Success/);
    assert.match(await run(['-m', 'mypy', '--strict', 'tests', 'example']), /Success/);
  });

  it('passes its linter and formatter', async () => {
    await run(['-m', 'ruff', 'check', 'package']);
    await run(['-m', 'ruff', 'format', '--check', 'package']);
  });

  it('passes its own tests, against a server on loopback that fails as told', async () =>
    assert.match(await run(['-m', 'pytest', '-q', '-p', 'no:cacheprovider']), /\d{3} passed in/));

  describe('against a real server', () => {
    let stack: ServerStack;
    let place: string;
    before(async function () {
      this.timeout(TEMPORAL_START_MS);
      stack = await ServerStack.start();
      const named = PEOPLE.map(async (name) => [name, await stack.issuer.token({ email: `${name}@example.org` })]);
      const expired = await stack.issuer.token({ email: 'alice@example.org', lifetimeS: -60 });
      const tokens = { ...(Object.fromEntries(await Promise.all(named)) as object), expired };
      place = join(scratch, 'place.json');
      writeFileSync(place, JSON.stringify({ url: stack.urls[0], tokens }));
    });
    after(() => stack?.stop());

    it('both clients do all that the interface has', async () => {
      const env = { JOBCTL_TEST_PLACE: place };
      const printed = await run(['-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'tests/real'], env);
      assert.match(printed, /^\d+ passed in/m);
    });

    it('the example submits a job, shows its log and its end', async () => {
      const token = await stack.issuer.token({ email: 'alice@example.org' });
      const env = { JOBCTL_SERVER: stack.urls[0], JOBCTL_ID_TOKEN: token };
      const printed = await run(['example/submit_over_http.py', 'http-job'], env);
      assert.match(printed, /^submitted http-job\n[\s\S]*training with learning rate 0.001[\s\S]*http-job succeeded/);
    });

    it('every Python program of the documentation runs', async () => {
      const token = await stack.issuer.token({ email: 'alice@example.org' });
      const env = { JOBCTL_SERVER: stack.urls[0], JOBCTL_ID_TOKEN: token };
      writeFileSync(join(scratch, 'job.yaml'), JOB_YAML);
      const programs = ['python/README.md', 'docs/python.md'].flatMap((page) => pythonBlocks(join(ROOT, page)));
      assert.equal(programs.length, 8);
      const files = programs.map((_, index) => `program_${index}.py`);
      for (const [index, program] of programs.entries()) writeFileSync(join(scratch, files[index] ?? ''), program);
      await run(['-m', 'mypy', '--strict', ...files]);
      for (const file of files) assert.notEqual((await run([file], env)).trim(), '', file);
    });
  });
});

const JOB_YAML = `name: documented
project: vision
tpu: { accelerator: v5litepod-1, zone: us-central1-a, allocation_mode: queued-resources, pricing: spot }
command: { run: "echo done | tee $JOBCTL_OUTPUT_DIR/file" }
`;

/** Each is a whole program; the server and the login are the test's. */
const pythonBlocks = (page: string): readonly string[] =>
  [...readFileSync(page, 'utf8').matchAll(/^```python\n([\s\S]*?)^```$/gm)].map(([, program = '']) =>
    program.replaceAll('"https://jobctl.example.org", ', '').replaceAll('auth.from_cli()', 'auth.from_env()'),
  );
