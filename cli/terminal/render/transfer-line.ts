import { visibleText } from '../../../domain/outside-text.js';
import type { UploadProgress } from '../../../client/uploads.js';
import { sizeText } from './quantities.js';
import { cutToWidth, type Terminal, terminalWidth } from './columns.js';

/** Milliseconds before a line is shown: a shorter transfer is not worth one. */
const SILENT_MS = 2_000;
const REDRAW_MS = 200;
/** Interval in a pipe, where each line stays. */
const PLAIN_MS = 30_000;
const ERASE_LINE = '\r\u001b[2K';

interface Output extends Terminal {
  write(text: string): unknown;
}

/** Shows slow reads and transfers: one redrawn line on a terminal, a few plain ones in a pipe. */
export class TransferLine {
  readonly #verb: string;
  readonly #output: Output;
  readonly #now: () => number;
  readonly #files = new Map<string, UploadProgress>();
  #begunAt: number | undefined;
  #shownAt = -Infinity;
  #isDrawn = false;

  /** @param verb such as `uploading` */
  constructor(verb: string, output: Output = process.stderr, now: () => number = Date.now) {
    this.#verb = verb;
    this.#output = output;
    this.#now = now;
  }

  /** @param progress a size of Infinity means unknown */
  readonly show = (progress: UploadProgress): void => {
    const now = this.#now();
    this.#begunAt ??= now;
    this.#files.set(progress.path, progress);
    if ([...this.#files.values()].every(({ sent, size }) => sent >= size)) return this.#erase();
    const pause = this.#output.isTTY === true ? REDRAW_MS : PLAIN_MS;
    if (now - this.#begunAt < SILENT_MS || now - this.#shownAt < pause) return;
    this.#shownAt = now;
    this.#draw(this.#text(progress.path, now - this.#begunAt));
  };

  /** Erases the line, even if a transfer is unfinished. */
  end(): void {
    this.#erase();
    this.#begunAt = undefined;
    this.#files.clear();
  }

  #erase(): void {
    if (this.#isDrawn) this.#output.write(ERASE_LINE);
    this.#isDrawn = false;
  }

  #draw(text: string): void {
    const width = terminalWidth(this.#output);
    if (width === undefined) return void this.#output.write(`${text}\n`);
    this.#output.write(`${ERASE_LINE}${cutToWidth(text, width - 1)}`);
    this.#isDrawn = true;
  }

  #text(path: string, elapsedMs: number): string {
    const files = [...this.#files.values()];
    const [sent, size] = [
      files.reduce((sum, file) => sum + file.sent, 0),
      files.reduce((sum, file) => sum + file.size, 0),
    ];
    const others = files.length === 1 ? '' : ` and ${files.length - 1} more`;
    const of = size === Infinity ? '' : ` of ${sizeText(size)}`;
    return `${this.#verb} ${visibleText(path)}${others}: ${sizeText(sent)}${of}, ${sizeText(Math.round((sent / elapsedMs) * 1000))}/s`;
  }
}
