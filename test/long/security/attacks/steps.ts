import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { until } from '../../../until.js';
import type { Attacked } from './attack.js';

/** Takes long enough on a machine of 2 cores that does other work too. */
const MOST_MS = 120_000;
const OVER = new Set(['succeeded', 'failed', 'cancelled', 'terminated']);
let count = 0;
export const newName = (finding: string): string => `${finding.toLowerCase()}-${process.pid}-${count++}`;

export const jobOf = ({ pool }: Attacked, command: string, more: object = {}): object => ({
  ...{ name: 'attack', pool, project: 'vision', command: { run: command } },
  tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a', allocation_mode: 'queued-resources', pricing: 'spot' },
  ...more,
});

export function jobFileOf(attacked: Attacked, job: object): string {
  const file = join(attacked.scratch(), 'job.yaml');
  writeFileSync(file, stringify(job));
  return file;
}

/** In Temporal, as docs/contract.md tells services to: nothing of the client's is asked. */
export async function startDirectly(
  { stack }: Attacked,
  workflowId: string,
  job: object,
  user: string,
  more: object = {},
): Promise<string> {
  const { client, taskQueue } = stack;
  await client.workflow.start('job', { workflowId, taskQueue, args: [{ v: 1, user, job }], ...more });
  return workflowId;
}

export interface Seen {
  readonly phase: string;
  readonly isOver: boolean;
  readonly text: string;
}

export async function statusOf(attacked: Attacked, id: string, who: string): Promise<Seen> {
  const { stdout, stderr } = await attacked.cli(who, 'status', id, '-o', 'json');
  if (stdout === '') return { phase: 'unknown', isOver: false, text: stderr };
  const { phase } = JSON.parse(stdout) as { phase: string };
  return { phase, isOver: OVER.has(phase), text: stdout };
}

export const untilIn = (attacked: Attacked, id: string, who: string, phase: string): Promise<Seen> =>
  until(
    `${id} is ${phase}`,
    async () => {
      const seen = await statusOf(attacked, id, who);
      if (seen.isOver && seen.phase !== phase) throw new Error(`${id} has ended: ${seen.text}`);
      return seen.phase === phase ? seen : undefined;
    },
    MOST_MS,
  );

export const untilOver = (attacked: Attacked, id: string, who: string): Promise<Seen> =>
  until(
    `${id} is over`,
    async () => {
      const seen = await statusOf(attacked, id, who);
      return seen.isOver ? seen : undefined;
    },
    MOST_MS,
  );

/** Submits by the command line, and waits for the end; its log. */
export async function loggedBy(attacked: Attacked, who: string, args: readonly string[]): Promise<string> {
  const [name = ''] = args.slice(args.indexOf('--name') + 1);
  const { exitCode, stderr } = await attacked.cli(who, 'submit', ...args);
  if (exitCode !== 0) return stderr;
  const { text } = await untilOver(attacked, name, who);
  const { stdout } = await attacked.cli(who, 'logs', name);
  return `${stdout}\n${text}`;
}

/** The old command line asks nobody. */
export const withoutAsking = ({ isOld }: Attacked): readonly string[] => (isOld ? [] : ['--yes']);

/** So that its lease and its machines are not in the way of the next attack. */
export async function endJob(attacked: Attacked, id: string, who: string): Promise<void> {
  await attacked.cli(who, 'cancel', id, ...withoutAsking(attacked));
  await untilOver(attacked, id, who);
}

/** What a message says first; whole outputs are no rows of a table. */
export const firstLine = (text: string): string => (text.trim().split('\n')[0] ?? '').slice(0, 200);
