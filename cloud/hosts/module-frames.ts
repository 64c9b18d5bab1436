/** The runner's messages about the modules of one call, between output. Modules by their place in the call, steps from 1. */
export type ModuleFrame =
  | { readonly kind: 'unchanged' | 'needed' | 'done'; readonly place: number }
  | { readonly kind: 'step'; readonly place: number; readonly step: number }
  | { readonly kind: 'ended'; readonly place: number; readonly step: number; readonly code: number }
  | { readonly kind: 'end' };

/** Limit of a frame: a mark, a word and three numbers. */
const MOST_FRAME_BYTES = 4096;

/**
 * Cuts stdout of the verb `modules` into frames and the steps' output between them. A frame contains the nonce of its call, which
 * no step knows, so no output can pass for a frame. Chunks may cut a frame anywhere.
 */
export class ModuleFrames {
  readonly #mark: Buffer;
  #held = Buffer.alloc(0);

  constructor(nonce: string) {
    this.#mark = Buffer.from(`\u0001jobctl ${nonce} `);
  }

  /** Yields frames and output in order. Bytes that may begin a frame are held back. */
  *read(chunk: Buffer): Generator<ModuleFrame | Buffer> {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    for (;;) {
      const at = rest.indexOf(this.#mark);
      const end = at < 0 ? -1 : rest.indexOf('\n', at);
      if (at >= 0 && end < 0 && rest.length - at > MOST_FRAME_BYTES)
        throw new Error('on-host runner: an answer of modules has no end');
      if (end < 0) {
        const held = at < 0 ? this.#partOfMark(rest) : rest.length - at;
        if (rest.length > held) yield rest.subarray(0, rest.length - held);
        this.#held = Buffer.from(rest.subarray(rest.length - held));
        return;
      }
      if (at > 0) yield rest.subarray(0, at);
      yield parsed(rest.subarray(at + this.#mark.length, end).toString());
      rest = rest.subarray(end + 1);
    }
  }

  /** The number of bytes at the end that may begin a mark. */
  #partOfMark(bytes: Buffer): number {
    for (let length = Math.min(bytes.length, this.#mark.length - 1); length > 0; length--) {
      if (bytes.subarray(bytes.length - length).equals(this.#mark.subarray(0, length))) return length;
    }
    return 0;
  }
}

function parsed(line: string): ModuleFrame {
  const [kind, ...numbers] = line.split(' ');
  const [place = NaN, step = NaN, code = NaN] = numbers.map(Number);
  switch (kind) {
    case 'unchanged':
    case 'needed':
    case 'done':
      return { kind, place };
    case 'step':
      return { kind, place, step };
    case 'ended':
      return { kind, place, step, code };
    case 'end':
      return { kind };
    default:
      throw new Error(`on-host runner: '${line}' is no answer of modules`);
  }
}
