import { log } from '@temporalio/activity';
import { ObjectTooLong, readAtMost, type StorePort } from '../../cloud/store/port.js';
import { messageOf } from '../../domain/errors.js';
import { metricsInJson, metricsInLine, type ToldMetrics } from '../../domain/job-metrics/metric-lines.js';
import { HostMetrics } from '../../domain/job-metrics/metric-series.js';
import { MOST_METRICS_BYTES, readStoredMetrics, type StoredMetrics } from '../../domain/job-metrics/stored-metrics.js';
import { cutAfterMs } from '../../domain/output-lines.js';
import { metricsObject } from '../../domain/store-layout.js';
import type { EpochMs } from '../../domain/units.js';
import { JsonLines, MarkedLines } from './metric-bytes.js';
import type { StorePatience } from './store-patience.js';

type Store = Pick<StorePort, 'read' | 'stat' | 'write'>;

export interface MetricsPlace {
  readonly job: string;
  readonly attempt: number;
  /** Position among all hosts of the attempt. */
  readonly host: number;
}

interface MetricsShipping {
  readonly store: Store;
  readonly patience: StorePatience;
  readonly isFollowed: () => boolean;
}

/**
 * Looks through the output and the metrics file of one host as they are shipped, and keeps what they tell of metrics in one object
 * of the store (docs/adr/0161). It rewrites that object when there is something new, as often as a log is cut, but every 2 s at
 * most, and with at most `MOST_BYTES_PER_SECOND` on average.
 *
 * Metrics never hold up a log or an end: what the store does not take now is in the next write.
 */
export class MetricsOfHost {
  readonly #store: Store;
  readonly #place: MetricsPlace;
  readonly #isFollowed: () => boolean;
  readonly #openedAt = Date.now();
  readonly #output = new MarkedLines();
  readonly #file = new JsonLines();
  #metrics = new HostMetrics({ series: [], refused: 0, beyondNames: 0 });
  /** Offset of the next byte of output that comes. */
  #outputAt = 0;
  /** Bytes of output before this one were looked through. It is beyond `#outputAt` while output comes again. */
  #outputRead = 0;
  #fileRead = 0;
  #missedBytes = 0;
  /** The generation that this worker wrote or read last. */
  #generation: string | undefined;
  #hasNews = false;
  #timer: NodeJS.Timeout | undefined;
  #writing = Promise.resolve();
  /** Time before which the object is not written again. */
  #nextAt = 0;
  readonly #pace = new LinePace();

  private constructor(store: Store, place: MetricsPlace, isFollowed: () => boolean) {
    this.#store = store;
    this.#place = place;
    this.#isFollowed = isFollowed;
  }

  /**
   * Continues where another worker stopped. There may be such a worker even for a new attempt: a reset of the job runs an
   * attempt again under the same number.
   */
  static async open({ store, patience, isFollowed }: MetricsShipping, place: MetricsPlace): Promise<MetricsOfHost> {
    const metrics = new MetricsOfHost(store, place, isFollowed);
    const known = await patience.through(() => metrics.#stored());
    if (known !== undefined) metrics.#goOn(known);
    return metrics;
  }

  #goOn(known: StoredMetrics): void {
    this.#metrics = new HostMetrics(known);
    this.#outputRead = known.read.output;
    this.#fileRead = known.read.file;
    this.#missedBytes = known.missedBytes;
  }

