import type { RunStatus } from '../../cloud/hosts/port.js';
import type { AttemptEnd } from '../../contract/job-activities.js';
import type { EpochMs } from '../../domain/units.js';

/** Nobody goes on with this supervision. */
export const isOver = ({ kind }: AttemptEnd): boolean =>
  kind === 'slices-lost' || kind === 'exited' || kind === 'run-lost';

/** Output is read on a host at most so long after it was printed, and before it came in here. */
const ON_ITS_WAY_MS = 5_000;

/** Until when the output of one host is known here, whoever was told to start its command (docs/adr/0043). */
export class KnownOutput {
  #knownUntil: EpochMs | undefined;
  /** What had been printed when this worker attached, in bytes: reading it says nothing of the time. */
  #oldBytes = Infinity;
  readonly #runsSince: EpochMs | undefined;

  /** @param runsSince since when another worker's command may run on the host; absent: this worker is the first */
  constructor(runsSince: EpochMs | undefined) {
    this.#runsSince = runsSince;
  }

  /** The host is being told to start. Whatever becomes of the answer, it may print from now on. */
  asked(): void {
    if (this.#runsSince === undefined) this.#knownUntil ??= Date.now();
  }

  /** @param position bytes of its output that were stored before */
  attached(status: RunStatus, position: number): void {
    this.#oldBytes = 'outputBytes' in status ? status.outputBytes : 0;
    this.read(position);
  }

  /** @param position bytes of its output that have been read */
  read(position: number): void {
    if (position >= this.#oldBytes) this.#knownUntil = Date.now();
  }

  /** @param storedSince what is stored last was read after this. @returns undefined: its command never began */
  until(storedSince: EpochMs | undefined): EpochMs | undefined {
    return this.#knownUntil ?? storedSince ?? this.#runsSince;
  }
}

/**
 * What the log of a host says of its missing end.
 * @param knownUntil when what is stored was read on the host
 */
export function lostTailText(knownUntil: EpochMs, end: AttemptEnd): string {
  const since = knownUntil - ON_ITS_WAY_MS;
  const why = end.kind === 'slices-lost' ? `: ${end.slices.map(({ message }) => message).join('; ')}` : '';
  const bound = Math.ceil((Date.now() - since) / 1000);
  return `what this host may have printed after ${new Date(since).toISOString()} is not stored; that is ${bound} s at most${why}`;
}
