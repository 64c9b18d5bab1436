import { describeHost } from './describe-host.js';
import type { ExpectedHostKey, HostKeyPins } from './host-key-pins.js';
import { fingerprintOfLine } from './host-key-record.js';
import type { SshTarget } from './port.js';
import { HostKeyMismatch } from './port.js';

interface MismatchPlace {
  readonly port: number;
  readonly hostKeys: HostKeyPins;
}

/** The error with both fingerprints, the source and time of the known key, and the remedy. */
export function keyMismatch(
  target: SshTarget,
  { port, hostKeys }: MismatchPlace,
  shown: string,
  expected: ExpectedHostKey | undefined,
): HostKeyMismatch {
  const wanted = (expected?.publicKeys ?? []).map(fingerprintOfLine).join(' or ');
  const { record } = expected ?? {};
  const known = record
    ? `node ${target.uid} was seen with ${wanted} (${record.source}, ${new Date(record.at).toISOString()})`
    : `the guest attributes of node ${target.uid} name ${wanted}`;
  const remedy = record
    ? ` If you know that this VM was made anew, remove its record ${hostKeys.placeOf(target)} and submit or resume the job.`
    : '';
  return new HostKeyMismatch(
    `${describeHost(target, port)}: its host key is ${fingerprintOfLine(shown)}, but ${known}. ` +
      `Another machine may have got this address; nothing was sent to it.${remedy}`,
  );
}
