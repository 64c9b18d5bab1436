import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { type Rehearsal, type RehearsalOptions, startRehearsal } from '../index.js';

/** A range of addresses, 127.N, that nobody else of this computer takes. */
export interface TakenOctet {
  readonly octet: number;
  release(): void;
}

/** Local stacks take 64 to 126. */
const OCTETS = [...Array.from({ length: 44 }, (_, at) => 20 + at), ...Array.from({ length: 110 }, (_, at) => 130 + at)];
/** No program is given it by chance, and no host of a rehearsal has that address. */
const HELD_AT = { host: '255.254', port: 24_001 };

/**
 * Until it is released, or this process ends. The kernel keeps it by a socket, so two clones whose tests run at once do not meet,
 * whatever their users and folders. From anywhere on: one that has just ended is left alone.
 */
export async function takeOctet(): Promise<TakenOctet> {
  const from = randomInt(OCTETS.length);
  for (const octet of [...OCTETS.slice(from), ...OCTETS.slice(0, from)]) {
    const server = createServer().listen({ host: `127.${octet}.${HELD_AT.host}`, port: HELD_AT.port, exclusive: true });
    server.unref();
    if (await once(server, 'listening').catch(() => false)) return { octet, release: () => void server.close() };
  }
  throw new Error('127.20 to 127.63 and 127.130 to 127.239: tests of this computer have all of them');
}

/** A rehearsal of a test, with addresses of its own until it is stopped. */
export async function startTestRehearsal(options: Omit<RehearsalOptions, 'subnetOctet'>): Promise<Rehearsal> {
  const { octet, release } = await takeOctet();
  const rehearsal = await startRehearsal({ sshPort: 2222, ...options, subnetOctet: octet }).catch((error: unknown) => {
    release();
    throw error;
  });
  return { ...rehearsal, stop: () => rehearsal.stop().finally(release) };
}
