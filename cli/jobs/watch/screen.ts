import { once } from 'node:events';
import { visibleLines } from '../../../domain/outside-text.js';
import { painted } from '../../terminal/print.js';
import { foldLine } from '../../terminal/render/columns.js';
import { type Look, lookOf } from '../../terminal/render/look.js';
import type { ProgressLine } from '../../terminal/render/progress.js';
import type { EpochMs } from '../../../domain/units.js';
import type { LogSink } from '../../../client/log-follower.js';

/** The output for a job's progress and its hosts' lines. */
export interface Screen {
  readonly look: Look;
  /** A line that stays. */
  line(line: ProgressLine): void;
  /** The line of the present state, redrawn at each call; nothing if lines cannot be redrawn. */
  current(text: string | undefined): void;
  /** Whole lines of hosts, or raw bytes. Resolves when more may come. */
  output(lines: readonly Uint8Array[]): Promise<void>;
}

/**
 * Opens a screen: on a terminal everything goes to stdout, the current line at the bottom. In a pipe only the hosts' lines go to
 * stdout and plain lines to stderr, without cursor codes or spinner.
 * @param isOutputAside stdout is for JSON only: the hosts' lines go to stderr too
 */
export function openScreen(isOutputAside = false): Screen {
  const look = lookOf(process.stdout, process.env);
  if (look.isLive && !isOutputAside) return new TerminalScreen(process.stdout, look);
  return new PlainScreen(
    isOutputAside ? process.stderr : process.stdout,
    process.stderr,
    lookOf(process.stderr, process.env),
  );
}

export class PlainScreen implements Screen {
  readonly look: Look;
  readonly #out: NodeJS.WritableStream;
  readonly #aside: NodeJS.WritableStream;

  constructor(out: NodeJS.WritableStream, aside: NodeJS.WritableStream, look: Look) {
    this.#out = out;
    this.#aside = aside;
    this.look = { ...look, isLive: false };
  }

  line({ plain }: ProgressLine): void {
    if (plain !== undefined) this.#aside.write(`${visibleLines(plain)}\n`);
  }

  current(): void {
    // A pipe keeps every line, so nothing is drawn.
  }

  async output(lines: readonly Uint8Array[]): Promise<void> {
    await write(this.#out, Buffer.concat(lines));
  }
}

const ERASE_LINE = '\r\u001b[2K';

export class TerminalScreen implements Screen {
  readonly look: Look;
  readonly #out: NodeJS.WritableStream;
  #current: string | undefined;
  /** True while the current line is visible. */
  #isDrawn = false;

  constructor(out: NodeJS.WritableStream, look: Look) {
    this.#out = out;
    this.look = look;
  }

  line({ live }: ProgressLine): void {
    if (live === undefined) return;
    this.#erase();
    this.#out.write(`${foldLine(painted(live), this.look.width).join('\n')}\n`);
    this.#draw();
  }

  current(text: string | undefined): void {
    if (text === this.#current && this.#isDrawn) return;
    this.#erase();
    this.#current = text;
    this.#draw();
  }

  async output(lines: readonly Uint8Array[]): Promise<void> {
    if (lines.length === 0) return;
    this.#erase();
    await write(this.#out, Buffer.concat(lines));
    this.#draw();
  }

  #erase(): void {
    if (this.#isDrawn) this.#out.write(ERASE_LINE);
    this.#isDrawn = false;
  }

  #draw(): void {
    if (this.#current === undefined) return;
    this.#out.write(painted(this.#current));
    this.#isDrawn = true;
  }
}

/** Waits for a slow reader, so that memory does not hold the log. */
async function write(stream: NodeJS.WritableStream, bytes: Uint8Array): Promise<void> {
  if (bytes.length > 0 && !stream.write(bytes)) await once(stream, 'drain');
}

/** Limit of a line, which is split if it is longer. */
const MAX_LINE_BYTES = 65_536;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

/**
 * Splits the output of several hosts into whole lines. It works on bytes, so a character that two chunks share stays whole. If a
 * line was redrawn with `\r`, such as a progress bar, only its last state is kept.
 */
export class LineSplitter {
  readonly #begun = new Map<number, Buffer>();

  /** @returns the lines that these bytes complete, without their ends */
  add(host: number, bytes: Buffer): readonly Buffer[] {
    let rest = this.#begun.has(host) ? Buffer.concat([this.#begun.get(host) as Buffer, bytes]) : bytes;
    const lines: Buffer[] = [];
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      lines.push(lastState(rest.subarray(0, end)));
      rest = rest.subarray(end + 1);
    }
    if (rest.length > MAX_LINE_BYTES) {
      lines.push(lastState(rest));
      rest = Buffer.alloc(0);
    }
    this.#begun.set(host, rest);
    return lines;
  }

  /** @returns the unfinished last line of each host */
  end(): readonly (readonly [host: number, line: Buffer])[] {
    const lines = [...this.#begun].flatMap(([host, rest]) =>
      rest.length > 0 ? [[host, lastState(rest)] as const] : [],
    );
    this.#begun.clear();
    return lines;
  }
}

/** Whole lines of several hosts, with the host's number before each. */
export class HostLines {
  readonly #bar: string;
  readonly #lines = new LineSplitter();
  #hostDigits = 1;

