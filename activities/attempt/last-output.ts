import { SIGN_BYTES, signIn } from '../../domain/recovery/broken-machine.js';
import type { HostEnd } from '../../domain/recovery/host-ends.js';
import type { AttemptHost } from './attempt-hosts.js';

/** The end of what each host has printed, for what it says of its machine. */
export class LastOutput {
  readonly #of = new Map<AttemptHost, Buffer>();

  heard(host: AttemptHost, chunk: Buffer): void {
    const before = this.#of.get(host);
    const both = before === undefined || chunk.length >= SIGN_BYTES ? chunk : Buffer.concat([before, chunk]);
    // A copy: a part of a chunk would keep all of it.
    this.#of.set(host, Buffer.from(both.subarray(-SIGN_BYTES)));
  }

  /** The end of a host whose command failed, with a sign that it printed. */
  with(host: AttemptHost, end: HostEnd | undefined): HostEnd | undefined {
    if (end?.kind !== 'failed') return end;
    const printed = signIn(this.#of.get(host)?.toString('latin1') ?? '');
    return printed === undefined ? end : { ...end, printed };
  }
}
