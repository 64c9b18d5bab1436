/**
 * A worker as far as a start goes, in a process of its own, so that it can be killed: connects, says so, starts the run that
 * stands on its next line of stdin, and waits for its end, which is not its own.
 */
import { createInterface } from 'node:readline';
import { memoryHostKeyPins } from '../../cloud/hosts/host-key-record.js';
import type { SshTarget, RunRequest } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { never } from '../hosts/session.js';

const { port, target, privateKey } = JSON.parse(process.argv[2] ?? '{}') as {
  port: number;
  target: SshTarget;
  privateKey: string;
};
const connection = await createSshHosts({ port, hostKeys: memoryHostKeyPins() }).connect(target, { privateKey }, never);
process.stdout.write('connected\n');
for await (const line of createInterface(process.stdin)) {
  await connection.startRun(JSON.parse(line) as RunRequest);
  process.stdout.write('started\n');
}
