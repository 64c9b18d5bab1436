import { type Rehearsal, type RehearsalOptions, startRehearsal } from '../index.js';
import { takeOctet } from './subnet-octets.js';

/** A rehearsal of a test, with addresses of its own until it is stopped. */
export async function startTestRehearsal(options: Omit<RehearsalOptions, 'subnetOctet'>): Promise<Rehearsal> {
  const { octet, release } = await takeOctet();
  const rehearsal = await startRehearsal({ sshPort: 2222, ...options, subnetOctet: octet }).catch((error: unknown) => {
    release();
    throw error;
  });
  return { ...rehearsal, stop: () => rehearsal.stop().finally(release) };
}
