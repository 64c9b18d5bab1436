import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../domain/error-words.js';
import { shellPath } from '../../domain/shell-quote.js';
import { abortable, answerWithin } from '../abort.js';
import { overCuts, putFile, say } from './file-copy.js';
import { partName, sizeScript } from './file-copy-scripts.js';
import type { FilePlace } from './file-copy-scripts.js';
import type { FileSource } from '../../domain/file-source.js';
import type { PutFileOptions, StoredSource } from './port.js';
import { wayOf } from './reaches.js';
import type { HostLink } from './host-link.js';
import { fetchAnswer, whyNot } from './store-fetch-answer.js';
import type { FetchAnswer, FetchWay } from './store-fetch-answer.js';
import { fetchScript, urlLine } from './store-fetch-scripts.js';

/** Consecutive tries of one way without any further byte, while the store or its network fails. */
const TRIES_WITHOUT_PROGRESS = 5;
const FIRST_PAUSE_MS = 500;
/** Limit for a signature by Google's service (signBlob), whose client would wait for ever. */
const SIGNING_MS = 10_000;
/** A way that is closed to a host (no right, no metadata server) is tried again after this time. */
const CLOSED_MS = 10 * 60_000;

/** Takes one line, without its end, for the log of the file's module. */
export type Tell = (line: string) => void | Promise<void>;

/**
 * Puts files on one host by the cheapest way that works there: the host reads them from the store, as the VM's service account or
 * by a signed URL, or else they are sent over SSH (docs/adr/0027). Ways that fail are remembered, so that not every file pays for
 * them again.
 */
export class StoreFetch {
  readonly #link: HostLink;
  /** The time, in epoch ms, until which a way is not tried. `store`: none of them. */
  readonly #closed = new Map<FetchWay | 'store', number>();

  constructor(link: HostLink) {
    this.#link = link;
  }

  /**
   * Like `HostConnection.putFile`, for a path below the login user's home.
   * @param tell is called with the way that the file took, and why no better one worked. Not called if the file was there.
   */
  async place(source: FileSource, path: string, options: PutFileOptions, tell: Tell): Promise<'unchanged' | 'done'> {
    if (!isStored(source)) return putFile(this.#link, source, path, options);
    const { called } = source.stored;
    const since = Date.now();
    const fetched = await this.#fetched(source, path, options);
    const why = fetched.reasons.length === 0 ? '' : ` (${fetched.reasons.join('; ')})`;
    if (fetched.end === 'unchanged') return fetched.end;
    if (fetched.end === 'done') {
      await tell(`${called}, ${told(source, since)}, ${WORDS[fetched.way]}${why}`);
      return fetched.end;
    }
    if (why !== '') await tell(`${called}: ${this.#link.over}${why}`);
    const end = await putFile(this.#link, source, path, options);
    if (end === 'done') await tell(`${called}, ${told(source, since)}, ${this.#link.over}`);
    return end;
  }

  async #fetched(source: StoredSource, path: string, options: PutFileOptions): Promise<Fetched> {
    const { url } = source.stored;
    const isOpen = url?.startsWith('http:') === true;
    if (isOpen && !wayOf(this.#link.target).hasAccount(this.#link.target)) return { end: 'not-fetched', reasons: [] };
    const first: FetchWay = isOpen ? 'plain' : 'service-account';
    const ways: readonly FetchWay[] = url === undefined ? ['signed-url'] : [first, 'signed-url'];
    const reasons: string[] = [];
    for (const way of ways) {
      if (this.#isClosed('store') || this.#isClosed(way)) continue;
      const answer = await this.#tried(way, source, path, options);
      if (answer.kind === 'placed') return { end: answer.end, way, reasons };
      const { reason, closes } = whyNot(answer, way, source.stored);
      reasons.push(reason);
      if (closes !== undefined) this.#closed.set(closes, Date.now() + CLOSED_MS);
      // Another identity only helps against a missing right.
      if (closes !== way) break;
    }
    return { end: 'not-fetched', reasons };
  }

  #isClosed(way: FetchWay | 'store'): boolean {
    return (this.#closed.get(way) ?? 0) > Date.now();
  }

  /** Tries one way, repeatedly while the store or its network may recover, and over cuts of the connection to the host. */
  async #tried(
    way: FetchWay,
    source: StoredSource,
    path: string,
    { mode, signal }: PutFileOptions,
  ): Promise<FetchAnswer> {
    const { size, sha256, stored } = source;
    const place: FilePlace = { path: shellPath(path), part: partName(path, sha256), mode, size, sha256 };
    let isCut = false;
    return overCuts(signal, async (progress) => {
      if (isCut) {
        const there = await say(this.#link, path, sizeScript(place), { signal });
        progress(there === 'unchanged' ? size : Number(there));
      }
      isCut = true;
      return persistently(signal, async () => {
        const url = way === 'signed-url' ? await signedUrl(stored, signal) : { url: stored.url ?? '' };
        if ('kind' in url) return url;
        const script = fetchScript(place, way === 'service-account' ? 'service-account' : 'nobody');
        return fetchAnswer(await say(this.#link, path, script, { stdin: Buffer.from(urlLine(url.url)), signal }));
      });
    });
  }
}

type Fetched =
  | { readonly end: 'unchanged' | 'done'; readonly way: FetchWay; readonly reasons: readonly string[] }
  | { readonly end: 'not-fetched'; readonly reasons: readonly string[] };

const WORDS: Readonly<Record<FetchWay, string>> = {
  plain: 'from the store',
  'service-account': "from the store, by the VM's service account",
  'signed-url': 'from the store, by a signed URL',
};

function isStored(source: FileSource): source is StoredSource {
  return 'stored' in source;
}

function told({ size }: FileSource, since: number): string {
  return `${(size / 1e6).toFixed(1)} MB in ${((Date.now() - since) / 1000).toFixed(1)} s`;
}

/** Repeats after failures that may pass, while tries make progress. */
async function persistently(signal: AbortSignal, attempt: () => Promise<FetchAnswer>): Promise<FetchAnswer> {
  let best = 0;
  for (let tries = 1; ; tries++) {
    const answer = await attempt();
    if (answer.kind !== 'trouble') return answer;
    if (answer.bytes > best) tries = 1;
    best = Math.max(best, answer.bytes);
    if (tries >= TRIES_WITHOUT_PROGRESS) return answer;
    // The random part keeps hosts that meet the same failure from repeating in step.
    await sleep(FIRST_PAUSE_MS * 2 ** (tries - 1) * (0.5 + Math.random()), undefined, { signal });
  }
}

/** Signs the URL when it is used. A refusal is a reason for another way and does not end the set-up. */
async function signedUrl(
  stored: StoredSource['stored'],
  signal: AbortSignal,
): Promise<{ readonly url: string } | FetchAnswer> {
  try {
    const url = await answerWithin(SIGNING_MS, () => abortable(stored.signedUrl(), signal));
    return url === undefined ? { kind: 'unsigned', message: "the worker's credentials cannot sign a URL" } : { url };
  } catch (error) {
    signal.throwIfAborted();
    const message = messageOf(error).replaceAll(/\s+/g, ' ');
    return { kind: 'unsigned', message: `the worker could not sign a URL: ${message}` };
  }
}
