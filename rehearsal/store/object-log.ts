import { closeSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { appendWhole, readJsonLines } from '../json-lines.js';
import type { ObjectRecord } from './object-record.js';

export type ObjectChange =
  | { readonly put: ObjectRecord }
  | { readonly drop: { readonly name: string; readonly generation: string } };

/**
 * What happened to a bucket's objects, a file that grows: each line is an array of changes that take effect together.
 * A line that was written whole is kept when the process is killed; half a line at the end never happened.
 * (A power failure may take the last seconds: nothing is forced to the disk.)
 */
export class ObjectLog {
  readonly #file: string;
  #fd: number;
  #size: number;

  private constructor(file: string, size: number) {
    this.#file = file;
    this.#fd = openSync(file, 'a');
    this.#size = size;
  }

  /** Opens the log, and tells each of its changes in order. */
  static open(file: string, apply: (change: ObjectChange) => void): ObjectLog {
    const size = readJsonLines(file, (changes) => {
      for (const change of changes as ObjectChange[]) apply(change);
    });
    return new ObjectLog(file, size);
  }

  /** With the kernel when it returns. If it throws (no space), nothing of it is in the log. */
  append(changes: readonly ObjectChange[]): void {
    const line = Buffer.from(`${JSON.stringify(changes)}\n`);
    appendWhole(this.#fd, this.#size, line);
    this.#size += line.length;
  }

  /** Writes it anew, with the objects that are there and not how they came to be. */
  compact(records: Iterable<ObjectRecord>): void {
    let text = '';
    for (const put of records) text += `${JSON.stringify([{ put }])}\n`;
    writeFileSync(`${this.#file}.new`, text);
    renameSync(`${this.#file}.new`, this.#file);
    closeSync(this.#fd);
    this.#fd = openSync(this.#file, 'a');
    this.#size = Buffer.byteLength(text);
  }

  close(): void {
    closeSync(this.#fd);
  }
}
