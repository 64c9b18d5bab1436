import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { jobFileText } from '../../cli/job/job-file.js';
import { parseJobFile, parseJobFlags } from '../../domain/job-file/parse.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';
import { jobctl } from './command-line.js';

const run = promisify(execFile);
const FLAGS = ['--tpu', 'v5litepod-16', '--zone', 'us-central1-a'];

/** The command line that a job of these words runs on its hosts, read from the job file that it stands for. */
function lineOf(command: readonly string[]): string {
  const overrides = { tpu: 'v5litepod-16', zone: 'us-central1-a', command, isLiteral: true };
  const job = parseJobFlags({ file: 'flags', env: {}, overrides });
  assert.ok(job.ok, JSON.stringify(job));
  const read = parseJobFile(jobFileText(job.raw), { file: 'job.yaml', env: {} });
  assert.ok(read.ok, JSON.stringify(read));
  assert.deepEqual([read.raw, read.spec], [job.raw, job.spec]);
  return read.spec.command?.run ?? '';
}

/** What a program gets as its arguments when bash runs the line. */
async function argumentsOf(line: string): Promise<readonly string[]> {
  const { stdout } = await run('bash', ['-lc', line], { maxBuffer: 1 << 24, env: { PATH: process.env['PATH'] } });
  return stdout.split('\0').slice(0, -1);
}
const PRINT = ['printf', '%s\\0'];

/** Text that shells, YAML and job files each have an eye on; no program can be given a NUL. */
const PIECES = [
  ...["'", '"', '\\', '$', '`', '!', '*', '?', '~', '#', '&', '|', ';', '<', '>', '(', ')', '{', '}', '[', ']'],
  ...[' ', '\t', '\n', '\r', '\u0085', '\u2028', '\ufeff', '\u007f', '\u001b', ':', ': ', '- ', '%', '@', '=', ','],
  ...['${tpu.zone}', '\\${tpu.zone}', '${oc.env:HOME}', '${HOME}', '$HOME', '$(id)', '<<EOF', '---', '...', 'null'],
  ...['--', '-', 'a', 'Ω', '日本', '🎉', '1', '0x1', 'true', '~/x', "'\\''", '|-', '>', '"a"', '${a.b', '${tpu.name}'],
];
const word = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => pieces.join('')),
  fc
    .string({ unit: 'grapheme', maxLength: 20 })
    .filter((text) => !text.includes('\0') && Buffer.from(text).toString() === text),
);

describe('a job without a file', function () {
  this.timeout(60_000);

  it('on a rehearsed cloud asks in the first zone that has its type; elsewhere it names none', async () => {
    const home = mkdtempSync(join(tmpdir(), 'no-zone-'));
    const zoneOf = async (...words: readonly string[]): Promise<string | undefined> => {
      const { stdout } = await jobctl(['submit', '--dry-run', ...words, '--', 'true'], {
        JOBCTL_HOME: home,
        HOME: home,
      });
      return /^ +zone: (\S+)$/m.exec(stdout)?.[1];
    };
    try {
      const zones = ['tpu-v4-8', 'v5e-16', 'v6e-8', 'v5p-64'].map((type) => zoneOf('--local', '--tpu', type));
      assert.deepEqual(await Promise.all(zones), ['us-central2-b', 'us-central1-a', 'us-central1-b', 'us-central1-a']);
      assert.equal(await zoneOf('--local', '--tpu', 'v4-8', '--zone', 'us-west4-a'), 'us-west4-a');
      assert.equal(await zoneOf('--tpu', 'v4-8'), undefined);
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  it('argv in is argv out, through the job file and bash', async function () {
    this.timeout(180_000);
    let withReference = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 6 }), async (words) => {
        if (words.some((text) => /\$\{tpu\.\w+\}/.test(text))) withReference++;
        assert.deepEqual(await argumentsOf(lineOf([...PRINT, ...words])), words);
      }),
      { numRuns: 60 },
    );
    assert.ok(withReference > 0, `${withReference} runs had a reference of job files`);
  });

  it('a single word is a shell line, as behind a file', async () => {
    const line = lineOf([`printf '%s\\0' "$((1 + 2))" '\${x}'`]);
    assert.deepEqual(await argumentsOf(line), ['3', '${x}']);
  });

  it('--dry-run prints the job file that it stands for, and validate takes it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'by-flags-'));
    const flags = [...FLAGS, '--spot', '--slices', '2', '--project', 'vision', '--priority', '2', '--set', 'env.LR=3'];
    const words = ['--', 'python3', 'train.py', '--note', "it's a test", '--at', '${tpu.zone}'];
    const { exitCode, stdout, stderr } = await jobctl(['submit', ...flags, '--dry-run', ...words]);
    assert.deepEqual([exitCode, stderr], [0, '']);
    assert.equal(
      stdout,
      [
        ...['env:', '  LR: 3', 'project: vision', 'priority: 2', 'slices: 2'],
        ...['tpu:', '  accelerator: v5litepod-16', '  zone: us-central1-a', '  pricing: spot'],
        ...['command:', `  run: python3 train.py --note 'it'\\''s a test' --at '$''{tpu.zone}'`, ''],
      ].join('\n'),
    );
    const file = join(folder, 'job.yaml');
    writeFileSync(file, stdout);
    const validated = await jobctl(['validate', file]);
    rmSync(folder, { recursive: true });
    assert.equal(validated.exitCode, 0, validated.stderr);
    assert.match(validated.stdout, /slice +2 x v5litepod-16: 32 chips on 8 hosts/);
  });

  it('the file of --dry-run is the same job: the same name takes both', async function () {
    this.timeout(TEMPORAL_START_MS);
    const folder = mkdtempSync(join(tmpdir(), 'by-flags-'));
    const { address, namespace } = await testServer();
    const name = `by-flags-${process.pid}`;
    const environment = {
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      JOBCTL_TASK_QUEUE: name,
      HOME: folder,
    };
    const job = ['submit', ...FLAGS, '--pricing', 'ondemand', '--user', 'alice'];
    const words = ['--', 'echo', 'a b', "it's"];
    const dry = await jobctl([...job, '--dry-run', ...words]);
    const file = join(folder, 'job.yaml');
    writeFileSync(file, dry.stdout);
    const byFlags = await jobctl([...job, '--name', name, '--no-verdict', ...words], environment);
    const byFile = await jobctl(['submit', file, '--name', name, '--no-verdict'], environment);
    const other = await jobctl([...job, '--name', name, '--no-verdict', ...words, 'more'], environment);
    await jobctl(['cancel', name], environment);
    rmSync(folder, { recursive: true });
    assert.deepEqual([byFlags.exitCode, byFlags.stdout], [0, `${name}\n`], byFlags.stderr);
    assert.doesNotMatch(byFlags.stderr, /submitted before/);
    assert.deepEqual([byFile.exitCode, byFile.stdout], [0, `${name}\n`], byFile.stderr);
    assert.match(byFile.stderr, /was submitted before with the same content: it is that job/);
    assert.equal(other.exitCode, 4, other.stderr);
  });
});
