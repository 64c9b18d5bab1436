import { appendFileSync, existsSync, readFileSync } from 'node:fs';

export interface JournalEvent {
  /** From 1, without gaps, over restarts too. */
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
  readonly kind: string;
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** What happened, in order: a file of JSON lines that is only ever appended to. */
export class Journal {
  readonly #file: string;
  readonly #events: JournalEvent[];

  constructor(file: string) {
    this.#file = file;
    this.#events = existsSync(file) ? readEvents(file) : [];
  }

  get lastSeq(): number {
    return this.#events.at(-1)?.seq ?? 0;
  }

  record(kind: string, subject: string, details: Readonly<Record<string, unknown>> = {}): void {
    const event = { seq: this.lastSeq + 1, at: Date.now(), kind, subject, details };
    this.#events.push(event);
    appendFileSync(this.#file, `${JSON.stringify(event)}\n`);
  }

  /** Events with a sequence number above `seq`. */
  after(seq: number): readonly JournalEvent[] {
    // Numbers have no gaps, so the place is known from the last one.
    return this.#events.slice(Math.max(0, this.#events.length - (this.lastSeq - seq)));
  }
}

// A process that was killed may have left half a line at the end: it is dropped, also from the file's next reading.
function readEvents(file: string): JournalEvent[] {
  const text = readFileSync(file, 'utf8');
  if (text !== '' && !text.endsWith('\n')) appendFileSync(file, '\n');
  return text.split('\n').flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as JournalEvent];
    } catch {
      return [];
    }
  });
}
