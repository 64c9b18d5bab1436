import { followLines, readTail } from './part.js';
import { stackHome } from '../../terminal/home.js';
import { type DevOptions, partsOf, slotOf } from './stack-parts.js';
import { readStackRecord } from '../../place/stack/stack-record.js';
import type { PartName } from '../../place/stack/stack-record.js';

export interface DevLogsOptions extends DevOptions {
  /** Absent: all parts. */
  readonly part?: PartName;
  /** Lines per part, from the end. */
  readonly tail: number;
  /** Continues with new lines until `signal` aborts. */
  readonly follow?: { readonly signal: AbortSignal };
}

export interface LogLine {
  readonly part: PartName;
  readonly text: string;
}

/** Passes on the output of the parts: one part's lines after another's and then, if following, new lines as they come. */
export async function devLogs(options: DevLogsOptions, onLine: (line: LogLine) => void): Promise<void> {
  const home = stackHome(options.env ?? process.env);
  const record = readStackRecord(home);
  if (record === undefined) throw new Error(`No stack in ${home.root}: start one with \`jobctl dev up\``);
  const parts = options.part === undefined ? partsOf(record) : [options.part];
  const files = parts.map((part) => ({ part, path: slotOf(home, part).logFile }));
  // Opened before the tail is printed, so that a line in between is printed twice rather than lost.
  const followed = files.map(({ part, path }) => ({
    part,
    lines: options.follow && followLines(path, options.follow.signal),
  }));
  for (const { part, path } of files) {
    const text = readTail(path, options.tail);
    if (text !== '') for (const line of text.split('\n')) onLine({ part, text: line });
  }
  await Promise.all(
    followed.map(async ({ part, lines }) => {
      if (lines !== undefined) for await (const text of lines) onLine({ part, text });
    }),
  );
}
