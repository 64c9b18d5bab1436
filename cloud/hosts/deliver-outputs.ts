import { createHash } from 'node:crypto';
import { PassThrough } from 'node:stream';
import type { FileSource } from '../../domain/local-files.js';
import { quotedName } from '../../domain/outside-text.js';
import { answerWithin } from '../abort.js';
import { afterMark, wholeOf } from './remote-exec.js';
import { type OutputsTaker, type Taken, HostUnfit, HostUnreachable } from './port.js';
import type { RunnerClient } from './runner-client.js';
import { MOST_MANIFEST_BYTES } from './runner/outputs-scan.js';

/** Contents up to this size are read several at a time. Larger ones are read alone and never whole in memory. */
const SMALL_BYTES = 1024 * 1024;
const SMALL_AT_ONCE = 8;
/** Bytes requested at a time of a larger content. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** Limit of files that the runner offers in one `contents` message. */
const MOST_OFFERED = 1000;

interface Offer {
  /** The host's number for the content. */
  readonly at: number;
  readonly sha256: string;
  readonly size: number;
}

/**
 * Stores the outputs of a run that its host delivers (docs/adr/0129). The host is not trusted: each content is compared with its
 * hash, and the memory that it may fill here is limited.
 * @returns `settled`: the run has ended, and its last files are stored or never will be; `cut`: the call ended before that
 * @throws HostUnreachable, HostUnfit, the signal's reason
 */
export async function deliverOutputs(
  runner: RunnerClient,
  runId: string,
  taker: OutputsTaker,
  { where, signal }: { readonly where: string; readonly signal: AbortSignal },
): Promise<'settled' | 'cut'> {
  const over = new AbortController();
  const stop = (): void => over.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const talk = new Talk(where);
  const call = runner.talk(['deliver', runId], {
    ...{ stdin: talk.stdin, onStdout: afterMark(talk.hear), signal: over.signal },
  });
  const closed = call.then(
    () => talk.close(),
    (error: Error) => talk.close(error),
  );
  try {
    return await new Delivery(talk, taker).run();
  } finally {
    talk.close();
    over.abort(new Error('nobody listens any more'));
    signal.removeEventListener('abort', stop);
    await closed;
  }
}

class Delivery {
  readonly #talk: Talk;
  readonly #taker: OutputsTaker;

  constructor(talk: Talk, taker: OutputsTaker) {
    [this.#talk, this.#taker] = [talk, taker];
  }

  async run(): Promise<'settled' | 'cut'> {
    for (;;) {
      const line = await this.#talk.line();
      if (line === undefined) return 'cut';
      if (line === 'settled') return line;
      const bytes = /^manifest (\d{1,9})$/.exec(line)?.[1];
      if (line === 'contents') await this.#contents(await this.#offers());
      else if (bytes !== undefined && Number(bytes) <= MOST_MANIFEST_BYTES) await this.#manifest(Number(bytes));
      else throw this.#talk.wrong(quotedName(line));
    }
  }

  async #offers(): Promise<readonly Offer[]> {
    const offers: Offer[] = [];
    for (;;) {
      const line = await this.#talk.line();
      if (line === 'end') return offers;
      const [, at, sha256, size] = /^(\d{1,7}) ([0-9a-f]{64}) (\d{1,15})$/.exec(line ?? '') ?? [];
      if (sha256 === undefined || offers.length === MOST_OFFERED) throw this.#talk.wrong(quotedName(line ?? 'nothing'));
      offers.push({ at: Number(at), sha256, size: Number(size) });
    }
  }

  /** Ends early if the store fails; the host then offers the rest again. */
  async #contents(offers: readonly Offer[]): Promise<void> {
    for (const batch of batches(offers)) {
      const trouble = await this.#taker.inTurn(() => this.#batch(batch));
      if (trouble) break;
    }
    this.#talk.say('end');
  }

  /** @returns whether the store fails */
  async #batch(batch: readonly Offer[]): Promise<boolean> {
    const [first] = batch;
    if (first !== undefined && first.size > SMALL_BYTES) return this.#answer(first, await this.#large(first));
    for (const { at, size } of batch) this.#talk.say(`send ${at} 0 ${size}`);
    const taken: [Offer, Promise<Taken>][] = [];
    for (const offer of batch) {
      const content = await wholeOf(this.#talk.take(offer.size));
      const isTrue = createHash('sha256').update(content).digest('hex') === offer.sha256;
      taken.push([
        offer,
        isTrue ? this.#taker.content(sourceOf(offer, content)) : Promise.resolve({ kind: 'changed' }),
      ]);
    }
    const answers = await Promise.all(taken.map(async ([offer, answer]) => this.#answer(offer, await answer)));
    return answers.includes(true);
  }

  #large(offer: Offer): Promise<Taken> {
    const { sha256, size } = offer;
    return this.#taker.content({ sha256, size, read: (start) => this.#pieces(offer, start) });
  }

  async *#pieces({ at, size }: Offer, start: number): AsyncGenerator<Buffer> {
    for (let offset = start; offset < size; offset += PIECE_BYTES) {
      const length = Math.min(PIECE_BYTES, size - offset);
      this.#talk.say(`send ${at} ${offset} ${length}`);
      let left = length;
      try {
        for await (const chunk of this.#talk.take(length)) {
          left -= chunk.length;
          yield chunk;
        }
      } finally {
        // If the reader stops early, the rest of the content must be skipped, because it is not part of the talk.
        for await (const _ of this.#talk.take(left));
      }
    }
  }

  #answer({ at }: Offer, taken: Taken): boolean {
    if (taken.kind === 'later' || taken.kind === 'refused') this.#talk.say(`later ${oneLine(taken.why)}`);
    else this.#talk.say(`${taken.kind === 'stored' ? 'have' : 'changed'} ${at}`);
    return taken.kind === 'later';
  }

  async #manifest(bytes: number): Promise<void> {
    const taken = await this.#taker.inTurn(async () => this.#taker.manifest(await wholeOf(this.#talk.take(bytes))));
    this.#talk.say('why' in taken ? `${taken.kind} ${oneLine(taken.why)}` : taken.kind);
  }
}

