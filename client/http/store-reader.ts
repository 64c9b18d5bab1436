import type { AnswerOf } from '../../contract/operations.js';
import {
  endlessListing,
  MOST_LIST_PAGES,
  type StoredObject,
  type StoreReader,
  StoreUnavailable,
} from '../../cloud/store/port.js';
import { quotedName } from '../../domain/outside-text.js';
import { ServerRefused, ServerUnreachable, TooManyRequests } from '../errors.js';
import { type Ask, ServerCalls } from './server-calls.js';
import type { ServerOptions } from './server-options.js';

/** Names per listing, the server's maximum. */
const PAGE = 1_000;
/** Most bytes of an object that is read completely. */
const MOST_READ_BYTES = 1024 * 1024 * 1024;
/** Bytes per answer: the server gives 16 MiB at most. */
const PIECE = 8 * 1024 * 1024;

/** The store of a server's installation, as far as the caller may read it. Answers and errors are those of `createStoreReader`. */
export function createServerReader(options: ServerOptions): StoreReader {
  return new ServerReader(new ServerCalls(options));
}

class ServerReader implements StoreReader {
  /** The server's address, because the server does not reveal the bucket's name. */
  readonly bucket: string;
  readonly #calls: ServerCalls;

  constructor(calls: ServerCalls) {
    this.#calls = calls;
    this.bucket = calls.address;
  }

  /** Reads in pieces, as the server gives them. */
  async read(
    name: string,
    { start = 0, end = Infinity }: { readonly start?: number; readonly end?: number } = {},
  ): Promise<Buffer | undefined> {
    const pieces: Buffer[] = [];
    for (let at = start; at < end;) {
      const wanted = Math.min(PIECE, end - at);
      const piece = await this.#piece(name, at, at + wanted);
      if (piece === undefined) return undefined;
      if (piece.length > wanted || at > MOST_READ_BYTES)
        throw new ServerRefused(`the server sends more of ${quotedName(name)} than was asked for`);
      pieces.push(piece);
      at += piece.length;
      if (piece.length < wanted) break;
    }
    return Buffer.concat(pieces);
  }

  #piece(name: string, start: number, end: number): Promise<Buffer | undefined> {
    const query = { name, start, end };
    return this.#absentOr(`read ${name}`, 'objectContent', { query }, ({ body }) => body);
  }

  async stat(name: string): Promise<StoredObject | undefined> {
    return this.#absentOr(
      `look at ${name}`,
      'objectStat',
      { query: { name } },
      ({ body }) => JSON.parse(body.toString('utf8')) as AnswerOf<'objectStat'>,
    );
  }

  async list(prefix: string, startOffset?: string, most = Infinity): Promise<readonly StoredObject[]> {
    const found: StoredObject[] = [];
    for (let [from, pages] = [startOffset, 0]; pages < MOST_LIST_PAGES; pages++) {
      const wanted = Math.min(PAGE, most - found.length);
      const { objects } = await this.#calls
        .json('objects', { query: { prefix, startOffset: from, most: wanted } })
        .catch((error: unknown) => Promise.reject(storeErrorOf(error, `list ${prefix}*`)));
      if (objects.length > wanted)
        throw new ServerRefused(`the server lists more of ${quotedName(prefix)}* than was asked for`);
      refuseOthers(objects, prefix, from);
      for (const one of objects) found.push(one);
      const last = objects.at(-1);
      if (last === undefined || objects.length < wanted || found.length >= most) return found;
      // The first name that can follow it.
      from = `${last.name}\u0000`;
    }
    throw endlessListing(`${this.bucket} ${prefix}`);
  }

  async #absentOr<Name extends 'objectContent' | 'objectStat', T>(
    what: string,
    name: Name,
    ask: Ask<Name>,
    read: (answer: Awaited<ReturnType<ServerCalls['send']>>) => T,
  ): Promise<T | undefined> {
    try {
      return read(await this.#calls.send(name, { ...ask, meanings: { 'not-found': () => new Absent() } }));
    } catch (error) {
      if (error instanceof Absent) return undefined;
      throw storeErrorOf(error, what);
    }
  }
}

/**
 * Refuses unexpected names, because names determine local paths, and a page that goes back would be requested forever.
 * @throws ServerRefused
 */
function refuseOthers(objects: readonly StoredObject[], prefix: string, from = ''): void {
  let before = from;
  for (const { name } of objects) {
    if (typeof name !== 'string' || !name.startsWith(prefix) || name < before)
      throw new ServerRefused(
        `the server lists ${quotedName(String(name))} where ${quotedName(prefix)}* was asked for`,
      );
    before = `${name}\u0000`;
  }
}

class Absent extends Error {}

/** Reports an outage as one of the store, so that followers of a log wait for it; refusals stay the server's own. */
function storeErrorOf(error: unknown, what: string): unknown {
  if (error instanceof ServerUnreachable || error instanceof TooManyRequests)
    return new StoreUnavailable(`store: ${what}: ${error.message}`, { cause: error });
  return error;
}
