import { setMaxListeners } from 'node:events';
import { log } from '@temporalio/activity';
import { answerWithin } from '../../cloud/abort.js';
import type { PySpySource } from '../../cloud/hosts/port.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { messageOf } from '../../domain/errors.js';
import { Semaphore } from '../../domain/semaphore.js';
import { storedStacksText } from '../../domain/stacks/stack.js';
import { logChunkObject, logPrefix, STACKS_STREAM } from '../../domain/store-layout.js';
import { type AttemptHost, type HostCaller, runIdOf } from './attempt-hosts.js';

export interface StacksPlace {
  readonly store: Pick<StorePort, 'write'>;
  /** Absent: hosts get no py-spy. */
  readonly pySpy?: PySpySource | undefined;
  readonly callerUntil: (signal: AbortSignal) => HostCaller;
  /** Time for all of it, in ms. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** Time limit for taking stacks: the longest delay of the end of a silent command. */
export const STACKS_MS = 15_000;
/** Hosts that are asked at the same time. The answer of each may have some MB, which are held in memory. */
const HOSTS_AT_ONCE = 64;

/**
 * Stores where the processes of a command stand, before it is ended for its silence (docs/adr/0128): for each host a text beside
 * its logs, as far as there is time. It never prevents the end.
 * @returns the number of hosts that have a stored text; rejects only with the signal's reason
 */
export async function storeStacks(
  place: StacksPlace,
  input: AttemptInput,
  hosts: readonly AttemptHost[],
): Promise<number> {
  const { callerUntil, limitMs, signal } = place;
  let stored = 0;
  const permits = new Semaphore(HOSTS_AT_ONCE);
  const all = async (late: AbortSignal): Promise<void> => {
    const until = AbortSignal.any([signal, late]);
    setMaxListeners(0, until, late);
    const caller = callerUntil(until);
    const onOne = async (host: AttemptHost): Promise<void> => {
      if (!until.aborted && (await storeOf(host, place, { input, caller, until }))) stored += 1;
    };
    await Promise.all(hosts.map((host) => permits.run(() => onOne(host))));
  };
  try {
    await answerWithin(limitMs, all);
  } catch (error) {
    if (!signal.aborted) log.info(`not all stacks of the silent command are stored: ${messageOf(error)}`);
  }
  signal.throwIfAborted();
  return stored;
}

/** @returns whether the text is stored */
async function storeOf(
  { target, number }: AttemptHost,
  { store, pySpy, limitMs }: StacksPlace,
  { input, caller, until }: { readonly input: AttemptInput; readonly caller: HostCaller; readonly until: AbortSignal },
): Promise<boolean> {
  const times = { answerMs: limitMs * 0.5, installMs: limitMs * 0.4 };
  const options = { ...times, host: number, runId: runIdOf(input), pySpy, signal: until };
  try {
    const stacks = await caller.on(target, (connection) => connection.runStacks(options));
    const name = logChunkObject(logPrefix(input.job.id, input.attempt, STACKS_STREAM), String(number), 0);
    // A worker that goes on for another one may find it there, which is as good.
    await store.write(name, storedStacksText(stacks), 'absent', 'text/plain');
    return true;
  } catch (error) {
    log.info(`host ${number}: its stacks are not stored: ${messageOf(error)}`);
    return false;
  }
}
