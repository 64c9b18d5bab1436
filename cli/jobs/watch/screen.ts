import { once } from 'node:events';
import { visibleLines } from '../../../domain/visible-text.js';
import { painted } from '../../terminal/print.js';
import { foldLine } from '../../terminal/render/columns.js';
import type { Look } from '../../terminal/render/look.js';
import { lookOf } from '../../terminal/render/look.js';
import type { ProgressLine } from '../../terminal/render/progress.js';

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
