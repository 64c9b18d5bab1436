import { randomBytes } from 'node:crypto';
import type { StorePort } from '../../cloud/store/port.js';
import type { AuditLine } from '../../contract/api/callers.js';
import { AUDIT_PREFIX, auditDayPrefix, auditObject } from '../../domain/store-layout.js';
import type { EpochMs } from '../../domain/units.js';

/** Lines that come within this time share one object. */
const GATHER_MS = 20;
const READS_AT_ONCE = 16;

interface Batch {
  readonly lines: string[];
  readonly written: Promise<void>;
}

/**
 * Who did what, one JSON line each, in objects that are written once (docs/access.md). `write` resolves when the line is in the
 * store, so that a call which waits for it is never done without its line, whoever dies. A call that cannot be recorded is not
 * done: the store's error is the caller's answer.
 */
export class AuditLog {
  readonly replica = randomBytes(4).toString('hex');
  readonly #store: Pick<StorePort, 'write' | 'list' | 'read'>;
  #batch: Batch | undefined;
  #count = 0;

  constructor(store: Pick<StorePort, 'write' | 'list' | 'read'>) {
    this.#store = store;
  }

  write(line: Omit<AuditLine, 'replica'>): Promise<void> {
    this.#batch ??= this.#begin(line.at);
    this.#batch.lines.push(`${JSON.stringify({ ...line, replica: this.replica })}\n`);
    return this.#batch.written;
  }

  #begin(at: EpochMs): Batch {
    const lines: string[] = [];
    const written = new Promise<void>((resolve) => setTimeout(resolve, GATHER_MS)).then(async () => {
      this.#batch = undefined;
      const name = auditObject(at, this.replica, ++this.#count);
      const { kind } = await this.#store.write(name, lines.join(''), 'absent', 'application/x-ndjson');
      // The name holds this process's own random digits and a count: nobody else makes it.
      if (kind === 'conflict' && (await this.#store.read(name))?.toString('utf8') !== lines.join(''))
        throw new Error(`${name}: somebody else wrote this object of the audit log`);
    });
    return { lines, written };
  }

  /** Newest last, `limit` of them at most: the last ones. Names are listed from `since`; lines are read from the end. */
  async read({ since, until, limit, matches }: AuditQuery): Promise<readonly AuditLine[]> {
    const names = (await this.#store.list(AUDIT_PREFIX, auditDayPrefix(since))).map(({ name }) => name);
    const found: AuditLine[] = [];
    for (let end = names.length; end > 0 && found.length < limit; end -= READS_AT_ONCE) {
      const read = names.slice(Math.max(0, end - READS_AT_ONCE), end).map((name) => this.#linesOf(name));
      const lines = (await Promise.all(read)).flat();
      found.unshift(...lines.filter((line) => line.at >= since && line.at <= until && matches(line)));
    }
    return found.toSorted((a, b) => a.at - b.at).slice(-limit);
  }

  async #linesOf(name: string): Promise<readonly AuditLine[]> {
    const text = (await this.#store.read(name))?.toString('utf8') ?? '';
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as AuditLine]));
  }
}

export interface AuditQuery {
  readonly since: EpochMs;
  readonly until: EpochMs;
  readonly limit: number;
  readonly matches: (line: AuditLine) => boolean;
}
