import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

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
 * It is held until it is released or this process ends, by a socket: so two clones whose tests run at once do not meet, whatever
 * their users and folders. The search begins anywhere, so that a range whose rehearsal has just ended is seldom taken again.
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
