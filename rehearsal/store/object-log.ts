import { closeSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { appendWhole, readJsonLines } from '../json-lines.js';
import type { ObjectRecord } from './object-record.js';

export type ObjectChange =
  | { readonly put: ObjectRecord }
  | { readonly drop: { readonly name: string; readonly generation: string } };

/**
 * The changes of a bucket's objects, in a file that grows. Each line is an array of changes that take effect together. A whole
 * line survives a kill of the process; half a line at the end counts as never written. (A power failure may take the last
 * seconds: nothing is forced to the disk.)
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

  /** Opens the log, and passes each of its changes to `apply`, in order. */
  static open(file: string, apply: (change: ObjectChange) => void): ObjectLog {
    const size = readJsonLines(file, (changes) => {
      for (const change of changes as ObjectChange[]) apply(change);
    });
    return new ObjectLog(file, size);
  }

  /** Appends the changes, all or none. The kernel has them when this returns. It throws if there is no space. */
  append(changes: readonly ObjectChange[]): void {
    const line = Buffer.from(`${JSON.stringify(changes)}\n`);
    appendWhole(this.#fd, this.#size, line);
    this.#size += line.length;
  }

  /** Rewrites the log with the present objects, without their history. */
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
