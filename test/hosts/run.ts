import type { HostConnection, RunRequest, RunStatus } from '../../cloud/hosts/port.js';
import type { StopNotice } from '../../domain/early-end.js';
import type { HostSession } from './session.js';
import { never } from './session.js';
import { until } from '../until.js';

export const request = (script: string, more: Partial<RunRequest> = {}): RunRequest => ({
  runId: 'train-x1-a1',
  epoch: 1,
  script,
  env: {},
  ...more,
});

/** For a stop whose reason does not matter. */
export const NOTICE: StopNotice = { cause: 'cancel', reason: 'a test stops it' };

export function ended(
  connection: HostConnection,
  runId = 'train-x1-a1',
): Promise<Extract<RunStatus, { kind: 'exited' }>> {
  return until(`${runId} to end`, async () => {
    const status = await connection.runStatus(runId);
    return status.kind === 'exited' ? status : undefined;
  });
}

export async function outputOf(
  connection: HostConnection,
  script: string,
  more: Partial<RunRequest> = {},
): Promise<string> {
  let output = '';
  await connection.startRun(request(script, more));
  await connection.followOutput(more.runId ?? 'train-x1-a1', 0, (chunk) => void (output += chunk.toString()), never);
  return output;
}

/** [child, supervisor] of a run that has begun. */
export function pids(session: HostSession, runId = 'train-x1-a1'): [number, number] {
  const [, child, , supervisor] = session.read(`.jobctl/runs/${runId}/begun`).split(' ').map(Number);
  return [child!, supervisor!];
}
