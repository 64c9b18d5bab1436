import { SIGN_BYTES, signIn } from '../../domain/recovery/broken-machine.js';
import type { HostEnd } from '../../domain/recovery/host-ends.js';
import type { AttemptHost } from './attempt-hosts.js';

/** The end of what each host has printed, for what it says of its machine. */
export class LastOutput {
  readonly #of = new Map<AttemptHost, { readonly chunks: Buffer[]; bytes: number }>();

  heard(host: AttemptHost, chunk: Buffer): void {
    const last = this.#of.get(host) ?? { chunks: [], bytes: 0 };
    this.#of.set(host, last);
    // A copy: a part of what was received would keep all of it.
    last.chunks.push(Buffer.from(chunk.subarray(-SIGN_BYTES)));
    last.bytes += last.chunks.at(-1)?.length ?? 0;
    // Whole pieces go, so that each byte is copied once however small the pieces are.
    for (let [first] = last.chunks; first && last.bytes - first.length >= SIGN_BYTES; [first] = last.chunks) {
      last.chunks.shift();
      last.bytes -= first.length;
    }
  }

  /** The end of a host whose command failed, with a sign that it printed. */
  with(host: AttemptHost, end: HostEnd | undefined): HostEnd | undefined {
    if (end?.kind !== 'failed') return end;
    const { chunks = [] } = this.#of.get(host) ?? {};
    const printed = signIn(Buffer.concat(chunks).subarray(-SIGN_BYTES).toString('latin1'));
    return printed === undefined ? end : { ...end, printed };
  }
}
