import { cancellationSignal } from '@temporalio/activity';
import { messageOf } from '../../domain/error-words.js';
import type { HostsPort, SshKey } from '../../cloud/hosts/port.js';
import type { StopInput } from '../../contract/job-activities.js';
import type { ActivityDependencies } from '../dependencies.js';
import { connectingKey } from '../connecting-key.js';
import { ofJob } from '../job-secrets.js';
import { beating } from './activity-end.js';
import { hostsOf, runIdOf } from './attempt-hosts.js';

/**
 * Ends the command on every host, at once and whatever the supervision does (docs/design.md, "Stop reaches the process"). A
 * command that was not started yet never will be.
 * @throws if a host could not be reached, naming each
 */
export async function stopAttempt({ hosts, installation }: ActivityDependencies, input: StopInput): Promise<void> {
  // A host takes up to the whole grace to answer. The heartbeat shows earlier if the worker dies meanwhile.
  const beat = beating();
  try {
    await stopOnHosts(hosts, await connectingKey(ofJob(installation, input.settings), input), input);
  } finally {
    clearInterval(beat);
  }
}

async function stopOnHosts(hosts: HostsPort, key: SshKey, input: StopInput): Promise<void> {
  const graceMs = input.spec.graceSeconds * 1000;
  // Node 20 forgets an AbortSignal.timeout that only AbortSignal.any holds, so this uses a controller.
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort(new Error(`no connection within ${CONNECT_MS / 1000} s`)), CONNECT_MS);
  cancellationSignal().addEventListener('abort', () => giveUp.abort(new Error('the activity was cancelled')), {
    once: true,
  });
  const failures: string[] = [];
  const stops = hostsOf(input).map(async ({ target }) => {
    try {
      const connection = await hosts.connect(target, key, giveUp.signal);
      try {
        await connection.stopRun(runIdOf(input), graceMs, input.notice);
      } finally {
        connection.close();
      }
    } catch (error) {
      failures.push(messageOf(error));
    }
  });
  await Promise.all(stops);
  clearTimeout(timer);
  if (failures.length > 0) throw new Error(`${failures.length} of ${stops.length} hosts: ${failures[0]}`);
}

const CONNECT_MS = 10_000;
