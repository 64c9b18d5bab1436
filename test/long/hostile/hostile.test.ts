import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { jobFile } from '../../end-to-end/job-files.js';
import { ACCESS, ServerStack } from '../../server/server-stack.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import type { CrowdOrder } from './crowd.js';

const MINUTES = Number(process.env['JOBCTL_HOSTILE_MINUTES'] ?? 30);
const MEMBERS = 20;
const LINES = 20;
/** Of each honest member. Its VM takes the same processors as the server that is judged. */
const JOB_EVERY_MS = 90_000;
/** A deadline, no measure. */
const CALL_MS = 90_000;
/** Of /proc/PID/stat, on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;
const SEED = Number(process.env['JOBCTL_HOSTILE_SEED'] ?? 1);

/** honest-N are members of vision, mallory-N of speech, by patterns: in verified mode an address alone is literal. */
const QUOTA = `
[toml-schema]
version = "1"
[[total_resources]]
v5litepod = 64
[project_resources.vision]
v5litepod = 0.5
[project_resources.speech]
v5litepod = 0.5
[project_membership]
vision = ["honest-[0-9]+@example[.]org"]
speech = ["mallory-[0-9]+@example[.]org"]
`;

/** What speech borrows while nobody asks it keeps for ten minutes, by rule 6 of docs/quota.md. */
const POOL_FILE = `${ACCESS}
[borrowing_limits.speech]
v5litepod = 0
`;

type Call = 'submit' | 'list' | 'status' | 'healthz' | 'whole job';

/** What the honest members saw in one phase: durations in ms, and what was not as it should be. */
interface Seen {
  readonly ms: Map<Call, number[]>;
  readonly wrong: string[];
  jobs: number;
}

/** What it took is stated; only what must hold is a condition. */
describe(`${MEMBERS} hostile members beside ${MEMBERS} honest ones, ${MINUTES} minutes`, function () {
  this.timeout((2 * MINUTES + 15) * 60_000);
  let stack: ServerStack;
  const memory: number[] = [];
  let watch: NodeJS.Timeout | undefined;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    // On two cores a heartbeat may be late without a reason of ours.
    const timings = { heartbeatTimeoutMs: 30_000 };
    stack = await ServerStack.start({ quota: QUOTA, poolFile: POOL_FILE, isCloudApart: true, timings });
  });
  after(() => {
    clearInterval(watch);
    return stack?.stop();
  });

  it('every honest job is as without them, every honest call is answered, and memory stays flat', async () => {
    const control = await honest(stack, Math.max(1, MINUTES / 6), 'quiet');
    say('quiet', control);
    watch = setInterval(() => memory.push(memoryOf(stack)), 5_000).unref();
    const crowd = await hostileCrowd(stack, 'quiet-0-0');
    const before = processorSeconds(stack, crowd.pid);
    const beside = await honest(stack, MINUTES, 'beside');
    const used = processorSeconds(stack, crowd.pid).map(([name, s], index) => [name, s - (before[index]?.[1] ?? 0)]);
    crowd.kill('SIGTERM');
    const attacks = (await json(crowd.stdout ?? assert.fail())) as Record<string, Record<string, number>>;
    say('beside', beside);
    const afterwards = await honest(stack, 1, 'after');
    say('after', afterwards);

    console.log(`        seconds of processors beside them: ${used.map(([name, s]) => `${name} ${s}`).join(', ')}`);
    for (const [name, counts] of Object.entries(attacks)) console.log(`        ${name}: ${JSON.stringify(counts)}`);
    console.log(`        memory of the server in MiB, each 5 s: ${memory.map(Math.round).join(' ')}`);
    assert.deepEqual([...control.wrong, ...beside.wrong, ...afterwards.wrong], []);
    const made = Object.values(attacks).flatMap((counts) => Object.values(counts));
    assert.ok(Object.keys(attacks).length > 15, 'the attacks were made');
    assert.ok(made.reduce((sum, count) => sum + count, 0) > 100 * MINUTES, 'and many of them');
    const half = memory.length >> 1;
    const [early, late] = [memory.slice(half >> 1, half), memory.slice(half)].map((part) => Math.max(...part));
    assert.ok(
      (late ?? 0) <= 1.25 * (early ?? 0) + 20,
      `most memory ${early} MiB in the second quarter, ${late} MiB later`,
    );
  });
});

