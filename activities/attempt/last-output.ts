import { SIGN_BYTES, signIn } from '../../domain/recovery/broken-machine.js';
import type { HostEnd } from '../../domain/recovery/host-ends.js';
import type { AttemptHost } from './attempt-hosts.js';

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

  /** Adds to the end of a host whose command failed a sign that it printed. */
  with(host: AttemptHost, end: HostEnd | undefined): HostEnd | undefined {
    if (end?.kind !== 'failed') return end;
    const { chunks = [] } = this.#of.get(host) ?? {};
    const printed = signIn(Buffer.concat(chunks).subarray(-SIGN_BYTES).toString('latin1'));
    return printed === undefined ? end : { ...end, printed };
  }
}
