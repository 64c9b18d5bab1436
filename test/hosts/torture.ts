/** What a run must survive, whichever SSH server the host has: short in test/hosts, long in test/long. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HostConnection, RunRequest, RunStatus } from '../../cloud/hosts/port.js';
import { HostUnreachable } from '../../cloud/hosts/port.js';
import { NOTICE, request } from './run.js';
import { until } from '../until.js';

export interface TorturedHost {
  readonly home: string;
  readonly connection: HostConnection;
  /** A connection of somebody else's. */
  another(): Promise<HostConnection>;
  /** Breaks every connection to the host, or ends the client that `connection` starts by. */
  cut(): void;
  /** Ends at once all that runs on the host; resolves when it is up again. */
  reboot?(): Promise<void>;
}

/** Who of a start is killed, or the connection that it came by. */
export const VICTIMS = ['connection', 'start', 'supervise', 'child'] as const;
export type Victim = (typeof VICTIMS)[number] | 'host';

const CODE = 7;

/**
 * Starts a run, kills `victim` after `delayMs`, starts it again as the next client would, and follows it to its end.
 * Claims: the command began at most once by its own evidence; an exit code is the command's, or the kill's; a stop leaves nothing.
 */
export async function surviveKill(
  host: TorturedHost,
  attempt: number,
  victim: Victim,
  delayMs: number,
  more: Partial<RunRequest> = {},
): Promise<RunStatus['kind']> {
  const runId = `train-x1-a${attempt}`;
  const script = `echo began >> "$EVIDENCE"; sleep 0.2; exit ${CODE}`;
  const evidence = join(host.home, `${runId}.evidence`);
  const run = request(script, { runId, epoch: attempt, env: { EVIDENCE: evidence }, ...more });
  const first = host.connection.startRun(run).catch(() => undefined);
  await sleep(delayMs);
  if (victim === 'connection') host.cut();
  else if (victim === 'host') await host.reboot?.();
  else killRunner(host.home, victim, runId);
  await first;
  const kinds = await endOf(host, run);
  const stopped = await again(() => host.connection.stopRun(runId, 100, NOTICE));
  const at = `${runId}: ${victim} after ${Math.round(delayMs)} ms: ${kinds}`;
  const began = existsSync(evidence) ? readFileSync(evidence, 'utf8') : '';
  assert.ok(began === '' || began === 'began\n', `${at}: ${began}`);
  await until(`${at}: nothing left`, () => runnerPids(host.home, '', runId).length === 0);
  if (stopped.kind === 'exited') assert.ok(stopped.code === CODE || stopped.code === 137, `${at}: ${stopped.code}`);
  if (stopped.kind === 'exited' && stopped.code === CODE) assert.equal(began, 'began\n', at);
  // Nobody was killed whose death could cost the exit code.
  if (victim === 'connection' || victim === 'start') assert.equal(stopped.kind, 'exited', at);
  return stopped.kind;
}

/** As a supervising worker: starts again what has not begun, until there is nothing to wait for. */
async function endOf(host: TorturedHost, run: RunRequest): Promise<string> {
  const seen: string[] = [];
  await until(`the end of ${run.runId}`, async () => {
    const { kind } = await again(() => host.connection.startRun(run));
    if (seen.at(-1) !== kind) seen.push(kind);
    return kind === 'exited' || kind === 'lost';
  });
  return seen.join(', ');
}

/** Until the host answers at all: whoever looks after a run comes back. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  const { answer } = await until('an answer', async () => {
    try {
      return { answer: await work() };
    } catch (error) {
      assert.ok(error instanceof HostUnreachable, String(error));
      return undefined;
    }
  });
  return answer;
}

function killRunner(home: string, verb: string, runId: string): void {
  for (const pid of runnerPids(home, verb, runId)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  }
}

/** Processes whose words are the runner's for this run, or which carry its mark; with a verb, the runner's of that verb alone. */
function runnerPids(home: string, verb: string, runId: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const words = textOf(pid, 'cmdline').split('\0');
      const isRunner = words.some((word) => word.startsWith(`${home}/.jobctl/runner-`)) && words.includes(runId);
      if (verb !== '')
        return (
          (isRunner && words.includes(verb)) ||
          (verb === 'child' && isCommand(words, `${home}/.jobctl/runs/${runId}/script`))
        );
      return isRunner || textOf(pid, 'environ').includes(`JOBCTL_RUN_DIR=${home}/.jobctl/runs/${runId}\0`);
    })
    .map(Number);
}

/** What the child has become. */
const isCommand = (words: readonly string[], script: string): boolean => words[0] === 'bash' && words.includes(script);

function textOf(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
