import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jobFile } from '../../end-to-end/job-files.js';
import { ServerStack } from '../../server/server-stack.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';

const VERSION = '4.32.5';
/** The issue asks for 10,000; each of the 30 operations gets as many. */
const CASES_PER_OPERATION = 350;
/** Fuzzers side by side, each with a seed of its own: one call at a time sees no call that holds up another. */
const AT_ONCE = 4;
/** Of the same, with names of jobs and pools that are there. */
const CASES_OF_OURS = 60;
const OURS = `
[dictionaries.jobs]
values = ["fuzzed-ended", "fuzzed-open"]
[parameters]
"path.id" = { dictionary = "jobs" }
"path.pool" = "default"
`;
const MOST_MS = 40 * 60_000;
const CHECKS =
  'not_a_server_error,content_type_conformance,response_schema_conformance,status_code_conformance,ignored_auth';

interface Ended {
  readonly code: number | string;
  readonly output: string;
}
const run = (program: string, args: readonly string[], timeout: number): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(program, [...args], { timeout, maxBuffer: 256 * 1024 * 1024 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : (error.code ?? 'killed'), output: `${stdout}\n${stderr}` }),
    );
  });

/** Random calls from the OpenAPI document, by npm's opposite number: `schemathesis` of PyPI, which knows nothing of us. */
describe('calls that a fuzzer makes of the OpenAPI document', function () {
  this.timeout(MOST_MS + 120_000);
  let stack: ServerStack;
  let folder: string;
  /** Calls by their status. */
  const counted = new Map<number, number>();
  before(async function () {
    this.timeout(TEMPORAL_START_MS + 180_000);
    folder = mkdtempSync(join(tmpdir(), 'jobctl-fuzz-'));
    const made = await run('python3', ['-m', 'venv', join(folder, 'venv')], 120_000);
    assert.equal(made.code, 0, made.output);
    const installed = await run(
      join(folder, 'venv/bin/pip'),
      ['install', '--quiet', `schemathesis==${VERSION}`],
      180_000,
    );
    assert.equal(installed.code, 0, installed.output);
    stack = await ServerStack.start({
      serverConfig: () => ({
        limits: {
          ...{ requestsPerMinute: 1_000_000, submitsPerMinute: 1_000_000, refusedLoginsPerMinute: 1_000_000 },
          followedLogs: 1_000,
        },
      }),
    });
  });
  after(async () => {
    await stack?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** All phases but one of the fuzzer, with its verdict and what the server said. */
  async function fuzz(parameters: string, cases: number): Promise<void> {
    const token = await stack.issuer.token({ email: 'olga@example.org', lifetimeS: 7_200 });
    const config = join(folder, 'schemathesis.toml');
    writeFileSync(config, parameters);
    const before = stack.allOfLog().length;
    const what = ['run', `${stack.urls[0]}/openapi.json`, '--checks', CHECKS, '--phases', 'examples,coverage,fuzzing'];
    const how = ['--max-examples', String(Math.ceil(cases / AT_ONCE)), '--header', `Authorization: Bearer ${token}`];
    // In processes: with two workers in one, CPython 3.11's parser now and then fails in both (gh-106905), and schemathesis calls that an error.
    const more = ['--workers', '1', '--continue-on-failure', '--suppress-health-check', 'all'];
    const program = join(folder, 'venv/bin/schemathesis');
    const runs = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) =>
        run(program, ['--config-file', config, ...what, ...how, ...more, '--seed', String(index + 1)], MOST_MS),
      ),
    );
    const output = runs.map((each) => each.output).join('\n');
    const log = stack.allOfLog().slice(before);
    const keep = process.env['JOBCTL_FUZZ_OUTPUT'];
    if (keep !== undefined) appendFileSync(keep, `${output}\n${log}`);
    const statuses = statusesIn(log);
    for (const status of statuses) counted.set(status, (counted.get(status) ?? 0) + 1);
    console.log(`        ${statuses.length} calls: ${countsOf(statuses)}`);
    for (const { code, output: own } of runs) assert.equal(code, 0, own.slice(-12_000));
    assert.deepEqual(
      statuses.filter((status) => status >= 500),
      [],
    );
    assert.ok(!/\n {4}at .*\.[tj]s:\d+/.test(output), 'a stack trace was answered');
  }

  it('are all answered as the document says: no fault of the server, no stack trace', async () => {
    await fuzz('', CASES_PER_OPERATION);
    const total = [...counted.values()].reduce((sum, count) => sum + count, 0);
    assert.ok(total >= 10_000, `${total} calls`);
  });

  it('so are those of jobs that are there, which get past the first look', async () => {
    const alice = 'alice@example.org';
    const tpu = { accelerator: 'v5litepod-1' };
    for (const [name, command] of Object.entries({ 'fuzzed-ended': 'echo hi', 'fuzzed-open': 'sleep 3600' })) {
      const job = jobFile(command, { project: 'vision', tpu });
      const submitted = await stack.call(alice, 'POST', '/v1/jobs', { job, name });
      assert.equal(submitted.status, 201, submitted.text);
    }
    const found = counted.get(200) ?? 0;
    await fuzz(OURS, CASES_OF_OURS);
    assert.ok((counted.get(200) ?? 0) > found + CASES_OF_OURS, 'most of them found their job');
  });

  it('and the next job runs', async () => {
    const alice = 'alice@example.org';
    const job = jobFile('echo hi', { project: 'vision', tpu: { accelerator: 'v5litepod-1' } });
    await stack.call('olga@example.org', 'POST', '/v1/pools/default/admission', { admission: 'open' });
    const { body, text } = await stack.call(alice, 'POST', '/v1/jobs', { job });
    const id = String(body['id'] ?? assert.fail(text));
    const ended = await until(
      `${id} has ended`,
      async () => {
        const answer = await stack.call(alice, 'GET', `/v1/jobs/${id}/wait?timeoutMs=10000`);
        return answer.body['isOver'] === true ? answer.body : undefined;
      },
      120_000,
    );
    assert.equal((ended['outcome'] as Record<string, unknown>)['result'], 'succeeded');
  });
});

const statusesIn = (log: string): readonly number[] =>
  log
    .split('\n')
    .filter((line) => line.includes('"msg":"answered"'))
    .map((line) => Number(/"status":(\d+)/.exec(line)?.[1]));

const countsOf = (statuses: readonly number[]): string =>
  [...new Set(statuses)]
    .toSorted((a, b) => a - b)
    .map((status) => `${status} ${statuses.filter((one) => one === status).length}`)
    .join(', ');