  /**
   * The offset from which the output is to be read, so that it is looked through without a gap.
   * @param position end of the output that is stored, or need not be
   */
  outputFrom(position: number): number {
    const isKnown = this.#generation !== undefined;
    const most = isKnown ? MOST_BEHIND_BYTES : UNKNOWN_BEHIND_BYTES;
    const from = Math.min(position, Math.max(this.#outputRead, position - most));
    // A run that told no metric has no object, and misses nothing.
    if (isKnown) this.#missedBytes += Math.max(0, from - this.#outputRead);
    this.#outputRead = Math.max(from, this.#outputRead);
    this.#outputAt = from;
    return from;
  }

  /** The offset from which the metrics file is to be read. */
  get fileFrom(): number {
    return this.#fileRead + this.#file.heldBytes;
  }

  /** @param chunk the bytes of the output that follow the ones before */
  output(chunk: Buffer): void {
    const unread = chunk.subarray(Math.max(0, this.#outputRead - this.#outputAt));
    this.#outputAt += chunk.length;
    if (unread.length === 0) return;
    this.#outputRead = this.#outputAt;
    this.#take(this.#output.push(unread), metricsInLine);
  }

  /** @param chunk the bytes of the metrics file that follow the ones before */
  file(chunk: Buffer): void {
    const before = this.fileFrom;
    const lines = this.#file.push(chunk);
    this.#fileRead = before + chunk.length - this.#file.heldBytes;
    this.#take(lines, (line) => (line === undefined ? undefined : metricsInJson(line)));
  }

  /** Writes what is new, now. Never rejects. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    await this.#writing;
  }

  #take(lines: readonly (string | undefined)[], read: (line: string) => ToldMetrics | undefined): void {
    if (lines.length === 0) return;
    const now = Date.now();
    for (const line of lines) {
      // A line that is too long, or one of too many.
      const told = line === undefined || !this.#pace.hasRoom(now) ? undefined : read(line);
      if (told === undefined) this.#metrics.refuse();
      else this.#metrics.take(told, now);
    }
    this.#hasNews = true;
    this.#timer ??= setTimeout(() => void this.flush(), Math.max(FIRST_MS, this.#nextAt - now)).unref();
  }

  /** Time between two writes, in ms. */
  #everyMs(bytes: number): number {
    const ageMs = Date.now() - this.#openedAt;
    const cut = this.#place.host === 0 ? cutAfterMs(ageMs, this.#isFollowed()) : OTHER_HOSTS_MS;
    return Math.max(LEAST_MS, cut, (bytes / MOST_BYTES_PER_SECOND) * 1000);
  }

  async #write(): Promise<void> {
    if (!this.#hasNews) return;
    this.#hasNews = false;
    const now = Date.now();
    const { series, refused, beyondNames } = this.#metrics;
    const read = { output: this.#outputRead - this.#output.heldBytes, file: this.#fileRead };
    const stored: StoredMetrics = { v: 1, at: now, read, series, refused, beyondNames, missedBytes: this.#missedBytes };
    const text = JSON.stringify(stored);
    this.#nextAt = now + this.#everyMs(text.length);
    try {
      if (!(await this.#put(text, now))) this.#hasNews = true;
    } catch (error) {
      this.#hasNews = true;
      this.#warn('not stored', error);
    }
  }

  /** @returns false if another worker that ships the same run is ahead: then it is the one that writes */
  async #put(text: string, now: EpochMs): Promise<boolean> {
    const name = this.#name;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const expected = this.#generation === undefined ? 'absent' : { generation: this.#generation };
      const written = await this.#store.write(name, text, expected, 'application/json');
      if (written.kind === 'written') {
        this.#generation = written.generation;
        return true;
      }
      const other = await this.#stored();
      if (other !== undefined && now - other.at < FRESH_MS && isAhead(other, this.#outputRead, this.#fileRead)) break;
    }
    // Another look before the next write.
    this.#generation = undefined;
    return false;
  }

  /** Reads what is stored now, and notes its generation. */
  async #stored(): Promise<StoredMetrics | undefined> {
    const name = this.#name;
    const found = await this.#store.stat(name);
    this.#generation = found?.generation;
    const content =
      found &&
      (await readAtMost(this.#store, name, MOST_METRICS_BYTES).catch((error: unknown) => {
        if (error instanceof ObjectTooLong) return undefined;
        throw error;
      }));
    return content && readStoredMetrics(content.toString('utf8'));
  }

  get #name(): string {
    const { job, attempt, host } = this.#place;
    return metricsObject(job, attempt, host);
  }

  #warn(what: string, error: unknown): void {
    log.warn(`metrics of host ${this.#place.host} are ${what}: ${messageOf(error)}`);
  }
}

const isAhead = ({ read }: StoredMetrics, output: number, file: number): boolean =>
  read.output >= output && read.file >= file;

/**
 * Time after which the first value of a quiet program is stored. It is not stored at once, because most programs print several
 * values together.
 */
const FIRST_MS = 300;
const LEAST_MS = 2_000;
/** Interval between writes of other hosts' metrics: they are seldom read, and mostly show the same. */
const OTHER_HOSTS_MS = 300_000;
const MOST_BYTES_PER_SECOND = 10_240;
/**
 * Output before the stored log's end that a worker reads again from the host, since its metrics may not be stored: of what a
 * program prints in 30 s, up to 140 KB a second.
 */
const MOST_BEHIND_BYTES = 4 * 1024 * 1024;
/** The same for a run without stored metrics. It is smaller, because most such runs print none. */
const UNKNOWN_BEHIND_BYTES = 64 * 1024;
/** Age from which another worker's last write no longer shows that it lives. */
const FRESH_MS = 60_000;
const MOST_TRIES = 3;

/** Limit of lines with metrics that are read per second: one processor of a worker serves a thousand hosts. */
const MOST_LINES_PER_SECOND = 20_000;

class LinePace {
  #since = 0;
  #lines = 0;

  hasRoom(now: EpochMs): boolean {
    if (now - this.#since >= 1000) [this.#since, this.#lines] = [now, 0];
    return ++this.#lines <= MOST_LINES_PER_SECOND;
  }
}
