import { createHmac, randomBytes } from 'node:crypto';
import { OWN_ID_PREFIXES, TASK_QUEUE } from '../../domain/own-workflows.js';
import { PLAIN_WORDS, PUBLIC_WORDS } from './words.js';

/**
 * Replaces words by others of the same length and kinds of characters, equal ones by equal ones: names, paths and ids that
 * workflow code derives from them are equal too. The key is random and forgotten: no words can be tried.
 */
export class Pseudonyms {
  readonly #key = randomBytes(32);
  readonly #masks = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #users = new Set<string>();
  readonly #texts = new Map<string, number>();
  readonly #addresses = new Map<string, number>();
  readonly #kept = new Set<string>();

  /** Temporal's run ids: random, and the seed of workflow code's own randomness. */
  keepRunId(id: string): void {
    if (UUID.test(id)) this.#kept.add(id);
  }

  isRunId(text: string): boolean {
    return this.#kept.has(text);
  }

  /** Whether a field of the user's has held this word. */
  isUsers(word: string): boolean {
    return this.#users.has(word.toLowerCase());
  }

  /** Redacts a name, a path, an image, a key of a map: nothing but its form is kept. */
  user(text: string): string {
    const [scheme = ''] = SCHEME.exec(text) ?? [];
    const rest = text.slice(scheme.length);
    return scheme + (RESOURCE.test(rest) ? this.#path(rest) : this.#user(rest));
  }

  /** Redacts a workflow's id, or the name of a queue: its prefix is jobctl's. */
  id(text: string): string {
    const prefix = OWN_STARTS.find((own) => text.startsWith(own)) ?? '';
    return prefix + this.#user(text.slice(prefix.length));
  }

  /** Redacts a name that is Google's, such as a machine type, unless it is not. */
  publicName(text: string): string {
    return this.#each(text, (word) => (isPublic(word.toLowerCase()) ? word : this.#word(word)));
  }

  /** Redacts a sentence. Of several lines, only the first is treated so. */
  said(text: string): string {
    const [first = '', ...rest] = text.split('\n');
    const kept = this.#each(first, (word) => (this.#isPlain(word.toLowerCase()) ? word : this.#mask(word)));
    return rest.length === 0 ? kept : `${kept}\n${this.secret(rest.join('\n'))}`;
  }

  /** Redacts a text completely. */
  secret(text: string): string {
    const number = this.#texts.get(text) ?? this.#texts.size + 1;
    this.#texts.set(text, number);
    return `redacted ${number}`;
  }

  #isPlain(word: string): boolean {
    return (PLAIN_WORDS.has(word) || isPublic(word)) && !this.#users.has(word);
  }

  #user(text: string): string {
    return this.#each(text, (word) => this.#word(word));
  }

  #word(word: string): string {
    this.#users.add(word.toLowerCase());
    return this.#mask(word);
  }

  /** `projects/P/zones/Z/disks/NAME`: names stand behind Google's nouns. */
  #path(text: string): string {
    let isName = false;
    const parts = text.split('/');
    const shown = parts.map((part, at) => {
      const isFamily = part === 'family' && parts[at - 1] === 'images' && at + 1 < parts.length;
      const isNoun = isFamily || (!isName && NOUNS.has(part));
      isName = isNoun && part !== 'global';
      return isNoun ? part : this.#user(part);
    });
    return shown.join('/');
  }

  #each(text: string, redact: (word: string) => string): string {
    return text.replace(STRUCTURE, (part) => this.#structure(part) ?? redact(part));
  }

  /** Undefined: the part is a word. */
  #structure(part: string): string | undefined {
    if (UUID.test(part)) return this.#kept.has(part) ? part : part.replace(WORD, (word) => this.#mask(word));
    if (ADDRESS.test(part)) return this.#address(part);
    return TIME.test(part) || PLACE.test(part) || SMALL.test(part) ? part : undefined;
  }

  #address(address: string): string {
    if (address.startsWith('127.') || address === '0.0.0.0') return address;
    const number = this.#addresses.get(address) ?? this.#addresses.size + 1;
    this.#addresses.set(address, number);
    return `10.0.${number >> 8}.${number & 255}`;
  }

  /** The mask of a lower-case part is lower-case: names must be. */
  #mask(part: string): string {
    if (SMALL.test(part)) return part;
    const lower = part.toLowerCase();
    let mask = this.#masks.get(lower);
    for (let turn = 0; mask === undefined; turn++) {
      const candidate = this.#drawn(lower, turn);
      const says = candidate === lower || SMALL.test(candidate) || PLAIN_WORDS.has(candidate);
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

/** `python3` too. */
const isPublic = (word: string): boolean => PUBLIC_WORDS.has(word) || PUBLIC_WORDS.has(word.replace(/\d{1,4}$/, ''));

const MOST_TURNS = 200;
const OWN_STARTS = [...Object.values(OWN_ID_PREFIXES), TASK_QUEUE];
const SCHEME = /^(?:https?|ssh|git|gs|s3|docker):\/\//;
const RESOURCE = /^(?:projects|folders|organizations)\/[^/]+\/(?:zones|regions|locations|global|reservations)\//;
const NOUNS: ReadonlySet<string> = new Set([
  ...['projects', 'folders', 'organizations', 'zones', 'regions', 'locations', 'global'],
  ...['disks', 'networks', 'subnetworks', 'reservations', 'images'],
]);
const WORD = /[\p{L}\p{N}]+/gu;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?$/;
/** Zones and types of Google, and the domain of its accounts, which are public. */
const PLACE =
  /^(?:(?:africa|asia|australia|europe|me|northamerica|southamerica|us)-[a-z]+\d+(?:-[a-z])?|v\d[a-z]*-\d+|(?:iam\.|developer\.)?gserviceaccount\.com|sha256|jobctl)$/i;
const ADDRESS = /^\d{1,3}(?:\.\d{1,3}){3}$/;
/** Counts, durations, sizes, topologies, and words of two letters, as in our own names (`jc`, `-s0`, `-g12`). */
const SMALL =
  /^(?:\p{L}{1,2}|\p{L}?\d{1,3}\p{L}?|\d{1,4}(?:ms|s|m|h|d|mb|gb|mib|gib|mi|gi|ti|ki)|\d{1,3}(?:x\d{1,3}){1,2})$/iu;
const bare = ({ source }: RegExp): string => source.replace(/^\^|\$$/g, '');
const STRUCTURE = new RegExp(
  `(?<![\\p{L}\\p{N}])(?:${[UUID, TIME, PLACE, ADDRESS].map(bare).join('|')})(?![\\p{L}\\p{N}])|[\\p{L}\\p{N}]+`,
  'giu',
);
