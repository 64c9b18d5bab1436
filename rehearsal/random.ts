/**
 * Four unsigned 32-bit words, not all zero. Plain JSON, stored in the cloud's state, so that a restart continues the sequence.
 */
export type RandomState = [number, number, number, number];

/**
 * Numbers determined by a seed: xoshiro128** 1.1 of Blackman and Vigna (prng.di.unimi.it/xoshiro128starstar.c, public domain),
 * filled by SplitMix32. Good enough for queue times and names; nothing secret is drawn from it.
 */
export class Random {
  readonly #state: RandomState;

  /** @param state advanced in place */
  constructor(state: RandomState) {
    this.#state = state;
  }

  /** 0 to 2^32 - 1. */
  uint32(): number {
    const s = this.#state;
    const result = Math.imul(rotl(Math.imul(s[1], 5), 7), 9) >>> 0;
    const t = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 11);
    for (const index of [0, 1, 2, 3] as const) s[index] >>>= 0;
    return result;
  }

  /** From 0, below 1. */
  fraction(): number {
    return this.uint32() / 2 ** 32;
  }

  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  /** @param digits lower-case hexadecimal digits. */
  hex(digits: number): string {
    let text = '';
    while (text.length < digits) text += this.uint32().toString(16).padStart(8, '0');
    return text.slice(0, digits);
  }
}

/** @param seed any whole number. */
export function seededState(seed: number): RandomState {
  let word = seed | 0;
  const next = (): number => {
    word = (word + 0x9e3779b9) | 0;
    let mixed = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
  return [next(), next(), next(), next() || 1];
}

function rotl(word: number, bits: number): number {
  return ((word << bits) | (word >>> (32 - bits))) >>> 0;
}