/** Groups small contents; a large one is a batch alone. */
function batches(offers: readonly Offer[]): readonly (readonly Offer[])[] {
  const made: Offer[][] = [];
  for (const offer of offers) {
    const last = made.at(-1);
    const isJoined = last !== undefined && last.length < SMALL_AT_ONCE && [offer, ...last].every(isSmall);
    if (isJoined) last.push(offer);
    else made.push([offer]);
  }
  return made;
}

const isSmall = ({ size }: Offer): boolean => size <= SMALL_BYTES;

const sourceOf = ({ sha256, size }: Offer, content: Buffer): FileSource => ({
  ...{ sha256, size },
  read: async function* (start) {
    yield content.subarray(start);
  },
});

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 300);

/** Limit of bytes that have arrived and are not read yet. */
const MOST_BYTES = 1024 * 1024;
const MOST_LINE_BYTES = 256;
/**
 * Sum of a transfer's pauses, beyond its time at the slowest rate, at which it is given up. A slower host is gone, or wants to
 * block others.
 */
const STALL_MS = 60_000;
const SLOWEST_BYTES_A_MS = 16;

/** The messages and bytes between this process and one command on a host. At most a MiB of the host's bytes is in memory. */
export class Talk {
  /** Connected to the command's stdin. */
  readonly stdin = new PassThrough();
  readonly #where: string;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #end: 'ended' | Error | undefined;
  #arrived: () => void = () => undefined;
  #taken: () => void = () => undefined;

  /** @param where begins messages about the host */
  constructor(where: string) {
    this.#where = where;
  }

  /** Receives the command's output. */
  readonly hear = (chunk: Buffer): void | Promise<void> => {
    if (this.#end !== undefined) return undefined;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    this.#arrived();
    if (this.#bytes > MOST_BYTES) return new Promise((resolve) => (this.#taken = resolve));
    return undefined;
  };

  /** Called when the command has ended, or its output is not wanted any more. */
  close(error?: Error): void {
    this.#end ??= error ?? 'ended';
    this.stdin.end();
    this.#taken();
    this.#arrived();
  }

  say(line: string): void {
    if (this.#end === undefined) this.stdin.write(`${line}\n`);
  }

  /**
   * Returns the next line, or undefined if the command has ended. Waits for as long as the command runs.
   * @throws HostUnfit for a line of another form
   */
  async line(): Promise<string | undefined> {
    let line = Buffer.alloc(0);
    for (;;) {
      const chunk = await this.#next(MOST_LINE_BYTES);
      if (chunk === undefined) return undefined;
      const at = chunk.indexOf('\n');
      line = Buffer.concat([line, at < 0 ? chunk : chunk.subarray(0, at)]);
      if (line.length > MOST_LINE_BYTES) throw this.wrong('a line without an end');
      if (at < 0) continue;
      this.#putBack(chunk.subarray(at + 1));
      return line.toString();
    }
  }

  /** Yields this many bytes. @throws HostUnreachable if they do not arrive */
  async *take(count: number): AsyncGenerator<Buffer> {
    let leftMs = STALL_MS + count / SLOWEST_BYTES_A_MS;
    for (let left = count; left > 0;) {
      const since = performance.now();
      const chunk = await answerWithin(Math.max(1, leftMs), () => this.#next(left));
      leftMs -= performance.now() - since;
      if (chunk === undefined) throw new HostUnreachable(`${this.#where} was lost while it handed over a file`);
      left -= chunk.length;
      yield chunk;
    }
  }

  wrong(what: string): HostUnfit {
    return new HostUnfit(`${this.#where}: its runner says ${what} where it should hand over files`);
  }

  /** Returns at least one byte and at most `most`. Undefined at the end. */
  async #next(most: number): Promise<Buffer | undefined> {
    while (this.#chunks.length === 0) {
      if (this.#end instanceof Error) throw this.#end;
      if (this.#end !== undefined) return undefined;
      await new Promise<void>((resolve) => (this.#arrived = resolve));
    }
    const chunk = this.#chunks.shift() as Buffer;
    this.#bytes -= chunk.length;
    this.#putBack(chunk.subarray(most));
    if (this.#bytes <= MOST_BYTES) this.#taken();
    return chunk.subarray(0, most);
  }

  #putBack(rest: Buffer): void {
    if (rest.length === 0) return;
    this.#chunks.unshift(rest);
    this.#bytes += rest.length;
  }
}
