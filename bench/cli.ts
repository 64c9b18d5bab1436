/**
 * `npm run bench:cli [-- --jobs 10000] [-- --rounds 15] [-- --no-peers]`: measures wall time and memory of jobctl's own commands,
 * and in turn, in the same run, of `node -e 0` and of its neighbours' command lines. A figure that misses its aim is marked
 * MISSED. The exit code is 0 all the same, since figures of a busy machine prove nothing. Aims: issue "The first hour".
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fill } from './cli/filled-stack.js';
import { peersIn } from './cli/peers.js';
import { processCost, type ProcessCost } from './cli/process-cost.js';
import { JOBCTL, withLocalStack } from './start/local-stack.js';
import { median, spread } from './start/statistics.js';

const options = {
  jobs: { type: 'string', default: '10000' },
  rounds: { type: 'string', default: '15' },
  peers: { type: 'boolean', default: true },
} as const;
const { values } = parseArgs({ options, allowNegative: true });
const [jobs, rounds] = [wholeNumber('--jobs', values.jobs), wholeNumber('--rounds', values.rounds)];
const MOST_HELP_OVER_NODE = 3;
const MOST_LIST_MS = 500;

const folder = mkdtempSync(join(tmpdir(), 'jobctl-bench-cli-'));
const tell = (line: string): void => console.error(line);
console.log(`node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before, ${jobs} jobs\n`);
try {
  const peers = values.peers ? await peersIn(folder, tell) : [];
  const file = join(folder, 'job.yaml');
  writeFileSync(file, 'tpu: { accelerator: v5litepod-8, zone: us-central1-a }\ncommand: { run: sleep 600 }\n');
  const costs = await withLocalStack(async (env) => {
    tell(`submitting ${jobs} jobs`);
    await fill(env, jobs);
    const jobctl = (...args: readonly string[]): readonly string[] => [process.execPath, JOBCTL, ...args];
    // A job that a worker takes: `status` of the others would wait for a worker in vain.
    await processCost(jobctl('submit', file, '--name', 'taken'), env);
    let submitted = 0;
    const commands: Readonly<Record<string, () => readonly string[]>> = {
      'node -e 0': () => [process.execPath, '-e', '0'],
      'jobctl --help': () => jobctl('--help'),
      'jobctl validate FILE': () => jobctl('validate', file),
      'jobctl status JOB': () => jobctl('status', 'taken'),
      [`jobctl list, ${jobs} jobs`]: () => jobctl('list'),
      'jobctl submit, until its verdict': () => jobctl('submit', file, '--name', `verdict-${submitted++}`),
      ...Object.fromEntries(peers.map(({ title, command }) => [title, () => command])),
    };
    const taken = new Map<string, ProcessCost[]>();
    for (let round = 0; round <= rounds; round++) {
      tell(`round ${round} of ${rounds}`);
      for (const [title, command] of Object.entries(commands)) {
        const cost = await processCost(command(), env);
        // The first round warms the file cache.
        if (round > 0) taken.set(title, [...(taken.get(title) ?? []), cost]);
        if (title.startsWith('jobctl submit'))
          await processCost(jobctl('delete', `verdict-${submitted - 1}`, '--yes'), env);
      }
    }
    return taken;
  });
  const wallOf = (title: string): number => median((costs.get(title) ?? []).map(({ wallMs }) => wallMs));
  const node = wallOf('node -e 0');
  const quickestPeer = Math.min(...peers.map(({ title }) => wallOf(title)));
  for (const [title, all] of costs) {
    const wall = wallOf(title);
    const peak = median(all.map(({ peakMegabytes }) => peakMegabytes)).toFixed(0);
    const of = `${(wall / node).toFixed(1)}x of node -e 0, ${spread(all.map(({ wallMs }) => wallMs))} ms`;
    console.log(
      `${title.padEnd(36)}${wall.toFixed(0).padStart(7)} ms ${peak.padStart(5)} MB   ${of}${missed(title, wall, node)}`,
    );
  }
  for (const { title, installed } of peers)
    if (installed !== undefined)
      console.log(
        `${title.split(' ')[0]}: installed in ${installed.seconds.toFixed(0)} s, ${installed.megabytes.toFixed(0)} MB on disk`,
      );
  if (peers.length > 0) {
    const slower = [...costs.keys()].filter(
      (title) => title.startsWith('jobctl') && !title.includes('submit') && wallOf(title) > quickestPeer,
    );
    console.log(
      `slower than the quickest neighbour's help: ${slower.length === 0 ? 'nothing' : `MISSED: ${slower.join(', ')}`}`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`\nload ${loadavg()[0]?.toFixed(1)} after`);
process.exit(0);

function missed(title: string, wallMs: number, nodeMs: number): string {
  if (title === 'jobctl --help')
    return wallMs > MOST_HELP_OVER_NODE * nodeMs ? `   MISSED (aim ${MOST_HELP_OVER_NODE}x)` : '';
  if (title.startsWith('jobctl list')) return wallMs > MOST_LIST_MS ? `   MISSED (aim ${MOST_LIST_MS} ms)` : '';
  return '';
}

function wholeNumber(flag: string, text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new RangeError(`${flag}: '${text}' is no number; give a whole number, such as 100`);
}