/** Each honest member submits, looks, waits and reads the log, again and again. */
async function honest(stack: ServerStack, minutes: number, phase: string): Promise<Seen> {
  const seen: Seen = { ms: new Map(), wrong: [], jobs: 0 };
  const end = Date.now() + minutes * 60_000;
  await Promise.all(
    Array.from({ length: MEMBERS }, async (_, index) => {
      await pause((index * Math.min(JOB_EVERY_MS, minutes * 60_000)) / MEMBERS);
      for (let round = 0; ; round += 1) {
        const next = Date.now() + JOB_EVERY_MS;
        await oneJob(stack, seen, index, `${phase}-${index}-${round}`).catch((error: unknown) => {
          seen.wrong.push(`${phase}-${index}-${round}: ${String(error)}`);
        });
        if (next >= end) return;
        await pause(next - Date.now());
      }
    }),
  );
  return seen;
}

async function oneJob(stack: ServerStack, seen: Seen, index: number, name: string): Promise<void> {
  const who = `honest-${index}@example.org`;
  const timed = async (call: Call, method: string, path: string, body?: unknown) => {
    const began = performance.now();
    const late = pause(CALL_MS, undefined, { ref: false }).then(() =>
      assert.fail(`${call}: no answer in ${CALL_MS / 1000} s`),
    );
    const answer = await Promise.race([stack.call(who, method, path, body), late]);
    seen.ms.set(call, [...(seen.ms.get(call) ?? []), performance.now() - began]);
    assert.ok(answer.status < 300, `${call}: ${answer.status} ${answer.text.slice(0, 300)}`);
    return answer;
  };
  const run = `for i in $(seq ${LINES}); do echo "line $i of ${name}"; sleep 0.2; done`;
  const began = performance.now();
  const job = jobFile(run, { project: 'vision', tpu: { accelerator: 'v5litepod-1' } });
  await timed('submit', 'POST', '/v1/jobs', { job, name });
  for (;;) {
    await pause(1_000);
    await timed('healthz', 'GET', '/healthz');
    await timed('list', 'GET', `/v1/jobs?name=${encodeURIComponent(`${name.split('-')[0]}-${index}-*`)}&limit=20`);
    const { body } = await timed('status', 'GET', `/v1/jobs/${name}/wait?timeoutMs=0`);
    if (body['isOver'] !== true) continue;
    const outcome = body['outcome'] as { readonly result: string; readonly attempts: number };
    assert.deepEqual([outcome.result, outcome.attempts], ['succeeded', 1], JSON.stringify(outcome));
    break;
  }
  seen.ms.set('whole job', [...(seen.ms.get('whole job') ?? []), performance.now() - began]);
  const log = await stack.call(who, 'GET', `/v1/jobs/${name}/logs?host=0`);
  const wanted = Array.from({ length: LINES }, (_, line) => `line ${line + 1} of ${name}\n`).join('');
  assert.equal(log.text, wanted, 'its log');
  seen.jobs += 1;
}

async function hostileCrowd(stack: ServerStack, victim: string): Promise<ChildProcess> {
  const tokens = await Promise.all(
    Array.from({ length: MEMBERS }, (_, index) =>
      stack.issuer.token({ email: `mallory-${index}@example.org`, lifetimeS: 4 * 3_600 }),
    ),
  );
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  const program = fileURLToPath(new URL('crowd.ts', import.meta.url));
  // Theirs are other people's processors.
  const nice = ['-n', '19', process.execPath, '--import', tsx, program];
  const crowd = spawn('nice', nice, { stdio: ['pipe', 'pipe', 'inherit'] });
  const order: CrowdOrder = { url: stack.url, tokens, victims: [victim], seed: SEED };
  crowd.stdin.end(JSON.stringify(order));
  return crowd;
}

/** User and system, of each process that is there all the time. */
function processorSeconds(stack: ServerStack, crowd: number | undefined): readonly (readonly [string, number])[] {
  const of = {
    server: stack.pidOf(),
    worker: stack.stack.pid,
    rehearsal: stack.stack.cloudPid,
    crowd,
    test: process.pid,
  };
  return Object.entries(of).map(([name, pid]) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return [name, Math.round((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND)] as const;
  });
}

/** In MiB, resident. */
const memoryOf = (stack: ServerStack): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${stack.pidOf()}/status`, 'utf8'))?.[1]) / 1024;

function say(phase: string, { ms, jobs, wrong }: Seen): void {
  console.log(`        ${phase}: ${jobs} jobs, ${wrong.length} wrong`);
  for (const [call, times] of ms) {
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share: number): string => `${Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0)} ms`;
    console.log(`          ${call}: ${times.length}, median ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)}`);
  }
}
