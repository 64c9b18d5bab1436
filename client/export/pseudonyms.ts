import { createHmac, randomBytes } from 'node:crypto';
import { KNOWN_WORDS } from './known-words.js';

/**
 * Replaces all text that is not known to be structure: equal words by equal ones, of the same length and kinds of characters, so
 * that names, paths and ids that workflow code derives from them are equal too. The key is random and forgotten: no words can be
 * tried.
 */
export class Pseudonyms {
  readonly #key = randomBytes(32);
  readonly #masks = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #texts = new Map<string, number>();
  readonly #addresses = new Map<string, number>();
  readonly #kept = new Set<string>();

  /** Temporal's run ids: random, and the seed of workflow code's own randomness. */
  keepRunId(id: string): void {
    if (UUID.test(id)) this.#kept.add(id);
  }

  /** Redacts text for people: words of jobctl and Google stay. Of several lines, only the first is treated so. */
  words(text: string): string {
    const [first = '', ...rest] = text.split('\n');
    const kept = first.replace(STRUCTURE, (part) => this.#word(part));
    return rest.length === 0 ? kept : `${kept}\n${this.text(rest.join('\n'))}`;
  }

  /** Redacts a user's value whose form is checked: a path, a name, an image. */
  masked(text: string): string {
    return text.replace(/[\p{L}\p{N}]+/gu, (part) => this.#mask(part));
  }

  /** Redacts a user's text completely. */
  text(text: string): string {
    const number = this.#texts.get(text) ?? this.#texts.size + 1;
    this.#texts.set(text, number);
    return `redacted ${number}`;
  }

  #word(part: string): string {
    if (UUID.test(part)) return this.#kept.has(part) ? part : this.masked(part);
    if (TIME.test(part) || PLACE.test(part)) return part;
    if (ADDRESS.test(part)) return this.#address(part);
    if (part.length === 1 || SMALL.test(part) || KNOWN_WORDS.has(part.toLowerCase())) return part;
    return this.#mask(part);
  }

  #address(address: string): string {
    if (address.startsWith('127.') || address === '0.0.0.0') return address;
    const number = this.#addresses.get(address) ?? this.#addresses.size + 1;
    this.#addresses.set(address, number);
    return `10.0.${number >> 8}.${number & 255}`;
  }

  /** The mask of a lower-case part is lower-case: names must be. */
  #mask(part: string): string {
    const lower = part.toLowerCase();
    let mask = this.#masks.get(lower);
    for (let turn = 0; mask === undefined; turn++) {
      const candidate = this.#drawn(lower, turn);
      const says = candidate === lower || SMALL.test(candidate) || KNOWN_WORDS.has(candidate);
      if (turn < MOST_TURNS && (says || this.#taken.has(candidate))) continue;
      mask = candidate;
    }
    this.#masks.set(lower, mask);
    this.#taken.add(mask);
    const masked = mask;
    return Array.from(part, (char, at) => (/\p{Lu}/u.test(char) ? masked[at]?.toUpperCase() : masked[at])).join('');
  }

  #drawn(lower: string, turn: number): string {
    const chars = Array.from(lower);
    let bytes = Buffer.alloc(0);
    for (let block = 0; bytes.length < chars.length; block++)
      bytes = Buffer.concat([bytes, createHmac('sha256', this.#key).update(`${turn} ${block} ${lower}`).digest()]);
    const letters = /^(?=.*\d)[0-9a-f]{6,}$/.test(lower) ? 'abcdef' : 'abcdefghijklmnopqrstuvwxyz';
    return chars
      .map((char, at) => {
        const byte = bytes[at] ?? 0;
        if (/\d/.test(char)) return at === 0 && char !== '0' ? String(1 + (byte % 9)) : String(byte % 10);
        return letters[byte % letters.length];
      })
      .join('');
  }
}

const MOST_TURNS = 200;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?$/;
/** Zones and types of Google, which are public. */
const PLACE = /^(?:(?:africa|asia|australia|europe|me|northamerica|southamerica|us)-[a-z]+\d+-[a-z]|v\d[a-z]*-\d+)$/;
const ADDRESS = /^\d{1,3}(?:\.\d{1,3}){3}$/;
/** Counts, durations, sizes, topologies, and the ends of our own names (`-s0`, `-g12`, `a1`). */
const SMALL = /^(?:\d{1,3}|\d{1,4}(?:ms|s|m|h|d|mb|gb|mib|gib)|\d{1,3}(?:x\d{1,3}){1,2}|[sga]\d{1,3})$/i;
const bare = ({ source }: RegExp): string => source.replace(/^\^|\$$/g, '');
const STRUCTURE = new RegExp(
  `(?<![\\p{L}\\p{N}])(?:${[UUID, TIME, PLACE, ADDRESS].map(bare).join('|')})(?![\\p{L}\\p{N}])|[\\p{L}\\p{N}]+`,
  'gu',
);
