import type { RunStatus } from '../../cloud/hosts/port.js';
import type { AttemptEnd } from '../../contract/job-activities.js';
import type { EpochMs } from '../../domain/units.js';
import { SIGN_BYTES, signIn } from '../../domain/recovery/broken-machine.js';
import type { HostEnd } from '../../domain/recovery/host-ends.js';
import type { AttemptHost } from './attempt-hosts.js';

/** Whether this end is final, so that no other worker goes on with the supervision. */
export const isOver = ({ kind }: AttemptEnd): boolean =>
  kind === 'slices-lost' || kind === 'exited' || kind === 'run-lost';

/** Longest time between the printing of output on a host and its arrival here. */
const ON_ITS_WAY_MS = 5_000;

/** Time until which the output of one host is known here, whichever worker was told to start its command (docs/adr/0043). */
export class KnownOutput {
  #knownUntil: EpochMs | undefined;
  /** Bytes that had been printed when this worker attached. Reading them says nothing about the time. */
  #oldBytes = Infinity;
  readonly #runsSince: EpochMs | undefined;

  /** @param runsSince time since which another worker's command may run on the host; absent: this worker is the first */
  constructor(runsSince: EpochMs | undefined) {
    this.#runsSince = runsSince;
  }

  /** Called when the host is told to start. Whatever its answer, it may print from now on. */
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

  /**
   * Time until which the host's output is known.
   * @param storedSince time after which the last stored bytes were read
   * @returns undefined if the host's command never began
   */
  until(storedSince: EpochMs | undefined): EpochMs | undefined {
    return this.#knownUntil ?? storedSince ?? this.#runsSince;
  }
}

/**
 * The text in a host's log about its missing end.
 * @param knownUntil time at which the stored bytes were read on the host
 */
export function lostTailText(knownUntil: EpochMs, end: AttemptEnd): string {
  const since = knownUntil - ON_ITS_WAY_MS;
  const why = end.kind === 'slices-lost' ? `: ${end.slices.map(({ message }) => message).join('; ')}` : '';
  const bound = Math.ceil((Date.now() - since) / 1000);
  return `what this host may have printed after ${new Date(since).toISOString()} is not stored; that is ${bound} s at most${why}`;
}

/** The tail of each host's output, for signs of trouble with its machine. */
export class LastOutput {
  readonly #of = new Map<AttemptHost, { readonly chunks: Buffer[]; bytes: number }>();

  heard(host: AttemptHost, chunk: Buffer): void {
    const last = this.#of.get(host) ?? { chunks: [], bytes: 0 };
    this.#of.set(host, last);
    // A copy, because a part of a received chunk would keep all of it.
    last.chunks.push(Buffer.from(chunk.subarray(-SIGN_BYTES)));
    last.bytes += last.chunks.at(-1)?.length ?? 0;
    // Whole pieces are dropped, so that each byte is copied once however small the pieces are.
    for (let [first] = last.chunks; first && last.bytes - first.length >= SIGN_BYTES; [first] = last.chunks) {
      last.chunks.shift();
      last.bytes -= first.length;
    }
  }

  /**
   * Adds to the end of a failed command the sign of trouble that its host printed, if there is one. Other ends are returned
   * unchanged.
   */
  with(host: AttemptHost, end: HostEnd | undefined): HostEnd | undefined {
    if (end?.kind !== 'failed') return end;
    const { chunks = [] } = this.#of.get(host) ?? {};
    const printed = signIn(Buffer.concat(chunks).subarray(-SIGN_BYTES).toString('latin1'));
    return printed === undefined ? end : { ...end, printed };
  }
}