  /** @param bar separator between the host's number and the line */
  constructor(bar: string) {
    this.#bar = bar;
  }

  /** @returns the lines that these bytes complete */
  add(host: number, bytes: Buffer): readonly Buffer[] {
    return this.#lines.add(host, bytes).map((line) => this.line(host, line));
  }

  /** @returns the unfinished last line of each host */
  end(): readonly Buffer[] {
    return this.#lines.end().map(([host, line]) => this.line(host, line));
  }

  line(host: number, line: Buffer): Buffer {
    this.#hostDigits = Math.max(this.#hostDigits, String(host).length);
    const prefix = `${String(host).padStart(this.#hostDigits)} ${this.#bar} `;
    return Buffer.concat([Buffer.from(prefix), line, Buffer.of(NEWLINE)]);
  }
}

/** Returns the last state of a redrawn line. */
export function lastState(line: Buffer): Buffer {
  const end = line.at(-1) === RETURN ? line.length - 1 : line.length;
  const from = line.subarray(0, end).lastIndexOf(RETURN);
  return line.subarray(from + 1, end);
}

/** Shows whole lines of all hosts, each with its host's number. */
export function prefixedSink(screen: Screen): LogSink {
  const lines = new HostLines(screen.look.symbols.bar);
  return {
    stretch: ({ host, bytes }) => screen.output(lines.add(host, bytes)),
    attemptEnd: () => screen.output(lines.end()),
  };
}

/** Shows the bytes of one host unchanged. */
export function rawSink(screen: Screen): LogSink {
  return { stretch: ({ bytes }) => screen.output([bytes]), attemptEnd: async () => undefined };
}

export interface LineForm {
  /** Prints one JSON object per line: host, stream, attempt, time, text. */
  readonly isJson: boolean;
  /** Prefixes each line with the time when its chunk was stored. */
  readonly hasTimes: boolean;
  /** Only one host is shown, so lines have no host number. */
  readonly isOneHost: boolean;
  readonly stream: string;
  readonly isWanted?: ((line: Buffer) => boolean) | undefined;
}

/** Shows the wanted lines in the wanted form. */
export function lineSink(screen: Screen, { isJson, hasTimes, isOneHost, stream, isWanted }: LineForm): LogSink {
  const splitter = new LineSplitter();
  const named = new HostLines(screen.look.symbols.bar);
  const storedAt = new Map<number, EpochMs>();
  const shown = (attempt: number, host: number, line: Buffer): Buffer => {
    const at = storedAt.get(host);
    const time = at === undefined ? undefined : new Date(at).toISOString();
    const text = line.toString('utf8');
    if (isJson) return Buffer.from(`${JSON.stringify({ attempt, host, stream, time, text })}\n`);
    const timed = hasTimes && time !== undefined ? Buffer.concat([Buffer.from(`${time} `), line]) : line;
    return isOneHost ? Buffer.concat([timed, Buffer.of(NEWLINE)]) : named.line(host, timed);
  };
  const output = (attempt: number, host: number, lines: readonly Buffer[]): Promise<void> =>
    screen.output(lines.filter((line) => isWanted?.(line) ?? true).map((line) => shown(attempt, host, line)));
  return {
    stretch: ({ attempt, host, bytes, storedAt: at }) => {
      storedAt.set(host, at);
      return output(attempt, host, splitter.add(host, bytes));
    },
    attemptEnd: async (attempt) => {
      for (const [host, line] of splitter.end()) await output(attempt, host, [line]);
    },
  };
}
