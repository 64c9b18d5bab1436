import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fill } from '../cli/filled-stack.js';
import { isInstalled } from '../fanout/peers.js';
import { wall } from '../start/command-line-times.js';
import { JOBCTL } from '../start/local-stack.js';
import { inTurn, timesOfWay } from './in-turn.js';
import type { Measured } from './table.js';

const JOBS = 200;
const ROUNDS = 7;
const FLOOR = 'node -e 0';
const OURS = ['jobctl --help', 'jobctl validate FILE', `jobctl list, ${JOBS} jobs`] as const;
const [HELP, VALIDATE, LIST] = OURS;
/** Command lines of neighbours that print without asking anybody, and how to get each. */
const NEIGHBOURS: Readonly<Record<string, { readonly program: string; readonly get: string }>> = {
  'gcloud --version': { program: 'gcloud', get: 'https://cloud.google.com/sdk/docs/install' },
  'sky --help': { program: 'sky', get: 'pip install skypilot' },
  'dstack --help': { program: 'dstack', get: 'pip install dstack' },
};

/** Whole processes, from start to end, on the stack of JOBCTL_HOME. */
export async function commandLine(tell: (step: string) => void): Promise<readonly Measured[]> {
  const file = join(mkdtempSync(join(tmpdir(), 'jobctl-bench-cli-')), 'job.yaml');
  writeFileSync(file, 'tpu: { accelerator: v5litepod-8, zone: us-central1-a }\ncommand: { run: sleep 600 }\n');
  tell(`submitting ${JOBS} jobs`);
  await fill(process.env, JOBS);
  const way = (name: string, ...command: readonly string[]) => ({ name, run: () => wall(command, process.env) });
  const jobctl = (name: string, ...args: readonly string[]) => way(name, process.execPath, JOBCTL, ...args);
  const here = Object.keys(NEIGHBOURS).filter((name) => isInstalled(NEIGHBOURS[name]?.program ?? ''));
  const times = await inTurn(
    [
      way(FLOOR, process.execPath, '-e', '0'),
      jobctl(HELP, '--help'),
      ...here.map((name) => ({ ...way(name, ...name.split(' ')), isPeer: true })),
      jobctl(VALIDATE, 'validate', file),
      jobctl(LIST, 'list'),
    ],
    { rounds: ROUNDS, warmUp: true, tell },
  );
  const floor = timesOfWay(times, FLOOR);
  const peers = Object.entries(NEIGHBOURS).map(
    ([name, { get }]) => times.find((timed) => timed.name === name) ?? { name, absent: get },
  );
  return OURS.map((name) => ({
    what: name,
    ms: timesOfWay(times, name).ms,
    peers: name === HELP ? peers : [],
    floor,
  }));
}
