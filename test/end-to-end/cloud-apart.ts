import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type { Rehearsal, RehearsalEndpoints, RehearsalOptions } from '../../rehearsal/index.js';
import { programArguments } from '../built.js';

export interface CloudApart extends Rehearsal {
  readonly pid: number;
}

/** A rehearsal in a process of its own, for whoever measures: its work is not the test's. */
export async function startCloudApart({
  stateDir,
  subnetOctet,
  sshPort,
}: Required<Pick<RehearsalOptions, 'stateDir' | 'subnetOctet' | 'sshPort'>>): Promise<CloudApart> {
  const child = spawn(
    process.execPath,
    [
      ...programArguments('rehearsal/main'),
      ...['--state-dir', stateDir, '--subnet-octet', String(subnetOctet), '--ssh-port', String(sshPort)],
      ...['--callers', 'login'],
    ],
    { stdio: ['ignore', 'pipe', openSync(`${stateDir}.log`, 'a')] },
  );
  const ended = once(child, 'exit');
  const line = await Promise.race([once(createInterface(child.stdout ?? Readable.from([])), 'line'), ended]);
  if (typeof line[0] !== 'string' || child.pid === undefined) throw new Error('the rehearsal ended at its start');
  return {
    pid: child.pid,
    endpoints: JSON.parse(line[0]) as RehearsalEndpoints,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
