import { randomBytes } from 'node:crypto';
import type { StorePort } from '../../cloud/store/port.js';
import type { AuditLine } from '../../contract/api/callers.js';
import { AUDIT_PREFIX, auditDayPrefix, auditObject, timeOfAudit } from '../../domain/store-layout.js';
import type { EpochMs } from '../../domain/units.js';

/** Time in which lines are gathered into one object. */
const GATHER_MS = 20;
const READS_AT_ONCE = 16;

/** Refusals of one subject per minute that get their own line; further ones are counted (docs/adr/0113). */
const MOST_REFUSALS = 100;
const MINUTE = 60_000;
/** Pools per subject whose refusals are counted separately. The limit exists because a caller may invent names. */
const MOST_POOLS = 20;
/** Limit of one reading; the newest objects are read. */
const MOST_OBJECTS = 20_000;

type Line = Omit<AuditLine, 'replica'>;

/** The refusals of one subject in the minute that began with the first. */
interface Refusals {
  count: number;
  /** The last refusal without a line, and the count of such refusals. Keyed by pool: each pool's operators read its lines. */
  readonly counted: Map<string, { readonly line: Line; readonly count: number }>;
}

interface Batch {
  readonly lines: string[];
  readonly written: Promise<void>;
}

/**
 * Records who did what, one JSON line each, in objects that are written once (docs/access.md). `write` resolves when the line is
 * in the store, so no crash can leave a call done without its line. If a call cannot be recorded, it is not carried out, and the
 * caller gets the store's error.
 */
export class AuditLog {
  readonly replica = randomBytes(4).toString('hex');
  readonly #store: Pick<StorePort, 'write' | 'list' | 'read'>;
  #batch: Batch | undefined;
  #count = 0;
  readonly #refusals = new Map<string, Refusals>();

  constructor(store: Pick<StorePort, 'write' | 'list' | 'read'>) {
    this.#store = store;
  }

  write(line: Line): Promise<void> {
    return line.decision === 'refused' && this.#isCounted(line) ? Promise.resolve() : this.#add(line);
  }

  /** Writes the lines of refusals that have only been counted. */
  async close(): Promise<void> {
    await Promise.all([...this.#refusals.keys()].map((subject) => this.#tell(subject)));
  }

  #isCounted(line: Line): boolean {
    const { subject, pool = '' } = line;
    const known = this.#refusals.get(subject) ?? this.#beginMinute(subject);
    known.count += 1;
    if (known.count <= MOST_REFUSALS) return false;
    const [first = pool] = known.counted.keys();
    const place = known.counted.has(pool) || known.counted.size < MOST_POOLS ? pool : first;
    known.counted.set(place, { line, count: (known.counted.get(place)?.count ?? 0) + 1 });
    return true;
  }

  #beginMinute(subject: string): Refusals {
    const refusals: Refusals = { count: 0, counted: new Map() };
    this.#refusals.set(subject, refusals);
    // If the store does not answer then, the minute's first refusals still have their lines; only the count is lost.
    setTimeout(() => void this.#tell(subject).catch(() => undefined), MINUTE).unref();
    return refusals;
  }

  async #tell(subject: string): Promise<void> {
    const { counted = new Map() as Refusals['counted'] } = this.#refusals.get(subject) ?? {};
    this.#refusals.delete(subject);
    const summed = [...counted.values()].map(({ line, count }) =>
      this.#add({
        ...line,
        why: `${line.why ?? ''} (the last of ${count} refusals in a minute that have this line alone)`,
      }),
    );
    await Promise.all(summed);
  }

  #add(line: Line): Promise<void> {
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
      // The name contains this process's own random digits and a count, so no other process writes it.
      if (kind === 'conflict' && (await this.#store.read(name))?.toString('utf8') !== lines.join(''))
        throw new Error(`${name}: somebody else wrote this object of the audit log`);
    });
    return { lines, written };
  }

  /** Returns at most the last `limit` lines, oldest first. Names are listed from `since`; lines are read from the end. */
  async read({ since, until, limit, matches }: AuditQuery): Promise<AuditRead> {
    const { names, from } = await this.#newest(since, until);
    const found: AuditLine[] = [];
    for (let end = names.length; end > 0 && found.length < limit; end -= READS_AT_ONCE) {
      const read = names.slice(Math.max(0, end - READS_AT_ONCE), end).map((name) => this.#linesOf(name));
      const lines = (await Promise.all(read)).flat();
      found.unshift(...lines.filter((line) => line.at >= since && line.at <= until && matches(line)));
    }
    const lines = found.toSorted((a, b) => a.at - b.at).slice(-limit);
    return { lines, ...(from === since || lines.length >= limit ? {} : { readFrom: from }) };
  }

  /**
   * Returns at most `MOST_OBJECTS` names, the latest. The store lists names forwards in time: while there are too many, the
   * listing starts half-way to `until`.
   */
  async #newest(
    since: EpochMs,
    until: EpochMs,
  ): Promise<{ readonly names: readonly string[]; readonly from: EpochMs }> {
    for (let from = since, start = auditDayPrefix(since); ;) {
      const names = (await this.#store.list(AUDIT_PREFIX, start, MOST_OBJECTS + 1)).map(({ name }) => name);
      if (names.length <= MOST_OBJECTS || from >= until) return { names: names.slice(-MOST_OBJECTS), from };
      const listed = Math.max(from, timeOfAudit(names.at(-1) ?? '') ?? from);
      from = Math.min(until, Math.ceil((listed + until) / 2));
      start = auditObject(from, '', 0);
    }
  }

  async #linesOf(name: string): Promise<readonly AuditLine[]> {
    const text = (await this.#store.read(name))?.toString('utf8') ?? '';
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as AuditLine]));
  }
}

export interface AuditRead {
  readonly lines: readonly AuditLine[];
  /** Set if there were too many objects: those from before this time were not read. */
  readonly readFrom?: EpochMs;
}

export interface AuditQuery {
  readonly since: EpochMs;
  readonly until: EpochMs;
  readonly limit: number;
  readonly matches: (line: AuditLine) => boolean;
}
