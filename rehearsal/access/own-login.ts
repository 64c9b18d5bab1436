import { closeSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';

/** A TCP connection over IPv4, as a server's socket reports it. */
export interface Connection {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

/** A metadata server's refusal of other logins. Its clients send no credentials, so the login is all that identifies them. */
export const NOT_OWN_LOGIN = "refused: this call does not come from a process of the rehearsal's own login\n";

/** Number of reads: a row is left out if its neighbours change between two reads of the table (proc(5)). */
const LOOKS = 3;
/** A client may speak IPv4 through a socket of IPv6. */
const TABLES = [
  { file: '/proc/self/net/tcp', prefix: '' },
  { file: '/proc/self/net/tcp6', prefix: '0000000000000000FFFF0000' },
];

/**
 * Returns whether the kernel says that a process of this login, or of root, made this loopback connection. False if it cannot
 * tell.
 * @param connection as the server sees it: the caller is the remote end
 */
export function isOwnLogin(connection: Connection): boolean {
  if (known.has(connection)) return true;
  const isOwn = isKnownToKernel(connection);
  if (isOwn) known.add(connection);
  return isOwn;
}

/** Sockets whose caller was found to be of this login. A socket's caller does not change. */
const known = new WeakSet<Connection>();

function isKnownToKernel(connection: Connection): boolean {
  const { remoteAddress, remotePort, localAddress, localPort } = connection;
  if (remoteAddress === undefined || remotePort === undefined) return false;
  if (localAddress === undefined || localPort === undefined) return false;
  const from = endOf(remoteAddress, remotePort);
  const to = endOf(localAddress, localPort);
  if (from === undefined || to === undefined) return false;
  for (let look = 0; look < LOOKS; look++) {
    const uid = callerOf(from, to);
    if (uid !== undefined) return uid === process.getuid?.() || uid === 0;
  }
  return false;
}

/** User id of the socket whose near end is `from`; undefined if the tables have no such socket that a process holds. */
function callerOf(from: string, to: string): number | undefined {
  for (const { file, prefix } of TABLES) {
    const pair = ` ${prefix}${from} ${prefix}${to} `;
    const row = rowOf(file, pair);
    const [, , , , , , , uid, , inode] = row?.trim().split(/\s+/) ?? [];
    // A socket that its process has closed has no user, and the table shows root.
    if (uid !== undefined && inode !== '0') return Number(uid);
  }
  return undefined;
}

/** Reads no further than to the row: the kernel takes 5 ms to walk its whole table of connections. */
function rowOf(file: string, pair: string): string | undefined {
  let table: number | undefined;
  try {
    table = openSync(file, 'r');
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let text = '';
    for (let read; (read = readSync(table, chunk)) > 0;) {
      const lines = (text + chunk.toString('latin1', 0, read)).split('\n');
      // The last one may go on in the next chunk.
      text = lines.pop() ?? '';
      const row = lines.find((line) => line.includes(pair));
      if (row !== undefined) return row;
    }
    return undefined;
  } catch {
    return undefined;
  } finally {
    if (table !== undefined) closeSync(table);
  }
}

/** The kernel gives a page at a time. */
const CHUNK_BYTES = 4_096;

/** `0100007F:1C84` for 127.0.0.1:7300: the address as the machine keeps it in memory, then the port. */
function endOf(address: string, port: number): string | undefined {
  const bytes = address.split('.').map(Number);
  if (bytes.length !== 4 || bytes.some(Number.isNaN)) return undefined;
  const inMemory = endianness() === 'LE' ? bytes.toReversed() : bytes;
  const hex = Buffer.from(inMemory).toString('hex').toUpperCase();
  return `${hex}:${port.toString(16).toUpperCase().padStart(4, '0')}`;
}
